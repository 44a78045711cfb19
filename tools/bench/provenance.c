#include "bench/provenance.h"

#include "commit.h" /* made by cmake/commit.cmake */

#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct provenance provenance_new(const char *run)
{
    struct provenance made = { .commit = LOCKSTEP_COMMIT };
    char second[32];
    unsigned drawn = 0;
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(made.date, sizeof made.date, "%Y-%m-%d %H:%M", &local);
    strftime(second, sizeof second, "%Y%m%d-%H%M%S", &local);
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn)
        drawn = (unsigned)getpid();
    if (run)
        snprintf(made.run, sizeof made.run, "%s", run);
    else
        snprintf(made.run, sizeof made.run, "%s-%06x", second, drawn & 0xffffff);
    return made;
}

void provenance_head(const struct provenance *provenance, FILE *out)
{
    fprintf(out, "# run: %s\n# when: %s\n# commit: %s\n", provenance->run, provenance->date, provenance->commit);
}

void provenance_columns(const struct provenance *provenance, struct csv *csv)
{
    csv_text(csv, "run", provenance->run);
    csv_text(csv, "date", provenance->date);
    csv_text(csv, "commit", provenance->commit);
}
