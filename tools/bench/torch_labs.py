#!/usr/bin/env python3
"""torch_labs: the published cases in PyTorch: DistributedDataParallel over gloo, a process for each rank, one thread each.

    echo 04_small_work,weak_ws2 | /usr/bin/python3 tools/bench/torch_labs.py

tools/bench/contest.c starts this program and asks for one window at a time, in the protocol of tools/bench/reference.h. A question
is lab and case as in expected/blog.csv, whose rows also give ranks and batch size, or a case of lab 09 in BUCKETS. The answer is the slowest rank's mean step in
milliseconds, as published: 12 steps, the first 2 skipped, with new weights and optimizer. The CPU seconds of all ranks follow.

    step = stall, fetch + zero_grad, forward, loss, backward with DDP's all-reduces + extra sum or barrier + optimizer

The program follows good DDP practice: gradients stay in its buckets, zero_grad sets them to None, a batch is gathered in one
call, AdamW is fused if PyTorch has a fused version for the CPU.

After each window replicas must be bit-equal and losses finite, or there is no answer. Ranks that a case does not need are
stopped (SIGSTOP), and all ranks between windows, because gloo's threads poll 100 times a second. The ranks end with the parent
process, however that process ends.

malloc returns large buffers to the kernel and needs new pages for the next ones. These settings prevent that:
    MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456 MALLOC_ARENA_MAX=1
"""
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before any library reads them
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # enough on one host

import argparse
import csv
import ctypes
import datetime
import itertools
import math
import multiprocessing
import multiprocessing.connection
import pathlib
import re
import resource
import signal
import sys
import tempfile
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "labs"), str(HERE.parent / "torch")]
import recipe  # the published batches
from torch_step import F, SIZES, MLP, Transformer, adamw, torch
import ddp_buckets  # the model of lab 09

WORLDS = (1, 2, 4)
PROCESSES = WORLDS[-1]
CORES = sorted(os.sched_getaffinity(0))
SET = 24 * 128  # samples, as in our labs: 12 steps of 2 ranks with 128 each
EXTRA = 128 * 2**20 // 4  # floats
BUCKETS = {  # lab 09, with two ranks: DDP's arguments for buckets of the same sizes
    "one_bucket": {"bucket_cap_mb": 1000}, "small_buckets": {"bucket_cap_mb": 1}, "ddp_default": {}, "best_bucket": {},
}  # fmt: skip
PATIENCE_S = 120  # timeout of a window, or of the start
DYING_S = 1  # until the death of a killed process is visible


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tell", action="store_true", help="say more about each window, on standard error")
    parser.add_argument("--blog", default=ROOT / "expected" / "blog.csv", help="the published cases")
    for flag, default in {"steps": 12, "skip-first-steps": 2, **SIZES}.items():
        parser.add_argument("--" + flag, type=int, default=default)
    return parser.parse_args()


def read_cases(path):
    """Return cases by question. A case of several labs is listed under the lab that uses the post's name for it."""
    with open(path) as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    settings = {row["lab"]: row["settings"].split() for row in rows if row["settings"]}
    published = {
        f"{row['lab']},{row['case']}": types.SimpleNamespace(
            lab=row["lab"], name=row["case"], ranks=int(row["ranks"]), batch_size=int(row["batch_size"]),
            sleep_s=float(row["sleep_ms"] or 0) / 1e3, settings=settings.get(row["lab"]), buckets=None,
        )
        for row in rows if row["case"] == row["slug"]
    }  # fmt: skip
    lab = "09_ddp_inside"
    return published | {
        f"{lab},{name}": types.SimpleNamespace(
            lab=lab, name=name, ranks=2, batch_size=ddp_buckets.BATCH, sleep_s=0, settings=None, buckets=buckets
        )
        for name, buckets in BUCKETS.items()
    }  # fmt: skip


# --- data sets ---------------------------------------------------------------------------------------------------


class Samples:
    """Normal features and random labels, distributed by a shuffling sampler; a batch is gathered in one call."""

    def __init__(self, features, classes):
        torch.manual_seed(2025)
        self.data = torch.utils.data.TensorDataset(torch.randn(SET, features), torch.randint(classes, (SET,)))

    def batches(self, case, rank):
        deal = torch.utils.data.DistributedSampler(self.data, case.ranks, rank, seed=2025, drop_last=True)
        lists = torch.utils.data.BatchSampler(deal, case.batch_size, drop_last=True)
        for epoch in itertools.count():
            deal.set_epoch(epoch)
            for x, label in torch.utils.data.DataLoader(self.data, sampler=lists, batch_size=None):
                yield (x,), label


