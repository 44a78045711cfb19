/* check_failures: number of failed checks, and the message of the first one. */
#ifndef LOCKSTEP_CHECK_FAILURES_H
#define LOCKSTEP_CHECK_FAILURES_H

enum { FAULT_WORDS = 192 };

struct check_failures {
    int count;
    char first[FAULT_WORDS]; /* a longer message is cut */
};

void check_failures_add(struct check_failures *failures, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add the failures of `more`; `where`, such as "rank 2: ", is put before their first message. */
void check_failures_join(struct check_failures *failures, const struct check_failures *more, const char *where, ...)
    __attribute__((format(printf, 3, 4)));

#endif
