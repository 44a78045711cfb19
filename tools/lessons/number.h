/* number: numbers as they stand in a text, such as 40.4, +2.5, −3 or 12,496,800. */
#ifndef LOCKSTEP_LESSONS_NUMBER_H
#define LOCKSTEP_LESSONS_NUMBER_H

#include "lesson_text.h"

/* A number of a text. */
struct number {
    size_t begin, end; /* bytes, with a sign */
    bool has_unit;     /* ms, %, MB, … or × follows, also behind a range: both numbers of "14 to 19 ms" */
    bool
        is_name; /* part of a date, a version, a name (#252, "PyTorch 2.10"), a year, or 95 of "95 % interval": no quantity */
    bool is_count; /* a whole number up to 12 without a unit, or of KiB, MiB, GiB: a chosen size, not measured */
};

/* Find the next number in prose from byte *at, and set *at behind it. Return false if the text has no other. */
bool number_next(const struct lesson_text *text, size_t *at, struct number *number);

/* Find the number that ends at byte `end` of `raw`. Return false if there is none. */
bool number_before(const char *raw, size_t end, struct number *number);

/* Print the value with as many decimals as `old` has, with its plus sign and commas. Free the text. */
char *number_like(const char *old, double value);

/* Print the value with `decimals`, with commas from 1,000 on and a plus sign if asked for. Free the text. */
char *number_print(double value, int decimals, bool has_commas, bool has_plus);

#endif
