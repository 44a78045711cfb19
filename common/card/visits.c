#include "card/visits.h"

#include "base/interference.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/brief.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const double TICK_S = 0.01; /* of the count of steal */

struct visits visits_open(int ranks, int shapes, int planned)
{
    struct visits v = { .ranks = ranks, .shapes = shapes, .planned = planned, .most = VISITS_TIMES * planned };
    if (card_is_brief())
        v.planned = v.most = 1;
    v.at = memory_new((size_t)(v.most * ranks * shapes), sizeof *v.at);
    return v;
}

void visits_close(struct visits *v)
{
    free(v->at);
}

static const struct visit *visit_at(const struct visits *v, int turn, int rank, int shape)
{
    return &v->at[(turn * v->ranks + rank) * v->shapes + shape];
}

/* True if steal disturbed the turns so far, on any rank. The first tick may be of earlier steal. */
static bool is_stolen(const struct visits *v)
{
    bool is_any = false;
    for (int rank = 0; rank < v->ranks; rank++) {
        double stolen = -TICK_S, took = 0;
        for (int turn = 0; turn < v->turns; turn++) {
            stolen += visit_at(v, turn, rank, 0)->turn_stolen;
            took += visit_at(v, turn, rank, 0)->turn_took;
        }
        is_any |= interference_is_significant(stolen / took);
    }
    return is_any;
}

/* Return the largest share of a visit's time in which a rank's core was taken; infinite for a visit that was left out. */
static double taken_in(const struct visits *v, int turn, int shape)
{
    const bool counts_steal = is_stolen(v);
    double most = 0;
    for (int rank = 0; rank < v->ranks; rank++) {
        const struct visit *visit = visit_at(v, turn, rank, shape);
        if (!(visit->took > 0))
            return INFINITY;
        most = fmax(most, visit->queued / visit->took);
        if (counts_steal)
            most = fmax(most, visit->turn_stolen / visit->turn_took);
    }
    return most;
}

/* Return the number of undisturbed visits of a shape. */
static int quiet_visits(const struct visits *v, int shape)
{
    int quiet = 0;
    for (int turn = 0; turn < v->turns; turn++)
        quiet += !interference_is_significant(taken_in(v, turn, shape));
    return quiet;
}

bool visits_lack(const struct visits *v, int shape)
{
    return v->turns < v->planned || (v->turns < v->most && quiet_visits(v, shape) < v->planned);
}

/* Return the number of visits of the shape that were disturbed less than that of `turn`. */
static int place_of(const struct visits *v, int turn, int shape)
{
    const double mine = taken_in(v, turn, shape);
    int place = 0;
    for (int other = 0; other < v->turns; other++) {
        const double share = taken_in(v, other, shape);
        place += share < mine || (other < turn && share <= mine);
    }
    return place;
}

/* --- times ------------------------------------------------------------------------------------------------------- */

/* Offsets of the parts of struct local_times. */
static const size_t parts[] = { offsetof(struct local_times, fetch), offsetof(struct local_times, passes),
                                offsetof(struct local_times, update), offsetof(struct local_times, forward) };
enum { PARTS = sizeof parts / sizeof *parts };

static double *part_of(struct local_times *times, int part)
{
    return (double *)((char *)times + parts[part]);
}

/* A visit as the mean of its ranks. */
struct mean_visit {
    bool counts;
    struct local_times times;
    double late; /* share by which the slowest rank's last lap exceeds the mean rank's */
};

static struct mean_visit mean_of_ranks(const struct visits *v, int turn, int shape)
{
    struct mean_visit mean = { .counts = true };
    double sum = 0, most = 0;
    for (int rank = 0; rank < v->ranks; rank++) {
        struct visit visit = *visit_at(v, turn, rank, shape);
        for (int part = 0; part < PARTS; part++)
            *part_of(&mean.times, part) += *part_of(&visit.mean, part) / v->ranks;
        sum += visit.last;
        most = fmax(most, visit.last);
    }
    mean.late = most / (sum / v->ranks) - 1;
    return mean;
}

