#!/usr/bin/env python3
"""fault_jobs: many small DistributedDataParallel jobs with random faults, to count how often `blame` is right.

    python3 tools/torch/fault_jobs.py run jobs --jobs 30 --seed 2026        # jobs/07/rank0.json.gz …, spans.csv, truth.json
    python3 tools/torch/fault_jobs.py judge jobs --blame build/bin/blame    # by the spans; --by traces: by torch.profiler's traces
    python3 tools/torch/fault_jobs.py gain jobs --blame build/bin/blame     # of `run --repair`: gains promised and measured

A job has 2 to 6 ranks on one machine (gloo, a thread each). Its model is tiny, so that ranks do not fight for cores. A sleep of 4 to
30 ms in every rank's forward stands for the work of a GPU. A fault is a sleep as well, of 10 to 40 ms:

    none         no rank is late
    data         a rank's data set sleeps in each step
    forward      a rank's model sleeps in forward
    host         a rank sleeps between backward and update, in a named range
    backward     a rank sleeps before it hands over its first bucket
    checkpoint   rank 0 writes a file in every second step, twice as long, in a named range
    two_ranks    both ranks of one host sleep in their data sets. Hosts are simulated: their names are written into traces and spans

With --repair each job runs a second time without its fault, and repaired.csv has the spans. `gain` compares the gain that blame promises
with the difference of the two.

The truth of a job is in truth.json: rank or host, and phase. `judge` runs blame on each job, reads the rank or host and the phase from
what it prints, and prints a table: rows are faults, columns what blame said. Exit status of judge: 0 if no name is wrong.
"""
import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before any library reads them
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # enough on one host
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's own messages

import argparse
import collections
import gzip
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
import warnings

warnings.simplefilter("ignore")  # PyTorch warns of a missing NumPy
FAULTS = {"none": None, "data": "data", "forward": "forward", "host": "host", "backward": "backward", "checkpoint": "host",
          "two_ranks": "data"}  # fmt: skip  # fault: the phase in which it shows
WIDTH, LAYERS, BATCH, WARM_UP = 128, 3, 8, 3

# --- a job ----------------------------------------------------------------------------------------------------------------


def draw_job(seed, number):
    """Return the truth about a job: which ranks are late, in what, and by how much."""
    draw = random.Random(f"{seed} {number}")
    fault = list(FAULTS)[number % len(FAULTS)]
    ranks = draw.choice([4, 6]) if fault == "two_ranks" else draw.randint(2, 6)
    hosts = [f"node{rank // 2 if fault == 'two_ranks' else 0}" for rank in range(ranks)]
    late = [] if fault == "none" else [0] if fault == "checkpoint" else [draw.randrange(ranks)]
    host = hosts[late[0]] if fault == "two_ranks" else None
    if host:
        late = [rank for rank in range(ranks) if hosts[rank] == host]
    return types.SimpleNamespace(fault=fault, phase=FAULTS[fault], ranks=ranks, hosts=hosts, late=late, host=host,
                                 ms=round(draw.uniform(10, 40), 1), work_ms=round(draw.uniform(4, 30), 1), number=number)  # fmt: skip


def make_rank(truth, rank, torch):
    """Return the model, the loader's batches and a function that sleeps where the fault says."""
    from torch import nn

    def sleep_in(phase, factor=1):
        if rank in truth.late and truth.phase == phase:
            time.sleep(factor * truth.ms / 1e3)

    class Work(nn.Module):
        def forward(self, inputs):
            time.sleep(truth.work_ms / 1e3)
            sleep_in("forward")
            return inputs

    class Late(torch.autograd.Function):  # its backward is the first of all
        @staticmethod
        def forward(context, inputs):
            return inputs.clone()

        @staticmethod
        def backward(context, gradient):
            sleep_in("backward")
            return gradient

    class Last(nn.Module):
        def forward(self, inputs):
            return Late.apply(inputs)

    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return 10**6

        def __getitem__(self, step):
            sleep_in("data")
            draw = torch.Generator().manual_seed(1000 * rank + step)
            return torch.randn(BATCH, WIDTH, generator=draw), torch.randint(10, (BATCH,), generator=draw)

    torch.manual_seed(2026)
    parts = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
    model = nn.Sequential(Work(), *parts, nn.Linear(WIDTH, 10), Last())
    model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4 * WIDTH * WIDTH / 2**20)
    return model, torch.utils.data.DataLoader(Samples(), batch_size=None), sleep_in


