/* 10_memory: where does a rank's memory go, and what does it cost to need less?
 *
 * Data-parallel ranks all hold the same parameters, gradients and moments. ZeRO divides them among the ranks (common/collective/zero.h).
 * Activations grow with the batch; recomputing keeps few of them, and computes the others once more in backward. The formula:
 *
 *     memory = parameters + gradients + moments + activations + buffers for whole layers
 *     step   = max over ranks of (data + passes + again + (update + file) / parts) + sum over collectives of T(M)
 *
 *     again    what backward computes a second time
 *     file     reading and writing the moments, if a file has them
 *     parts    1 in stage 0, else one for each rank
 *     T(M)     a collective of M bytes
 *
 *     baseline              each rank holds all; one all-reduce
 *     zero1                 the optimizer's moments are divided
 *     zero2                 … and the gradients
 *     zero3                 … and the parameters: gathered layer by layer, twice
 *     zero3_ahead           zero3, a layer gathered while the one before computes
 *     recompute_all         of each block keep only its input
 *     recompute_sqrt        of each run of blocks keep only its input
 *     recompute_attention   keep all but what attention computes
 *     zero3_recompute       zero3 and recompute_all
 *     offload               the moments in a file: read and written in each update
 *     leak                  a mistake: each step keeps the outputs of its blocks
 *     kept_gradients        a mistake: zero2, but whole gradients stay until the update
 *     early_gather          a mistake: zero3, but all layers are gathered at once
 *
 *     build/bin/10_memory --ranks 2
 *     build/bin/10_memory --zero-table --parameters 7.5e9 --ranks 64     # the table of the ZeRO paper
 *     build/bin/10_memory --fit 80GB --model llama2-7b --ranks 8         # the smallest change after which it fits
 *
 * Look at: memory.csv, where each byte has an owner; `sent_mb` and the step beside it in summary.csv.
 * What must hold: expected/10_memory.csv.
 * Expect: zero1 and zero2 send as much as the baseline, zero3 half as much again; recomputing takes up to a third more time; offload costs
 * about another update, and more where the kernel has no memory for the file's pages. */
#include "10_memory.h"

#include <math.h>

static const struct option_row rows[] = {
    { "--every", OPTION_INTEGER, offsetof(struct options, every), 0, 256, "K",
      "blocks of a run of recompute_sqrt; 0: the square root of their number" },
    { "--zero-table", OPTION_SWITCH, offsetof(struct options, has_zero_table), 0, 0, "",
      "print what a rank of --ranks holds in each stage, and measure nothing" },
    { "--fit", OPTION_TEXT, offsetof(struct options, fit), 0, 0, "80GB",
      "print the smallest change after which --model fits into so much memory of each rank (80GiB, 512MB), and measure "
      "nothing" },
    { "--model", OPTION_CHOICE, offsetof(struct options, known), 0, 0, KNOWN_SHAPES_WORDS, "of --fit" },
    { "--length", OPTION_INTEGER, offsetof(struct options, length), 0, 1 << 24, "N",
      "tokens of its texts; 0: as many as it has positions for, or 4096" },
    { "--tflops", OPTION_NUMBER, offsetof(struct options, tflops), 1e-3, 1e6, "N",
      "what its GPUs reach, in 10^12 operations per second" },
    { "--link-gb", OPTION_NUMBER, offsetof(struct options, link_gb), 1e-3, 1e6, "N",
      "what a GPU sends to others, in GB/s" },
    { "--memory-gb", OPTION_NUMBER, offsetof(struct options, memory_gb), 1e-3, 1e6, "N",
      "what its update reads and writes, in GB/s" },
    { "--measured-speeds", OPTION_SWITCH, offsetof(struct options, measured_speeds), 0, 0, "",
      "for --fit, these three from the newest run in --out, here or on --platform; a GPU's with --precision bf16" },
    { "--parameters", OPTION_NUMBER, offsetof(struct options, parameters), 1, 1e15, "N", "of --zero-table" },
    { 0 },
};

