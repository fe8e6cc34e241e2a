"""``ybar reproduce``: from a plan to the tables, with progress on the way."""

from __future__ import annotations

import contextlib
import math
import os
import signal
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..utils.extras import expect, require
from ..utils.text import plain
from .plan import jobs as plan_jobs
from .plan import reading as plan_file
from .plan.jobs import Job
from .plan.model import Boosting, Dataset, Facts, Neighbors, Network, Part, Plan
from .results import outputs, render
from .results import plots as figures
from .runs import cost as estimate
from .runs import outcome, run, transfer
from .runs import sweep as execute
from .runs.ledger import Entry, Ledger, LedgerError

_LONGEST_NOTE = 300
_SECONDS_TO_START = 5.0
_NEEDED = {
    Network: ("torch", "torch", "a plan with networks"),
    Boosting: ("lightgbm", "boosting", "a plan with boosted trees"),
}


@dataclass(frozen=True)
class Options:
    """What the command line was told."""

    ledger: Path | None = None
    output: Path | None = None
    n_jobs: int = 1
    dask: str | None = None
    datasets: Sequence[str] | None = None
    settings: Sequence[str] | None = None
    bases: Sequence[str] | None = None
    trials: Sequence[int] | None = None
    epoch: str = "last"
    merge: Sequence[Path] = field(default_factory=list)
    export: Sequence[Path] = field(default_factory=list)
    retry_failed: bool = False
    run: bool = True
    dry_run: bool = False


def reproduce(source: str, options: Options) -> None:
    """Run a plan as the options say, and write what comes of it."""
    plan = plan_file.read(source)
    chosen = _Chosen(plan, options)
    stem = Path(source).stem
    path = options.ledger or Path(f"{stem}.sqlite")
    folder = options.output or Path(f"{stem}-results")
    if options.retry_failed and not options.run:
        raise ValueError("--retry-failed is for runs; with --no-run there are none. Leave one out")
    if not options.run and not options.merge and not path.is_file():
        raise LedgerError(
            f"--no-run needs a ledger that exists; {path} does not. Name it with --ledger"
        )
    jobs, facts = [], {}
    if options.run:
        named = dict.fromkeys(d for part in plan.parts for d in part.datasets)
        needed = [dataset for dataset in named if chosen.has(dataset)]
        facts = {each: _facts(each, source, download=not options.dry_run) for each in needed}
        _check(plan, facts, source)
        jobs = [job for job in plan_jobs.jobs(plan, facts) if chosen(job)]
        if not jobs:
            raise ValueError(
                f"{chosen.said()} must together name runs of the plan; each is in it, but no "
                "[[base]] has all of them. Leave one out"
            )
    if options.dry_run:
        known = [entry for other in options.merge for entry in transfer.read(other)]
        if path.exists():
            with Ledger(path, write=False) as ledger:
                known += ledger.entries()
        print(_dry_run(plan, jobs, known, facts, options))
        return
    outputs.check_folder(folder)
    for each in options.export:  # which may lie in it
        transfer.check_target(each)
    console = require("rich.console", "cli", "ybar reproduce").Console(stderr=True)
    with Ledger(path, write=options.run or bool(options.merge)) as ledger:
        for other in options.merge:
            merged = transfer.merge(ledger, other)
            said = f"{other}: {merged.new} new runs, {merged.known} known"
            console.print(plain(said), markup=False, highlight=False, soft_wrap=True)
        if options.run:
            _run(jobs, ledger, facts, options, console)
        entries = ledger.entries(curves=True)
    written = outputs.write(entries, plan, folder, facts, epoch=options.epoch)
    out = require("rich.console", "cli", "ybar reproduce").Console()
    for table in written.tables:
        if any(cell.n for *_, cell in table.cells()):
            out.print(render.terminal(table), "")
    if options.export:
        curves = figures.drawn_from(entries, plan, facts=facts)
        for each in options.export:
            transfer.export(entries, each, curves)
    out.print(written.text, markup=False, highlight=False, soft_wrap=True)


