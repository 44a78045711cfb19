#include "frame/schedule.h"

#include "base/memory.h"
#include "base/random.h"
#include "world/world.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void schedule_begin(struct schedule *s, const struct run *run, const struct cases *cases)
{
    *s = (struct schedule){ .run = run, .chosen = cases, .blocks = cases->count, .turn = -1, .began = world_wall() };
    s->round_began = s->began;
}

int schedule_case(const struct schedule *s)
{
    return (int)s->order[s->turn];
}

/* True if rounds beyond the least number are run while they fit the budget. */
static bool is_open_ended(const struct run *run)
{
    return run_most_rounds(run) > run_least_rounds(run);
}

/* Steps of a round without repetitions. Only the first round (0) has the long cases. */
static double steps_of(const struct cases *cases, int round)
{
    double steps = 0;
    for (int i = 0; i < cases->count; i++) {
        const struct run *run = run_of(cases->settings[i]);
        struct window window = run_window(run);
        steps += round > 0 && run->once ? 0 : window.warmup + window.measured;
    }
    return steps;
}

/* Expected seconds of the next round, from the one that just ended. The first round may have more steps, so its time is scaled. */
static double next_round(const struct schedule *s, double now)
{
    double last = now - s->round_began;
    if (s->round > 0)
        return last;
    return last * steps_of(s->chosen, 1) / steps_of(s->chosen, 0);
}

static bool wants_round(const struct schedule *s)
{
    double now = world_wall();
    bool fits = s->round + 1 < run_most_rounds(s->run) && now - s->began + next_round(s, now) <= run_budget(s->run);
    return s->round + 1 < run_least_rounds(s->run) || (is_open_ended(s->run) && fits);
}

/* Add a case and its changes, one after another in any order: they are compared with each other. */
static void add_group(struct schedule *s, int of, struct random *random)
{
    uint32_t *first = &s->order[s->blocks];
    size_t count = 0;
    for (int i = 0; i < s->chosen->count; i++)
        if (s->chosen->of[i] == of)
            first[count++] = (uint32_t)i;
    if (count > 1)
        random_shuffle(random, first, count);
    s->blocks += (int)count;
}

static void draw_order(struct schedule *s)
{
    struct random random;
    random_seed(&random, s->run->seed + 1000003u * (uint64_t)(s->round + 1));
    uint32_t cases[CASES_MOST];
    size_t count = 0;
    s->blocks = 0;
    memset(s->repetitions, 0, sizeof s->repetitions);
    for (int i = 0; i < s->chosen->named; i++)
        if (s->round == 0 || !run_of(s->chosen->settings[i])->once)
            cases[count++] = (uint32_t)i;
    random_shuffle(&random, cases, count);
    for (size_t i = 0; i < count; i++)
        add_group(s, (int)cases[i], &random);
}

int schedule_next(struct schedule *s, struct world *world)
{
    if (s->turn == s->blocks - 1) {
        int wanted = world_rank(world) == 0 && wants_round(s);
        world_broadcast(world, &wanted, sizeof wanted);
        if (!wanted)
            return -1;
        s->round++;
        s->turn = -1;
        s->round_began = world_wall();
    }
    if (++s->turn == 0)
        draw_order(s);
    return schedule_case(s);
}

bool schedule_may_repeat(const struct schedule *s)
{
    return !s->run->quick && s->repetitions[schedule_case(s)] < REPETITIONS_MOST;
}

void schedule_repeat(struct schedule *s)
{
    s->repetitions[schedule_case(s)]++;
    s->order[s->blocks++] = (uint32_t)schedule_case(s);
}

void schedule_show(struct schedule *s, const char *lab, const char *name, struct terminal terminal)
{
    static const double interval = 2; /* least seconds between two lines that are not redrawn */
    double spent = world_wall() - s->began;
    bool is_soon = s->round > 0 && spent - s->text < interval;
    if (!terminal.is_live && (s->turn > 0 || is_soon))
        return;
    s->text = spent;
    double done = s->round + (double)s->turn / s->blocks; /* rounds */
    int least = run_least_rounds(s->run);
    char about[64] = "";
    if (done > 0.2) {
        double expected = fmax(spent, spent / done * least);
        snprintf(about, sizeof about, " of about %.0f s",
                 is_open_ended(s->run) ? fmax(expected, run_budget(s->run)) : expected);
    }
    char *line =
        memory_text("%s%s: round %d of %s%d, block %d of %d (%s), %.0f s%s%s", terminal.is_live ? "\r\033[K" : "", lab,
                    s->round + 1, is_open_ended(s->run) ? "at least " : "", least, s->turn + 1, s->blocks, name, spent,
                    about, terminal.is_live ? "" : "\n");
    fputs(line, stderr); /* one write, which launchers forward in one piece */
    free(line);
    fflush(stderr);
}
