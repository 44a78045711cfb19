/* 08_token_loader_parts: measures the parts of which every way to bring tokens is composed. None of them measures a whole way: each times
 * one operation, at other sizes than the cases have.
 *
 * They are measured on a file in memory (memfd) for the machine card, and for ladder.csv and crossover.csv on the shards themselves: there
 * the kernel keeps pages in larger pieces, which take fewer page faults. A turn takes another part of the files, so that its bytes
 * come from where those of a batch come from. In a step, the rank trains between two batches, and what they need leaves the caches. Batches
 * took 2.5 to 4 times as long as operations in a row foretold (two real ranks, AMD EPYC, 2026-11-29). So for the card the rank trains
 * before each operation; for crossover.csv it trains or computes as long as between two batches; only for ladder.csv operations follow
 * each other. */
#include "08_token_loader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    TURNS = 5,       /* turns per part, whose median counts; one turn if there is work between operations */
    PIECE = 4 << 20, /* bytes of a turn, */
    PAGE = 4096,
    RESTED = 12,             /* or its operations if there is work between them; */
    SMALL = 8 << 10,         /* bytes of a small read, at most, and */
    LARGE = 128 << 10,       /* of a large one, */
    ONE = 2,                 /* and of one token more, as in a batch of B T + 1 tokens */
    HEADER = 4 * LLMC_HEADER /* bytes of llm.c's header; stdio reads the page that it ends in from its beginning */
};

/* --- files, a piece after the other --------------------------------------------------------------------------------- */

struct parts_files {
    const struct shard_set *set;
    struct shard_set *own; /* the one in memory, and its file; NULL: the caller's */
    int own_fd;
    int now;           /* shard of the next piece, */
    off_t at;          /* and its place there */
    double fault_each; /* bytes per page fault; 0: not counted yet */
    int fd[];          /* (shards) */
};

static off_t file_bytes(const struct parts_files *files, int file)
{
    return (off_t)files->set->shard[file].bytes;
}

/* Bytes from … from + bytes-1 of a file. */
struct piece {
    int fd;
    off_t from;
    size_t bytes;
};

/* Return a file's first PARTS_MEMORY bytes, or all of it. */
static struct piece first_piece(const struct parts_files *files, int file)
{
    const off_t bytes = file_bytes(files, file);
    return (struct piece){ .fd = files->fd[file], .bytes = (size_t)(bytes < PARTS_MEMORY ? bytes : PARTS_MEMORY) };
}

/* Map a piece; and its pages at once, if `is_populated`. Reading them would also let the processor know their addresses, which it does not
 * know of the pages of a whole shard. */
static char *map(struct piece piece, bool is_populated)
{
    char *memory =
        mmap(NULL, piece.bytes, PROT_READ, MAP_SHARED | (is_populated ? MAP_POPULATE : 0), piece.fd, piece.from);
    if (memory == MAP_FAILED)
        die(STATUS_CANNOT, "cannot map %zu bytes to measure: %s", piece.bytes, strerror(errno));
    return memory;
}

void touch(const char *memory, size_t bytes, size_t stride)
{
    for (size_t at = 0; at < bytes; at += stride)
        (void)*(volatile const char *)(memory + at);
}

/* Return the bytes per page fault of a process that maps the files and reads them in order, counted once. The kernel maps FAULT_AROUND
 * bytes at a fault, or a whole piece of the page cache, if that is larger. Pieces differ within a file: reads and readahead brought
 * them in other sizes. */
static double bytes_of_fault(struct parts_files *files)
{
    if (files->fault_each > 0)
        return files->fault_each;
    double bytes = 0;
    const struct evidence then = evidence_now(NULL);
    for (int i = 0; i < files->set->count; i++) {
        const struct piece piece = first_piece(files, i);
        char *memory = map(piece, false);
        touch(memory, piece.bytes, PAGE);
        munmap(memory, piece.bytes);
        bytes += (double)piece.bytes;
    }
    const struct evidence now = evidence_now(NULL);
    return files->fault_each = bytes / fmax(1, evidence_since(&then, &now).minor_faults);
}

