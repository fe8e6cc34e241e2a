"""Made-up runs: what a ledger would hold, without any training."""

from __future__ import annotations

import csv
import io
import zlib
from dataclasses import replace

import numpy as np

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import model as plans
from ybar.experiments.results import published, render
from ybar.experiments.results.tables import Table
from ybar.experiments.runs import networks
from ybar.experiments.runs.entry import Entry

_ROWS = {m.name: m.label for m in plans.METHODS.values()}


def facts_of(plan):
    """Facts of data sets that nobody loads."""
    datasets = {d for part in plan.parts for d in part.datasets}
    return {
        d: plans.Facts(f"{zlib.crc32(d.name.encode()):064x}", 1000, 64, tuple("0123456789"))
        for d in datasets
    }


def small_plan(**changes):
    """The paper's plan cut down to what a test can count by hand."""
    part = plans.Part(
        plans.Network("mlp", (500,)),
        (plans.Dataset("mnist"), plans.Dataset("kmnist")),
        (published.SETTINGS["uniform"], published.SETTINGS["strong"]),
        3,
        tuple(plans.METHODS[name] for name in ("ure-ga", "scl-nl", "fwd", "cpe-f", "cpe-t")),
        (1e-3, 1e-4),
    )
    return plans.Plan("small", (replace(part, **changes),))


def made_up(plan, facts=None, epochs=4):
    """All runs of a plan, with accuracies about as good as the paper's."""
    return [
        entry_of(job, training, epochs)
        for job in plan_jobs.jobs(plan, facts or facts_of(plan))
        for training in job.trainings
    ]


def entry_of(job, training, epochs=4):
    config = plan_jobs.config(job, training)
    name = plan_jobs.hash_of(config)
    rng = np.random.default_rng(int(name[:12], 16))
    level = _level(job, training) + rng.normal(0, 0.5)
    if not isinstance(job.base, plans.Network):
        figures = {"last.scel": 2.0, "last.accuracy_l1": level}
        return Entry(name, config, scores=figures, finished="2030-01-01")
    slow = 3 / (1 + np.log10(training.learning_rate / 1e-6))
    shape = np.exp(-np.arange(epochs) / (slow * epochs / 6))
    curves = {
        "loss": 2.0 + 0.3 * shape + rng.normal(0, 0.01),
        "scel": 2.1 + 0.2 * shape + rng.normal(0, 0.01) + 0.02 * rng.random(epochs),
        "seconds": np.ones(epochs),
    }
    for decoder in networks.decoders_of(networks.method_of(training, 10)):
        curves[f"accuracy_{decoder}"] = level - 20 * shape + rng.normal(0, 0.3, epochs)
        for criterion in ("ure", "ure_uniform"):
            curves[f"{criterion}_{decoder}"] = 0.2 + 0.5 * shape + rng.normal(0, 0.05, epochs)
    return Entry(name, config, scores=networks.scores(curves), curves=curves, finished="2030-01-01")


def _level(job, training):
    tables = {"mlp": "main", "linear": "linear"}
    row = {"knn": "CPE-KNN", "gbdt": "CPE-GBDT"}.get(job.base.name) or _ROWS.get(training.method)
    table = tables.get(job.base.name, "traditional")
    key = (table, job.base.name, row, job.dataset.name, job.setting.name)
    return published.accuracies().get(key, (70.0, 1.0))[0]


def cell_of(built, table, row, dataset="mnist", setting="strong"):
    (found,) = (
        cell
        for each in built
        if each.name == table
        for *names, cell in each.cells()
        if names == [row, dataset, setting]
    )
    return found


def where(entry, names):
    return all(entry.config.get(name) == value for name, value in names.items())


def changed(entries, change, names):
    """Entries of which those that match are changed, or left out where the change is None."""
    found = [(change and change(e)) if where(e, names) else e for e in entries]
    return [entry for entry in found if entry is not None]


def failed(entry):
    """A run that failed, though its loss was the lowest of all."""
    return replace(entry, cause="out of memory", scores=entry.scores | {"last.scel": -1.0})


def with_scores(scores):
    return lambda entry: replace(entry, scores=entry.scores | scores)


def part_of(paper, base):
    return next(part for part in paper.parts if part.base.name == base)


def printed(table, width=100):
    from rich.console import Console

    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(render.terminal(table))
    return console.file.getvalue()


def rows_of(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def one_cell(cell, label="r", column=("d", "s"), title="T", caption="C"):
    return Table("t", title, caption, (column,), ((label, (cell,)),))
