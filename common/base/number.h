/* number: read and print decimal numbers. */
#ifndef LOCKSTEP_NUMBER_H
#define LOCKSTEP_NUMBER_H

#include <stdbool.h>

/* Read all of `text` as a decimal number, without blanks, hexadecimal digits or trailing characters. "nan" and "inf" are
 * accepted; the caller checks bounds. Return false if `text` is no number. */
bool number_parse(const char *text, double *value);

/* Print a short decimal that reads back as `value`: 15 digits if enough, else 16 or 17, without trailing zeros. */
enum { NUMBER_TEXT = 40 };
void number_shortest(char text[NUMBER_TEXT], double value);

/* Decimals for printing a time in milliseconds with "%.*f"; even a short GPU step gets three digits: 0.427, 4.27, 42.7. */
int number_ms_decimals(double seconds);

#endif
