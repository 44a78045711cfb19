/* peers: messages from one rank to another, of which an all-reduce is made; and how many there were. collective.h has the
 * library's all-reduces, which count nothing.
 *
 * Messages between two ranks arrive in the order in which they were sent. */
#ifndef LOCKSTEP_PEERS_H
#define LOCKSTEP_PEERS_H

#include <stddef.h>

struct world;
struct peers;

/* all: the ranks of this world, to be told by their numbers in it. */
struct peers *peers_open(struct world *world);
void peers_close(struct peers *peers);

int peers_rank(const struct peers *peers);
int peers_count(const struct peers *peers);

/* Floats of device memory, `count` of them; both sides must name as many. Returns when what was sent may be written to again,
 * and what is received is there. Of no floats no message is made, on either side. */
void peers_send(struct peers *peers, int to, const float *send, size_t count);
void peers_receive(struct peers *peers, int from, float *receive, size_t count);

/* Both at once, so that ranks that send to each other, or in a circle, wait for nobody who waits for them. */
void peers_pass(struct peers *peers, int to, const float *send, size_t sent, int from, float *receive, size_t received);

/* What this rank has sent and received since it was last asked. */
struct traffic {
    double sent_bytes, received_bytes;
    int sent_messages, received_messages;
};
struct traffic peers_traffic(struct peers *peers);

#endif
