/* test_token_shards.c: test the formats of shards, files that are none, ways to read them, and shards that change while they are read. */
#include "base/random.h"
#include "base/rss.h"
#include "feed/batch_source.h"
#include "feed/ladder.h"
#include "feed/shard_make.h"
#include "feed/shard_map.h"
#include "feed/shard_read.h"
#include "support/ending.h"
#include "support/unit.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Write bytes into a new file of the folder, and return its path. */
static char *file_of(void **state, const char *name, const void *bytes, size_t count)
{
    char *path = memory_text("%s/%s", (const char *)*state, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    fclose(out);
    return path;
}

/* Write a shard with tokens 7, 8, 9, … */
static char *shard_of(void **state, const char *name, enum shard_format format, uint32_t tokens)
{
    char *path = memory_text("%s/%s", (const char *)*state, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    shard_make_header(out, format, tokens);
    for (uint32_t i = 0; i < tokens; i++)
        shard_make_token(out, format, 7 + i);
    fclose(out);
    return path;
}

TEST_IN_FOLDER(formats_are_told_apart)
{
    static const struct {
        enum shard_format format;
        int width;
        uint64_t offset;
    } wanted[] = { { SHARD_PLAIN, 2, 0 },
                   { SHARD_LLMC_16, 2, 1024 },
                   { SHARD_LLMC_32, 4, 1024 },
                   { SHARD_NPY_16, 2, 128 },
                   { SHARD_NPY_32, 4, 128 } };
    for (int i = 0; i < 5; i++)
        for (uint32_t tokens = 1; tokens < 3000; tokens = 3 * tokens + 1) {
            char *path = shard_of(state, "a.bin", wanted[i].format, tokens);
            struct token_shard shard = token_shard_open(path);
            assert_int_equal(shard.format, wanted[i].format);
            assert_int_equal(shard.width, wanted[i].width);
            assert_int_equal(shard.offset, wanted[i].offset);
            assert_int_equal(shard.tokens, tokens);
            assert_string_equal(shard.name, "a.bin");
            struct shard_map map;
            shard_map_open(&map, &shard);
            uint32_t last = 0;
            memcpy(&last, shard_map_at(&map, tokens - 1), (size_t)shard.width);
            assert_int_equal(last, 7 + tokens - 1);
            shard_map_close(&map);
            token_shard_close(&shard);
            free(path);
        }
}

/* Write an .npy file with this dictionary as its header. */
static char *npy_of(void **state, int version, const char *dictionary, const char *data)
{
    char bytes[256] = "\x93NUMPY";
    const int begin = version == 1 ? 10 : 12, length = (int)strlen(dictionary);
    bytes[6] = (char)version;
    bytes[8] = (char)length; /* less than 128: the higher bytes are 0 */
    memcpy(bytes + begin, dictionary, (size_t)length);
    memcpy(bytes + begin + length, data, strlen(data));
    return file_of(state, "array.npy", bytes, (size_t)(begin + length) + strlen(data));
}

static void is_array(char *path, enum shard_format format, uint64_t tokens)
{
    struct token_shard shard = token_shard_open(path);
    assert_int_equal(shard.format, format);
    assert_int_equal(shard.tokens, tokens);
    token_shard_close(&shard);
    free(path);
}

/* Headers of other versions, and keys in another order. */
TEST_IN_FOLDER(headers_of_numpy_are_read)
{
    is_array(npy_of(state, 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }   \n", "ABCDEFGH"),
             SHARD_NPY_32, 2);
    is_array(npy_of(state, 2, "{'shape': (3L,), 'fortran_order': False, 'descr':'<u2'}\n", "ABCDEF"), SHARD_NPY_16, 3);
    is_array(npy_of(state, 3, "{'shape':(1,),'descr':'<u2','fortran_order':True}\n", "AB"), SHARD_NPY_16, 1);
}

/* Return whether files of this folder are on a disk. A file system in memory (tmpfs, ramfs) or in other layers may keep each page. */
static bool is_on_disk(const char *folder)
{
    static const unsigned types[] = { 0xef53, 0x58465342, 0x9123683e }; /* ext, XFS, Btrfs */
    struct statfs now;
    assert_int_equal(statfs(folder, &now), 0);
    const unsigned type = (unsigned)now.f_type;
    return type == types[0] || type == types[1] || type == types[2];
}

/* --- bad files -------------------------------------------------------------------------------------------------------- */

static void open_one(const void *path)
{
    token_shard_open(path);
}

static void ends_with(struct ending e, const char *part)
{
    assert_int_equal(e.status, STATUS_USAGE);
    assert_holds(e.err, part);
    assert_ptr_equal(strchr(e.err, '\n'), e.err + strlen(e.err) - 1); /* one line */
}

static void refused(char *path, const char *part)
{
    const struct ending e = ending_of(open_one, path);
    ends_with(e, part);
    assert_holds(e.err, path);
    free(path);
}

static char *cut(char *path, off_t bytes)
{
    assert_int_equal(truncate(path, bytes), 0);
    return path;
}

TEST_IN_FOLDER(bad_files_are_refused_in_one_line)
{
    int32_t header[256] = { 20240520, 2, 0 };
    refused(memory_text("%s/missing.bin", (const char *)*state), "No such file");
    refused(memory_text("%s", (const char *)*state), "is no file");
    refused(file_of(state, "odd", "abc", 3), "3 bytes are no whole number of uint16");
    refused(file_of(state, "empty", "", 0), "has no tokens");
    refused(file_of(state, "version", header, sizeof header),
            "version 2 of llm.c's shards, but magic 20240520 has version 1");
    header[0] = 20240326;
    refused(file_of(state, "checkpoint", header, sizeof header), "magic 20240326 is not that of token shards");
    header[0] = 20240520;
    header[1] = 1;
    refused(file_of(state, "none", header, sizeof header), "has no tokens");
    refused(file_of(state, "head", header, 1000), "ends within its header");
    refused(cut(shard_of(state, "short", SHARD_LLMC_16, 100), 1024 + 198),
            "truncated: its header says 100 tokens, the file has room for 99");
    refused(cut(shard_of(state, "shorter", SHARD_LLMC_32, 100), 1024 + 399), "room for 99");
    refused(cut(shard_of(state, "long", SHARD_LLMC_16, 100), 1024 + 201), "but 1 bytes follow the last one");
    refused(cut(shard_of(state, "npy", SHARD_NPY_16, 100), 128 + 150), "room for 75");
    refused(cut(shard_of(state, "npyhead", SHARD_NPY_16, 100), 90), "ends within its .npy header");
    refused(npy_of(state, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "ABCD"),
            "holds elements of type '<f4'");
    refused(npy_of(state, 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2)}", "ABCD"), "not one dimension");
    refused(npy_of(state, 9, "{}", ""), "version 9 of .npy");
}

/* The magic of a header that no token can begin with is never read as tokens, and a plain shard that begins with a day is. */
TEST_IN_FOLDER(tokens_are_no_header)
{
    uint16_t tokens[1024];
    for (int i = 0; i < 1024; i++)
        tokens[i] = (uint16_t)(i + 1);
    const uint32_t day = 20240101;
    memcpy(tokens, &day, sizeof day);
    char *path = file_of(state, "day", tokens, sizeof tokens);
    struct token_shard shard = token_shard_open(path);
    assert_int_equal(shard.format, SHARD_PLAIN);
    assert_int_equal(shard.tokens, 1024);
    token_shard_close(&shard);
    free(path);
}

/* Read beyond 2^31 and 2^32 bytes: a sparse file of three thousand million tokens. */
TEST_IN_FOLDER(large_files_are_read_at_their_end)
{
    const uint64_t tokens = UINT64_C(3000000000);
    char *path = memory_text("%s/large.bin", (const char *)*state);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    shard_make_header(out, SHARD_LLMC_16, tokens);
    assert_int_equal(fseeko(out, (off_t)(1024 + 2 * (tokens - 100)), SEEK_SET), 0);
    for (uint32_t i = 0; i < 100; i++)
        shard_make_token(out, SHARD_LLMC_16, 1000 + i);
    fclose(out);
    struct shard_set *set = shard_set_open(path);
    assert_int_equal(shard_set_tokens(set), tokens);
    for (int way = 0; way < SOURCE_WAYS; way++) {
        struct window_order o = { .tail = TAIL_EXACT,
                                  .rows = 1,
                                  .length = 90,
                                  .ranks = 1,
                                  .first_row = tokens / 90 - 1,
                                  .shards = 1,
                                  .start = set->start };
        struct batch_source *source = batch_source_open(
            &(struct source_settings){ .set = set, .order = o, .way = (enum source_way)way, .width = 2 });
        const uint16_t *x = batch_source_next(source).x; /* 2999999880 … 2999999969; the stored ones begin at …900 */
        assert_int_equal(o.first_row * 90, UINT64_C(2999999880));
        assert_int_equal(x[19], 0);
        assert_int_equal(x[20], 1000);
        assert_int_equal(x[89], 1069);
        batch_source_close(source);
    }
    shard_set_close(set);
    free(path);
}

/* --- ways --------------------------------------------------------------------------------------------------------------- */

/* Return token i of all shards together, as shard_of() wrote them. */
static uint32_t token_at(const struct shard_set *set, uint64_t position)
{
    int s = 0;
    position %= shard_set_tokens(set);
    while (position >= set->start[s + 1])
        s++;
    return 7 + (uint32_t)(position - set->start[s]);
}

static uint32_t element(const void *array, int width, uint64_t i)
{
    return width == 2 ? ((const uint16_t *)array)[i] : ((const uint32_t *)array)[i];
}

/* Compare x and y of some steps, in one way and width, with the tokens that stand there. */
static void compare(const struct shard_set *set, struct window_order o, enum source_way way, int width)
{
    for (uint64_t rank = 0; rank < o.ranks; rank++) {
        struct batch_source *source = batch_source_open(
            &(struct source_settings){ .set = set, .order = o, .rank = rank, .way = way, .width = width });
        const int shown = way == SOURCE_VIEWS ? set->width : width;
        for (uint64_t step = 0; step < 40; step++) {
            const struct token_pair pair = batch_source_next(source);
            const struct token_window *windows = batch_source_windows(source);
            const uint64_t tokens = window_order_tokens(&o);
            for (uint64_t w = 0; w < window_order_count(&o); w++)
                for (uint64_t i = 0; i < tokens; i++) {
                    const struct token_window wanted = window_order_at(&o, rank, step, w);
                    const uint64_t at = wanted.position + i;
                    assert_int_equal(windows[w].position, wanted.position);
                    assert_int_equal(windows[w].shard, wanted.shard);
                    assert_int_equal(windows[w].first, wanted.first);
                    assert_int_equal(element(pair.x, shown, w * tokens + i), token_at(set, at));
                    assert_int_equal(element(pair.y, shown, w * tokens + i), token_at(set, at + 1));
                }
        }
        assert_int_equal(batch_source_counts(source).batches, 40);
        batch_source_close(source);
    }
}

TEST_IN_FOLDER(all_ways_give_the_same_tokens)
{
    free(shard_of(state, "a.bin", SHARD_PLAIN, 501));
    free(shard_of(state, "b.bin", SHARD_LLMC_16, 1));
    free(shard_of(state, "c.npy", SHARD_NPY_16, 777));
    free(shard_of(state, "w.bin", SHARD_LLMC_32, 640));
    free(shard_of(state, "x.npy", SHARD_NPY_32, 333));
    char *narrow = memory_text("%s/[abc].*", (const char *)*state),
         *wide = memory_text("%s/[wx].*", (const char *)*state);
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        struct shard_set *set = shard_set_open(is_wide ? wide : narrow);
        for (int way = 0; way < SOURCE_WAYS; way++)
            for (int shuffle = 0; shuffle < 3; shuffle++)
                for (int width = set->width; width <= 4; width += 2) {
                    const struct window_order o = { .tail = TAIL_EXACT,
                                                    .shuffle = (enum row_shuffle)shuffle,
                                                    .seed = 5,
                                                    .rows = 3,
                                                    .length = 13,
                                                    .ranks = 2,
                                                    .shards = set->count,
                                                    .start = set->start };
                    compare(set, o, (enum source_way)way, width);
                }
        shard_set_close(set);
    }
    free(narrow);
    free(wide);
}

/* Read two passes in a way; each batch must begin with the right token. Return the most bytes of mapped files that the process held, beyond
 * those before. */
static double held_by(const struct shard_set *set, enum source_way way, enum row_shuffle shuffle)
{
    const struct window_order o = { .tail = TAIL_EXACT,
                                    .shuffle = shuffle,
                                    .rows = 4,
                                    .length = 1024,
                                    .ranks = 2,
                                    .shards = set->count,
                                    .start = set->start };
    struct batch_source *source =
        batch_source_open(&(struct source_settings){ .set = set, .order = o, .way = way, .width = 4 });
    const double before = rss_parts_now().file;
    double most = 0;
    for (uint64_t batch = 0; batch < 2 * ladder_batches(&o); batch++) {
        const struct token_pair pair = batch_source_next(source);
        const struct token_window w = batch_source_windows(source)[0];
        assert_int_equal(element(pair.x, 4, 0), token_at(set, w.position) & 0xffff);
        most = fmax(most, rss_parts_now().file - before);
    }
    batch_source_close(source);
    return most;
}

/* A way that unmaps what it has read holds a piece of advice, and what the kernel maps around a fault: on some, 2 MiB of the page cache.
 * One shard is larger than that, and so are all small ones together. */
TEST_IN_FOLDER(windowed_holds_little_memory)
{
    enum { TOKENS = 3 << 20, SMALL = 24 };
    free(shard_of(state, "a.bin", SHARD_LLMC_16, TOKENS));
    for (int i = 0; i < SMALL; i++) {
        char *name = memory_text("b_%02d.bin", i);
        free(shard_of(state, name, SHARD_PLAIN, TOKENS / SMALL));
        free(name);
    }
    char *names = memory_text("%s/*", (const char *)*state);
    struct shard_set *set = shard_set_open(names);
    assert_true(held_by(set, SOURCE_WINDOWED, SHUFFLE_NONE) <= 4 << 20);
    assert_true(held_by(set, SOURCE_WINDOWED, SHUFFLE_GLOBAL) <= 4 << 20);
    if (!is_on_disk(*state))
        print_message("the kernel may count pages of this file system elsewhere\n");
    else
        assert_true(held_by(set, SOURCE_ADVISED, SHUFFLE_NONE) > 2 * 2 * TOKENS - (2 << 20));
    shard_set_close(set);
    free(names);
}

/* After the start, ways that allocate once allocate no more, by the source's own count. */
TEST_IN_FOLDER(later_ways_allocate_nothing)
{
    char *path = shard_of(state, "a.bin", SHARD_PLAIN, 5000);
    struct shard_set *set = shard_set_open(path);
    for (int way = 0; way < SOURCE_WAYS; way++) {
        const struct window_order o = {
            .tail = TAIL_PUBLISHED, .rows = 2, .length = 16, .ranks = 1, .shards = 1, .start = set->start
        };
        struct batch_source *source = batch_source_open(
            &(struct source_settings){ .set = set, .order = o, .way = (enum source_way)way, .width = 4 });
        for (int i = 0; i < 10; i++)
            batch_source_next(source);
        const struct source_counts counts = batch_source_counts(source);
        assert_int_equal(counts.allocations, way == SOURCE_MAPPED ? 20 : way <= SOURCE_BLOCKS ? 30 : 0);
        assert_int_equal(counts.reads, way <= SOURCE_BLOCKS || way == SOURCE_BUFFERED ? 10 : 0);
        batch_source_close(source);
    }
    shard_set_close(set);
    free(path);
}

/* Calls of the allocators by our code, of all threads (-Wl,--wrap): also those that a source does not count. What the C library takes for
 * itself, such as the buffer of a FILE, is not seen. */
static _Atomic int taken;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    taken++;
    return __real_malloc(bytes);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    taken++;
    return __real_calloc(count, size);
}

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    taken++;
    return __real_realloc(memory, bytes);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    taken++;
    return __real_aligned_alloc(alignment, bytes);
}

