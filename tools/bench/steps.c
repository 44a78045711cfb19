/* A training step against its floor (ranks/ranks_steps.c). A process first finds the fastest kernel and layout of each product,
 * once for all starts: that takes longer than to time them. */
#include "jobs.h"

#include "base/die.h"
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void bench_steps(struct bench *bench)
{
    int file = memfd_create("lockstep-products", MFD_CLOEXEC);
    char *products = memory_text("/proc/%d/fd/%d", (int)getpid(), file);
    rows_heading("A training step");
    struct ending found = jobs_run(bench, &(struct ranks_job){ .name = "products", .ranks = 1, .products = products });
    if (found.status == STATUS_RIGHT)
        jobs_add_rows(bench, &(struct ranks_job){ .name = "steps", .ranks = 1, .products = products });
    free(products);
    close(file);
}
