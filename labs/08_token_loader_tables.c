/* 08_token_loader_tables: crossover.csv and shuffle.csv of lab 08. */
#include "08_token_loader.h"

#include <math.h>
#include <stdlib.h>

bool measures_tables(const struct options *base)
{
    return device_computes() && !world_is_simulated() && base->run.cases.count == 0;
}

/* --- the shortest step that hides a way --------------------------------------------------------------------------- */

/* A way shows if it lengthens the step by more than this share. Other shares have other crossovers, in proportion. */
static const double shows = 0.01;

/* The table takes this share of --seconds, but nine blocks a way at least; three in a run that is short. */
static const double budget_share = 0.2;

enum { LENGTHS = 12, BLOCKS = 21, LEAST_BLOCKS = 9, SHORT_BLOCKS = 3, QUICK_BLOCKS = 1, PARTS_EACH = 3, STEPS = 16 };
static const double short_run = 30; /* --seconds */

/* Steps of computing, as if on a device without model: from two microseconds on, each twice as long as the one before. */
static double step_seconds(int i)
{
    return 2e-6 * pow(2, i);
}

/* Return the steps of a block: enough for one madvise() in each block, if the way calls it at least every 64 steps. */
static int steps_of(const struct source_settings *s)
{
    const double batch = (double)(s->order.rows * s->order.length) * s->set->width, advised = SOURCE_ADVICE / batch;
    return advised <= 4 * STEPS ? (int)fmax(STEPS, advised) : STEPS;
}

/* Mean seconds of the steps of a block. */
struct step_times {
    double step;    /* without its batch */
    double exposed; /* by which a batch lengthens it */
};

/* A way that is being measured. */
struct way_bench {
    const struct source_settings *settings;
    struct batch_source *source;
    int steps;     /* of a block */
    uint64_t pass; /* batches of the shards */
};

/* Measure a block of steps with this between two batches; behind the last batch the shards are mapped anew. A rank is stopped while it
 * fetches its batch. A helper shares its core: it mostly makes the next batch at once when the rank has taken one, and the rank is stopped
 * for that. Otherwise it takes its time from the rank later, so that a batch lengthens the step by the helper's time on the core at least.
 * The block begins and ends with one batch ready, so that as many are made as are taken. */
static struct step_times measure_block(struct way_bench *bench, struct rest rest)
{
    const int steps = bench->steps;
    double stopped = 0;
    if (batch_source_counts(bench->source).batches + (uint64_t)steps > bench->pass) {
        batch_source_close(bench->source);
        bench->source = batch_source_open(bench->settings);
    }
    batch_source_settle(bench->source);
    const struct evidence then = evidence_now(NULL);
    const double begin = world_now();
    for (int step = 0; step < steps; step++) {
        const double before = world_now();
        batch_source_next(bench->source);
        stopped += world_now() - before;
        rest_for(rest, 1);
    }
    batch_source_settle(bench->source);
    const double took = world_now() - begin;
    const struct evidence now = evidence_now(NULL), used = evidence_since(&then, &now);
    const double helper = bench->settings->way == SOURCE_PREFETCHED ? used.process_cpu - used.thread_cpu : 0,
                 exposed = fmax(stopped, helper);
    return (struct step_times){ .step = (took - exposed) / steps, .exposed = exposed / steps };
}

/* Return the step from which the exposed share stays below `shows`, between two lengths by interpolation of logarithms. NaN if it shows
 * in the longest step, 0 if in none. */
static double crossover_of(const double *share, int lengths)
{
    int last = lengths - 1;
    while (last >= 0 && share[last] <= shows)
        last--;
    if (last < 0)
        return 0;
    if (last == lengths - 1)
        return (double)NAN;
    const double high = log(share[last] / shows), low = share[last + 1] > 0 ? log(shows / share[last + 1]) : 10 * high;
    return step_seconds(last) * pow(2, high / (high + low));
}

/* Return the median of what was found at a length and at its neighbours, or at the nearest three lengths: what a batch adds hardly depends
 * on the length, and one that others disturbed must not decide the crossover. */
static double smoothed(const double *found, int lengths, int i)
{
    enum { NEAR = 3 };
    const int last = lengths - NEAR, first = i - 1 < 0 ? 0 : i - 1 > last ? last : i - 1;
    return lengths < NEAR ? found[i] : stats_quantile(found + first, NEAR, 0.5);
}

/* Seconds by which a batch of a way lengthens a step. */
struct exposure {
    int lengths;                /* up to the first beyond four times the predicted crossover */
    double found[LENGTHS];      /* seconds, of each length */
    double predicted;           /* from the parts, as they are between steps of about the crossover's length */
    struct step_times training; /* beside steps that train on the usual batch, instead of a loop */
    double predicted_training;  /* from the parts, as they are between such steps */
};

static bool has_time(const struct options *base, int blocks, double end)
{
    const int least = base->run.quick ? QUICK_BLOCKS : base->run.seconds < short_run ? SHORT_BLOCKS : LEAST_BLOCKS;
    return blocks < least || (!base->run.quick && blocks < BLOCKS && world_now() < end);
}