/* The source's count is that of the allocators, from the second batch on, also where a rank goes on to another shard and back. */
TEST_IN_FOLDER(no_allocation_is_left_out)
{
    enum { BATCHES = 40 };
    free(shard_of(state, "a.bin", SHARD_PLAIN, 200));
    free(shard_of(state, "b.bin", SHARD_PLAIN, 300));
    char *all = memory_text("%s/*.bin", (const char *)*state);
    struct shard_set *set = shard_set_open(all);
    for (int tail = TAIL_PUBLISHED; tail <= TAIL_EXACT; tail++)
        for (int way = 0; way < SOURCE_WAYS; way++) {
            const struct window_order o = { .tail = (enum tail_rule)tail,
                                            .shuffle = tail == TAIL_EXACT ? SHUFFLE_GLOBAL : SHUFFLE_NONE,
                                            .rows = 2,
                                            .length = 16,
                                            .ranks = 1,
                                            .shards = set->count,
                                            .start = set->start };
            struct batch_source *source = batch_source_open(
                &(struct source_settings){ .set = set, .order = o, .way = (enum source_way)way, .width = 4 });
            batch_source_next(source);
            batch_source_settle(source);
            const int before = taken;
            for (int i = 0; i < BATCHES; i++)
                batch_source_next(source);
            batch_source_settle(source);
            assert_int_equal(taken - before, way == SOURCE_MAPPED   ? 2 * BATCHES
                                             : way <= SOURCE_BLOCKS ? 3 * BATCHES
                                                                    : 0);
            assert_int_equal(batch_source_counts(source).allocations, (taken - before) / BATCHES * (BATCHES + 1));
            batch_source_close(source);
        }
    shard_set_close(set);
    free(all);
}

