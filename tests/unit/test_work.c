/* test_work.c: test the cost of a pass on a modelled machine, term by term, with made-up properties. */
#include "model/workload.h"
#include "options/work.h"
#include "support/near.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static const char *property(const char *name)
{
    static const char *const properties[][2] = {
        { "forward_fixed_s", "1e-3" },
        { "forward_per_sample_s", "2e-3" },
        { "forward_per_padded_token_s", "3e-6" },
        { "forward_per_padded_token_length_s", "5e-9" },
        { "backward_per_padded_token_s", "7e-6" },
    };
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(properties[i][0], name) == 0)
            return properties[i][1];
    return NULL;
}

static double seconds(enum work_pass pass, struct work work)
{
    struct cost cost = work_cost(WORK_MLP, pass, property);
    return cost_at(&cost, work);
}

TEST(every_term_counts_once)
{
    const struct work work = {
        .samples = 8, .padded_tokens = 1024, .padded_token_length = 1024.0 * 120, .computed_token_length = 1024.0 * 128
    };
    assert_near(seconds(WORK_FORWARD, work), 1e-3 + 16e-3 + 3.072e-3 + 0.65536e-3, 1e-12);
    assert_near(seconds(WORK_BACKWARD, work), 7.168e-3, 1e-12);
    assert_near(seconds(WORK_FORWARD, (struct work){ 0 }), 1e-3, 1e-12);
    assert_near(seconds(WORK_UPDATE, work), 0, 1e-12); /* no property is set */
}

TEST(costs_have_names)
{
    static const char *const passes[] = { "fetch", "forward", "backward", "update" };
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_per_sample_s", passes[i]);
        assert_true(work_is_cost(name));
        snprintf(name, sizeof name, "%s_per_samples_s", passes[i]);
        assert_false(work_is_cost(name));
    }
    assert_false(work_is_cost("sideways_fixed_s"));
    assert_false(work_is_cost(""));
    assert_true(work_is_own_cost("own_dispatch_s"));
    assert_false(work_is_own_cost("dispatch_s"));
    assert_false(work_is_cost("own_dispatch_s"));
}

/* A model of other sizes takes longer in proportion: 12 tensors of a block, 1 of the embedding, 2 of the classifier; 8 C^2 products for
 * a token and 2 C for a pair of tokens in each block. */
TEST(a_model_of_other_sizes_takes_longer)
{
    struct workload w = published_transformer;
    struct cost_scale scale = workload_scale(&w);
    for (int term = 0; term < COST_TERMS; term++)
        assert_near(scale.term[term], 1, 1e-12);
    assert_near(scale.update, 1, 1e-12);
    w.of.transformer.hidden_dim = 96;
    w.of.transformer.num_blocks = 3;
    scale = workload_scale(&w);
    assert_near(scale.term[COST_FIXED], (1 + 3 * 12 + 2) / 15.0, 1e-12);
    assert_near(scale.term[COST_PER_PADDED_TOKEN], 12, 1e-12);
    assert_near(scale.term[COST_PER_PADDED_TOKEN_LENGTH], 6, 1e-12);
    assert_near(scale.term[COST_PER_SAMPLE], 2, 1e-12);
    assert_near(scale.update, (double)workload_parameters(&w) / 412960, 1e-12);
}
