/* test_window_order.c: test which tokens ranks read: the published rule against its authors' loop, the exact one token by token, shuffles,
 * certificates, and resume with other ranks and batches, also after a kill at any moment. */
#include "base/files.h"
#include "base/random.h"
#include "feed/batch_table.h"
#include "feed/bijection.h"
#include "feed/certificate.h"
#include "feed/epoch_certificate.h"
#include "feed/reading_state.h"
#include "feed/shard_make.h"
#include "support/ending.h"
#include "support/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARDS_MOST = 5 };

/* --- bijection ------------------------------------------------------------------------------------------------------ */

TEST(every_number_is_an_image_once)
{
    for (uint64_t n = 1; n <= 600; n += n < 70 ? 1 : 53)
        for (uint64_t key = 0; key < 5; key++) {
            const struct bijection b = bijection_of(n, key);
            char *is_image = calloc(n, 1);
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t image = bijection_image(&b, i);
                assert_true(image < n && !is_image[image]);
                is_image[image] = 1;
            }
            free(is_image);
        }
}

/* An image of one number, over keys, is uniform: chi-square with 15 degrees of freedom, 37.7 is exceeded in 0.1 % of cases. */
TEST(images_are_uniform)
{
    enum { N = 16, KEYS = 16000 };
    for (uint64_t i = 0; i < N; i += 5) {
        double count[N] = { 0 }, chi = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            const struct bijection b = bijection_of(N, bijection_mix(2026, key));
            count[bijection_image(&b, i)]++;
        }
        for (int j = 0; j < N; j++)
            chi += (count[j] - KEYS / N) * (count[j] - KEYS / N) / (KEYS / N);
        assert_true(chi < 37.7);
    }
}

/* Neighbours end up as far apart as two random numbers: n / 3 on average. */
TEST(neighbours_part)
{
    enum { N = 100003 };
    const struct bijection b = bijection_of(N, 7);
    double sum = 0;
    for (uint64_t i = 0; i + 1 < N; i++) {
        const double here = (double)bijection_image(&b, i), next = (double)bijection_image(&b, i + 1);
        sum += here > next ? here - next : next - here;
    }
    assert_true(sum / N / (N / 3.0) > 0.98 && sum / N / (N / 3.0) < 1.02);
}

/* Numbers beyond 2^32, as rows of large sets are. */
TEST(large_sets_have_images)
{
    const uint64_t n = UINT64_C(3) << 40;
    const struct bijection b = bijection_of(n, 1);
    uint64_t most = 0;
    for (uint64_t i = n - 1000; i < n; i++) {
        const uint64_t image = bijection_image(&b, i);
        assert_true(image < n);
        most = image > most ? image : most;
    }
    assert_true(most > n / 2);
}

/* --- published ------------------------------------------------------------------------------------------------------ */

/* Sizes of shards as starts. */
struct sizes {
    int shards;
    uint64_t start[SHARDS_MOST + 1];
};

static struct sizes draw_sizes(struct random *random, uint64_t least, uint32_t more)
{
    struct sizes s = { .shards = 1 + (int)random_below(random, SHARDS_MOST) };
    for (int i = 0; i < s.shards; i++)
        s.start[i + 1] = s.start[i] + least + random_below(random, more);
    return s;
}

TEST(the_published_rule_is_the_loop_of_its_authors)
{
    struct random random;
    random_seed(&random, 1);
    for (int trial = 0; trial < 200; trial++) {
        const uint64_t rows = 1 + random_below(&random, 4), length = 1 + random_below(&random, 9),
                       ranks = 1 + random_below(&random, 5), batch = rows * length;
        const struct sizes s = draw_sizes(&random, batch * ranks + 1, 300);
        const struct window_order o = {
            .tail = TAIL_PUBLISHED, .rows = rows, .length = length, .ranks = ranks, .shards = s.shards, .start = s.start
        };
        for (uint64_t rank = 0; rank < ranks; rank++) {
            uint64_t position = batch * rank;
            int shard = 0;
            for (uint64_t step = 0; step < 100; step++) {
                const struct token_window w = window_order_at(&o, rank, step, 0);
                assert_int_equal(w.shard, shard);
                assert_int_equal(w.first, position);
                assert_int_equal(w.position % s.start[s.shards], s.start[shard] + position);
                assert_true(w.first + batch + 1 <= s.start[shard + 1] - s.start[shard]);
                position += batch * ranks;
                if (position + batch * ranks + 1 > s.start[shard + 1] - s.start[shard]) {
                    shard = (shard + 1) % s.shards;
                    position = batch * rank;
                }
            }
        }
    }
}

