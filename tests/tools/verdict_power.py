#!/usr/bin/env python3
"""Measure how often a wrong formula would be noticed. Simulates full runs from recorded rounds and judges each with a wrong prediction.

usage: verdict_power.py CLAIMS EXPECTED RESULTS [RUNS [FACTOR]]

A simulated run of a lab draws as many rounds as were recorded, with replacement; all cases of a round stay together, so noise that they
share stays shared. In each simulated run one term of every predicted step (data, local, its part update, host, wait or transfer) is
multiplied by FACTOR (default 1.2) and, in another, divided by it, if the term is a tenth or more of the step that it belongs to in some
case. The claims program then judges the run. Prints, per lab, place and term: in how many of RUNS (default 100) runs any claim is wrong;
and for comparison in how many it is wrong when nothing was changed. Real and simulated ranks are predicted by one formula and a full run
has both, so the place "both" counts the runs in which a claim is wrong at either. A place with fewer than six rounds is left out: of three
rounds, one run in nine draws the same one three times, which looks like no noise. Not a test: it takes a quarter of an hour and needs the
results of a full run.
"""
import collections
import csv
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TERMS = ["data", "local", "update", "host", "wait", "transfer"]
WHOLE = {"update": "local"}  # a term that is a part of another one
LEAST_ROUNDS = 6  # to draw from


def read(path):
    """Return the head lines, the column names and the rows of a table."""
    lines = path.read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    table = csv.DictReader(line for line in lines if not line.startswith("#"))
    return head, table.fieldnames, list(table)


def write(path, head, names, rows):
    path.unlink(missing_ok=True)  # a link to the recorded one
    with path.open("w", newline="") as out:
        out.writelines(head)
        table = csv.DictWriter(out, names, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def number(text):
    return float(text) if text else 0.0


def scale(rows, term, factor):
    """Multiply one predicted term in place, and correct what it is a part of by the difference: the steps, and perhaps another term."""
    for row in rows:
        column = f"predicted_{term}_ms"
        if not row.get(column):
            continue
        added = (factor - 1) * number(row[column])
        row[column] = repr(factor * number(row[column]))
        wholes = ["predicted_step_ms", "predicted_then_ms"]
        if term in WHOLE:
            wholes.append(f"predicted_{WHOLE[term]}_ms")
        for whole in wholes:
            if row.get(whole):
                row[whole] = repr(number(row[whole]) + added)


def matters(rows, term):
    return any(number(row.get(f"predicted_{term}_ms")) >= 0.1 * number(row.get("predicted_then_ms")) > 0 for row in rows)


def resample(rows, draw):
    """Return as many rounds, drawn with replacement, renumbered; each is of its launch, whose card it is predicted from. Cases that were
    measured in one or two rounds stay as they are: drawn twice, one round would look like no noise."""
    times = collections.Counter(row["case"] for row in rows)
    rounds = {}
    for row in rows:
        rounds.setdefault((row["launch"], row["round"]), []).append(row)
    often = [[row for row in group if times[row["case"]] > 2] for group in rounds.values()]
    seldom = [[row for row in group if times[row["case"]] <= 2] for group in rounds.values()]
    drawn = [draw.choice(often) + few for few in seldom]
    return [{**row, "launch": group[0]["launch"], "round": str(i)} for i, group in enumerate(drawn) for row in group]


def copy_tables(folders, results, scratch):
    """Copy the tables of all labs and places: how much it takes to call a claim wrong depends on how many are judged."""
    for _, folder in folders:
        there = pathlib.Path(scratch) / folder.relative_to(results)
        there.mkdir(parents=True)
        for table in ("summary.csv", "rounds.csv"):
            (there / table).symlink_to((folder / table).resolve())
    return pathlib.Path(scratch)


def count_wrong(claims, expected, results, lab, place):
    """Return how many of the lab's claims about time are wrong at a place, by the evidence that a run of all labs asks for."""
    command = [claims, "--results", str(results), "--expected", expected, "--only", lab]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    if not re.search(r"^Of \d+ claims? about time", said, re.M):
        sys.exit(f"verdict_power.py: {' '.join(command)} judged nothing:\n{said[-500:]}")
    word = "here" if place == "here" else "simulated"
    return len(re.findall(rf"^(?:ratio|shape|formula), .* \({word}\): ", said, re.M))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    claims, expected, results = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    factor = float(sys.argv[5]) if len(sys.argv) > 5 else 1.2
    places = [("here", results), ("dedicated-cores", results / "platforms/dedicated-cores")]
    folders = [(place, table.parent) for place, at in places for table in sorted(at.glob("[0-9][0-9]_*/rounds.csv"))]
    found = {}  # for each lab and change: in which runs a claim is wrong, at any place
    left_out = set()  # labs of which a place has too few rounds
    print("lab,place,rounds,term,factor,runs,runs_with_a_wrong_claim")
    for place, folder in folders:
        head, names, rows = read(folder / "rounds.csv")
        summary = read(folder / "summary.csv")
        rounds = len({(row["launch"], row["round"]) for row in rows})
        if rounds < LEAST_ROUNDS:
            print(f"verdict_power.py: {folder} has only {rounds} rounds, and is left out", file=sys.stderr)
            left_out.add(folder.name)
            continue
        changes = [("none", 1.0)] + [(term, by) for term in TERMS if matters(rows, term) for by in (factor, 1 / factor)]
        for term, by in changes:
            draw = random.Random(f"{folder.name} {place}")  # the same runs for every change
            red = []
            for _ in range(runs):
                with tempfile.TemporaryDirectory() as scratch:
                    there = copy_tables(folders, results, scratch) / folder.relative_to(results)
                    changed = resample(rows, draw)
                    means = [dict(row) for row in summary[2]]
                    scale(changed, term, by)
                    scale(means, term, by)
                    write(there / "rounds.csv", head, names, changed)
                    write(there / "summary.csv", summary[0], summary[1], means)
                    red.append(count_wrong(claims, expected, scratch, folder.name, place) > 0)
            print(f"{folder.name},{place},{rounds},{term},{by:.3f},{runs},{sum(red)}", flush=True)
            found.setdefault((folder.name, term, by), []).append(red)
    for (lab, term, by), reds in sorted(found.items()):
        if lab not in left_out:
            print(f"{lab},both,,{term},{by:.3f},{runs},{sum(map(any, zip(*reds)))}")


main()
