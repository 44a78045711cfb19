/* test_files.c: test that files are whole or absent: on a full disk, in a deleted folder, and after killed programs. All
 * tests of writing run several times: on this file system, and as on file systems without unnamed files, renameat2() or
 * hard links. */
#include "base/files.h"

#include "base/die.h"
#include "base/folders.h"
#include "base/memory.h"
#include "report/prompt.h"
#include "support/ending.h"
#include "support/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

/* --- file systems without some features ------------------------------------------------------------------------- */

/* True if files need a name (no O_TMPFILE), if they get no second name (no links or swaps), if they cannot be swapped. */
static bool are_named, are_alone, are_unswapped;

/* These functions replace those of the C library. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (are_named && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (are_alone) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    if (are_alone || are_unswapped) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* Number of the next rename() that fails, counted from 1; 0: none fails. */
static int failing_rename;

int rename(const char *from, const char *to)
{
    if (failing_rename > 0 && --failing_rename == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* --- one file --------------------------------------------------------------------------------------------------- */

static void assert_file_is(const char *folder, const char *name, const char *expected)
{
    char *path = memory_text("%s/%s", folder, name), text[256] = "";
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    free(path);
    assert_string_equal(text, expected);
}

static int entries(const char *folder)
{
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    int count = 0;
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2; /* "." and ".." */
}

static void write_file(const char *folder, const char *name, const char *text)
{
    struct file file = file_begin(folder, name);
    fputs(text, file.out);
    file_commit(&file);
}

static void a_committed_file_leaves_no_temporary(void **state)
{
    write_file(*state, "summary.csv", "whole\n");
    assert_file_is(*state, "summary.csv", "whole\n");
    assert_int_equal(entries(*state), 1);
}

static void a_folder_is_made_for_the_file(void **state)
{
    char *folder = memory_text("%s/results/01 straggler", (const char *)*state);
    write_file(folder, "summary.csv", "whole\n");
    assert_file_is(folder, "summary.csv", "whole\n");
    free(folder);
}

static void the_old_file_stays_until_the_new_one_is_whole(void **state)
{
    write_file(*state, "summary.csv", "old\n");
    char *path = memory_text("%s/summary.csv", (const char *)*state), line[16] = "";
    FILE *reader = fopen(path, "r"); /* stays open while the file is replaced */
    free(path);
    assert_non_null(reader);

    struct file file = file_begin(*state, "summary.csv");
    fputs("new\n", file.out);
    fflush(file.out);
    assert_file_is(*state, "summary.csv", "old\n");
    file_commit(&file);
    assert_file_is(*state, "summary.csv", "new\n");
    assert_int_equal(entries(*state), 1);

    assert_non_null(fgets(line, sizeof line, reader)); /* the open file keeps its content */
    assert_string_equal(line, "old\n");
    fclose(reader);
}

/* Assert that the program prints one line that holds `part` and ends with STATUS_WRONG. */
static void assert_dies(void (*act)(const void *folder), const char *folder, const char *part)
{
    struct ending ending = ending_of(act, folder);
    const char *end = strchr(ending.err, '\n');
    assert_int_equal(ending.status, STATUS_WRONG);
    assert_true(end && end[1] == '\0');
    assert_holds(ending.err, part);
}

static void write_anything(const void *folder)
{
    write_file(folder, "summary.csv", "new\n");
}

static void a_folder_that_cannot_be_ends_the_program(void **state)
{
    write_file(*state, "file", "a regular file\n");
    char *folder = memory_text("%s/file/results", (const char *)*state);
    assert_dies(write_anything, folder, folder);
    assert_dies(write_anything, folder, strerror(ENOTDIR));
    free(folder);
    assert_file_is(*state, "file", "a regular file\n");
    assert_int_equal(entries(*state), 1);
}

/* Limit the size of files, as a substitute for a full disk. */
static void limit_files(void)
{
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ .rlim_cur = 1000, .rlim_max = 1000 });
}

static void write_too_much(const void *folder)
{
    limit_files();
    struct file file = file_begin(folder, "summary.csv");
    for (int i = 0; i < 10000; i++)
        fputs("far too much\n", file.out);
    file_commit(&file);
}

