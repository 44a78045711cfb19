/* 05_token_skew: every rank has eight texts, and still one waits for another. Which rank should get which texts?
 *
 * Sequences (texts) differ in length. A batch is padded to its longest sequence, and attention's cost grows with length squared.
 * The ranks meet in every step, so the local term of the formula now depends on the data of that step:
 *
 *     step  = mean over steps of max over ranks of (data + local) + T
 *     local = f + per_token × padded + per_pair × padded × length + u
 *
 *     f, per_token, per_pair   forward and backward: seconds per step, per padded token, and per pair of tokens in attention
 *     u, T                     the update, the all-reduce (transfer)
 *     padded, length           padded tokens of the rank's batch; tokens of its longest text, or if packed of each text
 *
 *     fixed_sample_ws4      texts of one length: nothing to lose
 *     variable_sample_ws4   of many lengths, eight at a time as they come
 *     variable_bucket_ws4   … each rank's own share sorted by length, eight at a time, batches shuffled alike on all ranks
 *     bucket_independent    … shuffled by each rank in its own way: the trap
 *     variable_token_ws4    … sorted, as many as a budget of padded tokens allows, shuffled alike on all ranks
 *     token_independent     … shuffled by each rank in its own way
 *     token_weighted        … every sequence has the same weight; an average of the ranks' means favours those in small batches
 *     token_pairs           … a budget of padded tokens × length instead, the cost of attention
 *     global_bucket         … sorted across all ranks, so that a step has one length
 *     packed                the batches of variable_sample_ws4 laid end to end, each attending to itself: no padding, same loss
 *     packed_filled         … filled up to the budget
 *     epoch_…               the same over a whole epoch, 92 to 96 steps; the published runs measured ten of them
 *
 *     build/bin/05_token_skew --ranks 4 --max-tokens-per-batch 1280
 *     build/bin/05_token_skew --print-batches --ranks 4
 *
 * Look at: `tokens/s` (not steps, not padded tokens), padding_ratio (1 - useful / padded) and rank_token_spread (useful tokens of
 * the rank with the most less those of the one with the fewest, per step) in summary.csv, and which rank waits in which step. The
 * baseline is fixed_sample_ws4. Cases ending in _ws4 repeat a blog post (README.md); their token numbers are the same to the last
 * digit. What must hold: expected/05_token_skew.csv.
 * A budget deals unequal numbers of batches (`batches` in ranks.csv). A step needs a batch from every rank, so an epoch ends with the
 * rank that has the fewest, and the rest is dropped (dropped_tokens in summary.csv). DDP drops nothing: ranks with batches left hang.
 * Expect: 39.5 % padding as they come (default flags); sorting removes nearly all of it. Shuffled independently, sorted batches
 * unbalance the ranks; batches of a token budget hardly. */
#include "05_token_skew.h"

static const struct option_row rows[] = {
    { "--strategy", OPTION_CHOICE, offsetof(struct options, strategy), 0, 0, "all sample bucket token",
      "only the published case of this strategy" },
    { "--length-mode", OPTION_CHOICE, offsetof(struct options, length_mode), 0, 0, "both fixed variable",
      "only cases with texts of one length, or of many" },
    { "--print-batches", OPTION_SWITCH, offsetof(struct options, print_batches), 0, 0, "",
      "print each rank's texts in each step; train nothing" },
    { 0 },
};

/* clang-format off */
static void use_policy(struct options *o, enum token_strategy s) { o->policy = batching_policies[s]; }
static void one_length(struct options *o)    { use_policy(o, TOKENS_SAMPLE); o->is_fixed = true; }
static void sample(struct options *o)        { use_policy(o, TOKENS_SAMPLE); }
static void bucket(struct options *o)        { use_policy(o, TOKENS_BUCKET); }
static void token(struct options *o)         { use_policy(o, TOKENS_BUDGET); }
static void pairs(struct options *o)         { use_policy(o, TOKENS_PAIRS); }
static void global_bucket(struct options *o) { use_policy(o, TOKENS_GLOBAL_BUCKET); }
static void packed(struct options *o)        { use_policy(o, TOKENS_PACKED); }
static void filled(struct options *o)        { use_policy(o, TOKENS_FILLED); }

static void independent(struct options *o)   { o->policy.is_independent = true; }
static void weighted(struct options *o)      { o->weighs_by_texts = true; }
static void epoch(struct options *o)         { o->run.once = 1; } /* complete() replaces 1 by the steps */
static void epoch_independent(struct options *o) { independent(o); epoch(o); }

