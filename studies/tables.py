"""Build every table of ``results/`` that comes from runs, and put them into README and the docs.

Nothing is run. The runs of the ledgers in ``results/`` (``*.sqlite``), and of other ledgers or
exports, are added to the committed ones first:

    python studies/tables.py [--merge other.sqlite ...]

A committed run is never lost: an export that would have fewer runs is an error.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from ybar.experiments.reproduce import reproduce
from ybar.experiments.runs import transfer

STUDIES = Path(__file__).resolve().parent
RESULTS = STUDIES.parent / "results"
PROGRAMS = ("leaderboard.py", "choosing.py", "summary.py", "anchors.py", "fill_tables.py")


class Committed(NamedTuple):
    """What is committed of a plan: an export of its runs, and some of its results."""

    plan: str | Path
    export: str
    results: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Other exports with runs of the plan, which its own does not repeat."""

    def rebuild(self, others: list[Path]) -> None:
        """Add the runs of other ledgers to the export, and build the results anew."""
        target = RESULTS / self.export
        shared = [RESULTS / export for export in self.also]
        before = {entry.hash for entry in transfer.read(target)} if target.exists() else set()
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            folder = Path(name)
            reproduce(
                str(self.plan),
                ledger=folder / "runs.sqlite",
                output=folder,
                merge=[each for each in (target, *shared, *others) if each.exists()],
                export=[folder / "runs.csv"],
                run=False,
            )
            target.parent.mkdir(exist_ok=True)
            exported = {entry.hash for export in shared for entry in transfer.read(export)}
            entries = [e for e in transfer.read(folder / "runs.csv") if e.hash not in exported]
            lost = before - exported - {entry.hash for entry in entries}
            if lost:
                raise RuntimeError(f"{target} would lose {len(lost)} of its {len(before)} runs")
            console.print(f"{self.export}: {len(before)} runs before, {len(entries)} now")
            if entries:
                transfer.export(entries, target, {e.hash: e.curves for e in entries if e.curves})
            for result in self.results:
                shutil.rmtree(target.parent / result, ignore_errors=True)  # a folder
                shutil.move(folder / result, target.parent / result)


console = Console(stderr=True)
COMMITTED = (
    Committed(
        "paper",
        "paper/runs.csv",
        ("tables.md", "tables.tex", "tables.csv", "overview.md", "choices.md", "figures"),
    ),
    Committed("leaderboard", "leaderboard/runs.csv"),
    Committed(STUDIES / "choices" / "choices.toml", "choices/runs.csv", ("tables.md",)),
    Committed(
        STUDIES / "choices" / "transition_layer.toml",
        "choices/transition_layer.csv",
    ),
    Committed(
        "field",
        "field/runs.csv",
        ("tables.md",),
        ("paper/runs.csv", "choices/transition_layer.csv"),
    ),
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--merge", type=Path, action="append", default=[])
    others = [*sorted(RESULTS.glob("*.sqlite")), *parser.parse_args().merge]
    for each in COMMITTED:
        each.rebuild(others)
    for program in PROGRAMS:
        subprocess.run([sys.executable, STUDIES / program], check=True, stdout=subprocess.DEVNULL)
