#include "null_model.h"

#include <math.h>

/* Return the height at `x` of the line through two points. */
static double line(double x, double from_x, double from_y, double to_x, double to_y)
{
    return from_y + (to_y - from_y) * (x - from_x) / (to_x - from_x);
}

/* Return the height of the line through the columns `name` (x) and the steps (y) of two cases. */
static double line_of_steps(const struct published *p, double x, const char *name, const char *from, const char *to)
{
    return line(x, published_value(p, from, name), published_step(p, from), published_value(p, to, name),
                published_step(p, to));
}

static double mlp_step(const struct published *p, const char *slug)
{
    double samples = published_value(p, slug, "batch_size"), ranks = published_value(p, slug, "ranks");
    double alone = line_of_steps(p, samples, "batch_size", "weak_ws1", "strong_ws1");
    double together = line_of_steps(p, ranks, "ranks", "weak_ws1", "weak_ws4") - published_step(p, "weak_ws1");
    return alone + together + published_value(p, slug, "sleep_ms");
}

static double text_step(const struct published *p, const char *slug)
{
    const char *from = "fixed_sample_ws4", *to = "variable_sample_ws4", *tokens = "padded_tokens";
    return line(published_rank_mean(p, slug, tokens), published_rank_mean(p, from, tokens), published_step(p, from),
                published_rank_mean(p, to, tokens), published_step(p, to));
}

double null_model_step(const struct published *p, const char *slug)
{
    int row = csv_find(&p->steps, "slug", slug);
    bool has_texts = !isnan(csv_value(&p->steps, row, "padded_tokens_per_s"));
    return has_texts ? text_step(p, slug) : mlp_step(p, slug);
}