static void open_set(const void *glob_text)
{
    shard_set_open(glob_text);
}

TEST_IN_FOLDER(sets_are_sorted_by_bytes)
{
    free(shard_of(state, "b.bin", SHARD_PLAIN, 3));
    free(shard_of(state, "B.bin", SHARD_PLAIN, 4));
    free(shard_of(state, "a10.bin", SHARD_PLAIN, 5));
    free(shard_of(state, "a2.bin", SHARD_PLAIN, 6));
    char *all = memory_text("%s/*.bin", (const char *)*state);
    struct shard_set *set = shard_set_open(all);
    static const char *const names[] = { "B.bin", "a10.bin", "a2.bin", "b.bin" };
    for (int i = 0; i < 4; i++)
        assert_string_equal(set->shard[i].name, names[i]);
    assert_int_equal(shard_set_tokens(set), 18);
    shard_set_keep(set, 10); /* 4 + 5 + 6 reach beyond */
    assert_int_equal(set->count, 3);
    shard_set_keep(set, 9);
    assert_int_equal(shard_set_tokens(set), 9);
    shard_set_keep(set, 0);
    assert_int_equal(set->count, 1);
    shard_set_close(set);
    free(shard_of(state, "c.bin", SHARD_LLMC_32, 3));
    ends_with(ending_of(open_set, all), "read them in separate runs");
    free(all);
    all = memory_text("%s/*.none", (const char *)*state);
    ends_with(ending_of(open_set, all), "no such file");
    free(all);
}

