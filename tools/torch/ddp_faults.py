#!/usr/bin/env python3
"""ddp_faults: small DistributedDataParallel jobs with one fault each, and what torch.profiler records on every rank.

    python3 tools/torch/ddp_faults.py --list
    python3 tools/torch/ddp_faults.py --fault slow_loader                     # with each of its switches in turn
    python3 tools/torch/ddp_faults.py --fault slow_loader --switch none --key-averages --traces traces

The faults are those of labs 01 to 07. A switch is a setting of PyTorch that cures the fault, or one that people try. A job runs
on the CPU with gloo, a process per rank, a thread each, for three epochs: the first warms up, the second is timed without the
profiler, the third is profiled. The program reads the traces and prints a row per rank. Milliseconds of a mean step:

    step           of the timed epoch; all other columns are of the profiled one
    data           in `enumerate(DataLoader)...`
    forward        in `DistributedDataParallel.forward`
    backward       in a range of our own around loss.backward(); PyTorch has none, so its waiting is in no named range
    update         in `Optimizer.step...`
    host           in a range of our own around the host work
    barrier        in `gloo:barrier`
    collectives    with a sum, gather or broadcast under way, from this rank's call to its end
    wait           the part of `collectives` before the last rank called
    exposed        the part of `collectives` in which this rank computed no gradients: not hidden behind backward
    sum            durations of the collectives added up, as key_averages() does; they overlap, so it may exceed the step
    calls          collectives per step

Exit status 77 without PyTorch.
"""
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before any library reads them
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # enough on one host
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's own messages

import argparse
import contextlib
import datetime
import multiprocessing
import pathlib
import resource
import statistics
import sys
import tempfile
import time
import types
import warnings

from ddp_traces import COLUMNS, measure, read_trace

warnings.simplefilter("ignore")  # PyTorch warns of a missing NumPy, among others
try:
    import ddp_rank
    import torch

    missing = None if torch.distributed.is_available() else "this PyTorch has no torch.distributed"
except ImportError as error:
    missing = error

# --- faults and switches --------------------------------------------------------------------------------------------------

# A dictionary has an entry for each rank that differs: {0: 40} is 40 on rank 0.
HEALTHY = dict(
    model="mlp", hidden=512, layers=2, batch=32, batches={}, micro_batches=1, no_sync="", repeat={},
    texts="", loader_sleep_ms={}, loader_busy_ms={}, workers=0, fewer={}, join=False, monitored=False,
    host_ms={}, host_every=1, in_thread=False, barrier=False, ddp={}, hook="", average="ddp",
    operations=0, spread=1, compile=False, autocast=False,
)  # fmt: skip

