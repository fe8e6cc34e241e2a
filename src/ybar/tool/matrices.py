"""``ybar transition``: transition matrices by name or from a file, described, drawn, compared."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import transition
from ..tables import files
from ..tables import labels as complementary
from ..tables.files import DataError
from ..transition.reading import WORDS, Matrix, as_csv, read_matrix
from ..utils.checks import shown
from ..utils.extras import require
from ..utils.files import target_file, write_whole
from ..utils.text import plain
from ..utils.typing import FloatArray
from .pictures import square

_PICTURES = (".png", ".svg", ".pdf")
_SHADES = " ░▒▓█"


def read(given: str) -> Matrix:
    """Return the matrix of a CSV file, or of ``uniform:K``, ``weak:K`` or ``strong:K[:SEED]``.

    ``-`` is standard input.
    """
    if given == "-":
        return read_matrix(sys.stdin, name="standard input")
    kind, *numbers = given.split(":")
    if kind in WORDS and not Path(given).is_file():
        try:
            n_classes, *seed = map(int, numbers)
            if len(seed) > (kind != "uniform"):
                raise ValueError
        except ValueError:
            allowed = "uniform:K" if kind == "uniform" else f"{kind}:K or {kind}:K:SEED"
            raise DataError(
                f"T must be a file, or {allowed} with a number of classes; got {shown(given)}"
            ) from None
        return read_matrix(kind, n_classes, random_state=seed[0] if seed else 0)
    return read_matrix(
        given,
        name="T",
        words=(),
        also=", or uniform:K, weak:K or strong:K with a number of classes",
    )


def names_of(matrix: Matrix) -> list[str]:
    """Return the names of the classes, numbers where there are none."""
    return matrix.classes or [str(i) for i in range(len(matrix.T))]


def describe(matrix: Matrix) -> str:
    """Return an account in words."""
    text = transition.describe(matrix.T)
    if matrix.classes:
        text += f"\nclasses: {', '.join(map(plain, matrix.classes))}"
    return text


def account(matrix: Matrix) -> dict[str, Any]:
    """Return an account in plain values."""
    T = matrix.T
    singular = transition.is_singular(T)
    return {
        "classes": names_of(matrix),
        "gamma": transition.gamma(T),
        "condition_number": None if singular else transition.condition_number(T),
        "uniform": transition.is_uniform(T),
        "singular": singular,
        "wrong_labels": float(np.diag(T).mean()),
        "T": T.tolist(),
    }


def compare(first: Matrix, second: Matrix) -> dict[str, Any]:
    """Return how far the second is from the first, which labels are drawn from."""
    if len(first.T) != len(second.T):
        raise DataError(
            f"both matrices must have as many classes; got {len(first.T)} and {len(second.T)}"
        )
    T = second.T
    if first.classes and second.classes and first.classes != second.classes:
        if set(first.classes) != set(second.classes):
            raise DataError(
                f"both matrices must name the same classes; got {first.classes} and "
                f"{second.classes}"
            )
        order = [second.classes.index(name) for name in first.classes]
        T = T[np.ix_(order, order)]
    rows = np.abs(first.T - T).sum(axis=1)
    epsilon, gamma = float(rows.max()), transition.gamma(T)
    return {
        "largest difference of a row (epsilon, L1)": round(epsilon, 6),
        "class of that row": names_of(first)[int(rows.argmax())],
        "mean difference of a row": round(float(rows.mean()), 6),
        "largest difference of an entry": round(float(np.abs(first.T - T).max()), 6),
        "gamma of the second": round(gamma, 6),
        "2 epsilon / gamma, by which the bound of the error rate grows": (
            round(2 * epsilon / gamma, 6) if gamma else None
        ),
    }


def heat_map(matrix: Matrix) -> Any:
    """Return a table for a terminal, each entry with a shade."""
    table = require("rich.table", "cli", "ybar transition draw").Table("true \\ not")
    text = require("rich.text", "cli", "ybar transition draw").Text
    names, top = names_of(matrix), float(matrix.T.max())
    for name in names:
        table.add_column(text(plain(name)), justify="right")
    for name, row in zip(names, matrix.T, strict=True):
        cells = [
            f"{value:.2f}{_SHADES[min(len(_SHADES) - 1, round(4 * value / top))]}" for value in row
        ]
        table.add_row(text(plain(name)), *cells)
    return table


def write_picture(matrix: Matrix, path: Path) -> None:
    """Write a heat map to a file, whole or not at all."""
    target = target_file(path, "--output")
    if target.suffix not in _PICTURES:
        raise DataError(f"--output must end in {', '.join(_PICTURES)}; got {shown(target.name)}")
    from ..displays import TransitionDisplay

    display = TransitionDisplay(matrix.T, classes=names_of(matrix))
    figure = square(display.plot, len(matrix.T))
    buffer = io.BytesIO()
    figure.savefig(buffer, format=target.suffix[1:], dpi=150)
    write_whole(target, buffer.getvalue())


def write(matrix: Matrix, noise: float, classes: str | None, output: str) -> None:
    """Write a matrix, with noise and names added, as CSV."""
    names = complementary.split_names(classes) or names_of(matrix)
    if len(names) != len(matrix.T):
        raise DataError(
            f"--classes must name {len(matrix.T)} classes, one for each row of T; got {len(names)}"
        )
    _write(transition.with_uniform_noise(matrix.T, noise), names, output)


def _write(T: FloatArray, names: list[str], output: str) -> None:
    with files.output(output) as out:
        out.write(as_csv(T, names))


@dataclass(frozen=True)
class Request:
    """What ``ybar transition estimate`` was asked for."""

    data: str
    true: str
    label: Sequence[str]
    classes: str | None = None
    separator: str = "|"
    delimiter: str | None = None
    output: str = "-"


def estimate(request: Request) -> str:
    """Write the T that rows with both labels tell of, and return in words how it was found."""
    true, label = request.true, request.label
    frame = files.read(request.data, delimiter=request.delimiter, as_text=[true, *label])
    complementary.need(frame, [true], "--true")
    given = complementary.split_names(request.classes)
    if given is None:
        given = complementary.classes_of_both(frame, label, true, request.separator)
    found = complementary.read_labels(frame, label, given, request.separator)
    T, source = complementary.matrix_for(f"estimate:{true}", frame, found)
    _write(T, found.classes, request.output)
    return source
