/* for_simulator.c: a library for AddressSanitizer under SimGrid, which is built without it. Loaded before the sanitizer
 * (smpirun.in).
 *
 * SMPI loads a copy of the program per rank with RTLD_DEEPBIND. The sanitizer refuses this flag, since the copy would find
 * the C library's malloc() before the sanitizer's. Our modules do not need the flag: data that each copy must have for
 * itself is static, or has a name that no earlier module has.
 *
 * SimGrid allocates the stack of a rank. Before a call that does not return, the sanitizer unpoisons the thread's stack up
 * to its end and reports an error, since the rank runs on another stack. A rank makes such a call only at its end. Its
 * stack is freed afterwards, which unpoisons it, too. */
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
