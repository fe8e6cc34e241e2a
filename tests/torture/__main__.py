"""Attack ybar with damaged and forged files, kills and failing disks: ``make torture``.

``python tests/torture [GROUP ...] [--scale 0.1] [--output results/torture]`` runs each attack in a
child process of its own, with limits of memory and processor time. It writes ``torture.csv`` with
one row per group, and ``torture-failures.txt`` with what to repeat. It ends with 1 if anything was
lost, was run, ended in a traceback or a signal, or went over a limit.

A further attack is one function in one of the modules: it gets a folder and a number, and returns
"refused", "right" or another of the outcomes in `child`. `GROUPS` names it.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import csv
import sys
import tempfile
from collections import Counter
from pathlib import Path

import child
import kills
import ledgers
import models
import plans

import tables

GROUPS = {
    "save killed": (100, kills.prepare_save, kills.save),
    "predict killed": (100, kills.prepare_predict, kills.predict),
    "save, each call fails": (kills.CALLS, kills.prepare_save, kills.failing_save),
    "ledger, disk full at each block": (kills.BLOCKS, ledgers.prepare, kills.failing_ledger),
    "models, damaged": (500, models.prepare, models.damaged),
    "models, forged": (1500, models.prepare, models.forged),
    "tables and images": (200, tables.prepare, tables.hostile),
    "ledgers, one bit flipped": (1000, ledgers.prepare, ledgers.flipped),
    "plans": (100, plans.prepare, plans.hostile),
}
COLUMNS = ("group", "tried", *child.OUTCOMES, "largest_megabytes", "longest_seconds")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP")
    options.add_argument("--scale", type=float, default=1.0, help="share of the attacks to run")
    options.add_argument("--output", type=Path, default=Path("results/torture"))
    given = options.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    child.preload()
    rows, failures = [], []
    for name in given.groups or GROUPS:
        tried, prepare, attack = GROUPS[name]
        outcomes = run(name, max(1, int(tried * given.scale)), prepare, attack, failures)
        rows.append(row(name, outcomes))
        print(*(f"{key} {value}" for key, value in rows[-1].items() if value), sep=", ", flush=True)
    with (given.output / "torture.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (given.output / "torture-failures.txt").write_text("".join(failures), encoding="utf-8")
    return 1 if failures else 0


def run(name, tried, prepare, attack, failures):
    """Run all attacks of a group, and collect what has to be repeated."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        child.must(lambda: prepare(Path(folder)))
        for number in range(tried):
            outcome = child.run(lambda number=number: attack(Path(folder), number))
            outcomes.append(outcome)
            if outcome.kind not in child.GOOD:
                failures.append(f"{name}, number {number}: {outcome.kind}: {outcome.note}\n")
    return outcomes


def row(name, outcomes):
    kinds = Counter(outcome.kind for outcome in outcomes)
    return {
        "group": name,
        "tried": len(outcomes),
        **{kind: kinds[kind] for kind in child.OUTCOMES},
        "largest_megabytes": round(max(outcome.megabytes for outcome in outcomes)),
        "longest_seconds": round(max(outcome.seconds for outcome in outcomes), 1),
    }


if __name__ == "__main__":
    sys.exit(main())