def work(rank, truth, steps, folder, rendezvous):
    import torch
    import torch.distributed as dist

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "blame"))
    import lockstep_spans

    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{rendezvous}/meet", rank=rank, world_size=truth.ranks)
    model, loader, sleep_in = make_rank(truth, rank, torch)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    schedule = torch.profiler.schedule(wait=1, warmup=WARM_UP - 1, active=steps, repeat=1)
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule)
    with profile, lockstep_spans.record(model, optimizer, f"{rendezvous}/spans-{rank}.csv") as spans:
        for step, (inputs, labels) in zip(range(WARM_UP + steps), loader):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            if truth.fault == "host" or (truth.fault == "checkpoint" and rank == 0 and step % 2 == 0):
                with spans("host"), torch.profiler.record_function("host work"):
                    if truth.fault == "checkpoint":
                        torch.save(model.state_dict(), f"{rendezvous}/checkpoint")
                    sleep_in("host", 2 if truth.fault == "checkpoint" else 1)
            optimizer.step()
            profile.step()
    profile.export_chrome_trace(f"{rendezvous}/rank{rank}.json")
    trace = pathlib.Path(f"{rendezvous}/rank{rank}.json").read_text()
    trace = re.sub(r'"host_name": "[^"]*"', f'"host_name": "{truth.hosts[rank]}"', trace, count=1)
    with gzip.open(f"{folder}/rank{rank}.json.gz", "wt") as out:
        out.write(trace)
    dist.barrier()
    os._exit(0)  # without gloo's shutdown


def run_job(truth, steps, folder, torch):
    """Run the ranks, which leave their traces in folder. Return the spans of all of them."""
    spans = ""
    with tempfile.TemporaryDirectory() as rendezvous:
        torch.multiprocessing.start_processes(work, (truth, steps, folder, rendezvous), truth.ranks, start_method="fork")
        for rank in range(truth.ranks):
            rows = pathlib.Path(rendezvous, f"spans-{rank}.csv").read_text().splitlines()
            spans += "".join(re.sub(r"^(\d+),[^,]*", rf"\1,{truth.hosts[rank]}", row) + "\n" for row in rows)
    return spans


def run(o):
    import torch.multiprocessing  # import PyTorch once: ranks are forks

    for number in range(o.first, o.first + o.jobs):
        truth = draw_job(o.seed, number)
        folder = pathlib.Path(o.folder, f"{number:02}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "spans.csv").write_text(run_job(truth, o.steps, folder, torch))
        if o.repair and truth.late:
            repaired = types.SimpleNamespace(**{**vars(truth), "late": [], "fault": "none"})
            with tempfile.TemporaryDirectory() as traces:  # they are not needed
                (folder / "repaired.csv").write_text(run_job(repaired, o.steps, traces, torch))
        (folder / "truth.json").write_text(json.dumps({**vars(truth), "seed": o.seed, "steps": o.steps}) + "\n")
        print(f"{folder}: {describe(truth)}", flush=True)
    return 0


def describe(truth):
    whom = f"host {truth.host}" if truth.host else f"rank {truth.late[0]}" if truth.late else "nobody"
    return f"{truth.fault}, {whom} of {truth.ranks} ranks, {truth.ms:g} ms beside {truth.work_ms:g}"


# --- the judge ------------------------------------------------------------------------------------------------------------


def said_of(text):
    """Return (name, phase) in blame's words: ("rank 2", "data"); (None, None) if it names no rank."""
    name = re.search(r"waited for ((?:rank|host) [^\s.,]+)", text)
    phase = re.search(r"(?:is|are) late in (?:its|their) (\w+)", text)
    return (name.group(1), phase.group(1) if phase else "no phase") if name else (None, None)


def is_right(truth, name, phase):
    if not truth.late:
        return name is None
    return name == (f"host {truth.host}" if truth.host else f"rank {truth.late[0]}") and phase == truth.phase


def is_wrong_name(truth, name):
    """True if blame named a rank that was not late. One of two late ranks is not wrong, but not right either."""
    return name is not None and name not in [f"rank {rank}" for rank in truth.late] + [f"host {truth.host}"]


def judge(o):
    table, right, wrong, jobs = collections.Counter(), 0, 0, 0
    for path in sorted(pathlib.Path(o.folder).glob("*/truth.json")):
        truth = types.SimpleNamespace(**json.loads(path.read_text()))
        files = [path.parent / "spans.csv"] if o.by == "spans" else sorted(path.parent.glob("rank*.json.gz"))
        with tempfile.TemporaryDirectory() as out:
            command = [o.blame, *map(str, files), "--out", out]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "120"})
        name, phase = said_of(done.stdout) if done.returncode in (0, 10) else (f"status {done.returncode}", "")
        failed = done.returncode not in (0, 10)
        ok, misnamed = not failed and is_right(truth, name, phase), not failed and is_wrong_name(truth, name)
        said = "failed" if failed else "wrong name" if misnamed else phase or "nobody"
        table[truth.fault, said] += 1
        jobs, right, wrong = jobs + 1, right + ok, wrong + misnamed
        if o.verbose or not ok:
            print(f"{path.parent}: {describe(truth)}; blame: {name or 'nobody'} {phase or ''}{'' if ok else '  <- not right'}")
            print("".join(f"    {line}\n" for line in done.stderr.splitlines()[:2]), end="")
    said = sorted({column for _, column in table})
    print(f"\n{'fault':12}" + "".join(f"{column:>12}" for column in said))
    for fault in FAULTS:
        print(f"{fault:12}" + "".join(f"{table[fault, column] or '-':>12}" for column in said))
    print(f"\n{right} of {jobs} right, {wrong} named wrongly")
    return 1 if wrong or not jobs else 0


