"""Figures of a sweep: losses over epochs, accuracy against noise, and agreement with the paper.

Each function returns None if there is nothing to draw. All figures can be read without colour.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...displays.drawing import drawn_names
from ...utils.extras import require
from ...utils.typing import AnyArray
from ..plan.model import Dataset, Method, Part, Setting
from ..runs import transfer
from ..runs.entry import Entry
from .choose import Rule, Runs
from .layouts import COMPARISONS
from .tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["accuracy_by_noise", "agreement_map", "drawn_from", "loss_curves"]

Column = tuple[str, str]
"""A data set and a setting."""
Row = tuple[int, str]
"""The index of a row in its table, and its label, which need not be unique."""
Histories = dict[Method, list[Entry]]
"""The runs of each method, one per trial."""

# Okabe and Ito's colours, which colour-blind readers can distinguish, and as many markers.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LOSSES = {"loss": ("training loss", "--"), "scel": ("validation loss (SCEL)", "-")}
_HALVES = {"linear-clean": "linear", "linear-noisy": "linear"}
_WHAT = "a figure"
_MOST_COUNTED = 3  # methods whose trials fit into a title
# The colour scale ends here; the numbers do not.
_MOST_POINTS = 10


def loss_curves(runs: Runs, part: Part, dataset: Dataset) -> Figure | None:
    """Plot the training and validation loss of methods, a panel for each setting.

    These are the methods that SCEL chooses for (in the paper CPE-I, CPE-F and CPE-T), whose losses
    can be compared, and the user's own methods. Methods without runs are left out. Lines are
    means over trials, each trial with the learning rate chosen at the last epoch; bands are one
    standard deviation to both sides.
    """
    panels: dict[Setting, Histories] = {
        setting: {m: _history(runs, part, m, dataset, setting) for m in _drawn_methods(part)}
        for setting in part.settings
    }
    methods = [m for m in _drawn_methods(part) if any(panel[m] for panel in panels.values())]
    if not methods:
        return None
    n_rows, n_columns = -(-len(panels) // 3), min(3, len(panels))
    n_wide = n_columns + 2 if n_columns > 1 else 2
    lines_of_legend = -(-(len(methods) + len(_LOSSES)) // n_wide)
    figure = _figure(3.4 * n_columns, 2.6 * n_rows + 0.9 + 0.22 * max(0, lines_of_legend - 2))
    axes = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    for i, (setting, histories) in enumerate(panels.items()):
        ax = axes[i]
        _draw_losses(ax, [histories[method] for method in methods])
        counts = {method.label: len(histories[method]) for method in methods}
        ax.set_title(f"{_label(setting.name)} ({_trials(counts, part.trials)})", fontsize=9)
        ax.tick_params(labelsize=8, labelbottom=i + n_columns >= len(panels))
        if i + n_columns >= len(panels):
            ax.set_xlabel("epoch", fontsize=9)
        if i % n_columns == 0:
            ax.set_ylabel("loss", fontsize=9)
    looks = [_look(i) | {"label": _label(method.label)} for i, method in enumerate(methods)]
    looks += [{"color": "0.3", "ls": style, "label": label} for label, style in _LOSSES.values()]
    Line2D = require("matplotlib.lines", "report", _WHAT).Line2D
    handles = [Line2D([], [], markersize=5, **look) for look in looks]
    figure.legend(handles=handles, loc="outside lower center", ncols=n_wide, fontsize=9)
    where = f"{_label(dataset.name)}, {_label(part.base.name)}"
    figure.suptitle(f"Loss on {where}: mean ± deviation", fontsize=11)
    return figure


def drawn_from(runs: Runs) -> dict[str, dict[str, AnyArray]]:
    """Return the curves that `loss_curves` draws, or may draw later, by the hash of their run.

    An export with only these curves, a small part of all, is enough for all tables and figures,
    also after the missing runs are added.
    """
    return {
        entry.hash: {name: entry.curves[name] for name in _LOSSES}
        for part in runs.plan.parts
        for method in _drawn_methods(part)
        for dataset, setting in itertools.product(part.datasets, part.settings)
        for entry in (
            *_history(runs, part, method, dataset, setting),
            *_with_losses(runs.find_undecided(part, method, dataset, setting)),
        )
    }


def _drawn_methods(part: Part) -> list[Method]:
    by_scel = [m for m in part.methods if m.criterion == "scel" or m.loss is not None]
    return by_scel or list(part.methods)


def _history(
    runs: Runs, part: Part, method: Method, dataset: Dataset, setting: Setting
) -> list[Entry]:
    """Return the chosen run of each trial, if it has its losses."""
    chosen = runs.choose_all(part, method, dataset, setting, Rule())
    return _with_losses(each.entry for each in chosen)


def _with_losses(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.curves.keys() >= _LOSSES.keys()]


def _draw_losses(ax: Any, histories: Sequence[list[Entry]]) -> None:
    if not any(histories):
        ax.text(0.5, 0.5, "no trial yet", transform=ax.transAxes, ha="center", color="0.4")
        ax.set_yticks([])
    for i, entries in enumerate(histories):
        if not entries:
            continue
        for curve, (_, style) in _LOSSES.items():
            values = np.array([transfer.rounded(entry.curves[curve]) for entry in entries])
            epochs = np.arange(1, values.shape[1] + 1)
            # CPE-F and CPE-T may coincide: their markers alternate.
            step = max(3, len(epochs) // 5)
            look = _look(i) | {"ls": style, "markevery": (i * step // 3, step)}
            mean = values.mean(axis=0)
            ax.plot(epochs, mean, lw=1.2, markersize=4, **look)
            if len(values) > 1:
                std = values.std(axis=0, ddof=1)
                ax.fill_between(
                    epochs, mean - std, mean + std, color=look["color"], alpha=0.2, lw=0
                )


def _trials(counts: Mapping[str, int], of: int) -> str:
    """Return the number of trials as text; of each method if the numbers differ."""
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))}/{of} trials"
    if len(counts) > _MOST_COUNTED:
        return f"{min(counts.values())} to {max(counts.values())} of {of} trials"
    return ", ".join(f"{_label(label)} {n}" for label, n in counts.items()) + f" of {of}"


def accuracy_by_noise(tables: Iterable[Table]) -> Figure | None:
    """Plot accuracy against the noise of strong labels: a panel for each base and data set.

    Lines are means over trials, and bars are one standard deviation. Faint dashed lines are the
    paper's accuracies.

    The noise level of a setting comes from its name, such as strong or noise-0.1.
    """
    groups = {
        name: shown
        for name, rows in _groups(t for t in tables if not t.name.startswith(COMPARISONS)).items()
        if (shown := {at: row for at, row in rows.items() if _is_shown(row)})
        and any(cell.n and _noise(c[1]) for row in shown.values() for c, cell in row.items())
    }
    if not groups:
        return None
    columns = [c for rows in groups.values() for row in rows.values() for c in row]
    datasets = list(dict.fromkeys(dataset for dataset, _ in columns))
    levels = sorted({level for _, s in columns if (level := _noise(s)) is not None})
    height = max(2.8, 0.2 * max(map(len, groups.values())))  # of the legend, if that is more
    figure = _figure(3.1 * len(datasets) + 1.2, height * len(groups) + 0.5)
    axes = figure.subplots(len(groups), len(datasets), squeeze=False)
    for panels, (name, rows) in zip(axes, groups.items(), strict=True):
        for ax, dataset in zip(panels, datasets, strict=True):
            for (i, label), row in rows.items():
                cells = {setting: cell for (d, setting), cell in row.items() if d == dataset}
                _draw_by_noise(ax, i, label, cells)
            ax.set_title(f"{_label(dataset)}, {_label(name)}", fontsize=10)
            ax.set_xticks(levels)
            ax.tick_params(labelsize=8)
        panels[0].set_ylabel("test accuracy (%)", fontsize=9)
        handles, labels = panels[0].get_legend_handles_labels()
        panels[-1].legend(handles, labels, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("noise λ", fontsize=9)
    every_row = [row for rows in groups.values() for row in rows.values()]
    compared = any(cell.paper for row in every_row for cell in row.values())
    title = "Accuracy by label noise" + (" (dashed: the paper's)" if compared else "")
    figure.suptitle(title, fontsize=11)
    return figure


def _is_shown(row: Mapping[Column, Cell]) -> bool:
    """Return whether a row has accuracies, ours or the paper's."""
    return any(cell.n or cell.paper for cell in row.values())