static void on_a_full_disk_the_old_file_stays(void **state)
{
    write_file(*state, "summary.csv", "old\n");
    assert_dies(write_too_much, *state, "summary.csv");
    assert_dies(write_too_much, *state, strerror(EFBIG));
    assert_file_is(*state, "summary.csv", "old\n");
    assert_int_equal(entries(*state), 1);
}

static void a_place_that_is_a_folder_is_not_replaced(void **state)
{
    char *folder = memory_text("%s/summary.csv/inside", (const char *)*state);
    assert_int_equal(file_make_folder(folder), 0);
    free(folder);
    assert_dies(write_anything, *state, "summary.csv");
    assert_int_equal(entries(*state), 1);
}

/* --- sets ------------------------------------------------------------------------------------------------------- */

static void put_three(struct file_set *set, const char *folder, const char *text)
{
    static const char *const names[] = { "a.csv", "b.csv", "c.csv" };
    for (size_t i = 0; i < 3; i++)
        fputs(text, file_set_begin(set, folder, names[i]));
}

static void write_three(const char *folder, const char *text)
{
    struct file_set set = { 0 };
    put_three(&set, folder, text);
    file_set_commit(&set);
    assert_int_equal(set.count, 0);
}

static void assert_three_are(const char *folder, const char *text)
{
    assert_file_is(folder, "a.csv", text);
    assert_file_is(folder, "b.csv", text);
    assert_file_is(folder, "c.csv", text);
}

static void files_of_a_set_take_their_places_together(void **state)
{
    write_three(*state, "old\n");
    struct file_set set = { 0 };
    put_three(&set, *state, "new\n");
    assert_three_are(*state, "old\n");
    file_set_commit(&set);
    assert_three_are(*state, "new\n");
    assert_int_equal(entries(*state), 3);
    put_three(&set, *state, "newer\n");
    file_set_drop(&set);
    file_set_commit(&set); /* an empty set */
    assert_three_are(*state, "new\n");
    assert_int_equal(entries(*state), 3);
}

static void write_a_set_too_large(const void *folder)
{
    struct file_set set = { 0 };
    put_three(&set, folder, "new\n");
    limit_files();
    for (int i = 0; i < 10000; i++)
        fputs("far too much\n", set.files[2].out);
    file_set_commit(&set);
}

static void where_one_does_not_fit_all_of_the_old_set_stays(void **state)
{
    write_three(*state, "old\n");
    assert_dies(write_a_set_too_large, *state, "c.csv: File too large");
    assert_three_are(*state, "old\n");
    assert_int_equal(entries(*state), 3);
}

static void write_any_three(const void *folder)
{
    write_three(folder, "new\n");
}

/* Check that a set restores the files it has already replaced if the last one cannot be replaced. */
static void a_place_that_cannot_be_taken_gives_the_others_back(void **state)
{
    write_file(*state, "a.csv", "old\n"); /* and no b.csv */
    char *place = memory_text("%s/c.csv", (const char *)*state);
    assert_int_equal(mkdir(place, 0777), 0);
    assert_dies(write_any_three, *state, "c.csv: Is a directory");
    assert_file_is(*state, "a.csv", "old\n");
    assert_int_equal(entries(*state), 2);
    free(place);
}

/* Check that the old files stay if any one rename of a set fails. */
static void a_failed_rename_keeps_the_old_files(void **state)
{
    enum { RENAMES = 7 }; /* more than a set of three needs */
    for (int failing = 1; failing <= RENAMES; failing++) {
        write_three(*state, "old\n");
        failing_rename = failing;
        struct ending ending = ending_of(write_any_three, *state);
        failing_rename = 0;
        bool has_failed = ending.status == STATUS_WRONG;
        if (has_failed)
            assert_holds(ending.err, "what was there is untouched");
        assert_three_are(*state, has_failed ? "old\n" : "new\n");
        assert_int_equal(entries(*state), 3);
    }
}