def gain(o):
    """Print for each repaired job the gain that blame promises, from the spans with the fault, and the measured one."""
    errors, unnamed = [], 0
    print(f"{'job':>4} {'fault':12}{'step':>9}{'promised':>10}{'gained':>9}   95 % interval        error")
    for path in sorted(pathlib.Path(o.folder).glob("*/repaired.csv")):
        truth = types.SimpleNamespace(**json.loads((path.parent / "truth.json").read_text()))
        with tempfile.TemporaryDirectory() as out:
            command = [o.blame, path.parent / "spans.csv", "--after", path, "--json", "--out", out]
            said = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        after, promises = said["after"], said["after"]["promises"]
        promise = next((promise for promise in promises if promise["phase"] == truth.phase), None)
        if not said["blamed"] or not promise:
            unnamed += 1
            continue
        errors.append(promise["gain_ms"] / after["gain_ms"] - 1)
        interval = f"{after['gain_low_ms']:.1f} to {after['gain_high_ms']:.1f}"
        print(f"{truth.number:4} {truth.fault:12}{said['step_ms']:9.1f}{promise['gain_ms']:10.1f}{after['gain_ms']:9.1f}   {interval:18} {errors[-1]:+6.1%}")
    if not errors:
        print(f"fault_jobs: {o.folder} has no repaired job; make some by run --repair", file=sys.stderr)
        return 2
    print(f"\n{len(errors)} jobs; median error {statistics.median(map(abs, errors)):.1%}, largest {max(map(abs, errors)):.1%}; {unnamed} without a name")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="run the jobs")
    runs.add_argument("folder")
    runs.add_argument("--jobs", type=int, default=30)
    runs.add_argument("--first", type=int, default=0, help="number of the first job")
    runs.add_argument("--seed", type=int, default=2026)
    runs.add_argument("--steps", type=int, default=24, help="recorded steps; blame needs 24 for two ranks")
    runs.add_argument("--repair", action="store_true", help="run each job without its fault as well")
    gains = commands.add_parser("gain", help="compare promised gains with measured ones")
    gains.add_argument("folder")
    gains.add_argument("--blame", default="build/bin/blame")
    judges = commands.add_parser("judge", help="compare what blame says with the truth")
    judges.add_argument("folder")
    judges.add_argument("--blame", default="build/bin/blame")
    judges.add_argument("--by", choices=["spans", "traces"], default="spans")
    judges.add_argument("--verbose", action="store_true", help="print a line for every job")
    o = parser.parse_args()
    try:
        return {"run": run, "judge": judge, "gain": gain}[o.command](o)
    except ImportError as error:
        print(f"fault_jobs: needs PyTorch 2 with gloo, such as 'pip install torch' gives ({error})", file=sys.stderr)
        return 77


if __name__ == "__main__":
    sys.exit(main())
