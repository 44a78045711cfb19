#include "judge.h"

#include "base/memory.h"
#include "base/stats.h"
#include "needs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rounds ------------------------------------------------------------------------------------------------------ */

/* Rounds in which a claim was evaluated. */
struct series {
    double *q, *v; /* (count) undisturbed */
    bool is_timed; /* the claim reads what varies by round */
    int count, disturbed;
    double taken_share; /* sum over disturbed rounds */
    double largest;     /* cell */
};

/* Rows of summary.csv that a claim is about. */
struct rows {
    int count, *at;
};

/* Evaluate the claim in a round: the sums over its rows that were measured there and not disturbed. A row counts as measured if all cases
 * were that the claim reads with it. */
static void read_round(const struct place *place, const struct claim *claim, struct rows rows, int round,
                       struct series *series)
{
    double q = 0, v = 0, largest = 0, taken_share = 0;
    int measured = 0, disturbed = 0;
    for (int i = 0; i < rows.count; i++) {
        struct reading reading = {
            .table = &place->summary, .row = rows.at[i], .rounds = &place->rounds, .round = round
        };
        double own_q, own_v;
        expression_values(&reading, claim->quantity, claim->value, &own_q, &own_v);
        series->is_timed |= reading.timed > 0;
        if (reading.trouble != NO_TROUBLE || !isfinite(own_q) || !isfinite(own_v))
            continue;
        disturbed += reading.is_disturbed;
        taken_share = fmax(taken_share, reading.is_disturbed ? reading.taken_share : 0);
        if (reading.is_disturbed)
            continue;
        measured++;
        q += own_q;
        v += own_v;
        largest += reading.largest;
    }
    if (measured > 0) {
        series->q[series->count] = q;
        series->v[series->count++] = v;
        series->largest = fmax(series->largest, largest);
    } else if (disturbed > 0) {
        series->disturbed++;
        series->taken_share += taken_share;
    }
}

static struct series read_rounds(const struct place *place, const struct claim *claim, struct rows rows)
{
    const size_t most = (size_t)place->rounds.count + 1;
    struct series series = { .q = memory_new(most, sizeof(double)), .v = memory_new(most, sizeof(double)) };
    for (int round = 0; round < place->rounds.count; round++)
        read_round(place, claim, rows, round, &series);
    return series;
}

static void free_series(struct series *series)
{
    free(series->q);
    free(series->v);
}

/* A part of a step is large from this share of it on. As a mean of measured and predicted share: a term that is a tenth of the step,
 * even if the formula has two thirds too little. */
static const double LARGE_SHARE = 1.0 / 15;

static bool is_large(const struct csv_table *summary, int row, double ms)
{
    return ms >= LARGE_SHARE * csv_value(summary, row, "predicted_then_ms");
}

/* Claims of similar noise: about whole steps; about large parts of a step, and about small ones, of which noise is a larger share; about
 * parts of all cases together, where noise is smaller: of what ranks do alone; of waits, which may be nothing but noise; of transfers,
 * which on simulated cores have hardly any. A lab mostly has one claim of each of the last two, so its own rounds judge it. */
enum pool { OF_STEPS, OF_PARTS, OF_SMALL_PARTS, OF_ALL_ALONE, OF_ALL_WAITS, OF_ALL_TRANSFERS };

static bool reads_any(const struct claim *claim, const char *const *columns)
{
    for (; *columns; columns++)
        if (strstr(claim->quantity, *columns))
            return true;
    return false;
}

/* `quantity`: the claim's, mean over rounds; a few multiply it by a number of ranks. `row`: its row, unless it is about all cases
 * together. */
static enum pool pool_of(const struct claim *claim, double quantity, const struct csv_table *summary, int row)
{
    static const char *const alone[] = { "data_ms", "local_ms", "update_ms", "host_ms", NULL },
                             *const waits[] = { "wait_ms", NULL },
                             *const collectives[] = { "wait_ms", "transfer_ms", "exposed_ms", "rank_skew_ms", NULL };
    const bool reads_collectives = reads_any(claim, collectives);
    if (claim_is_together(claim))
        return reads_any(claim, waits) ? OF_ALL_WAITS : reads_collectives ? OF_ALL_TRANSFERS : OF_ALL_ALONE;
    if (!reads_collectives && !reads_any(claim, alone))
        return OF_STEPS;
    return is_large(summary, row, fabs(quantity)) ? OF_PARTS : OF_SMALL_PARTS;
}

