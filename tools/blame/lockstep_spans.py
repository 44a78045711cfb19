"""lockstep_spans: records what each rank did when in a DistributedDataParallel job, for build/bin/blame. Copy this file to your job.

    import lockstep_spans

    model = DistributedDataParallel(model)
    with lockstep_spans.record(model, optimizer, f"spans-{dist.get_rank()}.csv") as spans:
        for inputs, labels in loader:  # the loop stays as it is
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            with spans("host"):  # work of your own, if you want it by name
                save_or_log()

Then, on one host:  cat spans-*.csv > spans.csv && build/bin/blame spans.csv  (notebooks-md/your_own_job.md has the format).

A step ends with optimizer.step(). Its phases, each from an event that PyTorch reports to a hook:

    data       from the end of optimizer.step() until the model is called: batch, zero_grad(), scheduler, and all that has no name
    forward    until the first gradient: the loss is part of it
    backward   until optimizer.step(): includes clipping, and the wait for the last buckets
    update     optimizer.step()
    host       what you put into `with spans("host")`; afterwards the phase before goes on

A row `all_reduce` is a bucket, from the communication hook's call to the end of the sum; backward goes on meanwhile, as always with
DDP. Put your own collectives into `with spans("barrier")`, `with spans("all_reduce", bytes)` and so on: a wait without a row looks
like work. DDP also sends BatchNorm's buffers in forward, without a row (forward_sync_buffers=False stops that).

With gradients summed over several passes (no_sync()), all passes but the first count as backward. Passes without gradients
(evaluation) belong to the phase around them: use `with spans("host")`. What comes after the last optimizer.step() is left out.

On a GPU every time is a CUDA event: recorded in the stream of the work, read after the last step. No step is synchronised. (The
part for GPUs is written by PyTorch's documentation and was not tried on one.) Needs PyTorch 2.0.
"""
import contextlib
import socket
import time

import torch
import torch.distributed as dist

PHASES = ("data", "forward", "backward", "host", "update")
COLUMNS = "rank,host,step,kind,start_ms,entered_ms,end_ms,sequence,bytes,progressed,group"


@contextlib.contextmanager
def record(model, optimizer, path, hook=None, hook_state=None, group=None):
    """Record the steps within, and write this rank's rows to `path`.

    hook, hook_state: a communication hook of your own, such as default_hooks.bf16_compress_hook; else buckets are all-reduced.
    group: number of the model's process group in the table, if you train several at once; else 0 for all ranks.
    """
    spans = Spans(model, optimizer, hook, hook_state, group)
    try:
        yield spans
    finally:
        spans.close()
        spans.write(path)


# --- clocks: a stamp is taken at once and read after the last step ---------------------------------------------------------


class HostClock:
    """The clock that all processes of a host share."""

    stamp = staticmethod(time.monotonic_ns)

    def reader(self):
        return lambda stamp: stamp / 1e6


class CudaClock:
    """Events in the current stream of the GPU, converted to the host's clock by two events whose host time is known."""

    def __init__(self):
        self.first = self._known()

    def _known(self):
        torch.cuda.synchronize()
        event = self.stamp()
        event.synchronize()
        return event, time.monotonic_ns() / 1e6

    @staticmethod
    def stamp():
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def reader(self):
        event, at = self.first
        last_event, last_at = self._known()
        rate = (last_at - at) / max(event.elapsed_time(last_event), 1e-3)  # the two clocks drift apart
        return lambda stamp: at + rate * event.elapsed_time(stamp)


# --- the record of one rank ------------------------------------------------------------------------------------------------


