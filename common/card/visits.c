#include "card/visits.h"

#include "base/interference.h"
#include "base/memory.h"
#include "card/brief.h"

#include <math.h>
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

/* Return how many visits of a shape nothing disturbed. */
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

/* Return how many visits of the shape were disturbed less than that of `turn`. */
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

/* Add a visit of all ranks as one of `kept`. Return the share by which the slowest rank's last lap exceeds the mean rank's. */
static double add_visit(const struct visits *v, int turn, int shape, int kept, struct local_times *mean)
{
    double sum = 0, most = 0;
    for (int rank = 0; rank < v->ranks; rank++) {
        const struct visit *visit = visit_at(v, turn, rank, shape);
        mean->fetch += visit->mean.fetch / (kept * v->ranks);
        mean->passes += visit->mean.passes / (kept * v->ranks);
        mean->forward += visit->mean.forward / (kept * v->ranks);
        mean->update += visit->mean.update / (kept * v->ranks);
        sum += visit->last;
        most = fmax(most, visit->last);
    }
    return most / (sum / v->ranks) - 1;
}

void visits_average(const struct visits *v, struct lap_times *times)
{
    double jitter = 0;
    int visits = 0;
    for (int shape = 0; shape < v->shapes; shape++) {
        const int quiet = quiet_visits(v, shape), kept = quiet > v->planned ? quiet : v->planned;
        times->mean[shape] = (struct local_times){ 0 };
        times->is_disturbed |= quiet < v->planned;
        for (int turn = 0; turn < v->turns; turn++)
            if (place_of(v, turn, shape) < kept) {
                jitter += add_visit(v, turn, shape, kept, &times->mean[shape]);
                visits++;
            }
    }
    times->jitter = jitter / visits;
}