/* Collect the evidence. Return false if the claim reads nothing that varies by round, such as the loss. */
static bool judge_by_rounds(const struct place *place, struct judgement *j, struct rows rows)
{
    struct series series = read_rounds(place, &j->claim, rows);
    if (series.is_timed && series.disturbed > 0) {
        j->disturbed_share = (double)series.disturbed / (series.count + series.disturbed);
        j->taken_share = series.taken_share / series.disturbed;
    }
    if (series.is_timed && series.count > 0) {
        j->evidence =
            evidence_of(j->claim.relation, j->claim.tolerance, series.q, series.v, series.count, series.largest);
        j->evidence.pool = pool_of(&j->claim, j->evidence.mean_quantity, &place->summary, rows.at[0]);
        snprintf(j->shown.quantity, sizeof j->shown.quantity, "%.6g", j->evidence.mean_quantity);
        snprintf(j->shown.value, sizeof j->shown.value, "%.6g", j->evidence.mean_value);
    }
    free_series(&series);
    return series.is_timed;
}

/* --- judging ----------------------------------------------------------------------------------------------------- */

/* Verdict on a claim that must hold, or that reads no times. A blank cell fails a claim that must hold: the check was not made.
 * Only modelled machines make no checks. */
static enum verdict verdict_by_summary(const struct judgement *j, const struct reading *reading, bool is_true)
{
    bool must_hold = claim_must_hold(&j->claim), may_be_blank = !must_hold || needs_is_modelled(reading->table, j->row);
    if (reading->trouble == CASE_NOT_RUN || (reading->trouble == BLANK_CELL && may_be_blank))
        return UNTESTABLE;
    if (must_hold || j->claim.kind == EXAMPLE)
        return is_true ? HOLDS : FAILS;
    return is_true ? AS_PREDICTED : WRONG;
}

/* Verdict on the rank to blame where the newest launch alone has too few rounds: by all launches. */
static enum verdict verdict_by_charges(const struct place *place, struct judgement *j)
{
    const struct csv_table *summary = &place->summary;
    struct reading reading = { .table = summary, .row = j->row };
    const int blamed = rounds_blamed(&place->rounds, csv_field(summary, j->row, "case"), csv_field(summary, 0, "case"),
                                     (int)csv_value(summary, j->row, "ranks"));
    if (blamed < 0) {
        snprintf(j->reason, sizeof j->reason, "no rank stands out");
        return TOO_NOISY;
    }
    *j->reason = '\0';
    snprintf(j->shown.quantity, sizeof j->shown.quantity, "%d", blamed);
    return fabs(blamed - expression_value(&reading, j->claim.value)) < 0.5 ? AS_PREDICTED : WRONG;
}

/* Verdict on a claim about time before its noise is compared with that of others: UNTESTABLE, or final for claims that have no
 * evidence. */
static enum verdict verdict_of_evidence(struct judgement *j)
{
    if (j->evidence.rounds > 0)
        return TOO_NOISY;
    if (j->disturbed_share > 0)
        return DISTURBED;
    if (!*j->reason)
        snprintf(j->reason, sizeof j->reason, "no round has all its cases");
    return UNTESTABLE;
}

static enum verdict begin_verdict(const struct place *place, struct judgement *j, const struct reading *reading,
                                  bool is_true)
{
    if (claim_is_blame(&j->claim) && reading->trouble == BLANK_CELL)
        return verdict_by_charges(place, j);
    bool is_by_rounds = reading->trouble != CASE_NOT_RUN && !claim_is_blame(&j->claim) && place->rounds.count > 0;
    return is_by_rounds && judge_by_rounds(place, j, (struct rows){ 1, &j->row })
               ? verdict_of_evidence(j)
               : verdict_by_summary(j, reading, is_true);
}

/* End the program if an expression of the claim cannot be read. */
static void check_reading(const struct reading *reading, const struct lab *lab, int at, const struct claim_file *file,
                          int claim_row)
{
    if (reading->trouble == MALFORMED)
        claim_die(file, claim_row, memory_text("%s (%s): in claim", reading->why, lab->sources[at].word),
                  claim_read(file, claim_row).id, "correct its quantity or its value");
}

static struct judgement judge(const struct lab *lab, int at, const struct claim_file *file, int claim_row, int row)
{
    const struct place *place = &lab->places[at];
    struct judgement j = { .claim = claim_read(file, claim_row), .row = row, .rounds_to_notice = -1 };
    const struct claim *claim = &j.claim;
    struct reading reading = { .table = &place->summary, .row = row, .trouble = row < 0 ? CASE_NOT_RUN : NO_TROUBLE };
    bool is_true =
        expression_holds(&reading, claim->quantity, claim->relation, claim->value, claim->tolerance, &j.shown);
    check_reading(&reading, lab, at, file, claim_row);
    const char *lacks = needs_unmet(lab, reading.table, row, claim);
    snprintf(j.reason, sizeof j.reason, "%s", lacks ? lacks : row < 0 ? "case not run" : reading.why);
    bool is_about_time = !claim_must_hold(claim) && claim->kind != EXAMPLE;
    if (lacks)
        j.verdict = UNTESTABLE;
    else if (is_about_time)
        j.verdict = begin_verdict(place, &j, &reading, is_true);
    else
        j.verdict = verdict_by_summary(&j, &reading, is_true);
    return j;
}

