#include "rank_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int rank_of_digits(const char *digits)
{
    errno = 0;
    long number = strtol(digits, NULL, 10);
    return errno || number > RANK_MOST ? -1 : (int)number;
}

static bool is_digit(char letter)
{
    return isdigit((unsigned char)letter);
}

/* Return the digits behind the last "rank" that has some; or NULL. */
static const char *behind_rank(const char *name)
{
    const char *found = NULL;
    for (const char *at = name; (at = strstr(at, "rank")); at++) {
        const char *digits = at + strlen("rank");
        digits += strspn(digits, "_-");
        found = is_digit(*digits) ? digits : found;
    }
    return found;
}

/* Return the last digits before the first dot; or NULL. */
static const char *before_dot(const char *name)
{
    const char *at = name + strcspn(name, ".");
    while (at > name && !is_digit(at[-1]))
        at--;
    if (at == name)
        return NULL;
    while (at > name && is_digit(at[-1]))
        at--;
    return at;
}

int rank_of_name(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *digits = behind_rank(name);
    if (!digits && !strstr(name, ".pt.trace.json"))
        digits = before_dot(name);
    return digits ? rank_of_digits(digits) : -1;
}
