/* Measure the machine card of two real ranks, kept beside the simulated results. */
#include "base/die.h"
#include "base/memory.h"
#include "card/card_file.h"
#include "card/sweep.h"
#include "frame/supervise_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Largest message, in gradients, that the link between simulated cores is measured for; the same in labs 01 to 04. */
    PAIR_TIMES = 11,
    /* Sizes are rounded up to multiples of this, so that labs whose models have nearly the same size share a platform file. */
    PAIR_STEP = 16 << 20,
};

/* Return the command line of a run of two real ranks that measures the card of the same model and messages into `folder`. */
static char **words_of_pair(const struct request *request, const char *folder, double largest)
{
    const struct option_row *tables[] = { workload_options(workload_of(request->base)), request->spec->rows };
    const void *values[] = { workload_of(request->base), request->base };
    enum { OWN = 8, TABLES = 2 };
    char **words = memory_new(OWN, sizeof *words);
    int count = 0;
    words[count++] = memory_text("lockstep");
    words[count++] = memory_text("--card-only");
    words[count++] = memory_text("--backend=mpi");
    words[count++] = memory_text("--out=%s", folder);
    words[count++] = memory_text("--batch-size=%d", request->run->batch_size);
    words[count++] = memory_text("--card-mb=%.0f", largest / (1 << 20));
    words[count++] = memory_text("--deadline-s=%g", request->run->deadline_s);
    words[count++] = memory_text("--seed=%" PRIu64, request->run->seed);
    for (int table = 0; table < TABLES; table++) {
        char **more = options_words(tables[table], values[table]);
        int added = 0;
        while (more[added])
            added++;
        char **longer = memory_new((size_t)(count + added) + 1, sizeof *longer);
        memcpy(longer, words, (size_t)count * sizeof *longer);
        memcpy(longer + count, more, (size_t)added * sizeof *longer);
        free(words);
        free(more);
        words = longer;
        count += added;
    }
    return words;
}

/* Return the bytes of the largest buffer among the lab's uses. */
static double largest_use(const struct request *request)
{
    const struct card_uses uses = lab_spec_uses(request->spec, request->base);
    double largest = 0;
    for (int i = 0; i < uses.count; i++)
        largest = fmax(largest, sweep_parts(uses.at[i].kind, uses.at[i].group.ranks) * uses.at[i].bytes);
    return largest;
}

double request_pair_bytes(const struct request *request)
{
    const double needed = fmax(largest_use(request), PAIR_TIMES * workload_gradient_bytes(workload_of(request->base)));
    return ceil(needed / PAIR_STEP) * PAIR_STEP;
}

struct alpha_beta request_pair(const struct request *request, const char *folder, double most_bytes)
{
    struct run run = *request->run;
    run.ranks = 2;
    struct card card;
    const struct workload *workload = workload_of(request->base);
    struct card_uses uses = { 0 };
    card_use(&uses, ALL_REDUCE, first_ranks(2), most_bytes);
    if (card_read(&card, folder, workload, &run, &uses, "here", request->cores) != CARD_WHOLE) {
        char **words = words_of_pair(request, folder, most_bytes);
        struct request pair = { .spec = request->spec,
                                .base = request->base,
                                .run = &run,
                                .arguments = words,
                                .cores = request->cores,
                                .is_silent = true };
        fputs("measuring all-reduces of two real ranks, for the links between simulated cores\n", stderr);
        int status = request_start(&pair, NULL);
        for (char **word = words; *word; word++)
            free(*word);
        free(words);
        if (status != STATUS_RIGHT)
            exit(status);
        card_read(&card, folder, workload, &run, &uses, "here", request->cores); /* short if memory is */
        if (!collective_costs_find(&card.collectives, ALL_REDUCE, first_ranks(2)))
            die(STATUS_WRONG, "the card of two real ranks in %s cannot be read back", folder);
    }
    struct alpha_beta cost = collective_costs_find(&card.collectives, ALL_REDUCE, first_ranks(2))->cost;
    alpha_beta_single_out(&cost, workload_gradient_bytes(workload)); /* of larger sums, backward wrote nothing */
    return cost;
}
