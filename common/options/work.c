#include "options/work.h"

#include "base/did_you_mean.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const work_models[WORK_MODELS] = { "mlp", "transformer" };
const char *const work_passes[WORK_PASSES] = { "fetch", "forward", "backward", "update" };
const char *const cost_terms[COST_TERMS] = { "fixed", "per_sample", "per_padded_token", "per_padded_token_length" };

void work_amounts(struct work work, double amounts[COST_TERMS])
{
    amounts[COST_FIXED] = 1;
    amounts[COST_PER_SAMPLE] = work.samples;
    amounts[COST_PER_PADDED_TOKEN] = work.padded_tokens;
    amounts[COST_PER_PADDED_TOKEN_LENGTH] = work.computed_token_length;
}

double cost_beyond_fixed(const struct cost *cost, struct work work)
{
    double amounts[COST_TERMS], seconds = 0;
    work_amounts(work, amounts);
    for (int term = COST_FIXED + 1; term < COST_TERMS; term++)
        seconds += cost->term[term] * amounts[term];
    return seconds;
}

double cost_at(const struct cost *cost, struct work work)
{
    double amounts[COST_TERMS], seconds = 0;
    work_amounts(work, amounts);
    for (int term = 0; term < COST_TERMS; term++)
        seconds += cost->term[term] * amounts[term];
    return fmax(0, seconds);
}

static void name_cost(char name[WORK_NAME], int pass, int term)
{
    snprintf(name, WORK_NAME, "%s_%s_s", work_passes[pass], cost_terms[term]);
}

const char *work_property(enum work_model model, const char *name, const char *(*property)(const char *name))
{
    char own[2 * WORK_NAME];
    snprintf(own, sizeof own, "%s_%s", work_models[model], name);
    const char *value = property(own);
    return value ? value : property(name);
}

struct cost work_cost(enum work_model model, enum work_pass pass, const char *(*property)(const char *name))
{
    struct cost cost = { { 0 } };
    for (int term = 0; term < COST_TERMS; term++) {
        char name[WORK_NAME];
        name_cost(name, (int)pass, term);
        const char *text = work_property(model, name, property);
        double seconds = 0;
        if (text && number_parse(text, &seconds))
            cost.term[term] = seconds;
    }
    return cost;
}

const char *work_without_model(const char *name)
{
    for (int model = 0; model < WORK_MODELS; model++) {
        size_t length = strlen(work_models[model]);
        if (strncmp(name, work_models[model], length) == 0 && name[length] == '_')
            return name + length + 1;
    }
    return name;
}

bool work_is_cost(const char *name)
{
    char known[WORK_NAME];
    for (int pass = 0; pass < WORK_PASSES; pass++)
        for (int term = 0; term < COST_TERMS; term++) {
            name_cost(known, pass, term);
            if (strcmp(work_without_model(name), known) == 0)
                return true;
        }
    return false;
}

bool work_is_own_cost(const char *name)
{
    return strncmp(name, WORK_OWN_COST, strlen(WORK_OWN_COST)) == 0;
}

void work_nearest_cost(const char *name, char nearest[WORK_NAME])
{
    char known[WORK_PASSES * COST_TERMS][WORK_NAME];
    struct did_you_mean spelling = { 0 };
    for (int i = 0; i < WORK_PASSES * COST_TERMS; i++) {
        name_cost(known[i], i / COST_TERMS, i % COST_TERMS);
        did_you_mean_try(&spelling, name, strlen(name), known[i]);
    }
    snprintf(nearest, WORK_NAME, "%s", spelling.nearest ? spelling.nearest : "");
}
