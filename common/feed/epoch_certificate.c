#include "feed/epoch_certificate.h"

#include "base/memory.h"
#include "feed/certificate.h"
#include "feed/reading_state.h"
#include "feed/shard_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What has been read so far. */
struct reading {
    const struct epoch_request *request;
    struct shard_map *map; /* (shards) the tokens, another time */
    struct certificate *certificate;
    uint64_t from, to; /* the epoch's positions */
    uint64_t checksum; /* of rows that the state has */
    uint64_t wrong;    /* windows whose x or y is not what stands there */
    struct token_window first_wrong;
    uint64_t wrong_rank;
};

/* --- x and y -------------------------------------------------------------------------------------------------------- */

static bool is_same(const void *tokens, int width, const uint32_t *x, uint64_t count)
{
    uint32_t differ = 0;
    if (width == 2)
        for (uint64_t i = 0; i < count; i++)
            differ |= x[i] ^ ((const uint16_t *)tokens)[i];
    else
        for (uint64_t i = 0; i < count; i++)
            differ |= x[i] ^ ((const uint32_t *)tokens)[i];
    return differ == 0;
}

/* Return whether these are the tokens from one of a shard on. They may go on in the shards that follow. */
static bool stand_at(const struct reading *r, int shard, uint64_t first, const uint32_t *x, uint64_t count)
{
    const struct shard_set *set = r->request->set;
    while (count > 0) {
        const uint64_t here = set->shard[shard].tokens - first, now = here < count ? here : count;
        if (!is_same(shard_map_at(&r->map[shard], first), set->width, x, now))
            return false;
        x += now;
        count -= now;
        first = 0;
        shard = (shard + 1) % set->count;
    }
    return true;
}

static bool is_right(const struct reading *r, struct token_window w, const uint32_t *x, const uint32_t *y,
                     uint64_t tokens)
{
    const struct shard_set *set = r->request->set;
    return w.position % shard_set_tokens(set) == set->start[w.shard] + w.first &&
           stand_at(r, w.shard, w.first, x, tokens) && stand_at(r, w.shard, w.first + 1, y, tokens);
}

/* --- batches -------------------------------------------------------------------------------------------------------- */

static void add_batch(struct reading *r, const struct window_order *o, uint64_t rank, struct token_pair pair,
                      const struct token_window *windows)
{
    const uint64_t tokens = window_order_tokens(o);
    for (uint64_t i = 0; i < window_order_count(o); i++) {
        const struct token_window w = windows[i];
        if (w.position < r->to && w.position + tokens > r->from)
            certificate_add(r->certificate, w.position, tokens);
        if (is_right(r, w, (const uint32_t *)pair.x + i * tokens, (const uint32_t *)pair.y + i * tokens, tokens))
            continue;
        if (r->wrong++ == 0) {
            r->first_wrong = w;
            r->wrong_rank = rank;
        }
    }
}

/* Fetch steps from … to-1 of each rank, step by step, so that ranks read the same part of the shards. `order` begins at step 0. */
static void read_steps(struct reading *r, const struct window_order *order, const uint64_t *from, const uint64_t *to)
{
    struct batch_source **source = memory_new(order->ranks, sizeof *source);
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint64_t rank = 0; rank < order->ranks; rank++) {
        if (from[rank] >= to[rank])
            continue;
        struct window_order o = *order;
        o.first_step += from[rank];                        /* if published */
        o.first_row += from[rank] * order->ranks * o.rows; /* if exact */
        begin = from[rank] < begin ? from[rank] : begin;
        end = to[rank] > end ? to[rank] : end;
        source[rank] = batch_source_open(&(struct source_settings){
            .set = r->request->set, .order = o, .rank = rank, .way = r->request->way, .width = 4 });
    }
    for (uint64_t step = begin; step < end; step++)
        for (uint64_t rank = 0; rank < order->ranks; rank++) {
            if (step < from[rank] || step >= to[rank])
                continue;
            const struct token_pair pair = batch_source_next(source[rank]);
            const struct token_window *windows = batch_source_windows(source[rank]);
            add_batch(r, order, rank, pair, windows);
            r->checksum += r->request->state_path ? reading_state_batch(order, windows, pair.x) : 0;
        }
    for (uint64_t rank = 0; rank < order->ranks; rank++)
        if (source[rank])
            batch_source_close(source[rank]);
    free(source);
}

/* Read from the first step that the epoch needs, or from that after the state, to its last one. */
static void read_published(struct reading *r, uint64_t epoch, uint64_t done)
{
    const struct window_order *o = &r->request->order;
    uint64_t *from = memory_new(o->ranks, sizeof *from), *to = memory_new(o->ranks, sizeof *to);
    for (uint64_t rank = 0; rank < o->ranks; rank++) {
        const uint64_t pass = window_order_pass(o, rank);
        from[rank] = epoch * pass > done ? epoch * pass : done;
        to[rank] = (epoch + 1) * pass;
    }
    read_steps(r, o, from, to);
    free(from);
    free(to);
}

static void read_exact_steps(struct reading *r, const struct window_order *o, uint64_t from_step, uint64_t to_step)
{
    uint64_t *from = memory_new(o->ranks, sizeof *from), *to = memory_new(o->ranks, sizeof *to);
    for (uint64_t rank = 0; rank < o->ranks; rank++) {
        from[rank] = from_step;
        to[rank] = to_step;
    }
    read_steps(r, o, from, to);
    free(from);
    free(to);
}

