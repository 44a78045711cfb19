#include "card/collective_cost.h"

#include "base/die.h"
#include "card/brief.h"
#include "card/sweep.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- entries ---------------------------------------------------------------------------------------------------- */

/* Return the place of an entry; -1 if there is none. */
static int place_of(const struct collective_costs *costs, enum collective_kind kind, struct card_group group)
{
    for (int i = 0; i < costs->count; i++)
        if (costs->at[i].kind == kind && card_group_equals(costs->at[i].group, group))
            return i;
    return -1;
}

const struct collective_cost *collective_costs_find(const struct collective_costs *costs, enum collective_kind kind,
                                                    struct card_group group)
{
    int place = place_of(costs, kind, group);
    return place < 0 ? NULL : &costs->at[place];
}

struct collective_cost *collective_costs_add(struct collective_costs *costs, enum collective_kind kind,
                                             struct card_group group)
{
    int place = place_of(costs, kind, group);
    if (place < 0 && costs->count == COLLECTIVE_USES_MOST)
        return NULL;
    if (place < 0) {
        place = costs->count++;
        costs->at[place] = (struct collective_cost){ .kind = kind, .group = group, .cost.ranks = group.ranks };
    }
    return &costs->at[place];
}

bool collective_costs_cover(const struct collective_costs *costs, const struct collective_use *use)
{
    const struct collective_cost *entry = collective_costs_find(costs, use->kind, use->group);
    return entry && entry->cost.points > 0 &&
           (use->kind == BARRIER || alpha_beta_max_bytes(&entry->cost) >= use->bytes);
}

/* Remove the entries that `uses` lacks if there may be no room for its own. */
static void make_room(struct collective_costs *costs, const struct card_uses *uses)
{
    if (costs->count + uses->count <= COLLECTIVE_USES_MOST)
        return;
    int kept = 0;
    for (int i = 0; i < costs->count; i++) {
        bool is_used = false;
        for (int use = 0; use < uses->count; use++)
            is_used |=
                uses->at[use].kind == costs->at[i].kind && card_group_equals(uses->at[use].group, costs->at[i].group);
        if (is_used)
            costs->at[kept++] = costs->at[i];
    }
    costs->count = kept;
}

/* --- sizes ------------------------------------------------------------------------------------------------------ */

/* Sizes that are measured, in bytes of a call (struct sweep_call): at least the first few, and more until well beyond the needed
 * size. There the library may change its algorithm, or a cache may end. Libraries send messages below a few KiB without waiting for
 * the receiver (4 KiB on a modelled machine, job_command.c), so the cost jumps there. With four points before the jump and five after
 * it, the fit takes a factor of two for a jump, and not for noise. An all-reduce sends parts, whose jump lies elsewhere for each number
 * of ranks. On cores the way of copying changes between 32 and 256 KiB, so two sizes lie between. */
enum { USUAL_MOST = 15, PARTS = 4 };
struct usual {
    int least, count;
    double bytes[USUAL_MOST];
};
static const struct usual usual_of_sums = { 6,
                                            12,
                                            { 256, 4096, 32768, 65536, 131072, 262144, 1 << 20, 3 << 20, 6 << 20,
                                              9 << 20, 16 << 20, 24 << 20 } },
                          usual_of_others = { 11,
                                              15,
                                              { 256, 1024, 2048, 4096, 8192, 32768, 65536, 131072, 262144, 1 << 20,
                                                3 << 20, 6 << 20, 9 << 20, 16 << 20, 24 << 20 } };
static const double BEYOND = 1.9; /* times the needed size */

/* Add a call in its place by size, unless there is one of that size. Return the new number. */
static int add_call(struct sweep_call *calls, int count, enum collective_kind kind, double bytes)
{
    int place = count;
    while (place > 0 && calls[place - 1].bytes > bytes)
        place--;
    if (place > 0 && calls[place - 1].bytes == bytes)
        return count;
    memmove(calls + place + 1, calls + place, (size_t)(count - place) * sizeof *calls);
    calls[place] = (struct sweep_call){ .kind = kind, .bytes = bytes };
    return count + 1;
}

/* Sizes around a lab's largest are added as parts of it, because a piece has at least three points. */
static const double parts_of_largest[PARTS] = { 0.5, 0.8, 1.25, 1.5 };

/* Choose the calls from which a use and collectives of the gradients are predicted. Sizes beyond the usual ones need buffers of at
 * most `fits` bytes. Return their number. */
