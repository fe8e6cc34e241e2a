"""The page of an experiment: what came out, how it compares with the paper, what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from ...report import (
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
from ..plan.jobs import count_naive
from ..plan.model import Plan
from ..runs.ledger import Entry
from . import tables as results
from .choose import Runs

_MARKS: dict[bool | None, Literal["", "agrees", "differs"]] = {
    None: "",
    False: "agrees",
    True: "differs",
}


def page(
    runs: Runs,
    tables: Sequence[results.Table],
    figures: Sequence[tuple[str, str, Any]],
    agreement: results.Agreement,
    now: datetime,
) -> Page:
    """Return the page of an experiment.

    Parameters
    ----------
    runs : Runs
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
    entries, plan = runs.entries, runs.plan
    made = f"{_minute(now.astimezone(UTC).isoformat())} UTC"
    sections = [
        _summary(entries, len(runs.planned), agreement),
        Section("Tables", [_grid(table) for table in tables]),
        _differences(tables, agreement),
        Section("Figures", [picture(figure, alt, title) for title, alt, figure in figures]),
        _cost(entries, plan, Counter(runs.planned.values())),
        _failures(entries),
        _provenance(entries, plan, made),
    ]
    return Page(
        f"Learning from complementary labels: {plan.name}",
        "Test accuracy of classifiers that were trained and chosen with complementary labels "
        "alone.",
        [section for section in sections if section.blocks],
        f"Made by ybar, {made}.",
    )


def _summary(entries: Sequence[Entry], planned: int, agreement: results.Agreement) -> Section:
    failed = _failed(entries)
    numbers = [(f"{len(entries):,}", f"of {_count(planned, 'run')} recorded")]
    words = [
        f"{len(entries):,} of the {_count(planned, 'run')} that the plan asks for are recorded; "
        f"{f'{failed:,} of them failed' if failed else 'none failed'}."
    ]
    if agreement.published:
        numbers.append((f"{agreement.agree:,}", f"of {_count(agreement.run, 'cell')} agree"))
        words.append(
            f"The paper has figures for {_count(agreement.published, 'cell')} of these tables. "
            f"Of them {agreement.run:,} have been run, {agreement.complete:,} with all their "
            f"trials: {agreement.agree:,} agree with the paper, {len(agreement.differing):,} "
            f"differ."
        )
    numbers.append((f"{failed:,}", "runs failed"))
    numbers.append((_duration(entries), "time of all runs"))
    return Section("Summary", [KeyFigures(numbers), Text([" ".join(words)])])


def _grid(table: results.Table) -> Grid:
    """Return a table turned round: its columns are many, its rows few."""
    planned = [cell for _, _, _, cell in table.cells() if cell.of]
    # Said once where it is the same everywhere, and in every cell where it is not.
    trials = {(cell.n, cell.of) for cell in planned}
    alike = len(trials) == 1 and planned[0].complete
    rows: list[Sequence[Cell | str] | Group] = []
    for dataset in dict.fromkeys(name for name, _ in table.columns):
        rows.append(Group(dataset))
        for i, (name, setting) in enumerate(table.columns):
            if name == dataset:
                rows.append([setting, *(_cell(cells[i], not alike) for _, cells in table.rows)])
    notes = [f"({planned[0].n} of {planned[0].of}) in every cell."] if alike else []
    return Grid(
        [Column("setting"), *(Column(label) for label, _ in table.rows)],
        rows,
        table.title,
        [*notes, table.caption],
    )


def _cell(cell: results.Cell, say_trials: bool) -> Cell:
    if not cell.of:
        return Cell("not planned", mark="missing")
    details = [f"({cell.n} of {cell.of})"] if say_trials else []
    if cell.failed:
        details.append(f"† {_count(cell.failed, 'run')} failed")
    if cell.paper is not None:
        details.append(f"paper {_shown(*cell.paper)}")
    if not cell.n:
        return Cell("no trial", "\n".join(details), "missing")
    return Cell(_shown(cell.mean, cell.std), "\n".join(details), _MARKS[cell.differs])


