/* test_buckets.c: test that buckets cover every float once, that no bucket starts before backward has produced it, and
 * that exposed time adds up. */
#include "card/prediction.h"
#include "collective/buckets.h"
#include "support/between.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>

TEST(pieces_cover_the_array_once)
{
    for (size_t floats = 1; floats <= 40; floats++)
        for (size_t most = 1; most <= 45; most++) {
            struct buckets buckets = buckets_cut(floats, most, 3);
            assert_int_equal(buckets.count, buckets_needed(floats, most));
            size_t end = 0;
            for (int i = 0; i < buckets.count; i++) {
                assert_int_equal(buckets.at[i].begin, end);
                assert_between((long long)buckets.at[i].count, 1, (long long)most);
                end += buckets.at[i].count;
            }
            assert_int_equal(end, floats);
        }
}

/* Check readiness: after l of L layers the first l / L of the array is complete. A bucket that ends later must wait. */
TEST(none_starts_before_backward_has_it)
{
    enum { LAYERS = 3 };
    for (size_t floats = 30; floats <= 60; floats += 30)
        for (size_t most = 1; most <= 60; most++) {
            if (floats % most)
                continue; /* the last bucket is short, and readiness is computed from the bucket number */
            struct buckets buckets = buckets_cut(floats, most, LAYERS);
            for (int i = 0; i < buckets.count; i++) {
                size_t end = buckets.at[i].begin + buckets.at[i].count;
                size_t done = (size_t)(LAYERS - buckets.at[i].layer);
                assert_between((long long)done, 1, LAYERS);
                assert_true(end * LAYERS <= floats * done);
                assert_true(done == 1 || end * LAYERS > floats * (done - 1)); /* no layer later than necessary */
            }
        }
}

TEST(one_bucket_waits_for_the_end)
{
    struct buckets buckets = buckets_cut(100, 100, 3);
    assert_int_equal(buckets.count, 1);
    assert_int_equal(buckets.at[0].layer, 0);
}

static void assert_bucket(const struct bucket *b, size_t begin, size_t count, int layer)
{
    assert_int_equal(b->begin, begin);
    assert_int_equal(b->count, count);
    assert_int_equal(b->layer, layer);
}

/* Two layers of weights and bias, 7 x 9 + 9 and 9 x 5 + 5: backward has the bias of 5 first. */
TEST(tensors_stay_whole)
{
    const struct workload model = { .type = &mlp_type, .of.mlp = { 7, 9, 5, 2 } };
    struct buckets buckets = buckets_of_model(&model, false, 1, 1);
    assert_int_equal(buckets.count, 4);
    assert_bucket(&buckets.at[0], 117, 5, 1);
    assert_bucket(&buckets.at[1], 72, 45, 1);
    assert_bucket(&buckets.at[2], 63, 9, 0);
    assert_bucket(&buckets.at[3], 0, 63, 0);
    buckets = buckets_of_model(&model, false, 5, 51); /* the first is full with the bias; 45 + 9 are above 51 */
    assert_int_equal(buckets.count, 3);
    assert_bucket(&buckets.at[0], 117, 5, 1);
    assert_bucket(&buckets.at[1], 63, 54, 0);
    assert_bucket(&buckets.at[2], 0, 63, 0);
    buckets = buckets_of_model(&model, false, 122, 1);
    assert_int_equal(buckets.count, 1);
    assert_bucket(&buckets.at[0], 0, 122, 0);
}

/* A bucket is one piece of the array, whatever the order. */
TEST(only_neighbours_share_a_bucket)
{
    const struct model_tensor tensors[] = { { 0, 10, 0, 0 }, { 10, 10, 1, 0 }, { 20, 10, 2, 0 } };
    struct buckets buckets = buckets_of_tensors(tensors, (const int[]){ 0, 2, 1 }, 3, 100, 100);
    assert_int_equal(buckets.count, 2);
    assert_bucket(&buckets.at[0], 0, 10, 0);
    assert_bucket(&buckets.at[1], 10, 20, 1);
    buckets = buckets_of_tensors(tensors, (const int[]){ 0, 1, 2 }, 3, 10, 11);
    assert_int_equal(buckets.count, 2);
    assert_bucket(&buckets.at[1], 10, 20, 1);
    assert_int_equal(buckets.at[1].first_tensor, 1);
    assert_int_equal(buckets.at[1].last_tensor, 2);
}

static void assert_exposed(double expected, const double *before, const double *seconds, int count)
{
    double got = predict_exposed(before, seconds, count);
    if (!(fabs(got - expected) <= 1e-12))
        fail_msg("%g exposed, not %g", got, expected);
}

TEST(what_is_not_hidden_is_exposed)
{
    const double before[] = { 6, 3, 0 };
    assert_exposed(0, before, (const double[]){ 1, 1, 1 }, 0);
    assert_exposed(0, before, (const double[]){ 5, 1, 1 }, 1); /* finished before backward ends */
    assert_exposed(1, before, (const double[]){ 1, 1, 1 }, 3); /* each starts when its layer is ready */
    assert_exposed(6, before, (const double[]){ 4, 4, 4 }, 3); /* one after another from -6 */
    assert_exposed(4, before, (const double[]){ 1, 1, 4 }, 3); /* the last one cannot be hidden */
    assert_exposed(12, (const double[3]){ 0 }, (const double[]){ 4, 4, 4 }, 3); /* no time before the end of backward */
}
