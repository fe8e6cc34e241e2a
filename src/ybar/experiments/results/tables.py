"""The paper's tables from recorded runs, each cell beside the published one.

`layouts` defines the tables and their rows, `choose` selects the run of a trial that counts,
`published` has the paper's accuracies, and `render` turns tables into text.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...utils.checks import shown
from ...utils.errors import InputError
from ..plan.model import Dataset, Setting
from . import published
from .choose import EPOCHS, URES, Rule, Runs
from .layouts import Layout, Row, caption, layouts

__all__ = ["Agreement", "Cell", "Difference", "Table", "agreement", "build"]

# Tolerance: rounding must not decide whether 1.4 is more than 1 + 2 * 0.2.
_ROUNDING = 1e-9
# Nor whether 90.65 is printed as 90.6 or 90.7: an export has fewer digits than a ledger.
_DIGITS = 9


Place = tuple[str, str, str, str, Dataset, Setting]
"""Base, method, decoder, criterion, data set and setting."""


@dataclass(frozen=True)
class Cell:
    """One method on one data set under one setting."""

    accuracies: tuple[float, ...] = ()  # in percent, of each complete trial
    of: int = 0  # planned trials; 0 if the plan does not have the cell
    paper: published.Accuracy | None = None  # what was published for this protocol
    rates: tuple[float | None, ...] = ()  # the learning rate chosen in each trial
    failed: int = 0  # runs that failed and could not be chosen
    repeats: bool = False  # a row of an earlier table has the same cell

    @property
    def n(self) -> int:
        """How many trials are complete."""
        return len(self.accuracies)

    @property
    def mean(self) -> float:
        """The mean over trials; NaN without any."""
        return round(statistics.fmean(self.accuracies), _DIGITS) if self.n else math.nan

    @property
    def std(self) -> float:
        """The standard deviation over trials (n - 1 in the denominator); NaN for less than two."""
        return round(statistics.stdev(self.accuracies), _DIGITS) if self.n > 1 else math.nan

    @property
    def complete(self) -> bool:
        """Whether all planned trials are complete."""
        return self.n == self.of

    @property
    def points(self) -> float:
        """The mean minus the paper's accuracy; NaN if there is nothing to compare."""
        return self.mean - self.paper[0] if self.paper else math.nan

    @property
    def differs(self) -> bool | None:
        """Whether the mean differs by more than 1 point + two of the paper's standard deviations.

        None if there is nothing to compare.
        """
        if self.paper is None or not self.n:
            return None
        return abs(self.points) > self.tolerance + _ROUNDING

    @property
    def tolerance(self) -> float:
        """How many points our mean may differ from the paper's and still agree; NaN without one."""
        return 1 + 2 * self.paper[1] if self.paper else math.nan

    @property
    def beyond_errors(self) -> bool | None:
        """Whether the means differ by more than two standard errors of their difference.

        None unless both have the paper's five trials.
        """
        if self.paper is None or self.n != published.TRIALS:
            return None
        error = math.hypot(self.std, self.paper[1]) / math.sqrt(published.TRIALS)
        return abs(self.points) > 2 * error + _ROUNDING


@dataclass(frozen=True)
class Table:
    """A table: rows of cells, a column for each data set and setting."""

    name: str  # such as "main"; for a base that the paper does not have, the name of the base
    title: str
    caption: str  # how the numbers were chosen, and what the marks mean
    columns: tuple[tuple[str, str], ...]  # data set and setting
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # labels and cells

    def cells(self) -> Iterable[tuple[str, str, str, Cell]]:
        """Yield all cells, with their row, data set and setting."""
        for label, cells in self.rows:
            for (dataset, setting), cell in zip(self.columns, cells, strict=True):
                yield label, dataset, setting, cell


def as_text(accuracy: published.Accuracy | None, between: str = " ± ") -> str:
    """Return an accuracy with its standard deviation, as far as they are known."""
    if accuracy is None:
        return ""
    mean, std = accuracy
    return f"{mean:.1f}" if math.isnan(std) else f"{mean:.1f}{between}{std:.1f}"


