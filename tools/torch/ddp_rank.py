"""ddp_rank: one rank of a small training job with DistributedDataParallel. ddp_faults.py starts the ranks.

`s` are the settings of the job (HEALTHY in ddp_faults.py and changes), `o` the program's options.
"""
import contextlib
import ctypes
import datetime
import inspect
import json
import os
import random
import signal
import threading
import time
import types

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

FEATURES, CLASSES, VOCABULARY = 1024, 1000, 8192

# --- data ----------------------------------------------------------------------------------------------------------------


def compute_for(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class Samples:
    """Item i is the rank's batch of step i, fetched as slowly as the fault says."""

    def __init__(self, s, o, rank):
        self.s, self.rank = s, rank
        self.size = s.batches.get(rank, s.batch) * s.micro_batches
        self.steps = o.steps - s.fewer.get(rank, 0)

    def __len__(self):
        return self.steps

    def __getitem__(self, step):
        time.sleep(self.s.loader_sleep_ms.get(self.rank, 0) / 1e3)
        compute_for(self.s.loader_busy_ms.get(self.rank, 0) / 1e3)
        draw = torch.Generator().manual_seed(1000 * self.rank + step)
        return torch.randn(self.size, FEATURES, generator=draw), torch.randint(CLASSES, (self.size,), generator=draw)


class Texts:
    """Texts of 16 to 96 tokens, one of five of 160 to 256. A batch is padded with 0 to its longest text."""

    def __init__(self, s, o):
        draw = random.Random(2026)
        count = o.steps * s.batch * o.ranks
        self.lengths = [draw.randint(160, 256) if draw.random() < 0.2 else draw.randint(16, 96) for _ in range(count)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, batch):
        token = torch.zeros(len(batch), max(self.lengths[text] for text in batch), dtype=torch.long)
        for row, text in enumerate(batch):
            token[row, : self.lengths[text]] = torch.randint(1, VOCABULARY, (self.lengths[text],))
        return token, torch.tensor([self.lengths[text] % CLASSES for text in batch])


class LengthBatches:
    """Batches of a rank's share: as the sampler deals it, or sorted by length, cut into batches, and these shuffled."""

    def __init__(self, s, data, sampler):
        self.s, self.data, self.sampler = s, data, sampler

    def __iter__(self):
        share = list(self.sampler)
        if self.s.texts != "as they come":
            share.sort(key=lambda text: self.data.lengths[text])
        batches = [share[at : at + self.s.batch] for at in range(0, len(share), self.s.batch)]
        if self.s.texts != "as they come":
            seed = self.sampler.epoch if self.s.texts == "shuffled alike" else 1000 * (1 + self.sampler.rank) + self.sampler.epoch
            random.Random(seed).shuffle(batches)
        return iter(batches)


def loader_of(s, o, rank):
    """Return the DataLoader, and its sampler if that has a set_epoch()."""
    sampler = None
    if s.texts:
        data = Texts(s, o)
        sampler = torch.utils.data.DistributedSampler(data, o.ranks, rank, seed=2026, drop_last=True)
        order = LengthBatches(s, data, sampler)
    else:
        data = Samples(s, o, rank)
        order = range(len(data))
    ahead = dict(num_workers=s.workers, prefetch_factor=2, persistent_workers=True) if s.workers else {}
    return torch.utils.data.DataLoader(data, sampler=order, batch_size=None, **ahead), sampler


# --- models ---------------------------------------------------------------------------------------------------------------


def mlp(s):
    widths = [FEATURES] + [s.hidden] * s.layers
    parts = []
    for wide, next_wide in zip(widths, widths[1:]):
        parts += [nn.Linear(wide, next_wide), nn.GELU()]
        if s.model == "norm":
            parts.append(nn.BatchNorm1d(next_wide))
    return nn.Sequential(*parts, nn.Linear(s.hidden, CLASSES))


class Transformer(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.classify = nn.Linear(width, CLASSES)

    def forward(self, token):
        return self.classify(self.block(self.embedding(token), src_key_padding_mask=token == 0).mean(1))


class Chain(nn.Module):
    """Beside two small layers a chain of pointwise operations, three at a time, on `spread` copies of the hidden units."""

    def __init__(self, s):
        super().__init__()
        self.begin, self.classify = nn.Linear(FEATURES, s.hidden), nn.Linear(s.hidden, CLASSES)
        self.s, self.chain = s, torch.compile(self.operations) if s.compile else self.operations

    def operations(self, x):
        for _ in range(self.s.operations // 3):
            x = F.relu(x * 1.01 + 0.01)
        return x

    def forward(self, samples):
        x = self.chain(self.begin(samples).repeat(1, self.s.spread))
        return self.classify(x.view(len(x), self.s.spread, -1).mean(1))


def model_of(s):
    return Transformer() if s.model == "transformer" else Chain(s) if s.model == "chain" else mlp(s)


def adamw(model):
    try:
        return torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    except RuntimeError:  # before 2.4 not on the CPU
        return torch.optim.AdamW(model.parameters(), 1e-4)


def distribute(s, model):
    """Wrap the model in DDP with the settings' flags and hook, unless gradients are averaged by hand."""
    if s.average != "ddp":
        return model
    flags = dict(s.ddp)
    if "forward_sync_buffers" not in inspect.signature(nn.parallel.DistributedDataParallel).parameters:
        flags = {flag.replace("forward_sync_buffers", "broadcast_buffers"): value for flag, value in flags.items()}
    model = nn.parallel.DistributedDataParallel(model, **flags)
    if s.hook == "powersgd":
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif s.hook:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        model.register_comm_hook(None, getattr(default_hooks, s.hook + "_compress_hook"))
    return model


def average_by_hand(s, model, ranks):
    gradients = [p.grad for p in model.parameters()]
    if s.average == "each parameter":
        for gradient in gradients:
            dist.all_reduce(gradient)
            gradient /= ranks
        return
    buffer = torch.cat([gradient.flatten() for gradient in gradients])
    if s.average == "one buffer":
        dist.all_reduce(buffer)
    else:
        parts = [torch.empty_like(buffer) for _ in range(ranks)] if dist.get_rank() == 0 else None
        dist.gather(buffer, parts)
        if parts:
            buffer = sum(parts)
        dist.broadcast(buffer, 0)
    buffer /= ranks
    for gradient, part in zip(gradients, buffer.split([g.numel() for g in gradients])):
        gradient.copy_(part.view_as(gradient))


# --- a rank ---------------------------------------------------------------------------------------------------------------


class Rank:
    def __init__(self, s, o, rank):
        self.s, self.o, self.rank, self.thread, self.at = s, o, rank, None, 0
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        torch.manual_seed(2026)
        self.model = distribute(s, model_of(s))
        self.optimizer = adamw(self.model)
        self.loader, self.sampler = loader_of(s, o, rank)
        samples = [s.batches.get(r, s.batch) for r in range(o.ranks)]
        self.global_batch = sum(samples) * s.micro_batches
        self.weight = samples[rank] * o.ranks / self.global_batch  # DDP averages ranks, and each loss is a mean of its batch

    def pass_micro_batch(self, inputs, label, is_last):
        """Forward and backward. Before the last micro-batch DDP's sums may be switched off."""
        where = "" if is_last else self.s.no_sync
        with self.model.no_sync() if where == "around both" else contextlib.nullcontext():
            with torch.autocast("cpu", torch.bfloat16) if self.s.autocast else contextlib.nullcontext():
                loss = F.cross_entropy(self.model(inputs), label) * self.weight
            with self.model.no_sync() if where == "around backward" else contextlib.nullcontext():
                with torch.profiler.record_function("backward"):
                    loss.backward()
        return loss

    def repeat_passes(self, inputs, label):
        """Compute as much again, as a slow core would seem to. autograd.grad() leaves .grad and DDP alone."""
        for _ in range(self.s.repeat.get(self.rank, 1) - 1):
            with torch.profiler.record_function("repeated passes"):
                loss = F.cross_entropy(self.model.module(inputs), label)
                torch.autograd.grad(loss, list(self.model.parameters()))

    def work_on_host(self, step):
        if step % self.s.host_every:
            return
        seconds = self.s.host_ms.get(self.rank, 0) / 1e3
        if seconds and self.s.in_thread:
            if self.thread:
                self.thread.join()  # one at a time
            self.thread = threading.Thread(target=time.sleep, args=(seconds,))
            self.thread.start()
        elif seconds:
            with torch.profiler.record_function("host work"):
                time.sleep(seconds)
        if self.s.barrier:
            dist.barrier()

    def step(self, step, inputs, label):
        if self.s.monitored:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=self.o.timeout_s / 2))
        self.optimizer.zero_grad(set_to_none=True)
        self.repeat_passes(inputs, label)
        pieces = list(zip(inputs.chunk(self.s.micro_batches), label.chunk(self.s.micro_batches)))
        for piece in pieces:
            loss = self.pass_micro_batch(*piece, is_last=piece is pieces[-1])
        if self.s.average != "ddp":
            average_by_hand(self.s, self.model, self.o.ranks)
        self.work_on_host(step)
        self.optimizer.step()
        return loss.item()

    def epoch(self, number, after_step=lambda: None):
        """Return the mean seconds of a step."""
        if self.sampler:
            self.sampler.set_epoch(number)
        began = time.perf_counter()
        with dist.algorithms.join.Join([self.model]) if self.s.join else contextlib.nullcontext():
            for self.at, (inputs, label) in enumerate(self.loader):
                self.loss = self.step(self.at, inputs, label)
                after_step()
        return (time.perf_counter() - began) / (self.at + 1)

    def run(self):
        self.epoch(0)
        dist.barrier()
        seconds = self.epoch(1)
        dist.barrier()
        phases = torch.profiler.schedule(wait=0, warmup=1, active=10**6)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=phases) as profiler:
            profiler.step()
            self.epoch(2, profiler.step)
        trace = f"{self.o.folder}/rank{self.rank}.json"
        profiler.export_chrome_trace(trace)
        table = profiler.key_averages().table(sort_by="cpu_time_total", row_limit=14) if self.o.key_averages else ""
        bits = [p.detach().view(torch.int32).sum(dtype=torch.int64).item() for p in self.model.parameters()]
        return types.SimpleNamespace(
            seconds=seconds, trace=trace, bits=bits, loss=self.loss, global_batch=self.global_batch, table=table
        )


def last_collective():
    """Return the last entry of PyTorch's flight recorder. gloo fills it in newer versions; nothing else dumps it."""
    try:
        entries = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())["entries"]
    except (AttributeError, KeyError, RuntimeError):
        return ""
    return "; flight recorder: collective {collective_seq_id} is {profiling_name} of {input_sizes}".format_map(entries[-1])


def work(s, o, rank, pipe, parent):
    """Run a rank's process: send a result, or the text of an error."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the parent
    if os.getppid() != parent:
        os._exit(1)
    me = None
    try:
        dist.init_process_group("gloo", f"file://{o.folder}/meet", datetime.timedelta(seconds=o.timeout_s), o.ranks, rank)
        me = Rank(s, o, rank)
        pipe.send(me.run())
    except Exception as error:
        text = " ".join(str(error).split())
        pipe.send(f"{type(error).__name__} in step {me.at if me else 0} of an epoch: {text}{last_collective()}")
    pipe.recv()  # stay until all ranks have reported: leaving would break the peers' connections
    os._exit(0)  # skip gloo's shutdown, in which PyTorch 1.13 may hang
