#include "work.h"

#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 64 };

const char *const cost_terms[COST_TERMS] = { "fixed", "per_sample", "per_padded_token", "per_padded_token_length" };

void work_amounts(struct work work, double amounts[COST_TERMS])
{
    amounts[COST_FIXED] = 1;
    amounts[COST_PER_SAMPLE] = work.samples;
    amounts[COST_PER_PADDED_TOKEN] = work.padded_tokens;
    amounts[COST_PER_PADDED_TOKEN_LENGTH] = work.padded_token_length;
}

double cost_at(const struct cost *cost, struct work work)
{
    double amounts[COST_TERMS], seconds = 0;
    work_amounts(work, amounts);
    for (int term = 0; term < COST_TERMS; term++)
        seconds += cost->term[term] * amounts[term];
    return fmax(0, seconds);
}

static void name_cost(char name[NAME_MOST], const char *model, int pass, int term)
{
    static const char *const passes[WORK_PASSES] = { "fetch", "forward", "backward", "update" };
    snprintf(name, NAME_MOST, "%s%s_%s_s", model, passes[pass], cost_terms[term]);
}

/* A stopgap: by the lab's name, until work itself says of which model it is. */
static const char *model_here(void)
{
    const char *lab = getenv("LOCKSTEP_NAME");
    return lab && strstr(lab, "token") ? "transformer_" : "mlp_";
}

struct cost work_cost(enum work_pass pass, const char *(*property)(const char *name))
{
    struct cost cost = { { 0 } };
    for (int term = 0; term < COST_TERMS; term++) {
        char name[NAME_MOST];
        name_cost(name, model_here(), pass, term);
        const char *text = property(name);
        if (!text) {
            name_cost(name, "", pass, term);
            text = property(name);
        }
        double seconds = 0;
        if (text && number_parse(text, &seconds))
            cost.term[term] = seconds;
    }
    return cost;
}

bool work_is_property(const char *name)
{
    static const char *const models[] = { "mlp_", "transformer_" };
    char known[NAME_MOST];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strncmp(name, models[i], strlen(models[i])) == 0) {
            name += strlen(models[i]);
            break;
        }
    for (int pass = 0; pass < WORK_PASSES; pass++)
        for (int term = 0; term < COST_TERMS; term++) {
            name_cost(known, "", pass, term);
            if (strcmp(name, known) == 0)
                return true;
        }
    return false;
}
