#include "gpu/beside_cpu.h"

#include "base/memory.h"
#include "device/device.h"
#include "support/unit.h"
#include "world/world.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *module_path;
static void *module;
static uint64_t bits;

double world_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void (*cpu_function(const char *name))(void)
{
    void *found = dlsym(module, name);
    void (*function)(void);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(&function, &found, sizeof function);
    return function;
}

/* RTLD_LOCAL keeps equal names apart; RTLD_LAZY leaves unused functions of a world unresolved. */
static void load_cpu(const char *path)
{
    module_path = path;
    module = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!module) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    cpu(device_open)(0, PRECISION_FP32);
}

void digest(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++)
        bits = (bits ^ byte[i]) * 0x100000001b3u;
}

static uint64_t digest_of(void (*compute)(void))
{
    bits = 0xcbf29ce484222325u;
    compute();
    return bits;
}

int run_with(const char *setting, char line[64])
{
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    char *command = memory_text("%s '%s' '%s' bits", setting, self, module_path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    line[0] = '\0';
    (void)!fgets(line, 64, pipe);
    free(command);
    return WEXITSTATUS(pclose(pipe));
}

void assert_same_bits(void (*compute)(void))
{
    const uint64_t here = digest_of(compute); /* the second time in this process, for a new one the first */
    for (int order = 1; order <= 2; order++) {
        char line[64], *setting = memory_text("LOCKSTEP_CUDA_ORDER=%d", order);
        assert_int_equal(run_with(setting, line), 0);
        assert_true(strtoull(line, NULL, 16) == here);
        free(setting);
    }
}

int beside_cpu_main(int count, char **argument, void (*compute)(void))
{
    if (count < 2 || count > 3) {
        fprintf(stderr, "usage: %s CPU_MODULE [bits]\n", argument[0]);
        return 2;
    }
    load_cpu(argument[1]); /* first, since it sets denormals to zero, a mode that the stand-in's threads inherit */
    device_open(0, PRECISION_FP32);
    int failed = 0;
    if (count == 3) {
        printf("%llx\n", (unsigned long long)digest_of(compute));
    } else {
        printf("%s; products by %s\n", device_about(), device_kernel());
        failed = unit_run(NULL);
    }
    device_close();
    return failed != 0;
}
