/* chain: waiting that passes from rank to rank.
 *
 * Where all ranks call the same collectives, the last to arrive is the cause. In a pipeline, or between groups, a rank may come last
 * because it waited itself, for a message or in another group; and a stage without a message waits by design. Only a replay
 * of the steps shows the cause there (analysis/what_if.h): the rank that, as fast as the others, makes the step shorter. */
#ifndef LOCKSTEP_CHAIN_H
#define LOCKSTEP_CHAIN_H

#include "report/run_report.h"
#include "spans_file.h"

/* True if ranks send each other messages, and it is known which. */
bool chain_has_messages(const struct timeline *timeline);

/* Forget the blamed rank of an outcome if its calls belong to several groups, or are messages, and the replays show that it came late
 * only because it waited: as fast as the others, it would save less than a quarter of the waiting that it is charged with. Return why,
 * one line, or NULL. Free it. */
char *chain_withdraw(const struct spans_case *of, struct outcome *outcome);

#endif
