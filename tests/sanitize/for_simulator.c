/* for_simulator: what AddressSanitizer must be spared in a simulator that knows nothing of it. Loaded before it (smpirun.in).
 *
 * SMPI loads a copy of the program per rank with RTLD_DEEPBIND, which the sanitizer refuses, as the copy would find the C
 * library's malloc() before the sanitizer's. Our modules do without: what a copy must have for itself is static in it or
 * named nowhere before it.
 *
 * A rank has a stack of SimGrid's making. Before a call that does not return, the sanitizer clears what it knows of the
 * stack, as far as the thread's own, which is another, and complains. A rank makes such a call at its end; its stack is
 * freed after that, and clear again. */
#include <dlfcn.h>

void *dlopen(const char *file, int flags)
{
    union {
        void *object;
        void *(*function)(const char *file, int flags);
    } next = { dlsym(RTLD_NEXT, "dlopen") };
    return next.function(file, flags & ~RTLD_DEEPBIND);
}

void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
}
