/* Describe the ranks' calls that differ, with cause and cure. */
#include "launch/desync_private.h"

#include "base/memory.h"
#include "base/rank_list.h"

#include <stdlib.h>

static void print_ranks(FILE *out, const struct party *party)
{
    rank_list_print(out, party->rank, party->ranks);
}

static const char *s_of(const struct party *party)
{
    return party->ranks == 1 ? "s" : "";
}

/* Print "all-reduce 14 in group 0 of ranks 0, 1 and 2". */
static void print_number(FILE *out, const struct collective_call *call, bool is_any_kind)
{
    fprintf(out, "%s %d", is_any_kind ? "collective" : collective_names[call->kind], call->sequence);
    collective_call_print_group(out, call);
}

/* Print "bucket 3 of 66 kB", "barrier" or, if the kind is said already, "66 kB". */
static void print_content(FILE *out, const struct collective_call *call, bool is_kind_said)
{
    if (is_kind_said && call->bucket == 0 && call->bytes > 0)
        collective_call_print_bytes(out, call->bytes);
    else
        collective_call_print_content(out, call);
}

static void print_step(FILE *out, const struct collective_call *call)
{
    if (call->step >= 0)
        fprintf(out, " in step %d", call->step);
    else
        fputs(" outside of steps", out);
}

/* Print the two calls of one number: "; in step 3, all-reduce 14 in group 0 of ranks 0 and 1 is bucket 3 of 66 kB on rank 0, but
 * bucket 4 of 66 kB on rank 1". */
static void print_both(FILE *out, const struct desync *d)
{
    const bool is_one_step = d->usual.call.step == d->odd.call.step,
               is_one_kind = d->usual.call.kind == d->odd.call.kind;
    fputs(is_one_step && d->usual.call.step >= 0 ? "" : ":", out);
    if (is_one_step && d->usual.call.step >= 0)
        fprintf(out, " in step %d:", d->usual.call.step);
    fputs(" ", out);
    print_number(out, &d->usual.call, !is_one_kind);
    fputs(" is ", out);
    print_content(out, &d->usual.call, is_one_kind);
    if (!is_one_step)
        print_step(out, &d->usual.call);
    fputs(" on ", out);
    print_ranks(out, &d->usual);
    fputs(", but ", out);
    print_content(out, &d->odd.call, is_one_kind);
    if (!is_one_step)
        print_step(out, &d->odd.call);
    fputs(" on ", out);
    print_ranks(out, &d->odd);
}

/* Print "ranks 0 and 2 wait in all-reduce 14 in group 0 of ranks 0 and 1 (bucket 3 of 66 kB in step 5)". */
static void print_waiting(FILE *out, const struct party *party)
{
    print_ranks(out, party);
    fprintf(out, " wait%s in ", s_of(party));
    print_number(out, &party->call, false);
    fputs(" (", out);
    print_content(out, &party->call, true);
    print_step(out, &party->call);
    fputs(")", out);
}

static void print_calls(FILE *out, const struct desync *d)
{
    if (!d->has_ended) {
        print_both(out, d);
        return;
    }
    fputs(": ", out);
    print_waiting(out, &d->usual);
}

static void print_cause_and_cure(FILE *out, const char *cause, const struct party *at_fault, const char *more,
                                 const char *cure)
{
    fprintf(out, "; cause: %s", cause);
    if (at_fault) {
        fputs(" on ", out);
        print_ranks(out, at_fault);
    }
    fprintf(out, "%s; cure: %s", more, cure);
}

/* Print "bucket 3", "buckets 3 to 5" or "a call". */
static void print_gap(FILE *out, const struct desync *d)
{
    const struct collective_call *from = &d->usual.call, *to = &d->odd.call;
    const bool is_in_step = !d->has_ended && to->step == from->step && to->bucket > from->bucket;
    if (from->bucket == 0)
        fputs("a call", out);
    else if (is_in_step && to->bucket - from->bucket > 1)
        fprintf(out, "buckets %d to %d", from->bucket, to->bucket - 1);
    else
        fprintf(out, "bucket %d", from->bucket);
}

