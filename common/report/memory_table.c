#include "report/memory_table.h"

#include "base/csv.h"
#include "base/memory.h"
#include "collective/span.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double MB = 1e6;
static const char *const places[MEMORY_PLACES] = { [MEMORY_HOST] = "host", [MEMORY_GPU] = "gpu" };

/* A row: MB, NaN for what is not known. */
struct part {
    const char *owner;
    int layer; /* -1: all */
    double predicted, at_peak, most;
};

struct table {
    struct csv csv;
    const struct outcome *of;
    int rank, to_rank; /* ranks that hold the same */
    enum memory_place place;
};

/* Bytes that the system counts beyond the arrays, and beyond the program before it opened any. */
static double rest(const struct place_count *of)
{
    return of->resident - of->program - of->held;
}

/* Freed blocks that the heap keeps, at most the rest: the heap does not report which of their pages are still resident. */
static double kept(const struct place_count *of)
{
    return fmax(0, fmin(of->freed, rest(of)));
}

/* The program and its libraries. */
static double program(const struct place_count *of)
{
    return of->program + (double)of->at_peak[MEMORY_PROGRAM];
}

/* The place where the arrays of the model are. */
static enum memory_place place_of_model(const struct memory_count *m)
{
    return m->of[MEMORY_GPU].most[MEMORY_PARAMETERS] > 0 ? MEMORY_GPU : MEMORY_HOST;
}

/* Return bytes of an owner that were predicted for a place, NaN for none. Batches and what measures are foreseen where the host has
 * them; a GPU holds copies of some. */
static double foreseen(const struct outcome *o, const struct memory_count *m, enum memory_place place, int owner)
{
    const bool is_host = owner == MEMORY_DATA || owner == MEMORY_MEASURING;
    return place == (is_host ? MEMORY_HOST : place_of_model(m)) ? o->foreseen.of[owner] : (double)NAN;
}

static void put(struct table *t, struct part part)
{
    const struct place_count *of = &t->of->memory[t->rank].of[t->place];
    do {
        csv_text(&t->csv, "case", t->of->name);
        csv_integer(&t->csv, "rank", t->rank);
        csv_integer(&t->csv, "to_rank", t->to_rank);
        csv_text(&t->csv, "place", places[t->place]);
        csv_text(&t->csv, "owner", part.owner);
        csv_index(&t->csv, "layer", part.layer);
        csv_number(&t->csv, "predicted_mb", part.predicted / MB);
        csv_number(&t->csv, "at_peak_mb", part.at_peak / MB);
        csv_number(&t->csv, "most_mb", part.most / MB);
        csv_text(&t->csv, "peak_phase", of->phase < 0 ? "before" : span_names[of->phase]);
        csv_index(&t->csv, "peak_layer", of->layer);
    } while (csv_end_row(&t->csv));
}

static void put_layers(struct table *t)
{
    for (int layer = 0; layer < LEDGER_LAYERS - 1; layer++)
        if (t->of->layer[layer] > 0)
            put(t,
                (struct part){ memory_owner_names[MEMORY_ACTIVATIONS], layer, NAN, (double)t->of->layer[layer], NAN });
}

static void put_place(struct table *t)
{
    const struct memory_count *m = &t->of->memory[t->rank];
    const struct place_count *of = &m->of[t->place];
    for (int owner = MEMORY_PROGRAM + 1; owner < MEMORY_OWNERS; owner++)
        put(t, (struct part){ memory_owner_names[owner], -1, foreseen(t->of, m, t->place, owner),
                              (double)of->at_peak[owner], (double)of->most[owner] });
    if (t->place == place_of_model(m) && t->rank == 0)
        put_layers(t);
    if (!(of->resident > 0))
        return;
    put(t, (struct part){ memory_owner_names[MEMORY_PROGRAM], -1, NAN, program(of), program(of) });
    put(t, (struct part){ "freed", -1, NAN, kept(of), NAN });
    put(t, (struct part){ "unexplained", -1, NAN, rest(of) - kept(of), NAN });
    put(t, (struct part){ "resident", -1, NAN, of->resident, NAN });
}

