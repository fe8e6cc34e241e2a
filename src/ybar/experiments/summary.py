"""The page of an experiment: what came out, how it compares with the paper, what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..report import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Grid,
    Group,
    KeyFigures,
    Page,
    Section,
    Text,
    picture,
)
from .ledger import Entry
from .plan import Dataset, Plan, Setting, Training, count_naive, trainings

if TYPE_CHECKING:
    from . import tables as results

_Run = tuple[str, Dataset, Setting, int, Training]


def page(
    entries: Sequence[Entry],
    plan: Plan,
    tables: Sequence[results.Table],
    figures: Sequence[tuple[str, str, Any]],
    agreement: results.Agreement,
    now: datetime,
) -> Page:
    """Return the page of an experiment.

    Parameters
    ----------
    entries : sequence of Entry
        The plan's runs that are in the ledger.
    plan : Plan
    tables : sequence of Table
    figures : sequence of (str, str, matplotlib Figure)
        Title, what is to be seen in words, and the figure.
    agreement : Agreement
        Of the tables with the paper.
    now : datetime
        When the page is made, with its time zone.

    Returns
    -------
    Page
    """
    planned = _planned(plan)
    sections = [
        _summary(entries, planned, agreement),
        Section("Tables", [_grid(table) for table in tables] or [Text(["There are none."])]),
        _differences(tables, agreement),
        Section("Figures", [picture(figure, alt, title) for title, alt, figure in figures]),
        _cost(entries, plan, planned),
        _failures(entries),
        _provenance(entries, plan, now),
    ]
    return Page(
        f"Learning from complementary labels: {plan.name}",
        "Test accuracy of classifiers that were trained and chosen with complementary labels "
        "alone, beside the paper’s figures.",
        [section for section in sections if section.blocks],
        f"Made by ybar on {_day(now)}. This page is one file: it asks for nothing from outside.",
    )


def _planned(plan: Plan) -> set[_Run]:
    """Return the distinct runs of a plan; parts may share some."""
    return {
        (part.base.name, dataset, setting, trial, training)
        for part in plan.parts
        for setting in part.settings
        for training in trainings(part, setting)
        for dataset in part.datasets
        for trial in range(part.trials)
    }


def _summary(
    entries: Sequence[Entry], planned: set[_Run], agreement: results.Agreement
) -> Section:
    failed = sum(entry.cause is not None for entry in entries)
    figures = [(f"{len(entries):,} of {len(planned):,}", "runs recorded")]
    words = [
        f"{len(entries):,} of the plan’s {_count(len(planned), 'run')} are recorded; "
        f"{f'{failed:,} of them failed' if failed else 'none failed'}."
    ]
    if agreement.published:
        figures.append((f"{agreement.agree:,} of {agreement.complete:,}", "cells agree"))
        words.append(
            f"The paper publishes {_count(agreement.published, 'cell')} of these tables. Of them "
            f"{agreement.run:,} have been run, {agreement.complete:,} with all their trials; "
            f"{agreement.agree:,} of the latter agree with the paper, "
            f"{agreement.complete - agreement.agree:,} differ."
        )
    figures.append((f"{failed:,}", "runs failed"))
    figures.append((_duration(entries), "time of all runs"))
    return Section("Summary", [KeyFigures(figures), Text([" ".join(words)])])


def _grid(table: results.Table) -> Grid:
    """Return a table turned: its columns are many, its rows few."""
    cells = [cell for _, row in table.rows for cell in row]
    whole = all(cell.complete for cell in cells) and len({cell.of for cell in cells}) == 1
    rows: list[Sequence[Cell | str] | Group] = []
    numbered = enumerate(table.columns)
    for dataset, columns in groupby(numbered, key=lambda column: column[1][0]):
        rows.append(Group(dataset))
        for i, (_, setting) in columns:
            rows.append([setting, *(_cell(row[i], not whole) for _, row in table.rows)])
    notes = []
    if whole:
        notes.append(f"Every cell: {cells[0].n} of {cells[0].of} trials.")
    if any(cell.paper for cell in cells):
        notes.append("Small: the paper. ✓ agrees, ≠ differs, no sign: too few trials to tell.")
    return Grid(
        [Column("setting", words=True), *(Column(label) for label, _ in table.rows)],
        rows,
        table.title,
        [table.caption] if table.caption else [],
        [" ".join(notes)] if notes else [],
    )


def _cell(cell: results.Cell, say_trials: bool) -> Cell:
    details = []
    if say_trials:
        details.append(f"{cell.n} of {cell.of} trials")
    if cell.paper is not None:
        details.append(f"paper {_figure(*cell.paper)}")
    detail = "\n".join(details)
    if not cell.n:
        return Cell("not run", detail, "missing")
    mark = {None: "", False: "agrees", True: "differs"}[cell.differs]
    return Cell(_figure(cell.mean, cell.std), detail, mark)  # type: ignore[arg-type]


def _differences(
    tables: Sequence[results.Table], agreement: results.Agreement
) -> Section:
    if not agreement.published:
        return Section("Where we differ", [])
    found = []
    for table in tables:
        for label, row in table.rows:
            for (dataset, setting), cell in zip(table.columns, row, strict=True):
                if cell.differs and cell.paper is not None:
                    away = cell.mean - cell.paper[0]
                    where = [table.title, label, dataset, setting]
                    ours = _figure(cell.mean, cell.std)
                    found.append((away, [*where, ours, _figure(*cell.paper), f"{away:+.1f}"]))
    if not found:
        return Section("Where we differ", [Text(["Nowhere that could be told so far."])])
    found.sort(key=lambda pair: -abs(pair[0]))
    words = [Column(name, words=True) for name in ("table", "row", "data set", "setting")]
    columns = [*words, Column("ours"), Column("paper"), Column("difference")]
    return Section("Where we differ", [Grid(columns, [row for _, row in found])])


def _cost(entries: Sequence[Entry], plan: Plan, planned: set[_Run]) -> Section:
    bases = dict.fromkeys(part.base.name for part in plan.parts)
    bases |= dict.fromkeys(str(entry.config["base"]) for entry in entries)
    rows = []
    for base in bases:
        own = [entry for entry in entries if entry.config["base"] == base]
        rows.append([base, *_spent(own, sum(run[0] == base for run in planned))])
    rows.append(["all", *_spent(entries, len(planned))])
    naive = count_naive(plan.parts)
    columns = ("runs recorded", "planned", "failed", "time", "time of a run")
    grid = Grid(
        [Column("base", words=True), *(Column(name) for name in columns)],
        rows,
        notes=["Time is that of each run’s share of its job, added up over all workers."],
    )
    shared = Text(
        [
            f"Trained for each row of each table by itself, the plan would take {naive:,} "
            f"trainings. Rows that differ only in how they are decoded or chosen share theirs: "
            f"{len(planned):,} are left, {1 - len(planned) / naive:.0%} fewer."
        ]
    )
    return Section("Cost", [grid, shared] if naive else [grid])


def _spent(entries: Sequence[Entry], planned: int) -> list[str]:
    failed = sum(entry.cause is not None for entry in entries)
    each = _duration(entries, len(entries)) if entries else ""
    return [f"{len(entries):,}", f"{planned:,}", f"{failed:,}", _duration(entries), each]


def _failures(entries: Sequence[Entry]) -> Section:
    failed = [entry for entry in entries if entry.cause is not None]
    if not failed:
        return Section("Failures", [Text(["None: every run that was started came to its end."])])
    columns = [Column("run", words=True), Column("cause", words=True)]
    rows = [[_what(entry), entry.cause or ""] for entry in failed]
    # One traceback may have ended thousands of runs.
    seen = Counter((entry.cause, entry.traceback) for entry in failed if entry.traceback)
    codes: list[Block] = [
        Code(f"{cause} ({_count(number, 'run')})", text or "")
        for (cause, text), number in seen.items()
    ]
    return Section("Failures", [Grid(columns, rows), *codes])


def _what(entry: Entry) -> Cell:
    config = entry.config
    names = [config["base"], config["method"], config["dataset"], config["setting"]]
    names.append(f"trial {config['trial']}")
    if "learning_rate" in config:
        names.append(f"learning rate {config['learning_rate']}")
    return Cell(", ".join(map(str, names)), entry.hash)


def _provenance(entries: Sequence[Entry], plan: Plan, now: datetime) -> Section:
    finished = sorted(entry.finished for entry in entries if entry.finished)
    items = [
        ("plan", plan.name),
        ("page made", _day(now)),
        ("runs finished", " to ".join((finished[0], finished[-1])) if finished else "none yet"),
        ("held out for validation", f"{plan.validation_fraction:.0%}, at random"),
    ]
    versions = Counter(pair for entry in entries for pair in entry.versions.items())
    data = Counter((e.config["dataset"], e.config["data_sha256"]) for e in entries)
    return Section(
        "Provenance",
        [
            Definitions(items),
            _counted("Versions", ("library", "version"), versions),
            _counted("Data", ("data set", "sha256"), data),
        ],
    )


def _counted(
    title: str, names: tuple[str, str], counts: Mapping[tuple[str, str], int]
) -> Grid:
    """Return a table of all pairs that occur, with how many runs have them."""
    rows = [[name, value, f"{number:,}"] for (name, value), number in sorted(counts.items())]
    return Grid([*(Column(name, words=True) for name in names), Column("runs")], rows, title)


def _figure(mean: float, std: float) -> str:
    return f"{mean:.1f}" if math.isnan(std) else f"{mean:.1f} ± {std:.1f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _duration(entries: Sequence[Entry], parts: int = 1) -> str:
    """Return the time of runs; that of one which died with its worker is not known."""
    seconds = sum(e.seconds for e in entries if not math.isnan(e.seconds)) / parts
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _day(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