/* Return the first row that has a token of the epoch: the last row of the epoch before may go on in it. A shuffle may have put that one
 * anywhere in its own epoch. */
static uint64_t first_row_of(const struct window_order *o, uint64_t epoch)
{
    const uint64_t all = o->start[o->shards], row = epoch * all / o->length;
    return o->shuffle == SHUFFLE_NONE ? row : window_order_epoch(o, row * o->length / all);
}

/* Steps are those of a run that begins at row `done`. They are whole, so the last one may go on in the next epoch. */
static void read_exact(struct reading *r, uint64_t epoch, uint64_t done)
{
    struct window_order o = r->request->order;
    const uint64_t rows = o.ranks * o.rows, first = first_row_of(&o, epoch), end = window_order_epoch(&o, epoch + 1);
    o.first_row = done;
    if (end > done)
        read_exact_steps(r, &o, first > done ? (first - done) / rows : 0, (end - done + rows - 1) / rows);
}

/* Fetch again all rows that the state has: an exact order as one rank's, which has the same rows. */
static void read_before(struct reading *r, const struct reading_state *state)
{
    struct window_order o = r->request->order;
    const bool is_exact = o.tail == TAIL_EXACT;
    if (is_exact)
        o.ranks = o.rows = 1;
    read_exact_steps(r, &o, 0, is_exact ? state->rows : state->steps);
}

/* --- what is said --------------------------------------------------------------------------------------------------- */

/* Print tokens of one fault, shard by shard. */
static void print_fault(FILE *out, const struct shard_set *set, const struct certificate_fault *fault, uint64_t epoch)
{
    const uint64_t before = epoch * shard_set_tokens(set), first = fault->from - before, last = fault->to - before;
    for (int i = 0; i < set->count; i++) {
        const uint64_t begin = set->start[i], end = set->start[i + 1], from = first > begin ? first : begin,
                       to = last < end ? last : end;
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

static void print_certificate(FILE *out, const struct reading *r, uint64_t epoch, const struct certificate_result *c)
{
    const struct shard_set *set = r->request->set;
    fprintf(out,
            "epoch %" PRIu64 ", %" PRIu64 " tokens in %" PRIu64 " windows: %" PRIu64 " read once, %" PRIu64
            " missing, %" PRIu64 " repeated\n",
            epoch, shard_set_tokens(set), c->windows, c->once, c->missing, c->repeated);
    for (uint64_t i = 0; i < c->faults && i < CERTIFICATE_FAULTS; i++)
        print_fault(out, set, &c->fault[i], epoch);
    if (c->faults > CERTIFICATE_FAULTS)
        fprintf(out, "… and %" PRIu64 " more\n", c->faults - CERTIFICATE_FAULTS);
    if (r->wrong)
        fprintf(out,
                "wrong: %" PRIu64 " windows have other tokens than their shards, first one of rank %" PRIu64
                " at token %" PRIu64 " of %s\n",
                r->wrong, r->wrong_rank, r->first_wrong.first, set->shard[r->first_wrong.shard].name);
    if (r->request->order.tail == TAIL_PUBLISHED)
        print_steps(out, set, &r->request->order);
    if (fflush(out) != 0 || ferror(out))
        die(STATUS_WRONG, "cannot write the certificate: %s; make room", strerror(errno));
}

/* --- epoch ---------------------------------------------------------------------------------------------------------- */

static uint64_t epoch_of(const struct epoch_request *request, const struct reading_state *state)
{
    const struct window_order *o = &request->order;
    if (request->epoch != EPOCH_NEXT)
        return (uint64_t)request->epoch;
    return o->tail == TAIL_PUBLISHED ? state->steps / window_order_pass(o, 0)
                                     : state->rows * o->length / o->start[o->shards];
}

static struct reading_state load(const struct epoch_request *request)
{
    struct window_order o = request->order;
    if (!request->state_path)
        return (struct reading_state){ 0 };
    if (access(request->state_path, R_OK) != 0)
        die(STATUS_USAGE, "--state %s: cannot be read: %s; leave it out to certify a whole epoch", request->state_path,
            strerror(errno));
    return reading_state_load(request->state_path, &o, request->set);
}

bool epoch_certify(FILE *out, const struct epoch_request *request)
{
    const struct shard_set *set = request->set;
    const struct reading_state state = load(request);
    const uint64_t epoch = epoch_of(request, &state), all = shard_set_tokens(set);
    const bool is_exact = request->order.tail == TAIL_EXACT;
    struct reading r = { .request = request, .from = epoch * all, .to = (epoch + 1) * all };
    r.map = memory_new((size_t)set->count, sizeof *r.map);
    for (int i = 0; i < set->count; i++)
        shard_map_open(&r.map[i], &set->shard[i]);
    r.certificate = certificate_open(r.from, r.to);
    read_before(&r, &state);
    const bool is_same_sum = r.checksum == state.checksum;
    if (request->state_path)
        fprintf(out, "state: %" PRIu64 " rows in %" PRIu64 " steps, %s\n", state.rows, state.steps,
                is_same_sum ? "fetched again with the same checksum" : "but now their checksum is another");
    if (is_exact)
        read_exact(&r, epoch, state.rows);
    else
        read_published(&r, epoch, state.steps);
    const struct certificate_result c = certificate_judge(r.certificate);
    print_certificate(out, &r, epoch, &c);
    certificate_close(r.certificate);
    for (int i = 0; i < set->count; i++)
        shard_map_close(&r.map[i]);
    free(r.map);
    return certificate_holds(&c) && r.wrong == 0 && is_same_sum;
}