static int choose_calls(const struct collective_use *use, double gradient_bytes, double fits,
                        struct sweep_call calls[ALPHA_BETA_POINTS_MOST])
{
    if (use->kind == BARRIER) {
        calls[0] = (struct sweep_call){ .kind = BARRIER };
        return 1;
    }
    const struct usual *usual = use->kind == ALL_REDUCE ? &usual_of_sums : &usual_of_others;
    const double parts = sweep_parts(use->kind, use->group.ranks);
    const double needed = BEYOND * fmax(use->bytes, gradient_bytes / parts);
    int count = 0;
    while (count < usual->count && (count < usual->least || calls[count - 1].bytes < needed))
        count = add_call(calls, count, use->kind, usual->bytes[count]);
    for (int i = 0; i < PARTS; i++) {
        double bytes = floor(use->bytes * parts_of_largest[i] / sizeof(float)) * sizeof(float);
        if (bytes > usual->bytes[usual->count - 1] && parts * bytes <= fits)
            count = add_call(calls, count, use->kind, bytes);
    }
    /* The drift of transfers is that of the all-reduce of the gradients: an error there would pass for drift of all collectives. */
    if (use->kind == ALL_REDUCE && gradient_bytes > 0 && gradient_bytes <= fits)
        count = add_call(calls, count, use->kind, gradient_bytes);
    return count;
}

double collective_costs_memory(const struct card_uses *uses, double gradient_bytes)
{
    double most = 0;
    for (int i = 0; i < uses->count; i++) {
        const struct collective_use *use = &uses->at[i];
        struct sweep_call calls[ALPHA_BETA_POINTS_MOST];
        int count = choose_calls(use, gradient_bytes, INFINITY, calls);
        int buffers = use->kind == SEND_RECEIVE ? 2 : sweep_parts(use->kind, use->group.ranks);
        most = fmax(most, buffers * calls[count - 1].bytes);
    }
    return most;
}

/* --- measuring -------------------------------------------------------------------------------------------------- */

enum { REPEATS = 5 };

/* all of `part`: measure `count` uses of one group in one sweep. */
static struct check_failures measure_part(struct collective_costs *costs, struct world *part, int group,
                                          const struct collective_use *uses, int count,
                                          const struct collective_setting *setting)
{
    struct sweep_call calls[COLLECTIVE_KINDS * ALPHA_BETA_POINTS_MOST];
    double seconds[COLLECTIVE_KINDS * ALPHA_BETA_POINTS_MOST], fits = sweep_largest(part);
    const bool is_real = !world_is_simulated();
    struct sweep sweep = { .calls = calls,
                           .in_groups = uses[0].group.with_siblings,
                           .group = group,
                           .warmups = is_real,
                           .repeats = is_real ? card_times(REPEATS) : 1,
                           .is_patient = is_real && !device_is_asynchronous(),
                           .between = setting->between,
                           .argument = setting->argument,
                           .written = setting->gradients,
                           .written_bytes = setting->gradients ? (size_t)setting->gradient_bytes : 0 };
    for (int i = 0; i < count; i++)
        sweep.count += choose_calls(&uses[i], setting->gradient_bytes, fits, calls + sweep.count);
    setting->prepare(setting->argument);
    struct check_failures wrong = sweep_measure(part, &sweep, seconds);
    for (int i = 0, call = 0; i < count && world_rank(part) == 0; i++) {
        struct collective_cost *entry = collective_costs_add(costs, uses[i].kind, uses[i].group);
        for (entry->cost.points = 0; call < sweep.count && calls[call].kind == uses[i].kind; call++)
            alpha_beta_add(&entry->cost, calls[call].bytes, seconds[call]);
        alpha_beta_fit(&entry->cost);
    }
    return wrong;
}

/* all: measure uses of one group while the ranks outside of it sleep. */
static struct check_failures measure_group(struct collective_costs *costs, struct world *world,
                                           const struct collective_use *uses, int count,
                                           const struct collective_setting *setting)
{
    struct check_failures wrong = { 0 };
    const struct card_group shape = uses[0].group;
    if (card_group_of(shape, 0, world_size(world)) < 0)
        die(STATUS_WRONG, "a lab uses a group of %d ranks, every %d-th, but there are %d; change its spec", shape.ranks,
            shape.stride, world_size(world));
    const int group = card_group_of(shape, world_rank(world), world_size(world));
    struct world *part = world_split(world, group < 0 ? -1 : 0, world_rank(world));
    if (part) {
        wrong = measure_part(costs, part, group, uses, count, setting);
        world_leave(part);
    }
    world_park(world);
    return wrong;
}

struct check_failures collective_costs_measure(struct collective_costs *costs, struct world *world,
                                               const struct card_uses *uses, const struct collective_setting *setting)
{
    struct check_failures wrong = { 0 };
    struct card_uses missing = { 0 };
    make_room(costs, uses);
    for (int i = 0; i < uses->count; i++)
        if (!collective_costs_cover(costs, &uses->at[i]))
            missing.at[missing.count++] = uses->at[i];
    for (int first = 0, end; first < missing.count; first = end) {
        for (end = first + 1; end < missing.count && card_group_equals(missing.at[end].group, missing.at[first].group);)
            end++;
        struct check_failures found = measure_group(costs, world, missing.at + first, end - first, setting);
        check_failures_join(&wrong, &found, "on the machine card, ");
    }
    return wrong;
}
