"""The page of an experiment: results, comparison with the paper, cost, failures, provenance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from ... import report
from ..plan.jobs import count_naive
from ..plan.model import Plan
from ..runs.entry import Entry
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
) -> report.Page:
    """Return the page of an experiment.

    Parameters
    ----------
    runs : Runs
    tables : sequence of Table
    figures : sequence of (str, str, matplotlib Figure)
        A title, a description in words, and the figure.
    agreement : Agreement
        The agreement of the tables with the paper.
    now : datetime
        When the page is built, with its time zone.

    Returns
    -------
    Page
    """
    entries, plan = runs.entries, runs.plan
    made = f"{_minute(now.astimezone(UTC).isoformat())} UTC"
    sections = [
        _summary(entries, len(runs.planned), agreement),
        report.Section("Tables", [_grid(table) for table in tables]),
        _differences(tables, agreement),
        report.Section(
            "Figures", [report.picture(figure, alt, title) for title, alt, figure in figures]
        ),
        _cost(entries, plan, Counter(runs.planned.values())),
        _failures(entries),
        _provenance(entries, plan, made),
    ]
    return report.Page(
        f"Learning from complementary labels: {plan.name}",
        "Test accuracy of classifiers that were trained and selected by complementary labels "
        "alone.",
        [section for section in sections if section.blocks],
        f"Made by ybar, {made}.",
    )


def _summary(
    entries: Sequence[Entry], planned: int, agreement: results.Agreement
) -> report.Section:
    failed = _failed(entries)
    numbers = [(f"{len(entries):,}", f"of {_count(planned, 'run')} recorded")]
    words = [
        f"{len(entries):,} of the {_count(planned, 'run')} in the plan are recorded; "
        f"{f'{failed:,} of them failed' if failed else 'none failed'}."
    ]
    if agreement.published:
        numbers.append((f"{agreement.agree:,}", f"of {_count(agreement.run, 'cell')} agree"))
        words.append(
            f"The paper published accuracies for {_count(agreement.published, 'cell')} of these "
            f"tables. {agreement.run:,} of these cells have been run, {agreement.complete:,} with "
            f"all trials: {agreement.agree:,} agree with the paper, {len(agreement.differing):,} "
            f"differ. {_count(agreement.tested, 'cell')} have five trials and repeat no row of "
            f"another table; {agreement.within:,} of them are within two standard errors."
        )
    numbers.append((f"{failed:,}", "runs failed"))
    numbers.append((_duration(entries), "time of all runs"))
    return report.Section("Summary", [report.KeyFigures(numbers), report.Text([" ".join(words)])])


def _grid(table: results.Table) -> report.Grid:
    """Return a table transposed: tables have many columns and few rows."""
    planned = [cell for _, _, _, cell in table.cells() if cell.of]
    # Number of trials: in the notes if all cells have the same number, else in every cell.
    trials = {(cell.n, cell.of) for cell in planned}
    in_cells = len(trials) != 1 or not planned[0].complete
    rows: list[Sequence[report.Cell | str] | report.Group] = []
    for dataset in dict.fromkeys(name for name, _ in table.columns):
        rows.append(report.Group(dataset))
        for i, (name, setting) in enumerate(table.columns):
            if name == dataset:
                rows.append([setting, *(_cell(cells[i], in_cells) for _, cells in table.rows)])
    notes = [f"({planned[0].n} of {planned[0].of}) in every cell."] if not in_cells else []
    return report.Grid(
        [report.Column("setting"), *(report.Column(label) for label, _ in table.rows)],
        rows,
        table.title,
        [*notes, table.caption],
    )


def _cell(cell: results.Cell, say_trials: bool) -> report.Cell:
    if not cell.of:
        return report.Cell("not planned", mark="missing")
    details = [f"({cell.n} of {cell.of})"] if say_trials else []
    if cell.failed:
        details.append(f"† {_count(cell.failed, 'run')} failed")
    if cell.paper is not None:
        details.append(f"paper {results.as_text(cell.paper)}")
    if not cell.n:
        return report.Cell("no trial", "\n".join(details), "missing")
    return report.Cell(
        results.as_text((cell.mean, cell.std)), "\n".join(details), _MARKS[cell.differs]
    )


def _differences(tables: Sequence[results.Table], agreement: results.Agreement) -> report.Section:
    title = "Where we differ"
    if not agreement.run:
        return report.Section(title, [])
    if not agreement.differing:
        return report.Section(
            title, [report.Text(["All cells that were run agree with the paper."])]
        )
    titles = {table.name: table.title for table in tables}
    rows = [
        [
            titles[each.table],
            each.row,
            each.dataset,
            each.setting,
            f"{each.cell.mean:.1f}",
            f"{each.cell.n} of {each.cell.of}",
            results.as_text(each.cell.paper),
            f"{each.cell.points:+.1f}".replace("-", "−"),
        ]
        for each in agreement.differing
    ]
    words = [report.Column(name, words=True) for name in ("table", "row", "data set", "setting")]
    numbers = [report.Column(name) for name in ("ours", "trials", "paper", "difference")]
    return report.Section(title, [report.Grid([*words, *numbers], rows)])


def _cost(entries: Sequence[Entry], plan: Plan, planned: Mapping[str, int]) -> report.Section:
    rows = []
    for base, number in planned.items():
        of_base = [entry for entry in entries if entry.config["base"] == base]
        rows.append([base, *_spent(of_base, number)])
    shared, naive = sum(planned.values()), count_naive(plan.parts)
    if len(rows) > 1:
        rows.append(["all", *_spent(entries, shared)])
    names = ("recorded", "planned", "failed", "time", "time of a run")
    grid = report.Grid(
        [report.Column("base"), *(report.Column(name) for name in names)],
        rows,
        notes=["The time of a job is divided among its runs, and summed over all workers."],
    )
    words = (
        f"If each row of each table were trained separately, the plan would need "
        f"{_count(naive, 'training')}. Rows that differ only in decoding or selection share a "
        f"training, so {shared:,} are enough: {1 - shared / naive:.0%} fewer."
    )
    return report.Section("Cost", [grid, report.Text([words])])


def _spent(entries: Sequence[Entry], planned: int) -> list[str]:
    each = _duration(entries, len(entries)) if entries else "–"
    counts = [f"{number:,}" for number in (len(entries), planned, _failed(entries))]
    return [*counts, _duration(entries), each]


def _failures(entries: Sequence[Entry]) -> report.Section:
    failed = [entry for entry in entries if entry.cause is not None]
    if not failed:
        return report.Section("Failures", [report.Text(["None."])])
    columns = [report.Column("run", words=True), report.Column("cause", words=True)]
    rows = [(_what(entry), entry.cause or "") for entry in failed]
    # One error can end thousands of runs: its traceback is shown once.
    tracebacks = Counter((entry.cause, entry.traceback) for entry in failed if entry.traceback)
    codes: list[report.Block] = [
        report.Code(f"{cause} ({_count(number, 'run')})", text or "")
        for (cause, text), number in tracebacks.items()
    ]
    return report.Section("Failures", [report.Grid(columns, rows), *codes])


def _what(entry: Entry) -> report.Cell:
    names = [entry.config[name] for name in ("base", "method", "dataset", "setting")]
    detail = f"trial {entry.config['trial']}"
    if "learning_rate" in entry.config:
        detail += f", learning rate {entry.config['learning_rate']}"
    return report.Cell(", ".join(names), f"{detail}\nrun {entry.hash[:12]}")


def _provenance(entries: Sequence[Entry], plan: Plan, made: str) -> report.Section:
    items = [("plan", plan.name), ("page made", made)]
    finished = sorted(entry.finished for entry in entries if entry.finished)
    if finished:
        items.append(
            ("runs finished", f"{_minute(finished[0])} to {_minute(finished[-1])} UTC"),
        )
    items.append(("held out for validation", f"{plan.validation_fraction:.0%} of the rows"))
    versions = Counter(pair for entry in entries for pair in entry.versions.items())
    data = Counter((e.config["dataset"], e.config["data_sha256"]) for e in entries)
    blocks: list[report.Block] = [report.Definitions(items)]
    for title, names, counts in (
        ("Versions", ("of", "version"), versions),
        ("Data", ("data set", "sha256"), data),
    ):
        columns = [*(report.Column(name, words=True) for name in names), report.Column("runs")]
        rows = [[*pair, f"{number:,}"] for pair, number in sorted(counts.items())]
        blocks += [report.Grid(columns, rows, title)] if rows else []
    return report.Section("Provenance", blocks)


def _failed(entries: Sequence[Entry]) -> int:
    return sum(entry.cause is not None for entry in entries)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _duration(entries: Sequence[Entry], parts: int = 1) -> str:
    """Return the total time of runs; the time of a run whose worker died is unknown."""
    seconds = sum(entry.seconds for entry in entries if not math.isnan(entry.seconds)) / parts
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _minute(iso: str) -> str:
    return iso[:16].replace("T", " ")
