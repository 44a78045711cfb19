/* sabotage_lab.c: make a lab go wrong on request. The linker redirects the functions of a step to this file (-Wl,--wrap);
 * environment variables select the fault.
 *
 *     SABOTAGE=WHAT         one of the words passed to is_asked() below; unset: no fault
 *     SABOTAGE_RANK=R       only on this rank; unset: on all ranks
 *     SABOTAGE_CALL=N       at the n-th all-reduce of the gradients, from 0 on; for `early`, the n-th that is started
 *     SABOTAGE_FLOATS=N     number of elements of an all-reduce of the gradients */
#include "card/own_probe.h"
#include "card/probe.h"
#include "collective/engine.h"
#include "device/device.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int rank;
    int sums, started; /* all-reduces of gradients so far, blocking and started */
    bool probes;       /* a probe measures; its all-reduces do not count */
} here;

static bool is_asked(const char *what)
{
    const char *asked = getenv("SABOTAGE"), *rank = getenv("SABOTAGE_RANK");
    return asked && strcmp(asked, what) == 0 && (!rank || atoi(rank) == here.rank);
}

static bool is_call(int call)
{
    const char *asked = getenv("SABOTAGE_CALL");
    return asked && atoi(asked) == call;
}

/* Flip one bit of the middle element. */
static void flip(const void *memory, size_t count)
{
    uint32_t bits;
    uint32_t *at = (uint32_t *)(uintptr_t)memory + count / 2;
    device_fetch(&bits, at, sizeof bits);
    bits ^= 1u << 21;
    device_put(at, &bits, sizeof bits);
}

static void spoil(const void *memory)
{
    const float nan = NAN;
    device_put((float *)(uintptr_t)memory, &nan, sizeof nan);
}

/* --- sums ------------------------------------------------------------------------------------------------------- */

static bool is_gradients(const struct operation *operation)
{
    const char *floats = getenv("SABOTAGE_FLOATS");
    return !here.probes && floats && operation->call.step >= 0 && operation->op.count == (size_t)atol(floats);
}

/* Spare array; one is enough for all uses. */
static float *aside;

/* Return the terms of this rank. For a sum in place, put_aside() has copied them. */
static const float *own_terms(const struct operation *operation)
{
    return operation->op.send == operation->op.receive ? aside : operation->op.send;
}

static void put_aside(const struct operation *operation)
{
    if (!aside)
        aside = device_new(MEMORY_DATA, operation->op.count, sizeof *aside);
    device_copy(aside, operation->op.send, operation->op.count);
}

static void before_sum(const struct operation *operation)
{
    if (is_asked("lost"))
        put_aside(operation);
    if (is_asked("flip-gradient"))
        flip(operation->op.send, operation->op.count);
    if (is_asked("nan-gradient"))
        spoil(operation->op.send);
}

static void after_sum(const struct operation *operation)
{
    if (is_asked("flip-sum"))
        flip(operation->op.receive, operation->op.count);
    if (is_asked("lost"))
        device_copy(operation->op.receive, own_terms(operation), operation->op.count);
}

void __real_engine_run(struct engine *engine, const struct operation *operation);
void __wrap_engine_run(struct engine *engine, const struct operation *operation);
void __wrap_engine_run(struct engine *engine, const struct operation *operation)
{
    bool is_hit = is_gradients(operation) && is_call(here.sums++);
    if (is_hit)
        before_sum(operation);
    __real_engine_run(engine, operation);
    if (is_hit)
        after_sum(operation);
}

/* `early`: the started sum writes its result elsewhere, as if it finished before the data arrived. */
void __real_engine_start(struct engine *engine, int slot, const struct operation *operation);
void __wrap_engine_start(struct engine *engine, int slot, const struct operation *operation);
void __wrap_engine_start(struct engine *engine, int slot, const struct operation *operation)
{
    struct operation elsewhere = *operation;
    if (is_gradients(operation) && is_call(here.started++) && is_asked("early")) {
        put_aside(operation);
        elsewhere.op.send = elsewhere.op.receive = aside;
    }
    __real_engine_start(engine, slot, &elsewhere);
}