/* clang-format off */
static void zero1(struct options *o) { o->plan.stage = 1; }
static void zero2(struct options *o) { o->plan.stage = 2; }
static void zero3(struct options *o) { o->plan.stage = 3; }
static void ahead(struct options *o) { zero3(o); o->plan.ahead = 1; }
static void recompute(struct options *o, struct recomputing how) { o->model.of.transformer.recompute = how; }
static void all(struct options *o)       { recompute(o, (struct recomputing){ .every = 1 }); }
static void attention(struct options *o) { recompute(o, (struct recomputing){ .attention_only = true }); }
static void root(struct options *o)
{
    const double blocks = o->model.of.transformer.num_blocks;
    recompute(o, (struct recomputing){ .every = o->every > 0 ? o->every : (int)lround(sqrt(blocks)) });
}
static void zero3_all(struct options *o) { zero3(o); all(o); }
static void offload(struct options *o) { o->plan.offload = o->run.out; }
static void leak(struct options *o) { o->leaks = true; }
static void keep(struct options *o) { zero2(o); o->plan.keeps_gradients = true; }
static void early(struct options *o) { zero3(o); o->plan.ahead = LAYERS_MOST; }

static const struct variant variants[] = {
    /* case                 fault  fix        idea, label */
    { "baseline",            NULL,  NULL,      "each rank holds all", "all on each rank" },
    { "zero1",               NULL,  zero1,     "moments divided among the ranks", "ZeRO 1" },
    { "zero2",               NULL,  zero2,     "… and gradients", "ZeRO 2" },
    { "zero3",               NULL,  zero3,     "… and parameters, gathered layer by layer", "ZeRO 3" },
    { "zero3_ahead",         NULL,  ahead,     "zero3, a layer gathered while the one before computes", "ZeRO 3 one layer ahead" },
    { "recompute_all",       NULL,  all,       "keep the input of each block only", "recompute all" },
    { "recompute_sqrt",      NULL,  root,      "keep the input of every few blocks only", "recompute runs of blocks" },
    { "recompute_attention", NULL,  attention, "keep all but what attention computes", "recompute attention" },
    { "zero3_recompute",     NULL,  zero3_all, "zero3 and recompute_all", "ZeRO 3 + recompute all" },
    { "offload",             NULL,  offload,   "moments in a file, read and written by each update", "moments in a file" },
    { "leak",                leak,  NULL,      "each step keeps its blocks' outputs", "leak" },
    { "kept_gradients",      keep,  NULL,      "zero2, whole gradients stay until the update", "ZeRO 2 keeps gradients" },
    { "early_gather",        early, NULL,      "zero3, all layers are gathered at once", "ZeRO 3 gathers early" },
    { 0 },
};
/* clang-format on */

/* Arrays that a mistake keeps: one in each step of a block, as large as the outputs of all blocks. */
struct leaked {
    float **array; /* (count) */
    int count;
};

static void leak_more(struct leaked *leaked, const struct options *o)
{
    const size_t floats = (size_t)leak_bytes(o) / sizeof(float);
    float *array = device_new(MEMORY_ACTIVATIONS, floats, sizeof *array);
    device_fill(array, 0, floats);
    leaked->array = memory_grow_by_one(leaked->array, leaked->count, sizeof *leaked->array);
    leaked->array[leaked->count++] = array;
}

static void leaked_free(struct leaked *leaked)
{
    while (leaked->count > 0)
        device_free(leaked->array[--leaked->count]);
    free(leaked->array);
}

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = { .run = run_published_texts,
                            .model = stacked_transformer,
                            .parameters = 7.5e9,
                            .known = 2,
                            .tflops = 400,
                            .link_gb = 50,
                            .memory_gb = 2680 };
    base.run.batch_size = 4;
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct zero *zero = zero_open(&o.model, o.run.seed, t->most, o.plan, lab_collective(lab), NULL);
        struct leaked leaked = { 0 };
        lab_trains_divided(lab, zero);

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = trainer_next(t, NO_STALL);
            lab_phase(lab, SPAN_FORWARD);
            zero_forward(zero, batch); /* <- zero3 gathers each layer's parameters; what is recomputed is not kept */
            lab_phase(lab, SPAN_BACKWARD);
            zero_backward(zero, batch); /* <- recomputes, and sums each layer's gradients */
            if (o.leaks)
                leak_more(&leaked, &o); /* <- the mistake */
            lab_phase(lab, SPAN_UPDATE);
            zero_update(zero); /* <- of a rank's part; zero1 and zero2 then gather the parameters */
        }
        zero_close(zero);
        leaked_free(&leaked);
    }
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    if (o->every > o->model.of.transformer.num_blocks)
        die(STATUS_USAGE, "--every %d is more than --num-blocks %d; choose at most as many", o->every,
            o->model.of.transformer.num_blocks);
}

