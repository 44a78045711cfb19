/* student: a small network that learns the function of another one, its teacher: a task on which a loss can be followed over samples
 * within a hundredth of a second.
 *
 *     label = teacher(inputs) + noise        student: INPUTS -> HIDDEN -> 1, ReLU        loss: mean square of student - teacher
 *
 * The teacher's function has variance 1, so a loss is the share of it that is not yet learnt. Samples are drawn once, and all students
 * of a task read them in the same order, each once. The loss is that of inputs which no student trains on, without the noise.
 *
 * Everything is done with + - × / and roots in a fixed order, so a task gives the same bits on every system, whatever device the ranks
 * have, and also where they compute nothing. mlp.h and adamw.h are for steps that are timed. */
#ifndef LOCKSTEP_STUDENT_H
#define LOCKSTEP_STUDENT_H

#include <stddef.h>
#include <stdint.h>

enum { STUDENT_INPUTS = 16, STUDENT_HIDDEN = 32 };

/* Parameters, gradients and moments are one array each: first weights (INPUTS, HIDDEN), bias (HIDDEN), last weights (HIDDEN), shift. */
enum {
    STUDENT_BIAS = STUDENT_INPUTS * STUDENT_HIDDEN,
    STUDENT_LAST = STUDENT_BIAS + STUDENT_HIDDEN,
    STUDENT_SHIFT = STUDENT_LAST + STUDENT_HIDDEN,
    STUDENT_PARAMETERS
};

/* AdamW has the settings of adamw.h. SGD has no momentum. */
enum student_optimizer { STUDENT_ADAMW, STUDENT_SGD };

struct student {
    float parameters[STUDENT_PARAMETERS], gradients[STUDENT_PARAMETERS];
    float mean[STUDENT_PARAMETERS], square[STUDENT_PARAMETERS]; /* moments of AdamW */
    double mean_decayed, square_decayed;                        /* its betas to the power of the steps so far */
    enum student_optimizer optimizer;
};

struct student_task;

/* Draw a teacher, and `samples` samples to train on. */
struct student_task *student_task_open(uint64_t seed, int samples);
void student_task_close(struct student_task *task);

/* Begin with weights that depend on the task only. */
void student_begin(struct student *student, const struct student_task *task, enum student_optimizer optimizer);

/* Take a step by the mean gradient over `batch` samples of the task, from sample `first` on. */
void student_step(struct student *student, const struct student_task *task, int first, int batch, double rate);

/* Return the mean square error over samples of the task, with their noise: the loss that student_step() reduces. */
double student_batch_loss(const struct student *student, const struct student_task *task, int first, int batch);

/* Return the loss; infinite or NaN if the student has diverged. */
double student_loss(const struct student *student, const struct student_task *task);

/* Return the gradient noise scale in samples: the variance of a sample's gradient, summed over all parameters, over the square of the
 * mean gradient (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", B_simple). A batch that is much smaller is mostly
 * noise, one that is much larger repeats itself. It is estimated from the gradients of small batches and of all of them together, over
 * samples that no student trains on; NaN if these agree by chance. */
double student_noise_scale(const struct student *student, const struct student_task *task);

#endif
