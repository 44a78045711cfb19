/* faults: failed checks. How many there were, and the first one in words. */
#ifndef LOCKSTEP_FAULTS_H
#define LOCKSTEP_FAULTS_H

enum { FAULT_WORDS = 192 };

struct check_failures {
    int count;
    char first[FAULT_WORDS]; /* what is too long for it is cut */
};

void check_failures_add(struct check_failures *failures, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts `more` in; the words before theirs say where that was: "rank 2: ". */
void check_failures_join(struct check_failures *failures, const struct check_failures *more, const char *where, ...)
    __attribute__((format(printf, 3, 4)));

#endif
