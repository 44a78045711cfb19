#include "machine_fit.h"

#include "base/memory.h"
#include "base/random.h"
#include "card/predict.h"
#include "model/sequence_recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, DRAWS = 2000, HALVINGS = 40, TURNS_MOST = 40 };
static const double near = 1e-4; /* milliseconds: a row is met */

/* Batching of the rows of the transformer. */
static const struct text_row {
    const char *slug;
    enum token_strategy strategy;
    bool is_fixed;
} text_rows[] = {
    { "fixed_sample_ws4", TOKENS_SAMPLE, true },
    { "variable_sample_ws4", TOKENS_SAMPLE, false },
    { "variable_bucket_ws4", TOKENS_BUCKET, false },
    { "variable_token_ws4", TOKENS_BUDGET, false },
};
enum { TEXT_ROWS = sizeof text_rows / sizeof *text_rows };

struct machine_fit {
    const struct published *published;
    struct machine alone;
    int steps;                                  /* measured steps of a run with texts */
    double (*factor)[RANKS];                    /* (steps x DRAWS) jitter: the factor on a rank's work */
    struct batch_schedule *schedule[TEXT_ROWS]; /* batches of the texts */
};

/* --- what all fits share ------------------------------------------------------------------------------------------ */

static void read_shares(struct machine *m, const struct published *p)
{
    for (int model = 0; model < WORK_MODELS; model++) {
        double all = 0;
        for (int pass = WORK_FORWARD; pass < WORK_PASSES; pass++) {
            char *name = memory_text("share_%s_%s", work_models[model], work_passes[pass]);
            all += m->shares[model][pass] = published_extra(p, name);
            free(name);
        }
        for (int pass = WORK_FORWARD; pass < WORK_PASSES; pass++)
            m->shares[model][pass] /= all;
    }
}

static void fit_alone(struct machine *m, const struct published *p)
{
    const double few = published_value(p, "weak_ws1", "batch_size"),
                 many = published_value(p, "strong_ws1", "batch_size");
    double data_few = published_rank_mean(p, "weak_ws1", "data_ms");
    double data_many = published_rank_mean(p, "strong_ws1", "data_ms");
    double step_few = published_step(p, "weak_ws1"), step_many = published_step(p, "strong_ws1");
    m->fetch_per_sample = (data_many - data_few) / (many - few);
    m->fetch_fixed = data_few - few * m->fetch_per_sample;
    m->per_sample = (step_many - step_few) / (many - few) - m->fetch_per_sample;
    double local = step_few - data_few;
    m->update = m->shares[WORK_MLP][WORK_UPDATE] * local;
    m->fixed = local - m->update - few * m->per_sample;
    m->jitter = published_jitter(p);
    /* the side run fetches the same number of samples */
    m->sleep_excess = (published_extra(p, "side_data_ms") - data_few) / published_extra(p, "side_sleep_ms");
}

struct machine_fit *machine_fit_open(const struct published *p)
{
    struct machine_fit *f = memory_new(1, sizeof *f);
    *f = (struct machine_fit){ .published = p,
                               .steps = run_published_texts.steps - run_published_texts.skip_first_steps };
    read_shares(&f->alone, p);
    fit_alone(&f->alone, p);
    struct random draws;
    random_seed(&draws, 1);
    int count = f->steps * DRAWS;
    f->factor = memory_new((size_t)count, sizeof *f->factor);
    for (int draw = 0; draw < count; draw++)
        for (int rank = 0; rank < RANKS; rank++)
            f->factor[draw][rank] = random_lognormal(&draws, f->alone.jitter);
    for (int i = 0; i < TEXT_ROWS; i++) {
        struct token_recipe recipe =
            sequence_recipe(&published_transformer.of.transformer, &run_published_texts, text_rows[i].is_fixed);
        f->schedule[i] = batch_schedule_open(&recipe, NULL, batching_policies[text_rows[i].strategy]);
    }
    return f;
}

void machine_fit_close(struct machine_fit *f)
{
    for (int i = 0; i < TEXT_ROWS; i++)
        batch_schedule_close(f->schedule[i]);
    free(f->factor);
    free(f);
}

