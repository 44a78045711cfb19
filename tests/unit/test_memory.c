/* test_memory.c: count the memory of a rank at the allocators that our code calls (-Wl,--wrap). A trainer must allocate
 * what its memory estimate states. No step of either model may allocate, checks and all-reduces included. Runs on two
 * ranks under mpirun. */
#include "base/memory.h"
#include "base/rss.h"
#include "collective/collective.h"
#include "collective/spans.h"
#include "device/device.h"
#include "model/sequence_loader.h"
#include "model/sequence_recipe.h"
#include "model/trainer.h"
#include "support/on_ranks.h"
#include "support/unit.h"
#include "world/world.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* --- the allocators ---------------------------------------------------------------------------------------------- */

/* Requests of one thread: the watchdog's thread takes memory every half second, to compare the ranks' calls, outside of any step. */
static _Thread_local struct {
    int calls;
    size_t bytes; /* total of all requests; free() does not reduce it */
} taken;

static void note(size_t bytes)
{
    taken.calls++;
    taken.bytes += bytes;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    note(bytes);
    return __real_malloc(bytes);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    note(count * size);
    return __real_calloc(count, size);
}

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    note(bytes);
    return __real_realloc(memory, bytes);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    note(bytes);
    return __real_aligned_alloc(alignment, bytes);
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    note(bytes);
    return __real_mmap(at, bytes, protection, flags, file, offset);
}

/* --- memory of a trainer ----------------------------------------------------------------------------------------- */

/* Return settings for which every array is below 2 MiB. Larger arrays would be rounded up to whole huge pages. */
static struct run small_run(void)
{
    struct run run = run_published;
    run.ranks = 2;
    run.batch_size = 16;
    run.steps = 4;
    return run;
}

static const struct workload small_mlp = {
    .type = &mlp_type, .of.mlp = { .input_dim = 256, .hidden_dim = 512, .num_classes = 100, .num_layers = 3 }
};

/* Assert that the bytes allocated since `before` match the estimate. The tolerance covers what estimates leave out:
 * structs, losses, padding of arrays. */
static void assert_taken(size_t before, struct memory_estimate memory)
{
    double got = (double)(taken.bytes - before), need = memory_estimate_sum(&memory), rest = 0.01 * need + (64 << 10);
    if (!(got >= need && got <= need + rest))
        fail_msg("%.0f bytes were taken, and %.0f said to be needed", got, need);
}

TEST(a_trainer_takes_what_it_says)
{
    struct run run = small_run();
    size_t before = taken.bytes;
    struct trainer *trainer = trainer_open(&small_mlp, &run, run.batch_size);
    struct memory_estimate memory = trainer_memory(&small_mlp, &run, run.batch_size);
    assert_taken(before, memory);
    assert_true(fabs(memory_estimate_model(&memory) - 16 * (double)trainer->count) < 1);
    trainer_close(trainer);
}

/* Test with a loader and without, with one block and with three. */
TEST(a_trainer_of_texts_takes_what_it_says)
{
    const struct batch_most most = { .rows = 1024, .samples = 8, .length = 128 };
    struct workload workload = published_transformer;
    for (workload.of.transformer.num_blocks = 1; workload.of.transformer.num_blocks <= 3;
         workload.of.transformer.num_blocks += 2) {
        size_t before = taken.bytes;
        struct trainer *trainer = trainer_open_for(&workload, &run_published_texts, most);
        struct memory_estimate memory = trainer_memory_for(&workload, most);
        assert_taken(before, memory);
        assert_true(fabs(memory_estimate_model(&memory) - 16 * (double)trainer->count) < 1);
        trainer_close(trainer);
        before = taken.bytes;
        trainer = trainer_open(&workload, &run_published_texts, 8);
        assert_taken(before, trainer_memory(&workload, &run_published_texts, 8));
        trainer_close(trainer);
    }
}

