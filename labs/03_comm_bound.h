/* 03_comm_bound: settings of lab 03; what its step (03_comm_bound.c), messages, formula and table share. */
#ifndef LOCKSTEP_LAB_03_H
#define LOCKSTEP_LAB_03_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model;
    int comm_mb;   /* the extra message */
    int bucket_mb; /* most of it that a bucket holds */
    int every;     /* the k of the fix */
    int sweep_mb;  /* the largest message of the sweep */
    /* Set by the variants: */
    bool has_message;     /* the extra message */
    bool is_fresh;        /* its buffer is mapped and filled in every step */
    bool overlaps;        /* in buckets, started during backward */
    bool calls_library;   /* the library is called after each layer */
    int gradient_buckets; /* of the model's own gradients, started during backward; 0: one sum after backward */
    enum element_type wire;
};

/* Elements of the extra message, and of a bucket. */
size_t message_floats(const struct options *o);
size_t bucket_floats(const struct options *o);

/* Cut the extra message into buckets, as if backward computed it evenly. */
struct buckets cut_message(const struct options *o);

/* Buckets of the model's own gradients: none, one, or two as in DDP, the last layer alone and all others together. */
struct buckets cut_own(const struct options *o);

/* Buffers of the extra message and of bf16, and the started sums. */
struct buffers {
    float *kept;                 /* (message) */
    float kept_value;            /* of all its elements; INFINITY: not filled yet */
    float *fresh;                /* (message) mapped anew in each step, or NULL */
    uint16_t *narrow;            /* (message or gradients, the larger) */
    struct started_sums started; /* of the message */
    struct reducer *own;         /* sums the model's own gradients in buckets */
};

struct buffers buffers_open(const struct options *o, struct model *model);
void buffers_close(struct buffers *b, const struct options *o);

/* Reset the buffers, so that every block begins with the same contents. `collective`: that of the block. */
void buffers_restart(struct buffers *b, const struct options *o, struct collective *collective);

/* Return the kept message, to be summed in place. Each sum multiplies its value by the ranks, so it begins small. It is refilled
 * before it overflows: in the warm-up, and then once in dozens of steps. */
float *next_message(struct buffers *b, size_t count, int ranks);

/* Release the last step's message and fill a new one. The release waits until now: a virtual machine may give pages that are free
 * for a second or two to its host, and to get them back takes many times as long. */
float *renew(float *fresh, size_t count);

/* Sum over ranks, as fp32 or rounded to bf16. */
void sum_in_place(struct collective *collective, enum element_type wire, struct buffers *b, float *terms, size_t count);

/* Run backward, and start the buckets that each layer completes. */
void backward_and_start_buckets(struct collective *collective, const struct options *o, struct buffers *b,
                                struct trainer *t, const struct batch *batch);
void finish_buckets(struct collective *collective, const struct options *o, struct buffers *b);

/* Exposed seconds of all sums started during backward. `passes`: seconds of forward and backward, without contention. A network
 * that needs no core carries the sums meanwhile; ranks that must move the bytes themselves begin at the end. */
double exposed_seconds(const struct options *o, const struct card *card, double passes);

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);

/* Costs that the lab adds to the machine card, among them by how much longer a rank computes after a message that fills the caches, of
 * so many bytes or more. */
#define FLUSHED_COST   "flushed_s"
#define FLUSHING_BYTES (24.0 * MIB)
extern const struct own_cost own_costs[];

/* Tables sweep.csv and exposed.csv. */
extern const struct lab_table tables[];

#endif
