/* 06_ring_allreduce_tables: traffic.csv, sweep.csv and crossover.csv of lab 06. */
#include "06_ring_allreduce.h"

#include <math.h>
#include <stdlib.h>

/* Write the messages and bytes of each rank in one sum of the gradients, counted and by formula. */
static void write_traffic(struct lab *lab, const struct options *base, struct csv *csv)
{
    int ranks = world_size(lab_world(lab));
    struct traffic *all = memory_new((size_t)ranks, sizeof *all);
    struct by_hand *by_hand = by_hand_open(lab_world(lab), base);
    float *data = lab_trainer(lab)->gradients;
    size_t count = lab_trainer(lab)->count;
    for (enum way way = GATHER; way < WAYS; way++) {
        p2p_traffic(by_hand[way].p2p);
        sum_by_hand(&by_hand[way], data, count);
        struct traffic mine = p2p_traffic(by_hand[way].p2p);
        world_gather(lab_world(lab), &mine, sizeof mine, all);
        for (int rank = 0; csv && rank < ranks; rank++) {
            const struct traffic formula = methods[way].sends(rank, ranks, (double)(count * sizeof *data));
            do {
                csv_text(csv, "algorithm", methods[way].name);
                csv_integer(csv, "rank", rank);
                csv_integer(csv, "sum_bytes", (long)(count * sizeof *data));
                csv_number(csv, "sent_bytes", all[rank].sent_bytes);
                csv_number(csv, "formula_sent_bytes", formula.sent_bytes);
                csv_integer(csv, "sent_messages", all[rank].sent_messages);
                csv_integer(csv, "formula_sent_messages", formula.sent_messages);
                csv_number(csv, "received_bytes", all[rank].received_bytes);
                csv_integer(csv, "received_messages", all[rank].received_messages);
            } while (csv_end_row(csv));
        }
    }
    by_hand_close(by_hand);
    free(all);
}

double sweep_bytes(const struct options *o)
{
    int mb = o->run.quick && o->sweep_mb > 4 ? 4 : o->sweep_mb;
    return o->run.ranks > 1 && o->run.cases.count == 0 ? (double)MIB * mb : 0;
}

static char *size_word(double bytes)
{
    if (isnan(bytes))
        return memory_text("no size");
    return bytes < 1e6 ? memory_text("%.3g kB", bytes / 1e3) : memory_text("%.3g MB", bytes / 1e6);
}

static void write_crossover(struct csv *csv, int ranks, double predicted, double found)
{
    do {
        csv_integer(csv, "ranks", ranks);
        csv_ratio(csv, "predicted_bytes", predicted); /* as many digits as all C libraries agree on */
        csv_ratio(csv, "found_bytes", found);
    } while (csv_end_row(csv));
    char *as_predicted = size_word(predicted), *in_sweep = size_word(found);
    printf("The ring is predicted to be faster than doubling from %s on; in the sweep it is from %s on.\n",
           as_predicted, in_sweep);
    free(as_predicted);
    free(in_sweep);
}

/* Write every way at every size, and crossover.csv. */
static void write_sweep(struct lab *lab, const struct options *o, struct csv *csv)
{
    struct by_hand *by_hand = by_hand_open(lab_world(lab), o);
    double bytes[SWEEP_SIZES_MOST], seconds[WAYS][SWEEP_SIZES_MOST] = { 0 }, all[WAYS * SWEEP_SIZES_MOST];
    struct sweep_impl ways[WAYS];
    struct sweep_call calls[WAYS * SWEEP_SIZES_MOST]; /* all sizes of the first way, then all of the next */
    int ranks = o->run.ranks, sizes = sweep_sizes(lab_world(lab), sweep_bytes(o), bytes), count = 0;
    for (enum way way = 0; way < WAYS; way++) {
        ways[way] = (struct sweep_impl){ implementation_of(way), &by_hand[way] };
        for (int i = 0; i < sizes; i++)
            calls[count++] = (struct sweep_call){ ALL_REDUCE, bytes[i], &ways[way] };
    }
    lab_add_wrong(lab, sweep_measure(lab_world(lab),
                                     &(struct sweep){ .calls = calls,
                                                      .count = count,
                                                      .until_last = true,
                                                      .warmups = 1,
                                                      .repeats = o->run.quick || o->run.takes_turns ? 3 : 9 },
                                     all));
    by_hand_close(by_hand);
    struct csv *crossover = lab_table(lab, "crossover.csv");
    for (int i = 0; csv && i < sizes; i++)
        do {
            csv_integer(csv, "ranks", ranks);
            csv_number(csv, "bytes", bytes[i]);
            for (enum way way = 0; way < WAYS; way++) {
                char name[40];
                seconds[way][i] = all[way * (unsigned)sizes + (unsigned)i];
                snprintf(name, sizeof name, "%s_ms", methods[way].name);
                csv_ms(csv, name, seconds[way][i]);
                snprintf(name, sizeof name, "%s_predicted_ms", methods[way].name);
                csv_ms(csv, name, methods[way].seconds(lab_card(lab), ranks, bytes[i], BY_THEMSELVES));
            }
        } while (csv_end_row(csv));
    if (crossover)
        write_crossover(crossover, ranks, predict_crossover(lab_card(lab), ranks),
                        find_crossover(bytes, seconds[DOUBLING], seconds[RING], sizes));
}

static bool is_wanted(const struct options *base)
{
    return sweep_bytes(base) > 0;
}

const struct lab_table tables[] = {
    { "traffic.csv", is_wanted, write_traffic, NULL },
    { "sweep.csv", is_wanted, write_sweep, sweep_bytes },
    { 0 },
};