/* Check that initial weights are the same to the bit when drawn in pieces of any size, and when drawn again. */
TEST(first_weights_come_back_to_the_bit)
{
    struct run run = small_run();
    struct trainer *trainer = trainer_open(&small_mlp, &run, run.batch_size);
    const struct weights weights = model_weights(trainer->model);
    struct random random;
    random_seed(&random, (uint64_t)run.seed);
    float *whole = memory_new(trainer->count, sizeof *whole), *pieces = memory_new(trainer->count, sizeof *pieces);
    const double bounds[] = { 1 / sqrt(256), 1 / sqrt(512), 1 / sqrt(512) };
    for (int layer = 0; layer < 3; layer++) /* reference: layer by layer, weights then bias */
        for (size_t i = trainer->model->layer[layer].first, end = i + trainer->model->layer[layer].count; i < end; i++)
            whole[i] = (float)(bounds[layer] * (2 * random_unit(&random) - 1));
    assert_memory_equal(trainer->parameters, whole, trainer->count * sizeof *whole);
    struct weights rest = weights;
    for (size_t at = 0, count = 1; at < trainer->count; at += count) {
        count = 2 * count + 1 < trainer->count - at ? 2 * count + 1 : trainer->count - at;
        weights_next(&rest, pieces + at, count);
    }
    assert_memory_equal(pieces, whole, trainer->count * sizeof *whole);
    memset(trainer->parameters, 0, trainer->count * sizeof *whole);
    model_restart(trainer->model);
    assert_memory_equal(trainer->parameters, whole, trainer->count * sizeof *whole);
    free(whole);
    free(pieces);
    trainer_close(trainer);
}

/* --- memory of a step -------------------------------------------------------------------------------------------- */

/* Two warmup steps are checked, two steps are measured, and one more keeps the data that its later check needs. */
enum { WARMUPS = 2, STEPS = 5 };
static enum check check_in(int step)
{
    return step < WARMUPS ? CHECK_EACH : step == STEPS - 1 ? CHECK_KEPT : CHECK_NOTHING;
}

static void sum(struct collective *c, float *terms, size_t count, bool is_started)
{
    if (is_started) {
        int late = collective_start(c, all_reduce(TYPE_F32, terms + count / 2, terms + count / 2, count - count / 2));
        int early = collective_start(c, all_reduce(TYPE_F32, terms, terms, count / 2));
        collective_progress(c);
        collective_finish(c, late);
        collective_finish(c, early);
    } else {
        collective_run(c, all_reduce(TYPE_F32, terms, terms, count));
    }
}

TEST(no_step_takes_memory)
{
    struct run run = small_run();
    struct trainer *t = trainer_open(&small_mlp, &run, run.batch_size);
    struct spans spans;
    spans_open(&spans, 64);
    struct collective *c = collective_open(world, &spans);
    for (int is_started = 0; is_started <= 1; is_started++) {
        trainer_restart(t, share_even(&run, world_rank(world)), is_started, 0.1f);
        spans_restart(&spans, 0, 0);
        for (int step = 0; step < STEPS; step++) {
            collective_check(c, check_in(step));
            int before = taken.calls;
            spans_phase(&spans, SPAN_DATA, device_record_event());
            const struct batch *batch = trainer_next(t, NO_STALL);
            trainer_forward(t, batch);
            trainer_backward(t, batch);
            sum(c, t->gradients, t->count, is_started);
            trainer_update(t);
            assert_true(step < WARMUPS || taken.calls == before);
        }
        spans_end(&spans, device_record_event());
        collective_check_last(c);
        assert_int_equal(collective_wrong(c).count, 0);
    }
    collective_close(c);
    spans_close(&spans);
    trainer_close(t);
}

TEST(no_step_on_texts_takes_memory)
{
    struct run run = run_published_texts;
    run.ranks = 2;
    struct token_recipe recipe = sequence_recipe(&published_transformer.of.transformer, &run, false);
    struct token_corpus *corpus = token_corpus_open(&recipe);
    struct batch_schedule *schedule = batch_schedule_open(&recipe, corpus, batching_policies[TOKENS_SAMPLE]);
    struct batch_most most = batch_schedule_most(schedule);
    struct sequence_loader *loader =
        sequence_loader_open(corpus, published_transformer.of.transformer.vocab_size, run.seed, most);
    struct trainer *t = trainer_open_for(&published_transformer, &run, most);
    struct collective *c = collective_open(world, NULL);
    sequence_loader_restart(loader, (struct reading){ .schedule = schedule, .rank = world_rank(world) });
    for (int step = 0; step < STEPS; step++) {
        collective_check(c, check_in(step));
        int before = taken.calls;
        const struct batch *batch = sequence_loader_next(loader);
        trainer_forward(t, batch);
        trainer_backward(t, batch);
        sum(c, t->gradients, t->count, false);
        trainer_update(t);
        assert_true(step < WARMUPS || taken.calls == before);
    }
    collective_check_last(c);
    assert_int_equal(collective_wrong(c).count, 0);
    collective_close(c);
    trainer_close(t);
    sequence_loader_close(loader);
    batch_schedule_close(schedule);
    token_corpus_close(corpus);
}

