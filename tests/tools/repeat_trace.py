#!/usr/bin/env python3
"""Make long traces of recorded ones: repeat the events of each rank, one time after the other, until a file has enough JSON.

usage: repeat_trace.py MEGABYTES FOLDER TRACE.json.gz...

Writes FOLDER/rank0.json.gz and so on, in the order of the traces. Times, numbers of steps and the numbers that join a launch to its
kernel go on from one repetition to the next, on all ranks alike. docs/blame.md says what was measured with such traces.
"""
import gzip
import json
import sys

STEP = "ProfilerStep#"


def events_of(path):
    with gzip.open(path) as file:
        trace = json.load(file)
    return trace, trace.pop("traceEvents")


def steps(events):
    return [event for event in events if str(event.get("name", "")).startswith(STEP)]


def pieces(events):
    """Each event as text, without what changes from one repetition to the next: [text, time, step, correlation]."""
    for event in events:
        event = dict(event, ts="@TIME") if "ts" in event else event
        step = correlation = None
        if str(event.get("name", "")).startswith(STEP):
            step = int(event["name"][len(STEP):])
            event = dict(event, name=STEP + "@STEP")
        if "correlation" in event.get("args", {}):
            correlation = event["args"]["correlation"]
            event = dict(event, args=dict(event["args"], correlation="@CORRELATION"))
        yield json.dumps(event, indent=2).replace("\n", "\n  "), step, correlation


def write(path, trace, events, period, count, enough):
    texts = list(zip(pieces(events), (event.get("ts") for event in events)))
    written = repetition = 0
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write((json.dumps(trace, indent=1)[:-2] + ',\n "traceEvents": [\n  ').encode())
        while written < enough:
            parts = []
            for (text, step, correlation), time in texts:
                if time is not None:
                    text = text.replace('"@TIME"', f"{float(time) + repetition * period:.3f}")
                if step is not None:
                    text = text.replace("@STEP", str(step + repetition * count))
                if correlation is not None:
                    text = text.replace('"@CORRELATION"', str(correlation + repetition * 1000000))
                parts.append(text)
            block = (",\n  " if repetition else "") + ",\n  ".join(parts)
            written += file.write(block.encode())
            repetition += 1
        file.write(b"\n ]\n}\n")
    print(f"{path}: {written / 1e6:.0f} MB, {repetition * len(events)} events, {repetition * count} steps")


def main():
    enough, folder, traces = 1e6 * float(sys.argv[1]), sys.argv[2], [events_of(path) for path in sys.argv[3:]]
    every = [step for _, events in traces for step in steps(events)]
    period = max(float(s["ts"]) + float(s["dur"]) for s in every) - min(float(s["ts"]) for s in every) + 200
    count = len({step["name"] for step in every})
    for rank, (trace, events) in enumerate(traces):
        write(f"{folder}/rank{rank}.json.gz", trace, events, period, count, enough)


if len(sys.argv) < 4:
    sys.exit(__doc__)
main()
