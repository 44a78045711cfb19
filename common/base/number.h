/* number: decimal numbers as people write them. */
#ifndef LOCKSTEP_NUMBER_H
#define LOCKSTEP_NUMBER_H

#include <stdbool.h>

/* Reads all of `text` as a decimal number: no blanks, no hexadecimal, nothing behind it. "nan" and "inf" are read as
 * what they are; bounds are the caller's. False when it is none. */
bool number_parse(const char *text, double *value);

/* A short decimal that reads back as `value`: 15 digits where they do, else 16 or 17; no zeros at the end. */
enum { NUMBER_TEXT = 40 };
void number_shortest(char text[NUMBER_TEXT], double value);

/* How many decimals of a millisecond people are shown of a time, so that a step of a GPU has three digits too: 0.427, 4.27,
 * 42.7. For "%.*f". */
int number_ms_decimals(double seconds);

#endif