# The settings of a switch are in addition to those of its fault, which is the row without a switch.
JOBS = [
    # lab, fault, switch, description, settings
    ("-", "none", "", "a healthy job", dict()),
    ("01", "slow_loader", "", "rank 0's data set sleeps 40 ms before each batch", dict(loader_sleep_ms={0: 40})),
    ("01", "slow_loader", "worker", "num_workers=1, prefetch_factor=2", dict(workers=1)),
    ("01", "slow_loader", "workers", "num_workers=4, prefetch_factor=2", dict(workers=4)),
    ("01", "busy_loader", "", "rank 0's data set computes for 40 ms before each batch", dict(loader_busy_ms={0: 40})),
    ("01", "busy_loader", "workers", "num_workers=4, prefetch_factor=2", dict(workers=4)),
    ("01", "slow_rank", "", "rank 0 computes forward and backward twice", dict(batch=64, repeat={0: 2})),
    ("01", "slow_rank", "share", "rank 0 gets 40 of 128 samples, and loss is weighed by samples", dict(batches={0: 40, 1: 88})),
    ("01", "hidden_broadcast", "", "slow_loader with BatchNorm, whose buffers DDP broadcasts in each forward",
        dict(model="norm", loader_sleep_ms={0: 40})),
    ("01", "hidden_broadcast", "off", "forward_sync_buffers=False (before 2.13: broadcast_buffers=False)",
        dict(ddp=dict(forward_sync_buffers=False))),
    ("02", "host_work", "", "rank 0 sleeps 20 ms after each backward; all ranks meet at a barrier",
        dict(host_ms={0: 20}, barrier=True)),
    ("02", "host_work", "no_barrier", "no barrier", dict(barrier=False)),
    ("02", "host_work", "seldom", "every 10th step only", dict(host_every=10)),
    ("02", "host_work", "thread", "in a thread, beside the next step", dict(in_thread=True)),
    ("02", "host_and_loader", "", "rank 0 sleeps 20 ms on the host, rank 1 sleeps 20 ms in its data set; barrier",
        dict(host_ms={0: 20}, loader_sleep_ms={1: 20}, barrier=True)),
    ("02", "host_and_loader", "no_barrier", "no barrier", dict(barrier=False)),
    ("03", "comm_bound", "", "50 MB of gradients, 8 samples per rank", dict(hidden=2048, layers=3, batch=8)),
    ("03", "comm_bound", "cap_1", "bucket_cap_mb=1", dict(ddp=dict(bucket_cap_mb=1))),
    ("03", "comm_bound", "cap_25", "bucket_cap_mb=25, which also enlarges the first bucket from 1 MiB to 25",
        dict(ddp=dict(bucket_cap_mb=25))),
    ("03", "comm_bound", "cap_1000", "bucket_cap_mb=1000: one bucket, no overlap", dict(ddp=dict(bucket_cap_mb=1000))),
    ("03", "comm_bound", "bucket_view", "gradient_as_bucket_view=True", dict(ddp=dict(gradient_as_bucket_view=True))),
    ("03", "comm_bound", "static_graph", "static_graph=True", dict(ddp=dict(static_graph=True))),
    ("03", "comm_bound", "bf16", "bf16_compress_hook", dict(hook="bf16")),
    ("03", "comm_bound", "fp16", "fp16_compress_hook", dict(hook="fp16")),
    ("03", "comm_bound", "powersgd", "powerSGD_hook of rank 1, one bucket (needs NumPy)",
        dict(hook="powersgd", ddp=dict(bucket_cap_mb=1000))),
    ("03", "comm_bound", "no_sync", "4 micro-batches, 3 of them in no_sync()", dict(micro_batches=4, no_sync="around both")),
    ("03", "find_unused", "", "find_unused_parameters=True, 64 small layers, all of them used",
        dict(hidden=128, layers=64, batch=16, ddp=dict(find_unused_parameters=True))),
    ("03", "find_unused", "off", "find_unused_parameters=False", dict(ddp=dict())),
    ("03", "find_unused", "static_graph", "static_graph=True as well",
        dict(ddp=dict(find_unused_parameters=True, static_graph=True))),
    ("04", "small_work", "", "8 samples per rank", dict(batch=8)),
    ("04", "small_work", "larger_batch", "32 samples per rank", dict(batch=32)),
    ("04", "small_work", "accumulate", "4 micro-batches of 8, summed each time", dict(micro_batches=4)),
    ("04", "small_work", "no_sync", "4 micro-batches of 8, 3 of them in no_sync()", dict(micro_batches=4, no_sync="around both")),
    ("04", "small_work", "no_sync_late", "the same, but only backward is in no_sync()",
        dict(micro_batches=4, no_sync="around backward")),
    ("05", "token_skew", "", "8 texts of 16 to 256 tokens per rank, as they come",
        dict(model="transformer", batch=8, texts="as they come")),
    ("05", "token_skew", "buckets", "batches of similar lengths, shuffled alike on all ranks", dict(texts="shuffled alike")),
    ("05", "token_skew", "own_seeds", "batches of similar lengths, each rank shuffles with its own seed",
        dict(texts="shuffled apart")),
    ("05", "uneven", "", "rank 1 has 3 batches fewer per epoch", dict(fewer={1: 3})),
    ("05", "uneven", "join", "Join([model]): rank 1 takes part in the remaining sums", dict(join=True)),
    ("05", "uneven", "drop", "rank 0 drops the batches that rank 1 lacks", dict(fewer={0: 3, 1: 3})),
    ("05", "uneven", "monitored", "monitored_barrier() before each step", dict(monitored=True)),
    ("06", "by_hand", "", "rank 0 gathers all gradients, adds them and broadcasts the sum", dict(average="through rank 0")),
    ("06", "by_hand", "each", "all_reduce of each parameter after backward", dict(average="each parameter")),
    ("06", "by_hand", "flat", "all_reduce of one buffer after backward", dict(average="one buffer")),
    ("06", "by_hand", "ddp", "DistributedDataParallel", dict(average="ddp")),
    ("07", "tiny_operations", "", "300 operations in forward on tensors of 4 KiB",
        dict(model="chain", hidden=64, operations=300, batch=16)),
    ("07", "tiny_operations", "larger_batch", "the same on tensors of 16 KiB: four times the samples", dict(batch=64)),
    ("07", "tiny_operations", "compile", "torch.compile", dict(compile=True)),
    ("07", "large_tensors", "", "30 operations in forward on tensors of 16 MiB",
        dict(model="chain", hidden=256, spread=32, operations=30, batch=512)),
    ("07", "large_tensors", "autocast", "torch.autocast to bf16", dict(autocast=True)),
    ("07", "large_tensors", "compile", "torch.compile", dict(compile=True)),
]  # fmt: skip


