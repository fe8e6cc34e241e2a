"""The progress of a sweep on the terminal, in seconds of work rather than in runs."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator
from typing import Any

from ..utils.extras import require
from ..utils.text import plain
from .plan.jobs import Job, hashes
from .runs.cost import Cost
from .runs.outcome import Outcome
from .runs.sweep import Report

_LONGEST_NOTE = 300


class WorkDone:
    """How much of the work of jobs is done, in seconds of one core."""

    def __init__(self, jobs: list[Job], known: Container[str], cost: Cost) -> None:
        self.of_run = {
            name: cost(job) / len(job.trainings)
            for job in jobs
            for name in hashes(job)
            if name not in known
        }
        self.total = sum(self.of_run.values())
        self.done: set[str] = set()
        self.running: dict[tuple[str, ...], float] = {}

    def update(self, job: Job, share: float, ended: bool) -> float:
        """Return the work done so far, after a job ended or reported its progress."""
        names = tuple(hashes(job))
        if ended:
            self.done |= set(names)
            self.running.pop(names, None)
        else:
            self.running[names] = share
        done = sum(self.of_run.get(name, 0.0) for name in self.done)
        return done + sum(
            share * sum(self.of_run.get(name, 0.0) for name in names if name not in self.done)
            for names, share in self.running.items()
        )


@contextlib.contextmanager
def shown(work: WorkDone, console: Any) -> Iterator[Report]:
    """Show on a terminal how much of a sweep is done, and how long the rest will take."""
    progress = require("rich.progress", "cli", "ybar reproduce")
    n_runs, n_failed = len(work.of_run), 0
    bar = progress.Progress(
        "{task.description}",
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        speed_estimate_period=600,
    )
    with bar:
        task = bar.add_task(f"0 of {n_runs} runs", total=work.total)

        def report(job: Job, share: float, outcomes: list[Outcome] | None) -> None:
            nonlocal n_failed
            for outcome in outcomes or []:
                if outcome.cause is not None:
                    n_failed += 1
                    name = f"{job.dataset.name} {job.setting.name} {outcome.training.method}"
                    note = plain(f"failed: {name}: {outcome.cause}")
                    console.print(note[:_LONGEST_NOTE], markup=False, highlight=False)
            failed = f", {n_failed} failed" if n_failed else ""
            completed = work.update(job, share, outcomes is not None)
            done = f"{len(work.done)} of {n_runs} runs{failed}"
            bar.update(task, completed=completed, description=done)

        yield report
        # Another sweep ran the missing runs.
        bar.update(task, completed=work.total, description=f"all {n_runs} runs are recorded")
