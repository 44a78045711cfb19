#include "published.h"

#include "base/die.h"

#include <math.h>
#include <string.h>

struct published published_open(const char *folder)
{
    return (struct published){
        .steps = csv_open_in(folder, "blog.csv",
                             (const char *const[]){ "lab", "case", "slug", "role", "slowest_step_ms", NULL }),
        .ranks =
            csv_open_in(folder, "blog_ranks.csv", (const char *const[]){ "slug", "data_ms", "padded_tokens", NULL }),
        .more = csv_open_in(folder, "blog_fit.csv", (const char *const[]){ "quantity", "case", "step", "value", NULL })
    };
}

void published_close(struct published *p)
{
    csv_free(&p->steps);
    csv_free(&p->ranks);
    csv_free(&p->more);
}

/* Return the number in column `wanted` of the first row whose `column` is `name`. */
static double value_of(const struct csv_table *table, const char *column, const char *name, const char *wanted)
{
    for (int row = 0; row < table->rows; row++) {
        const char *field = csv_field(table, row, column);
        double value = csv_value(table, row, wanted);
        if (field && strcmp(field, name) == 0 && !isnan(value))
            return value;
    }
    die(STATUS_USAGE, "the published numbers lack %s of %s", wanted, name);
}

double published_value(const struct published *p, const char *slug, const char *name)
{
    return value_of(&p->steps, "slug", slug, name);
}

double published_step(const struct published *p, const char *slug)
{
    return published_value(p, slug, "slowest_step_ms");
}

double published_rank_mean(const struct published *p, const char *slug, const char *name)
{
    double sum = 0;
    int ranks = 0;
    for (int row = 0; row < p->ranks.rows; row++)
        if (strcmp(csv_field(&p->ranks, row, "slug"), slug) == 0) {
            sum += csv_value(&p->ranks, row, name);
            ranks++;
        }
    if (!(sum > 0))
        die(STATUS_USAGE, "the published numbers lack %s of the ranks of %s", name, slug);
    return sum / ranks;
}

double published_extra(const struct published *p, const char *quantity)
{
    return value_of(&p->more, "quantity", quantity, "value");
}

double published_alone(const struct published *p, double samples)
{
    double few = published_value(p, "weak_ws1", "batch_size"), many = published_value(p, "strong_ws1", "batch_size");
    double share = (samples - few) / (many - few);
    return (1 - share) * published_step(p, "weak_ws1") + share * published_step(p, "strong_ws1");
}

/* Return the variance of the single steps of a case after warm-up over their squared mean. */
static double relative_variance(const struct published *p, const char *slug)
{
    enum { WARMUP = 2 };
    double sum = 0, squares = 0, count = 0;
    for (int row = 0; row < p->more.rows; row++) {
        const char *of = csv_field(&p->more, row, "case");
        if (!of || strcmp(of, slug) != 0 || csv_value(&p->more, row, "step") < WARMUP)
            continue;
        double value = csv_value(&p->more, row, "value");
        sum += value;
        squares += value * value;
        count++;
    }
    if (count < 2)
        die(STATUS_USAGE, "the published numbers lack the steps of %s", slug);
    double mean = sum / count;
    return (squares - sum * mean) / (count - 1) / (mean * mean);
}

double published_jitter(const struct published *p)
{
    return sqrt((relative_variance(p, "weak_ws1") + relative_variance(p, "strong_ws1")) / 2);
}
