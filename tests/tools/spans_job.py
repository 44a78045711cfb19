#!/usr/bin/env python3
"""A small DistributedDataParallel job with several buckets, recorded by tools/blame/lockstep_spans.py.

    python3 tests/tools/spans_job.py --late 1 --phase data --ms 30 --out spans.csv     # rank 1 sleeps 30 ms in each step's data
    python3 tests/tools/spans_job.py --cost 40                                         # what recording costs a step

Without --late all ranks are alike. With --cost every rank has two equal models in one process, one of them recorded. They take
turns: a block of --steps steps each, in ABBA order. Printed are the steps of both, in ms, and the geometric mean of neighbouring
blocks' ratios with its 95 % interval; blocks are averaged over ranks.
"""
import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before any library reads them
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # enough on one host

import argparse
import contextlib
import math
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

warnings.simplefilter("ignore")  # PyTorch warns of a missing NumPy
import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "blame"))
import lockstep_spans


class Job:
    def __init__(self, arguments, rank):
        self.arguments, self.rank = arguments, rank
        torch.manual_seed(2026)
        width, layers = arguments.width, arguments.layers
        parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.GELU())]
        bucket_mb = 4 * width * width / 2**20  # about one layer
        self.model = nn.parallel.DistributedDataParallel(nn.Sequential(*parts, nn.Linear(width, 10)), bucket_cap_mb=bucket_mb)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)

    def sleep_in(self, phase):
        if self.rank == self.arguments.late and phase == self.arguments.phase:
            time.sleep(self.arguments.ms / 1e3)

    def train(self, steps, spans=None):
        draw = torch.Generator().manual_seed(self.rank)
        for _ in range(steps):
            self.sleep_in("data")
            inputs = torch.randn(self.arguments.batch, self.arguments.width, generator=draw)
            labels = torch.randint(10, (self.arguments.batch,), generator=draw)
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(inputs), labels)
            self.sleep_in("forward")
            loss.backward()
            with spans("host") if spans else contextlib.nullcontext():
                self.sleep_in("host")
            self.optimizer.step()


def record(arguments, rank, folder):
    job = Job(arguments, rank)
    with lockstep_spans.record(job.model, job.optimizer, f"{folder}/spans-{rank}.csv") as spans:
        job.train(arguments.steps, spans)


def compare(arguments, rank):
    plain, recorded = Job(arguments, rank), Job(arguments, rank)

    def block(is_recorded):
        job = recorded if is_recorded else plain
        recording = lockstep_spans.record(job.model, job.optimizer, os.devnull) if is_recorded else contextlib.nullcontext()
        with recording as spans:
            dist.barrier()
            began = time.monotonic_ns()
            job.train(arguments.steps, spans)
            took = torch.tensor((time.monotonic_ns() - began) / 1e6 / arguments.steps)
        dist.all_reduce(took)
        return took.item() / arguments.ranks

    block(False), block(True)  # warm-up
    pairs = []
    for turn in range(arguments.cost):
        first = block(turn % 2 == 1)
        second = block(turn % 2 == 0)
        pairs.append((first, second) if turn % 2 == 0 else (second, first))
    if rank == 0:
        logs = [math.log(with_ / without) for without, with_ in pairs]  # ratios are skewed, logarithms are not
        mean, error = statistics.mean(logs), 2 * statistics.stdev(logs) / len(logs) ** 0.5
        without, with_ = (statistics.median(column) for column in zip(*pairs))
        print(f"width {arguments.width}, {arguments.layers} layers, batch {arguments.batch}, {arguments.ranks} ranks: "
              f"{without:.2f} ms a step, recorded {with_:.2f}; ratio {math.exp(mean):.3f}, "
              f"{math.exp(mean - error):.3f} to {math.exp(mean + error):.3f}")  # fmt: skip


def work(rank, arguments, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=arguments.ranks)
    if arguments.cost:
        compare(arguments, rank)
    else:
        record(arguments, rank, folder)
    dist.barrier()
    os._exit(0)  # without gloo's shutdown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=34)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--late", type=int, default=-1, help="the rank that sleeps; -1: none")
    parser.add_argument("--phase", choices=["data", "forward", "host"], default="data")
    parser.add_argument("--ms", type=float, default=30)
    parser.add_argument("--cost", type=int, default=0, metavar="PAIRS", help="compare so many pairs of blocks")
    parser.add_argument("--out", default="spans.csv")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (arguments, folder), arguments.ranks, start_method="fork")
        parts = [pathlib.Path(folder, f"spans-{rank}.csv") for rank in range(0 if arguments.cost else arguments.ranks)]
        if parts:
            pathlib.Path(arguments.out).write_text("".join(part.read_text() for part in parts))


if __name__ == "__main__":
    main()
