/* test_placement.c: test the device labels of results, that a machine card of one placement is not used for another, and where other
 * programs are. */
#include "frame/placement.h"

#include "card/card.h"
#include "card/card_file.h"
#include "launch/job.h"
#include "model/workload.h"
#include "support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(labels_say_what_is_not_what_it_seems)
{
    assert_string_equal(placement_label("mpi", "cpu", 4, 0), "cpu");
    assert_string_equal(placement_label("sim", "cpu", 4, 0), "cpu");
    assert_string_equal(placement_label("sim", "model", 4, 0), "model");
    assert_string_equal(placement_label("nccl", "cuda", 4, 4), "cuda");
    assert_string_equal(placement_label("nccl", "cuda", 2, 4), "cuda");
    assert_string_equal(placement_label("nccl", "cuda", 1, 1), "cuda (n=1: no communication)");
    assert_string_equal(placement_label("nccl", "cuda", 4, 3), "cuda (shared GPU: correctness only)");
    assert_string_equal(placement_label("mpi", "cuda", 4, 1), "cuda (mpi-staged: communication on the CPU)");
    assert_string_equal(placement_label("mpi", "cuda", 4, 8), "cuda (mpi-staged: communication on the CPU)");
    assert_string_equal(placement_label("mpi", "cuda", 1, 1), "cuda (mpi-staged: communication on the CPU)");
}

/* Check that the launching program and its ranks derive the same card key from a placement. */
TEST(both_sides_agree_on_a_key)
{
    const struct run run = { .ranks = 2, .precision = PRECISION_BF16 };
    char *cores = placement_key("here", placement_label("mpi", placement_device(PLACEMENT_CORES), 2, 0), &run);
    assert_string_equal(cores, "here");
    char *model = placement_key("gpu_node 0123; modelled", placement_label("sim", "model", 2, 0), &run);
    assert_string_equal(model, "gpu_node 0123; modelled");
    char *staged = placement_key(
        "here", placement_label(placement_backend(PLACEMENT_STAGED), placement_device(PLACEMENT_STAGED), 2, 1), &run);
    assert_string_equal(staged, "here; on GPUs: cuda (mpi-staged: communication on the CPU), bf16");
    char *nccl = placement_key(
        "here", placement_label(placement_backend(PLACEMENT_NCCL), placement_device(PLACEMENT_NCCL), 2, 2), &run);
    assert_string_equal(nccl, "here; on GPUs: cuda, bf16");
    free(cores);
    free(model);
    free(staged);
    free(nccl);
}

static enum card_found found(const struct run *run, const char *label, int cores)
{
    struct card card;
    char *key = placement_key("here", label, run);
    enum card_found found = card_read(&card, run->out, &published_mlp, run, &(struct card_uses){ 0 }, key, cores);
    free(key);
    return found;
}

TEST(a_card_of_gpus_is_of_these_gpus)
{
    char folder[] = "/tmp/test_mode_XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct run run = run_published;
    run.ranks = 1;
    run.out = folder;
    const char *staged = placement_label("mpi", "cuda", 1, 1), *alone = placement_label("nccl", "cuda", 1, 1);
    const struct local_times times = { .fetch = 1e-4, .passes = 1e-2, .update = 1e-3 };
    const struct card written = {
        .cpu = "what computes", .ranks = 1, .cores = 1, .reference = { .alone = times, .together = times }
    };

    char *key = placement_key("here", alone, &run);
    card_write(&written, folder, &published_mlp, &run, key);
    free(key);
    assert_int_equal(found(&run, alone, 1), CARD_WHOLE);
    assert_int_equal(found(&run, staged, 1), CARD_NONE);
    assert_int_equal(found(&run, "cpu", 1), CARD_NONE);
    assert_int_equal(found(&run, alone, 2), CARD_NONE);
    run.precision = PRECISION_TF32;
    assert_int_equal(found(&run, alone, 1), CARD_NONE);

    run.precision = PRECISION_FP32;
    card_write(&written, folder, &published_mlp, &run, "here");
    assert_int_equal(found(&run, alone, 1), CARD_NONE);

    char path[64];
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    unlink(path);
    rmdir(folder);
}

/* --- programs beside this one ------------------------------------------------------------------------------------ */

static const char *pretended; /* the path of this program; NULL: the true one */

ssize_t __real_readlink(const char *path, char *target, size_t size);
ssize_t __wrap_readlink(const char *path, char *target, size_t size);
ssize_t __wrap_readlink(const char *path, char *target, size_t size)
{
    if (!pretended || strcmp(path, "/proc/self/exe") != 0)
        return __real_readlink(path, target, size);
    memcpy(target, pretended, strlen(pretended));
    return (ssize_t)strlen(pretended);
}

static void assert_library(const char *program, const char *expected)
{
    pretended = program;
    char *path = job_library("sim", "rank");
    pretended = NULL;
    assert_string_equal(path, expected);
    free(path);
}

/* Others are in lib, beside the folder of this program: also if that is the root, which has no folder above it. */
TEST(programs_are_found_from_any_folder)
{
    assert_library("/opt/lockstep/bin/lab", "/opt/lockstep/lib/sim/rank");
    assert_library("/bin/lab", "/lib/sim/rank");
    assert_library("/lab", "/lib/sim/rank");
}
