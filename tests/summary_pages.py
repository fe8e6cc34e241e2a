"""Pages of made-up experiments."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan.model import (
    METHODS,
    Dataset,
    Facts,
    Method,
    Network,
    Part,
    Plan,
    Setting,
)
from ybar.experiments.results import page as summary
from ybar.experiments.results import tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.runs.entry import Entry

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SHA256 = "0123456789abcdef" * 4


SMALL = Plan(
    "small",
    (
        Part(
            Network("flat"),
            (Dataset("digits"), Dataset("letters")),
            (Setting("uniform", "uniform"), Setting("noise-0.2", "strong", 0.2)),
            2,
            tuple(METHODS[name] for name in ("cpe-f", "fwd", "dm")),
            (1e-3, 1e-4),
        ),
    ),
)


def plan_of(names, trials=1):
    """Return a plan in which each name is that of a base, data set, setting and method."""
    parts = [
        Part(
            Network(name),
            (Dataset(name, path="/home/alice/secret.csv"),),
            (Setting(name, "uniform"),),
            trials,
            (Method(name, name),),
            (1e-3,),
        )
        for name in names
    ]
    return Plan("mine", tuple(parts))


def entries_of(plan, **changes):
    """Return an entry for every run of a plan."""
    facts = {d: Facts(SHA256, 9, 9, tuple("abc")) for part in plan.parts for d in part.datasets}
    found = []
    for job in plan_jobs.jobs(plan, facts):
        for training in job.trainings:
            config = plan_jobs.config(job, training)
            scores = {
                f"last.{name}": 50.0 + job.trial
                for name in ("scel", "ure_max", "accuracy_max", "accuracy_l1")
            }
            entry = Entry(
                plan_jobs.hash_of(config),
                config,
                scores=scores,
                seconds=60.0,
                finished=f"2026-01-01T0{job.trial}:00:00+00:00",
                versions={"ybar": "0.1.0"},
            )
            found.append(replace(entry, **changes))
    return found


def summarise(plan, entries, figures=(), change=lambda table: table):
    made = [change(table) for table in tables.build(Runs(entries, plan))]
    return summary.page(Runs(entries, plan), made, figures, tables.agreement(made), NOW)


def with_paper(table):
    """Put a figure of the paper beside every cell: the first row agrees, the others differ."""
    rows = [
        (label, tuple(replace(cell, paper=(50.0 if i == 0 else 90.0, 1.0)) for cell in cells))
        for i, (label, cells) in enumerate(table.rows)
    ]
    return replace(table, rows=tuple(rows))