/* Return the last of the ranks from `rank` on that hold the same. */
static int last_alike(const struct outcome *o, int rank)
{
    int to = rank;
    while (to + 1 < o->run.ranks && memcmp(&o->memory[to + 1], &o->memory[rank], sizeof *o->memory) == 0)
        to++;
    return to;
}

void memory_table_take_layers(struct outcome *o)
{
    const struct ledger_peak peak = ledger_peak(place_of_model(&o->memory[0]));
    memcpy(o->layer, peak.sums.layer, sizeof o->layer);
}

void memory_table_write(const struct report *r)
{
    struct table t = { .csv = report_begin_table(r, "memory.csv") };
    for (int i = 0; i < r->cases; i++) {
        t.of = &r->outcomes[i];
        for (t.rank = 0; t.rank < t.of->run.ranks; t.rank = t.to_rank + 1) {
            t.to_rank = last_alike(t.of, t.rank);
            for (int place = 0; place < MEMORY_PLACES; place++) {
                t.place = (enum memory_place)place;
                if (ledger_total(t.of->memory[t.rank].of[place].at_peak) > 0)
                    put_place(&t);
            }
        }
    }
}

/* Return the place of the model on the rank with the most bytes of arrays. */
static const struct place_count *largest(const struct outcome *o, int *which)
{
    const struct place_count *most = NULL;
    for (int rank = 0; rank < o->run.ranks; rank++) {
        const struct place_count *of = &o->memory[rank].of[place_of_model(&o->memory[rank])];
        if (most && ledger_in_use(of->at_peak) <= ledger_in_use(most->at_peak))
            continue;
        most = of;
        *which = rank;
    }
    return most;
}

void memory_table_columns(struct csv *csv, const struct outcome *o)
{
    int rank = 0;
    const struct place_count *of = o->memory ? largest(o, &rank) : NULL;
    const struct memory_count *m = of ? &o->memory[rank] : NULL;
    double held = 0, predicted = 0; /* of owners that were predicted */
    for (int owner = MEMORY_PROGRAM + 1; owner < MEMORY_OWNERS; owner++) {
        char *name = memory_text("%s_mb", memory_owner_names[owner]);
        csv_number(csv, name, of ? (double)of->at_peak[owner] / MB : (double)NAN);
        free(name);
        const double bytes = of ? foreseen(o, m, place_of_model(m), owner) : (double)NAN;
        if (owner == MEMORY_CACHED || isnan(bytes))
            continue;
        held += (double)of->at_peak[owner];
        predicted += bytes;
    }
    csv_number(csv, "held_mb", of ? held / MB : (double)NAN);
    csv_number(csv, "predicted_held_mb", of ? predicted / MB : (double)NAN);
}

void memory_table_show(FILE *out, const struct report *r)
{
    const struct outcome *o = &r->outcomes[0];
    int rank = 0;
    const struct place_count *of = largest(o, &rank);
    const bool is_gpu = place_of_model(&o->memory[rank]) == MEMORY_GPU;
    const char *between = "";
    fprintf(out, is_gpu ? "On its GPU, rank %d held, in MB: " : "Without pages of files, rank %d held, in MB: ", rank);
    for (int owner = MEMORY_PROGRAM + 1; owner < MEMORY_OWNERS; owner++) {
        if ((double)of->at_peak[owner] < MB / 20)
            continue;
        fprintf(out, "%s%s %.1f", between, memory_owner_names[owner], (double)of->at_peak[owner] / MB);
        between = ", ";
    }
    if (of->program > 0)
        fprintf(out, ", %s %.1f", is_gpu ? "libraries and other processes" : "program and libraries", program(of) / MB);
    if (kept(of) >= MB / 20)
        fprintf(out, ", freed and kept by the heap %.1f", kept(of) / MB);
    if (of->program > 0)
        fprintf(out, ", unexplained %.1f", (rest(of) - kept(of)) / MB);
    fprintf(out, " (memory.csv).\n");
}
