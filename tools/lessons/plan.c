#include "plan.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A line <!-- run: … -->. */
struct run_line {
    char *place, *charts, *options; /* charts between blanks; options as a command line */
};

/* Return --sleep-ms 40 for sleep_ms=40. Free it. */
static char *option_of(const char *word)
{
    char *text = memory_text("--%s", word), *c = text;
    for (; *c != '='; c++)
        *c = *c == '_' ? '-' : *c;
    *c = ' ';
    return text;
}

/* Append a word behind a blank. Takes `text`. */
static char *append(char *text, const char *word)
{
    char *longer = memory_text("%s%s ", text, word);
    free(text);
    return longer;
}

/* Read a comment "run: …". */
static struct run_line read_run(const struct check *check, const struct comment *comment)
{
    char *words = memory_text("%s", comment_after(comment, "run:")), *rest = NULL;
    char *place = strtok_r(words, " \n\t", &rest);
    if (!place || strchr(place, '=') || !*check->lab)
        refuse(check, comment->begin, "'%s': write run: PLACE CHART… OPTION=VALUE… in the lesson of a lab",
               comment->text);
    struct run_line run = { memory_text("%s", place), memory_text(" "), memory_text("%s", "") };
    for (char *word; (word = strtok_r(NULL, " \n\t", &rest));) {
        if (strchr(word, '=')) {
            char *option = option_of(word);
            run.options = append(run.options, option);
            free(option);
        } else {
            run.charts = append(run.charts, word);
        }
    }
    free(words);
    return run;
}

static void free_run(struct run_line *run)
{
    free(run->place);
    free(run->charts);
    free(run->options);
}

/* --- print ---------------------------------------------------------------------------------------------------------- */

static void print_run(const struct check *check, const struct run_line *run)
{
    printf("run %s %s %s", check->lab, run->place, run->options);
    if (strcmp(run->place, "dedicated-cores") == 0)
        printf("--backend sim");
    else if (strcmp(run->place, "verdicts") == 0)
        printf("--verdict");
    else if (strcmp(run->place, "here") != 0 && !strstr(run->options, "--platform "))
        printf("--platform %s", run->place);
    putchar('\n');
}

/* Return the chart that the text shows of its lab: "timeline" for img/01_straggler_timeline.png. NULL for others. Free it. */
static char *chart_of(const struct check *check, const struct picture *picture)
{
    char *begin = memory_text("img/%s_", check->lab), *chart = NULL;
    size_t length = strlen(begin), whole = strlen(picture->target);
    if (*check->lab && strncmp(picture->target, begin, length) == 0 && whole > length + 4)
        chart = memory_text("%.*s", (int)(whole - length - 4), picture->target + length);
    free(begin);
    return chart;
}

static void print_pictures(const struct check *check, const struct run_line *runs, int count)
{
    const struct lesson_text *text = check->text;
    for (int i = 0; i < text->picture_count && count > 0; i++) {
        char *chart = chart_of(check, &text->pictures[i]), *word = memory_text(" %s ", chart ? chart : "");
        int of = 0;
        for (int k = 0; k < count; k++)
            if (strstr(runs[k].charts, word))
                of = k;
        if (chart)
            printf("picture %s %s %s\n", check->lab, runs[of].place, chart);
        free(word);
        free(chart);
    }
}

/* Read the lines of the text. Return their number; free_runs() releases them. */
static int read_runs(const struct check *check, struct run_line **runs)
{
    int count = 0;
    *runs = memory_new((size_t)check->text->comment_count + 1, sizeof **runs);
    for (int i = 0; i < check->text->comment_count; i++)
        if (comment_after(&check->text->comments[i], "run:"))
            (*runs)[count++] = read_run(check, &check->text->comments[i]);
    return count;
}

static void free_runs(struct run_line *runs, int count)
{
    for (int i = 0; i < count; i++)
        free_run(&runs[i]);
    free(runs);
}

void plan_print(struct check *check)
{
    struct run_line *runs;
    int count = read_runs(check, &runs);
    for (int i = 0; i < count; i++)
        print_run(check, &runs[i]);
    print_pictures(check, runs, count);
    free_runs(runs, count);
}

void plan_open_runs(struct check *check)
{
    struct run_line *runs;
    int count = read_runs(check, &runs), line = 0;
    for (int i = 0; i < check->text->comment_count; i++) {
        if (!comment_after(&check->text->comments[i], "run:"))
            continue;
        struct where where = marker_defaults(check);
        struct view view;
        snprintf(where.place, sizeof where.place, "%s", runs[line++].place);
        if (marker_view(check, check->text->comments[i].begin, &where, &view))
            view_close(&view);
    }
    free_runs(runs, count);
}