/* `skip`: this all-reduce is not called. `other`: a barrier is called in its place. */
void __real_collective_run(struct collective *collective, struct collective_op op);
void __wrap_collective_run(struct collective *collective, struct collective_op op);
void __wrap_collective_run(struct collective *collective, struct collective_op op)
{
    static int calls;
    const char *floats = getenv("SABOTAGE_FLOATS");
    bool is_hit = !here.probes && floats && op.count == (size_t)atol(floats) && is_call(calls++);
    if (is_hit && is_asked("other"))
        op = barrier();
    if (!is_hit || !is_asked("skip"))
        __real_collective_run(collective, op);
}

/* --- probes ------------------------------------------------------------------------------------------------------ */

struct card_probe __real_probe_measure(struct probe *probe, int visits);
struct card_probe __wrap_probe_measure(struct probe *probe, int visits);
struct card_probe __wrap_probe_measure(struct probe *probe, int visits)
{
    here.probes = true;
    const struct card_probe measured = __real_probe_measure(probe, visits);
    here.probes = false;
    return measured;
}

double __real_probe_transfer(struct probe *probe, int pairs, bool *is_disturbed);
double __wrap_probe_transfer(struct probe *probe, int pairs, bool *is_disturbed);
double __wrap_probe_transfer(struct probe *probe, int pairs, bool *is_disturbed)
{
    here.probes = true;
    const double seconds = __real_probe_transfer(probe, pairs, is_disturbed);
    here.probes = false;
    return seconds;
}

void __real_own_probe_measure(struct own_probe *probe, const struct own_costs *costs, struct own_pace pace,
                              struct own_now *now);
void __wrap_own_probe_measure(struct own_probe *probe, const struct own_costs *costs, struct own_pace pace,
                              struct own_now *now);
void __wrap_own_probe_measure(struct own_probe *probe, const struct own_costs *costs, struct own_pace pace,
                              struct own_now *now)
{
    here.probes = true;
    __real_own_probe_measure(probe, costs, pace, now);
    here.probes = false;
}

void __real_own_costs_measure(struct own_costs *costs, struct world *world, struct own_where where, int busy,
                              const struct own_cost *list);
void __wrap_own_costs_measure(struct own_costs *costs, struct world *world, struct own_where where, int busy,
                              const struct own_cost *list);
void __wrap_own_costs_measure(struct own_costs *costs, struct world *world, struct own_where where, int busy,
                              const struct own_cost *list)
{
    here.probes = true;
    __real_own_costs_measure(costs, world, where, busy, list);
    here.probes = false;
}

/* --- kernels ---------------------------------------------------------------------------------------------------- */

void __real_device_open(int place, enum precision precision);
void __wrap_device_open(int place, enum precision precision);
void __wrap_device_open(int place, enum precision precision)
{
    here.rank = place;
    __real_device_open(place, precision);
}

void __real_device_multiply(float *out, const float *x, const float *w, int B, int N, int K);
void __wrap_device_multiply(float *out, const float *x, const float *w, int B, int N, int K);
void __wrap_device_multiply(float *out, const float *x, const float *w, int B, int N, int K)
{
    if (!is_asked("no-product"))
        __real_device_multiply(out, x, w, B, N, K);
}

void __real_device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K);
void __wrap_device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K);
void __wrap_device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K)
{
    if (!is_asked("no-backward"))
        __real_device_multiply_back(out, y, w, B, N, K);
}

void __real_device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K);
void __wrap_device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K);
void __wrap_device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K)
{
    if (!is_asked("no-gradient"))
        __real_device_multiply_outer(out, x, y, B, N, K);
}

void __real_device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                                 float scale);
void __wrap_device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                                 float scale);
void __wrap_device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                                 float scale)
{
    const double nan = (double)NAN;
    __real_device_cross_entropy(loss, logits, bias, labels, B, N, scale);
    if (is_asked("nan-loss") && is_call(here.sums)) {
        device_wait();
        device_put(loss, &nan, sizeof nan);
    }
}

void __real_device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates);
void __wrap_device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates);
void __wrap_device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates)
{
    if (is_asked("no-update"))
        return;
    if (is_asked("drift") && is_call(here.sums - 1)) { /* this rank alone takes one step with other rates */
        struct adamw_rates other = *rates;
        other.rate *= 1.01f;
        __real_device_adamw(p, m, v, g, count, &other);
        return;
    }
    __real_device_adamw(p, m, v, g, count, rates);
}
