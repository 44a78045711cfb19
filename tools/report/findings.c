#include "findings.h"

#include "base/memory.h"
#include "report/lanes.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const summary_columns[] = {
    "case", "platform", "backend", "ranks", "rounds", "slowest_step_ms", NULL
};
static const char *const chart_columns[] = { "chart", "title", "axis", NULL };

/* Return the display name of a place, in new memory. */
static char *phrase_of(const char *lab, const char *platform)
{
    if (strcmp(lab, "blame") == 0)
        return memory_text("your own job");
    if (strcmp(platform, "here") == 0)
        return memory_text("here, measured");
    if (strcmp(platform, "dedicated-cores") == 0)
        return memory_text("dedicated cores, simulated");
    if (strcmp(platform, "blog") == 0)
        return memory_text("the blog's machine, simulated");
    if (strcmp(platform, "verdicts") == 0)
        return memory_text("here, without one suspect after the other");
    return memory_text("platform %s, simulated", platform);
}

/* Read charts.csv, unless the charts are older than the summary and hence from an earlier run. */
static struct csv_table read_charts(const char *path, const struct stat *summary)
{
    struct stat status;
    bool is_older =
        stat(path, &status) != 0 || status.st_mtim.tv_sec < summary->st_mtim.tv_sec ||
        (status.st_mtim.tv_sec == summary->st_mtim.tv_sec && status.st_mtim.tv_nsec < summary->st_mtim.tv_nsec);
    if (is_older)
        return (struct csv_table){ 0 };
    return csv_open(path, chart_columns);
}

static bool is_simulated(const struct csv_table *summary)
{
    const char *platform = csv_field(summary, 0, "platform");
    return platform && *platform && strcmp(platform, "here") != 0;
}

static void add_finding(struct lab_findings *f, const char *results, const char *place, const char *platform)
{
    char *folder = memory_text("%s%s", place, f->lab), *path = memory_text("%s/%s", results, folder);
    char *summary = memory_text("%s/summary.csv", path), *charts = memory_text("%s/charts.csv", path);
    char *lanes = memory_text("%s/lanes.csv", path);
    struct stat status;
    if (stat(summary, &status) == 0) {
        f->at = memory_grow(f->at, ((size_t)f->count + 1) * sizeof *f->at);
        f->at[f->count++] = (struct finding){
            .folder = folder,
            .path = path,
            .platform = memory_text("%s", platform),
            .place = phrase_of(f->lab, platform),
            .summary = csv_open(summary, summary_columns),
            .charts = read_charts(charts, &status),
            .lanes = csv_open_if_there(lanes, (const char *const[]){ NULL }),
            .when = status.st_mtime,
        };
        f->at[f->count - 1].is_simulated = is_simulated(&f->at[f->count - 1].summary);
    } else {
        free(folder);
        free(path);
    }
    free(summary);
    free(charts);
    free(lanes);
}

struct lab_findings findings_open(const char *results, const char *lab)
{
    static const char *const first[] = { "dedicated-cores", "here", "blog" };
    enum { FIRST = sizeof first / sizeof *first };
    struct lab_findings f = { .lab = memory_text("%s", lab) };
    for (int i = 0; i < FIRST; i++) {
        char *place = strcmp(first[i], "here") == 0 ? memory_text("%s", "") : memory_text("platforms/%s/", first[i]);
        add_finding(&f, results, place, first[i]);
        free(place);
    }
    char *folder = memory_text("%s/platforms", results);
    struct dirent **files = NULL;
    int count = scandir(folder, &files, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = files[i]->d_name;
        bool is_other = name[0] != '.';
        for (int j = 0; j < FIRST; j++)
            is_other &= strcmp(name, first[j]) != 0;
        char *place = memory_text("platforms/%s/", name);
        if (is_other)
            add_finding(&f, results, place, name);
        free(place);
        free(files[i]);
    }
    free(files);
    free(folder);
    add_finding(&f, results, "verdicts/", "verdicts");
    return f;
}

void findings_close(struct lab_findings *f)
{
    for (int i = 0; i < f->count; i++) {
        free(f->at[i].folder);
        free(f->at[i].path);
        free(f->at[i].platform);
        free(f->at[i].place);
        csv_free(&f->at[i].summary);
        csv_free(&f->at[i].charts);
        csv_free(&f->at[i].lanes);
    }
    free(f->at);
    free(f->lab);
}

char *finding_comment(const struct finding *finding, const char *key, int n)
{
    return csv_comment(&finding->summary, key, n);
}

bool finding_is_wrong(const struct finding *finding, int row)
{
    return csv_value(&finding->summary, row, "wrong") > 0;
}

bool finding_is_of_run(const struct finding *finding, const struct csv_table *table)
{
    char *ours = finding_comment(finding, "settings", 0), *its = csv_comment(table, "settings", 0);
    bool is = !ours || (its && strcmp(ours, its) == 0);
    free(ours);
    free(its);
    return is;
}

int finding_chart(const struct finding *finding, const char *chart)
{
    return csv_find(&finding->charts, "chart", chart);
}

char *finding_waiting(const struct finding *finding, const char *name)
{
    return lanes_explanation(&finding->lanes, name);
}

void finding_when(const struct finding *finding, char when[FINDING_WHEN])
{
    char *text = finding_comment(finding, "when", 0);
    struct tm local;
    if (text)
        snprintf(when, FINDING_WHEN, "%s", text);
    else
        strftime(when, FINDING_WHEN, "%Y-%m-%d %H:%M", localtime_r(&finding->when, &local));
    free(text);
}

char *finding_caption(const struct finding *finding)
{
    char *machine = finding_comment(finding, "machine", 0), *device = finding_comment(finding, "device", 0);
    char *backend = finding_comment(finding, "backend", 0), *shares = finding_comment(finding, "oversubscribed", 0);
    const struct csv_table *table = &finding->summary;
    char date[FINDING_WHEN];
    finding_when(finding, date);
    char *largest = finding_comment(finding, "ranks", 0);
    const char *ranks = largest ? largest : table->rows > 0 ? csv_field(table, 0, "ranks") : "0";
    const char *rounds = table->rows > 0 ? csv_field(table, 0, "rounds") : "0";
    char *caption =
        memory_text("%s%s%s%s%s rank%s%s%s · %s round%s%s · %s", machine ? machine : "", machine ? " · " : "",
                    device ? device : "", device ? " · " : "", ranks, strcmp(ranks, "1") == 0 ? "" : "s",
                    backend ? " · " : "", backend ? backend : "", rounds, strcmp(rounds, "1") == 0 ? "" : "s",
                    shares && strcmp(shares, "1") == 0 ? " · more ranks than cores: they share time" : "", date);
    free(machine);
    free(device);
    free(backend);
    free(shares);
    free(largest);
    return caption;
}
