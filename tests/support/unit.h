/* unit.h: tests that register themselves, with cmocka. A file of tests consists of functions
 *
 *     TEST(a_name_that_says_what_holds) { assert_true(…); }
 *     TEST_IN_FOLDER(…) { … *state … }      in a new empty folder, whose path is *state
 *     AROUND_TESTS(open, close)             functions to call before the first and after the last test of this file; NULL: none
 *
 * which run in the order in which they stand. unit_main.c has main(); a file with a main() of its own calls unit_run(). */
#ifndef LOCKSTEP_UNIT_H
#define LOCKSTEP_UNIT_H

#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Add a test of this file, or set its functions. Called before main(). */
void unit_add(const char *file, struct CMUnitTest test);
void unit_around(const char *file, void (*open)(void), void (*close)(void));

/* Run the tests of the file test_NAME.c, or of the only file if `name` is NULL. Return how many failed, 2 if there is no such file. */
int unit_run(const char *name);

#define UNIT_REGISTER(name) __attribute__((constructor)) static void name(void)

#define UNIT_TEST(name, setup, teardown)                                                                               \
    static void name(void **state);                                                                                    \
    UNIT_REGISTER(add_##name)                                                                                          \
    {                                                                                                                  \
        unit_add(__FILE__, (struct CMUnitTest){ #name, name, setup, teardown, NULL });                                 \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state)
#define TEST(name)           UNIT_TEST(name, NULL, NULL)
#define TEST_IN_FOLDER(name) UNIT_TEST(name, make_folder, remove_folder)

#define AROUND_TESTS(open, close)                                                                                      \
    UNIT_REGISTER(add_around)                                                                                          \
    {                                                                                                                  \
        unit_around(__FILE__, open, close);                                                                            \
    }

#endif
