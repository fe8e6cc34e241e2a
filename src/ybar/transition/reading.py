"""Read a transition matrix from a word, an array, a data frame or a CSV file, and write it as CSV.

Classifiers accept "uniform" or an array, which `check` validates. `read_matrix` reads all other
forms of T that a user may write in a command, a plan or a file.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import ArrayLike

from ..utils.checks import frame_names, shown
from ..utils.errors import InputError
from ..utils.typing import FloatArray, Seed
from .building import strong, weak
from .checking import check, uniform
from .counting import ANNOTATORS, annotated_classes, annotators

WORDS = ("uniform", "weak", "strong")

_MOST_LISTED = 20


class MatrixError(InputError):
    """The source holds no transition matrix of these classes; the message names the problem."""


class Matrix(NamedTuple):
    """A transition matrix, and the names of its classes if the source has them."""

    T: FloatArray
    classes: list[str] | None


def read_matrix(
    source: str | os.PathLike[str] | TextIO | Matrix | ArrayLike,
    classes: int | Sequence[Any] | None = None,
    *,
    random_state: Seed = None,
    name: str | None = None,
    words: Sequence[str] = WORDS,
    also: str = "",
) -> Matrix:
    r"""Return the transition matrix that a word, an array, a data frame or a CSV file describes.

    Parameters
    ----------
    source : str, path, open file, Matrix, data frame or array-like of shape (K, K)
        - "uniform", "weak" or "strong", which need `classes`;
        - "clcifar10", "clcifar20" or "aclcifar10", the matrices of `ybar.transition.annotators`;
        - a CSV file, as its path or open: K rows of K numbers, with or without names around them;
        - rows of numbers, or a data frame whose index and columns are the classes.

        A word wins over a file of that name; write ``"./uniform"`` for the file.
    classes : int or sequence of class names, optional
        The number of classes, or all of them in the order of the rows that are returned. A source
        with names is put in this order.
    random_state : int, Generator, RandomState or None
        For "weak" and "strong".
    name : str, optional
        The name of the source in errors; by default its path, or "T".
    words : sequence of {"uniform", "weak", "strong"}
        Words that are allowed here.
    also : str
        Other values that the caller accepts, for errors.

    Raises
    ------
    MatrixError
        If the source holds no transition matrix, or one of other classes.

    Examples
    --------
    >>> import io
    >>> from ybar.transition.reading import read_matrix
    >>> T, names = read_matrix(io.StringIO(",a,b\na,0.1,0.9\nb,1,0\n"), ["b", "a"])
    >>> T
    array([[0. , 1. ],
           [0.9, 0.1]])
    """
    if isinstance(source, str) and source in ANNOTATORS:
        matrix = Matrix(annotators(source), annotated_classes(source))
    elif isinstance(source, str) and source in words:
        matrix = Matrix(_build(source, classes, random_state, name or "T"), None)
    elif isinstance(source, (str, os.PathLike)):
        matrix = _read_path(Path(source), name, words, also)
    elif hasattr(source, "read"):
        matrix = _read_file(source, name or "T")
    elif isinstance(source, Matrix):
        matrix = Matrix(_checked(source.T, name or "T"), source.classes)
    else:
        matrix = Matrix(_checked(source, name or "T"), frame_names(source, "index"))
    if classes is None:
        return matrix
    path = name if not isinstance(source, (str, os.PathLike)) else str(source)
    return _in_order(matrix, classes, path or "T")


def _build(
    word: str, classes: int | Sequence[Any] | None, random_state: Seed, name: str
) -> FloatArray:
    if classes is None:
        raise MatrixError(f"{name} must come with the number of classes; got {word!r} alone")
    n_classes = classes if isinstance(classes, int) else len(classes)
    if word == "uniform":
        return uniform(n_classes)
    return (weak if word == "weak" else strong)(n_classes, random_state)


def _in_order(matrix: Matrix, classes: int | Sequence[Any], name: str) -> Matrix:
    """Return a matrix whose rows and columns, if they are named, have the order of the classes."""
    T, names = matrix
    n_classes = classes if isinstance(classes, int) else len(classes)
    if len(T) != n_classes:
        listed = "" if isinstance(classes, int) else f" {_listed(classes)}"
        raise MatrixError(
            f"{name} must have a row for each of the {n_classes} classes{listed}; got {len(T)}. "
            "Name all classes, or correct the matrix"
        )
    if names is None or isinstance(classes, int):
        return matrix
    if set(names) != set(classes):
        raise MatrixError(
            f"{name} must name the classes {_listed(classes)}; it names {_listed(names)}"
        )
    order = [names.index(each) for each in classes]
    return Matrix(T[np.ix_(order, order)], list(classes))


def _listed(classes: Sequence[Any]) -> str:
    return ", ".join(map(str, classes[:_MOST_LISTED]))


def assumed_order(name: str, classes: Sequence[Any], order: str) -> str:
    """Return the warning that a matrix has no class names, with the order that is assumed."""
    more = ", ..." if len(classes) > _MOST_LISTED else ""
    return (
        f"{name} has no class names. Its rows and columns are read in {order}: {_listed(classes)}"
        f"{more}. Add the names as its first row and first column"
    )


def _read_path(path: Path, name: str | None, words: Sequence[str], also: str) -> Matrix:
    if name is not None and not path.exists():
        allowed = "".join(f"{word!r}, " for word in words)
        raise MatrixError(
            f"{name} must be {allowed}the path of a CSV file{also}; got {shown(str(path))}, which "
            "does not exist"
        )
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read_file(file, str(path))
    except OSError as error:
        raise MatrixError(f"{path} cannot be read ({error.strerror}). Check the path") from error


def _read_file(file: Any, name: str) -> Matrix:
    """Return the matrix of an open CSV file, with its names if it has some."""
    try:
        rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise MatrixError(
            f"{name} must be a CSV file with a transition matrix ({error})"
        ) from error
    across, down, rows = _split_names(rows)
    if across is not None and down is not None and across != down:
        raise MatrixError(
            f"{name} must hold a transition matrix that names its rows and columns alike; got "
            f"{shown(down)} and {shown(across)}"
            + (". If these are entries, one is missing: fill in the first cell" * _entries(down))
        )
    names = across or down
    try:
        T = check([[float(cell) for cell in row] for row in rows], name=name)
    except (ValueError, TypeError) as error:
        raise MatrixError(
            f"{name} must hold a transition matrix, a row for each class: {error}"
        ) from error
    if names is not None and len(names) != len(T):
        raise MatrixError(
            f"{name} must name each class once; got {len(T)} rows and {len(names)} names"
        )
    return Matrix(T, names)


def _checked(rows: Any, name: str) -> FloatArray:
    try:
        return check(rows, name=name)
    except (ValueError, TypeError) as error:
        raise MatrixError(str(error)) from error


def _split_names(
    rows: list[list[str]],
) -> tuple[list[str] | None, list[str] | None, list[list[str]]]:
    """Return the names across and down, None if there are none, and the rows of the matrix.

    Names may be numbers: the matrix without them must be square.
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
    """Return a matrix as the text of a CSV file, with the names of its classes around it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["", *classes])
    for name, row in zip(classes, T.tolist(), strict=True):
        writer.writerow([name, *(repr(value) for value in row)])
    return buffer.getvalue()
