/* 08_token_loader_copies: copies.csv of lab 08, on GPUs only: how long it takes to hand a batch, inputs and targets as int32, to the GPU.
 *
 *     issue     until the call returns that enqueues the copy
 *     ready     from just before that call until the batch is in the GPU's memory, by the GPU's events
 *     exposed   by how much a step is longer than without copies: at_once, where it needs the batch that is being copied; ahead, where it
 *               computes on the batch before, while the next is copied
 *
 * From pinned memory the GPU reads by itself, beside the program. Of pageable memory the kernel may move pages, so CUDA copies it first to
 * pinned memory of its own, and the call lasts for that. The step is forward and backward of the run's model on a batch of its usual size,
 * of which larger batches are multiples. */
#include "08_token_loader.h"

#include <stdlib.h>

enum { SIZES = 4, TIMES_LARGER = 16, REPEATS = 21, BRIEF_REPEATS = 2, STEPS = 8 };

bool measures_copies(const struct options *base)
{
    return measures_tables(base) && device_is_asynchronous();
}

/* A batch in host memory, two in the GPU's, and a step that trains on the first rows of one. */
struct copying {
    struct trainer *trainer;
    size_t tokens, bytes; /* of x, and of x and y */
    int32_t *host, *to[2];
    struct device_staging_buffer places; /* of the sequences (B) */
    struct batch batch;
    double copies, wrong; /* made so far; tokens that did not arrive */
};

static void open_step(struct copying *c, struct lab *lab, const struct options *base)
{
    const size_t rows = (size_t)base->run.batch_size;
    const int length = base->model.of.transformer.texts.fixed_length;
    c->trainer = lab_trainer(lab);
    c->places = device_staging_buffer_open(MEMORY_DATA, rows, sizeof(struct sequence));
    struct sequence *row = c->places.host;
    for (size_t i = 0; i < rows; i++)
        row[i] = (struct sequence){ .first = (int)i * length, .tokens = length, .extent = length };
    device_deliver(&c->places, rows * sizeof *row);
    c->batch = (struct batch){ .samples = (int)rows,
                               .rows = (int)rows * length,
                               .longest = length,
                               .scale = 1.0f / (float)run_global_batch(&base->run),
                               .sequence = c->places.device,
                               .listed = c->places.host };
}

static void open_tokens(struct copying *c, const struct options *base, double tokens, bool is_pinned)
{
    const struct transformer_settings *model = &base->model.of.transformer;
    const int below = model->num_classes < model->vocab_size ? model->num_classes : model->vocab_size;
    c->tokens = (size_t)tokens;
    c->bytes = 2 * c->tokens * sizeof *c->host;
    c->host = is_pinned ? device_stage_new(MEMORY_DATA, c->bytes) : memory_new(2 * c->tokens, sizeof *c->host);
    for (size_t i = 0; i < 2 * c->tokens; i++)
        c->host[i] = (int32_t)(i % (size_t)below);
    for (int i = 0; i < 2; i++)
        c->to[i] = device_new(MEMORY_DATA, 2 * c->tokens, sizeof *c->to[i]);
    c->copies = c->wrong = 0;
}

static void close_tokens(struct copying *c, bool is_pinned)
{
    for (int i = 0; i < 2; i++)
        device_free(c->to[i]);
    if (is_pinned)
        device_stage_free(c->host);
    else
        free(c->host);
}

static void copy(struct copying *c, int to)
{
    device_copy_beside(c->to[to], c->host, c->bytes);
    c->copies++;
}

/* Count the tokens of a copied batch that differ from the host's. */
static void check(struct copying *c, int of)
{
    int32_t *got = memory_new(2 * c->tokens, sizeof *got);
    device_fetch(got, c->to[of], c->bytes);
    for (size_t i = 0; i < 2 * c->tokens; i++)
        c->wrong += got[i] != c->host[i];
    free(got);
}

/* Train on the first rows of a batch: tokens from x, classes from y. */
static void train(struct copying *c, int on)
{
    c->batch.token = c->to[on];
    c->batch.labels = c->to[on] + c->tokens;
    trainer_forward(c->trainer, &c->batch);
    trainer_backward(c->trainer, &c->batch);
}

