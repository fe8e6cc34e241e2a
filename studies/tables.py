"""Build every table of ``results/`` that comes from runs, and put them into README and the docs.

Nothing is run. Runs of other ledgers or exports are added to the committed ones first:

    python studies/tables.py [--merge other.sqlite ...]
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

from ybar.experiments.reproduce import reproduce

STUDIES = Path(__file__).resolve().parent
RESULTS = STUDIES.parent / "results"
# By the export with the committed runs of a plan: the plan, and which of its results are committed.
PLANS: dict[str, tuple[str, tuple[str, ...]]] = {
    "paper/runs.csv": (
        "paper",
        ("tables.md", "tables.tex", "tables.csv", "overview.md", "choices.md", "figures"),
    ),
    "leaderboard/runs.csv": ("leaderboard", ()),
    "choices/runs.csv": ("choices/choices.toml", ("tables.md",)),
    "choices/transition_layer.csv": ("choices/transition_layer.toml", ()),
}
PROGRAMS = ("leaderboard.py", "choosing.py", "summary.py", "fill_tables.py")


def rebuild(export: Path, plan: str, committed: tuple[str, ...], others: list[Path]) -> None:
    """Add the runs of other ledgers to an export, and replace the committed results of the plan."""
    source = str(STUDIES / plan) if plan.endswith(".toml") else plan
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with contextlib.redirect_stdout(io.StringIO()):
            reproduce(
                source,
                ledger=folder / "runs.sqlite",
                output=folder,
                merge=[each for each in (export, *others) if each.exists()],
                export=[export],
                run=False,
            )
        for result in committed:
            target = export.parent / result
            if (folder / result).is_dir():
                shutil.rmtree(target, ignore_errors=True)
            shutil.move(folder / result, target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--merge", type=Path, action="append", default=[])
    others = parser.parse_args().merge
    for export, (plan, committed) in PLANS.items():
        rebuild(RESULTS / export, plan, committed, others)
    for program in PROGRAMS:
        subprocess.run([sys.executable, STUDIES / program], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