/* Going on window by window is the same as asking for each. */
TEST(windows_follow_each_other)
{
    struct random random;
    random_seed(&random, 2);
    for (int trial = 0; trial < 300; trial++) {
        const uint64_t rows = 1 + random_below(&random, 4), length = 1 + random_below(&random, 9),
                       ranks = 1 + random_below(&random, 5);
        const enum tail_rule tail = (enum tail_rule)(trial % 2);
        const struct sizes s = draw_sizes(&random, tail == TAIL_EXACT ? 1 : rows * length * ranks + 1, 300);
        const struct window_order o = {
            .tail = tail, .rows = rows, .length = length, .ranks = ranks, .shards = s.shards, .start = s.start
        };
        for (uint64_t rank = 0; rank < ranks; rank++) {
            struct token_window w = window_order_at(&o, rank, 0, 0);
            for (uint64_t step = 0; step < 200; step++, window_order_next(&o, rank, &w)) {
                const struct token_window wanted = window_order_at(&o, rank, step, 0);
                assert_int_equal(w.shard, wanted.shard);
                assert_int_equal(w.first, wanted.first);
                assert_int_equal(w.position, wanted.position);
            }
        }
    }
}

/* Two ranks, 10 tokens a batch, 50 in a shard. Rank 0 reads at 0, and, since 20 + 20 + 1 <= 50, at 20. Rank 1 reads at 10; 30 + 20 + 1 is
 * more than 50, so it leaves a step earlier. */
TEST(ranks_change_shards_in_different_steps)
{
    const uint64_t start[] = { 0, 50, 100 };
    const struct window_order o = {
        .tail = TAIL_PUBLISHED, .rows = 1, .length = 10, .ranks = 2, .shards = 2, .start = start
    };
    assert_int_equal(window_order_at(&o, 0, 1, 0).shard, 0);
    assert_int_equal(window_order_at(&o, 1, 1, 0).shard, 1);
    assert_int_equal(window_order_pass(&o, 0), 4);
    assert_int_equal(window_order_pass(&o, 1), 2);
}

TEST(a_shard_too_small_is_refused)
{
    const uint64_t start[] = { 0, 21, 41 };
    const struct window_order o = {
        .tail = TAIL_PUBLISHED, .rows = 1, .length = 10, .ranks = 2, .shards = 2, .start = start
    };
    const char *names[] = { "large", "small" };
    if (fork() == 0) {
        freopen("/dev/null", "w", stderr);
        window_order_refuse(&o, names);
        _exit(0);
    }
    int status;
    wait(&status);
    assert_int_equal(WEXITSTATUS(status), STATUS_USAGE);
}

/* --- exact ------------------------------------------------------------------------------------------------------------ */

static uint64_t epoch_end(const struct window_order *o)
{
    return window_order_epoch(o, 1);
}

/* Count in `count` (tokens of an epoch) what a run from row `o->first_row` to `end` reads, and note it in a certificate. Return the row
 * after its last one. */
static uint64_t read_rows(const struct window_order *o, uint64_t steps, uint64_t end, int *count, struct certificate *c)
{
    uint64_t row = o->first_row;
    for (uint64_t step = 0; step < steps && row < end; step++)
        for (uint64_t rank = 0; rank < o->ranks; rank++)
            for (uint64_t w = 0; w < window_order_count(o); w++) {
                const struct token_window window = window_order_at(o, rank, step, w);
                assert_int_equal(o->start[window.shard] + window.first, window.position % o->start[o->shards]);
                certificate_add(c, window.position, window_order_tokens(o));
                for (uint64_t i = 0; i < window_order_tokens(o); i++)
                    if (window.position + i < o->start[o->shards])
                        count[window.position + i]++;
                row += window_order_tokens(o) / o->length;
            }
    return row;
}

