/* trace_number: the numbers of a trace as integers. Doubles would lose a nanosecond after some weeks. */
#ifndef LOCKSTEP_TRACE_NUMBER_H
#define LOCKSTEP_TRACE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a number times 1000, as "12.345", "-3", "4.2e+15": microseconds as nanoseconds. Decimals beyond the third are cut off. Return
 * false if it is none, or beyond 63 years of nanoseconds. */
bool trace_number_thousandths(const char *text, size_t length, int64_t *thousandths);

/* Return a whole number, also one that is written as a text; -1 if it is none. */
int64_t trace_number_whole(const char *text, size_t length);

/* Return whole nanoseconds; -1 if it is none. Base times have 19 digits: times 1000 they would not fit. */
int64_t trace_number_nanoseconds(const char *text, size_t length);

#endif
