#include "base/number.h"

#include <math.h>
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

int number_ms_decimals(double seconds)
{
    double ms =
        1e3 * fabs(seconds); /* limits follow the rounded output: 0.9997 prints as 1.00, 9.997 as 10.0, 0 as 0.0 */
    return ms < 0.0005 ? 1 : ms < 0.9995 ? 3 : ms < 9.995 ? 2 : 1;
}