def build(runs: Runs, *, epoch: str = "last", ure: str = "given") -> list[Table]:
    """Return the tables of a plan, filled as far as its runs are recorded.

    `epoch` and `ure` are those of `Rule`. A trial counts once the runs of all its learning rates
    have ended. A run that failed is not chosen, and a trial whose runs all failed does not count.
    """
    for name, value, allowed in (("epoch", epoch, EPOCHS), ("ure", ure, URES)):
        if value not in allowed:
            raise InputError(
                f"{name} must be {' or '.join(map(repr, allowed))}; got {shown(value)}"
            )
    rule = Rule(epoch, ure)
    tables: dict[str, Table] = {}
    seen: set[Place] = set()
    for layout in layouts(runs.plan):
        table = _table(layout, runs, rule, seen)
        if table.columns:
            name = table.name
            while name in tables:  # a user's base may have the name of a table
                name += "-2"
            tables[name] = replace(table, name=name)
    return list(tables.values())


def _place(row: Row, column: tuple[Dataset, Setting]) -> Place:
    """Return a key that is equal for cells of different tables with the same accuracies."""
    method = row.method
    return row.part.base.name, method.name, method.decoder, method.criterion, *column


def _table(layout: Layout, runs: Runs, rule: Rule, seen: set[Place]) -> Table:
    """Return a table with its cells marked if they are in `seen`, and add them to `seen`."""
    parts = [row.part for row in layout.rows]
    settings = dict.fromkeys(s for part in parts for s in part.settings if layout.keep(s))
    columns = [
        (dataset, setting)
        for dataset in dict.fromkeys(d for part in parts for d in part.datasets)
        for setting in settings
        if any(dataset in part.datasets and setting in part.settings for part in parts)
    ]
    rows = []
    for row in layout.rows:
        cells = (_cell(row, layout.source, *column, runs, rule) for column in columns)
        repeats = (_place(row, column) in seen for column in columns)
        pairs = zip(cells, repeats, strict=True)
        rows.append((row.label, tuple(replace(cell, repeats=again) for cell, again in pairs)))
    seen |= {_place(row, column) for row in layout.rows for column in columns}
    compared = any(cell.paper for _, cells in rows for cell in cells)
    return Table(
        layout.name,
        layout.title,
        caption(layout.rows, rule, compared),
        tuple((dataset.name, setting.name) for dataset, setting in columns),
        tuple(rows),
    )


def _cell(
    row: Row, source: str, dataset: Dataset, setting: Setting, runs: Runs, rule: Rule
) -> Cell:
    part, method = row.part, row.method
    if dataset not in part.datasets or setting not in part.settings:
        return Cell()
    chosen = runs.choose_all(part, method, dataset, setting, rule)
    paper = None
    if row.name is not None:
        paper = published.accuracy(source, row.name, runs.plan, part, method, dataset, setting)
    return Cell(
        tuple(c.accuracy for c in chosen),
        part.trials,
        paper,
        tuple(c.learning_rate for c in chosen),
        runs.n_failed(part, method, dataset, setting, rule),
    )


class Difference(NamedTuple):
    """A cell that differs from the paper's."""

    table: str
    row: str
    dataset: str
    setting: str
    cell: Cell


class Agreement(NamedTuple):
    """How many of the paper's cells were run, are complete, and agree with the paper."""

    published: int
    run: int  # with at least one trial
    complete: int  # with all trials
    agree: int  # run, and do not differ
    tested: int  # with the paper's five trials, and not a repeated row of another table
    within: int  # of these, means within two standard errors
    differing: tuple[Difference, ...]  # the largest difference first


def agreement(tables: Iterable[Table]) -> Agreement:
    """Return how many cells agree with the paper.

    Examples
    --------
    >>> from ybar.experiments.plan import reading
    >>> from ybar.experiments.results import tables
    >>> from ybar.experiments.results.choose import Runs
    >>> tables.agreement(tables.build(Runs([], reading.read("paper"))))
    Agreement(published=468, run=0, complete=0, agree=0, tested=0, within=0, differing=())
    """
    compared, differing = [], []
    for table in tables:
        for row, dataset, setting, cell in table.cells():
            if cell.paper is None:
                continue
            compared.append(cell)
            if cell.differs:
                differing.append(Difference(table.name, row, dataset, setting, cell))
    tested = [cell.beyond_errors for cell in compared if not cell.repeats]
    differing.sort(key=lambda d: (-abs(d.cell.points), d[:4]))
    return Agreement(
        published=len(compared),
        run=sum(cell.n > 0 for cell in compared),
        complete=sum(cell.n > 0 and cell.complete for cell in compared),
        agree=sum(cell.differs is False for cell in compared),
        tested=sum(beyond is not None for beyond in tested),
        within=tested.count(False),
        differing=tuple(differing),
    )
