#include "guess.h"

#include "die.h"
#include "memory.h"
#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool parse_guess(const char *word, size_t *name_length, double *milliseconds)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return false;
    *name_length = (size_t)(equals - word);
    return number_parse(equals + 1, milliseconds) && *milliseconds > 0 && *milliseconds < 1e9;
}

double guess_of(const struct option_list *guesses, const char *name)
{
    double found = NAN;
    for (int i = 0; i < guesses->count; i++) {
        size_t length = 0;
        double milliseconds = 0;
        if (parse_guess(guesses->text[i], &length, &milliseconds) && strlen(name) == length &&
            strncmp(guesses->text[i], name, length) == 0)
            found = milliseconds / 1e3;
    }
    return found;
}

void guess_refuse(const struct option_list *guesses, const char *const *names)
{
    for (int i = 0; i < guesses->count; i++) {
        size_t length = 0;
        double milliseconds = 0;
        if (!parse_guess(guesses->text[i], &length, &milliseconds))
            die(STATUS_USAGE, "--guess takes CASE=MS, such as %s=50, not '%.60s'", names[0], guesses->text[i]);
        const char *const *name = names;
        while (*name && !(strlen(*name) == length && strncmp(*name, guesses->text[i], length) == 0))
            name++;
        if (!*name)
            die(STATUS_USAGE, "--guess names no case of this run: '%.60s'; --help lists the cases", guesses->text[i]);
    }
}

double guess_ask(const char *question)
{
    printf("\n%s ", question);
    for (;;) {
        fflush(stdout);
        char line[64];
        if (!fgets(line, sizeof line, stdin) || line[0] == '\n')
            return NAN;
        char *end = line;
        double milliseconds = strtod(line, &end);
        while (*end == ' ')
            end++;
        if (end != line && milliseconds > 0 && milliseconds < 1e9 && strchr("m\n", *end)) /* "70", "70 ms" */
            return milliseconds;
        printf("'%.*s' is no time; a number of milliseconds, or Enter to skip: ", (int)strcspn(line, "\n"), line);
    }
}

void guess_keep(const struct report *report, const char *folder)
{
    bool is_wanted = false;
    for (int i = 0; i < report->cases; i++)
        is_wanted |= !isnan(report->outcomes[i].guess);
    if (!is_wanted)
        return;
    char *path = memory_text("%s/guesses.csv", folder);
    bool is_new = access(path, F_OK) != 0;
    FILE *out = fopen(path, "a");
    if (!out) {
        warn("cannot keep your guess in %s: %s", path, strerror(errno));
        free(path);
        return;
    }
    struct csv csv = { .out = out, .is_named = !is_new };
    char when[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", localtime_r(&now, &local));
    for (int i = 0; i < report->cases; i++) {
        const struct outcome *o = &report->outcomes[i];
        if (isnan(o->guess))
            continue;
        do {
            csv_text(&csv, "time", when);
            csv_text(&csv, "lab", report->lab);
            csv_text(&csv, "case", o->name);
            csv_text(&csv, "backend", report->backend);
            csv_text(&csv, "platform", report->platform);
            csv_ms(&csv, "guess_ms", o->guess);
            csv_ms(&csv, "predicted_step_ms", prediction_step(&o->prediction));
            csv_ms(&csv, "slowest_step_ms", o->summary.slowest_step);
        } while (csv_end_row(&csv));
    }
    fclose(out);
    free(path);
}
