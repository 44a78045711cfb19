"""ddp_traces: reads the Chrome traces that torch.profiler wrote on the ranks of one host."""
import json

RANGES = {
    "data_ms": "enumerate(DataLoader)", "forward_ms": "DistributedDataParallel.forward", "backward_ms": "backward",
    "update_ms": "Optimizer.step", "host_ms": "host work", "barrier_ms": "gloo:barrier",
}  # fmt: skip
COLUMNS = [*RANGES, "collectives_ms", "wait_ms", "exposed_ms", "sum_ms", "calls"]
COLLECTIVES = ("gloo:all_reduce", "gloo:gather", "gloo:broadcast")
GRADIENTS = "autograd::engine::evaluate_function"


def read_trace(path):
    """Return (name, start, end) of the events of all whole steps, in ms of the clock that the ranks of a host share."""
    with open(path) as file:
        found = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    events = sorted((event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3, event["name"]) for event in found)
    steps = [start for start, _, name in events if name.startswith("ProfilerStep#")]
    return [(name, start, end) for start, end, name in events if start < steps[-1]], len(steps) - 1  # the last one is empty


def covered(intervals):
    """Return the length of the intervals' union."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def measure(traces):
    """Return a row for each rank: means per step of the columns that a trace can tell. Traces are those of read_trace()."""
    calls = [[(start, end) for name, start, end in events if name in COLLECTIVES] for events, _ in traces]
    last_call = [max(start for start, _ in same) for same in zip(*calls)]  # of each collective, over ranks
    rows = []
    for (events, steps), mine in zip(traces, calls):
        row = {column: covered(e[1:] for e in events if e[0].startswith(name)) for column, name in RANGES.items()}
        computing = [event[1:] for event in events if event[0].startswith(GRADIENTS)]
        row["collectives_ms"] = covered(mine)
        row["wait_ms"] = covered((start, max(start, last)) for (start, _), last in zip(mine, last_call))
        row["exposed_ms"] = covered(mine + computing) - covered(computing)
        row["sum_ms"] = sum(end - start for start, end in mine)
        row["calls"] = len(mine)
        rows.append({column: value / steps for column, value in row.items()})
    return rows
