/* did_you_mean: find the known word closest to a misspelled one. */
#ifndef LOCKSTEP_DID_YOU_MEAN_H
#define LOCKSTEP_DID_YOU_MEAN_H

#include <stddef.h>

/* Nearest of the words tried so far; start with { 0 }. */
struct did_you_mean {
    const char *nearest; /* NULL: no word is near */
    size_t far;          /* distance of `nearest` */
};

/* Compare one known word with the input: `length` characters of `written`. `word` must outlive `s`. A word is near if the input
 * is its beginning, or if adding, removing or changing a few letters makes them equal. Of equally near words the first wins. */
void did_you_mean_try(struct did_you_mean *s, const char *written, size_t length, const char *word);

#endif
