/* runs: finds the table and the rows that a marker refers to.
 *
 *     WHERE = any of   LAB         01_straggler; default: the lab of the text
 *                      PLACE       blog, gpu_node, dedicated-cores, a name of a <!-- run: … --> line; default: here
 *                      FILE.csv    default: summary.csv
 *                      KEY=VALUE   only rows with this text in that column
 *                      published   expected/blog.csv, rows of this lab (or expected/FILE.csv)
 *                      claims      expected/LAB.csv; a case is a claim's id
 *                      torch       RUNS/torch/ddp_faults.csv (or FILE.csv), of tools/torch; add rank=N
 *
 * Runs lie as run_all.sh --lesson-figures leaves them: RUNS/LAB/FILE.csv, and RUNS/platforms/PLACE/LAB/FILE.csv. */
#ifndef LOCKSTEP_RUNS_H
#define LOCKSTEP_RUNS_H

#include "base/csv.h"

#include <stdbool.h>

enum { WHERE_FILTERS = 4, WHERE_WORD = 64 };

struct where {
    char lab[WHERE_WORD], place[WHERE_WORD], file[WHERE_WORD];
    int filters;
    struct {
        char key[WHERE_WORD], value[WHERE_WORD];
    } filter[WHERE_FILTERS];
};

/* Read `length` bytes of words into `where`, which holds the defaults. Return false if a word fits nowhere; it is then in `bad`. */
bool where_read(struct where *where, const char *words, size_t length, char bad[WHERE_WORD]);

/* True if the word names a lab: two digits and _. */
bool where_is_lab(const char *word);

/* The tables of all runs. Each file is read once. */
struct runs {
    const char *runs, *expected; /* folders */
    bool are_planned;            /* list the tables of runs, and open none */
    int count;
    struct run_table {
        char *path;
        bool is_of_run;         /* else of `expected` */
        bool is_there, is_used; /* used by the present text */
        struct csv_table table;
    } * at; /* (count) */
};
void runs_close(struct runs *runs);

/* Rows of a table. `cell` and `line` of the table belong to the view, its text does not. */
struct view {
    struct csv_table table;
    const char *key; /* column that a case is looked up in */
    const char *path;
    bool is_there; /* false: the file is missing */
};
struct view runs_view(struct runs *runs, const struct where *where);
void view_close(struct view *view);

/* Forget which tables the present text uses. */
void runs_begin_text(struct runs *runs);

/* True if a table that the present text uses was run with this word as the value of a setting, or as the number of ranks or cores. */
bool runs_have_setting(const struct runs *runs, const char *word);

/* Return a run in a few words: "2 ranks on 2 cores (AMD EPYC), 9 rounds, 2026-11-23". Free it. */
char *runs_machine(const struct view *view);

#endif