/* Let several programs append lines to the same file at once. */
static void who_adds_to_a_file_waits_for_others(void **state)
{
    enum { PROGRAMS = 4, LINES = 25 };
    for (int p = 0; p < PROGRAMS; p++) {
        pid_t child = fork();
        assert_true(child >= 0);
        for (int i = 0; child == 0 && i < LINES; i++) {
            struct answer_log log;
            struct file_set set = { 0 };
            if (!prompt_open_log(&log, &set, *state, "guesses.csv"))
                _exit(1);
            fputs("a line\n", log.csv.out);
            file_set_commit(&set);
        }
        if (child == 0)
            _exit(0);
    }
    int status = 0;
    for (int p = 0; p < PROGRAMS; p++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    char *path = memory_text("%s/guesses.csv", (const char *)*state);
    size_t size = 0;
    free(file_read(path, &size));
    free(path);
    assert_int_equal(size, PROGRAMS * LINES * strlen("a line\n"));
    assert_int_equal(entries(*state), 1);
}

/* --- folders that change during a write ------------------------------------------------------------------------- */

static void a_folder_that_vanished_is_made_again(void **state)
{
    char *folder = memory_text("%s/results/lab", (const char *)*state);
    struct file_set set = { 0 };
    put_three(&set, folder, "new\n");
    assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    file_set_commit(&set);
    assert_three_are(folder, "new\n");
    assert_int_equal(entries(folder), 3);
    free(folder);
}

static void lose_folder_to_a_file(const void *state)
{
    char *folder = memory_text("%s/results", (const char *)state);
    struct file file = file_begin(folder, "summary.csv");
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    write_file(state, "results", "in the way\n");
    file_commit(&file);
}

static void a_file_in_the_folder_s_place_ends_the_program(void **state)
{
    assert_dies(lose_folder_to_a_file, *state, "results/summary.csv: Not a directory");
    assert_file_is(*state, "results", "in the way\n");
    assert_int_equal(entries(*state), 1);
}

/* --- temporary files of killed programs ------------------------------------------------------------------------- */

static void leave(const char *folder, const char *name)
{
    char *path = memory_text("%s/%s", folder, name);
    FILE *left = fopen(path, "w");
    assert_non_null(left);
    fputs("half a ta", left);
    fclose(left);
    free(path);
}

static void a_killed_program_leaves_nothing_for_long(void **state)
{
    leave(*state, ".summary.csv.12345.tmp");
    leave(*state, ".summary.csv.1.tmp"); /* removed even though process 1 exists */
    leave(*state, ".ranks.csv.12345.tmp");
    leave(*state, ".summary.csv.mine.tmp");
    write_file(*state, "summary.csv", "whole\n");
    assert_file_is(*state, "summary.csv", "whole\n");
    assert_file_is(*state, ".ranks.csv.12345.tmp", "half a ta"); /* belongs to another file */
    assert_file_is(*state, ".summary.csv.mine.tmp", "half a ta");
    assert_int_equal(entries(*state), 3);
}

static void be_killed(const void *folder)
{
    struct file file = file_begin(folder, "summary.csv");
    fputs("half a ta", file.out);
    fflush(file.out);
    kill(getpid(), SIGKILL);
}

static void a_killed_program_s_file_is_gone_when_it_is_begun_again(void **state)
{
    write_file(*state, "summary.csv", "old\n");
    assert_int_equal(ending_of(be_killed, *state).status, -1);
    assert_file_is(*state, "summary.csv", "old\n");
    assert_int_equal(entries(*state), are_named ? 2 : 1);
    write_file(*state, "summary.csv", "new\n");
    assert_int_equal(entries(*state), 1);
}

static void who_still_writes_is_let_alone(void **state)
{
    struct file first = file_begin(*state, "summary.csv");
    fputs("first\n", first.out);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        write_file(*state, "summary.csv", "second\n");
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_file_is(*state, "summary.csv", "second\n");
    assert_int_equal(entries(*state), are_named ? 2 : 1);
    file_commit(&first);
    assert_file_is(*state, "summary.csv", "first\n");
    assert_int_equal(entries(*state), 1);
}

/* --- folders, and reading --------------------------------------------------------------------------------------- */

static void glob_takes_an_escaped_path_for_itself(void **state)
{
    char *path = memory_text("%s/a*b?[c]\\d", (const char *)*state), *escaped = file_glob_escape(path);
    glob_t found;
    assert_int_equal(file_make_folder(path), 0);
    assert_int_equal(glob(escaped, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    assert_string_equal(found.gl_pathv[0], path);
    globfree(&found);
    free(escaped);
    free(path);
}

static void nested_folders_are_made(void **state)
{
    static const char *const names[] = { "a", "a/b/c", "a/b/c", "a//d/", "with blank/e", "./f/../g" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = memory_text("%s/%s", (const char *)*state, names[i]);
        struct stat status;
        assert_int_equal(file_make_folder(path), 0);
        assert_int_equal(stat(path, &status), 0);
        assert_true(S_ISDIR(status.st_mode));
        free(path);
    }
    assert_int_equal(file_make_folder("/"), 0);
}

static void a_file_is_read_whole(void **state)
{
    enum { SIZE = 200000 }; /* more than one read block */
    static char bytes[SIZE];
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251); /* including zero bytes */
    size_t size = 0;
    struct file file = file_begin(*state, "bytes");
    fwrite(bytes, 1, SIZE, file.out);
    file_commit(&file);
    char *path = memory_text("%s/bytes", (const char *)*state), *read = file_read(path, &size);
    assert_non_null(read);
    assert_int_equal(size, SIZE);
    assert_memory_equal(read, bytes, SIZE);
    assert_int_equal(read[SIZE], 0);
    free(read);
    write_file(*state, "bytes", "");
    read = file_read(path, NULL);
    assert_string_equal(read, "");
    free(read);
    assert_int_equal(unlink(path), 0);
    assert_null(file_read(path, &size));
    assert_int_equal(errno, ENOENT);
    assert_null(file_read(*state, &size));
    assert_int_equal(errno, EISDIR);
    free(path);
}

static void a_folder_that_cannot_be_made_says_why(void **state)
{
    write_file(*state, "file", "a regular file\n");
    char *self = memory_text("%s/file", (const char *)*state);
    char *under = memory_text("%s/a/b", self);
    assert_int_equal(file_make_folder(self), ENOTDIR);
    assert_int_equal(file_make_folder(under), ENOTDIR);
    assert_int_equal(file_make_folder(""), ENOENT);
    assert_file_is(*state, "file", "a regular file\n");
    free(self);
    free(under);
}

int main(void)
{
    const struct CMUnitTest writing[] = {
        WITH_FOLDER(a_committed_file_leaves_no_temporary),
        WITH_FOLDER(a_folder_is_made_for_the_file),
        WITH_FOLDER(the_old_file_stays_until_the_new_one_is_whole),
        WITH_FOLDER(a_folder_that_cannot_be_ends_the_program),
        WITH_FOLDER(on_a_full_disk_the_old_file_stays),
        WITH_FOLDER(a_place_that_is_a_folder_is_not_replaced),
        WITH_FOLDER(files_of_a_set_take_their_places_together),
        WITH_FOLDER(where_one_does_not_fit_all_of_the_old_set_stays),
        WITH_FOLDER(a_place_that_cannot_be_taken_gives_the_others_back),
        WITH_FOLDER(a_failed_rename_keeps_the_old_files),
        WITH_FOLDER(who_adds_to_a_file_waits_for_others),
        WITH_FOLDER(a_folder_that_vanished_is_made_again),
        WITH_FOLDER(a_file_in_the_folder_s_place_ends_the_program),
        WITH_FOLDER(a_killed_program_leaves_nothing_for_long),
        WITH_FOLDER(a_killed_program_s_file_is_gone_when_it_is_begun_again),
        WITH_FOLDER(who_still_writes_is_let_alone),
    };
    const struct CMUnitTest others[] = {
        WITH_FOLDER(nested_folders_are_made),
        WITH_FOLDER(glob_takes_an_escaped_path_for_itself),
        WITH_FOLDER(a_file_is_read_whole),
        WITH_FOLDER(a_folder_that_cannot_be_made_says_why),
    };
    int failed = cmocka_run_group_tests_name("files", writing, NULL, NULL);
    failed += cmocka_run_group_tests_name("others", others, NULL, NULL);
    are_named = true;
    failed += cmocka_run_group_tests_name("files with a name", writing, NULL, NULL);
    are_named = false;
    are_unswapped = true;
    failed += cmocka_run_group_tests_name("files that cannot be swapped", writing, NULL, NULL);
    are_alone = true;
    failed += cmocka_run_group_tests_name("files that get no second name", writing, NULL, NULL);
    return failed;
}
