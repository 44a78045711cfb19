#include "feed/batch_table.h"

#include "base/csv.h"
#include "base/memory.h"
#include "feed/reading_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_row(struct csv *csv, const struct shard_set *set, const struct window_order *o, uint64_t rank,
                      uint64_t step, struct token_window first, struct token_pair batch)
{
    const uint64_t tokens = o->rows * o->length;
    do {
        csv_unsigned(csv, "rank", rank);
        csv_unsigned(csv, "step", step);
        csv_text(csv, "shard", set->shard[first.shard].name);
        csv_unsigned(csv, "first", first.first);
        csv_unsigned(csv, "x_crc32", reading_state_crc(batch.x, tokens));
        csv_unsigned(csv, "y_crc32", reading_state_crc(batch.y, tokens));
    } while (csv_end_row(csv));
}

/* Pass on what has been written. If that fails, the state of an earlier step stays. */
static void flush(FILE *out, const char *state_path)
{
    if (fflush(out) == 0 && !ferror(out))
        return;
    die(STATUS_WRONG, "cannot write the batches: %s%s%s; make room, or read the output to its end", strerror(errno),
        state_path ? "; no step was added to " : "", state_path ? state_path : "");
}

/* --- a table that goes on in a file --------------------------------------------------------------------------------- */

/* Return where a file ends; zeros for a pipe, a terminal or a device, which cannot be cut. */
static struct output_place place_now(FILE *out)
{
    struct stat now;
    if (fstat(fileno(out), &now) != 0 || !S_ISREG(now.st_mode))
        return (struct output_place){ 0 };
    const uint64_t bytes = (uint64_t)now.st_size;
    return (struct output_place){ (uint64_t)now.st_dev, (uint64_t)now.st_ino, bytes, bytes };
}

/* Return whether the bytes behind a place begin as this step's rows do, or as the table does if it has no step yet. */
static bool is_of_step(FILE *out, const struct output_place *place, uint64_t step)
{
    char *itself = memory_text("/proc/self/fd/%d", fileno(out)), behind[32] = { 0 };
    char *wanted = place->end > place->begin ? memory_text("0,%" PRIu64 ",", step) : memory_text("rank,step,");
    const int fd = open(itself, O_RDONLY | O_CLOEXEC); /* `out` itself may only be written */
    const ssize_t got = fd < 0 ? -1 : pread(fd, behind, sizeof behind - 1, (off_t)place->end);
    const size_t length = strlen(wanted);
    const bool is_one = got >= 0 && strncmp(behind, wanted, (size_t)got < length ? (size_t)got : length) == 0;
    if (fd >= 0)
        close(fd);
    free(wanted);
    free(itself);
    return is_one;
}

/* Go on in the file of the runs before: cut off the rows of a step that the state does not have. Else begin a table where `out` is. */
static void go_on(FILE *out, const char *state_path, struct reading_state *state)
{
    const struct output_place now = place_now(out), was = state->output;
    const bool is_same = now.inode && now.device == was.device && now.inode == was.inode && now.end > 0;
    if (!is_same) {
        state->output = now;
        return;
    }
    if (now.end < was.end)
        die(STATUS_USAGE,
            "--state %s: %" PRIu64 " bytes of batches were written to this output, which now has %" PRIu64
            "; remove both to begin anew, or write to a new file",
            state_path, was.end, now.end);
    if (now.end > was.end && !is_of_step(out, &was, state->steps))
        die(STATUS_USAGE,
            "--state %s: behind byte %" PRIu64 " of this output stand no rows of step %" PRIu64
            "; another program wrote them: write to a new file",
            state_path, was.end, state->steps);
    if (ftruncate(fileno(out), (off_t)was.end) != 0 || lseek(fileno(out), (off_t)was.end, SEEK_SET) < 0)
        die(STATUS_WRONG, "cannot cut the output to its first %" PRIu64 " bytes: %s; write to a new file", was.end,
            strerror(errno));
}

/* Store a step whose rows are in the table. They reach the disk before the state does. */
static void save(FILE *out, const char *state_path, struct reading_state *state, const struct window_order *o,
                 const struct shard_set *set)
{
    flush(out, state_path);
    if (state->output.inode) {
        fdatasync(fileno(out));
        state->output.end = place_now(out).end;
    }
    reading_state_save(state_path, state, o, set);
}

void batch_table_write(FILE *out, const struct shard_set *set, struct window_order *o, uint64_t steps,
                       enum source_way way, const char *state_path)
{
    struct reading_state state = { 0 };
    if (state_path) {
        state = reading_state_load(state_path, o, set);
        go_on(out, state_path, &state);
        if (state.output.inode) /* so that a kill in the first step is seen, too */
            save(out, state_path, &state, o, set);
    }
    struct batch_source **source = memory_new(o->ranks, sizeof *source);
    for (uint64_t rank = 0; rank < o->ranks; rank++)
        source[rank] = batch_source_open(
            &(struct source_settings){ .set = set, .order = *o, .rank = rank, .way = way, .width = 4 });
    struct csv csv = { .out = out, .is_named = state.output.end > state.output.begin };
    const uint64_t before = state.steps;
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t sum = 0;
        for (uint64_t rank = 0; rank < o->ranks; rank++) {
            const struct token_pair batch = batch_source_next(source[rank]);
            const struct token_window *windows = batch_source_windows(source[rank]);
            write_row(&csv, set, o, rank, before + step, windows[0], batch);
            sum += state_path ? reading_state_batch(o, windows, batch.x) : 0;
        }
        if (!state_path)
            continue;
        reading_state_step(&state, o, sum);
        save(out, state_path, &state, o, set);
    }
    flush(out, NULL);
    for (uint64_t rank = 0; rank < o->ranks; rank++)
        batch_source_close(source[rank]);
    free(source);
}
