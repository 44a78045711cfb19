/* options: a command line described by a table. One row feeds the parser, the help text and the echo, so the
 * three cannot drift apart.
 *
 * A program hands over one struct that already holds its defaults; each row says where in it the value goes.
 * `--flag value` and `--flag=value` mean the same; of a flag given twice the last value counts, and --help says so: a line
 * can be called again with something else behind it. Whatever is not understood ends the program with
 * STATUS_USAGE and one line that names the word and the cure. */
#ifndef LOCKSTEP_OPTIONS_H
#define LOCKSTEP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_kind {
    OPTION_INTEGER, /* int */
    OPTION_NUMBER,  /* double */
    OPTION_SWITCH,  /* bool, takes no value */
    OPTION_CHOICE,  /* int: the index of the word within `words` */
    OPTION_TEXT,    /* const char *, not empty */
    OPTION_LIST,    /* struct option_list: the flag may be repeated */
};

enum { OPTION_LIST_MOST = 32 };

struct option_list {
    int count;
    const char *text[OPTION_LIST_MOST];
};

struct option_row {
    const char *flag; /* "--ranks"; NULL ends a table */
    enum option_kind kind;
    size_t offset;     /* of the value within the program's struct */
    double low, high;  /* inclusive bounds of an integer or a number */
    const char *words; /* of a choice, separated by blanks; of others, the value's name in the help */
    const char *help;
};

/* Parses argv into `values` by the rows of `tables` (NULL ends the list of tables). `--help` prints `story`,
 * then the rows with their defaults, and exits 0. */
void options_parse(const struct option_row *const *tables, void *values, const char *spec, int argc, char **argv);

/* Whether the command line names this flag. */
bool options_name(int argc, char *const *argv, const char *flag);

/* Whether a repeated flag was given this word. */
bool option_list_has(const struct option_list *list, const char *word);

/* The rows' values as words that would set them, NULL-terminated: "--ranks=4". Free each, and the array. Neither lists nor
 * texts. */
char **options_words(const struct option_row *rows, const void *values);

/* Writes every integer, number, choice, switch and list as the flags that would set it, on one line without a line
 * end: what a result needs to be repeated. */
void options_echo(FILE *out, const struct option_row *const *tables, const void *values);

#endif
