/* fuzz_flight.c: read a dump of a flight recorder as tools/blame does, and compare it with itself as another rank. */
#include "fuzz.h"

#include "blame/flight_arrivals.h"
#include "blame/flight_diagnosis.h"
#include "blame/flight_file.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_read(const char *path)
{
    struct flight_dump dumps[2] = { flight_file_read(path), flight_file_read(path) };
    dumps[1].rank = dumps[0].rank + 1;
    dumps[1].count -= dumps[1].count > 0; /* it misses the last call */
    struct flight_job job = flight_job_of(dumps, 2);
    FILE *out = fopen("/dev/null", "w");
    bool is_well = false;
    if (!out)
        abort();
    flight_diagnose(out, &job, &is_well);
    flight_arrivals_print(out, &job);
    fclose(out);
    flight_job_close(&job);
    for (int i = 0; i < 2; i++)
        flight_file_close(&dumps[i]);
}