/* Set the seconds of a copy on an idle GPU. */
static void time_copy(struct copying *c, double *issue, double *ready)
{
    device_clock_sync_begin();
    const double before = device_record_copies(), began = world_now();
    copy(c, 0);
    *issue = world_now() - began;
    const double after = device_record_copies();
    device_operations_follow();
    device_wait();
    *ready = device_event_seconds(after) - device_event_seconds(before);
}

enum when { WITHOUT, AT_ONCE, AHEAD, WHENS };

/* Return the mean seconds of STEPS steps, each with a batch of its own, or all on one in the GPU's memory. */
static double time_steps(struct copying *c, enum when when)
{
    copy(c, 0);
    device_operations_follow();
    device_wait();
    const double began = world_now();
    for (int step = 0; step < STEPS; step++) {
        const int now = when == AHEAD ? step % 2 : 0;
        if (when == AT_ONCE) { /* into the memory that the step before may still read */
            device_copies_follow();
            copy(c, now);
            device_operations_follow();
        }
        if (when ==
            AHEAD) { /* this step's batch is on its way, or there; the other memory is free when the step before ends */
            device_operations_follow();
            device_copies_follow();
            copy(c, !now);
        }
        train(c, now);
    }
    device_operations_follow();
    device_wait();
    return (world_now() - began) / STEPS;
}

/* Measure a size from one kind of memory: medians; ways of stepping take turns. */
static void measure(struct copying *c, struct lab *lab, const struct options *base, bool is_pinned, struct csv *csv)
{
    static const char *const names[WHENS] = { "", "at_once", "ahead" };
    const int repeats = card_is_brief() || base->run.quick ? BRIEF_REPEATS : REPEATS;
    double issue[REPEATS], ready[REPEATS], step[WHENS][REPEATS];
    for (int i = -1; i < repeats; i++) { /* the first is a warm-up */
        const int at = i < 0 ? 0 : i;
        time_copy(c, &issue[at], &ready[at]);
        for (enum when when = WITHOUT; when < WHENS; when++)
            step[when][at] = time_steps(c, when);
        world_heartbeat(lab_world(lab));
    }
    for (int i = 0; i < 2; i++)
        check(c, i);
    const double usual = stats_quantile(step[WITHOUT], repeats, 0.5), made = c->copies,
                 at_hand = stats_quantile(ready, repeats, 0.5);
    for (enum when when = AT_ONCE; when < WHENS; when++)
        do {
            csv_text(csv, "memory", is_pinned ? "pinned" : "pageable");
            csv_text(csv, "copied", names[when]);
            csv_unsigned(csv, "tokens", c->tokens);
            csv_unsigned(csv, "bytes", c->bytes);
            csv_number(csv, "copies", made);
            csv_number(csv, "wrong", c->wrong);
            csv_ms(csv, "issue_ms", stats_quantile(issue, repeats, 0.5));
            csv_ms(csv, "ready_ms", at_hand);
            csv_number(csv, "GB_per_s", (double)c->bytes / at_hand / 1e9);
            csv_ms(csv, "step_ms", usual);
            csv_ms(csv, "exposed_ms", stats_quantile(step[when], repeats, 0.5) - usual);
        } while (csv_end_row(csv));
}

static void measure_sizes(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct check_failures wrong = { 0 };
    struct copying c = { 0 };
    double tokens = batch_tokens(base);
    open_step(&c, lab, base);
    for (int size = 0; size < SIZES; size++, tokens *= TIMES_LARGER)
        for (int is_pinned = 0; is_pinned < 2; is_pinned++) {
            open_tokens(&c, base, tokens, is_pinned);
            measure(&c, lab, base, is_pinned, csv);
            if (c.wrong > 0)
                check_failures_add(&wrong, "%.0f tokens of a batch of %zu did not arrive on the GPU", c.wrong,
                                   c.tokens);
            close_tokens(&c, is_pinned);
        }
    device_staging_buffer_close(&c.places);
    lab_add_wrong(lab, wrong);
}

void write_copies(struct lab *lab, const struct options *base, struct csv *csv)
{
    if (csv) /* one rank measures, the others sleep: ranks share the host's memory and its links to the GPUs */
        measure_sizes(lab, base, csv);
    world_park(lab_world(lab));
}
