/* 09_ddp_inside_replicas: divergence.csv of lab 09: replicas that silently differ, and a check that finds them. Every k steps each rank
 * hashes its parameters, and an all-gather brings the hashes together. DDP makes replicas equal once, at the begin, and then trusts that
 * equal updates keep them equal. On purpose, the last rank
 *
 *     nothing             is right: the check must stay silent
 *     skipped_sum         once updates by its own gradients instead of their sum
 *     other_seed          begins with other parameters than the others
 *     flipped_bit         has one bit of one parameter flipped
 *
 * A difference is found after the next step that k divides: at most k - 1 steps later. */
#include "09_ddp_inside.h"

#include <stdlib.h>
#include <string.h>

enum mistake { NOTHING, SKIPPED_SUM, OTHER_SEED, FLIPPED_BIT, MISTAKES };
static const char *const mistake_names[MISTAKES] = { "nothing", "skipped_sum", "other_seed", "flipped_bit" };

enum { HASH_PARTS = 4 }; /* 16 bits each: floats hold them exactly, so every backend carries them */

/* Arguments and buffers of the checks. */
struct checker {
    struct collective *collective;
    int ranks;
    float *mine, *all; /* (HASH_PARTS) and (ranks, HASH_PARTS), device memory */
    float *host;       /* (ranks, HASH_PARTS) */
    float *sum;        /* (count of the model) device memory: the gradients' sum */
};

static bool are_alike(const struct checker *c, int a, int b)
{
    return memcmp(c->host + a * HASH_PARTS, c->host + b * HASH_PARTS, HASH_PARTS * sizeof *c->host) == 0;
}

/* all: return whether all ranks have equal parameters. `odd` is the one rank that differs from all others, which are alike; -1 if unknown,
 * as with two ranks. */
static bool replicas_are_equal(struct checker *c, const struct trainer *t, int *odd)
{
    const uint64_t hash = block_results_hash(t->parameters, t->count);
    float parts[HASH_PARTS];
    for (int i = 0; i < HASH_PARTS; i++)
        parts[i] = (float)(hash >> 16 * i & 0xffff);
    device_put(c->mine, parts, sizeof parts);
    collective_run(c->collective, all_gather(TYPE_F32, c->mine, c->all, HASH_PARTS));
    device_fetch(c->host, c->all, (size_t)c->ranks * sizeof parts);
    bool are_equal = true;
    *odd = -1;
    for (int rank = 1; rank < c->ranks; rank++)
        are_equal &= are_alike(c, 0, rank);
    for (int rank = 0; rank < c->ranks && !are_equal && c->ranks > 2; rank++) {
        int like = 0;
        for (int other = 0; other < c->ranks; other++)
            like += are_alike(c, rank, other);
        *odd = like == 1 && *odd < 0 ? rank : *odd;
    }
    return are_equal;
}

static void flip_a_bit(const struct trainer *t)
{
    float *at = t->parameters + t->count / 2;
    uint32_t bits;
    device_fetch(&bits, at, sizeof bits);
    bits ^= 1u << 10; /* of a float's 23 bits of mantissa */
    device_put(at, &bits, sizeof bits);
}

static void begin_with_another_seed(const struct trainer *t, const struct options *o)
{
    const struct weights other = weights_of(t->model->initial, t->model->layers, o->run.seed + 1);
    weights_put(&other, t->parameters);
}

/* Result of a mistake: where it was made, and where it was found. */
struct found {
    int planted, step, rank; /* steps count from 1; 0: never */
    double check, train;     /* seconds of a check, and of a step */
};

static double since(double began)
{
    device_wait();
    return world_now() - began;
}