/* Return the parts as medians of blocks. */
static struct token_parts median_parts(const struct token_parts *parts, int blocks)
{
    struct token_parts median;
    for (int part = 0; part < TOKEN_PARTS; part++) {
        double seconds[BLOCKS];
        for (int block = 0; block < blocks; block++)
            seconds[block] = parts[block].of[part];
        median.of[part] = stats_lower_median(seconds, blocks);
    }
    return median;
}

/* Measure a way in blocks: first its parts, then all lengths, then beside training steps, which leave less in the caches than a loop does.
 * All are medians of blocks, so a disturbance affects prediction and measurement alike. Parts beside training take long, so every
 * PARTS_EACH-th block has them. A helper shares its rank's core, so its copies show as if the rank had made them. Pages are new to the
 * process. */
static struct exposure measure_way(const struct card *card, const struct options *base, const struct source_settings *s,
                                   struct shape_bench *training)
{
    const double end = world_now() + budget_share * base->run.seconds / (SOURCE_WAYS + 1);
    struct parts_files *files = parts_files_of(s->set);
    struct way_bench bench = {
        .settings = s, .source = batch_source_open(s), .steps = steps_of(s), .pass = ladder_batches(&s->order)
    };
    struct token_parts parts[BLOCKS], trained[BLOCKS];
    double rests[3] = { 0 }; /* the crossover, which depends on parts, which depend on it */
    for (int i = 0; i < 3; i++) {
        parts[0] = parts_here(card, files, s, (struct rest){ .seconds = i > 0 ? rests[i - 1] : 0 });
        rests[i] = fmin(alone_seconds(parts, s, PAGES_COLD) / shows, step_seconds(LENGTHS - 1));
    }
    const double rest = stats_quantile(rests, 3, 0.5);
    double more[LENGTHS][BLOCKS], step[BLOCKS], exposed[BLOCKS];
    int lengths = LENGTHS, block = 0;
    while (lengths > 2 && step_seconds(lengths - 2) > 4 * rest)
        lengths--;
    for (; has_time(base, block, end); block++) {
        parts[block] = parts_here(card, files, s, (struct rest){ .seconds = rest });
        for (int i = 0; i < lengths; i++)
            more[i][block] = measure_block(&bench, (struct rest){ .seconds = step_seconds(i) }).exposed;
        if (block % PARTS_EACH == 0)
            trained[block / PARTS_EACH] = parts_here(card, files, s, (struct rest){ .steps = training });
        const struct step_times times = measure_block(&bench, (struct rest){ .steps = training });
        step[block] = times.step;
        exposed[block] = times.exposed;
    }
    const struct token_parts usual = median_parts(parts, block),
                             beside_training = median_parts(trained, (block - 1) / PARTS_EACH + 1);
    struct exposure exposure = { .lengths = lengths,
                                 .predicted = alone_seconds(&usual, s, PAGES_COLD),
                                 .training = { stats_lower_median(step, block), stats_lower_median(exposed, block) },
                                 .predicted_training = alone_seconds(&beside_training, s, PAGES_COLD) };
    batch_source_close(bench.source);
    parts_files_close(files);
    for (int i = 0; i < lengths; i++)
        exposure.found[i] = stats_lower_median(more[i], block);
    return exposure;
}

/* Write what a batch of a way adds to steps of one length, beside a loop or training. The crossover of training is computed from one
 * length, as if a batch added as much to others. */
static void write_exposed(struct csv *csv, enum source_way way, const char *beside, struct step_times times,
                          double predicted, double crossover)
{
    do {
        csv_text(csv, "way", source_ways[way]);
        csv_text(csv, "beside", beside);
        csv_ms(csv, "step_ms", times.step);
        csv_ms(csv, "exposed_ms", times.exposed);
        csv_ms(csv, "predicted_exposed_ms", predicted);
        csv_ms(csv, "crossover_ms", crossover);
        csv_ms(csv, "predicted_crossover_ms", predicted / shows);
    } while (csv_end_row(csv));
}

/* All ranks that have a core measure at once, as they fetch in training; rank 0 writes. */
static void cross(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct shape_bench *training =
        shape_bench_open(&base->model, &base->run, shape_bench_shapes(&base->model), 1, lab_trainer(lab));
    struct shard_set *set = shards_of_tables(base);
    ladder_cache(set);
    for (enum source_way way = 0; way < SOURCE_WAYS; way++) {
        const struct source_settings s = settings_alone(base, set, (int)sizeof(int32_t), way);
        const struct exposure exposure = measure_way(lab_card(lab), base, &s, training);
        double share[LENGTHS];
        for (int i = 0; i < exposure.lengths; i++)
            share[i] = smoothed(exposure.found, exposure.lengths, i) / step_seconds(i);
        const double crossover = crossover_of(share, exposure.lengths);
        for (int i = 0; i < exposure.lengths && csv; i++)
            write_exposed(csv, way, "loop", (struct step_times){ step_seconds(i), exposure.found[i] },
                          exposure.predicted, crossover);
        if (csv)
            write_exposed(csv, way, "training", exposure.training, exposure.predicted_training,
                          exposure.training.exposed / shows);
        world_heartbeat(lab_world(lab));
    }
    shape_bench_close(training);
    shard_set_close(set);
}

