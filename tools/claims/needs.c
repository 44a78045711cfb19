#include "needs.h"

#include <stdio.h>
#include <string.h>

const char judgement_crowded[] = "more ranks than cores";

/* True if the run has the settings of the lab's first row in blog.csv (column `settings`: "ranks=4 seed=2026"). */
static bool has_published_settings(const struct lab *lab, const struct csv_table *summary)
{
    const struct csv_table *blog = &lab->places[PUBLISHED].summary;
    const char *at = csv_field(blog, csv_find(blog, "lab", lab->name), "settings");
    if (!at || !*at)
        return false;
    for (; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        char name[EXPRESSION_TEXT], value[EXPRESSION_TEXT];
        struct reading reading = { .table = summary, .row = 0 };
        struct sides shown;
        int length = (int)strcspn(at, "= "), end = (int)strcspn(at, " ");
        snprintf(name, sizeof name, "setting.%.*s", length, at);
        snprintf(value, sizeof value, "%.*s", end > length ? end - length - 1 : 0, at + length + 1);
        if (!expression_holds(&reading, name, EQUAL, value, 0, &shown))
            return false;
    }
    return true;
}

bool needs_is_modelled(const struct csv_table *summary, int row)
{
    const char *device = csv_field(summary, row, "device");
    return device && strcmp(device, "model") == 0;
}

const char *needs_unmet(const struct lab *lab, const struct csv_table *summary, int row, const struct claim *claim)
{
    if (csv_value(summary, row, "wrong") > 0 && strcmp(claim->quantity, "wrong") != 0)
        return "it failed its checks";
    const enum needs needs = claim->needs;
    const char *backend = csv_field(summary, row, "backend"), *device = csv_field(summary, row, "device");
    bool is_shared_gpu = device && strstr(device, "correctness only");
    if (is_shared_gpu && (needs == NEEDS_ARRIVALS || !claim_must_hold(claim)))
        return "a shared GPU shows correctness only";
    if (needs == NEEDS_REAL && (!backend || strcmp(backend, "mpi") != 0 || !device || strcmp(device, "cpu") != 0))
        return "needs real ranks on cores";
    const bool on_cores = needs == NEEDS_CORES || needs == NEEDS_REAL || needs == NEEDS_SEVERAL || needs == NEEDS_CPU;
    if (on_cores && csv_value(summary, row, "oversubscribed") > 0)
        return judgement_crowded;
    if (needs == NEEDS_SEVERAL && csv_value(summary, row, "ranks") < 2)
        return "needs two ranks";
    if (needs == NEEDS_SIM && (!backend || strcmp(backend, "sim") != 0))
        return "needs the simulator";
    if (needs == NEEDS_MODEL && !needs_is_modelled(summary, row))
        return "needs a modelled machine";
    if (needs == NEEDS_PUBLISHED && !has_published_settings(lab, summary))
        return "needs the published settings";
    bool is_of_gpus = device && strncmp(device, "cuda", strlen("cuda")) == 0;
    if (needs == NEEDS_CPU && is_of_gpus)
        return "needs ranks that train on cores";
    return needs == NEEDS_GPU && !is_of_gpus ? "needs GPUs" : NULL;
}
