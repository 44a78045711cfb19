/* moments_file: an optimizer's two moments in a file instead of in memory. The update of a part reads those of the part, changes them, and
 * writes them back. The kernel keeps the file's pages in its cache as long as it has memory for them.
 *
 * Where nothing is computed, nothing is read either; the time passes that the host's property MOMENTS_FILE_COST demands. */
#ifndef LOCKSTEP_MOMENTS_FILE_H
#define LOCKSTEP_MOMENTS_FILE_H

#include <stddef.h>

struct moments_file;

#define MOMENTS_FILE_COST "moments_file_s" /* of a MB of moments, read and written back (own_cost.h) */

/* Make the file in `folder`, without a name: it ends with the process. Moments of parts up to `most` floats fit into the memory beside it. On an
 * error these functions end the program. */
struct moments_file *moments_file_open(const char *folder, size_t most);
void moments_file_close(struct moments_file *file); /* NULL is allowed */

/* Set all moments to 0. */
void moments_file_clear(struct moments_file *file);

/* Read both moments of the parameters from `begin` (count) into device memory (count, then count again), and return it; write it back. */
float *moments_file_read(struct moments_file *file, size_t begin, size_t count);
void moments_file_write(struct moments_file *file, size_t begin, size_t count);

#endif
