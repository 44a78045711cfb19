/* fuzz_card.c: read a damaged machine card of this job (card.h), and use it for predictions. */
#include "fuzz.h"

#include "base/cores.h"
#include "base/files.h"
#include "base/memory.h"
#include "card/card.h"
#include "card/card_file.h"
#include "model/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder_of_cards(void)
{
    static char folder[] = "/tmp/lockstep_fuzz_card_XXXXXX";
    static const char *made;
    if (!made && !(made = mkdtemp(folder)))
        abort();
    return made;
}

/* Write a card: the head of a valid card, then the input. */
static void write_card(const char *path, const struct run *run)
{
    const char *folder = folder_of_cards();
    char *name = memory_text("%s/%s", folder, CARD_FILE), *line = NULL;
    struct card card = { .cores = 2 };
    cores_name(card.cpu, CARD_NAME);
    card_write(&card, folder, &published_mlp, run, "here");
    size_t size = 0;
    char *head = file_read(name, NULL), *rows = file_read(path, &size);
    for (line = head; *line == '#';)
        line = strchr(line, '\n') + 1;
    *line = '\0';
    FILE *out = fopen(name, "w");
    fputs(head, out);
    fwrite(rows, 1, size, out);
    fclose(out);
    free(head);
    free(rows);
    free(name);
}

static bool are_finite(const struct collective_costs *costs)
{
    bool are = true;
    for (int i = 0; i < costs->count; i++)
        are &= isfinite(alpha_beta_seconds(&costs->at[i].cost, 12.5e6));
    return are;
}

void fuzz_read(const char *path)
{
    struct run run = run_published;
    run.ranks = 2;
    write_card(path, &run);
    struct card card;
    struct card_uses uses = { .messages = true };
    card_use(&uses, ALL_REDUCE, first_ranks(2), 1e6);
    enum card_found found = card_read(&card, folder_of_cards(), &published_mlp, &run, &uses, "here", 2);
    if (found != CARD_WHOLE)
        return; /* the lab would measure a new card */
    const struct message_cost *near = &card.p2p.near, *far = &card.p2p.far;
    double passed = alpha_beta_seconds(&near->send, 12.5e6) + alpha_beta_seconds(&near->exchange, 4) +
                    alpha_beta_seconds(&near->add, 1e9) + alpha_beta_seconds(&far->send, 4) +
                    alpha_beta_seconds(&far->exchange, 12.5e6) + alpha_beta_seconds(&far->add, 1e9) +
                    alpha_beta_seconds(&far->add_sent, 1e9) + alpha_beta_seconds(&near->add_sent, 4);
    if (!isfinite(card_allreduce(&card, 2, 12.5e6)) || !isfinite(local_step(&card.alone, work_samples(128))) ||
        !isfinite(passed) || !are_finite(&card.collectives)) {
        fprintf(stderr, "a card that cannot be is believed\n");
        abort();
    }
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    card_show(out, &card, &published_mlp, &run);
    fclose(out);
    free(shown);
}
