/* peers: messages from one rank to another, of which an all-reduce is made; and how many there were. collective.h has the
 * library's all-reduces, which count nothing.
 *
 * Messages between two ranks arrive in the order in which they were sent. */
#ifndef LOCKSTEP_PEERS_H
#define LOCKSTEP_PEERS_H

#include <stddef.h>

struct world;
struct p2p;

/* all: the ranks of this world, to be told by their numbers in it. */
struct p2p *p2p_open(struct world *world);
void p2p_close(struct p2p *peers);

int p2p_rank(const struct p2p *peers);
int p2p_count(const struct p2p *peers);

/* Floats of device memory, `count` of them; both sides must name as many. Returns when what was sent may be written to again,
 * and what is received is there. Of no floats no message is made, on either side. */
void p2p_send(struct p2p *peers, int to, const float *send, size_t count);
void p2p_receive(struct p2p *peers, int from, float *receive, size_t count);

/* Both at once, so that ranks that send to each other, or in a circle, wait for nobody who waits for them. */
void p2p_pass(struct p2p *peers, int to, const float *send, size_t sent, int from, float *receive, size_t received);

/* What this rank has sent and received since it was last asked. */
struct traffic {
    double sent_bytes, received_bytes;
    int sent_messages, received_messages;
};
struct traffic p2p_traffic(struct p2p *peers);

#endif