def settings_of(fault, switch):
    settings = dict(HEALTHY)
    for _, its_fault, its_switch, _, changes in JOBS:
        if its_fault == fault and its_switch in ("", switch):
            settings.update(changes)
    return types.SimpleNamespace(**settings)


# --- a job ----------------------------------------------------------------------------------------------------------------


def busy_seconds():
    """Return the CPU seconds that all programs of the machine have used."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Others:
    """Use of the machine's cores by other programs, as a share of all cores."""

    def __init__(self):
        self.began, self.busy, self.own = time.monotonic(), busy_seconds(), children_seconds()

    def share(self):
        others = busy_seconds() - self.busy - (children_seconds() - self.own)
        return max(0.0, others / (time.monotonic() - self.began) / os.cpu_count())


def hear(rank, pipe, process):
    """Return the message that a rank sends."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        process.join()
        return f"the process ended with {process.exitcode}" + (" (a signal)" if process.exitcode < 0 else "")


def run_ranks(s, o):
    fork = multiprocessing.get_context("fork")  # import PyTorch only once
    pipes, processes = [], []
    for rank in range(o.ranks):
        mine, its = fork.Pipe()
        processes.append(fork.Process(target=ddp_rank.work, args=(s, o, rank, its, os.getpid())))
        processes[-1].start()
        its.close()
        pipes.append(mine)
    results = [hear(rank, pipes[rank], processes[rank]) for rank in range(o.ranks)]
    for pipe, process in zip(pipes, processes):
        with contextlib.suppress(OSError):
            pipe.send("leave")
        process.join()
    return results


def run_job(fault, switch, o):
    """Return a row for each rank, or a list of texts if the job failed."""
    others = Others()
    with tempfile.TemporaryDirectory() as o.folder:
        results = run_ranks(settings_of(fault, switch), o)
        if any(isinstance(result, str) for result in results):
            return [result if isinstance(result, str) else "finished" for result in results]
        if any(result.bits != results[0].bits for result in results):
            return ["this rank's parameters differ from another rank's"] * o.ranks
        rows = measure([read_trace(result.trace) for result in results])
        if o.traces:
            kept = pathlib.Path(o.traces, name_of(fault, switch))
            kept.mkdir(parents=True, exist_ok=True)
            for rank, result in enumerate(results):
                kept.joinpath(f"rank{rank}.json").write_bytes(pathlib.Path(result.trace).read_bytes())
    for row, result in zip(rows, results):
        row.update(step_ms=result.seconds * 1e3, samples_per_s=result.global_batch / result.seconds, loss=result.loss)
        row.update(others_share=others.share(), table=result.table)
    return rows


def run_undisturbed(fault, switch, o):
    """Run the job, if asked to only while other programs are quiet, and again if they were not quiet until its end."""
    while True:
        others = Others()
        while o.max_others is not None:
            time.sleep(1)
            if others.share() <= o.max_others:
                break
            others = Others()
        rows = run_job(fault, switch, o)
        if o.max_others is None or isinstance(rows[0], str) or rows[0]["others_share"] <= o.max_others:
            return rows


# --- output ---------------------------------------------------------------------------------------------------------------


def name_of(fault, switch):
    return f"{fault}_{switch}" if switch else fault


def medians(rounds, rank):
    """Return a rank's row: the median of each column over rounds."""
    return {column: statistics.median(rows[rank][column] for rows in rounds) for column in rounds[0][rank] if column != "table"}