/* --- all cases together ------------------------------------------------------------------------------------------ */

/* Share of the step from which a term counts that only the formula has, or only the measurement: noise must lift a term by half from
 * LARGE_SHARE to choose its row. */
static const double LARGE_ALONE = 0.1;

/* True if the term is a large part of the step, in the mean over undisturbed rounds. It is as large as the mean of what was measured and
 * what was predicted. Rows chosen by one of these alone would be those whose noise made it large, and the other would seem too small.
 * `newest`: what the newest launch predicts, which decides if there is no such round. */
static bool is_large_part(const struct place *place, const struct claim *claim, int row, double newest)
{
    struct claim steps_of = *claim;
    steps_of.quantity = "slowest_step_ms";
    steps_of.value = "predicted_then_ms";
    const struct rows rows = { 1, &row };
    struct series term = read_rounds(place, claim, rows), steps = read_rounds(place, &steps_of, rows);
    const bool has_rounds = term.count > 0 && steps.count > 0;
    const double measured = has_rounds ? stats_mean(term.q, term.count) / stats_mean(steps.q, steps.count) : 0,
                 predicted = has_rounds ? stats_mean(term.v, term.count) / stats_mean(steps.v, steps.count) : 0;
    free_series(&term);
    free_series(&steps);
    if (!has_rounds)
        return is_large(&place->summary, row, newest);
    return (measured + predicted) / 2 >= LARGE_SHARE || measured >= LARGE_ALONE || predicted >= LARGE_ALONE;
}

/* True if a row on which the claim can be tested counts. Modelled machines may lack a prediction. */
static bool belongs(const struct lab *lab, int at, const struct claim_file *file, int claim_row, int row)
{
    const struct place *place = &lab->places[at];
    const struct claim claim = claim_read(file, claim_row);
    struct reading reading = { .table = &place->summary, .row = row };
    double q, v;
    expression_values(&reading, claim.quantity, claim.value, &q, &v);
    check_reading(&reading, lab, at, file, claim_row);
    const bool is_predicted = isfinite(csv_value(&place->summary, row, "predicted_then_ms"));
    return reading.trouble == NO_TROUBLE && is_predicted && is_large_part(place, &claim, row, v);
}

static struct judgement judge_together(const struct lab *lab, int at, const struct claim_file *file, int claim_row)
{
    const struct place *place = &lab->places[at];
    struct judgement j = {
        .claim = claim_read(file, claim_row), .row = ROW_ALL, .verdict = UNTESTABLE, .rounds_to_notice = -1
    };
    struct rows rows = { .at = memory_new((size_t)place->summary.rows + 1, sizeof *rows.at) };
    const char *lacks = NULL;
    bool is_tested = false;
    for (int row = 0; row < place->summary.rows; row++) {
        const char *unmet = needs_unmet(lab, &place->summary, row, &j.claim);
        if (claim_leaves_out(&j.claim, csv_field(&place->summary, row, "case")))
            continue;
        lacks = unmet ? unmet : lacks;
        is_tested |= !unmet;
        if (!unmet && belongs(lab, at, file, claim_row, row))
            rows.at[rows.count++] = row;
    }
    if (rows.count == 0)
        snprintf(j.reason, sizeof j.reason, "%s",
                 is_tested || !lacks ? "too small a part of the step in every case" : lacks);
    else if (judge_by_rounds(place, &j, rows))
        j.verdict = verdict_of_evidence(&j);
    free(rows.at);
    return j;
}

/* --- all claims -------------------------------------------------------------------------------------------------- */

/* Judge a claim for each case that it is about, and keep what the caller wants. */
static void judge_claim(struct lab *lab, int at, const struct claim_file *file, int claim_row, bool gate)
{
    struct place *place = &lab->places[at];
    const struct claim claim = claim_read(file, claim_row);
    const bool is_kept = !gate || claim_must_hold(&claim), is_every = strcmp(claim.name, "*") == 0;
    if (claim_is_together(&claim)) {
        if (is_kept)
            place->judgements[place->count++] = judge_together(lab, at, file, claim_row);
        return;
    }
    const int first = is_every ? 0 : csv_find(&place->summary, "case", claim.name),
              last = is_every ? place->summary.rows - 1 : first;
    for (int row = first; row <= last; row++) {
        const struct judgement j = judge(lab, at, file, claim_row, row);
        if (is_kept)
            place->judgements[place->count++] = j;
    }
}

