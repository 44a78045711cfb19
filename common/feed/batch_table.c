#include "feed/batch_table.h"

#include "base/csv.h"
#include "base/memory.h"
#include "feed/certificate.h"
#include "feed/reading_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* CRC-32 of tokens that are int32. */
static uint32_t crc_of(const void *tokens, uint64_t count)
{
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t done = 0, most = UINT64_C(1) << 28; done < count; done += most)
        crc = crc32(crc, (const Bytef *)tokens + 4 * done, (uInt)(4 * (count - done < most ? count - done : most)));
    return (uint32_t)crc;
}

/* Sum up what the rows of a batch add to the checksum of a state. */
static uint64_t rows_sum(const struct window_order *o, uint64_t rank, uint64_t step, const char *x)
{
    const uint64_t tokens = window_order_tokens(o), rows = tokens / o->length;
    uint64_t sum = 0;
    for (uint64_t w = 0; w < window_order_count(o); w++) {
        const struct token_window window = window_order_at(o, rank, step, w);
        for (uint64_t row = 0; row < rows; row++, x += 4 * o->length)
            sum += reading_state_row(window.position + row * o->length, crc_of(x, o->length));
    }
    return sum;
}

static void write_row(struct csv *csv, const struct shard_set *set, const struct window_order *o, uint64_t rank,
                      uint64_t step, struct token_pair batch)
{
    const struct token_window first = window_order_at(o, rank, step, 0);
    const uint64_t tokens = o->rows * o->length;
    do {
        csv_unsigned(csv, "rank", rank);
        csv_unsigned(csv, "step", step);
        csv_text(csv, "shard", set->shard[first.shard].name);
        csv_unsigned(csv, "first", first.first);
        csv_unsigned(csv, "x_crc32", crc_of(batch.x, tokens));
        csv_unsigned(csv, "y_crc32", crc_of(batch.y, tokens));
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

void batch_table_write(FILE *out, const struct shard_set *set, struct window_order *o, uint64_t steps,
                       enum source_way way, const char *state_path)
{
    struct reading_state state = { 0 };
    if (state_path)
        state = reading_state_load(state_path, o, set);
    struct batch_source **source = memory_new(o->ranks, sizeof *source);
    for (uint64_t rank = 0; rank < o->ranks; rank++)
        source[rank] = batch_source_open(
            &(struct source_settings){ .set = set, .order = *o, .rank = rank, .way = way, .width = 4 });
    struct csv csv = { .out = out };
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t sum = 0;
        for (uint64_t rank = 0; rank < o->ranks; rank++) {
            const struct token_pair batch = batch_source_next(source[rank]);
            write_row(&csv, set, o, rank, step, batch);
            sum += state_path ? rows_sum(o, rank, step, batch.x) : 0;
        }
        if (!state_path)
            continue;
        reading_state_step(&state, o, sum);
        flush(out, state_path);
        reading_state_save(state_path, &state, o, set);
    }
    flush(out, NULL);
    for (uint64_t rank = 0; rank < o->ranks; rank++)
        batch_source_close(source[rank]);
    free(source);
}

/* --- certificate -------------------------------------------------------------------------------------------------- */

/* Note all windows of epoch 0. Steps are whole, so the last one may go on in the next epoch. */
static void add_exact(struct certificate *c, const struct window_order *o, uint64_t end)
{
    const uint64_t rows = o->ranks * o->rows;
    for (uint64_t step = 0; step * rows < end; step++)
        for (uint64_t rank = 0; rank < o->ranks; rank++)
            for (uint64_t w = 0; w < window_order_count(o); w++)
                certificate_add(c, window_order_at(o, rank, step, w).position, window_order_tokens(o));
}

static void add_published(struct certificate *c, const struct window_order *o)
{
    for (uint64_t rank = 0; rank < o->ranks; rank++)
        for (uint64_t step = 0; step < window_order_pass(o, rank); step++)
            certificate_add(c, window_order_at(o, rank, step, 0).position, window_order_tokens(o));
}

/* Print tokens of one fault, shard by shard. */
static void print_fault(FILE *out, const struct shard_set *set, const struct certificate_fault *fault)
{
    for (int i = 0; i < set->count; i++) {
        const uint64_t begin = set->start[i], end = set->start[i + 1], from = fault->from > begin ? fault->from : begin,
                       to = fault->to < end ? fault->to : end;
        if (from < to)
            fprintf(out, "%s: %s, tokens %" PRIu64 " to %" PRIu64 "\n", fault->is_repeated ? "repeated" : "missing",
                    set->shard[i].name, from - begin, to - begin - 1);
    }
}

static uint64_t step_of_leaving(const struct window_order *o, uint64_t rank)
{
    uint64_t step = 0;
    while (window_order_at(o, rank, step, 0).shard == 0)
        step++;
    return step;
}

/* Print whether ranks leave the first shard in different steps: the trap of the published rule. */
static void print_steps(FILE *out, const struct shard_set *set, const struct window_order *o)
{
    if (set->count < 2 || o->ranks < 2)
        return;
    const uint64_t first = step_of_leaving(o, 0), last = step_of_leaving(o, o->ranks - 1);
    if (first != last)
        fprintf(out,
                "rank %" PRIu64 " goes on to %s in step %" PRIu64 ", rank 0 in step %" PRIu64
                ": in between, they read different shards\n",
                o->ranks - 1, set->shard[1].name, last, first);
}

bool batch_table_certify(FILE *out, const struct shard_set *set, const struct window_order *o)
{
    const uint64_t tokens = shard_set_tokens(set);
    const bool is_exact = o->tail == TAIL_EXACT;
    struct certificate *c = certificate_open(0, tokens);
    if (is_exact)
        add_exact(c, o, window_order_epoch(o, 1));
    else
        add_published(c, o);
    const struct certificate_result r = certificate_judge(c);
    certificate_close(c);
    fprintf(out,
            "epoch of %" PRIu64 " tokens in %" PRIu64 " windows: %" PRIu64 " read once, %" PRIu64 " missing, %" PRIu64
            " repeated\n",
            tokens, r.windows, r.once, r.missing, r.repeated);
    for (uint64_t i = 0; i < r.faults && i < CERTIFICATE_FAULTS; i++)
        print_fault(out, set, &r.fault[i]);
    if (r.faults > CERTIFICATE_FAULTS)
        fprintf(out, "… and %" PRIu64 " more\n", r.faults - CERTIFICATE_FAULTS);
    if (!is_exact)
        print_steps(out, set, o);
    flush(out, NULL);
    return certificate_holds(&r);
}
