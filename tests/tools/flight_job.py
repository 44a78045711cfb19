#!/usr/bin/env python3
"""Jobs of three ranks that hang, for `blame` on the dumps of PyTorch's flight recorder. Needs PyTorch 2.15, in which gloo records.

    python3 tests/tools/flight_job.py missing dumps        # rank 2 calls one all-reduce fewer: dumps/rank0.json …

healthy: all ranks call the same. missing: rank 2 does not call the fifth all-reduce. kinds: rank 0 calls a broadcast there. groups:
rank 0 waits for rank 2 in a group of the two, rank 1 for rank 0 in the group of all. Every rank dumps 1.5 s after its start, while
the others still wait.
"""
import os

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # enough on one host

import contextlib
import pathlib
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist


def call(rank, mode, pair):
    values = torch.ones(1000)
    for _ in range(4):
        dist.all_reduce(values)
    if mode == "kinds" and rank == 0:
        dist.broadcast(values, 0)
    elif mode == "groups" and rank == 0:
        dist.all_reduce(values, group=pair)
    elif mode == "healthy" or mode == "kinds" or rank == 1 or (mode == "missing" and rank == 0):
        dist.all_reduce(values)


def work(rank, mode, folder, rendezvous):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{rendezvous}/meet", rank=rank, world_size=3)
    pair = dist.new_group([0, 2])

    def dump():
        try:
            pathlib.Path(folder, f"rank{rank}.json").write_bytes(torch._C._distributed_c10d._dump_fr_trace_json())
            time.sleep(1)  # until all have
        finally:
            os._exit(0)

    threading.Timer(1.5, dump).start()
    with contextlib.suppress(RuntimeError):
        call(rank, mode, pair)
    time.sleep(10)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as rendezvous:
        torch.multiprocessing.start_processes(work, (sys.argv[1], sys.argv[2], rendezvous), 3, start_method="fork")