class _Chosen:
    """Tells whether a job is among those that the options name; a name that is not is refused."""

    def __init__(self, plan: Plan, options: Options) -> None:
        parts = plan.parts
        named: dict[str, tuple[Sequence[Any] | None, set[Any]]] = {
            "dataset": (options.datasets, {d.name for part in parts for d in part.datasets}),
            "setting": (options.settings, {s.name for part in parts for s in part.settings}),
            "base": (options.bases, {part.base.name for part in parts}),
            "trial": (options.trials, set(range(max(part.trials for part in parts)))),
        }
        for name, (wanted, there) in named.items():
            for each in set(wanted or []) - there:
                raise ValueError(
                    f"--{name} must be one of the plan's: {', '.join(map(str, sorted(there)))}; "
                    f"got {each}"
                )
        self.wanted = {name: wanted for name, (wanted, _) in named.items() if wanted}

    def said(self) -> str:
        """Return the options that were given."""
        return ", ".join(f"--{name}" for name in self.wanted)

    def has(self, dataset: Dataset) -> bool:
        """Tell whether a data set is needed."""
        return "dataset" not in self.wanted or dataset.name in self.wanted["dataset"]

    def __call__(self, job: Job) -> bool:
        own = {
            "dataset": job.dataset.name,
            "setting": job.setting.name,
            "base": job.base.name,
            "trial": job.trial,
        }
        return all(own[name] in wanted for name, wanted in self.wanted.items())


def _facts(dataset: Dataset, source: str, *, download: bool) -> Facts:
    """Return the facts of data; what is wrong with a plan's own files names the plan.

    What is wrong with files as such (OSError) is not the plan's.
    """
    try:
        return run.facts(dataset, download=download)
    except ValueError as error:
        if dataset.path is None:
            raise
        raise plan_file.PlanError(f"{source}: {error}") from error


def _check(plan: Plan, facts: Mapping[Dataset, Facts], source: str) -> None:
    """Refuse what a plan asks of data that they cannot give."""
    try:
        for part in plan.parts:
            for dataset in part.datasets:
                if dataset in facts:
                    _check_part(part, dataset, facts[dataset], plan.validation_fraction)
    except ValueError as error:
        raise plan_file.PlanError(f"{source}: {error}") from error


def _check_part(part: Part, dataset: Dataset, facts: Facts, fraction: float) -> None:
    if facts.n_classes < 2:
        raise ValueError(
            f"dataset {dataset.name!r} must have at least 2 classes; got {facts.n_classes}"
        )
    n_training = facts.n_rows - math.ceil(fraction * facts.n_rows)
    if n_training < 2:
        raise ValueError(
            f"validation_fraction must leave at least 2 rows to train on; {fraction} leaves "
            f"{n_training} of the {facts.n_rows} rows of dataset {dataset.name!r}"
        )
    if isinstance(part.base, Neighbors) and min(part.base.n_neighbors) > n_training:
        raise ValueError(
            f"n_neighbors of base {part.base.name!r} must have values up to {n_training}, the rows "
            f"of dataset {dataset.name!r} to train on; got {min(part.base.n_neighbors)} and more"
        )
    for setting in part.settings:
        if isinstance(setting.transition, str):
            continue
        if len(setting.transition) != facts.n_classes:
            raise ValueError(
                f"transition of setting {setting.name!r} must have a row for each of the "
                f"{facts.n_classes} classes of dataset {dataset.name!r}; got "
                f"{len(setting.transition)} rows. Name the settings of each [[base]] apart"
            )
        try:
            run.matrix_of(setting, facts.classes)
        except ValueError as error:
            raise ValueError(f"{error}. It is for dataset {dataset.name!r}") from error


def _run(
    jobs: list[Job], ledger: Ledger, facts: dict[Dataset, Facts], options: Options, console: Any
) -> None:
    with _pool(options) as pool:
        if options.retry_failed:
            again = ledger.forget_failed(name for job in jobs for name in plan_jobs.hashes(job))
            console.print(f"{again} failed runs will be run again")
        known = ledger.hashes()
        cost = estimate.cost(ledger.entries(), facts)
        todo = [job for job in jobs if set(plan_jobs.hashes(job)) - known.keys()]
        if options.dask in (None, "local"):  # elsewhere, workers have what we may lack
            for kind in {type(job.base) for job in todo} & _NEEDED.keys():
                expect(*_NEEDED[kind])
        with _progress(todo, known, cost, console) as tell, _terminated_as_interrupted():
            try:
                execute.sweep(todo, ledger, pool, tell)
            except KeyboardInterrupt:
                recorded = len(ledger.hashes()) - len(known)
                console.print(
                    f"Interrupted: {recorded} runs were recorded, those under way are given up. "
                    "The same command goes on."
                )
                raise


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Have SIGTERM, which batch systems send, do what Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _pool(options: Options) -> contextlib.AbstractContextManager[execute.Pool]:
    if options.dask is None:
        return execute.processes(options.n_jobs)
    return execute.cluster(None if options.dask == "local" else options.dask, options.n_jobs)


