#include "report/guess.h"

#include "base/die.h"
#include "base/number.h"
#include "report/prompt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            die(STATUS_USAGE, "--guess '%.60s' does not name a case of this run; --help lists the cases",
                guesses->text[i]);
    }
}

double guess_ask(const char *question)
{
    printf("\n%s ", question);
    char line[PROMPT_LINE];
    while (prompt_answer(line) && line[0]) {
        char *end = line;
        double milliseconds = strtod(line, &end);
        while (*end == ' ')
            end++;
        bool is_time = *end == '\0' || *end == 'm'; /* "70", "70 ms" */
        if (is_time && end != line && milliseconds > 0 && milliseconds < 1e9)
            return milliseconds;
        printf("'%s' is not a time; enter milliseconds, or Enter to skip: ", line);
    }
    return NAN;
}

void guess_keep(const struct report *report, const char *folder)
{
    bool is_wanted = false;
    for (int i = 0; i < report->cases; i++)
        is_wanted |= !isnan(report->outcomes[i].guess);
    struct answer_log answers;
    if (!is_wanted || !prompt_open_log(&answers, report->files, folder, "guesses.csv"))
        return;
    struct csv *csv = &answers.csv;
    for (int i = 0; i < report->cases; i++) {
        const struct outcome *o = &report->outcomes[i];
        if (isnan(o->guess))
            continue;
        do {
            csv_text(csv, "time", answers.now);
            csv_text(csv, "lab", report->lab);
            csv_text(csv, "case", o->name);
            csv_text(csv, "backend", report->backend);
            csv_text(csv, "platform", report->platform);
            csv_ms(csv, "guess_ms", o->guess);
            csv_ms(csv, "predicted_step_ms", prediction_step(&o->prediction));
            csv_ms(csv, "slowest_step_ms", o->summary.slowest_step);
        } while (csv_end_row(csv));
    }
}