def _differences(tables: Sequence[results.Table], agreement: results.Agreement) -> Section:
    title = "Where we differ"
    if not agreement.run:
        return Section(title, [])
    if not agreement.differing:
        return Section(title, [Text(["Nowhere: all cells that were run agree with the paper."])])
    titles = {table.name: table.title for table in tables}
    rows = [
        [
            titles[each.table],
            each.row,
            each.dataset,
            each.setting,
            f"{each.mean:.1f}",
            f"{each.n} of {each.of}",
            _shown(*each.paper),
            f"{each.mean - each.paper[0]:+.1f}".replace("-", "−"),
        ]
        for each in agreement.differing
    ]
    words = [Column(name, words=True) for name in ("table", "row", "data set", "setting")]
    numbers = [Column(name) for name in ("ours", "trials", "paper", "difference")]
    return Section(title, [Grid([*words, *numbers], rows)])


def _cost(entries: Sequence[Entry], plan: Plan, planned: Mapping[str, int]) -> Section:
    rows = []
    for base, number in planned.items():
        own = [entry for entry in entries if entry.config["base"] == base]
        rows.append([base, *_spent(own, number)])
    shared, naive = sum(planned.values()), count_naive(plan.parts)
    if len(rows) > 1:
        rows.append(["all", *_spent(entries, shared)])
    names = ("recorded", "planned", "failed", "time", "time of a run")
    grid = Grid(
        [Column("base"), *(Column(name) for name in names)],
        rows,
        notes=["A run’s time is its share of its job’s; times of all workers are added up."],
    )
    words = (
        f"Were each row of each table trained by itself, the plan would take "
        f"{_count(naive, 'training')}. Rows that differ only in how they are decoded or chosen "
        f"share theirs, so that {shared:,} are enough: {1 - shared / naive:.0%} fewer."
    )
    return Section("Cost", [grid, Text([words])])


def _spent(entries: Sequence[Entry], planned: int) -> list[str]:
    each = _duration(entries, len(entries)) if entries else "–"
    counts = [f"{number:,}" for number in (len(entries), planned, _failed(entries))]
    return [*counts, _duration(entries), each]


def _failures(entries: Sequence[Entry]) -> Section:
    failed = [entry for entry in entries if entry.cause is not None]
    if not failed:
        return Section("Failures", [Text(["None."])])
    columns = [Column("run", words=True), Column("cause", words=True)]
    rows = [(_what(entry), entry.cause or "") for entry in failed]
    # One error may have ended thousands of runs.
    tracebacks = Counter((entry.cause, entry.traceback) for entry in failed if entry.traceback)
    codes: list[Block] = [
        Code(f"{cause} ({_count(number, 'run')})", text or "")
        for (cause, text), number in tracebacks.items()
    ]
    return Section("Failures", [Grid(columns, rows), *codes])


def _what(entry: Entry) -> Cell:
    names = [entry.config[name] for name in ("base", "method", "dataset", "setting")]
    detail = f"trial {entry.config['trial']}"
    if "learning_rate" in entry.config:
        detail += f", learning rate {entry.config['learning_rate']}"
    return Cell(", ".join(names), f"{detail}\nrun {entry.hash[:12]}")


def _provenance(entries: Sequence[Entry], plan: Plan, made: str) -> Section:
    items = [("plan", plan.name), ("page made", made)]
    finished = sorted(entry.finished for entry in entries if entry.finished)
    if finished:
        items.append(
            ("runs finished", f"{_minute(finished[0])} to {_minute(finished[-1])} UTC"),
        )
    items.append(("held out for validation", f"{plan.validation_fraction:.0%} of the rows"))
    versions = Counter(pair for entry in entries for pair in entry.versions.items())
    data = Counter((e.config["dataset"], e.config["data_sha256"]) for e in entries)
    blocks: list[Block] = [Definitions(items)]
    for title, names, counts in (
        ("Versions", ("of", "version"), versions),
        ("Data", ("data set", "sha256"), data),
    ):
        columns = [*(Column(name, words=True) for name in names), Column("runs")]
        rows = [[*pair, f"{number:,}"] for pair, number in sorted(counts.items())]
        blocks += [Grid(columns, rows, title)] if rows else []
    return Section("Provenance", blocks)


def _failed(entries: Sequence[Entry]) -> int:
    return sum(entry.cause is not None for entry in entries)


def _shown(mean: float, std: float) -> str:
    return f"{mean:.1f}" if math.isnan(std) else f"{mean:.1f} ± {std:.1f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _duration(entries: Sequence[Entry], parts: int = 1) -> str:
    """Return the time of runs; that of one whose worker died is not known."""
    seconds = sum(entry.seconds for entry in entries if not math.isnan(entry.seconds)) / parts
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _minute(iso: str) -> str:
    return iso[:16].replace("T", " ")