class _Costs:
    """How much of all that is to be run is done, in seconds of one core."""

    def __init__(self, jobs: list[Job], known: Container[str], cost: estimate.Cost) -> None:
        self.of_run = {
            name: cost(job) / len(job.trainings)
            for job in jobs
            for name in plan_jobs.hashes(job)
            if name not in known
        }
        self.total = sum(self.of_run.values())
        self.done: set[str] = set()
        self.under_way: dict[tuple[str, ...], float] = {}

    def take(self, job: Job, share: float, ended: bool) -> float:
        """Return what is done, a job being at its end or a share of it done."""
        names = tuple(plan_jobs.hashes(job))
        if ended:
            self.done |= set(names)
            self.under_way.pop(names, None)
        else:
            self.under_way[names] = share
        sure = sum(self.of_run.get(name, 0.0) for name in self.done)
        return sure + sum(
            share * sum(self.of_run.get(name, 0.0) for name in names if name not in self.done)
            for names, share in self.under_way.items()
        )


@contextlib.contextmanager
def _progress(
    jobs: list[Job], known: Container[str], cost: estimate.Cost, console: Any
) -> Iterator[execute.Tell]:
    """Show how far all jobs are, and how long they will take, on a terminal."""
    progress = require("rich.progress", "cli", "ybar reproduce")
    costs = _Costs(jobs, known, cost)
    if not costs.of_run:
        yield lambda *_: None
        return
    bar = progress.Progress(
        "{task.description}",
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        speed_estimate_period=600,
    )
    n_runs, n_failed = len(costs.of_run), 0
    with bar:
        task = bar.add_task(f"0 of {n_runs} runs", total=costs.total)

        def tell(job: Job, share: float, outcomes: list[outcome.Outcome] | None) -> None:
            nonlocal n_failed
            for outcome in outcomes or []:
                if outcome.cause is not None:
                    n_failed += 1
                    name = f"{job.dataset.name} {job.setting.name} {outcome.training.method}"
                    said = plain(f"failed: {name}: {outcome.cause}")
                    console.print(said[:_LONGEST_NOTE], markup=False, highlight=False)
            failed = f", {n_failed} failed" if n_failed else ""
            completed = costs.take(job, share, outcomes is not None)
            done = f"{len(costs.done)} of {n_runs} runs{failed}"
            bar.update(task, completed=completed, description=done)

        yield tell
        # What is missing another sweep did.
        bar.update(task, completed=costs.total, description=f"all {n_runs} runs are recorded")


def _dry_run(
    plan: Plan,
    jobs: list[Job],
    known: list[Entry],
    facts: dict[Dataset, Facts],
    options: Options,
) -> str:
    done = {e.hash for e in known if e.cause is None or not options.retry_failed}
    costs = _Costs(jobs, done, estimate.cost(known, facts))
    n_runs, n_missing = sum(len(job.trainings) for job in jobs), len(costs.of_run)
    rows = sum(
        len(part.methods) * len(part.learning_rates) * len(part.datasets) * len(part.settings)
        * part.trials
        for part in plan.parts
    )  # fmt: skip
    n_jobs = min(options.n_jobs, os.cpu_count() or 1, max(1, len(jobs)))
    where = f"{n_jobs} processes" if n_jobs > 1 else "1 process"
    return "\n".join(
        [
            f"The whole plan {plain(plan.name)}: {rows} runs of a method at a learning rate on a "
            "trial.",
            f"Trained one by one for each table: {plan_jobs.count_naive(plan.parts)} trainings.",
            f"With what is shared, and as far as asked for: {n_runs} trainings, as {len(jobs)} "
            "jobs.",
            f"In the ledger: {n_runs - n_missing}. To run: {n_missing}, about "
            f"{_duration(costs.total / n_jobs)} on {where} of this machine.",
        ]
    )


def _duration(seconds: float) -> str:
    if seconds == 0:
        return "no time"
    if seconds < 90:
        return f"{seconds + _SECONDS_TO_START:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
