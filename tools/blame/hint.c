#include "hint.h"

#include "base/memory.h"
#include "chain.h"

#include <math.h>
#include <stdlib.h>

/* Causes of slow steps, with the lesson that tries the remedies, and the PyTorch settings to try. */
enum cause { DATA, COMPUTE, HOST, SKEW, TRANSFER, OWN_WORK, CAUSES, UNKNOWN = CAUSES };
static const struct {
    const char *lesson, *remedy;
} causes[CAUSES] = {
    [DATA] = { "01_straggler",
               "DataLoader(num_workers=…) of at least load time ÷ step time, with prefetch_factor, so that "
               "the next batch is ready before a step asks for it." },
    [COMPUTE] = { "01_straggler", "Look at clocks and temperature (nvidia-smi -q -d CLOCK,TEMPERATURE,PERFORMANCE), at "
                                  "other programs, and "
                                  "at gc.callbacks. Then move the node, or give it fewer samples with a weighted loss; "
                                  "gc.freeze(), and "
                                  "collect at the same step on all ranks." },
    [HOST] = { "02_rank0_host", "Do the host work in every tenth step, or in a thread; for checkpoints "
                                "torch.distributed.checkpoint.async_save(), which all ranks call." },
    [SKEW] = { "05_token_skew", "Batches of like length, drawn with one seed on all ranks; packing; "
                                "DistributedSampler.set_epoch()." },
    [TRANSFER] = { "03_comm_bound",
                   "bf16_compress_hook, a larger batch, or no_sync() in all but every n-th step; several "
                   "buckets instead of one (bucket_cap_mb); no find_unused_parameters, or static_graph." },
    [OWN_WORK] = { "07_triage",
                   "Change one thing: one batch again and again (data), CUDA graphs or a larger batch (launches), "
                   "torch.autocast (memory); torch.compile helps the last two." },
};

static enum cause cause_of_phase(int phase)
{
    return phase == SPAN_DATA ? DATA : phase == SPAN_HOST || phase == SPAN_OTHER ? HOST : COMPUTE;
}

/* Return the rank charged with more than three quarters of all waiting, for a case without a blamed rank; -1 if none. */
static int suspect_of(const struct case_stats *t)
{
    double all = 0;
    int most = 0;
    for (int rank = 0; rank < t->ranks; rank++) {
        all += t->sum[rank].caused;
        most = t->sum[rank].caused > t->sum[most].caused ? rank : most;
    }
    return t->sum[most].caused > 0.75 * all ? most : -1;
}

static bool has_collectives(const struct timeline *t)
{
    for (int i = 0; i < t->ranks * t->count; i++)
        if (t->spans[i].step >= 0 && !span_is_phase(&t->spans[i]))
            return true;
    return false;
}

static struct hint hint_with(enum cause cause, char *next)
{
    return cause == UNKNOWN
               ? (struct hint){ .next = next }
               : (struct hint){ .next = next, .lesson = causes[cause].lesson, .remedy = causes[cause].remedy };
}

/* Return a hint of what to add to the recording; NULL if the recording shows what ranks wait for. */
static char *missing_in(const struct outcome *o)
{
    const bool has_any_collective = has_collectives(&o->picture);
    if (o->stats.ranks == 1 && o->picture.numbers)
        return memory_text("give the traces of the other ranks too: one rank's trace does not show waits.");
    if (o->stats.ranks == 1 && has_any_collective)
        return memory_text(
            "add the spans of the other ranks: one rank's spans do not show waits. Put all ranks of a job "
            "into one\nfile, as in  cat spans-*.csv > spans.csv");
    if (o->stats.ranks > 1 && !has_any_collective)
        return memory_text("add a row for each collective (%s …): without them waits cannot be computed.",
                           span_names[SPAN_PHASES]);
    if (isnan(o->summary.mean.wait))
        return memory_text("record when each rank arrives, as notebooks-md/your_own_job.md explains.");
    return NULL;
}

static struct hint hint_at(const struct outcome *o, const struct culprit *culprit, const struct hosts *hosts)
{
    char *name = culprit_name(culprit, o, hosts);
    enum cause cause = cause_of_phase(culprit->phase);
    char *what =
        culprit->phase < 0 ? memory_text("late") : memory_text("late in its %s", culprit_phase_name(culprit->phase));
    const struct step_means *mean = &o->summary.mean;
    char *also = mean->transfer > mean->wait
                     ? memory_text("\nTransfer, %.0f %% of a step, costs more: notebooks-md/%s.md.",
                                   100 * mean->transfer / mean->step, causes[TRANSFER].lesson)
                     : memory_text("%s", "");
    char *next =
        memory_text("%s is %s; notebooks-md/%s.md tries what helps.%s", name, what, causes[cause].lesson, also);
    free(also);
    free(what);
    free(name);
    return hint_with(cause, next);
}

struct hint hint_of(const struct outcome *o, const struct culprit *culprit, const struct hosts *hosts)
{
    static const double much = 0.15; /* share of a step; less is hardly worth a lesson */
    const struct step_means *mean = &o->summary.mean;
    char *missing = missing_in(o);
    if (missing)
        return hint_with(UNKNOWN, missing);
    const bool is_waiting = mean->wait > much * mean->step;
    if (culprit_is_named(culprit))
        return hint_at(o, culprit, hosts);
    if (is_waiting && mean->wait >= mean->transfer && chain_has_messages(&o->picture))
        return hint_with(UNKNOWN, memory_text("ranks wait for each other's messages, as stages of a pipeline do: more "
                                              "micro-batches shorten these waits, and stages of equal work."));
    if (is_waiting && suspect_of(&o->stats) >= 0)
        return hint_with(UNKNOWN,
                         memory_text("most of the waiting is for rank %d, but chance or the baseline explain as much; "
                                     "record more than %d steps.",
                                     timeline_rank(&o->picture, suspect_of(&o->stats)), o->stats.steps));
    if (is_waiting && mean->wait >= mean->transfer)
        return hint_with(SKEW, memory_text("a different rank is late each time, as with unequal batches; "
                                           "notebooks-md/05_token_skew.md evens them out."));
    if (mean->transfer > much * mean->step)
        return hint_with(TRANSFER, memory_text("transfer is %.0f %% of a step; notebooks-md/03_comm_bound.md asks what "
                                               "makes it cheaper.",
                                               100 * mean->transfer / mean->step));
    if (mean->host > much * mean->step)
        return hint_with(HOST, memory_text("all ranks work on the host for %.0f %% of a step; "
                                           "notebooks-md/02_rank0_host.md tries what helps.",
                                           100 * mean->host / mean->step));
    if (mean->data > much * mean->step)
        return hint_with(DATA, memory_text("all ranks fetch for %.0f %% of a step; notebooks-md/01_straggler.md tries "
                                           "fetching ahead.",
                                           100 * mean->data / mean->step));
    return hint_with(OWN_WORK, memory_text("ranks wait little: most of a step is each rank's own work "
                                           "(notebooks-md/07_triage.md asks for what: data, launches or memory)."));
}