/* --- reports of resident memory ---------------------------------------------------------------------------------- */

TEST(the_kernel_tells_of_it)
{
    enum { BYTES = 64 << 20 };
    const double most = rss_now().most;
    void *memory = memory_map(BYTES);
    memset(memory, 1, BYTES);
    assert_true(rss_now().most >= fmax(most, BYTES) && rss_now().now >= BYTES);
    const double with = rss_now().most;
    memory_unmap(memory, BYTES);
    rss_restart_peak();
    const struct rss without = rss_now();
    FILE *reset = fopen("/proc/self/clear_refs", "w"); /* a kernel may refuse to reset the peak */
    if (reset && fputs("5", reset) >= 0 && fflush(reset) == 0)
        assert_true(without.most <= with - BYTES / 2.0);
    if (reset)
        fclose(reset);
    assert_true(without.now <= with - BYTES / 2.0);
}

/* Return the page faults of filling and freeing that much of the heap. */
static long faults_of(size_t bytes)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    char *memory = memory_new(bytes, 1);
    memset(memory, 1, bytes);
    free(memory);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* Two engines started all-reduces; when the first one closes, the other still has freed memory without page faults. */
TEST(freed_memory_is_kept_for_the_last_who_wants_it)
{
    enum { BYTES = 64 << 20, HUGE_PAGE = 2 << 20, FEW = 8 };
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* a sanitizer's heap returns large pieces at once */
#endif
    memory_keep_freed(true);
    memory_keep_freed(true);
    faults_of(BYTES);
    memory_keep_freed(false);
    assert_true(faults_of(BYTES) <= FEW);
    memory_keep_freed(false);
    assert_true(faults_of(BYTES) >= BYTES / HUGE_PAGE);
}

/* An array does not get the small pages that a library has freed and the heap keeps. */
TEST(a_large_array_has_pages_of_its_own)
{
    enum { BYTES = 64 << 20, HUGE_PAGE = 2 << 20 };
    struct rusage before, after;
    memory_keep_freed(true);
    faults_of(BYTES);
    getrusage(RUSAGE_SELF, &before);
    char *array = device_new(MEMORY_DATA, BYTES, 1);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_minflt - before.ru_minflt >= BYTES / HUGE_PAGE);
    assert_true((uintptr_t)array % HUGE_PAGE == 0 && array[0] == 0 && array[BYTES - 1] == 0);
    device_free(array);
    memory_keep_freed(false);
}

TEST(arrays_of_any_size_are_aligned_and_zero)
{
    enum { SIZES = 6, LINE = 64 };
    const size_t bytes[SIZES] = { 0, 1, 64, (2 << 20) - 1, 2 << 20, (4 << 20) + 1 };
    for (int i = 0; i < SIZES; i++) {
        char *array = device_new(MEMORY_DATA, bytes[i], 1);
        assert_true((uintptr_t)array % LINE == 0);
        for (size_t k = 0; k < bytes[i]; k++)
            assert_true(array[k] == 0);
        memset(array, 1, bytes[i]);
        device_free(array);
    }
    device_free(NULL);
}

TEST(what_is_printed_can_be_read)
{
    struct rss_peaks phases = { .empty = 14.4e6, .prepared = 148.7e6, .trained = 86e6 }, read = { 0 };
    char *text = rss_peaks_text(&phases);
    assert_string_equal(text, "of a rank at most 86.0 MB while it trained, 148.7 MB before, 14.4 MB with nothing open");
    assert_true(rss_peaks_read(&read, text));
    assert_true(fabs(read.empty - phases.empty) < 1 && fabs(read.prepared - phases.prepared) < 1 &&
                fabs(read.trained - phases.trained) < 1);
    assert_false(rss_peaks_read(&read, "of no rank"));
    free(text);
}

AROUND_TESTS(open_ranks, close_ranks)
