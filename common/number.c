#include "number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_parse(const char *text, double *value)
{
    if (text[0] == '\0' || strpbrk(text, " \t\n\v\f\rxX"))
        return false;
    char *end = NULL;
    *value = strtod(text, &end);
    return *end == '\0';
}

void number_shortest(char text[NUMBER_TEXT], double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_TEXT, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            return;
    }
}