struct machine machine_fit_alone(const struct machine_fit *f)
{
    return f->alone;
}

/* --- the step of a row -------------------------------------------------------------------------------------------- */

/* Work of the ranks of a row in one step, in milliseconds. */
struct step_work {
    int ranks;
    double capacity;            /* ranks that run at full speed together */
    double work[RANKS], update; /* before and after the all-reduce */
    double sleep;               /* of rank 0, before its work */
};

/* Return the step without transfer for one draw of the jitter: the formula of the labs. Ranks that share nothing need no formula:
 * the slowest decides. Texts take this way, which is faster. */
static double drawn_step(const struct step_work *w, const struct card *card, const double *factor)
{
    struct load loads[RANKS];
    double slowest = 0;
    for (int rank = 0; rank < w->ranks; rank++) {
        double all = (w->work[rank] + w->update) * factor[rank], sleep = rank == 0 ? w->sleep : 0;
        loads[rank] = (struct load){ .data = sleep, .local = all, .cpu = all, .update = w->update * factor[rank] };
        slowest = fmax(slowest, sleep + all);
    }
    if (w->ranks <= w->capacity)
        return slowest;
    struct prediction p = predict_step(card, loads, w->ranks, 0, 0);
    return prediction_step(&p);
}

/* Return the mean of that over the draws that begin at `factor`. */
static double mean_step(const struct step_work *w, double (*factor)[RANKS])
{
    struct card card = { .ranks = w->ranks, .cores = BLOG_CORES };
    for (int rank = 0; rank < w->ranks; rank++)
        card.place[rank].parallel_capacity = (float)w->capacity;
    double sum = 0;
    for (int draw = 0; draw < DRAWS; draw++)
        sum += drawn_step(w, &card, factor[draw]);
    return sum / DRAWS;
}

double machine_ring_bytes(int ranks, double bytes)
{
    return 2 * (ranks - 1) * bytes / ranks;
}

static int ranks_of(const struct machine_fit *f, const char *slug)
{
    return (int)published_value(f->published, slug, "ranks");
}

static double mlp_bytes(const struct machine_fit *f, const char *slug)
{
    double more = strcmp(slug, "comm_ws4") == 0 ? 128.0 * (1 << 20) : 0;
    return machine_ring_bytes(ranks_of(f, slug), workload_gradient_bytes(&published_mlp)) +
           machine_ring_bytes(ranks_of(f, slug), more);
}

/* Return the step of an MLP row without transfer if the bus feeds `bus` ranks. */
static double mlp_work(const struct machine_fit *f, const struct machine *m, double bus, const char *slug)
{
    double sleep = published_value(f->published, slug, "sleep_ms") * m->sleep_excess;
    bool sleeps_after = strcmp(slug, "barrier_ws4") == 0; /* all others wait meanwhile */
    struct step_work w = { .ranks = ranks_of(f, slug), .capacity = bus, .update = m->update };
    w.sleep = sleeps_after ? 0 : sleep;
    double batch = published_value(f->published, slug, "batch_size");
    for (int rank = 0; rank < w.ranks; rank++)
        w.work[rank] = m->fetch_fixed + m->fixed + batch * (m->fetch_per_sample + m->per_sample);
    return mean_step(&w, f->factor) + (sleeps_after ? sleep : 0);
}

/* Return the place of a row in text_rows; -1 for an MLP row. */
static int text_row(const char *slug)
{
    for (int i = 0; i < TEXT_ROWS; i++)
        if (strcmp(text_rows[i].slug, slug) == 0)
            return i;
    return -1;
}

