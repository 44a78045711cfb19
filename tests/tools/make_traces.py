#!/usr/bin/env python3
"""Write traces as torch.profiler does, of a job whose waits are known by construction.

usage: make_traces.py gloo|nccl FOLDER [--ranks N] [--steps N] [--slow RANK:PHASE:MS]... [--shift RANK:MS]... [--host RANK:NAME]...
                                       [--length RANK:STEPS]... [--size RANK:ELEMENTS] [--pairs] [--pipeline] [--old]

A step of every rank, in ms: data 1, forward 5, backward 10, update 3. Backward hands bucket 0 over after 4 and bucket 1 at its end. A
bucket takes 2 from the last arrival, and bucket 1 begins after bucket 0. So a step without a slow rank takes 23. --slow makes a
phase of a rank longer. --shift sets a rank's clock, --host the name of its host, --length the number of its steps, --size
the elements of its bucket 1. --pairs adds a process group per two ranks, whose all-gather of 1 ms stands at the begin of
forward. --pipeline (nccl) makes each rank a stage instead: forward of four micro-batches, each received from the rank before and sent to the
next one, then their backward the other way round; a message takes 1 from the later of its two ranks on. All stages then sum the norm
of the gradients, in 1 from the last arrival on. --old leaves out what older profilers
did not write.
"""
import argparse
import gzip
import json

DATA, FORWARD, BACKWARD, UPDATE = "data", "forward", "backward", "update"
LENGTHS = {DATA: 1.0, FORWARD: 5.0, BACKWARD: 10.0, UPDATE: 3.0}
FIRST_STEP, ORIGIN_US = 2, 4498678800000


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("form", choices=["gloo", "nccl"])
    parser.add_argument("folder")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    for name in ("slow", "shift", "host", "length", "size"):
        parser.add_argument("--" + name, action="append", default=[])
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--pipeline", action="store_true")
    parser.add_argument("--old", action="store_true")
    return parser.parse_args()


def by_rank(words, kind):
    return {int(word.split(":")[0]): kind(word.split(":")[1]) for word in words}


