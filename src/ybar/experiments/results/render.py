"""Tables as text: for a terminal, Markdown, LaTeX and CSV.

A cell reads ``75.3 ± 2.6 (4/5)``: mean, standard deviation, and how many of the planned trials are
complete, or ``–`` if none is. The next column has the paper's accuracy, with ``≠`` if they differ.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...utils import text
from ...utils.extras import require
from .tables import Cell, Table, as_text

if TYPE_CHECKING:
    import rich.table

__all__ = ["latex", "markdown", "terminal", "to_csv"]

_CSV_COLUMNS = (
    *("table", "row", "dataset", "setting", "mean", "std", "n", "of", "paper", "paper_std"),
    *("differs", "failed_runs", "beyond_errors", "repeats"),
)
# The width that separates the paper's accuracy from the next data set.
_ROOM = len("75.3±2.6≠ ")
# As in the paper: three settings of three data sets side by side, the others below.
_LATEX_COLUMNS = 9


def terminal(table: Table) -> rich.table.Table:
    """Return a table that rich prints: a block for each setting, a line for each row.

    The paper's tables fit 100 columns.
    """
    tables = require("rich.table", "cli", "tables for the terminal")
    Text = require("rich.text", "cli", "tables for the terminal").Text
    box = require("rich.box", "cli", "tables for the terminal")
    grid = _Grid.of(table)
    rows = tables.Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    rows.add_column("")
    for dataset in grid.datasets:
        rows.add_column(Text(text.plain(dataset)))
        if grid.compared:
            rows.add_column(Text("paper", style="dim"))
    for setting in grid.settings:
        rows.add_row(Text(text.plain(setting), style="bold"))
        for label, cells in grid.lines([setting]):
            line = [Text(text.plain(label))]
            for cell in cells:
                line.append(Text(_ours(cell, "±"), style="bold red" if cell.differs else ""))
                if grid.compared:
                    line.append(Text(_paper(cell, "±", "≠").ljust(_ROOM), style="dim"))
            rows.add_row(*line)
        rows.add_section()
    # Title and caption are rows of an outer table: rich would make them as narrow as the table.
    whole: rich.table.Table = tables.Table.grid()
    whole.add_row(Text(text.plain(table.title), style="bold"))
    whole.add_row(rows)
    whole.add_row(Text(text.plain(table.caption), style="dim"))
    return whole


def markdown(table: Table) -> str:
    """Return a table with its title and caption, one line per setting and row."""
    grid = _Grid.of(table)
    header = ["setting", ""]
    for dataset in grid.datasets:
        header += [text.markdown(dataset), "paper"] if grid.compared else [text.markdown(dataset)]
    lines = [_markdown_line(header), _markdown_line(["---"] * len(header))]
    for setting in grid.settings:
        name = text.markdown(setting)
        for label, cells in grid.lines([setting]):
            line = [name, text.markdown(label)]
            for cell in cells:
                line += [_ours(cell), _paper(cell)] if grid.compared else [_ours(cell)]
            lines.append(_markdown_line(line))
            name = ""
    title, caption = text.markdown(table.title), text.markdown(table.caption)
    return f"### {title}\n\n{caption}\n\n" + "\n".join(lines) + "\n"


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex(table: Table) -> str:
    r"""Return a ``table*`` that needs ``\usepackage{booktabs}``, laid out as the paper's."""
    grid = _Grid.of(table)
    at_once = max(1, _LATEX_COLUMNS // len(grid.datasets))
    blocks = [grid.settings[i : i + at_once] for i in range(0, len(grid.settings), at_once)]
    n_columns = len(grid.datasets) * len(blocks[0])
    lines = [
        r"\begin{table*}[t]",
        rf"\caption{{{text.latex(f'{table.title}. {table.caption}')}}}",
        rf"\label{{tab:{text.file_name(table.name)}}}",
        r"\centering",
        r"\tiny",
        r"\setlength{\tabcolsep}{2pt}",
        rf"\begin{{tabular}}{{l{'r' * n_columns}}}",
    ]
    for block in blocks:
        lines += [r"\toprule", *_latex_header(grid.datasets, block), r"\midrule"]
        for label, cells in grid.lines(block):
            lines.append(_latex_line(text.latex(label), cells, _ours))
            if grid.compared:
                lines.append(_latex_line(r"\quad paper", cells, _paper))
        lines.append(r"\bottomrule")
    return "\n".join([*lines, r"\end{tabular}", r"\end{table*}"]) + "\n"


def _latex_header(datasets: list[str], settings: list[str]) -> list[str]:
    width = len(settings)
    names = [rf"\multicolumn{{{width}}}{{c}}{{{text.latex(name)}}}" for name in datasets]
    starts = range(2, 2 + width * len(datasets), width)
    rules = [rf"\cmidrule(lr){{{start}-{start + width - 1}}}" for start in starts]
    return [
        f" & {' & '.join(names)} \\\\",
        "".join(rules),
        f" & {' & '.join([text.latex(name) for name in settings] * len(datasets))} \\\\",
    ]


def _latex_line(label: str, cells: Iterable[Cell], show: Callable[[Cell], str]) -> str:
    return f"{' & '.join([label, *(text.latex(show(cell)) for cell in cells)])} \\\\"


def to_csv(tables: Iterable[Table]) -> str:
    """Return tables in long form, a line for each cell; missing values are empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for table in tables:
        for row, dataset, setting, cell in table.cells():
            names = [text.spreadsheet(text.plain(s)) for s in (table.name, row, dataset, setting)]
            paper = cell.paper or (math.nan, math.nan)
            ours = [_number(cell.mean), _number(cell.std), cell.n, cell.of]
            marks = [
                _flag(cell.differs),
                cell.failed,
                _flag(cell.beyond_errors),
                _flag(cell.repeats),
            ]
            writer.writerow([*names, *ours, *map(_number, paper), *marks])
    return buffer.getvalue()


def _flag(value: bool | None) -> str:
    return "" if value is None else str(value).lower()


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def _ours(cell: Cell, between: str = " ± ") -> str:
    if not cell.of:
        return ""
    shown = as_text((cell.mean, cell.std), between) if cell.n else "–"
    return f"{shown} ({cell.n}/{cell.of}{'†' if cell.failed else ''})"


def _paper(cell: Cell, between: str = " ± ", mark: str = " ≠") -> str:
    return as_text(cell.paper, between) + (mark if cell.differs else "")


class _Grid(NamedTuple):
    """The cells of a table by data set and setting."""

    rows: list[tuple[str, dict[tuple[str, str], Cell]]]
    datasets: list[str]
    settings: list[str]
    compared: bool

    @classmethod
    def of(cls, table: Table) -> _Grid:
        return cls(
            [(label, dict(zip(table.columns, cells, strict=True))) for label, cells in table.rows],
            list(dict.fromkeys(dataset for dataset, _ in table.columns)),
            list(dict.fromkeys(setting for _, setting in table.columns)),
            any(cell.paper for *_, cell in table.cells()),
        )

    def lines(self, settings: Sequence[str]) -> Iterator[tuple[str, list[Cell]]]:
        """Yield the rows for some settings, data set by data set."""
        columns = [(dataset, setting) for dataset in self.datasets for setting in settings]
        for label, cells in self.rows:
            yield label, [cells.get(column, Cell()) for column in columns]
