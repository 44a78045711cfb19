#include "card/sweep_table.h"

#include "card/collective_cost.h"
#include "card/sweep.h"
#include "world/world.h"

#include <math.h>

static void write_row(struct csv *csv, const struct card *card, int ranks, double bytes, double seconds)
{
    /* if arrivals are unknown, the time includes waiting */
    const double sending = collective_hides_arrivals() ? (double)NAN : seconds;
    do {
        csv_integer(csv, "ranks", ranks);
        csv_number(csv, "bytes", bytes);
        csv_ms(csv, "time_ms", seconds);
        csv_ms(csv, "card_ms", card_allreduce(card, ranks, bytes));
        csv_ratio(csv, "algbw_GB_per_s", bytes / sending / 1e9);
        csv_ratio(csv, "busbw_GB_per_s", allreduce_bus_bandwidth(ranks, bytes, sending) / 1e9);
    } while (csv_end_row(csv));
}

struct check_failures sweep_table(struct csv *csv, struct world *world, const struct card *card, double most,
                                  int repeats)
{
    double bytes[SWEEP_SIZES_MOST], seconds[SWEEP_SIZES_MOST];
    struct sweep_call calls[SWEEP_SIZES_MOST];
    int ranks = world_size(world), sizes = sweep_sizes(world, most, bytes);
    for (int i = 0; i < sizes; i++)
        calls[i] = (struct sweep_call){ .kind = ALL_REDUCE, .bytes = bytes[i] };
    struct sweep sweep = { .calls = calls, .count = sizes, .warmups = 1, .repeats = repeats };
    struct check_failures wrong = sweep_measure(world, &sweep, seconds);
    for (int i = 0; csv && i < sizes; i++)
        write_row(csv, card, ranks, bytes[i], seconds[i]);
    return wrong;
}