/* Any N ranks with batches of B rows stop after some steps; M ranks with batches of B' go on. */
TEST_IN_FOLDER(a_hundred_resumed_epochs_read_every_token_once)
{
    char *path = memory_text("%s/state", (const char *)*state);
    struct random random;
    random_seed(&random, 2026);
    for (int trial = 0; trial < 100; trial++) {
        const struct sizes s = draw_sizes(&random, 1, 700);
        const uint64_t length = 1 + random_below(&random, 23), tokens = s.start[s.shards];
        struct window_order o = { .tail = TAIL_EXACT,
                                  .shuffle = (enum row_shuffle)random_below(&random, 3),
                                  .length = length,
                                  .seed = random_below(&random, 1000),
                                  .shards = s.shards,
                                  .start = s.start,
                                  .rows = 1 + random_below(&random, 5),
                                  .ranks = 1 + random_below(&random, 7) };
        struct token_shard shard[SHARDS_MOST];
        for (int i = 0; i < s.shards; i++)
            shard[i] = (struct token_shard){ .name = "x", .tokens = s.start[i + 1] - s.start[i] };
        const struct shard_set set = { .count = s.shards, .shard = shard, .start = (uint64_t *)s.start, .width = 2 };
        int *count = calloc(tokens, sizeof *count);
        struct certificate *c = certificate_open(0, tokens);
        const uint64_t steps = epoch_end(&o) / (o.rows * o.ranks), stop = random_below(&random, (uint32_t)steps + 1);
        struct reading_state now = { 0 };
        for (uint64_t step = 0; step < stop; step++)
            reading_state_step(&now, &o, step);
        assert_int_equal(read_rows(&o, stop, UINT64_MAX, count, c), now.rows);
        reading_state_save(path, &now, &o, &set);
        o.ranks = 1 + random_below(&random, 7); /* M */
        o.rows = 1 + random_below(&random, 5);  /* B' */
        const struct reading_state then = reading_state_load(path, &o, &set);
        assert_memory_equal(&now, &then, sizeof now);
        assert_int_equal(o.first_row, now.rows);
        read_rows(&o, UINT64_MAX, epoch_end(&o), count, c);
        for (uint64_t i = 0; i < tokens; i++)
            assert_int_equal(count[i], 1);
        const struct certificate_result r = certificate_judge(c);
        assert_true(certificate_holds(&r) && r.once == tokens);
        certificate_close(c);
        free(count);
    }
    free(path);
}

/* A shuffle within shards keeps rows in the shard where they begin; a global one mixes; another epoch or seed has another order. */
TEST(a_shuffle_exchanges_rows)
{
    const uint64_t start[] = { 0, 1000, 2500, 4003 };
    struct window_order o = { .tail = TAIL_EXACT,
                              .shuffle = SHUFFLE_SHARD,
                              .rows = 1,
                              .length = 7,
                              .ranks = 1,
                              .shards = 3,
                              .start = start,
                              .seed = 3 };
    int moved = 0, changed = 0, other_shard = 0, other_seed = 0;
    const uint64_t rows = window_order_epoch(&o, 1), second = window_order_epoch(&o, 2);
    struct window_order global = o, seeded = o;
    global.shuffle = SHUFFLE_GLOBAL;
    seeded.seed = 4;
    for (uint64_t row = 0; row < rows; row++) {
        struct window_order plain = o;
        plain.shuffle = SHUFFLE_NONE;
        assert_int_equal(window_order_at(&o, 0, row, 0).shard, window_order_at(&plain, 0, row, 0).shard);
        moved += window_order_shuffled(&o, row) != row;
        other_shard += window_order_at(&global, 0, row, 0).shard != window_order_at(&plain, 0, row, 0).shard;
        other_seed += window_order_shuffled(&seeded, row) != window_order_shuffled(&o, row);
        if (rows + row < second)
            changed += window_order_shuffled(&o, rows + row) - rows != window_order_shuffled(&o, row);
    }
    assert_true(moved > 500 && changed > 500 && other_seed > 500);
    assert_true(other_shard > 300 && other_shard < 450); /* two thirds of 572 */
}

/* --- certificate ------------------------------------------------------------------------------------------------------ */

TEST(a_certificate_tells_what_is_missing_and_repeated)
{
    struct certificate *c = certificate_open(100, 200);
    certificate_add(c, 90, 20);  /* 100 … 109, and ten outside */
    certificate_add(c, 150, 50); /* 110 … 149 are missing */
    certificate_add(c, 160, 10); /* again */
    certificate_add(c, 165, 10); /* five of them a third time, five again */
    certificate_add(c, 250, 10); /* outside */
    const struct certificate_result r = certificate_judge(c);
    certificate_close(c);
    assert_int_equal(r.windows, 5);
    assert_int_equal(r.missing, 40);
    assert_int_equal(r.repeated, 15);
    assert_int_equal(r.faults, 2);
    assert_true(!r.fault[0].is_repeated && r.fault[0].from == 110 && r.fault[0].to == 150);
    assert_true(r.fault[1].is_repeated && r.fault[1].from == 160 && r.fault[1].to == 175);
    assert_int_equal(r.once, 45);
    assert_int_equal(r.outside, 20);
    assert_false(certificate_holds(&r));
}

