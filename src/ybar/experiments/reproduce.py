"""``ybar reproduce``: from a plan to its tables, figures and page."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..utils.errors import InputError
from ..utils.extras import expect, require
from ..utils.text import plain
from .plan import reading
from .plan.jobs import Job, count_naive, hashes
from .plan.jobs import jobs as jobs_of
from .plan.model import Boosting, Dataset, Facts, Network, Plan
from .progress import WorkDone, shown
from .results import outputs, plots, render
from .results.choose import Runs
from .runs import data, transfer
from .runs.cluster import Cluster
from .runs.cost import cost_of_jobs
from .runs.entry import Entry
from .runs.ledger import Ledger
from .runs.sweep import sweep

_SECONDS_TO_START = 5.0
_NEEDED = {
    Network: ("torch", "torch", "a plan with networks"),
    Boosting: ("lightgbm", "boosting", "a plan with boosted trees"),
}


def reproduce(
    source: str,
    *,
    ledger: Path | None = None,
    output: Path | None = None,
    n_jobs: int = 1,
    dask: str | None = None,
    datasets: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    bases: Sequence[str] | None = None,
    trials: Sequence[int] | None = None,
    epoch: str = "last",
    merge: Sequence[Path] = (),
    export: Sequence[Path] = (),
    retry_failed: bool = False,
    run: bool = True,
    dry_run: bool = False,
) -> None:
    """Run a plan, or a part of it, and write its tables, figures and page.

    The parameters are the options of the command line.
    """
    plan = reading.read(source, imports=not dry_run)
    selection = Selection.of(plan, dataset=datasets, setting=settings, base=bases, trial=trials)
    path = ledger or Path(f"{Path(source).stem}.sqlite")
    folder = output or Path(f"{Path(source).stem}-results")
    if retry_failed and not run:
        raise InputError("--retry-failed and --no-run exclude each other. Leave one out")
    if not run and not merge and not path.is_file():
        raise InputError(
            f"--no-run needs a ledger that exists; {path} does not. Name it with --ledger"
        )
    facts = _facts(plan, selection, source, download=not dry_run) if run else {}
    console = require("rich.console", "cli", "ybar reproduce").Console(stderr=True)
    for warning in data.assumed_orders(plan, facts):
        console.print(plain(f"note: {warning}"), markup=False, highlight=False, soft_wrap=True)
    every_job = jobs_of(plan, facts)
    jobs = selection.jobs(every_job) if run else []
    if dry_run:
        print(_dry_run(plan, jobs, _known(path, merge, retry_failed), facts, n_jobs))
        return
    outputs.check_folder(folder)
    for each in export:  # which may lie in the folder
        transfer.check_target(each)
    with Ledger(path, write=run or bool(merge)) as opened:
        for other in merge:
            merged = transfer.merge(opened, other)
            note = f"{other}: {merged.new} new runs, {merged.known} known"
            console.print(plain(note), markup=False, highlight=False, soft_wrap=True)
        if run:
            _run(jobs, opened, facts, n_jobs, dask, retry_failed, console)
        entries = opened.entries(curves=True)
    _write(Runs(entries, plan, facts, every_job), folder, epoch, export)


def _write(runs: Runs, folder: Path, epoch: str, export: Sequence[Path]) -> None:
    """Write the results, print the tables that are not empty, and export the runs."""
    written = outputs.write(runs, folder, epoch=epoch)
    out = require("rich.console", "cli", "ybar reproduce").Console()
    for table in written.tables:
        if any(cell.n for *_, cell in table.cells()):
            out.print(render.terminal(table), "")
    curves = plots.drawn_from(runs) if export else {}
    for each in export:
        transfer.export(runs.entries, each, curves)
    out.print(written.text, markup=False, highlight=False, soft_wrap=True)


class Selection(NamedTuple):
    """The part of a plan that the options select; an option that is missing selects all."""

    wanted: dict[str, Collection[Any]]

    @classmethod
    def of(cls, plan: Plan, **wanted: Sequence[Any] | None) -> Selection:
        """Return the selection, or raise ValueError for a name that the plan does not have."""
        parts = plan.parts
        known: dict[str, set[Any]] = {
            "dataset": {d.name for part in parts for d in part.datasets},
            "setting": {s.name for part in parts for s in part.settings},
            "base": {part.base.name for part in parts},
            "trial": set(range(max(part.trials for part in parts))),
        }
        for name, values in known.items():
            for each in set(wanted[name] or []) - values:
                raise InputError(
                    f"--{name} must be one of the plan's: {', '.join(map(str, sorted(values)))}; "
                    f"got {each}"
                )
        return cls({name: values for name, values in wanted.items() if values})

    def has(self, **names: Any) -> bool:
        """Return whether all of these names are selected."""
        return all(name in self.wanted.get(key, (name,)) for key, name in names.items())

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the selected jobs, or raise ValueError if there are none."""
        selected = []
        for job in jobs:
            names = {"dataset": job.dataset.name, "setting": job.setting.name}
            if self.has(**names, base=job.base.name, trial=job.trial):
                selected.append(job)
        if not selected:
            raise InputError(
                f"{', '.join(f'--{name}' for name in self.wanted)} must select some run; the plan "
                "has each of these values, but no [[base]] combines them. Leave one out"
            )
        return selected


