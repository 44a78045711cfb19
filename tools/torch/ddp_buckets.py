#!/usr/bin/env python3
"""ddp_buckets: the model of lab 09 in PyTorch: DistributedDataParallel over gloo, on CPU cores, by bucket_cap_mb and by its switches.

    python3 tools/torch/ddp_buckets.py --csv notebooks-md/runs/torch/ddp_buckets.csv

A row per case: the step of the slower rank, as median over the steps of all rounds; cases take turns. One thread for each rank's arithmetic;
gloo has threads of its own. Needs PyTorch, which run_all.sh never installs.
"""
import argparse
import datetime
import os
import platform
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, BATCH = 512, 12, 128
CASES = {  # name: arguments of DDP; None: one flat all-reduce after backward
    "after_backward": None,
    "cap_0.001": {"bucket_cap_mb": 0.001},  # a bucket for each tensor
    "cap_1": {"bucket_cap_mb": 1},
    "cap_3": {"bucket_cap_mb": 3},
    "cap_25": {},  # the default: a first bucket of 1 MiB
    "cap_1000": {"bucket_cap_mb": 1000},
    "bucket_view": {"gradient_as_bucket_view": True},
    "static_graph": {"static_graph": True},
    "find_unused": {"find_unused_parameters": True},
}


def build():
    torch.manual_seed(2026)
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.GELU()]
    return nn.Sequential(*layers[:-1])


def sum_flat(model, ranks):
    """Sum all gradients in one message, as the mean over ranks."""
    gradients = [p.grad for p in model.parameters()]
    flat = torch._utils._flatten_dense_tensors(gradients)
    dist.all_reduce(flat)
    flat /= ranks
    for gradient, part in zip(gradients, torch._utils._unflatten_dense_tensors(flat, gradients)):
        gradient.copy_(part)


def train(rank, o, port, found):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=o.ranks)
    jobs = {}
    for name, arguments in CASES.items():
        model = build()
        if arguments is not None:
            model = DistributedDataParallel(model, **arguments)
        jobs[name] = model, torch.optim.AdamW(model.parameters(), lr=1e-3)
    draw = torch.Generator().manual_seed(rank)
    x, y = torch.randn(BATCH, WIDTH, generator=draw), torch.randint(WIDTH, (BATCH,), generator=draw)
    steps = {name: [] for name in CASES}
    for turn in range(o.rounds):
        for name, (model, optimizer) in jobs.items():
            for step in range(o.steps + 2):  # two warm up
                dist.barrier()
                began = time.perf_counter()
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                if CASES[name] is None:
                    sum_flat(model, o.ranks)
                optimizer.step()
                took = torch.tensor([time.perf_counter() - began])
                dist.all_reduce(took, op=dist.ReduceOp.MAX)
                if step >= 2:
                    steps[name].append(1e3 * took.item())
    if rank == 0:
        found.put(steps)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=6, help="of a case in a round")
    parser.add_argument("--csv", help="file to write; else the terminal")
    o = parser.parse_args()
    context = processes.get_context("spawn")
    found = context.SimpleQueue()
    port = 20000 + os.getpid() % 20000
    job = processes.spawn(train, (o, port, found), nprocs=o.ranks, join=False)
    steps = found.get()
    job.join()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    lines = [f"# machine: {cpu}", f"# cores: {len(os.sched_getaffinity(0))}", f"# date: {datetime.date.today()}",
             f"# command: {' '.join(sys.argv)}", f"# backend: gloo, PyTorch {torch.__version__}", "case,ranks,steps,step_ms,low_ms,high_ms"]
    for name, times in steps.items():
        low, middle, high = statistics.quantiles(times, n=4)
        lines.append(f"{name},{o.ranks},{len(times)},{middle:.4f},{low:.4f},{high:.4f}")
    text = "\n".join(lines) + "\n"
    if o.csv:
        with open(o.csv, "w") as out:
            out.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
