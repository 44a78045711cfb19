/* spelling: which of the words that there are somebody may have meant. */
#ifndef LOCKSTEP_SPELLING_H
#define LOCKSTEP_SPELLING_H

#include <stddef.h>

/* The nearest of the words shown so far; begin with { 0 }. */
struct did_you_mean {
    const char *nearest; /* NULL: none is near */
    size_t far;
};

/* Shows one word of those that there are, which must outlive `s`, to what was written: `length` characters of `written`. A
 * word that begins like it is near, and so is one that a few letters added, left out or changed turn into it; of words
 * equally near the first one counts. */
void did_you_mean_try(struct did_you_mean *s, const char *written, size_t length, const char *word);

#endif