struct parts_files *parts_files_in_memory(void)
{
    const int fd = memfd_create("token_parts", MFD_CLOEXEC);
    char *block = memory_new(LARGE, 1);
    for (int i = 0; i < LARGE; i++)
        block[i] = (char)i;
    bool is_written = fd >= 0;
    for (int done = 0; is_written && done < PARTS_MEMORY; done += LARGE)
        is_written = write(fd, block, LARGE) == LARGE;
    if (!is_written)
        die(STATUS_CANNOT, "no memory for a file of %d bytes to measure: %s", PARTS_MEMORY, strerror(errno));
    free(block);
    char *path = memory_text("/proc/self/fd/%d", fd);
    struct shard_set *own = shard_set_open(path); /* without header, so it is one of uint16 */
    free(path);
    struct parts_files *files = parts_files_of(own);
    files->own = own;
    files->own_fd = fd;
    return files;
}

struct parts_files *parts_files_of(const struct shard_set *set)
{
    struct parts_files *files = memory_new(1, sizeof *files + (size_t)set->count * sizeof *files->fd);
    files->set = set;
    off_t most = 0;
    for (int i = 0; i < set->count; i++) {
        files->fd[i] = token_shard_reopen(&set->shard[i]);
        most = file_bytes(files, i) > most ? file_bytes(files, i) : most;
    }
    if (most >= 8 * LARGE)
        return files;
    parts_files_close(files);
    return NULL;
}

void parts_files_close(struct parts_files *files)
{
    for (int i = 0; files && i < files->set->count; i++)
        close(files->fd[i]);
    if (files && files->own) {
        shard_set_close(files->own);
        close(files->own_fd);
    }
    free(files);
}

/* Go to the next file if too little of this one is left. */
static void go_to_piece(struct parts_files *files)
{
    while (file_bytes(files, files->now) - files->at < 8 * LARGE) {
        files->now = (files->now + 1) % files->set->count;
        files->at = 0;
    }
}

static struct piece next_piece(struct parts_files *files)
{
    go_to_piece(files);
    const off_t left = file_bytes(files, files->now) - files->at;
    const struct piece piece = { .fd = files->fd[files->now],
                                 .from = files->at,
                                 .bytes = (size_t)(left < PIECE ? left - left % LARGE : PIECE) };
    files->at += (off_t)piece.bytes;
    return piece;
}

/* --- one operation after the other ---------------------------------------------------------------------------------- */

enum { LINE = 64 }; /* bytes of a line of the caches */

/* Return the next multiple of a line. */
static size_t even(size_t bytes)
{
    return bytes + LINE - bytes % LINE;
}

/* Arguments of all operations. */
struct bench {
    struct parts_shape shape;
    enum token_part part;
    size_t bytes;  /* of an operation, */
    size_t step;   /* to the next one: whole pages; for less than one, a page past its end, as past those of others */
    double mapped; /* bytes that it maps, if that is what it does */
    struct piece piece; /* of the turn */
    char *memory;       /* the piece, mapped */
    FILE *file;         /* the piece's file, if part is PART_FREAD_MORE */
    size_t at;          /* place of the operation in the piece */
    char *buffer;       /* (bytes) tokens just read */
    char *x, *y;        /* of a batch */
};

static void fail_to_read(void)
{
    die(STATUS_CANNOT, "cannot read a file to measure: %s", strerror(errno));
}

static char *allocate(size_t bytes)
{
    char *memory = aligned_alloc(LINE, even(bytes));
    for (size_t at = 0; memory && at < bytes; at += PAGE) /* so that the compiler keeps it, and page faults count */
        ((volatile char *)memory)[at] = 1;
    return memory;
}

