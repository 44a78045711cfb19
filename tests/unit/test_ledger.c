/* The ledger: owners, the peak and its moment, and what it does with mistakes. */
#include "base/ledger.h"

#include "base/die.h"
#include "base/memory.h"
#include "support/ending.h"
#include "support/unit.h"

enum { KB = 1000, FORWARD = 1, BACKWARD = 2 };

static size_t held(enum memory_owner owner)
{
    return ledger_now(MEMORY_HOST).of[owner];
}

TEST(each_owner_has_an_account)
{
    char *parameters = memory_new_array(MEMORY_PARAMETERS, 3, KB), *data = memory_new_array(MEMORY_DATA, 5, KB);
    assert_int_equal(held(MEMORY_PARAMETERS), 3 * KB);
    assert_int_equal(held(MEMORY_DATA), 5 * KB);
    assert_int_equal(held(MEMORY_GRADIENTS), 0);
    memory_free_array(parameters);
    assert_int_equal(held(MEMORY_PARAMETERS), 0);
    assert_int_equal(held(MEMORY_DATA), 5 * KB);
    memory_free_array(data);
    memory_free_array(NULL);
    const struct ledger_sums now = ledger_now(MEMORY_HOST);
    assert_int_equal(ledger_total(now.of), 0);
}

/* Activations of two layers; in backward those of the last are freed, and gradients come. */
TEST(the_peak_has_a_moment)
{
    char *parameters = memory_new_array(MEMORY_PARAMETERS, 1, KB), *activations[2];
    ledger_restart_peak();
    struct ledger_peak peak = ledger_peak(MEMORY_HOST);
    assert_int_equal(ledger_total(peak.sums.of), KB);
    assert_int_equal(peak.phase, -1);
    ledger_phase(FORWARD);
    for (int layer = 0; layer < 2; layer++) {
        ledger_layer(layer);
        activations[layer] = memory_new_array(MEMORY_ACTIVATIONS, (size_t)layer + 2, KB);
    }
    ledger_phase(BACKWARD);
    memory_free_array(activations[1]);
    char *gradients = memory_new_array(MEMORY_GRADIENTS, 2, KB);
    peak = ledger_peak(MEMORY_HOST);
    assert_int_equal(ledger_total(peak.sums.of), 6 * KB);
    assert_int_equal(peak.sums.of[MEMORY_ACTIVATIONS], 5 * KB);
    assert_int_equal(peak.sums.of[MEMORY_GRADIENTS], 0);
    assert_int_equal(peak.most[MEMORY_GRADIENTS], 2 * KB); /* its own largest is later */
    assert_int_equal(peak.phase, FORWARD);
    assert_int_equal(peak.layer, 1);
    assert_int_equal(peak.sums.layer[0], 2 * KB);
    assert_int_equal(peak.sums.layer[1], 3 * KB);
    memory_free_array(gradients);
    ledger_restart_peak();
    peak = ledger_peak(MEMORY_HOST);
    assert_int_equal(ledger_total(peak.sums.of), 3 * KB);
    assert_int_equal(peak.most[MEMORY_GRADIENTS], 0);
    memory_free_array(activations[0]);
    memory_free_array(parameters);
}

TEST(layers_beyond_the_list_share_a_place)
{
    ledger_layer(100 * LEDGER_LAYERS);
    char *activations = memory_new_array(MEMORY_ACTIVATIONS, 1, KB);
    assert_int_equal(ledger_now(MEMORY_HOST).layer[LEDGER_LAYERS - 1], KB);
    ledger_layer(-1);
    memory_free_array(activations);
    assert_int_equal(ledger_now(MEMORY_HOST).layer[LEDGER_LAYERS - 1], 0);
}

/* A model that only measures has parameters, too. */
TEST(one_owner_may_own_all)
{
    ledger_override_owner(MEMORY_MEASURING);
    char *parameters = memory_new_array(MEMORY_PARAMETERS, 1, KB);
    ledger_override_owner(MEMORY_OWNERS);
    char *others = memory_new_array(MEMORY_PARAMETERS, 2, KB);
    assert_int_equal(held(MEMORY_MEASURING), KB);
    assert_int_equal(held(MEMORY_PARAMETERS), 2 * KB);
    memory_free_array(parameters);
    memory_free_array(others);
    assert_int_equal(held(MEMORY_MEASURING) + held(MEMORY_PARAMETERS), 0);
}

TEST(places_are_apart)
{
    int here = 0, there = 0;
    ledger_add(&here, 1, MEMORY_DATA, MEMORY_HOST);
    ledger_add(&there, 2, MEMORY_DATA, MEMORY_GPU);
    assert_int_equal(ledger_now(MEMORY_HOST).of[MEMORY_DATA], 1);
    assert_int_equal(ledger_now(MEMORY_GPU).of[MEMORY_DATA], 2);
    assert_int_equal(ledger_remove(&there), 2);
    assert_int_equal(ledger_remove(&here), 1);
}

static void free_twice(const void *unused)
{
    (void)unused;
    char *array = memory_new_array(MEMORY_DATA, 1, KB);
    memory_free_array(array);
    memory_free_array(array);
}

TEST(memory_freed_twice_is_noticed)
{
    const struct ending ending = ending_of(free_twice, NULL);
    assert_int_equal(ending.status, STATUS_WRONG);
    assert_holds(ending.err, "memory that is not in the ledger");
}