static void say_left_out(FILE *out, const struct desync *d)
{
    const bool has_buckets = d->usual.call.bucket > 0;
    print_ranks(out, &d->odd);
    fputs(" left out ", out);
    print_gap(out, d);
    print_calls(out, d);
    print_cause_and_cure(out, has_buckets ? "a gradient that was not computed" : "a branch that was not taken", &d->odd,
                         has_buckets ? " (an unused parameter), and no zeros in its place" : "",
                         has_buckets ? "zeros for unused gradients (find_unused_parameters)"
                                     : "all ranks of a group must make the same calls in the same order");
}

static void say_other_order(FILE *out, const struct desync *d)
{
    print_ranks(out, &d->odd);
    fprintf(out, " call%s in another order", s_of(&d->odd));
    print_both(out, d);
    fputs(d->odd.ranks == 1 ? ", which calls that one later" : ", which call that one later", out);
    print_cause_and_cure(out, "calls started as they became ready, in another order", &d->odd, "",
                         "one order for all ranks, such as that of the first step (static_graph)");
}

static void say_other_size(FILE *out, const struct desync *d)
{
    print_ranks(out, &d->odd);
    fprintf(out, " sum%s another size", s_of(&d->odd));
    print_both(out, d);
    fputs("; cause: other buckets or shapes on ", out);
    print_ranks(out, &d->odd);
    if (d->has_changed) {
        fprintf(out, ", unlike in step %d (", d->before.step);
        collective_call_print_content(out, &d->before);
        fputs(")", out);
    }
    fputs("; cure: buckets and shapes of one rank for all (rank 0 broadcasts them)", out);
}

static void say_other_call(FILE *out, const struct desync *d)
{
    print_ranks(out, &d->odd);
    fprintf(out, " call%s another collective", s_of(&d->odd));
    print_both(out, d);
    print_cause_and_cure(out, "another path through the program", &d->odd, "",
                         "all ranks of a group must make the same calls in the same order");
}

static int last_step(const struct rank_record *r)
{
    int i = r->calls - 1;
    while (i >= 0 && r->call[i].step < 0)
        i--;
    return i >= 0 ? r->call[i].step : -1;
}

static void say_ended_early(FILE *out, const struct desync *d)
{
    const int step = last_step(d->odd.first);
    print_ranks(out, &d->odd);
    fputs(step >= 0 ? " ended" : " ended before the first step", out);
    if (step >= 0)
        fprintf(out, " after step %d", step);
    print_calls(out, d);
    print_cause_and_cure(out, "fewer batches", &d->odd, " (an uneven epoch)",
                         "join (a rank without data goes on in the sums of the others), or equally many batches");
}

static void say_crossed(FILE *out, const struct desync *d)
{
    fprintf(out, "groups %d and %d are crossed: ", d->usual.call.group, d->odd.call.group);
    print_waiting(out, &d->odd);
    fputs(", ", out);
    print_waiting(out, &d->usual);
    fputs("; cause: ", out);
    if (d->is_tie)
        fputs("each calls its own group first", out);
    else {
        print_ranks(out, &d->odd);
        fprintf(out, " call%s group %d before group %d", s_of(&d->odd), d->odd.call.group, d->usual.call.group);
    }
    if (d->has_changed)
        fprintf(out, ", unlike in step %d", d->odd.call.step - 1);
    fputs("; cure: one order of groups for all ranks", out);
}

/* Name both parties, because nothing shows which is at fault. */
static void say_tie(FILE *out, const struct desync *d)
{
    print_ranks(out, &d->usual);
    fputs(" and ", out);
    print_ranks(out, &d->odd);
    fputs(" disagree", out);
    print_both(out, d);
    print_cause_and_cure(out, "another size or order of calls", NULL, "",
                         "all ranks of a group must make the same calls in the same order");
}

char *desync_text(const struct rank_record *record, int count, bool *is_settled)
{
    static void (*const say[])(FILE *, const struct desync *) = {
        [LEFT_OUT] = say_left_out,     [OTHER_ORDER] = say_other_order, [OTHER_SIZE] = say_other_size,
        [OTHER_CALL] = say_other_call, [ENDED_EARLY] = say_ended_early, [CROSSED] = say_crossed,
    };
    struct desync *d = memory_new(1, sizeof *d);
    char *text = NULL;
    size_t size = 0;
    *is_settled = true;
    if (desync_find(record, count, d)) {
        FILE *out = memory_stream(&text, &size);
        (d->is_tie && d->kind != CROSSED ? say_tie : say[d->kind])(out, d);
        fclose(out);
        *is_settled = d->is_settled;
    }
    free(d);
    return text;
}
