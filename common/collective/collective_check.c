#include "collective/collective_check.h"

#include "base/bf16.h"
#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compared elements, in runs of adjacent ones. The terms that a step keeps then lie in a few places of memory, not in thousands. */
enum { CHECKED_MOST = 4096, RUN = 256, RUNS_MOST = CHECKED_MOST / RUN };

/* Choose evenly spread runs for the n-th check. The first check includes the buffer's last element; each check moves on by one
 * run. After a full cycle, runs are aligned to the buffer's beginning instead of its end, and so on in turns: this covers the
 * elements outside all runs. */
HOT static struct sample choose_sample(size_t elements, size_t n)
{
    if (elements <= CHECKED_MOST)
        return (struct sample){ .run = elements, .stride = 1, .runs = elements > 0 };
    size_t runs = elements / RUN, stride = (runs + RUNS_MOST - 1) / RUNS_MOST, first = (runs - 1 + n) % stride;
    size_t begin = n / stride % 2 ? 0 : elements % RUN;
    return (struct sample){
        .first = begin + first * RUN, .run = RUN, .stride = stride, .runs = (runs - first + stride - 1) / stride
    };
}

static size_t index_of(const struct sample *s, size_t i)
{
    return s->first + i / s->run * s->stride * s->run + i % s->run;
}

/* Elements that each rank sends; in a broadcast and a message, those of the sender. */
static size_t sent_elements(const struct group *group, const struct collective_op *op)
{
    return op->kind == BARRIER ? 0 : op->count * (size_t)(op->kind == REDUCE_SCATTER ? group->ranks : 1);
}

/* Convert sampled elements to floats. */
static void widen(float *out, enum element_type type, const void *elements, size_t count)
{
    if (type == TYPE_F32)
        memcpy(out, elements, count * sizeof *out);
    for (size_t i = 0; i < count && type == TYPE_BF16; i++)
        out[i] = bf16_widen(((const uint16_t *)elements)[i]);
}

static void take_sample(float *out, enum element_type type, const void *buffer, struct sample s)
{
    size_t size = type_bytes(type);
    void *elements = memory_new(s.run * s.runs, size);
    device_sample(elements, (const char *)buffer + s.first * size, s.run * size, s.stride, s.runs);
    widen(out, type, elements, s.run * s.runs);
    free(elements);
}

void collective_check_buffers(const struct group *group, const struct collective_op *op)
{
    uintptr_t send = (uintptr_t)op->send, receive = (uintptr_t)op->receive;
    size_t sent = op_send_bytes(op, group->ranks), received = op_receive_bytes(op, group->ranks);
    if (op_sends(op, group->rank) && send < receive + received && receive < send + sent &&
        !op_is_in_place(op, group->rank))
        die(STATUS_WRONG, "rank %d of a group of %d: the buffers of a %s overlap, but not as in place; use two buffers",
            group->rank, group->ranks, collective_names[op->kind]);
}

HOT bool collective_check_keep(struct kept_terms *kept, const struct group *group, const struct collective_op *op,
                               size_t n)
{
    kept->sample.runs = 0;
    if (op->count == 0 || op->kind == BROADCAST || !op_is_in_place(op, group->rank))
        return false;
    if (!kept->terms)
        kept->terms = device_stage_new(MEMORY_MEASURING, CHECKED_MOST * sizeof(float));
    kept->sample = choose_sample(sent_elements(group, op), n);
    size_t size = type_bytes(op->type);
    device_sample_later(kept->terms, (const char *)op->send + kept->sample.first * size, kept->sample.run * size,
                        kept->sample.stride, kept->sample.runs);
    return true;
}

void collective_check_drop(struct kept_terms *kept)
{
    device_stage_free(kept->terms);
}

/* Get this rank's terms of the sampled elements; false if they are gone. A sum overwrites its terms in place. An all-gather does
 * not, but might do so wrongly, so kept terms are preferred. */
static bool recall_terms(const struct group *group, const struct collective_op *op, const struct kept_terms *kept,
                         struct sample *chosen, float terms[CHECKED_MOST])
{
    bool is_sum = op->kind == ALL_REDUCE || op->kind == REDUCE_SCATTER;
    if (kept->sample.runs == 0 && (!is_sum || !op_is_in_place(op, group->rank))) {
        if (op_sends(op, group->rank))
            take_sample(terms, op->type, op->send, *chosen);
        return true;
    }
    *chosen = kept->sample;
    device_wait();
    if (chosen->runs > 0)
        widen(terms, op->type, kept->terms, chosen->run * chosen->runs);
    return chosen->runs > 0;
}

/* A part of the result: elements begin … begin + count - 1 of what the ranks sent lie in `receive`. */
struct part {
    const char *receive;
    size_t begin, count;
    int source; /* the rank that sent them; -1: the sum over all ranks */
};

