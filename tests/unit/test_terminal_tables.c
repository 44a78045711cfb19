/* test_terminal_tables.c: test the printed table with cases written by hand: columns that appear only if they have values, terms
 * that add up to the step, and no gap to a prediction that does not exist. */
#include "report/terminal_tables.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 200, RANKS = 2 };

/* Return a case of two ranks: 1 ms data, 20 local, `host`, 2 wait and 7 transfer, predicted except for 0.5 ms of data. */
static struct outcome outcome_of(const char *name, double host)
{
    struct outcome o = {
        .name = name, .idea = "", .device = "cpu", .run = { .ranks = RANKS, .batch_size = 8 }, .guess = NAN
    };
    static double queued[RANKS]; /* no rank was ready without a core */
    static struct cell sum[RANKS] = { { .step = 1 }, { .step = 1 } };
    o.stats = (struct case_stats){ .ranks = RANKS, .steps = 4, .rounds = 1, .queued = queued, .sum = sum };
    o.summary.mean = (struct step_means){ .data = 1e-3, .local = 20e-3, .host = host, .wait = 2e-3, .transfer = 7e-3 };
    o.summary.mean.step = o.summary.slowest_step = o.summary.what_if = 30e-3 + host;
    o.summary.blamed_rank = o.summary.slowest_rank = -1;
    o.prediction = (struct prediction){ .data = 0.5e-3, .local = 20e-3, .host = host, .wait = 2e-3, .transfer = 7e-3 };
    return o;
}

static struct report report_of(struct outcome *outcomes, int cases)
{
    return (struct report){ .lab = "trial",
                            .platform = "round",
                            .trains_on = "simulated core",
                            .ranks = RANKS,
                            .cores = RANKS,
                            .is_simulated = true,
                            .is_modelled = true,
                            .outcomes = outcomes,
                            .cases = cases };
}

/* Return the table, or the sentences below it. The caller frees it. */
static char *printed(const struct report *report, int columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    table_show(out, report, columns);
    fclose(out);
    return text;
}

static char *explained(const struct report *report, const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    table_explain(out, report, name);
    fclose(out);
    return text;
}

static void assert_has(const char *text, const char *part, bool is_wanted)
{
    if ((strstr(text, part) != NULL) != is_wanted)
        fail_msg("\"%s\" %s in:\n%s", part, is_wanted ? "is not" : "is", text);
}

TEST(the_printed_terms_add_up_to_the_step)
{
    struct outcome outcomes[] = { outcome_of("baseline", 0), outcome_of("asleep", 5e-3) };
    struct report report = report_of(outcomes, 2);
    char *text = printed(&report, WIDE);
    assert_has(text, "  data  local   host   wait transfer", true);
    assert_has(text, "   1.0   20.0    0.0    2.0      7.0", true);
    assert_has(text, "   1.0   20.0    5.0    2.0      7.0", true);
    assert_has(text, "data, local, host, wait, transfer: means over ranks", true);
    free(text);
}

TEST(a_host_column_of_zeros_is_left_out)
{
    struct outcome outcomes[] = { outcome_of("baseline", 0), outcome_of("brief", 0.049e-3) };
    struct report report = report_of(outcomes, 2);
    char *text = printed(&report, WIDE);
    assert_has(text, "  data  local   wait transfer", true);
    assert_has(text, "host", false);
    free(text);
    outcomes[1] = outcome_of("brief", 0.051e-3);
    text = printed(&report, WIDE);
    assert_has(text, "    0.1", true);
    free(text);
}

/* A row with the host column is seven columns wider. */
TEST(terms_need_a_terminal_that_holds_all_of_them)
{
    struct outcome outcomes[] = { outcome_of("baseline", 0), outcome_of("asleep", 5e-3) };
    struct report with = report_of(outcomes, 2), without = report_of(outcomes, 1);
    char *narrow = printed(&without, 106), *fits = printed(&without, 107);
    char *narrow_with = printed(&with, 113), *fits_with = printed(&with, 114);
    assert_has(narrow, "transfer", false);
    assert_has(fits, "transfer", true);
    assert_has(narrow_with, "transfer", false);
    assert_has(fits_with, "transfer", true);
    free(narrow);
    free(fits);
    free(narrow_with);
    free(fits_with);
}

/* Only cases that drop tokens have a line; if some train a whole epoch, only those. */
TEST(an_epoch_that_drops_tokens_says_so)
{
    struct token_count all = { .epoch = { .steps = 96, .most_batches = 96, .tokens = 448584 } };
    struct token_count uneven = { .epoch = {
                                      .steps = 92, .most_batches = 94, .tokens = 448584, .dropped_tokens = 4876 } };
    struct outcome outcomes[] = { outcome_of("sample", 0), outcome_of("token", 0), outcome_of("epoch_token", 0) };
    struct report none = report_of(outcomes, 1), window = report_of(outcomes, 2), report = report_of(outcomes, 3);
    char *text = printed(&report, WIDE);
    assert_has(text, "An epoch ends", false); /* these cases read no tokens */
    free(text);
    outcomes[0].tokens = &all;
    outcomes[1].tokens = outcomes[2].tokens = &uneven;
    outcomes[2].run.once = 92;
    text = printed(&none, WIDE);
    assert_has(text, "An epoch ends", false);
    free(text);
    text = printed(&window, 80);
    assert_has(text, "An epoch ends when one rank has no batch left", true);
    assert_has(text,
               "\n  token                92 to 94 batches a rank, so 4876 of 448584 tokens (1.1 %) are not trained\n",
               true);
    free(text);
    text = printed(&report, 80);
    assert_has(text, "\n  epoch_token          92 to 94 batches a rank", true);
    assert_has(text, "\n  token ", false);
    assert_has(text, "\n  sample", false);
    free(text);
}

TEST(a_case_without_prediction_has_no_gap)
{
    struct outcome outcomes[] = { outcome_of("baseline", 0), outcome_of("asleep", 5e-3) };
    struct report report = report_of(outcomes, 2);
    char *text = explained(&report, "asleep");
    assert_has(text, "baseline: +0.5 ms against the formula (+2 %): +0.5 data.", true);
    assert_has(text, "asleep: +0.5 ms against the formula (+1 %): +0.5 data.", true);
    free(text);
    outcomes[1].prediction.transfer = (double)NAN; /* a collective that the card lacks */
    text = explained(&report, "asleep");
    assert_has(text, "baseline: +0.5 ms", true);
    assert_has(text, "asleep: ", false);
    assert_has(text, "nan", false);
    assert_has(text, "If every rank were as fast as the median rank, a step would take 35.0 ms", true);
    free(text);
}