/* --- shards that change --------------------------------------------------------------------------------------------------- */

enum { CHANGING = 1 << 20 };

struct change {
    const char *path;
    enum source_way way;
    off_t bytes;
    bool at_once; /* before the first batch */
};

/* Read, change the file's size, read on. */
static void read_changing(const void *argument)
{
    const struct change *c = argument;
    struct shard_set *set = shard_set_open(c->path);
    const struct window_order o = {
        .tail = TAIL_PUBLISHED, .rows = 1, .length = 1024, .ranks = 1, .shards = 1, .start = set->start
    };
    struct batch_source *source =
        batch_source_open(&(struct source_settings){ .set = set, .order = o, .way = c->way, .width = 4 });
    uint64_t sum = 0;
    for (int i = 0; i < CHANGING / 1024 - 2; i++) {
        if (i == (c->at_once ? 0 : 8))
            truncate(c->path, c->bytes);
        const struct token_pair pair = batch_source_next(source);
        sum += element(pair.x, c->way == SOURCE_VIEWS ? 2 : 4, 1000);
    }
    _exit(sum > 0 ? 98 : 97);
}

TEST_IN_FOLDER(a_shard_that_shrinks_ends_the_program_in_one_line)
{
    for (int way = 0; way < SOURCE_WAYS; way++) {
        char *path = shard_of(state, "a.bin", SHARD_PLAIN, CHANGING);
        ends_with(ending_of(read_changing, &(struct change){ path, (enum source_way)way, 300001, false }), "shrank");
        free(path);
    }
}