void judge_place(struct lab *lab, int at, bool gate)
{
    struct place *place = &lab->places[at];
    const int own = lab->claims.table.rows, every = lab->every_claim ? lab->every_claim->table.rows : 0;
    place->judgements = memory_new((size_t)((own + every) * (place->summary.rows + 1)) + 1, sizeof *place->judgements);
    for (int row = 0; row < own; row++)
        judge_claim(lab, at, &lab->claims, row, gate);
    for (int row = 0; row < every; row++)
        if (claim_find(&lab->claims, claim_read(lab->every_claim, row).id) < 0)
            judge_claim(lab, at, lab->every_claim, row, gate);
}

/* --- verdicts on time -------------------------------------------------------------------------------------------- */

int judge_count_tests(const struct place *place)
{
    int count = 0;
    for (int i = 0; i < place->count; i++)
        count += place->judgements[i].evidence.rounds > 0;
    return count;
}

/* Wider changes of the machine's speed excuse wrong claims. */
static const double WIDEST_DRIFT = 1.5;

/* Change the verdict to DISTURBED where other programs, the host or a change of speed may have caused it. `drift`: rounds_drift(). */
static void excuse(const struct place *place, struct judgement *j, double drift)
{
    static const double LARGEST_SHARE = 0.25;
    const bool is_wrong = j->verdict == WRONG;
    const int launch = place->rounds.count / place->rounds.launches; /* rounds that one more launch brings */
    if (j->verdict == DISTURBED || (is_wrong && j->disturbed_share > LARGEST_SHARE)) {
        j->verdict = DISTURBED;
        j->more_rounds = launch;
        snprintf(j->reason, sizeof j->reason, "other programs or the virtual machine's host had %.0f %% of the core",
                 100 * j->taken_share);
    } else if (is_wrong && drift > WIDEST_DRIFT) {
        j->verdict = DISTURBED;
        j->drift = drift;
        snprintf(j->reason, sizeof j->reason, "the machine's speed changed by a factor of %.1f", drift);
    }
}

/* Return a number of rounds of the claim as rounds of the lab: disturbed rounds do not count for a claim, and a case may be
 * measured once per launch. */
static int rounds_of_lab(const struct place *place, const struct judgement *j, int more)
{
    if (more > VERDICT_ROUNDS_MOST)
        return more;
    double needed = ceil((double)more * place->rounds.count / j->evidence.rounds);
    return (int)fmin(needed, VERDICT_ROUNDS_MOST + 1);
}

static void give_reason(const struct place *place, struct judgement *j, struct noise noise, struct quantiles *quantiles)
{
    j->more_rounds = rounds_of_lab(place, j, verdict_more_rounds(&j->evidence, noise, quantiles));
    if (j->more_rounds > VERDICT_ROUNDS_MOST)
        snprintf(j->reason, sizeof j->reason, "more than %d further rounds would tell", VERDICT_ROUNDS_MOST);
    else
        snprintf(j->reason, sizeof j->reason, "%sabout %d more round%s would tell",
                 j->evidence.rounds == 1 ? "measured only once, " : "", j->more_rounds, j->more_rounds == 1 ? "" : "s");
}

void judge_decide(struct place *place, int tests)
{
    const struct evidence **all = memory_new((size_t)place->count + 1, sizeof *all);
    int count = 0;
    for (int i = 0; i < place->count; i++)
        if (place->judgements[i].evidence.rounds > 0)
            all[count++] = &place->judgements[i].evidence;
    struct noise *noises = memory_new((size_t)count + 1, sizeof *noises), *noise = noises;
    verdict_noise(noises, all, count);
    struct quantiles quantiles = { .tests = tests };
    const double drift = count > 0 ? rounds_drift(&place->rounds) : 1;
    for (int i = 0; i < place->count; i++) {
        struct judgement *j = &place->judgements[i];
        if (j->evidence.rounds > 0) {
            j->verdict = verdict_of(&j->evidence, *noise, &quantiles, &j->distance);
            if (j->verdict == TOO_NOISY)
                give_reason(place, j, *noise, &quantiles);
            if (claim_is_together(&j->claim) && j->verdict != WRONG)
                j->rounds_to_notice =
                    rounds_of_lab(place, j,
                                  drift > WIDEST_DRIFT ? VERDICT_ROUNDS_MOST + 1
                                                       : verdict_rounds_to_notice(&j->evidence, *noise, &quantiles));
            noise++;
        }
        if (j->verdict == DISTURBED || j->evidence.rounds > 0)
            excuse(place, j, drift);
    }
    free(noises);
    free(all);
}