def print_job(lab, fault, switch, text, rounds, o):
    print(f"\n{fault}, switch {switch or 'none'} (lab {lab}): {text}")
    if isinstance(rounds[0][0], str):
        for rank, error in enumerate(rounds[0]):
            print(f"rank {rank}: {error}")
        return
    print("ms a step " + "".join(f"{column.replace('_ms', ''):>12}" for column in ["step_ms", *COLUMNS]))
    for rank in range(o.ranks):
        row = medians(rounds, rank)
        print(f"rank {rank:<5}" + "".join(f"{row[column]:12.1f}" for column in ["step_ms", *COLUMNS]))
    others = f"{row['others_share']:.0%}"
    print(f"{row['samples_per_s']:.0f} samples/s, loss {row['loss']:.3f}; other programs used {others} of the cores")
    for rank, row in enumerate(rounds[-1]):
        if row["table"]:
            print(f"key_averages() of rank {rank}:\n{row['table']}")


def write_csv(path, results, o):
    cpu = "?"
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), cpu)
    columns = ["step_ms", *COLUMNS, "samples_per_s", "loss", "others_share"]
    with open(path, "w") as out:
        out.write(f"# machine: {cpu}\n# cores: {len(os.sched_getaffinity(0))}\n# date: {datetime.date.today()}\n")
        out.write(f"# command: tools/torch/ddp_faults.py {' '.join(sys.argv[1:])}\n# backend: gloo, PyTorch {torch.__version__}\n")
        out.write("case,lab,fault,switch,rank,rounds," + ",".join(columns) + "\n")
        for (lab, fault, switch, _, _), rounds in results:
            for rank in range(o.ranks if rounds and not isinstance(rounds[0][0], str) else 0):
                row = medians(rounds, rank)
                values = ",".join("%.4g" % row[column] for column in columns)
                out.write(f"{name_of(fault, switch)},{lab},{fault},{switch or 'none'},{rank},{len(rounds)},{values}\n")


# --- the program ----------------------------------------------------------------------------------------------------------


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list faults and their switches")
    parser.add_argument("--fault", action="append", metavar="NAME", default=[], help="run this fault, or all; may be repeated")
    parser.add_argument("--switch", metavar="NAME", help="run only this switch; 'none' is the fault itself (default: each in turn)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20, help="steps of an epoch")
    parser.add_argument("--rounds", type=int, default=1, help="take turns so often, and print medians")
    parser.add_argument("--timeout-s", type=float, default=10, help="of a collective")
    parser.add_argument("--key-averages", action="store_true", help="print torch.profiler's own table of each rank")
    parser.add_argument("--traces", metavar="FOLDER", help="keep the Chrome traces, for Perfetto or HTA")
    parser.add_argument("--csv", metavar="FILE", help="write the rows to a file")
    parser.add_argument("--max-others", type=float, metavar="SHARE",
                        help="wait until other programs use less of the cores, such as 0.1, and repeat disturbed jobs")  # fmt: skip
    return parser.parse_args()


def chosen_jobs(o):
    """Return the rows of JOBS that were asked for. Raise ValueError if a name is unknown."""
    for fault in o.fault:
        if fault != "all" and fault not in {job[1] for job in JOBS}:
            raise ValueError(f"there is no fault '{fault}'; --list shows all")
    jobs = [job for job in JOBS if job[1] in o.fault or "all" in o.fault]
    if o.switch:
        jobs = [job for job in jobs if (job[2] or "none") == o.switch]
        if not jobs:
            raise ValueError(f"{' and '.join(o.fault)}: there is no switch '{o.switch}'; --list shows all")
    return jobs


def main():
    o = read_options()
    try:
        jobs = chosen_jobs(o)
    except ValueError as error:
        print(f"ddp_faults: {error}", file=sys.stderr)
        return 2
    if o.list or not jobs:
        for lab, fault, switch, text, _ in JOBS:
            print(f"    {switch:15}{text}" if switch else f"{fault:19}{text} (lab {lab})")
        return 0
    if missing:
        print(f"ddp_faults: needs PyTorch with gloo, such as 'pip install torch' gives ({missing})", file=sys.stderr)
        return 77
    results = [(job, []) for job in jobs]
    for _ in range(o.rounds):
        for (_, fault, switch, _, _), rounds in results:
            rounds.append(run_undisturbed(fault, switch, o))
            if o.csv:
                write_csv(o.csv, results, o)
    for (lab, fault, switch, text, _), rounds in results:
        print_job(lab, fault, switch, text, rounds, o)
    return 0


if __name__ == "__main__":
    sys.exit(main())