class Texts:
    """Lengths, labels and batches from the published recipe; the words are random."""

    def __init__(self, o, case):
        self.mode, self.strategy = case.name.split("_")[:2]
        self.flags = recipe.read_options(["--" + word.replace("_", "-") for word in case.settings])
        self.lengths, labels = recipe.draw_texts(self.flags, self.mode)
        torch.manual_seed(2025)
        self.words = [torch.randint(1, o.vocab_size, (length,)) for length in self.lengths]
        self.length, self.label = torch.tensor(self.lengths), torch.tensor(labels)

    def batches(self, _, rank):
        for batch in itertools.cycle(recipe.batches_of(self.flags, rank, self.strategy, self.lengths)):
            token = torch.nn.utils.rnn.pad_sequence([self.words[text] for text in batch], batch_first=True)
            yield (token, torch.arange(token.shape[1]) < self.length[batch, None]), self.label[batch]


# --- a rank ---------------------------------------------------------------------------------------------------------------


def blas():
    """Name the BLAS that PyTorch calls; of OpenBLAS also the kernel, which OPENBLAS_CORETYPE sets. No commas."""
    found = re.search(r"Math Kernel Library Version ([\d.]+)", torch.__config__.show())
    if found:
        return f"MKL {found[1]} (its own kernel)"
    with open("/proc/self/maps") as lines:
        paths = {line.split()[-1] for line in lines if re.search(r"/[^/ ]*openblas[^/ ]*\.so", line)}
    for path in sorted(path for path in paths if "numpy" not in path):  # NumPy's wheel brings its own
        try:
            config, kernel = (getattr(ctypes.CDLL(path), f"openblas_get_{word}") for word in ("config", "corename"))
        except (AttributeError, OSError):
            continue
        config.restype = kernel.restype = ctypes.c_char_p
        return f"OpenBLAS {config().decode().split()[1]} {kernel().decode()}"
    return "another BLAS"


class Rank:
    def __init__(self, o, rank, meet):
        self.o, self.rank, self.sets = o, rank, {}
        torch.set_num_threads(1)
        patience = datetime.timedelta(seconds=PATIENCE_S)
        torch.distributed.init_process_group("gloo", f"file://{meet}", patience, PROCESSES, rank)
        fewer = {n: torch.distributed.new_group(list(range(n)), patience) for n in WORLDS[:-1]}
        self.groups = {**fewer, PROCESSES: torch.distributed.group.WORLD}

    def about(self):
        fused = adamw(torch.nn.Linear(1, 1), 1e-3).defaults.get("fused")
        attention = "scaled_dot_product_attention" if hasattr(F, "scaled_dot_product_attention") else "written out"
        return f"AdamW {'fused' if fused else 'not fused'}, attention {attention}"

    def set_for(self, case):
        name = case.name if case.settings else "samples" if case.buckets is None else "stacked"
        if name not in self.sets:
            if case.settings:
                self.sets[name] = Texts(self.o, case)
            elif case.buckets is None:
                self.sets[name] = Samples(self.o.input_dim, self.o.num_classes)
            else:
                self.sets[name] = Samples(ddp_buckets.WIDTH, ddp_buckets.WIDTH)
        return self.sets[name].batches(case, self.rank)

    def model_for(self, case):
        """Return the model, and its learning rate."""
        if case.settings:
            return Transformer(self.o), 2e-3
        return (MLP(self.o) if case.buckets is None else ddp_buckets.build()), 1e-3

    def step(self, case, batches, model, optimizer):
        group = self.groups[case.ranks]
        if case.lab == "01_straggler" and self.rank == 0:
            time.sleep(case.sleep_s)  # <- the straggler
        inputs, labels = next(batches)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(*inputs), labels)
        loss.backward()
        if case.lab == "02_rank0_host":  # <- all ranks wait for rank 0
            if self.rank == 0:
                time.sleep(case.sleep_s)
            torch.distributed.barrier(group)
        if case.lab == "03_comm_bound":  # <- one more message, in a new buffer
            torch.distributed.all_reduce(torch.ones(EXTRA), group=group)
        optimizer.step()
        return loss

    def window(self, case):
        """Return number of parameters, their bits (equal on all ranks), last loss, mean seconds and page faults per step."""
        torch.manual_seed(1234 + self.rank)  # DDP copies rank 0's weights
        torch.set_flush_denormal(True)  # as our ranks do; and pin each rank to a core if there are enough
        os.sched_setaffinity(0, {CORES[self.rank]} if case.ranks <= len(CORES) else CORES)
        trained, rate = self.model_for(case)
        model = torch.nn.parallel.DistributedDataParallel(
            trained, process_group=self.groups[case.ranks], gradient_as_bucket_view=True, **(case.buckets or {})
        )
        optimizer = adamw(model, rate)
        batches = self.set_for(case)
        seconds, faults = [], []
        torch.distributed.barrier(self.groups[case.ranks])
        for _ in range(self.o.steps):
            faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
            began = time.perf_counter()
            loss = self.step(case, batches, model, optimizer)
            seconds.append(time.perf_counter() - began)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        skip = self.o.skip_first_steps
        bits = [p.detach().view(torch.int32).sum(dtype=torch.int64).item() for p in model.parameters()]
        return types.SimpleNamespace(
            parameters=sum(p.numel() for p in model.parameters()), bits=bits, loss=loss.item(),
            seconds=sum(seconds[skip:]) / len(seconds[skip:]), faults=(faults[-1] - faults[skip]) / len(seconds[skip:]),
        )  # fmt: skip


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def die_with_parent(parent):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def work(o, rank, meet, pipe, parent):
    """Run a rank: report readiness, then run each case that comes through the pipe."""
    die_with_parent(parent)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # standard output is for answers
    try:
        me = Rank(o, rank, meet)
        pipe.send(me.about())
        while True:
            case, began = pipe.recv(), cpu_seconds()
            result = me.window(case)
            result.busy = cpu_seconds() - began
            pipe.send(result)
    except Exception as error:  # the parent must learn of any error
        pipe.send(ValueError(str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__))
    finally:
        os._exit(1)  # skip gloo's shutdown, in which PyTorch 1.13 may hang