TEST_IN_FOLDER(a_shard_that_has_changed_is_not_opened_again)
{
    char *path = shard_of(state, "a.bin", SHARD_PLAIN, CHANGING);
    ends_with(ending_of(read_changing, &(struct change){ path, SOURCE_WINDOWED, 300000, true }),
              "has changed from 2097152 to 300000");
    free(path);
}

/* SIGBUS of other memory ends the program as ever. */
static void touch_other(const void *argument)
{
    struct token_shard shard = token_shard_open(argument);
    struct shard_map map;
    shard_map_open(&map, &shard);
    raise(SIGBUS);
    _exit(98);
}

TEST_IN_FOLDER(signals_of_others_are_not_ours)
{
    char *path = shard_of(state, "a.bin", SHARD_PLAIN, 100);
    assert_int_equal(ending_of(touch_other, path).status, 98); /* raise() once resets the handler and goes on */
    free(path);
}

/* The memory of a process as a file: its first page cannot be read (EIO), as a bad block of a disk. */
static void read_bad_block(const void *nothing)
{
    (void)nothing;
    const struct token_shard shard = { .path = (char *)"/proc/self/mem", .width = 2, .tokens = 100 };
    struct shard_read read;
    uint16_t token[8];
    shard_read_open(&read, false);
    shard_read_tokens(&read, &shard, 0, 8, token);
}

