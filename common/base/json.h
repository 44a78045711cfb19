/* json: writes values of a JSON text. */
#ifndef LOCKSTEP_JSON_H
#define LOCKSTEP_JSON_H

#include <stdio.h>

/* Write a string with its quotes; null for NULL. What is no UTF-8 becomes U+FFFD. */
void json_text(FILE *out, const char *text);

/* Write a number that reads back as `value`; null if it is not finite. */
void json_number(FILE *out, double value);

#endif