/* Free x and y of the batch before; allocate those of the next one, and a buffer for its tokens. */
static void allocate_batch(struct bench *b)
{
    const size_t in = b->shape.tokens * (size_t)b->shape.widths.in, out = b->shape.tokens * (size_t)b->shape.widths.out;
    free(b->x);
    free(b->y);
    b->x = allocate(out);
    b->y = allocate(out);
    free(allocate(in + 2));
}

/* Map the bytes of the operation, or unmap them. */
static void change_map(const struct bench *b)
{
    const struct token_shard shard = { .bytes = b->piece.bytes };
    const struct shard_map map = { .shard = &shard, .memory = b->memory };
    if (b->part == PART_UNMAP_BYTE)
        shard_map_unmap(&map, b->at, b->bytes);
    else {
        shard_map_populate(&map, b->at, b->bytes);
        touch(b->memory + b->at, 1, 1);
    }
}

/* Make `tokens` of a batch, from the n-th one on. */
static void widen_part(const struct bench *b, const char *from, size_t n, size_t tokens)
{
    const struct widths widths = b->shape.widths;
    char *x = b->x + n * (size_t)widths.out, *y = b->y + n * (size_t)widths.out;
    if (b->part == PART_ELEMENT)
        widen_elements(widths, from, x, y, tokens);
    else if (b->part == PART_LOOP)
        widen_loop(widths, from, x, y, tokens);
    else
        widen_block(widths, from, x, y, tokens);
}

/* Make a part of a batch, behind the part before and then from the batch's first token again: each line of x and y was
 * written a whole batch ago. Parts begin with a line of the caches, as a batch does. */
static void widen(const struct bench *b)
{
    const size_t in = (size_t)b->shape.widths.in, tokens = b->bytes / in - 1;
    const size_t whole = b->shape.tokens > tokens ? b->shape.tokens - b->shape.tokens % LINE : even(tokens);
    const size_t first = b->at / b->step * even(tokens) % whole, end = whole - first;
    const char *from = b->part == PART_MAPPED_WIDEN ? b->memory + b->at : b->buffer;
    widen_part(b, from, first, tokens < end ? tokens : end);
    if (end < tokens)
        widen_part(b, from + end * in, 0, tokens - end);
}

/* Before an operation: read its tokens into the buffer. */
static void prepare(struct bench *b)
{
    const bool is_from_buffer = b->part == PART_ELEMENT || b->part == PART_LOOP || b->part == PART_WIDEN;
    if (is_from_buffer && pread(b->piece.fd, b->buffer, b->bytes, b->piece.from + (off_t)b->at) != (ssize_t)b->bytes)
        fail_to_read();
}

static void operate(struct bench *b)
{
    const off_t place = b->piece.from + (off_t)b->at;
    bool is_read = true;
    switch (b->part) {
    case PART_READ_CALL:
    case PART_READ_BYTE:
        is_read = pread(b->piece.fd, b->buffer, b->bytes, place) == (ssize_t)b->bytes;
        break;
    case PART_FREAD_MORE:
        is_read = fseeko(b->file, place, SEEK_SET) == 0 && fread(b->buffer, 1, b->bytes, b->file) == b->bytes;
        break;
    case PART_FAULT_BYTE:
        touch(b->memory + b->at, b->bytes, PAGE);
        break;
    case PART_POPULATE_BYTE:
    case PART_UNMAP_BYTE:
        change_map(b);
        break;
    case PART_ALLOCATION:
        allocate_batch(b);
        break;
    default:
        widen(b);
    }
    if (!is_read)
        fail_to_read();
}

/* Return the seconds between two time stamps. Parts are measured without them; PART_ASK contains them, once for a batch. */
static double stamp(void)
{
    enum { CALLS = 15 };
    double seconds[CALLS];
    for (int i = 0; i < CALLS; i++) {
        const double begin = world_now();
        seconds[i] = world_now() - begin;
    }
    return stats_lower_median(seconds, CALLS);
}

/* After an operation that mapped pages: read them, as their batches do. Then the kernel's data leaves the first cache, as in training. */
static void use(const struct bench *b)
{
    const bool is_mapped_now = b->part == PART_FAULT_BYTE || b->part == PART_POPULATE_BYTE;
    if (is_mapped_now)
        touch(b->memory + b->at, b->bytes, LINE);
}

