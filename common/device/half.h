/* half: an operation on tensors (rows, cols) with half of its bytes, or half of its arithmetic, taken away. Labs run a branch so for a
 * few steps to see what its bytes and its arithmetic cost: what bounds a step is what shortens it.
 *
 *     HALF_BYTES   the second half of the rows (of a single row: of the columns) stays untouched; each cell of the first half is
 *                  computed twice, the second time in the core's own cache. As much arithmetic, half the bytes. Values are those of
 *                  tensors with half the rows.
 *     HALF_FLOPS   of every 512 cells of a row, 256 are computed, of the rest of a row half; the others are copied from a tensor that
 *                  the operation reads. Each tensor is read and written as before, with half the arithmetic. On a core a copied cell
 *                  takes about as long as one of RELU or of a sum: only operations that compute more than that become shorter.
 *
 * On fewer than 512 cells a second loop takes longer than it saves, so callers leave such operations whole. What is odd rounds up. 256
 * floats are 16 cache lines: few enough to wait in the cache, and enough that a loop's start does not count. */
#ifndef LOCKSTEP_HALF_H
#define LOCKSTEP_HALF_H

#include <stdbool.h>
#include <stddef.h>

enum half { HALF_NONE, HALF_BYTES, HALF_FLOPS };
enum { HALF_GROUP = 256 };

/* Return the number of cells of a tensor that are touched. */
static inline size_t half_touched(enum half half, size_t rows, size_t cols)
{
    if (half != HALF_BYTES)
        return rows * cols;
    return rows == 1 ? cols - cols / 2 : (rows - rows / 2) * cols;
}

/* Return the number of cells that are computed; those computed twice count twice. */
static inline size_t half_computed(enum half half, size_t rows, size_t cols)
{
    return half == HALF_FLOPS ? rows * (cols - cols / 2) : rows * cols;
}

/* Some cells, and how often to compute them; 0: move them only. */
struct half_part {
    size_t first, end;
    int times;
    size_t row; /* HALF_FLOPS: where the row begins */
};

/* Set *part to what follows it in a tensor of HALF_FLOPS: cells to compute, then as many to move. */
static inline void half_pair(struct half_part *part, size_t cols)
{
    const size_t row = part->end - part->row == cols ? part->end : part->row, first = part->end, at = first - row,
                 pair = at & ~(size_t)(2 * HALF_GROUP - 1), left = cols - pair,
                 size = left < 2 * HALF_GROUP ? left : 2 * HALF_GROUP, middle = row + pair + size - size / 2;
    const struct half_part next = { first, first < middle ? middle : row + pair + size, first < middle, row };
    *part = next;
}

/* Set *part to what follows it; begin with { 0 }. False: there is no more. A part has at most `group` cells, unless HALF_FLOPS. */
static inline bool half_next(struct half_part *part, enum half half, size_t rows, size_t cols, size_t group)
{
    const size_t first = part->end, touched = half_touched(half, rows, cols);
    if (first >= touched)
        return false;
    if (half == HALF_FLOPS) {
        half_pair(part, cols);
        return true;
    }
    const size_t twice = half == HALF_BYTES ? rows * cols - touched : 0, limit = first < twice ? twice : touched,
                 most = half == HALF_BYTES && group > HALF_GROUP ? (size_t)HALF_GROUP : group;
    const struct half_part next = { first, limit - first > most ? first + most : limit, first < twice ? 2 : 1, 0 };
    *part = next;
    return true;
}

/* Keep the compiler from dropping one of two computations of the same cells. Call it between them. */
static inline void half_again(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Keep the compiler from dropping what was computed into an array that is not used. */
static inline void half_use(const void *array)
{
    __asm__ volatile("" : : "r"(array) : "memory");
}

#endif
