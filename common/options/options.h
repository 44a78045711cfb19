/* options: parse a command line described by a table. One row feeds the parser, the help text and the echo, so the three cannot
 * drift apart.
 *
 * A program passes one struct that already holds its defaults; each row gives the value's offset in this struct. `--flag value`
 * and `--flag=value` mean the same. The last value of a repeated flag counts, as --help states, so users can append changes to
 * an old command line. An unknown word or bad value ends the program with STATUS_USAGE and one line with the word and the cure. */
#ifndef LOCKSTEP_OPTIONS_H
#define LOCKSTEP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_kind {
    OPTION_INTEGER, /* int */
    OPTION_SEED,    /* uint64_t: any whole number from 0 to 2^64 - 1 */
    OPTION_NUMBER,  /* double */
    OPTION_SWITCH,  /* bool, takes no value */
    OPTION_CHOICE,  /* int: index of the word within `words` */
    OPTION_TEXT,    /* const char *, not empty */
    OPTION_LIST,    /* struct option_list: all values of a repeated flag */
};

enum { OPTION_LIST_MOST = 32 };

struct option_list {
    int count;
    const char *text[OPTION_LIST_MOST];
};

struct option_row {
    const char *flag; /* "--ranks"; NULL ends a table */
    enum option_kind kind;
    size_t offset;     /* offset of the value within the program's struct */
    double low, high;  /* inclusive bounds of an integer or a number */
    const char *words; /* words of a choice, separated by blanks; otherwise the value's name in the help */
    const char *help;
};

/* Parse argv into `values` by the rows of `tables` (NULL-terminated). `--help` prints `spec`, then the rows with their defaults,
 * and exits with status 0. */
void options_parse(const struct option_row *const *tables, void *values, const char *spec, int argc, char **argv);

/* Return a copy of rows whose values lie `by` bytes further on in a struct. Free it. */
struct option_row *options_moved(const struct option_row *rows, size_t by);

/* True if the command line contains this flag. */
bool options_name(int argc, char *const *argv, const char *flag);

/* True if the list contains this word. */
bool option_list_has(const struct option_list *list, const char *word);

/* Return the values as a NULL-terminated array of words that set them, such as "--ranks=4", without texts, lists and switches.
 * Free each word and the array. */
char **options_words(const struct option_row *rows, const void *values);

/* Write integers, numbers, choices, switches and lists as the flags that set them, on one line without a line end. A result can
 * be repeated with these flags. `without`: flags to leave out, NULL-terminated; NULL for none. */
void options_echo(FILE *out, const struct option_row *const *tables, const void *values, const char *const *without);

#endif