void write_crossover(struct lab *lab, const struct options *base, struct csv *csv)
{
    if (world_rank(lab_world(lab)) < world_cores(lab_world(lab)))
        cross(lab, base, csv);
    world_park(lab_world(lab));
}

/* --- shuffles ----------------------------------------------------------------------------------------------------------- */

/* Number of documents that begin at or before each position, every `length` tokens: rows with equal numbers belong together. */
static uint32_t *documents_of(const struct shard_set *set, uint64_t length, uint64_t rows)
{
    uint32_t *document = memory_new(rows, sizeof *document), now = 0;
    uint64_t position = 0;
    for (int i = 0; i < set->count; i++) {
        const uint32_t begin = token_shard_document(set->shard[i].format);
        struct shard_map map;
        shard_map_open(&map, &set->shard[i]);
        for (uint64_t t = 0; t < set->shard[i].tokens; t++, position++) {
            const void *token = shard_map_at(&map, t);
            const uint32_t value = set->width == 2 ? *(const uint16_t *)token : *(const uint32_t *)token;
            now += value == begin;
            if (position % length == 0)
                document[position / length] = now;
        }
        shard_map_close(&map);
    }
    return document;
}

/* Quality of a shuffle: mean distance of rows read one after the other (1: independent rows), and the share of pairs from one document. NaN
 * if no document begins before the last row, because the shards have another vocabulary (token_shard_document). */
struct quality {
    double distance, together;
};

static struct quality quality_of(const struct window_order *o, const uint32_t *document, uint64_t rows)
{
    struct quality q = { 0 };
    for (uint64_t row = 0; row + 1 < rows; row++) {
        const uint64_t a = window_order_shuffled(o, row), b = window_order_shuffled(o, row + 1);
        q.distance += (double)(a > b ? a - b : b - a);
        q.together += document[a] == document[b];
    }
    const bool has_documents = document[rows - 1] > 0;
    return (struct quality){ q.distance / (double)(rows - 1) / ((double)rows / 3),
                             has_documents ? q.together / (double)(rows - 1) : (double)NAN };
}

static void judge_shuffles(struct lab *lab, const struct options *base, struct csv *csv)
{
    static const char *const names[] = { "none", "shard", "global" };
    enum { ROW = 64 }; /* tokens; documents are longer */
    struct shard_set *set = shards_of_tables(base);
    for (enum row_shuffle shuffle = SHUFFLE_NONE; shuffle <= SHUFFLE_GLOBAL; shuffle++) {
        struct source_settings s = settings_alone(base, set, (int)sizeof(int32_t), SOURCE_MAPPED);
        s.order.tail = TAIL_EXACT;
        s.order.shuffle = shuffle;
        s.order.rows = base->ladder_tokens > ROW ? (uint64_t)base->ladder_tokens / ROW : 1;
        s.order.length = (uint64_t)base->ladder_tokens / s.order.rows;
        const uint64_t rows = window_order_epoch(&s.order, 1), batches = ladder_batches(&s.order);
        uint32_t *document = documents_of(set, s.order.length, rows);
        const struct quality q = quality_of(&s.order, document, rows);
        free(document);
        struct ladder_pass pass = { .seconds = memory_new(batches, sizeof *pass.seconds),
                                    .sum = memory_new(batches, sizeof *pass.sum) };
        ladder_cache(set);
        ladder_read(&pass, &s, PAGES_COLD);
        const double cold = stats_quantile(pass.seconds, (int)batches, 0.5), minor = pass.kernel.minor_faults;
        ladder_read(&pass, &s, PAGES_EVICTED);
        do {
            csv_text(csv, "shuffle", names[shuffle]);
            csv_unsigned(csv, "rows", rows);
            csv_unsigned(csv, "row_tokens", s.order.length);
            csv_ratio(csv, "distance", q.distance);
            csv_ratio(csv, "same_document", q.together);
            csv_ms(csv, "cold_p50_ms", cold);
            csv_ratio(csv, "minor_faults_per_1000", 1000 * minor / (double)batches);
            csv_ms(csv, "evicted_p50_ms", stats_quantile(pass.seconds, (int)batches, 0.5));
            csv_ms(csv, "evicted_mean_ms", pass.total / (double)batches);
            csv_ratio(csv, "evicted_major_faults_per_1000", 1000 * pass.kernel.major_faults / (double)batches);
            csv_ratio(csv, "first_tokens_mb",
                      (double)(batches / LADDER_SAMPLES * s.order.rows * s.order.length * (uint64_t)set->width) / 1e6);
            csv_ratio(csv, "first_disk_mb", pass.first_disk_bytes / 1e6);
        } while (csv_end_row(csv));
        free(pass.seconds);
        free(pass.sum);
        world_heartbeat(lab_world(lab));
    }
    shard_set_close(set);
}

void write_shuffle(struct lab *lab, const struct options *base, struct csv *csv)
{
    if (csv) /* one rank measures, the others sleep */
        judge_shuffles(lab, base, csv);
    world_park(lab_world(lab));
}