/* Return the number of batches that an operation serves: the next operation comes after these. */
static double batches_of(const struct bench *b)
{
    const double bytes = (double)b->shape.tokens * b->shape.widths.in;
    const bool is_mapping = b->part == PART_FAULT_BYTE || b->part == PART_POPULATE_BYTE || b->part == PART_UNMAP_BYTE;
    return is_mapping ? fmax(1, b->mapped / bytes) : 1;
}

bool is_rest(struct rest rest)
{
    return rest.steps || rest.seconds > 0;
}

void rest_for(struct rest rest, double batches)
{
    if (rest.steps)
        for (long i = 0; i < lround(batches); i++)
            shape_bench_step(rest.steps);
    else
        world_spin(batches * rest.seconds);
}

/* True if the rank trains between operations as often as between those of a way. */
static bool is_trained(const struct bench *b)
{
    return b->shape.rest.steps && !b->shape.is_in_case;
}

/* Operations of a turn between which the rank trains so often, and the steps that they may take. The first ones do not count: making tokens
 * takes longer until some have passed, in the first one 1.5 times as long (Intel Xeon, 2026-11-30). */
enum { TRAINED = 20, TRAINED_LEAST = 5, TRAINED_STEPS = 80 };
static const double warming_up = 0.4; /* share of the operations */

/* Return the operations of a turn, with work for this many batches between them. */
static size_t operations_of(const struct bench *b, double between)
{
    const size_t all = (b->piece.bytes - b->bytes) / b->step + 1,
                 trained = (size_t)fmax(TRAINED_LEAST, fmin(TRAINED, TRAINED_STEPS / between)),
                 wanted = (size_t)card_times(is_trained(b) ? (int)trained : RESTED);
    return is_rest(b->shape.rest) && all > wanted ? wanted : all;
}

/* Return the seconds of an operation: the mean of all, or the median of the few that have work between them, which noise may disturb. */
static double typical(const double *seconds, size_t calls, struct rest rest)
{
    return is_rest(rest) ? stats_lower_median(seconds, (int)calls) : stats_mean(seconds, (int)calls);
}

/* Return the seconds of an operation of a turn. */
static double turn_seconds(struct bench *b)
{
    const double between = b->shape.is_in_case ? 1 : batches_of(b);
    const size_t calls = operations_of(b, between), warmups = is_trained(b) ? (size_t)(warming_up * (double)calls) : 0;
    double *seconds = memory_new(calls, sizeof *seconds);
    for (size_t i = 0; i < calls; i++, b->at += b->step) {
        rest_for(b->shape.rest, between);
        prepare(b);
        const double begin = world_now();
        operate(b);
        seconds[i] = world_now() - begin;
        use(b);
    }
    const double each = typical(seconds + warmups, calls - warmups, b->shape.rest);
    free(seconds);
    return fmax(0, each - stamp());
}

static int turns_of(const struct parts_shape *shape)
{
    return is_rest(shape->rest) ? 1 : TURNS;
}

/* Return the seconds of an operation on `bytes`, from pages that are mapped before, or are not. */
static double operation(struct parts_files *files, const struct parts_shape *shape, enum token_part part, size_t bytes,
                        bool is_mapped)
{
    const size_t out = (shape->tokens + LARGE) * (size_t)shape->widths.out;
    struct bench b = { .shape = *shape, .part = part, .bytes = bytes, .mapped = (double)bytes };
    b.step = bytes > PAGE ? bytes - bytes % PAGE : bytes + PAGE;
    b.buffer = memory_new(bytes, 1);
    b.x = memory_new(out, 1);
    b.y = memory_new(out, 1);
    double seconds[TURNS];
    const int turns = card_times(turns_of(shape));
    for (int turn = 0; turn < turns; turn++) {
        const struct piece piece = b.piece = next_piece(files);
        b.memory = map(piece, is_mapped);
        if (part == PART_POPULATE_BYTE || part == PART_UNMAP_BYTE)
            (void)madvise(b.memory, piece.bytes, MADV_SEQUENTIAL); /* as their ways: unmapping depends on it */
        b.file = part == PART_FREAD_MORE ? fdopen(dup(piece.fd), "rb") : NULL;
        b.at = part == PART_FREAD_MORE ? HEADER : 0;
        b.piece.bytes -= b.at;
        seconds[turn] = turn_seconds(&b);
        if (b.file)
            fclose(b.file);
        munmap(b.memory, piece.bytes);
    }
    free(b.buffer);
    free(b.x);
    free(b.y);
    return stats_lower_median(seconds, turns);
}

