"""Transition matrices as CSV files: K rows of K numbers, with or without names around them."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from ..utils.checks import shown
from ..utils.errors import InputError
from ..utils.typing import FloatArray
from .checking import check


class MatrixError(InputError):
    """A file that holds no transition matrix; the message names it and what is wrong."""


class Matrix(NamedTuple):
    """A transition matrix, and the names of its classes where a file has them."""

    T: FloatArray
    classes: list[str] | None


def read_matrix(source: str | Path | TextIO, path: str | None = None) -> Matrix:
    """Return the matrix of a CSV file: K rows of K numbers, with or without names around them.

    Parameters
    ----------
    source : path or open file
    path : str, optional
        What the file is called in messages.
    """
    path = str(source) if path is None else path
    try:
        with contextlib.ExitStack() as stack:
            file = source
            if isinstance(file, (str, Path)):
                file = stack.enter_context(Path(file).open(newline="", encoding="utf-8-sig"))
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except OSError as error:
        raise MatrixError(f"{path} cannot be read ({error.strerror}). Check the path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise MatrixError(
            f"{path} must be a CSV file with a transition matrix ({error})"
        ) from error
    across, down, rows = _without_names(rows)
    if across is not None and down is not None and across != down:
        raise MatrixError(
            f"{path} must hold a transition matrix that names its rows and columns alike; got "
            f"{shown(down)} and {shown(across)}"
            + (". If these are entries, one is missing: fill in the first cell" * _entries(down))
        )
    names = across or down
    try:
        T = check([[float(cell) for cell in row] for row in rows], name=path)
    except (ValueError, TypeError) as error:
        raise MatrixError(
            f"{path} must hold a transition matrix, a row for each class: {error}"
        ) from (error)
    if names is not None and len(names) != len(T):
        raise MatrixError(f"{path} has {len(T)} rows, but names {len(names)} classes")
    return Matrix(T, names)


def in_order(
    T: FloatArray, named: Sequence[str] | None, classes: Sequence[str], path: str
) -> FloatArray:
    """Return a matrix with its rows and columns, where they are named, in the order of classes."""
    if named is None:
        return T
    if set(named) != set(classes):
        raise MatrixError(
            f"{path} must name the classes {', '.join(classes[:20])}; it names "
            f"{', '.join(named[:20])}"
        )
    order = [named.index(name) for name in classes]
    return T[np.ix_(order, order)]


def _without_names(
    rows: list[list[str]],
) -> tuple[list[str] | None, list[str] | None, list[list[str]]]:
    """Return the names across and down, None where there are none, and the rest.

    They may be numbers: what tells them from entries is that a matrix is square.
    """
    width = len(rows[0]) if rows else 0
    both = len(rows) == width > 1 and not _is_number(rows[0][0])
    across = down = None
    if both or len(rows) == width + 1:
        across, rows = [cell.strip() for cell in rows[0]][both:], rows[1:]
    if both or len(rows) == width - 1:
        down, rows = [row[0].strip() for row in rows], [row[1:] for row in rows]
    return across, down, rows


def _entries(names: list[str]) -> bool:
    """Return whether names look like entries of T instead."""
    return all(_is_number(name) and 0 <= float(name) <= 1 for name in names)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def as_csv(T: FloatArray, classes: list[str]) -> str:
    """Return a matrix as a CSV file with the names of its classes around it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["", *classes])
    for name, row in zip(classes, T.tolist(), strict=True):
        writer.writerow([name, *(repr(value) for value in row)])
    return buffer.getvalue()