static int list_parts(const struct group *group, const struct collective_op *op, int i, struct part *part)
{
    *part = (struct part){ .receive = op->receive, .count = op->count, .source = -1 };
    switch (op->kind) {
    case ALL_REDUCE:
        return 1;
    case REDUCE_SCATTER:
        part->begin = (size_t)group->rank * op->count;
        return 1;
    case ALL_GATHER:
        part->receive += (size_t)i * op->count * type_bytes(op->type);
        part->source = i;
        return group->ranks;
    case BROADCAST:
    case SEND_RECEIVE:
        part->source = op->from;
        return op->from >= 0;
    default:
        return 0;
    }
}

/* The right result for one element: a copy, or a sum in double precision. An n-term sum in any order is off by at most (n - 1)
 * roundings of the sum of magnitudes (Higham, Accuracy and Stability, section 4.2). */
struct exact {
    double value, tolerance;
};

static struct exact exact_element(const struct collective_op *op, const float *all, size_t checked, int ranks,
                                  int source, size_t i)
{
    if (source >= 0)
        return (struct exact){ .value = (double)all[(size_t)source * checked + i] };
    double unit = op->type == TYPE_F32 ? FLT_EPSILON : ldexp(1.0, -7);
    double sum = 0, magnitude = 0;
    for (int r = 0; r < ranks; r++) {
        double term = (double)all[(size_t)r * checked + i];
        sum += term;
        magnitude += fabs(term);
    }
    return (struct exact){ sum, (ranks + 1) * unit * magnitude + 1e-37 };
}

/* Return "all-gather 3 in group 2"; the group only if it is not group 0. Free the text. */
static char *name_of(const struct collective_call *call)
{
    return call->group > 0 ? memory_text("%s %d in group %d", collective_names[call->kind], call->sequence, call->group)
                           : memory_text("%s %d", collective_names[call->kind], call->sequence);
}

static void add_failure(struct check_failures *wrong, const struct collective_call *call, int source, size_t element,
                        size_t elements, double got, double exact)
{
    char *name = name_of(call);
    if (source < 0)
        check_failures_add(wrong, "step %d, %s: element %zu of %zu is %g, but the ranks' terms add up to %g",
                           call->step + 1, name, element, elements, got, exact);
    else
        check_failures_add(wrong, "step %d, %s: element %zu of %zu is %g, but rank %d sent %g", call->step + 1, name,
                           element, elements, got, source, exact);
    free(name);
}

/* Compare the sampled elements of a part. Return false, and count a failure, at the first wrong one. */
static bool is_right(const struct group *group, const struct operation *operation, const struct part *part,
                     const struct sample *sample, const float *all, struct check_failures *wrong)
{
    const struct collective_op *op = &operation->op;
    const size_t checked = sample->run * sample->runs, size = type_bytes(op->type), end = part->begin + part->count;
    float elements[CHECKED_MOST], got[CHECKED_MOST];
    for (size_t run = 0; run < sample->runs; run++) {
        size_t from = index_of(sample, run * sample->run), to = from + sample->run, first = from;
        from = from > part->begin ? from : part->begin;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        device_fetch(elements, part->receive + (from - part->begin) * size, (to - from) * size);
        widen(got, op->type, elements, to - from);
        for (size_t at = from; at < to; at++) {
            struct exact exact =
                exact_element(op, all, checked, group->ranks, part->source, run * sample->run + at - first);
            double value = (double)got[at - from];
            if (fabs(value - exact.value) <= exact.tolerance ||
                (part->source >= 0 && isnan(value) && isnan(exact.value)))
                continue;
            add_failure(wrong, &operation->call, part->source, at - part->begin, part->count, value, exact.value);
            return false;
        }
    }
    return true;
}

void collective_check_result(const struct group *group, const struct operation *operation,
                             const struct kept_terms *kept, size_t n, struct check_failures *wrong)
{
    const struct collective_op *op = &operation->op;
    if (op->count == 0 || op->kind == BARRIER)
        return;
    float mine[CHECKED_MOST] = { 0 };
    struct sample chosen = choose_sample(sent_elements(group, op), n);
    if (!recall_terms(group, op, kept, &chosen, mine)) {
        char *name = name_of(&operation->call);
        check_failures_add(wrong, "step %d, %s: the check has no copy of the terms, which the result overwrote",
                           operation->call.step + 1, name);
        free(name);
        return;
    }
    size_t checked = chosen.run * chosen.runs;
    float *all = memory_new(checked * (size_t)group->ranks, sizeof *all);
    world_allgather(group->world, mine, checked * sizeof *mine, all);
    struct part part;
    for (int i = 0; i < list_parts(group, op, i, &part) && is_right(group, operation, &part, &chosen, all, wrong);)
        i++;
    free(all);
}
