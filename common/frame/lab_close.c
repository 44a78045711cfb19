/* End a lab: check, print, write, release. */
#include "base/memory.h"
#include "device/device.h"
#include "frame/lab_private.h"
#include "frame/timeouts.h"
#include "launch/flight_recorder.h"

#include <math.h>
#include <stdlib.h>

static void release(struct lab *lab)
{
    run_results_close(lab->results);
    cases_close(&lab->cases);
    free(lab->folder);
    free(lab->hosts);
    free(lab->card_key);
    free(lab->model_rows);
    spans_close(&lab->spans);
    process_groups_close(&lab->groups);
    device_close();
    world_close(lab->world);
    free(lab);
}

/* all: gather the largest resident memory of any rank. */
static void gather_memory(struct lab *lab)
{
    if (world_is_simulated())
        return; /* one process holds all ranks */
    struct rss_peaks most = { 0 }, *all = memory_new((size_t)world_size(lab->world), sizeof *all);
    lab->memory.trained = rss_now().most;
    world_gather(lab->world, &lab->memory, sizeof lab->memory, all);
    for (int rank = 0; rank < world_size(lab->world); rank++) {
        most.empty = fmax(most.empty, all[rank].empty);
        most.prepared = fmax(most.prepared, all[rank].prepared);
        most.trained = fmax(most.trained, all[rank].trained);
    }
    if (world_rank(lab->world) == 0)
        run_results_memory(lab->results, most);
    free(all);
}

static bool is_wanted(const struct lab *lab, const struct lab_table *table)
{
    if (lab->run.without_tables)
        return false;
    return table->is_wanted ? table->is_wanted(lab->base) : lab->run.cases.count == 0;
}

/* all: true if an earlier run, to which this one adds rounds, left the table. */
static bool is_there(struct lab *lab, const struct lab_table *table)
{
    bool is = lab->run.add_rounds && world_rank(lab->world) == 0 && run_results_has_table(lab->results, table->name);
    world_broadcast(lab->world, &is, sizeof is);
    return is;
}

/* all: measure and write the tables that only this lab has. */
static void write_own_tables(struct lab *lab)
{
    for (const struct lab_table *table = lab->spec->tables; table && table->name; table++)
        if (is_wanted(lab, table) && !is_there(lab, table))
            table->write(lab, lab->base, lab_table(lab, table->name));
}

int lab_close(struct lab *lab)
{
    bool is_first = world_rank(lab->world) == 0;
    write_own_tables(lab);
    probe_close(lab->probe);
    own_probe_close(lab->own_probe);
    trainer_close(lab->trainer);
    gather_memory(lab);
    size_t bytes = 0; /* size of spans.csv, the largest table */
    if (is_first)
        bytes = run_results_bytes(lab->results);
    world_broadcast(lab->world, &bytes, sizeof bytes);
    world_set_timeout(lab->world, timeout_to_write(&lab->run, bytes));
    int wrong = is_first ? run_results_print(lab->results, lab->world, lab->schedule.began) : 0;
    if (is_first)
        flight_recorder_end(world_recorder(lab->world)); /* the results are in place, even if a rank dies now */
    world_park(lab->world); /* writing and drawing take seconds, and may need the cores of all ranks */
    world_broadcast(lab->world, &wrong, sizeof wrong);
    flight_recorder_end(world_recorder(lab->world)); /* note the end on other hosts, too */
    release(lab);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