/* all: train with a mistake until it is found, or for three times k steps. */
static struct found try_mistake(struct lab *lab, const struct options *o, struct checker *c, enum mistake mistake)
{
    enum { TIMES = 64 };
    struct trainer *t = lab_trainer(lab);
    const int k = o->check_every, steps = 3 * k;
    const bool is_culprit = world_rank(lab_world(lab)) == c->ranks - 1;
    struct found found = { .planted = mistake == NOTHING ? 0 : mistake == OTHER_SEED ? 1 : k + 1, .rank = -1 };
    double check[TIMES], train[TIMES];
    int checks = 0, trained = 0;
    trainer_restart(t, share_even(&o->run, world_rank(lab_world(lab))), 0, 1 / (float)run_global_batch(&o->run));
    if (is_culprit && mistake == OTHER_SEED)
        begin_with_another_seed(t, o);
    for (int step = 1; step <= steps && found.step == 0; step++) {
        device_wait();
        double began = world_now();
        const struct batch *batch = trainer_next(t, NO_STALL);
        trainer_forward(t, batch);
        trainer_backward(t, batch);
        const bool is_now = is_culprit && step == found.planted;
        collective_run(c->collective, all_reduce(TYPE_F32, t->gradients, c->sum, t->count));
        trainer_update_by(t, is_now && mistake == SKIPPED_SUM ? t->gradients : c->sum);
        if (is_now && mistake == FLIPPED_BIT)
            flip_a_bit(t);
        train[trained++ % TIMES] = since(began);
        if (step % k > 0)
            continue;
        began = world_now();
        if (!replicas_are_equal(c, t, &found.rank))
            found.step = step;
        check[checks++ % TIMES] = since(began);
    }
    found.check = stats_quantile(check, checks < TIMES ? checks : TIMES, 0.5);
    found.train = stats_quantile(train, trained < TIMES ? trained : TIMES, 0.5);
    return found;
}

/* Seconds of a check by the machine card: hashing, and an all-gather of the hashes. */
static double check_seconds(const struct options *o, const struct card *card)
{
    return workload_gradient_bytes(&o->model) * card_cost(card, HASH_COST) +
           card_collective(card, ALL_GATHER, first_ranks(o->run.ranks), HASH_PARTS * sizeof(float));
}

/* Return the step after which a difference must be found: the first one from `planted` on that k divides; 0 for no difference. */
static int step_of_check(int planted, int k)
{
    return (planted + k - 1) / k * k;
}

void write_divergence(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct trainer *t = lab_trainer(lab);
    const int ranks = base->run.ranks, k = base->check_every;
    struct checker c = { .collective = collective_open(lab_world(lab), NULL), .ranks = ranks };
    struct check_failures wrong = { 0 };
    c.mine = device_new(MEMORY_MEASURING, HASH_PARTS, sizeof *c.mine);
    c.all = device_new(MEMORY_MEASURING, (size_t)ranks * HASH_PARTS, sizeof *c.all);
    c.host = memory_new((size_t)ranks * HASH_PARTS, sizeof *c.host);
    c.sum = device_new(MEMORY_MEASURING, t->count, sizeof *c.sum);
    for (enum mistake mistake = NOTHING; mistake < MISTAKES; mistake++) {
        const struct found found = try_mistake(lab, base, &c, mistake);
        const int culprit = mistake == NOTHING || ranks == 2 ? -1 : ranks - 1;
        if (found.step != step_of_check(found.planted, k) || found.rank != culprit)
            check_failures_add(&wrong, "replicas: %s in step %d was found after step %d, on rank %d",
                               mistake_names[mistake], found.planted, found.step, found.rank);
        while (csv) {
            csv_text(csv, "mistake", mistake_names[mistake]);
            csv_integer(csv, "check_every", k);
            csv_index(csv, "planted_step", found.planted > 0 ? found.planted : -1);
            csv_index(csv, "found_step", found.step > 0 ? found.step : -1);
            csv_index(csv, "rank", found.rank);
            csv_ms(csv, "check_ms", found.check);
            csv_ms(csv, "predicted_check_ms", check_seconds(base, lab_card(lab)));
            csv_ratio(csv, "share_of_steps", found.check / (k * found.train + found.check));
            if (!csv_end_row(csv))
                break;
        }
        world_heartbeat(lab_world(lab));
    }
    lab_add_wrong(lab, wrong);
    device_free(c.mine);
    device_free(c.all);
    device_free(c.sum);
    free(c.host);
    collective_close(c.collective);
}
