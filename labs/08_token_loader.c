/* 08_token_loader: how fast must tokens come, and when would a step not notice?
 *
 * A loader maps or reads shards (files of tokens) and fills two arrays: the inputs, rows of --seq-len tokens, and the targets, the same
 * one token later. Published loaders reach hundreds of millions of tokens per second. A step needs one batch:
 *
 *     step = max over ranks of (data + local) + T
 *     data = seconds of a batch: the sum of what its way does, each from the machine card
 *
 *     views          both arrays are the mapped shard's own tokens: nothing is copied
 *     elements       each batch: allocate, read, copy one by one, free
 *     blocks         … copy by vector instructions
 *     mapped         … the shard is mapped: no read
 *     preallocated   … both arrays are allocated once
 *     advised        … the kernel maps the pages ahead
 *     prefetched     … a helper fills the next batch during the step
 *     windowed       advised, and the kernel unmaps the pages behind: little memory
 *     buffered       llm.c's way: fread(), then a loop
 *     slow_disk      windowed, from storage that takes --disk-ms for each batch (a sleep)
 *     slow_disk_prefetched   … a helper waits for it during the step
 *
 *     build/bin/08_token_loader --ranks 2
 *     build/bin/08_token_loader --shards 'DIR/tokens_????.bin' --batch-size 8 --seq-len 1024 --ranks 4 --tail exact --print-batches
 *
 * On GPUs also copies.csv: how long it takes to hand a batch to the GPU, from pageable and from pinned memory.
 *
 * Look at: `data` in the table, beside the step; ladder.csv, where each way runs alone as fast as it can; crossover.csv, which says how
 * short a step would have to be before a way shows. What must hold: expected/08_token_loader.csv.
 * Expect: the ways differ by a factor of ten in tokens per second, and not at all in the step. Slow storage shows, until its delay fits
 * beside the step. --certify fetches an epoch's batches and proves that they have every token once, or tells which are missing. */
#include "08_token_loader.h"

static const struct option_row rows[] = {
    { "--shards", OPTION_TEXT, offsetof(struct options, shards), 0, 0, "GLOB",
      "token shards, in the order of their names' bytes; quote the glob [two seeded ones]" },
    { "--seq-len", OPTION_INTEGER, offsetof(struct options, model.of.transformer.texts.fixed_length), 1, 1 << 24, "T",
      "tokens of a row; the same as --fixed-seq-len" },
    { "--tail", OPTION_CHOICE, offsetof(struct options, tail), 0, 0, TAIL_WORDS,
      "where a shard ends: as published, its last tokens are dropped; exact, rows go on in the next one" },
    { "--shuffle", OPTION_CHOICE, offsetof(struct options, shuffle), 0, 0, SHUFFLE_WORDS,
      "exchange the rows of an epoch: none, those of a shard, or all (--tail exact)" },
    { "--print-batches", OPTION_SWITCH, offsetof(struct options, print_batches), 0, 0, "",
      "print which tokens each rank reads in each step, with CRC-32 of x and y; train nothing" },
    { "--certify", OPTION_SWITCH, offsetof(struct options, certify), 0, 0, "",
      "fetch an epoch's batches, tell whether they have each token exactly once; train nothing" },
    { "--epoch", OPTION_INTEGER, offsetof(struct options, epoch), EPOCH_NEXT, 1 << 20, "E",
      "of --certify, counted from 0; -1: the one in which --state goes on, else the first" },
    { "--state", OPTION_TEXT, offsetof(struct options, state), 0, 0, "FILE",
      "--print-batches resumes where this file says, and writes it after each step; --certify judges that resume" },
    { "--disk-ms", OPTION_NUMBER, offsetof(struct options, disk_ms), 0, 60000, "MS",
      "delay of a batch from slow storage" },
    { "--own-tokens", OPTION_INTEGER, offsetof(struct options, own_tokens), 1, 1 << 30, "N",
      "tokens of each of the lab's own two shards" },
    { "--ladder-tokens", OPTION_INTEGER, offsetof(struct options, ladder_tokens), 1, 1 << 24, "N",
      "tokens of a batch in ladder.csv" },
    { 0 },
};

