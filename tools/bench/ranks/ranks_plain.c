/* MPI's part of a step of simulated ranks: the same all-reduces of the same memory, and the same time charged for the same
 * passes. There is no harness, so no world. */
#include "ranks.h"

#include "base/memory.h"
#include "device/device.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "model/workload.h"
#include "options/run.h"
#include "options/work.h"
#include "world/world.h"

#include <mpi.h>
#include <stdlib.h>

/* Sum of fake buffers: nothing to compute. */
static void add_blank(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void step(void *gradients, int count, MPI_Op add, const double *seconds)
{
    world_sleep(seconds[WORK_FETCH]);
    world_sleep(seconds[WORK_FORWARD]);
    world_sleep(seconds[WORK_BACKWARD]);
    MPI_Allreduce(gradients, gradients, count, MPI_FLOAT, add, MPI_COMM_WORLD);
    world_sleep(seconds[WORK_UPDATE]);
}

void ranks_plain(int steps)
{
    MPI_Init(NULL, NULL);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct flight_recorder *recorder = rank == 0 ? flight_recorder_open(getenv(JOB_RECORDER), -1) : NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (steps > 0) {
        double seconds[WORK_PASSES], bytes = workload_gradient_bytes(&published_mlp);
        for (int pass = 0; pass < WORK_PASSES; pass++) {
            struct cost cost = work_cost(WORK_MLP, (enum work_pass)pass, world_property);
            seconds[pass] = cost_at(&cost, work_samples(run_published.batch_size));
        }
        MPI_Op add = MPI_OP_NULL;
        MPI_Op_create(add_blank, 1, &add);
        void *memory = device_new(MEMORY_COMMUNICATION, (size_t)bytes, 1);
        void *blank = device_fake_buffer(memory, (size_t)bytes);
        for (int i = 0; i < steps; i++)
            step(blank, (int)(bytes / sizeof(float)), add, seconds);
        MPI_Op_free(&add);
        device_free(memory);
    }
    flight_recorder_end(recorder); /* otherwise the launcher would report a deadlock */
    flight_recorder_close(recorder);
    MPI_Finalize();
}
