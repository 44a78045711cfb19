#include "held_out_link.h"

#include "machine_fit.h"
#include "model/workload.h"

#include <math.h>

void held_out_links(const struct published *p, struct held_out_link *links)
{
    static const char *const slugs[HELD_OUT_LINKS] = { "weak_ws2", "strong_ws2" };
    const double pi = acos(-1), message = 128.0 * (1 << 20);
    double fitted = published_step(p, "comm_ws4") - published_step(p, "weak_ws4"); /* milliseconds of the message */
    for (int i = 0; i < HELD_OUT_LINKS; i++) {
        double alone = published_alone(p, published_value(p, slugs[i], "batch_size"));
        links[i] = (struct held_out_link){ .slug = slugs[i], .alone = alone };
        links[i].published = published_step(p, slugs[i]) - alone;
        links[i].predicted =
            fitted * machine_ring_bytes(2, workload_gradient_bytes(&published_mlp)) / machine_ring_bytes(4, message);
        links[i].wait = published_jitter(p) / sqrt(pi) * alone;
    }
}

void held_out_links_show(const struct held_out_link *links)
{
    puts("The link, fitted to 128 MiB among four ranks, held against 12.5 MB between two (ms):");
    for (int i = 0; i < HELD_OUT_LINKS; i++) {
        const struct held_out_link *l = &links[i];
        double both = l->predicted + l->wait;
        printf(
            "%-20s %.2f more than a lone rank's %.2f; predicted %.2f (%+.1f %%), with the wait for the later rank %.2f "
            "(%+.1f %%)\n",
            l->slug, l->published, l->alone, l->predicted, 100 * (l->predicted / l->published - 1), both,
            100 * (both / l->published - 1));
    }
}

void held_out_links_write(FILE *out, const struct held_out_link *links)
{
    for (int i = 0; i < HELD_OUT_LINKS; i++) {
        const struct held_out_link *l = &links[i];
        fprintf(out, "# link_%s_ms: %.6f\n# link_%s_predicted_ms: %.6f\n# link_%s_wait_ms: %.6f\n", l->slug,
                l->published, l->slug, l->predicted, l->slug, l->wait);
    }
}
