/* claim: a row of expected/NN_name.csv. tools/claims/claims.c explains the columns. */
#ifndef LOCKSTEP_CLAIM_H
#define LOCKSTEP_CLAIM_H

#include "base/csv.h"
#include "expression.h"

enum needs {
    NEEDS_ANY,
    NEEDS_CORES,
    NEEDS_SEVERAL,
    NEEDS_CPU,
    NEEDS_REAL,
    NEEDS_SIM,
    NEEDS_MODEL,
    NEEDS_GPU,
    NEEDS_ARRIVALS,
    NEEDS_PUBLISHED
};
enum kind { EXACT, FORMULA, SIM, RATIO, SHAPE, EXAMPLE };
extern const char *const relation_words[];
extern const char *const kind_words[];

struct claim {
    const char *id, *name, *quantity, *value,
        *why;         /* name: of the case; "*": every case; "all …": claim_is_together() */
    enum needs needs; /* column `needs` */
    enum relation relation;
    enum kind kind;
    double tolerance;
};

/* The claims of a lab. */
struct claim_file {
    char *path;
    struct csv_table table;
};

/* Read a file of claims. End the program if it cannot be read. Takes `path`. */
struct claim_file claim_file_open(char *path);
void claim_file_close(struct claim_file *file);

/* Return the claim in a row. End the program, naming the line, if it is malformed. */
struct claim claim_read(const struct claim_file *file, int row);

/* Return the row of a claim; -1 if the file has none of this id. */
int claim_find(const struct claim_file *file, const char *id);

/* True if the claim is about all cases together; and if such a claim leaves this case out. */
bool claim_is_together(const struct claim *claim);
bool claim_leaves_out(const struct claim *claim, const char *name);

/* End the program, naming the file's line that holds the row. */
_Noreturn void claim_die(const struct claim_file *file, int row, const char *what, const char *which, const char *cure);

/* True for claims that must hold wherever they can be tested; the others are about time, or examples. */
bool claim_must_hold(const struct claim *claim);

/* True if the claim names the rank to blame. A run has one such rank, not one per round. */
bool claim_is_blame(const struct claim *claim);

#endif
