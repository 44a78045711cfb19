/* faults: failed checks. How many there were, and the first one in words. */
#ifndef LOCKSTEP_FAULTS_H
#define LOCKSTEP_FAULTS_H

enum { FAULT_WORDS = 192 };

struct faults {
    int count;
    char first[FAULT_WORDS]; /* what is too long for it is cut */
};

void faults_add(struct faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts `more` in; the words before theirs say where that was: "rank 2: ". */
void faults_join(struct faults *faults, const struct faults *more, const char *where, ...)
    __attribute__((format(printf, 3, 4)));

#endif
