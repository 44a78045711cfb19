/* test_student.c: test the small network that learns a teacher's function: against slow arithmetic in double precision, against the
 * optimizer of the labs, and bit by bit against other systems. */
#include "base/hash.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/adamw.h"
#include "model/student.h"
#include "support/on_device.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

enum { BATCH = 32, TASK_SAMPLES = 8192 };
static const uint64_t SEED = 7;

AROUND_TESTS(open_device, device_close)

static float *to_device(const float *values)
{
    float *on_device = device_new(MEMORY_DATA, STUDENT_PARAMETERS, sizeof *on_device);
    device_put(on_device, values, STUDENT_PARAMETERS * sizeof *values);
    return on_device;
}

/* A student that says nothing is as wrong as the teacher's function varies. */
TEST(the_teacher_has_variance_1)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct student_task *task = student_task_open(seed, 1);
        struct student student;
        student_begin(&student, task, STUDENT_SGD);
        memset(student.parameters, 0, sizeof student.parameters);
        assert_float_equal(student_loss(&student, task), 1, 1e-4);
        student_task_close(task);
    }
}

/* The batch's loss changes by gradient × step in each parameter: central differences. ReLU has kinks, so a few may be off. */
TEST(gradients_agree_with_finite_differences)
{
    struct student_task *task = student_task_open(SEED, TASK_SAMPLES);
    struct student student, moved;
    student_begin(&student, task, STUDENT_SGD);
    student_step(&student, task, BATCH, BATCH, 0); /* computes gradients and moves nothing */
    double most = 0;
    for (int i = 0; i < STUDENT_PARAMETERS; i++)
        most = fmax(most, fabs((double)student.gradients[i]));
    int apart = 0;
    for (int i = 0; i < STUDENT_PARAMETERS; i++) {
        const float step = 5e-4F;
        moved = student;
        moved.parameters[i] = student.parameters[i] + step;
        const double above = student_batch_loss(&moved, task, BATCH, BATCH), right = (double)moved.parameters[i];
        moved.parameters[i] = student.parameters[i] - step;
        const double below = student_batch_loss(&moved, task, BATCH, BATCH), left = (double)moved.parameters[i];
        apart += !(fabs((above - below) / (right - left) - (double)student.gradients[i]) <= 5e-3 * most);
    }
    assert_true(most > 0.1);
    assert_true(apart <= STUDENT_PARAMETERS / 50);
    student_task_close(task);
}

/* Two steps of half a batch with the mean of both gradients are one of the whole batch: SGD subtracts rate × gradient. */
TEST(a_batch_is_the_mean_of_its_parts)
{
    struct student_task *task = student_task_open(SEED, TASK_SAMPLES);
    struct student whole, left, right;
    student_begin(&whole, task, STUDENT_SGD);
    left = right = whole;
    const struct student before = whole;
    student_step(&whole, task, 0, 2 * BATCH, 0.1);
    student_step(&left, task, 0, BATCH, 0.1);
    student_step(&right, task, BATCH, BATCH, 0.1);
    for (int i = 0; i < STUDENT_PARAMETERS; i++) {
        assert_float_equal(whole.gradients[i], (left.gradients[i] + right.gradients[i]) / 2, 1e-5);
        assert_float_equal(whole.parameters[i], before.parameters[i] - 0.1F * whole.gradients[i], 1e-6);
    }
    student_task_close(task);
}

TEST(adamw_is_that_of_the_labs)
{
    enum { STEPS = 20 };
    const double rate = 0.01;
    struct student_task *task = student_task_open(SEED, TASK_SAMPLES);
    struct student student;
    student_begin(&student, task, STUDENT_ADAMW);
    struct adamw *optimizer = adamw_open(WORK_MLP, STUDENT_PARAMETERS, rate);
    adamw_restart(optimizer);
    float *theirs = to_device(student.parameters), ours[STUDENT_PARAMETERS];
    for (int step = 0; step < STEPS; step++) {
        student_step(&student, task, step * BATCH, BATCH, rate);
        float *gradients = to_device(student.gradients);
        adamw_update(optimizer, theirs, gradients);
        device_free(gradients);
    }
    device_fetch(ours, theirs, sizeof ours);
    for (int i = 0; i < STUDENT_PARAMETERS; i++)
        assert_float_equal(student.parameters[i], ours[i], 1e-5);
    device_free(theirs);
    adamw_close(optimizer);
    student_task_close(task);
}

static uint64_t hash_of(const void *values, size_t bytes)
{
    uint64_t hash = HASH_BEGIN;
    for (size_t i = 0; i < bytes; i++)
        hash = hash_add(hash, ((const unsigned char *)values)[i]);
    return hash;
}

/* Any other order of additions, a fused multiply-add or another random number would change these. */
TEST(every_system_has_the_same_bits)
{
    struct student_task *task = student_task_open(SEED, TASK_SAMPLES);
    struct student student;
    student_begin(&student, task, STUDENT_ADAMW);
    for (int first = 0; first < TASK_SAMPLES; first += BATCH)
        student_step(&student, task, first, BATCH, 0.02);
    const double said[] = { student_loss(&student, task), student_noise_scale(&student, task) };
    assert_int_equal(hash_of(student.parameters, sizeof student.parameters), 0x84814c0362fcf4a3);
    assert_int_equal(hash_of(said, sizeof said), 0x40382be7eab9e230);
    student_task_close(task);
}

/* A student learns, and its gradient noise scale, unless unknown, lies between 10 and 10000 samples. */
TEST(a_student_learns)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int optimizer = STUDENT_ADAMW; optimizer <= STUDENT_SGD; optimizer++) {
            struct student_task *task = student_task_open(seed, TASK_SAMPLES);
            struct student student;
            student_begin(&student, task, (enum student_optimizer)optimizer);
            const double before = student_loss(&student, task);
            for (int first = 0; first < TASK_SAMPLES; first += BATCH)
                student_step(&student, task, first, BATCH, optimizer == STUDENT_SGD ? 0.1 : 0.02);
            const double scale = student_noise_scale(&student, task);
            assert_true(before > 0.5);
            assert_true(student_loss(&student, task) < 0.2);
            assert_true(isnan(scale) || (scale > 10 && scale < 10000));
            student_task_close(task);
        }
}
