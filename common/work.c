#include "work.h"

#include "number.h"

#include <stdio.h>
#include <string.h>

enum { TERMS = 4, NAME_MOST = 64 };

static void name_cost(char name[NAME_MOST], int pass, int term)
{
    static const char *const passes[WORK_PASSES] = { "fetch", "forward", "backward", "update" };
    static const char *const terms[TERMS] = { "fixed", "per_sample", "per_padded_token", "per_padded_token_length" };
    snprintf(name, NAME_MOST, "%s_%s_s", passes[pass], terms[term]);
}

double work_seconds(enum work_pass pass, struct work work, const char *(*property)(const char *name))
{
    const double amounts[TERMS] = { 1, work.samples, work.padded_tokens, work.padded_token_length };
    double seconds = 0;
    for (int term = 0; term < TERMS; term++) {
        char name[NAME_MOST];
        name_cost(name, pass, term);
        const char *text = property(name);
        double cost = 0;
        if (text && number_parse(text, &cost))
            seconds += cost * amounts[term];
    }
    return seconds;
}

bool work_is_property(const char *name)
{
    char known[NAME_MOST];
    for (int pass = 0; pass < WORK_PASSES; pass++)
        for (int term = 0; term < TERMS; term++) {
            name_cost(known, pass, term);
            if (strcmp(name, known) == 0)
                return true;
        }
    return false;
}
