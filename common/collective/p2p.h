/* p2p: point-to-point messages, from which an all-reduce by hand is made, and their count. The library's all-reduces
 * (collective.h) are not counted.
 *
 * Messages between two ranks arrive in the order in which they were sent. */
#ifndef LOCKSTEP_P2P_H
#define LOCKSTEP_P2P_H

#include <stddef.h>

struct world;
struct p2p;

/* all: open point-to-point messages among the ranks of this world. */
struct p2p *p2p_open(struct world *world);
void p2p_close(struct p2p *p2p);

int p2p_rank(const struct p2p *p2p);
int p2p_count(const struct p2p *p2p);

/* Send or receive `count` floats of device memory; both ranks must give the same count. Return when `send` may be overwritten and
 * the received floats are there. With a count of 0 neither rank makes a message. */
void p2p_send(struct p2p *p2p, int to, const float *send, size_t count);
void p2p_receive(struct p2p *p2p, int from, float *receive, size_t count);

/* Send and receive at once, so that ranks that exchange messages, or pass them round a ring, do not deadlock. */
void p2p_pass(struct p2p *p2p, int to, const float *send, size_t sent, int from, float *receive, size_t received);

/* Traffic of this rank since the last call. */
struct traffic {
    double sent_bytes, received_bytes;
    int sent_messages, received_messages;
};
struct traffic p2p_traffic(struct p2p *p2p);

#endif