def _noise(setting: str) -> float | None:
    """Return the noise level that the name of a setting with strong labels has, else None."""
    if setting == "strong":
        return 0.0
    named = re.fullmatch(r"noise-(\d*\.?\d+)", setting)
    return float(named[1]) if named else None


def _draw_by_noise(ax: Any, i: int, label: str, cells: Mapping[str, Cell]) -> None:
    by_level = [(level, cell) for s, cell in cells.items() if (level := _noise(s)) is not None]
    by_level.sort(key=lambda pair: pair[0])
    ours = [(level, cell.mean, cell.std) for level, cell in by_level if cell.n]
    paper = [(level, cell.paper[0]) for level, cell in by_level if cell.paper]
    x, mean, std = zip(*ours, strict=True) if ours else ((), (), ())
    look = _look(i) | {"lw": 1.2, "markersize": 4, "label": _label(label)}
    ax.errorbar(x, mean, np.nan_to_num(std), capsize=2, elinewidth=0.7, **look)
    if paper:
        faint = _look(i) | {"ls": "--", "lw": 1, "markersize": 3, "mfc": "none", "alpha": 0.45}
        ax.plot(*zip(*paper, strict=True), **faint)


def agreement_map(tables: Iterable[Table]) -> Figure | None:
    """Plot our accuracy minus the paper's, in points, for every cell that the paper has.

    Cells that differ beyond the tolerance have a frame, cells without all trials are italic, and
    cells that were not run are empty.
    """
    rows = [
        (name, label, cells)
        for name, group in _groups(tables).items()
        for (_, label), cells in group.items()
        if any(cell.paper for cell in cells.values())
    ]
    columns = list(dict.fromkeys(column for *_, cells in rows for column in cells))
    datasets = list(dict.fromkeys(dataset for dataset, _ in columns))
    columns.sort(key=lambda column: datasets.index(column[0]))
    off = np.array([[cells.get(column, Cell()).points for column in columns] for *_, cells in rows])
    if not rows or np.isnan(off).all():
        return None
    labels = [f"{_label(name)}: {_label(label)}" for name, label, _ in rows]
    width = 1 + 0.07 * max(map(len, labels)) + 0.52 * len(columns)
    figure = _figure(width, 1.6 + 0.27 * len(rows))
    ax = figure.subplots()
    image = ax.imshow(off, "RdBu_r", aspect="auto", vmin=-_MOST_POINTS, vmax=_MOST_POINTS)
    for y, (*_, cells) in enumerate(rows):
        for x, column in enumerate(columns):
            if not np.isnan(off[y, x]):
                _draw_points(ax, x, y, cells[column], off[y, x])
    ax.set_xticks(range(len(columns)), [_label(s) for _, s in columns], rotation=45, ha="right")
    ax.set_yticks(range(len(rows)), labels)
    ax.tick_params(labelsize=8, length=0)
    for y in _changes([name for name, *_ in rows]):
        ax.axhline(y - 0.5, color="black", lw=0.8)
    starts = [0, *_changes([dataset for dataset, _ in columns]), len(columns)]
    for x in starts[1:-1]:
        ax.axvline(x - 0.5, color="black", lw=0.8)
    for start, end in itertools.pairwise(starts):
        ax.text((start + end - 1) / 2, -0.7, _label(columns[start][0]), ha="center", fontsize=9)
    bar = figure.colorbar(image, ax=ax, extend="both", fraction=0.03, pad=0.01)
    bar.set_label("ours − paper (points)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    figure.suptitle(
        "Ours minus the paper's accuracy (framed: beyond 1 point + 2 of its standard deviations;\n"
        "italic: trials missing; empty: not run)",
        fontsize=10,
    )
    return figure


