r"""Move the runs of a plan from one export to another.

The plan `paper` trains the T of ``cpe-t`` as the paper describes. Before, it trained that T as ybar
does by default. These runs keep their names, and belong to the plan ``transition_layer.toml`` now:

    python studies/move_runs.py studies/choices/transition_layer.toml \\
      results/paper/runs.csv results/choices/transition_layer.csv

A second call moves nothing. Exports of older ledgers have only the runs of their plan.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ybar.experiments.plan import reading
from ybar.experiments.results.choose import Runs
from ybar.experiments.runs import transfer
from ybar.experiments.runs.entry import Entry


def move(plan: Path, source: Path, target: Path) -> int:
    """Move the runs of a plan between two exports (.csv), and return how many were moved."""
    entries = transfer.read(source)
    moved = {entry.hash for entry in Runs(entries, reading.read(plan)).entries}
    if not moved:
        return 0
    there = transfer.read(target) if target.exists() else []
    new = moved - {entry.hash for entry in there}  # those that are there stay, with their curves
    # First the target: a run that is lost would have to be computed again.
    _export(there + [entry for entry in entries if entry.hash in new], target)
    _export([entry for entry in entries if entry.hash not in moved], source)
    return len(moved)


def _export(entries: list[Entry], target: Path) -> None:
    transfer.export(entries, target, {e.hash: e.curves for e in entries if e.curves})


if __name__ == "__main__":
    print(f"{move(*map(Path, sys.argv[1:]))} runs moved")