/* The signal of a page that the disk cannot read, of a file that has its size. */
static void touch_bad_block(const void *path)
{
    struct token_shard shard = token_shard_open(path);
    struct shard_map map;
    shard_map_open(&map, &shard);
    siginfo_t info = { .si_signo = SIGBUS, .si_code = BUS_ADRERR };
    info.si_addr = (char *)map.memory + 100;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info);
}

TEST_IN_FOLDER(a_bad_block_ends_the_program_in_one_line)
{
    char *path = shard_of(state, "a.bin", SHARD_PLAIN, 100);
    ends_with(ending_of(read_bad_block, NULL), "/proc/self/mem: the disk cannot read byte 0: Input/output error");
    ends_with(ending_of(touch_bad_block, path), "the disk cannot read byte 100; check the disk");
    free(path);
}

/* Pages of a file just written are cached. Those that the kernel is asked to drop are not, and come back when the file is read. */
TEST_IN_FOLDER(cached_pages_are_counted)
{
    char *path = shard_of(state, "a.bin", SHARD_PLAIN, CHANGING);
    struct token_shard shard = token_shard_open(path);
    struct shard_map map;
    shard_map_open(&map, &shard);
    const struct shard_pages pages = shard_map_pages(&map);
    assert_int_equal(pages.all, 2 * CHANGING / sysconf(_SC_PAGESIZE));
    assert_int_equal(pages.cached, pages.all);
    shard_map_close(&map);
    token_shard_close(&shard);
    struct shard_set *set = shard_set_open(path);
    assert_true(ladder_cache(set) == 1);
    const double kept = ladder_evict(set);
    if (is_on_disk(*state))
        assert_true(kept < 0.05);
    else if (kept > 0.05)
        print_message("this file system keeps %.0f %% of pages that it is asked to drop\n", 100 * kept);
    assert_true(ladder_cache(set) == 1);
    struct shard_map reader;
    shard_map_open(&reader, &set->shard[0]);
    uint32_t sum = 0;
    for (uint64_t i = 0; i < CHANGING; i += 512)
        sum += *(const uint16_t *)shard_map_at(&reader, i);
    assert_true(sum > 0);
    const double mapped = ladder_evict(set); /* a mapped page that was touched stays */
    assert_true(mapped == 1);
    shard_map_close(&reader);
    shard_set_close(set);
    free(path);
}
