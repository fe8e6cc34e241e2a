"""``ybar reproduce``: from a plan to the tables, with progress on the way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._extras import require
from .._text import plain
from . import estimate, execute, outputs, plan_file, render, run, transfer
from . import plan as planning
from .ledger import Entry, Ledger
from .plan import Dataset, Facts, Job, Plan


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
    named = dict.fromkeys(dataset for part in plan.parts for dataset in part.datasets)
    facts = {dataset: run.facts(dataset) for dataset in named}
    _check_classes(plan, facts)
    jobs = [job for job in planning.jobs(plan, facts) if chosen(job)]
    stem = Path(source).stem
    path = options.ledger or Path(f"{stem}.sqlite")
    if options.dry_run:
        known: list[Entry] = []
        if path.exists():
            with Ledger(path, write=False) as ledger:
                known = ledger.entries()
        print(_dry_run(plan, jobs, known, facts, options.n_jobs))
        return
    folder = options.output or Path(f"{stem}-results")
    outputs.check_folder(folder)
    for each in options.export:  # which may lie in it
        transfer.check_target(each)
    console = require("rich.console", "cli", "ybar reproduce").Console(stderr=True)
    with Ledger(path) as ledger:
        for other in options.merge:
            merged = transfer.merge(ledger, other)
            console.print(f"{plain(str(other))}: {merged.new} new runs, {merged.known} known")
        if options.retry_failed:
            again = ledger.forget_failed(name for job in jobs for name in planning.hashes(job))
            console.print(f"{again} failed runs will be run again")
        if options.run:
            _run(jobs, ledger, facts, options, console)
        entries = ledger.entries(curves=True)
    for each in options.export:
        transfer.export(entries, each)
    written = outputs.write(entries, plan, folder, facts, epoch=options.epoch)
    out = require("rich.console", "cli", "ybar reproduce").Console()
    for table in written.tables:
        if any(cell.n for *_, cell in table.cells()):
            out.print(render.terminal(table), "")
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

    def __call__(self, job: Job) -> bool:
        own = {
            "dataset": job.dataset.name,
            "setting": job.setting.name,
            "base": job.base.name,
            "trial": job.trial,
        }
        return all(own[name] in wanted for name, wanted in self.wanted.items())


def _check_classes(plan: Plan, facts: dict[Dataset, Facts]) -> None:
    for part in plan.parts:
        for setting in part.settings:
            if isinstance(setting.transition, str):
                continue
            for dataset in part.datasets:
                n_classes = facts[dataset].n_classes
                if len(setting.transition) != n_classes:
                    raise plan_file.PlanError(
                        f"setting {setting.name!r} has a transition matrix of "
                        f"{len(setting.transition)} classes, data set {dataset.name!r} has "
                        f"{n_classes}. Name the settings of each [[base]] apart"
                    )


def _run(
    jobs: list[Job], ledger: Ledger, facts: dict[Dataset, Facts], options: Options, console: Any
) -> None:
    known = ledger.hashes()
    todo = [job for job in jobs if set(planning.hashes(job)) - known.keys()]
    cost = estimate.cost(ledger.entries(), facts)
    with _pool(options) as pool, _progress(todo, cost, console) as tell:
        try:
            execute.sweep(todo, ledger, pool, tell)
        except KeyboardInterrupt:
            recorded = len(ledger.hashes()) - len(known)
            console.print(
                f"Interrupted: {recorded} runs were recorded, those under way are given up. The "
                "same command goes on."
            )
            raise


def _pool(options: Options) -> contextlib.AbstractContextManager[execute.Pool]:
    if options.dask is None:
        return execute.processes(options.n_jobs)
    return execute.cluster(None if options.dask == "local" else options.dask, options.n_jobs)


@contextlib.contextmanager
def _progress(jobs: list[Job], cost: estimate.Cost, console: Any) -> Iterator[execute.Tell]:
    """Show how far all jobs are, and how long they will take, on a terminal."""
    progress = require("rich.progress", "cli", "ybar reproduce")
    bar = progress.Progress(
        "{task.description}",
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        speed_estimate_period=600,
    )
    n_runs = sum(len(job.trainings) for job in jobs)
    shares: dict[Job, float] = {}
    counts = {"done": 0, "failed": 0}
    with bar:
        task = bar.add_task("", total=sum(map(cost, jobs)) or 1.0)

        def tell(job: Job, share: float, outcomes: list[run.Outcome] | None) -> None:
            shares[job] = share
            if outcomes is not None:
                counts["done"] += len(outcomes)
                for outcome in outcomes:
                    if outcome.cause is not None:
                        counts["failed"] += 1
                        name = f"{job.dataset.name} {job.setting.name} {outcome.training.method}"
                        console.print(plain(f"failed: {name}: {outcome.cause}"), markup=False)
            failed = f", {counts['failed']} failed" if counts["failed"] else ""
            bar.update(
                task,
                completed=sum(cost(each) * part for each, part in shares.items()),
                description=f"{counts['done']} of {n_runs} runs{failed}",
            )

        yield tell


def _dry_run(
    plan: Plan, jobs: list[Job], known: list[Entry], facts: dict[Dataset, Facts], n_jobs: int
) -> str:
    done = {entry.hash for entry in known}
    missing = [
        (
            job,
            [t for t, h in zip(job.trainings, planning.hashes(job), strict=True) if h not in done],
        )
        for job in jobs
    ]
    n_runs, n_missing = sum(len(job.trainings) for job in jobs), sum(len(t) for _, t in missing)
    cost = estimate.cost(known, facts)
    seconds = sum(cost(job) * len(left) / len(job.trainings) for job, left in missing)
    rows = sum(
        len(part.methods) * len(part.learning_rates) * len(part.datasets) * len(part.settings)
        * part.trials
        for part in plan.parts
    )  # fmt: skip
    return "\n".join(
        [
            f"Plan {plain(plan.name)}: {rows} runs of a method at a learning rate on a trial.",
            f"Trained one by one for each table: {planning.count_naive(plan.parts)} trainings.",
            f"With what is shared: {n_runs} trainings here, as {len(jobs)} jobs.",
            f"In the ledger: {n_runs - n_missing}. To run: {n_missing}, about "
            f"{_duration(seconds / n_jobs)} on {n_jobs} processes.",
        ]
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
