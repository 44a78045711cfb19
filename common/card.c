#include "card.h"

#include "collective.h"
#include "cores.h"
#include "csv.h"
#include "device.h"
#include "files.h"
#include "memory.h"
#include "mlp.h"
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FRESH_S = 3600 };

double line_at(struct line line, double samples)
{
    return fmax(0, line.fixed + line.per_sample * samples);
}

double local_step(const struct local_cost *cost, double samples)
{
    return line_at(cost->fetch, samples) + line_at(cost->passes, samples) + cost->update;
}

static const struct link *find_link(const struct card *card, int ranks)
{
    for (int i = 0; i < card->links; i++)
        if (card->link[i].ranks == ranks)
            return &card->link[i];
    return NULL;
}

double card_allreduce(const struct card *card, int ranks, double bytes)
{
    if (ranks == 1)
        return card->transfer_core * 2 * bytes / card->copy_bandwidth;
    const struct link *link = find_link(card, ranks);
    return link ? link_seconds(link, bytes) : (double)NAN;
}

double card_barrier(const struct card *card, int ranks)
{
    if (ranks == 1)
        return 0;
    const struct link *link = find_link(card, ranks);
    return link ? link->barrier : (double)NAN;
}

/* What a card must agree on to be used for a run. */
static char *card_key(const struct run *run, const char *platform, const char *cpu, int cores)
{
    return memory_text("%s; %s; %d cores; %s; %s; %d ranks; batch %d; mlp %d-%d-%d-%d; lockstep %s", platform, cpu,
                       cores, device_kernel(), collective_algorithm(), run->ranks, run->batch_size, run->input_dim,
                       run->hidden_dim, run->hidden_dim, run->num_classes, LOCKSTEP_VERSION);
}

/* Every number of the card by name, so that reading and writing agree. */
struct entry {
    const char *quantity;
    double *value;
};
enum { CARD_ENTRIES = 15 };
static void list_entries(struct card *c, struct entry entries[CARD_ENTRIES])
{
    const struct entry list[CARD_ENTRIES] = {
        { "alone_fetch_fixed_s", &c->alone.fetch.fixed },
        { "alone_fetch_per_sample_s", &c->alone.fetch.per_sample },
        { "alone_forward_backward_fixed_s", &c->alone.passes.fixed },
        { "alone_forward_backward_per_sample_s", &c->alone.passes.per_sample },
        { "alone_update_s", &c->alone.update },
        { "together_fetch_fixed_s", &c->together.fetch.fixed },
        { "together_fetch_per_sample_s", &c->together.fetch.per_sample },
        { "together_forward_backward_fixed_s", &c->together.passes.fixed },
        { "together_forward_backward_per_sample_s", &c->together.passes.per_sample },
        { "together_update_s", &c->together.update },
        { "jitter_s", &c->jitter },
        { "copy_bandwidth_bytes_per_s", &c->copy_bandwidth },
        { "sleep_overshoot_s", &c->sleep_overshoot },
        { "transfer_core_share", &c->transfer_core },
        { "stamp_cost_s", &c->stamp_cost },
    };
    memcpy(entries, list, sizeof list);
}

static void write_row(struct csv *csv, const char *quantity, int ranks, double bytes, double value)
{
    do {
        csv_text(csv, "quantity", quantity);
        csv_integer(csv, "ranks", ranks);
        csv_number(csv, "bytes", bytes);
        csv_number(csv, "value", value);
    } while (csv_end_row(csv));
}

void card_write(const struct card *card, const char *folder, const struct run *run, const char *platform)
{
    struct card copy = *card;
    struct entry entries[CARD_ENTRIES];
    list_entries(&copy, entries);
    struct file file = file_begin(folder, "machine.csv");
    char *key = card_key(run, platform, card->cpu, card->cores);
    fprintf(file.out, "# the machine card: what this machine does when nothing is wrong\n# for: %s\n", key);
    free(key);
    struct csv csv = { .out = file.out };
    for (int i = 0; i < CARD_ENTRIES; i++)
        write_row(&csv, entries[i].quantity, strncmp(entries[i].quantity, "alone", 5) ? card->ranks : 1, NAN,
                  *entries[i].value);
    for (int i = 0; i < card->links; i++) {
        const struct link *link = &card->link[i];
        for (int p = 0; p < link->points; p++)
            write_row(&csv, "allreduce_s", link->ranks, link->bytes[p], link->seconds[p]);
        write_row(&csv, "barrier_s", link->ranks, NAN, link->barrier);
    }
    file_commit(&file);
}