def _facts(
    plan: Plan, selection: Selection, source: str, *, download: bool
) -> dict[Dataset, Facts]:
    """Return the facts of the selected data; errors in their content also name the plan.

    Errors of the file system (`OSError`) do not.
    """
    facts = {}
    for dataset in dict.fromkeys(d for part in plan.parts for d in part.datasets):
        if selection.has(dataset=dataset.name):
            try:
                facts[dataset] = data.facts(dataset, download=download)
            except ValueError as error:
                if dataset.path is None:
                    raise
                raise reading.PlanError(f"{source}: {error}") from error
    try:
        data.check(plan, facts)
    except ValueError as error:
        raise reading.PlanError(f"{source}: {error}") from error
    return facts


def _run(
    jobs: list[Job],
    ledger: Ledger,
    facts: dict[Dataset, Facts],
    n_jobs: int,
    dask: str | None,
    retry_failed: bool,
    console: Any,
) -> None:
    """Run the jobs that the ledger does not have."""
    forgotten = ledger.forget((n for job in jobs for n in hashes(job)), failed=retry_failed)
    if retry_failed:
        console.print(f"{forgotten} failed runs will be run again")
    known = ledger.hashes()
    todo = [job for job in jobs if set(hashes(job)) - known.keys()]
    if not todo:
        return
    if dask is None:  # workers on other machines may have packages that are missing here
        for kind in {type(job.base) for job in todo} & _NEEDED.keys():
            expect(*_NEEDED[kind])
    work = WorkDone(todo, known, cost_of_jobs(ledger.entries(), facts))
    workers = Cluster(dask, min(n_jobs, len(todo)))
    with contextlib.closing(workers), _terminated_as_interrupted():
        try:
            with shown(work, console) as report:
                sweep(todo, ledger, workers, report)
        except KeyboardInterrupt:
            recorded = len(ledger.hashes()) - len(known)
            console.print(
                f"Interrupted: {recorded} runs were recorded, those that were running are lost. "
                "The same command continues."
            )
            raise


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM, which batch systems send, like Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _known(path: Path, merge: Sequence[Path], retry_failed: bool) -> list[Entry]:
    """Return the recorded runs, which need not be run again."""
    entries = [entry for other in merge for entry in transfer.read(other)]
    if path.exists():
        with Ledger(path, write=False) as ledger:
            entries += ledger.entries()
    return [entry for entry in entries if entry.cause is None or not retry_failed]


def _dry_run(
    plan: Plan, jobs: list[Job], known: list[Entry], facts: dict[Dataset, Facts], n_jobs: int
) -> str:
    """Return how many runs there are, how many are missing, and how long they take."""
    work = WorkDone(jobs, {entry.hash for entry in known}, cost_of_jobs(known, facts))
    n_runs, n_missing = sum(len(job.trainings) for job in jobs), len(work.of_run)
    n_jobs = min(n_jobs, os.cpu_count() or 1, max(1, len(jobs)))
    where = f"{n_jobs} processes" if n_jobs > 1 else "1 process"
    return (
        f"The whole plan {plain(plan.name)}: {plan.n_runs} runs of a method at a learning rate on "
        f"a trial.\nTrained one by one for each table: {count_naive(plan.parts)} trainings.\n"
        f"With shared trainings, and as far as selected: {n_runs} trainings, as {len(jobs)} jobs.\n"
        f"In the ledger: {n_runs - n_missing}. To run: {n_missing}, about "
        f"{_duration(work.total / n_jobs)} on {where} of this machine."
    )


def _duration(seconds: float) -> str:
    if seconds == 0:
        return "no time"
    if seconds < 90:
        return f"{seconds + _SECONDS_TO_START:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
