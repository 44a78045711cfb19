#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MOST = 64, TESTS_MOST = 128 };

/* The tests of a file, in their order. */
struct unit {
    const char *file;
    void (*open)(void), (*close)(void);
    struct CMUnitTest tests[TESTS_MOST];
    size_t count;
};

/* Constructors have no argument through which a caller could pass this. */
static struct unit units[FILES_MOST];
static size_t unit_count;

static struct unit *unit_of(const char *file)
{
    for (size_t i = 0; i < unit_count; i++)
        if (strcmp(units[i].file, file) == 0)
            return &units[i];
    if (unit_count == FILES_MOST)
        abort();
    units[unit_count].file = file;
    return &units[unit_count++];
}

void unit_add(const char *file, struct CMUnitTest test)
{
    struct unit *unit = unit_of(file);
    if (unit->count == TESTS_MOST)
        abort();
    unit->tests[unit->count++] = test;
}

void unit_around(const char *file, void (*open)(void), void (*close)(void))
{
    struct unit *unit = unit_of(file);
    unit->open = open;
    unit->close = close;
}

/* True if the path ends with /test_NAME.c. */
static bool is_named(const char *path, const char *name)
{
    const char *base = strrchr(path, '/');
    const size_t length = strlen(name);
    base = base ? base + 1 : path;
    return strncmp(base, "test_", 5) == 0 && strncmp(base + 5, name, length) == 0 &&
           strcmp(base + 5 + length, ".c") == 0;
}

int unit_run(const char *name)
{
    const struct unit *unit = !name && unit_count == 1 ? &units[0] : NULL;
    for (size_t i = 0; name && i < unit_count; i++)
        if (is_named(units[i].file, name))
            unit = &units[i];
    if (!unit) {
        fprintf(stderr, "%s: name a file of tests:\n", name ? name : "no name");
        for (size_t i = 0; i < unit_count; i++)
            fprintf(stderr, "  %s\n", units[i].file);
        return 2;
    }
    if (unit->open)
        unit->open();
    const int failed = _cmocka_run_group_tests(unit->file, unit->tests, unit->count, NULL, NULL);
    if (unit->close)
        unit->close();
    return failed;
}