static bool is_fresh(const char *path, const char *key)
{
    struct stat status;
    if (stat(path, &status) != 0 || difftime(time(NULL), status.st_mtime) > FRESH_S)
        return false;
    FILE *file = fopen(path, "r");
    char line[512];
    bool fits = false;
    while (file && fgets(line, sizeof line, file) && line[0] == '#') {
        line[strcspn(line, "\n")] = '\0';
        fits |= strncmp(line, "# for: ", 7) == 0 && strcmp(line + 7, key) == 0;
    }
    if (file)
        fclose(file);
    return fits;
}

static void add_point(struct card *card, int ranks, double bytes, double seconds)
{
    if (card->links == 0 || card->link[card->links - 1].ranks != ranks) {
        if (card->links == CARD_LINKS_MOST)
            return;
        card->link[card->links++] = (struct link){ .ranks = ranks };
    }
    struct link *link = &card->link[card->links - 1];
    if (link->points < LINK_POINTS_MOST) {
        link->bytes[link->points] = bytes;
        link->seconds[link->points++] = seconds;
    }
}

bool card_read(struct card *card, const char *folder, const struct run *run, const char *platform, int cores)
{
    *card = (struct card){ .ranks = run->ranks, .cores = cores };
    cores_name(card->cpu, CARD_NAME);
    char *path = memory_text("%s/machine.csv", folder);
    char *key = card_key(run, platform, card->cpu, cores);
    struct csv_table table;
    char why[256];
    bool is_usable = is_fresh(path, key) && csv_read(path, &table, why, sizeof why);
    free(path);
    free(key);
    if (!is_usable)
        return false;
    struct entry entries[CARD_ENTRIES];
    list_entries(card, entries);
    int found = 0;
    for (int row = 0; row < table.rows; row++) {
        const char *quantity = csv_field(&table, row, "quantity");
        double value = csv_value(&table, row, "value");
        if (!quantity || isnan(value))
            continue;
        if (strcmp(quantity, "allreduce_s") == 0)
            add_point(card, (int)csv_value(&table, row, "ranks"), csv_value(&table, row, "bytes"), value);
        if (strcmp(quantity, "barrier_s") == 0 && card->links > 0)
            card->link[card->links - 1].barrier = value; /* of the ranks whose points stand before it */
        for (int i = 0; i < CARD_ENTRIES; i++)
            if (strcmp(quantity, entries[i].quantity) == 0) {
                *entries[i].value = value;
                found++;
            }
    }
    csv_free(&table);
    for (int i = 0; i < card->links; i++)
        link_fit(&card->link[i]);
    return found == CARD_ENTRIES && (run->ranks == 1 || card->links > 0);
}

void card_show(FILE *out, const struct card *card, const struct run *run, double bytes)
{
    double B = run->batch_size;
    double alone = local_step(&card->alone, B);
    double together = local_step(&card->together, B);
    double rate = mlp_flops(run, run->batch_size) / line_at(card->alone.passes, B);
    fprintf(out, "machine card   %s, %d %s%s\n", card->cpu, card->cores,
            world_is_simulated() ? "simulated core" : "core", card->cores == 1 ? "" : "s");
    fprintf(out, "  one rank steps alone in       %8.1f ms   (batch %d: %.1f fixed + %.3f per sample", 1e3 * alone,
            run->batch_size, 1e3 * (card->alone.fetch.fixed + card->alone.passes.fixed + card->alone.update),
            1e3 * (card->alone.fetch.per_sample + card->alone.passes.per_sample));
    if (device_computes())
        fprintf(out, "; %.0f GFLOP/s", rate / 1e9);
    fputs(")\n", out);
    if (card->ranks > 1) {
        fprintf(out, "  %d ranks at once, each in      %8.1f ms   (slowest of a step: %.1f ms above the mean)\n",
                card->ranks, 1e3 * together, 1e3 * card->jitter);
        fprintf(out, "  all-reduce of %5.1f MB takes   %8.1f ms   (%d ranks, predicted from other sizes)\n",
                bytes / 1e6, 1e3 * card_allreduce(card, card->ranks, bytes), card->ranks);
    }
    if (!world_is_simulated())
        fprintf(out, "  memory copy %.1f GB/s; a sleep lasts %.2f ms too long; a stamp costs %.0f ns\n",
                card->copy_bandwidth / 1e9, 1e3 * card->sleep_overshoot, 1e9 * card->stamp_cost);
}
