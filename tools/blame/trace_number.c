#include "trace_number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t NS_MOST = INT64_C(2000000000000000000); /* 63 years: sums and differences of some still fit */

/* Read a decimal number times 1000 as an integer: exact for microseconds with three decimals, which doubles are not. */
static bool parse_thousandths(const char *text, size_t length, int64_t *value)
{
    size_t at = length > 0 && text[0] == '-', digits = 0;
    int64_t number = 0;
    int decimals = -1;
    for (; at < length && decimals < 3; at++) {
        if (text[at] == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (text[at] < '0' || text[at] > '9')
            break;
        if (number > NS_MOST / 10)
            return false;
        number = 10 * number + (text[at] - '0');
        decimals += decimals >= 0;
        digits++;
    }
    while (at < length && decimals == 3 && text[at] >= '0' && text[at] <= '9')
        at++;
    if (digits == 0 || at < length)
        return false;
    for (int i = decimals < 0 ? 0 : decimals; i < 3; i++) {
        if (number > NS_MOST / 10)
            return false;
        number *= 10;
    }
    *value = text[0] == '-' ? -number : number;
    return true;
}

/* Read a number with an exponent, as 4.2e+15. */
static bool parse_exponent(const char *text, size_t length, int64_t *value)
{
    char copied[64], *end;
    if (length >= sizeof copied || !memchr(text, 'e', length) == !memchr(text, 'E', length))
        return false;
    memcpy(copied, text, length);
    copied[length] = '\0';
    double number = 1e3 * strtod(copied, &end);
    if (*end != '\0' || !(number > -(double)NS_MOST && number < (double)NS_MOST))
        return false;
    *value = (int64_t)number;
    return true;
}

bool trace_number_thousandths(const char *text, size_t length, int64_t *thousandths)
{
    return parse_thousandths(text, length, thousandths) || parse_exponent(text, length, thousandths);
}

int64_t trace_number_whole(const char *text, size_t length)
{
    int64_t thousandths;
    if (!trace_number_thousandths(text, length, &thousandths) || thousandths % 1000 != 0)
        return -1;
    return thousandths / 1000;
}

int64_t trace_number_nanoseconds(const char *text, size_t length)
{
    char copied[32], *end;
    if (length == 0 || length >= sizeof copied)
        return -1;
    memcpy(copied, text, length);
    copied[length] = '\0';
    errno = 0;
    long long value = strtoll(copied, &end, 10);
    return errno || *end != '\0' || value < 0 || value > NS_MOST ? -1 : value;
}
