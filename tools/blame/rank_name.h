/* rank_name: the rank in a file's name, for files that do not say it themselves: dumps of flight recorders, and traces of older
 * profilers.
 *
 *     trace_rank12.json, rank-3.json.gz    the number behind the last `rank`, with `_` or `-` between or nothing
 *     dump7, worker_2.json                 else the last number before the name's first dot
 *     node1_4567.17004.pt.trace.json       none: tensorboard_trace_handler() writes its process number there */
#ifndef LOCKSTEP_RANK_NAME_H
#define LOCKSTEP_RANK_NAME_H

enum { RANK_MOST = 1000000 };

/* Return the rank in the name of the file at `path`, -1 if it has none or one above RANK_MOST. Folders do not count. */
int rank_of_name(const char *path);

/* Return the number that begins with these digits, -1 if it is above RANK_MOST. */
int rank_of_digits(const char *digits);

#endif