/* --- state --------------------------------------------------------------------------------------------------------- */

/* A small set in a folder: three shards of 16 bits. */
static char *make_set(const char *folder)
{
    for (int i = 0; i < 3; i++) {
        char *path = memory_text("%s/s%d.bin", folder, i);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        shard_make(out, &(struct shard_recipe){ .format = i == 1 ? SHARD_LLMC_16 : SHARD_PLAIN,
                                                .tokens = 300 + 7 * (uint64_t)i,
                                                .seed = (uint64_t)i,
                                                .vocab = 1000,
                                                .document = 20 });
        fclose(out);
        free(path);
    }
    return memory_text("%s/s*.bin", folder);
}

static uint64_t sum_of_step(struct batch_source **source, const struct window_order *o, uint64_t step)
{
    uint64_t sum = 0;
    for (uint64_t rank = 0; rank < o->ranks; rank++) {
        const int32_t *x = batch_source_next(source[rank]).x;
        for (uint64_t w = 0; w < o->rows; w++) {
            uint32_t digest = 1;
            for (uint64_t i = 0; i < o->length; i++)
                digest = digest * 31 + (uint32_t)x[w * o->length + i];
            sum += reading_state_row(window_order_at(o, rank, step, w).position, digest);
        }
    }
    return sum;
}

enum { KILL_NEVER, KILL_BEFORE_SAVING, KILL_AFTER_SAVING };

/* Resume, read steps until `rows` rows have been consumed, and die in step `victim`. */
static void consume(const char *glob_text, const char *path, struct window_order o, uint64_t rows, uint64_t victim,
                    int when)
{
    struct shard_set *set = shard_set_open(glob_text);
    o.shards = set->count;
    o.start = set->start;
    struct reading_state state = reading_state_load(path, &o, set);
    struct batch_source *source[8];
    for (uint64_t rank = 0; rank < o.ranks; rank++)
        source[rank] = batch_source_open(&(struct source_settings){
            .set = set, .order = o, .rank = rank, .way = rank % 2 ? SOURCE_WINDOWED : SOURCE_ADVISED, .width = 4 });
    for (uint64_t step = 0; state.rows < rows; step++) {
        reading_state_step(&state, &o, sum_of_step(source, &o, step));
        if (step == victim && when == KILL_BEFORE_SAVING)
            raise(SIGKILL);
        reading_state_save(path, &state, &o, set);
        if (step == victim && when == KILL_AFTER_SAVING)
            raise(SIGKILL);
    }
    for (uint64_t rank = 0; rank < o.ranks; rank++)
        batch_source_close(source[rank]);
    shard_set_close(set);
}

static struct reading_state state_at(const char *glob_text, const char *path, struct window_order o)
{
    struct shard_set *set = shard_set_open(glob_text);
    o.shards = set->count;
    o.start = set->start;
    const struct reading_state state = reading_state_load(path, &o, set);
    shard_set_close(set);
    return state;
}

/* Killed between any two batches, also before the state is written, by other numbers of ranks each time: as if never killed. */
TEST_IN_FOLDER(a_kill_loses_and_repeats_nothing)
{
    char *glob_text = make_set(*state), *path = memory_text("%s/killed", (const char *)*state),
         *whole = memory_text("%s/whole", (const char *)*state);
    enum { ROWS = 120 };
    const struct window_order one = {
        .tail = TAIL_EXACT, .shuffle = SHUFFLE_GLOBAL, .rows = 1, .length = 8, .ranks = 1
    };
    consume(glob_text, whole, one, ROWS, 0, KILL_NEVER);
    const struct reading_state wanted = state_at(glob_text, whole, one);
    for (uint64_t victim = 0; victim < 4; victim++) {
        remove(path);
        int deaths = 0;
        for (int life = 0, ended = 0; !ended; life++) {
            struct window_order o = one;
            o.ranks = 1 + (uint64_t)(life % 3 == 1); /* 1, 2, 1, …: 120 rows are whole steps of all */
            o.rows = 1 + (uint64_t)(life % 2);
            const int child = fork();
            if (child == 0) {
                consume(glob_text, path, o, ROWS, victim, life % 2 ? KILL_BEFORE_SAVING : KILL_AFTER_SAVING);
                _exit(0);
            }
            int status;
            waitpid(child, &status, 0);
            ended = WIFEXITED(status);
            deaths += WIFSIGNALED(status);
            assert_true(life < 400);
        }
        const struct reading_state got = state_at(glob_text, path, one);
        if (got.rows == wanted.rows)
            assert_int_equal(got.checksum, wanted.checksum);
        else { /* the last step went beyond: compare with an uninterrupted run as far */
            remove(whole);
            consume(glob_text, whole, one, got.rows, 0, KILL_NEVER);
            assert_int_equal(got.checksum, state_at(glob_text, whole, one).checksum);
        }
        assert_true(deaths > 5);
    }
    free(glob_text);
    free(path);
    free(whole);
}