/* Return the mean step of a row of texts, transfer included, on the published batches. */
static double text_step(const struct machine_fit *f, const struct machine *m, int row)
{
    double sum = 0;
    for (int step = 0; step < f->steps; step++) {
        struct step_work w = { .ranks = RANKS, .capacity = BLOG_CORES, .update = m->text_update };
        for (int rank = 0; rank < RANKS; rank++) {
            const struct token_batch *batch =
                batch_schedule_batch(f->schedule[row], rank, run_published_texts.skip_first_steps + step);
            w.work[rank] = m->text_fetch + m->text_fixed + m->per_pair * (double)batch->pairs;
        }
        sum += mean_step(&w, f->factor + (ptrdiff_t)step * DRAWS);
    }
    return sum / f->steps + machine_ring_bytes(RANKS, workload_gradient_bytes(&published_transformer)) / m->link;
}

double machine_fit_step(const struct machine_fit *f, const struct machine *m, const char *slug)
{
    int row = text_row(slug);
    return row >= 0 ? text_step(f, m, row) : mlp_work(f, m, m->bus, slug) + mlp_bytes(f, slug) / m->link;
}

/* --- the fit of what ranks share ---------------------------------------------------------------------------------- */

bool machine_fit_shared(const struct machine_fit *f, struct machine *m, struct fitted_row link, struct fitted_row bus)
{
    double low = 1, high = RANKS, step = 0;
    for (int halving = 0; halving < HALVINGS; halving++) {
        m->bus = (low + high) / 2;
        double transfer = link.step - mlp_work(f, m, m->bus, link.slug);
        m->link = mlp_bytes(f, link.slug) / fmax(0, transfer);
        step = transfer > 0 ? machine_fit_step(f, m, bus.slug)
                            : INFINITY; /* too little bus: the link's row has no time left */
        *(step > bus.step ? &low : &high) = m->bus;
    }
    return fabs(step - bus.step) < near;
}

/* --- the fit of texts --------------------------------------------------------------------------------------------- */

/* Set both unknowns. The update is a share of the compute of fixed_sample_ws4; PyTorch's step gives the proportions. */
static void set_texts(struct machine *m, double fixed, double per_pair)
{
    const struct text_settings *lengths = &published_transformer.of.transformer.texts;
    double share = m->shares[WORK_TRANSFORMER][WORK_UPDATE];
    double pairs = (double)run_published_texts.batch_size * lengths->fixed_length * lengths->fixed_length;
    m->text_fixed = fixed;
    m->per_pair = per_pair;
    m->text_update = share / (1 - share) * (fixed + per_pair * pairs);
}

/* Fill in by how much each of the two rows exceeds the model with these unknowns. */
static void lacking(const struct machine_fit *f, struct machine *m, const struct fitted_row *texts,
                    const double *unknown, double *lack)
{
    set_texts(m, unknown[0], unknown[1]);
    for (int i = 0; i < 2; i++)
        lack[i] = texts[i].step - machine_fit_step(f, m, texts[i].slug);
}

/* Newton's method with one set of slopes: both steps are almost linear in both unknowns. */
bool machine_fit_texts(const struct machine_fit *f, struct machine *m, const struct fitted_row *texts)
{
    m->text_fetch = published_rank_mean(f->published, texts[0].slug, "data_ms");
    const double more[2] = { 1, 1e-5 };                         /* milliseconds, and per pair */
    double unknown[2] = { 5, 5e-5 }, lack[2], less[2], a[2][2]; /* a: milliseconds of a row per unit of an unknown */
    lacking(f, m, texts, unknown, lack);
    for (int j = 0; j < 2; j++) {
        double moved[2] = { unknown[0] + (j == 0) * more[0], unknown[1] + (j == 1) * more[1] };
        lacking(f, m, texts, moved, less);
        for (int i = 0; i < 2; i++)
            a[i][j] = (lack[i] - less[i]) / more[j];
    }
    double determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    for (int turn = 0; turn < TURNS_MOST && fmax(fabs(lack[0]), fabs(lack[1])) > 1e-9; turn++) {
        unknown[0] += (a[1][1] * lack[0] - a[0][1] * lack[1]) / determinant;
        unknown[1] += (a[0][0] * lack[1] - a[1][0] * lack[0]) / determinant;
        lacking(f, m, texts, unknown, lack);
    }
    return fmax(fabs(lack[0]), fabs(lack[1])) < near && unknown[0] > 0 && unknown[1] > 0;
}
