#include "model/moments_file.h"

#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "device/device.h"
#include "options/work.h"
#include "world/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct moments_file {
    struct file file;
    const char *folder;
    struct device_staging_buffer part; /* both moments of a part */
};

struct moments_file *moments_file_open(const char *folder, size_t most)
{
    struct moments_file *f = memory_new(1, sizeof *f);
    char *name =
        memory_text("moments.%" PRIxPTR, (uintptr_t)f); /* of this rank alone, also where ranks share a process */
    f->folder = folder;
    f->file = file_begin(folder, name);
    f->part = device_staging_buffer_open(MEMORY_MOMENTS, 2 * most, sizeof(float));
    free(name);
    return f;
}

void moments_file_close(struct moments_file *f)
{
    if (!f)
        return;
    file_drop(&f->file);
    device_staging_buffer_close(&f->part);
    free(f);
}

static _Noreturn void give_up(const struct moments_file *f, const char *what)
{
    die(STATUS_WRONG, "moments in a file of %s cannot be %s: %s; choose a folder with room by --out", f->folder, what,
        strerror(errno));
}

void moments_file_clear(struct moments_file *f)
{
    if (ftruncate(fileno(f->file.out), 0) != 0)
        give_up(f, "cleared");
}

/* Return the bytes of both moments of `count` parameters: also the offset of the next parameter's moments. */
static size_t bytes_of(size_t count)
{
    return 2 * count * sizeof(float);
}

/* Read or write all bytes. What was never written is 0. */
static void move(struct moments_file *f, bool writes, size_t at, size_t bytes)
{
    const int file = fileno(f->file.out);
    char *memory = f->part.host;
    while (bytes > 0) {
        const ssize_t moved = writes ? pwrite(file, memory, bytes, (off_t)at) : pread(file, memory, bytes, (off_t)at);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            give_up(f, writes ? "written" : "read");
        if (moved == 0) { /* behind the end */
            memset(memory, 0, bytes);
            return;
        }
        memory += moved;
        at += (size_t)moved;
        bytes -= (size_t)moved;
    }
}

float *moments_file_read(struct moments_file *f, size_t begin, size_t count)
{
    if (device_computes()) {
        move(f, false, bytes_of(begin), bytes_of(count));
        device_deliver(&f->part, bytes_of(count));
    }
    return f->part.device;
}

void moments_file_write(struct moments_file *f, size_t begin, size_t count)
{
    if (!device_computes()) {
        world_burn_cpu(world_property_number(WORK_OWN_COST MOMENTS_FILE_COST, 0) * (double)bytes_of(count) / 1e6);
        return;
    }
    if (!device_is_host_accessible())
        device_fetch(f->part.host, f->part.device, bytes_of(count));
    move(f, true, bytes_of(begin), bytes_of(count));
}
