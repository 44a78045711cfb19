/* 08_token_loader_feed: shards of lab 08, batches on the command line, and the tokens of a rank in its training step. */
#include "08_token_loader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OWN_SHARDS = 2 };

double batch_tokens(const struct options *o)
{
    return (double)o->run.batch_size * o->model.of.transformer.texts.fixed_length;
}

struct window_order order_of(const struct options *o, const struct shard_set *set)
{
    return (struct window_order){ .tail = (enum tail_rule)o->tail,
                                  .shuffle = (enum row_shuffle)o->shuffle,
                                  .seed = o->run.seed,
                                  .rows = (uint64_t)o->run.batch_size,
                                  .length = (uint64_t)o->model.of.transformer.texts.fixed_length,
                                  .ranks = (uint64_t)o->run.ranks,
                                  .shards = set->count,
                                  .start = set->start };
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

/* Make the lab's own shards in the folder of all results, unless they are there. */
static char *make_own(const struct options *o)
{
    char *folder = memory_text("%s/08_token_loader_shards", o->run.out);
    for (int i = 0; i < OWN_SHARDS; i++) {
        char *name = memory_text("seed%llu_%d_%d.bin", (unsigned long long)o->run.seed, o->own_tokens, i);
        char *path = memory_text("%s/%s", folder, name);
        if (access(path, R_OK) != 0) {
            struct file file = file_begin(folder, name);
            shard_make(file.out, &(struct shard_recipe){ .tokens = (uint64_t)o->own_tokens,
                                                         .seed = o->run.seed + (uint64_t)i,
                                                         .vocab = TOKEN_DOCUMENT,
                                                         .document = 500 });
            file_commit(&file);
        }
        free(path);
        free(name);
    }
    char *names = memory_text("seed%llu_%d_?.bin", (unsigned long long)o->run.seed, o->own_tokens),
         *glob_text = shard_set_glob(folder, names);
    free(names);
    free(folder);
    return glob_text;
}

/* Open all shards that --shards names, or the lab's own, which are made where they are missing. */
static struct shard_set *shards_open(const struct options *o)
{
    char *own = o->shards ? NULL : make_own(o);
    struct shard_set *set = shard_set_open(o->shards ? o->shards : own);
    free(own);
    return set;
}

struct shard_set *shards_of_tables(const struct options *o)
{
    enum { MOST = 32 << 20 }; /* tokens: more than caches hold */
    struct shard_set *set = shards_open(o);
    shard_set_keep(set, MOST);
    return set;
}

static void refuse_order(const struct window_order *order, const struct shard_set *set)
{
    const char **names = memory_new((size_t)set->count, sizeof *names);
    for (int i = 0; i < set->count; i++)
        names[i] = set->shard[i].path;
    window_order_refuse(order, names);
    free(names);
}

void refuse_shards(const struct options *o)
{
    uint64_t own[OWN_SHARDS + 1] = { 0, (uint64_t)o->own_tokens, 2 * (uint64_t)o->own_tokens };
    struct token_shard none[OWN_SHARDS] = { { .path = "--own-tokens" }, { .path = "--own-tokens" } };
    struct shard_set made = { .count = OWN_SHARDS, .shard = none, .start = own };
    struct shard_set *set = o->shards ? shard_set_open(o->shards) : &made;
    const struct window_order order = order_of(o, set);
    refuse_order(&order, set);
    if (o->shards)
        shard_set_close(set);
}

bool instead(const struct options *base, FILE *out)
{
    if ((!base->print_batches && !base->certify) || !out)
        return base->print_batches || base->certify;
    if (!base->certify && base->epoch != EPOCH_NEXT)
        die(STATUS_USAGE, "--epoch %d: belongs to --certify; --print-batches begins at --state", base->epoch);
    if (!base->shards)
        die(STATUS_USAGE, "%s needs --shards 'GLOB'; build/bin/make_shards makes some",
            base->certify ? "--certify" : "--print-batches");
    struct shard_set *set = shard_set_open(base->shards);
    struct window_order order = order_of(base, set);
    refuse_order(&order, set);
    bool holds = true;
    if (base->certify)
        holds = epoch_certify(out, &(struct epoch_request){ .set = set,
                                                            .order = order,
                                                            .way = SOURCE_PREALLOCATED,
                                                            .epoch = base->epoch,
                                                            .state_path = base->state });
    else
        batch_table_write(out, set, &order, (uint64_t)base->run.steps, SOURCE_PREALLOCATED, base->state);
    shard_set_close(set);
    if (!holds)
        die(STATUS_WRONG, "not every token is read exactly once");
    return true;
}

/* --- tokens in the step ------------------------------------------------------------------------------------------- */

struct feed {
    struct lab *lab;
    struct options o; /* of the case */
    struct shard_set *set;
    struct batch_source *source;
    struct device_staging_buffer staging; /* labels (B), then tokens (B x T) */
    struct device_staging_buffer places;  /* of the sequences (B) */
    struct batch batch;
    /* On a modelled machine: */
    uint64_t batches; /* so far */
    uint64_t mapped;  /* blocks of pages before this one are mapped */
};

/* Operations of a way per batch, whose time a modelled machine lets pass. The formula (08_token_loader_formula.c) does not use this
 * table, so each checks the other. */
static const struct operations {
    int allocations, reads;
    bool by_fread, maps, is_advised, unmaps, by_elements, by_loop, from_cache, copies;
} operations[SOURCE_WAYS] = {
    [SOURCE_ELEMENTS] = { .allocations = 3, .reads = 1, .by_elements = true },
    [SOURCE_BLOCKS] = { .allocations = 3, .reads = 1, .from_cache = true, .copies = true },
    [SOURCE_MAPPED] = { .allocations = 2, .maps = true, .copies = true },
    [SOURCE_PREALLOCATED] = { .maps = true, .copies = true },
    [SOURCE_ADVISED] = { .maps = true, .is_advised = true, .copies = true },
    [SOURCE_PREFETCHED] = { .maps = true, .is_advised = true, .copies = true },
    [SOURCE_WINDOWED] = { .maps = true, .is_advised = true, .unmaps = true, .copies = true },
    [SOURCE_BUFFERED] = { .reads = 1, .by_fread = true, .by_loop = true },
    [SOURCE_VIEWS] = { .maps = true, .is_advised = true },
};

/* Return the bytes that a modelled kernel maps for the rank's batch, in blocks of `at_once`, whenever the rank touches a block that is not
 * mapped. */
static double newly_mapped(struct feed *f, uint64_t at_once)
{
    const uint64_t bytes = (uint64_t)(batch_tokens(&f->o) * f->o.token_bytes),
                   turn = f->batches * (uint64_t)f->o.run.ranks + (uint64_t)world_rank(lab_world(f->lab));
    uint64_t blocks = 0;
    for (uint64_t block = turn * bytes / at_once; block * at_once < (turn + 1) * bytes; block++)
        if (block >= f->mapped) {
            f->mapped = block + 1;
            blocks++;
        }
    return (double)(blocks * at_once);
}

/* Rows that are shuffled touch blocks of their own, of which the kernel is told nothing. */
static double mapping_seconds(struct feed *f, const struct operations *does)
{
    const struct card *card = lab_card(f->lab);
    const double unmap = does->unmaps ? token_cost(card, "unmap_byte_s") : 0,
                 fault = token_cost(card, "fault_byte_s") + unmap,
                 populate = token_cost(card, "populate_byte_s") + unmap;
    if (f->o.shuffle != SHUFFLE_NONE)
        return (batch_tokens(&f->o) * f->o.token_bytes + (double)f->o.run.batch_size * FAULT_AROUND) * fault;
    return does->is_advised ? newly_mapped(f, SOURCE_ADVICE) * populate : newly_mapped(f, FAULT_AROUND) * fault;
}

static double modelled_seconds(struct feed *f)
{
    const bool is_copied_view = f->o.way == SOURCE_VIEWS && f->o.shuffle != SHUFFLE_NONE;
    const struct operations *does = &operations[is_copied_view ? SOURCE_ADVISED : f->o.way];
    const struct card *card = lab_card(f->lab);
    const double tokens = batch_tokens(&f->o), bytes = tokens * f->o.token_bytes;
    double seconds = token_cost(card, "ask_s") + does->allocations * token_cost(card, "allocation_s");
    seconds += does->reads * (token_cost(card, "read_call_s") + bytes * token_cost(card, "read_byte_s"));
    seconds += does->by_fread ? token_cost(card, "fread_more_s") : 0;
    seconds += does->maps ? mapping_seconds(f, does) : 0;
    seconds += does->by_elements ? tokens * token_cost(card, "element_s") : 0;
    seconds += does->by_loop ? tokens * token_cost(card, "loop_s") : 0;
    seconds += does->copies ? tokens * token_cost(card, does->from_cache ? "widen_s" : "mapped_widen_s") : 0;
    return seconds;
}

/* Wait for slow storage before a fetch reads. On a modelled machine also let the time of all operations pass. */
static void delay(void *feed)
{
    struct feed *f = feed;
    if (f->o.is_slow)
        stall((struct stall){ STALL_SLEEP, f->o.disk_ms / 1e3 }); /* <- the fault */
    if (!device_computes())
        stall((struct stall){ STALL_BUSY, modelled_seconds(f) });
    f->batches++;
}

static void place_rows(struct feed *f, const struct options *o)
{
    const int length = o->model.of.transformer.texts.fixed_length;
    struct sequence *row = f->places.host;
    for (int i = 0; i < o->run.batch_size; i++)
        row[i] = (struct sequence){ .first = i * length, .tokens = length, .extent = length };
    device_deliver(&f->places, (size_t)o->run.batch_size * sizeof *row);
}

struct feed *feed_open(struct lab *lab, const struct options *base)
{
    struct feed *f = memory_new(1, sizeof *f);
    const size_t rows = (size_t)base->run.batch_size, tokens = (size_t)batch_tokens(base);
    f->lab = lab;
    for (int turn = 0; turn < 2 && device_computes(); turn++) { /* rank 0 makes the shards, then all ranks find them */
        if ((world_rank(lab_world(lab)) == 0) == (turn == 0))
            f->set = shards_open(base);
        world_barrier(lab_world(lab));
    }
    if (!device_computes() && world_rank(lab_world(lab)) == 0 && isnan(card_cost(lab_card(lab), "widen_s")))
        printf("Its file has no costs of tokens (own_read_call_s, own_widen_s, …), so that copying them takes no time "
               "here.\n");
    f->staging = device_staging_buffer_open(MEMORY_DATA, rows + tokens, sizeof(int32_t));
    f->places = device_staging_buffer_open(MEMORY_DATA, rows, sizeof(struct sequence));
    place_rows(f, base);
    f->batch = (struct batch){ .samples = (int)rows,
                               .rows = (int)tokens,
                               .longest = base->model.of.transformer.texts.fixed_length,
                               .labels = f->staging.device,
                               .token = (const int32_t *)f->staging.device + rows,
                               .sequence = f->places.device,
                               .listed = f->places.host };
    return f;
}

void feed_close(struct feed *f)
{
    if (f->source)
        batch_source_close(f->source);
    if (f->set)
        shard_set_close(f->set);
    device_staging_buffer_close(&f->staging);
    device_staging_buffer_close(&f->places);
    free(f);
}

struct memory_estimate feed_need(const struct options *o)
{
    const double tokens = batch_tokens(o);
    return (
        struct memory_estimate){ .of = { [MEMORY_DATA] = tokens * (2 * 2 * sizeof(int32_t) + 4 + sizeof(int32_t)) } };
}

void feed_begin(struct feed *f, const struct options *o)
{
    const uint64_t nowhere[2] = { 0, 1 };
    const struct shard_set none = { .count = 1, .start = (uint64_t *)nowhere };
    if (f->source)
        batch_source_close(f->source);
    f->o = *o;
    f->batches = f->mapped = 0;
    f->batch.scale = 1.0f / (float)run_global_batch(&o->run);
    f->source = batch_source_open(&(struct source_settings){ .set = f->set,
                                                             .order = order_of(o, f->set ? f->set : &none),
                                                             .rank = (uint64_t)world_rank(lab_world(f->lab)),
                                                             .way = (enum source_way)o->way,
                                                             .width = sizeof(int32_t),
                                                             .before = delay,
                                                             .argument = f });
}

struct token_pair feed_next(struct feed *f)
{
    if (!device_computes() && f->o.way == SOURCE_PREFETCHED)
        stall((struct stall){ STALL_BUSY, token_cost(lab_card(f->lab), "handoff_s") });
    return batch_source_next(f->source);
}

/* Write the tokens x, and the last y of each row, into the model's own buffer, from which they reach the device. The model's vocabulary and
 * classes are smaller than the tokens', so it takes their remainders. So each token is copied here in all ways alike, those of views, too:
 * this is a part of forward, not of data, and no difference between ways. Only batch_source_next() differs. */
const struct batch *feed_batch(struct feed *f, struct token_pair pair)
{
    const struct transformer_settings *model = &f->o.model.of.transformer;
    int32_t *label = f->staging.host, *token = label + f->batch.samples;
    const int width = pair.x && f->o.way == SOURCE_VIEWS ? f->set->width : (int)sizeof(int32_t);
    for (int i = 0; i < f->batch.rows && pair.x; i++)
        token[i] = (int32_t)((width == 2 ? ((const uint16_t *)pair.x)[i] : ((const uint32_t *)pair.x)[i]) %
                             (uint32_t)model->vocab_size);
    for (int i = 0; i < f->batch.samples && pair.x; i++) {
        const int last = (i + 1) * f->batch.longest - 1;
        label[i] = (int32_t)((width == 2 ? ((const uint16_t *)pair.y)[last] : ((const uint32_t *)pair.y)[last]) %
                             (uint32_t)model->num_classes);
    }
    device_deliver(&f->staging, (size_t)(f->batch.samples + f->batch.rows) * sizeof(int32_t));
    return &f->batch;
}