/* Return the mean time of the shape's visits that count. */
static double mean_lap(const struct visits *v, const struct mean_visit *all, int shape)
{
    double sum = 0;
    int count = 0;
    for (int turn = 0; turn < v->turns; turn++) {
        const struct mean_visit *visit = &all[turn * v->shapes + shape];
        sum += visit->counts ? lap_seconds(visit->times) : 0;
        count += visit->counts;
    }
    return sum / count;
}

/* Return the time of a turn's visits divided by the means of their shapes; 1 if no time was measured. */
static double pace_of(const struct visits *v, const struct mean_visit *of_turn, const double *mean)
{
    double sum = 0;
    int count = 0;
    for (int shape = 0; shape < v->shapes; shape++)
        if (of_turn[shape].counts && mean[shape] > 0) {
            sum += lap_seconds(of_turn[shape].times) / mean[shape];
            count++;
        }
    return sum > 0 ? sum / count : 1;
}

/* Write the medians of a shape's visits, each divided by its turn's pace. `values` (turns) is scratch. */
static void take_medians(const struct visits *v, const struct mean_visit *all, const double *pace, int shape,
                         double *values, struct local_times *times)
{
    for (int part = 0; part < PARTS; part++) {
        int count = 0;
        for (int turn = 0; turn < v->turns; turn++) {
            struct mean_visit visit = all[turn * v->shapes + shape];
            if (visit.counts)
                values[count++] = *part_of(&visit.times, part) / pace[turn];
        }
        *part_of(times, part) = stats_quantile(values, count, 0.5);
    }
}

/* Multiply all times by one factor, so that laps take as long as their means, on average over the shapes. */
static void give_level(const struct visits *v, const double *mean, struct local_times *times)
{
    double factor = 0;
    for (int shape = 0; shape < v->shapes; shape++) {
        const double lap = lap_seconds(times[shape]);
        factor += lap > 0 ? mean[shape] / lap / v->shapes : 0;
    }
    for (int shape = 0; shape < v->shapes; shape++)
        for (int part = 0; part < PARTS; part++)
            *part_of(&times[shape], part) *= factor;
}

/* Write which visits count, and their means over the ranks (turns, shapes). */
static void choose_visits(const struct visits *v, struct mean_visit *all, struct lap_times *times)
{
    double late = 0;
    int visits = 0;
    for (int shape = 0; shape < v->shapes; shape++) {
        const int quiet = quiet_visits(v, shape), kept = quiet > v->planned ? quiet : v->planned;
        times->is_disturbed |= quiet < v->planned;
        for (int turn = 0; turn < v->turns; turn++)
            if (place_of(v, turn, shape) < kept) {
                all[turn * v->shapes + shape] = mean_of_ranks(v, turn, shape);
                late += all[turn * v->shapes + shape].late;
                visits++;
            }
    }
    times->jitter = late / visits;
}

void visits_average(const struct visits *v, struct lap_times *times)
{
    struct mean_visit *all = memory_new((size_t)(v->turns * v->shapes), sizeof *all);
    double *pace = memory_new((size_t)v->turns, sizeof *pace), *values = memory_new((size_t)v->turns, sizeof *values),
           mean[SHAPES_MOST + 1];
    choose_visits(v, all, times);
    for (int shape = 0; shape < v->shapes; shape++)
        mean[shape] = mean_lap(v, all, shape);
    for (int turn = 0; turn < v->turns; turn++)
        pace[turn] = pace_of(v, &all[turn * v->shapes], mean);
    for (int shape = 0; shape < v->shapes; shape++)
        take_medians(v, all, pace, shape, values, &times->mean[shape]);
    give_level(v, mean, times->mean);
    free(values);
    free(pace);
    free(all);
}