/* Return the bytes of three quarters of a batch, up to `most`: not a way, but about as many pages in a row. */
static size_t most_of_batch(const struct parts_shape *shape, size_t most)
{
    const size_t wanted = shape->tokens * 3 / 4 * (size_t)shape->widths.in, bytes = wanted < most ? wanted : most,
                 whole = bytes > PAGE ? bytes - bytes % PAGE : bytes;
    return whole < 1 << 10 ? 1 << 10 : whole;
}

/* Return the bytes of a small read. One of 8 KiB does not foretell one of 2, which after training takes longer per byte. */
static size_t small_bytes(const struct parts_shape *shape)
{
    return most_of_batch(shape, SMALL);
}

/* Return the seconds of a small read, by read() or fread(). */
static double small_read(struct parts_files *files, const struct parts_shape *shape, enum token_part part)
{
    return operation(files, shape, part, small_bytes(shape) + ONE, false);
}

/* Return the seconds by which each byte lengthens a read. `small`: seconds of a small one, which others may have disturbed. */
static double read_byte(struct parts_files *files, const struct parts_shape *shape, double small)
{
    return fmax(0, operation(files, shape, PART_READ_BYTE, LARGE + ONE, false) - small) /
           (double)(LARGE - small_bytes(shape));
}

static double read_call(struct parts_files *files, const struct parts_shape *shape)
{
    const double small = small_read(files, shape, PART_READ_CALL);
    return fmax(0, small - (double)small_bytes(shape) * read_byte(files, shape, small));
}

/* Return the seconds per byte of page faults on pages that are read in order. Each is timed far from the others, after work. */
static double rested_fault_byte(struct parts_files *files, const struct parts_shape *shape)
{
    go_to_piece(files);
    const double each = bytes_of_fault(files);
    double seconds[2]; /* of a page that is mapped, and of one that is not */
    for (int is_new = 0; is_new < 2; is_new++) {
        struct bench b = { .shape = *shape,
                           .part = PART_FAULT_BYTE,
                           .bytes = PAGE,
                           .mapped = each,
                           .piece = first_piece(files, files->now) };
        const size_t step = b.piece.bytes / TRAINED;
        b.step = step - step % PAGE;
        b.memory = map(b.piece, !is_new);
        seconds[is_new] = turn_seconds(&b);
        munmap(b.memory, b.piece.bytes);
    }
    return fmax(0, seconds[1] - seconds[0]) / each;
}

/* Return them of faults one after the other. */
static double fault_byte(struct parts_files *files, const struct parts_shape *shape)
{
    return fmax(0, operation(files, shape, PART_FAULT_BYTE, FAULT_AROUND, false) -
                       operation(files, shape, PART_FAULT_BYTE, FAULT_AROUND, true)) /
           FAULT_AROUND;
}

static double fread_more(struct parts_files *files, const struct parts_shape *shape)
{
    /* stdio reads whole pages directly, and the last bytes through its own buffer */
    return fmax(0, small_read(files, shape, PART_FREAD_MORE) - small_read(files, shape, PART_READ_CALL));
}