static const struct variant variants[] = {
    /* case                       lengths, dealing  change  idea, label */
    { "fixed_sample_ws4", one_length, NULL, "texts of one length", "texts of one length" },
    { "variable_sample_ws4", sample, NULL, "texts of many lengths, unsorted", "many lengths" },
    { "variable_bucket_ws4", bucket, NULL, "… sorted; all ranks shuffle their batches in the same way", "sorted by length" },
    { "bucket_independent", bucket, independent, "… the trap: each rank shuffles in its own way", "sorted + own shuffle per rank" },
    { "variable_token_ws4", token, NULL, "… sorted, up to a budget of padded tokens", "token budget" },
    { "token_independent", token, independent, "… each rank shuffles in its own way", "token budget + own shuffle" },
    { "token_weighted", token, weighted, "… and every text has the same weight", "token budget + equal weights" },
    { "token_pairs", pairs, NULL, "… up to a budget of padded tokens x length", "budget of tokens × length" },
    { "global_bucket", global_bucket, NULL, "… sorted across the ranks", "sorted across all ranks" },
    { "packed", packed, NULL, "unsorted, packed end to end", "packed" },
    { "packed_filled", filled, NULL, "… up to the budget", "packed + filled to the budget" },
    { "epoch_sample", sample, epoch, "a whole epoch: unsorted", "epoch: many lengths" },
    { "epoch_bucket", bucket, epoch, "… sorted, shuffled in the same way", "epoch: sorted by length" },
    { "epoch_bucket_indep", bucket, epoch_independent, "… sorted, each rank shuffles in its own way", "epoch: sorted + own shuffle" },
    { "epoch_token", token, epoch, "… a budget of tokens", "epoch: token budget" },
    { "epoch_token_indep", token, epoch_independent, "… each rank shuffles in its own way", "epoch: budget + own shuffle" },
    { "epoch_global_bucket", global_bucket, epoch, "… sorted across the ranks", "epoch: sorted across all ranks" },
    { "epoch_packed_filled", filled, epoch, "… packed up to the budget", "epoch: packed + filled" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = { .run = run_published_texts, .model = published_transformer };
    base.run.whole = true; /* steps differ, so every round measures all of them */
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    struct texts texts;
    texts_open(&texts, &base, most_of(&base, variants));

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        /* This case's batches and weights: 05_token_skew_batches.c */
        struct sequence_loader *loader = texts_deal(&texts, &o, world_rank(lab_world(lab)));

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = sequence_loader_next(loader); /* <- which rank gets which sequences */
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, batch);
            collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count));
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
    }
    texts_close(&texts);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    if (o->length_mode == FIXED && o->strategy > 1 + TOKENS_SAMPLE)
        die(STATUS_USAGE,
            "--length-mode fixed leaves --strategy nothing to do: all texts have one length; leave one out");
}

static const char *per(const struct options *o)
{
    (void)o;
    return variants[0].name;
}

static char *event(const struct options *o)
{
    const struct text_settings *texts = &o->model.of.transformer.texts;
    return memory_text("the texts have %d to %d tokens instead of %d, and each batch is padded to its longest",
                       texts->min_length, texts->max_length, texts->fixed_length);
}

static struct batch_most own_batches(const struct options *base)
{
    return most_of(base, variants);
}

static void strategies(struct lab *lab, const struct options *base, struct csv *csv)
{
    write_strategies(lab, base, variants, csv);
}

static const struct lab_spec spec = {
    .lab = "05_token_skew",
    .question = "Every rank has eight texts, and still one waits for another. Which rank should get which texts?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .instead = instead,
    .narrow = narrow,
    .complete = complete,
    .own_batches = own_batches,
    .need = need,
    .predict = predict,
    .costs = own_costs,
    .tokens = tokens,
    .per = per,
    .asked = "variable_sample_ws4",
    .event = event,
    .drawn = (const char *const[]){ "fixed_sample_ws4", "variable_sample_ws4", "global_bucket", NULL },
    .lesson = (const char *const[]){ "variable_sample_ws4", "variable_bucket_ws4", "variable_token_ws4",
                                     "global_bucket", "epoch_sample", "epoch_bucket", "epoch_bucket_indep",
                                     "epoch_token", "epoch_global_bucket", "epoch_packed_filled", NULL },
    .tables = (const struct lab_table[]){ { "strategies.csv", NULL, strategies, NULL }, { 0 } },
};
