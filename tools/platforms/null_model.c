#include "null_model.h"

#include <math.h>

/* Return the height at `x` of the line through two points. */
static double line(double x, double from_x, double from_y, double to_x, double to_y)
{
    return from_y + (to_y - from_y) * (x - from_x) / (to_x - from_x);
}

static double mlp_step(const struct published *p, const char *slug)
{
    double ranks = published_value(p, slug, "ranks"), few = published_value(p, "weak_ws1", "ranks");
    double alone = published_alone(p, published_value(p, slug, "batch_size"));
    double beyond =
        published_step(p, "weak_ws4") - published_step(p, "weak_ws1"); /* what four ranks need more than one */
    return alone + line(ranks, few, 0, published_value(p, "weak_ws4", "ranks"), beyond) +
           published_value(p, slug, "sleep_ms");
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