class Spans:
    def __init__(self, model, optimizer, hook, hook_state, group):
        process_group = model.process_group
        members = dist.get_process_group_ranks(process_group)
        self.group = (0 if len(members) == dist.get_world_size() else 1 + min(members)) if group is None else group
        self.hook, self.hook_state = hook or all_reduce, hook_state if hook else process_group
        self.clock = CudaClock() if next(model.parameters()).is_cuda else HostClock()
        self.phases = []  # (step, kind, stamp): each lasts until the next one
        self.collectives = []  # [step, kind, start, end, bytes, group, is a bucket]
        self.entered = {}  # step: the stamp at which its last bucket was under way
        self.step, self.is_open = 0, True
        self._register(model)
        self.handles = [
            model.register_forward_pre_hook(self._before_forward),
            model.register_forward_hook(self._after_forward),
            optimizer.register_step_pre_hook(lambda *_: self._begin("update")),
            optimizer.register_step_post_hook(self._after_update),
        ]
        self._begin("data")

    def _register(self, model):
        """Become the receiver of the model's buckets. DDP accepts only one hook, so a later record() reuses it."""
        if hasattr(model, "_lockstep_spans"):
            model._lockstep_spans[0] = self
            return
        model._lockstep_spans = [self]
        model.register_comm_hook(model._lockstep_spans, lambda receiver, bucket: receiver[0]._reduce(bucket))

    def _begin(self, kind):
        self.phases.append((self.step, kind, self.clock.stamp()))

    def _before_forward(self, *_):
        if torch.is_grad_enabled() and self.phases[-1][1] == "data":
            self._begin("forward")

    def _after_forward(self, _module, _inputs, output):
        for tensor in tensors_of(output):
            if tensor.requires_grad:
                tensor.register_hook(self._before_backward)  # called when its gradient is known

    def _before_backward(self, _gradient=None):
        if self.phases[-1][1] == "forward":
            self._begin("backward")

    def _reduce(self, bucket):
        if not self.is_open:
            return self.hook(self.hook_state, bucket)
        self._before_backward()  # if the model's output showed no gradient
        buffer = bucket.buffer()
        size = buffer.numel() * buffer.element_size()
        row = [self.step, "all_reduce", self.clock.stamp(), None, size, self.group, True]
        self.collectives.append(row)

        def ended(future):
            row[3] = self.clock.stamp()
            value = future.value()
            return value[0] if isinstance(value, list) else value

        future = self.hook(self.hook_state, bucket).then(ended)
        if bucket.is_last():
            self.entered[row[0]] = self.clock.stamp()
        return future

    def _after_update(self, *_):
        self.step += 1
        self._begin("data")

    @contextlib.contextmanager
    def __call__(self, kind, size=0, group=0):
        """Record the lines within as a phase, or as a collective of `size` bytes that blocks."""
        before, start = self.phases[-1][1], self.clock.stamp()
        if kind in PHASES:
            self._begin(kind)
            yield
            self._begin(before)
        else:
            yield
            self.collectives.append([self.step, kind, start, self.clock.stamp(), size, group, False])

    def close(self):
        self.is_open = False
        for handle in self.handles:
            handle.remove()
        self.read = self.clock.reader()

    # --- the table ---

    def phase_rows(self):
        """Yield (step, kind, start, entered, end, sequence, bytes, progressed, group) of the phases of whole steps."""
        for (step, kind, stamp), (_, _, next_stamp) in zip(self.phases, self.phases[1:]):
            if step < self.step:
                yield step, kind, self.read(stamp), None, self.read(next_stamp), None, None, None, None

    def collective_rows(self):
        """Yield the same for collectives. DDP begins to wait when a step's last bucket is under way, and takes the sums in order: a
        sum that was ready before ends, for this rank, when it is taken."""
        until, counts = float("-inf"), {}
        for step, kind, start, end, size, group, is_bucket in self.collectives:
            sequence = counts[group] = counts.get(group, -1) + 1
            if step >= self.step or end is None:  # the job stopped in this step
                continue
            start, end = self.read(start), self.read(end)
            entered = max(start, self.read(self.entered[step]), until) if is_bucket else start
            until = end = max(end, entered)
            yield step, kind, start, entered, end, sequence, size, int(is_bucket), group

    def write(self, path):
        rank, host = dist.get_rank(), socket.gethostname()
        with open(path, "w") as out:
            out.write(f"# backend: {dist.get_backend()}, PyTorch {torch.__version__}\n{COLUMNS}\n")
            for step, kind, start, entered, end, *rest in [*self.phase_rows(), *self.collective_rows()]:
                entered = "" if entered is None else f"{entered:.6f}"
                rest = ",".join("" if value is None else str(value) for value in rest)
                out.write(f"{rank},{host},{step},{kind},{start:.6f},{entered},{end:.6f},{rest}\n")


def all_reduce(process_group, bucket):
    """Start to average the bucket over ranks, as DDP does without a hook."""
    buffer = bucket.buffer().div_(process_group.size())
    return dist.all_reduce(buffer, group=process_group, async_op=True).get_future()


def tensors_of(output):
    """Yield the tensors in a model's output: a tensor, or lists, tuples and dictionaries of such."""
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, dict):
        for value in output.values():
            yield from tensors_of(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from tensors_of(value)