/* True if the options ask for a calculation, which is written to `out` unless that is NULL. */
static bool calculates(const struct options *o, FILE *out)
{
    return zero_table(o, out) || fit(o, out);
}

static void uses(const struct options *o, struct card_uses *uses)
{
    struct zero_call *calls = memory_new(ZERO_CALLS_MOST, sizeof *calls);
    const int count = zero_calls(&o->model, o->plan, o->run.ranks, calls);
    double most[COLLECTIVE_KINDS] = { 0 };
    for (int i = 0; i < count; i++)
        most[calls[i].kind] = fmax(most[calls[i].kind], (double)(calls[i].count * sizeof(float)));
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        if (most[kind] > 0)
            card_use(uses, (enum collective_kind)kind, first_ranks(o->run.ranks), most[kind]);
    free(calls);
}

double leak_bytes(const struct options *o)
{
    const struct transformer_settings *of = &o->model.of.transformer;
    const double tokens = workload_work(&o->model, o->run.batch_size).padded_tokens;
    return tokens * of->hidden_dim * of->num_blocks * sizeof(float);
}

/* Return the memory of a case at the peak of its backward: whole gradients accumulate, as they stay, while activations are given back. */
static struct memory_estimate most_of_backward(const struct options *o, struct memory_estimate all)
{
    const struct batch_most batch = loader_most(&o->model, o->run.batch_size);
    const int blocks = o->model.of.transformer.num_blocks, pieces = blocks + 2;
    const double whole = all.of[MEMORY_COMMUNICATION] / pieces, activations = all.of[MEMORY_ACTIVATIONS];
    struct workload fewer = o->model;
    struct memory_estimate most = { 0 };
    for (int passed = 0; passed <= blocks;
         passed++) { /* blocks that backward has passed: those of the rest are there */
        struct memory_estimate now = all;
        const int held = passed < blocks ? passed + 2 : pieces; /* the classifier's, and this one's */
        fewer.of.transformer.num_blocks = passed < blocks ? blocks - passed : 1;
        now.of[MEMORY_ACTIVATIONS] = fmin(activations, model_memory(&fewer, batch).of[MEMORY_ACTIVATIONS]);
        now.of[MEMORY_COMMUNICATION] = held * whole;
        now.of[MEMORY_CACHED] += (pieces - held) * whole + activations - now.of[MEMORY_ACTIVATIONS];
        if (now.of[MEMORY_ACTIVATIONS] + now.of[MEMORY_COMMUNICATION] >
            most.of[MEMORY_ACTIVATIONS] + most.of[MEMORY_COMMUNICATION])
            most = now;
    }
    return most;
}

static struct memory_estimate case_need(const struct options *o)
{
    const struct window window = run_window(&o->run);
    struct memory_estimate memory =
        zero_memory(&o->model, loader_most(&o->model, o->run.batch_size), o->plan, o->run.ranks);
    if (o->leaks)
        memory.of[MEMORY_ACTIVATIONS] +=
            (window.warmup + window.measured - 1) * leak_bytes(o); /* in the last forward */
    return o->plan.keeps_gradients ? most_of_backward(o, memory) : memory;
}

static int collectives(const struct options *o)
{
    return zero_calls(&o->model, o->plan, o->run.ranks, NULL);
}

static char *event(const struct options *o)
{
    (void)o;
    return memory_text("backward computes each block again from its input");
}

static const struct lab_spec spec = {
    .lab = "10_memory",
    .question = "Where does a rank's memory go, and what does it cost to need less?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .instead = calculates,
    .opens_models = true,
    .case_need = case_need,
    .predict = predict,
    .uses = uses,
    .costs = own_costs,
    .collectives = collectives,
    .asks_owner = true,
    .asked = "recompute_all",
    .event = event,
    .tables = tables,
    .drawn = (const char *const[]){ "baseline", "zero3", "recompute_all", NULL },
    .lesson = (const char *const[]){ "zero1", "zero2", "zero3", "recompute_all", "recompute_sqrt",
                                     "recompute_attention", "zero3_recompute", "offload", NULL },
};