# --- the parent process -----------------------------------------------------------------------------------------


class Workers:
    def __init__(self, o, meet):
        fork = multiprocessing.get_context("fork")  # import PyTorch only once
        self.pipes, self.processes = [], []
        for rank in range(PROCESSES):
            mine, its = fork.Pipe()
            process = fork.Process(target=work, args=(o, rank, meet, its, os.getpid()), daemon=True)
            process.start()
            its.close()
            self.pipes.append(mine)
            self.processes.append(process)

    def signal(self, count, number):
        for process in self.processes[:count]:
            os.kill(process.pid, number)  # a dead process is a zombie: kill() still succeeds

    def cause_of(self, error):
        """Return the cause of an error: a rank may report a lost peer before the peer's death is visible."""
        until = time.monotonic() + DYING_S
        while time.monotonic() < until:
            for rank, process in enumerate(self.processes):
                if process.exitcode is not None and process.exitcode < 0:  # killed by a signal
                    return ValueError(f"rank {rank} died")
            time.sleep(0.01)
        return error

    def hear(self, count):
        """Return one message from each of the first `count` ranks, which run until they have sent it; then stop them."""
        said, deadline = {}, time.monotonic() + PATIENCE_S
        while len(said) < count:
            silent = [self.pipes[rank] for rank in range(count) if rank not in said]
            ready = multiprocessing.connection.wait(silent, max(0, deadline - time.monotonic()))
            if not ready:
                raise ValueError(f"no word from rank {self.pipes.index(silent[0])} within {PATIENCE_S} s")
            for pipe in ready:
                rank = self.pipes.index(pipe)
                try:
                    said[rank] = pipe.recv()
                except (EOFError, OSError):
                    raise ValueError(f"rank {rank} died") from None
                if isinstance(said[rank], ValueError):
                    raise self.cause_of(said[rank])
        self.signal(count, signal.SIGSTOP)
        return [said[rank] for rank in range(count)]

    def window(self, case):
        self.signal(case.ranks, signal.SIGCONT)
        for rank, pipe in enumerate(self.pipes[: case.ranks]):
            try:
                pipe.send(case)
            except OSError:
                raise ValueError(f"rank {rank} died") from None
        results = self.hear(case.ranks)
        if any(result.bits != results[0].bits for result in results):
            raise ValueError("ranks have different parameters")
        if not all(math.isfinite(result.loss) for result in results):
            raise ValueError("the loss is not a number")
        return results

    def end(self):
        for process in self.processes:
            process.kill()


def answer(o, cases, workers, question):
    if question not in cases:
        raise ValueError(f"'{question}' is no question")
    results = workers.window(cases[question])
    if o.tell:
        each = ", ".join(f"{r.seconds * 1e3:.3f} ms, {r.faults:.1f} page faults, loss {r.loss:.3f}" for r in results)
        print(f"{question}: {each}", file=sys.stderr, flush=True)
    slowest, busy = max(r.seconds for r in results) * 1e3, sum(r.busy for r in results)
    print(f"{question},{results[0].parameters},{slowest:.6f},{busy:.3f}", flush=True)


def main():
    o = read_options()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end this process, hence all ranks, silently
    status, workers, cases = 0, None, read_cases(o.blog)
    try:
        with tempfile.TemporaryDirectory() as folder:  # needed only until all ranks have connected
            workers = Workers(o, f"{folder}/meet")
            about = workers.hear(PROCESSES)[0]
        print(f"ready PyTorch {torch.__version__}, {blas()}, gloo, {PROCESSES} processes, {about}", flush=True)
        for line in sys.stdin:
            answer(o, cases, workers, line.strip())
    except (OSError, ValueError) as error:
        print(f"absent {error}", flush=True)
        status = 1
    finally:
        if workers:
            workers.end()
    sys.exit(status)


if __name__ == "__main__":
    main()
