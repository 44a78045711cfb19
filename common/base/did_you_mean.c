#include "base/did_you_mean.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 64, FEW = 3, BEGINNING = 4 };

/* Levenshtein distance; LONGEST for words longer than any flag or cost name. */
static size_t distance(const char *a, size_t length, const char *b)
{
    size_t columns = strlen(b);
    if (length > LONGEST || columns > LONGEST)
        return LONGEST;
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[columns];
}

void did_you_mean_try(struct did_you_mean *s, const char *written, size_t length, const char *word)
{
    /* A prefix counts as one wrong letter, so an earlier word with one wrong letter keeps its place. */
    bool is_prefix = length >= BEGINNING && strncmp(word, written, length) == 0;
    size_t far = is_prefix ? 1 : distance(written, length, word);
    if (far <= FEW && (!s->nearest || far < s->far))
        *s = (struct did_you_mean){ .nearest = word, .far = far };
}
