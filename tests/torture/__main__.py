"""Attack ybar with damaged and forged files, kills and failing disks: ``make torture``.

``python tests/torture [GROUP ...] [--scale 0.1] [--output results]`` runs each attack in a child
process of its own, with limits of memory and processor time. It writes one row per group to
``torture.md``, where the rows of other groups stay, and to ``torture-failures.txt`` what to repeat.
It ends with 1 if anything was lost, was run, ended in a traceback or a signal, or went over a
limit.

A further attack is one function in one of the modules: it gets a folder and a number, and returns
"refused", "right" or another of the outcomes in `child`. `GROUPS` names it.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import child
import disk
import kills
import ledgers
import models
import plans
import sweeps

import tables

# The number of attacks, or a function of the prepared folder that returns it; what prepares the
# folder; and the attack.
GROUPS = {
    "sweep killed": (100, sweeps.prepare, sweeps.killed),
    "save killed": (100, kills.prepare_save, kills.save),
    "predict killed": (100, kills.prepare_predict, kills.predict),
    "save, each call to the disk fails": (
        disk.calls(disk.save),
        kills.prepare_save,
        disk.attack(disk.save),
    ),
    "predict, each call to the disk fails": (
        disk.calls(disk.predict),
        kills.prepare_predict,
        disk.attack(disk.predict),
    ),
    "ledger, each call to the disk fails": (
        disk.calls(disk.record),
        ledgers.prepare,
        disk.attack(disk.record),
    ),
    "models, damaged": (500, models.prepare, models.damaged),
    "models, forged": (1500, models.prepare, models.forged),
    "tables and images": (tables.TRIED, tables.prepare, tables.hostile),
    "ledgers, one bit flipped": (1000, ledgers.prepare, ledgers.flipped),
    "plans": (100, plans.prepare, plans.hostile),
}
COLUMNS = ("attack", "tried", *child.OUTCOMES, "largest MB", "longest s")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP")
    options.add_argument("--scale", type=float, default=1.0, help="share of the attacks to run")
    options.add_argument("--output", type=Path, default=Path("results"))
    arguments = options.parse_args()
    disk.install()
    child.preload()
    failures = []
    for name in arguments.groups or GROUPS:
        for outcomes in run(name, arguments.scale, failures):
            row = summary(name, outcomes)
            write(arguments.output / "torture.md", row)  # each time: a run may be interrupted
        print(*(f"{key} {value}" for key, value in row.items() if value), sep=", ", flush=True)
    (arguments.output / "torture-failures.txt").write_text("".join(failures), encoding="utf-8")
    return 1 if failures else 0


def run(name, scale, failures):
    """Run the attacks of a group, yield the outcomes so far, and collect what has to be repeated."""
    tried, prepare, attack = GROUPS[name]
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        child.must(lambda: prepare(Path(folder)))
        if callable(tried):
            tried = int(child.run(lambda: ("right", tried(Path(folder)))).note)
        for number in range(max(1, int(tried * scale))):
            outcome = child.run(lambda number=number: attack(Path(folder), number))
            outcomes.append(outcome)
            if outcome.kind not in child.GOOD:
                failures.append(f"{name}, number {number}: {outcome.kind}: {outcome.note}\n")
            yield outcomes


def summary(name, outcomes):
    kinds = Counter(outcome.kind for outcome in outcomes)
    return {
        "attack": name,
        "tried": len(outcomes),
        **{kind: kinds[kind] for kind in child.OUTCOMES},
        "largest MB": round(max(outcome.megabytes for outcome in outcomes)),
        "longest s": round(max(outcome.seconds for outcome in outcomes), 1),
    }


def write(path, row):
    """Replace the row of a group in the table of results, or add it."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines[2:]}
    rows[row["attack"]] = line_of(row.values())
    head = [line_of(COLUMNS), line_of(["---", *["---:"] * (len(COLUMNS) - 1)])]
    text = "\n".join([*head, *(rows[name] for name in GROUPS if name in rows)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def line_of(cells):
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