/* clang-format off */
static void views(struct options *o)        { o->way = SOURCE_VIEWS; }
static void elements(struct options *o)     { o->way = SOURCE_ELEMENTS; }
static void blocks(struct options *o)       { o->way = SOURCE_BLOCKS; }
static void mapped(struct options *o)       { o->way = SOURCE_MAPPED; }
static void preallocated(struct options *o) { o->way = SOURCE_PREALLOCATED; }
static void advised(struct options *o)      { o->way = SOURCE_ADVISED; }
static void prefetched(struct options *o)   { o->way = SOURCE_PREFETCHED; }
static void windowed(struct options *o)     { o->way = SOURCE_WINDOWED; }
static void buffered(struct options *o)     { o->way = SOURCE_BUFFERED; }
static void slow(struct options *o)         { o->way = SOURCE_WINDOWED; o->is_slow = true; }

static const struct variant variants[] = {
    /* case          fault     fix           idea, label */
    { "views", views, NULL, "x and y lie in the shard itself: nothing is copied", "views of the shard" },
    { "elements", elements, NULL, "allocate, read, copy one by one", "element by element" },
    { "blocks", elements, blocks, "… copy by vector instructions", "element by element + blocks" },
    { "mapped", elements, mapped, "… the shard is mapped: no read", "element by element + mapped" },
    { "preallocated", elements, preallocated, "… x and y are allocated once", "element by element + preallocated" },
    { "advised", elements, advised, "… the kernel maps pages ahead", "element by element + advised" },
    { "prefetched", elements, prefetched, "… a helper fills the next batch", "element by element + prefetched" },
    { "windowed", elements, windowed, "advised, and the kernel unmaps the pages behind", "element by element + windowed" },
    { "buffered", buffered, NULL, "fread(), then a loop, as in llm.c", "fread and a loop" },
    { "slow_disk", slow, NULL, "each batch waits for slow storage", "slow storage" },
    { "slow_disk_prefetched", slow, prefetched, "… and a helper waits instead", "slow storage + prefetched" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = { .run = run_published_texts,
                            .model = published_transformer,
                            .disk_ms = 20,
                            .own_tokens = 16 << 20,
                            .ladder_tokens = 8192,
                            .epoch = EPOCH_NEXT,
                            .token_bytes = 2 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    struct feed *feed = feed_open(lab, &base);

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        feed_begin(feed, &o);

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            struct token_pair tokens = feed_next(feed); /* <- the way in which tokens come */
            lab_phase(lab, SPAN_FORWARD);
            const struct batch *batch = feed_batch(feed, tokens);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, batch);
            collective_run(collective,
                           all_reduce(TYPE_F32, t->gradients, t->gradients, t->count)); /* <- where all ranks meet */
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
    }
    feed_close(feed);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    if (o->state)
        die(STATUS_USAGE,
            "--state %s: belongs to --print-batches and --certify; a case trains on the same tokens in each round",
            o->state);
    if (o->epoch != EPOCH_NEXT)
        die(STATUS_USAGE, "--epoch %d: belongs to --certify; add that, or leave it out", o->epoch);
    refuse_shards(o);
}

static struct batch_most own_batches(const struct options *base)
{
    const double length = base->model.of.transformer.texts.fixed_length;
    return (struct batch_most){ .samples = base->run.batch_size, .rows = batch_tokens(base), .length = length };
}

static char *event(const struct options *o)
{
    return memory_text("each batch of tokens comes from storage that takes %g ms for it", o->disk_ms);
}

static const struct lab_spec spec = {
    .lab = "08_token_loader",
    .question = "How fast must tokens come, and when would a step not notice?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .instead = instead,
    .own_batches = own_batches,
    .need = feed_need,
    .predict = predict,
    .costs = token_costs,
    .asked = "slow_disk", /* the case to guess, whose fault `event` describes */
    .event = event,
    .drawn = (const char *const[]){ "views", "elements", "slow_disk", "slow_disk_prefetched", NULL }, /* as lanes */
    .tables = (const struct lab_table[]){ { "ladder.csv", measures_tables, write_ladder, NULL },
                                          { "crossover.csv", measures_tables, write_crossover, NULL },
                                          { "shuffle.csv", measures_tables, write_shuffle, NULL },
                                          { "copies.csv", measures_copies, write_copies, NULL },
                                          { 0 } },
};
