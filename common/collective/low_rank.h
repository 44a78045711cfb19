/* low_rank: sends a matrix of gradients as the product of two vectors: PowerSGD of rank 1 (Vogels et al., "PowerSGD", NeurIPS 2019;
 * PyTorch's powerSGD_hook). For each matrix G of K x N gradients, and a vector q (N) that all ranks share:
 *
 *     1  G += E            what earlier steps did not send (error feedback)
 *     2  p = G q           sum p over the ranks, then p = p / |p|
 *     3  q = G^T p         sum q over the ranks
 *     4  G = p q^T         the sum over ranks, on all ranks to the bit; q is the next step's
 *     5  E = G of 1 - G of 4 / ranks
 *
 * So K + N floats travel instead of K x N, in two sums, the second of which needs the first one's result. The errors of all ranks
 * together are what is still to be sent: over the steps, sent + error = the sum of all gradients. Vectors, such as a bias, travel as
 * they are, with p. */
#ifndef LOCKSTEP_LOW_RANK_H
#define LOCKSTEP_LOW_RANK_H

#include "collective/buckets.h"
#include "model/model.h"

struct low_rank;
struct low_rank *low_rank_open(const struct model *model, int ranks);
void low_rank_close(struct low_rank *low_rank);
double low_rank_memory(const struct workload *workload); /* bytes */

/* Forget all errors, and draw q from the model's seed. */
void low_rank_restart(struct low_rank *low_rank);

/* Floats of a bucket that travel in the first sum and in the second one. */
struct low_rank_floats {
    size_t first, second;
};
struct low_rank_floats low_rank_floats(const struct model_tensor *tensors, const struct bucket *bucket);

/* Compute p of a bucket's gradients and return the operation that sums it in place; then the same for q; then compute the gradients. */
struct collective_op low_rank_first(struct low_rank *low_rank, const struct bucket *bucket);
struct collective_op low_rank_second(struct low_rank *low_rank, const struct bucket *bucket);
void low_rank_end(struct low_rank *low_rank, const struct bucket *bucket);

/* Return E (count of the model), which is zero for tensors that are vectors. */
const float *low_rank_error(const struct low_rank *low_rank);

#endif
