/* sample_set: a synthetic data set, shuffled once. Samples are what the workload's model trains on: features, normally distributed, or
 * sequences of random words, all of fixed_length; labels are random. Equal on all ranks. */
#ifndef LOCKSTEP_SAMPLE_SET_H
#define LOCKSTEP_SAMPLE_SET_H

#include "model/workload.h"

#include <stddef.h>
#include <stdint.h>

/* Four bytes of a sample. */
union word {
    float feature;
    int32_t token;
};

struct sample_set {
    int words, classes, vocab; /* of a sample; vocab 0: its words are features */
    size_t count;              /* samples */
    union word *word;          /* (count, words); these three are NULL if nothing is computed */
    int32_t *label;            /* (count) */
    uint32_t *order;           /* (count): the shuffled order */
};

/* Draw the set of a run: max(2 steps B, 4 B ranks) samples as in the posts, but at most 64 global batches, at least one of
 * ranks x most_samples. */
struct sample_set sample_set_open(const struct workload *workload, const struct run *run, int most_samples);
void sample_set_close(struct sample_set *set);
double sample_set_bytes(const struct workload *workload, const struct run *run, int most_samples);

/* Return the bytes that a buffer of a batch reserves for the labels, which come before the samples. */
size_t sample_set_head(int most_samples);

/* Copy sample order[place] to word (words) and its label to *label. */
void sample_set_copy(const struct sample_set *set, size_t place, union word *word, int32_t *label);

#endif
