/* moments_file: an optimizer's two moments in a file instead of in memory. The update of a part reads those of the part, changes them, and
 * writes them back. The kernel keeps the file's pages in its cache as long as it has memory for them.
 *
 * On a modelled machine nothing is read; the write takes the time that the platform file says (MOMENTS_FILE_COST). */
#ifndef LOCKSTEP_MOMENTS_FILE_H
#define LOCKSTEP_MOMENTS_FILE_H

#include <stddef.h>

struct moments_file;

#define MOMENTS_FILE_COST "moments_file_s" /* seconds: 10^6 bytes of moments, read and written back (own_cost.h) */

/* Make the file in `folder`, a text that stays, without a name: it ends with the process. All moments are 0. Memory beside it has those
 * of a part, of at most `most` parameters. Each rank has a file of its own, used by one thread. On an error, such as a full disk, these
 * functions end the program. */
struct moments_file *moments_file_open(const char *folder, size_t most);
void moments_file_close(struct moments_file *file); /* NULL is allowed */

/* Set all moments to 0. */
void moments_file_clear(struct moments_file *file);

/* Read both moments of the parameters from `begin` (count) into device memory: first (count), then second (count). Return it. Then write
 * it back, after the device has changed it; before the next read. A part must be the same in each step. */
float *moments_file_read(struct moments_file *file, size_t begin, size_t count);
void moments_file_write(struct moments_file *file, size_t begin, size_t count);

#endif