/* Append steps to a table until its state has `steps`. */
static void append_table(const char *glob_text, const char *table, const char *path, struct window_order o,
                         uint64_t steps)
{
    struct shard_set *set = shard_set_open(glob_text);
    o.shards = set->count;
    o.start = set->start;
    struct window_order resumed = o;
    const uint64_t done = reading_state_load(path, &resumed, set).steps;
    FILE *out = fopen(table, "a");
    batch_table_write(out, set, &o, steps - done, SOURCE_WINDOWED, path);
    fclose(out);
    shard_set_close(set);
}

/* Let a child append its table, and kill it after its n-th call of the kernel. Return whether it ended before; -1 if
 * this system lets no process trace another. */
static int killed_at(int n, const char *glob_text, const char *table, const char *path, struct window_order o,
                     uint64_t steps)
{
    const int child = fork();
    int status;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        append_table(glob_text, table, path, o, steps);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        return -1;
    for (int i = 0; WIFSTOPPED(status) && i < 2 * n; i++) { /* it stops before and after a call */
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        waitpid(child, &status, 0);
    }
    if (WIFEXITED(status)) {
        assert_int_equal(WEXITSTATUS(status), 0);
        return 1;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 0;
}

/* Killed at each of its calls of the kernel in turn, then resumed: the table is, byte by byte, that of a run that was never killed. */
TEST_IN_FOLDER(a_table_has_each_row_once_wherever_it_was_killed)
{
    enum { STEPS = 2 };
    char *glob_text = make_set(*state), *path = memory_text("%s/line", (const char *)*state),
         *table = memory_text("%s/table", (const char *)*state), *whole = memory_text("%s/whole", (const char *)*state);
    const struct window_order o = { .tail = TAIL_EXACT, .shuffle = SHUFFLE_GLOBAL, .rows = 2, .length = 8, .ranks = 2 };
    append_table(glob_text, whole, path, o, STEPS);
    char *wanted = file_read(whole, NULL);
    int ended = 0, within = 0, n = 1;
    for (; !ended; n++) {
        remove(path);
        remove(table);
        ended = killed_at(n, glob_text, table, path, o, STEPS);
        if (ended < 0)
            skip();
        char *before = file_read(table, NULL);
        append_table(glob_text, table, path, o, STEPS);
        char *now = file_read(table, NULL);
        assert_string_equal(now, wanted);
        within += before && *before && !ended;
        free(before);
        free(now);
    }
    assert_true(n > 50 && within > 20);
    free(wanted);
    free(glob_text);
    free(path);
    free(table);
    free(whole);
}

/* --- certificate of an epoch ------------------------------------------------------------------------------------------ */

struct certified {
    bool holds;
    char *text;
};

static struct certified certify(const struct epoch_request *request)
{
    struct certified c = { 0 };
    size_t size;
    FILE *out = open_memstream(&c.text, &size);
    c.holds = epoch_certify(out, request);
    fclose(out);
    return c;
}

/* N ranks with batches of B rows stop after any step, in any epoch; M ranks with batches of B' go on: of every epoch, each token once. */
TEST_IN_FOLDER(resumed_epochs_are_certified)
{
    char *glob_text = make_set(*state), *path = memory_text("%s/line", (const char *)*state);
    struct shard_set *set = shard_set_open(glob_text);
    struct random random;
    random_seed(&random, 7);
    for (int trial = 0; trial < 100; trial++) {
        struct window_order o = { .tail = TAIL_EXACT,
                                  .shuffle = (enum row_shuffle)random_below(&random, 3),
                                  .seed = random_below(&random, 1000),
                                  .length = trial % 10 ? 1 + random_below(&random, 40) : 2000, /* more than an epoch */
                                  .rows = 1 + random_below(&random, 20),
                                  .ranks = 1 + random_below(&random, 7),
                                  .shards = set->count,
                                  .start = set->start };
        const uint64_t steps = 1 + random_below(&random, 4); /* each waits for the disk */
        remove(path);
        FILE *nowhere = fopen("/dev/null", "w");
        struct window_order read = o;
        batch_table_write(nowhere, set, &read, steps, SOURCE_WINDOWED, path);
        fclose(nowhere);
        o.ranks = 1 + random_below(&random, 7); /* M */
        o.rows = 1 + random_below(&random, 5);  /* B' */
        for (int epoch = EPOCH_NEXT; epoch < 3; epoch++) {
            const struct certified c = certify(&(struct epoch_request){ .set = set,
                                                                        .order = o,
                                                                        .way = (enum source_way)(trial % SOURCE_VIEWS),
                                                                        .epoch = epoch,
                                                                        .state_path = path });
            if (!c.holds)
                fail_msg("trial %d, epoch %d: %s", trial, epoch, c.text);
            assert_holds(c.text, "921 read once, 0 missing, 0 repeated");
            free(c.text);
        }
    }
    shard_set_close(set);
    free(glob_text);
    free(path);
}

/* Rows that a state claims to have read, with another checksum than theirs. */
TEST_IN_FOLDER(a_state_with_another_checksum_is_found)
{
    char *glob_text = make_set(*state), *path = memory_text("%s/line", (const char *)*state);
    struct shard_set *set = shard_set_open(glob_text);
    const struct window_order o = {
        .tail = TAIL_EXACT, .rows = 2, .length = 10, .ranks = 2, .shards = set->count, .start = set->start
    };
    const struct reading_state claimed = { .rows = 8, .steps = 2, .checksum = 1 };
    reading_state_save(path, &claimed, &o, set);
    const struct certified c = certify(&(struct epoch_request){
        .set = set, .order = o, .way = SOURCE_BLOCKS, .epoch = EPOCH_NEXT, .state_path = path });
    assert_false(c.holds);
    assert_holds(c.text, "state: 8 rows in 2 steps, but now their checksum is another");
    assert_holds(c.text, "921 read once, 0 missing, 0 repeated");
    free(c.text);
    shard_set_close(set);
    free(glob_text);
    free(path);
}

struct resumed {
    const char *glob_text, *path;
    struct window_order order;
};

static void resume(const void *argument)
{
    const struct resumed *r = argument;
    struct window_order o = r->order;
    struct shard_set *set = shard_set_open(r->glob_text);
    o.shards = set->count;
    o.start = set->start;
    reading_state_load(r->path, &o, set);
}

static void refused(const char *glob_text, const char *path, struct window_order order, const char *why)
{
    const struct ending e = ending_of(resume, &(struct resumed){ glob_text, path, order });
    assert_int_equal(e.status, STATUS_USAGE);
    assert_non_null(strstr(e.err, why));
    assert_ptr_equal(strchr(e.err, '\n'), e.err + strlen(e.err) - 1); /* one line */
}

TEST_IN_FOLDER(another_state_is_refused)
{
    char *glob_text = make_set(*state), *path = memory_text("%s/other", (const char *)*state);
    const struct window_order o = { .tail = TAIL_EXACT, .shuffle = SHUFFLE_GLOBAL, .rows = 2, .length = 8, .ranks = 2 };
    remove(path);
    consume(glob_text, path, o, 8, 0, KILL_NEVER);
    struct window_order other = o;
    other.length = 9;
    refused(glob_text, path, other, "--seq-len 8");
    other = o;
    other.seed = 1;
    refused(glob_text, path, other, "--seed 0");
    other = o;
    other.shuffle = SHUFFLE_SHARD;
    refused(glob_text, path, other, "--shuffle global");
    char *fewer = memory_text("%s/s[01].bin", (const char *)*state);
    refused(fewer, path, o, "other shards");
    FILE *out = fopen(path, "r+");
    fseek(out, 20, SEEK_SET);
    fputc('7', out);
    fclose(out);
    refused(glob_text, path, o, "no whole line");
    truncate(path, 30);
    refused(glob_text, path, o, "no whole line");
    remove(path);
    const struct window_order published = { .tail = TAIL_PUBLISHED, .rows = 2, .length = 8, .ranks = 2 };
    consume(glob_text, path, published, 8, 0, KILL_NEVER);
    other = published;
    other.ranks = 1;
    refused(glob_text, path, other, "--ranks 2");
    const struct ending e = ending_of(resume, &(struct resumed){ glob_text, path, published });
    assert_int_equal(e.status, 99); /* returned */
    free(glob_text);
    free(fewer);
    free(path);
}