/* Return the seconds per token of making most of a batch. */
static double token(struct parts_files *files, const struct parts_shape *shape, enum token_part part)
{
    const size_t bytes = most_of_batch(shape, PIECE / 4);
    return operation(files, shape, part, bytes, part == PART_MAPPED_WIDEN) / ((double)bytes / shape->widths.in - 1);
}

/* --- helper ----------------------------------------------------------------------------------------------------------- */

/* Return the seconds in which a rank that rests in between takes a finished batch and starts the next one. */
static double handoff_between_steps(const struct parts_shape *shape)
{
    struct async_helper *helper = async_helper_open();
    double seconds[RESTED];
    const int calls = card_times(RESTED);
    for (int i = 0; i < calls; i++) {
        rest_for(shape->rest, 1);
        const double begin = world_now();
        handoff_once(helper);
        seconds[i] = world_now() - begin;
    }
    async_helper_close(helper);
    return stats_lower_median(seconds, calls);
}

/* Return the seconds by which taking a finished batch, and starting the next one, delays a rank that only touches a batch in
 * between: its helper has nothing to do, but the two share a core. */
static double handoff(const struct parts_shape *shape)
{
    enum { CALLS = 40 };
    const size_t batch = 2 * shape->tokens * (size_t)shape->widths.out;
    const struct handoff_rest rest = { .bytes = batch };
    struct async_helper *helper = async_helper_open();
    double seconds[TURNS];
    for (int turn = 0; turn < TURNS; turn++)
        seconds[turn] = handoff_measure(helper, rest, CALLS);
    async_helper_close(helper);
    return fmax(0, stats_lower_median(seconds, TURNS)); /* a difference, which others may disturb */
}

/* Return the seconds between two time stamps around a batch of views of which nothing is mapped. It costs what every source notes of its
 * shards, which leaves the caches while the rank trains. */
static double ask(const struct parts_files *files, const struct parts_shape *shape)
{
    enum { CALLS = 400, TOKENS = SOURCE_ADVICE / CALLS / 8 }; /* all batches are in what the first one maps */
    const struct window_order order = {
        .rows = 1, .length = TOKENS, .ranks = 1, .shards = files->set->count, .start = files->set->start
    };
    struct batch_source *source =
        batch_source_open(&(struct source_settings){ .set = files->set, .order = order, .way = SOURCE_VIEWS });
    double seconds[CALLS];
    const int calls = is_rest(shape->rest) ? card_times(RESTED) : CALLS;
    batch_source_next(source); /* this one maps */
    for (int i = 0; i < calls; i++) {
        rest_for(shape->rest, 1);
        const double begin = world_now();
        batch_source_next(source);
        seconds[i] = world_now() - begin;
    }
    batch_source_close(source);
    return typical(seconds, (size_t)calls, shape->rest);
}

/* --- all -------------------------------------------------------------------------------------------------------------- */

double parts_measure(enum token_part part, struct parts_files *files, const struct parts_shape *shape)
{
    switch (part) {
    case PART_READ_CALL:
        return read_call(files, shape);
    case PART_READ_BYTE:
        return read_byte(files, shape, small_read(files, shape, PART_READ_BYTE));
    case PART_FREAD_MORE:
        return fread_more(files, shape);
    case PART_FAULT_BYTE:
        return is_rest(shape->rest) ? rested_fault_byte(files, shape) : fault_byte(files, shape);
    case PART_POPULATE_BYTE:
    case PART_UNMAP_BYTE:
        return operation(files, shape, part, SOURCE_ADVICE, part == PART_UNMAP_BYTE) / SOURCE_ADVICE;
    case PART_ELEMENT:
    case PART_LOOP:
    case PART_WIDEN:
    case PART_MAPPED_WIDEN:
        return token(files, shape, part);
    case PART_ALLOCATION:
        return operation(files, shape, part, SMALL, false) / 3;
    case PART_HANDOFF:
        return is_rest(shape->rest) ? handoff_between_steps(shape) : handoff(shape);
    case PART_ASK:
        return ask(files, shape);
    case TOKEN_PARTS:
        break;
    }
    return (double)NAN;
}