def _draw_points(ax: Any, x: int, y: int, cell: Cell, points: float) -> None:
    Rectangle = require("matplotlib.patches", "report", _WHAT).Rectangle
    ax.text(
        x,
        y,
        f"{round(points, 1) + 0.0:+.1f}",  # no -0.0
        ha="center",
        va="center",
        fontsize=7,
        color="white" if abs(points) > 0.7 * _MOST_POINTS else "black",
        weight="bold" if cell.differs else "normal",
        style="normal" if cell.complete else "italic",
    )
    if cell.differs:
        ax.add_patch(Rectangle((x - 0.44, y - 0.42), 0.88, 0.84, fill=False, ec="black", lw=1.3))


def _changes(names: Sequence[str]) -> list[int]:
    return [i for i in range(1, len(names)) if names[i] != names[i - 1]]


def _groups(tables: Iterable[Table]) -> dict[str, dict[Row, dict[Column, Cell]]]:
    """Return the rows of tables; the two halves of the paper's linear table become one."""
    groups: dict[str, dict[Row, dict[Column, Cell]]] = {}
    for table in tables:
        group = groups.setdefault(_HALVES.get(table.name, table.name), {})
        for i, (label, cells) in enumerate(table.rows):
            row = group.setdefault((i, label), {})
            row |= zip(table.columns, cells, strict=True)
    return groups


def _figure(width: float, height: float) -> Figure:
    figures = require("matplotlib.figure", "report", _WHAT)
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure


def _look(i: int) -> dict[str, Any]:
    return {"color": _COLOURS[i % len(_COLOURS)], "marker": _MARKERS[i % len(_MARKERS)]}


def _label(name: str) -> str:
    """Return a name without what matplotlib would read as a formula, or leave out of a legend."""
    (drawn,) = drawn_names([name])
    return (f" {drawn}" if drawn.startswith("_") else drawn).replace("$", r"\$")