class Schedule:
    """Times of all events, in ms on one true clock."""

    def __init__(self, options):
        self.extra = {}
        for word in options.slow:
            rank, phase, ms = word.split(":")
            self.extra[int(rank), phase] = float(ms)
        self.ranks, self.pairs = options.ranks, options.pairs

    def length(self, rank, phase):
        return LENGTHS[phase] + self.extra.get((rank, phase), 0)

    def steps(self, count):
        begin = 0.0
        for number in range(count):
            step = {"number": FIRST_STEP + number, "begin": begin}
            forward = [begin + self.length(r, DATA) for r in range(self.ranks)]
            step["forward"] = list(forward)
            if self.pairs:  # the ranks of a pair wait for each other
                step["gather_end"] = [max(forward[r // 2 * 2:r // 2 * 2 + 2]) + 1 for r in range(self.ranks)]
                forward = step["gather_end"]
            step["backward"] = [forward[r] + self.length(r, FORWARD) for r in range(self.ranks)]
            step["first"] = [step["backward"][r] + 4 for r in range(self.ranks)]
            step["second"] = [step["backward"][r] + self.length(r, BACKWARD) for r in range(self.ranks)]
            step["first_end"] = max(step["first"]) + 2
            step["second_end"] = max(max(step["second"]), step["first_end"]) + 2
            begin = step["end"] = step["second_end"] + max(self.length(r, UPDATE) for r in range(self.ranks))
            yield step


class Pipeline:
    """Actions of each stage, step by step: (kind, peer or phase, start, end). Sending takes no time."""

    MICRO_BATCHES = 4

    def __init__(self, schedule, ranks):
        self.length, self.ranks, self.now = schedule.length, ranks, [0.0] * ranks

    def compute(self, acts, rank, phase):
        start = self.now[rank]
        self.now[rank] = start + self.length(rank, phase)
        acts[rank].append(("compute", phase, start, self.now[rank]))

    def passes(self, acts, stages, phase):
        """A micro-batch goes through the stages."""
        sent = None
        for place, rank in enumerate(stages):
            if place > 0:
                start, end = self.now[rank], max(sent, self.now[rank]) + 1
                acts[rank].append(("recv", stages[place - 1], start, end))
                acts[stages[place - 1]].append(("send", rank, sent, end))
                self.now[rank] = end
            self.compute(acts, rank, phase)
            sent = self.now[rank]

    def steps(self, count):
        for number in range(count):
            begin, acts = list(self.now), [[] for _ in range(self.ranks)]
            for rank in range(self.ranks):
                self.compute(acts, rank, DATA)
            for phase, stages in ((FORWARD, range(self.ranks)), (BACKWARD, range(self.ranks - 1, -1, -1))):
                for _ in range(self.MICRO_BATCHES):
                    self.passes(acts, stages, phase)
            end = max(self.now) + 1
            for rank in range(self.ranks):
                acts[rank].append(("allreduce", None, self.now[rank], end))
                self.now[rank] = end
                self.compute(acts, rank, UPDATE)
            yield {"number": FIRST_STEP + number, "begin": begin, "acts": acts}


class Trace:
    def __init__(self, rank, options):
        self.rank, self.old, self.events, self.correlation = rank, options.old, [], 0
        self.shift = by_rank(options.shift, float).get(rank, 0)
        self.head = {
            "schemaVersion": 1,
            "deviceProperties": [],
            "distributedInfo": {"backend": options.form, "rank": rank, "world_size": options.ranks},
            "host_name": by_rank(options.host, str).get(rank, "node0"),
            "baseTimeNanoseconds": 1790857026000000000,
        }
        if self.old:
            del self.head["host_name"], self.head["baseTimeNanoseconds"]
        self.elements = by_rank(options.size, int).get(rank, 1024)
        self.ranks = options.ranks

    def add(self, category, name, begin, end, thread=1, arguments=None, process=100):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
                            "ts": round(ORIGIN_US + 1e3 * (begin + self.shift), 3), "dur": round(1e3 * (end - begin), 3),
                            "args": arguments or {"External id": len(self.events)}})

    def kernel(self, name, launched, begin, end, stream=7, arguments=None):
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", launched, launched + 0.004, arguments={"correlation": self.correlation})
        self.add("kernel", name, begin, end, stream, dict(arguments or {}, stream=stream, correlation=self.correlation), 0)

    def collective(self, name, group, ranks, elements):
        return {"Collective name": name, "In msg nelems": elements, "Out msg nelems": elements, "dtype": "Float",
                "Group size": len(ranks), "Process Group Name": group, "Process Group Ranks": str(ranks)}

    def write(self, folder):
        self.events.sort(key=lambda event: (event["cat"], event["tid"]))  # in no order of time, as profilers write them
        with gzip.open(f"{folder}/rank{self.rank}.json.gz", "wt", compresslevel=1) as file:
            json.dump(dict(self.head, traceEvents=self.events), file, indent=2)


def annotate(trace, step, forward, backward, update, end):
    trace.add("user_annotation", f"ProfilerStep#{step['number']}", step["begin"], end)
    trace.add("user_annotation", "DistributedDataParallel.forward", *forward)
    trace.add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", *backward, 2)
    trace.add("user_annotation", "Optimizer.step#AdamW.step", *update)


def add_gloo(trace, step, rank, length):
    """Gloo's calls stand on its own threads; operators fill the phases."""
    begin, backward, first, second = (step[key][rank] for key in ("forward", "backward", "first", "second"))
    gathered = step["gather_end"][rank] if "gather_end" in step else begin
    updated = step["second_end"] + length(rank, UPDATE)
    annotate(trace, step, (begin, backward - 1), (backward, second), (step["second_end"], updated), updated)
    trace.add("cpu_op", "aten::linear", gathered, backward - 1)
    for start, end in ((backward, first), (first, second)):
        trace.add("cpu_op", "aten::mm", start, end, 2)
    trace.add("cpu_op", "aten::mul_", step["second_end"], updated)
    trace.add("user_annotation", "gloo:all_reduce", first, step["first_end"], 3)
    trace.add("user_annotation", "gloo:all_reduce", second, step["second_end"], 4)


def add_nccl(trace, step, rank, length):
    """The CPU launches all kernels at once and then waits for the GPU; buckets run on a stream of their own."""
    begin, backward, first, second = (step[key][rank] for key in ("forward", "backward", "first", "second"))
    gathered = step["gather_end"][rank] if "gather_end" in step else begin
    updated = step["second_end"] + length(rank, UPDATE)
    at = [begin + 0.01 * i for i in range(12)]
    annotate(trace, step, (at[0] - 0.005, at[2]), (at[3] - 0.005, at[8]), (at[9] - 0.005, at[10]), step["end"])
    world = list(range(trace.ranks))
    if gathered > begin:
        pair = [r for r in world if r // 2 == rank // 2]
        trace.kernel("ncclDevKernel_AllGather_RING_LL", at[0], begin, gathered, 30,
                     trace.collective("_allgather_base", f"{1 + rank // 2}", pair, 64))
    trace.kernel("gemm_forward", at[1], gathered, backward)
    trace.kernel("gemm_backward", at[3], backward, first)
    kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    for n, (launched, start, end) in enumerate(((at[5], first, step["first_end"]),
                                                (at[7], max(second, step["first_end"]), step["second_end"]))):
        arguments = trace.collective("allreduce", "0", world, trace.elements if n else 4096)
        trace.add("cpu_op", "record_param_comms", launched - 0.002, launched + 0.006, 1, arguments)
        trace.kernel(kernel, launched, start, end, 20, None if trace.old else arguments)
    trace.kernel("gemm_backward", at[6], first, second)
    trace.kernel("adam", at[9], step["second_end"], updated)
    trace.add("cuda_runtime", "cudaStreamSynchronize", at[11], updated)


def add_stage(trace, step, rank):
    """Kernels of a pipeline's stage, all launched when its step begins."""
    begin, acts = step["begin"][rank], sorted(step["acts"][rank], key=lambda act: act[2])
    launch = [begin + 0.01 * i for i in range(len(acts) + 1)]
    end = acts[-1][3]
    trace.add("user_annotation", f"ProfilerStep#{step['number']}", begin, end)
    for phase, name in ((DATA, "data"), (FORWARD, "forward"), (BACKWARD, "backward"), (UPDATE, "Optimizer.step#AdamW.step")):
        own = [i for i, act in enumerate(acts) if act[1] == phase]
        for i in own:
            trace.add("user_annotation", name, launch[i] - 0.001, launch[i] + 0.006)
    world = list(range(trace.ranks))
    for i, (kind, what, start, finish) in enumerate(acts):
        if kind == "compute":
            trace.kernel("gemm_" + what, launch[i], start, finish)
            continue
        arguments = trace.collective(kind, "0", world, 4096)
        if kind == "allreduce":
            trace.add("cpu_op", "record_param_comms", launch[i] - 0.0005, launch[i] + 0.005, 1, arguments)
            trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", launch[i], start, finish, 20,
                         None if trace.old else arguments)
            continue
        if not trace.old:  # ranks of the job; the arrow has those of the group
            arguments["Dst Rank" if kind == "send" else "Src Rank"] = what
        arrow = f"nccl:{kind} {rank}{'->' if kind == 'send' else '<-'}{what}"
        trace.add("user_annotation", arrow, launch[i] - 0.001, launch[i] + 0.006)
        trace.add("cpu_op", "record_param_comms", launch[i] - 0.0005, launch[i] + 0.005, 1, arguments)
        trace.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", launch[i], start, finish, 21 + what, None if trace.old else arguments)
    trace.add("cuda_runtime", "cudaStreamSynchronize", launch[-1], end)


def main():
    options = parse()
    schedule = Schedule(options)
    lengths = by_rank(options.length, int)
    for rank in range(options.ranks):
        trace = Trace(rank, options)
        if options.pipeline:
            for step in Pipeline(schedule, options.ranks).steps(options.steps):
                add_stage(trace, step, rank)
        for step in schedule.steps(0 if options.pipeline else lengths.get(rank, options.steps)):
            (add_gloo if options.form == "gloo" else add_nccl)(trace, step, rank, schedule.length)
        trace.write(options.folder)


main()
