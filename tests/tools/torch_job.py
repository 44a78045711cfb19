#!/usr/bin/python3
"""A small data-parallel job without Lockstep: PyTorch, gloo, a few processes on one host.

    /usr/bin/python3 tests/tools/torch_job.py --out spans.csv

Every rank trains the same MLP on its own part of a data set of pixels, stored as text. All ranks but one keep their part as
tensors. The rank --uncached has no memory for this and parses its batch again in every step, in Python. The times of all phases
go to spans.csv, for build/bin/blame. notebooks-md/your_own_job.md shows the class Spans; a test compares the two texts.
"""
import argparse
import contextlib
import datetime
import os
import pathlib
import random
import tempfile
import time

import torch
import torch.distributed as dist

PIXELS, HIDDEN, CLASSES, BATCH, BATCHES = 784, 128, 10, 256, 4


# --- the lesson's ten lines begin
class Spans:  # who did what when, by the clock that all processes of a host share
    def __init__(self, rank):
        self.rank, self.step, self.rows = rank, 0, ["rank,step,kind,start_ms,end_ms"]
    @contextlib.contextmanager
    def __call__(self, kind):
        start = time.monotonic_ns()
        yield
        self.rows.append("%d,%d,%s,%.6f,%.6f" % (self.rank, self.step, kind, start / 1e6, time.monotonic_ns() / 1e6))
    def write(self, path):
        pathlib.Path(path).write_text("\n".join(self.rows) + "\n")
# --- the lesson's ten lines end


def write_part(path, seed):
    """Write BATCHES x BATCH lines: the label, then the pixels, whose values grow with the label."""
    draw = random.Random(seed)
    with open(path, "w") as out:
        for _ in range(BATCHES * BATCH):
            label = draw.randrange(CLASSES)
            out.write(",".join(map(str, [label] + [draw.randrange(160) + 8 * label for _ in range(PIXELS)])) + "\n")


def parse_batch(path, step):
    with open(path) as lines:
        rows = [[int(word) for word in line.split(",")] for line in lines.readlines()[step % BATCHES * BATCH :][:BATCH]]
    table = torch.tensor(rows)
    return table[:, 1:].float() / 255, table[:, 0]


def work(rank, arguments, folder):
    torch.set_num_threads(1)
    torch.manual_seed(2026)
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=arguments.ranks)
    part = f"{folder}/part-{rank}.txt"
    write_part(part, rank)
    cache = None if rank == arguments.uncached else [parse_batch(part, batch) for batch in range(BATCHES)]

    model = torch.nn.Sequential(torch.nn.Linear(PIXELS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    buckets = []  # one per layer, last layer first; gradients are views of the buckets
    for layer in (model[2], model[0]):
        buckets.append(torch.zeros(sum(p.numel() for p in layer.parameters())))
        for p, piece in zip(layer.parameters(), buckets[-1].split([p.numel() for p in layer.parameters()])):
            p.grad = piece.view_as(p)

    spans = Spans(rank)
    dist.barrier()
    for spans.step in range(arguments.steps):
        with spans("data"):
            pixels, labels = cache[spans.step % BATCHES] if cache else parse_batch(part, spans.step)
        with spans("forward"):
            loss = torch.nn.functional.cross_entropy(model(pixels), labels)
        with spans("backward"):
            optimizer.zero_grad(set_to_none=False)
            (loss / arguments.ranks).backward()
            for bucket in buckets:
                with spans("all_reduce"):
                    dist.all_reduce(bucket)
        with spans("update"):
            optimizer.step()
    spans.write(f"{folder}/spans-{rank}.csv")
    if rank == 0:
        print(f"loss of rank 0 after {arguments.steps} steps: {loss.item():.3f}")


def head(arguments):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return (
        f"# machine: {cpu}\n# cores: {len(os.sched_getaffinity(0))}\n# date: {datetime.date.today()}\n"
        f"# command: tests/tools/torch_job.py --ranks {arguments.ranks} --steps {arguments.steps} --uncached {arguments.uncached}\n"
        f"# backend: gloo, PyTorch {torch.__version__}\n"
    )


def main():
    parser = argparse.ArgumentParser(description="a small PyTorch job that writes spans for build/bin/blame")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--uncached", type=int, default=1, help="the rank that parses its batches; -1: none")
    parser.add_argument("--out", default="spans.csv")
    arguments = parser.parse_args()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # a single host needs no other interface
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (arguments, folder), arguments.ranks)
        parts = [pathlib.Path(folder, f"spans-{rank}.csv").read_text() for rank in range(arguments.ranks)]
        pathlib.Path(arguments.out).write_text(head(arguments) + "".join(parts))


if __name__ == "__main__":
    main()
