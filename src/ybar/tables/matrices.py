"""Transition matrices of users: from a word, from a file, or estimated from true labels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import transition
from ..transition.reading import WORDS, Matrix, as_csv, read_matrix
from ..utils.checks import shown
from ..utils.errors import input_errors
from ..utils.typing import FloatArray
from .files import DataError
from .labels import NAME_CLASSES, ComplementaryLabels, as_names, check_columns, listed
from .writing import text_output

ESTIMATE = "estimate:"

_ALSO = ", -, or uniform:K, weak:K or strong:K with a number of classes K"


def parse(spec: str) -> Matrix:
    """Return the matrix of ``uniform:K``, ``weak:K[:SEED]``, ``strong:K[:SEED]`` or a CSV file.

    ``-`` is CSV from standard input.
    """
    if spec == "-":
        return read_matrix(sys.stdin, name="standard input")
    word, *numbers = spec.split(":")
    if word not in WORDS or Path(spec).is_file():
        return read_matrix(spec, name="T", words=(), also=_ALSO)
    most = 1 if word == "uniform" else 2
    if not all(number.isdecimal() for number in numbers) or not 1 <= len(numbers) <= most:
        form = "uniform:K" if word == "uniform" else f"{word}:K or {word}:K:SEED"
        raise DataError(f"T must be {form} with a number of classes K; got {shown(spec)}")
    n_classes, *seed = map(int, numbers)
    with input_errors():
        return read_matrix(word, n_classes, random_state=seed[0] if seed else 0)


def names_of(matrix: Matrix) -> list[str]:
    """Return the names of the classes, or their numbers if the matrix has no names."""
    return matrix.classes or [str(i) for i in range(len(matrix.T))]


def estimate(
    frame: Any, column: str, y_comp: ComplementaryLabels, option: str
) -> tuple[FloatArray, str]:
    """Return T from the rows that have a true label in a column, and a text that says so."""
    check_columns(frame, [column], option)
    index = {name: i for i, name in enumerate(y_comp.classes)}
    true = as_names(frame[column], index)
    rows = [row for row, name in enumerate(true) if name and y_comp.mask[row].any()]
    unknown = [true[row] for row in rows if true[row] not in index]
    if unknown:
        raise DataError(
            f"{column} must hold classes among {listed(y_comp.classes)}; got "
            f"{shown(unknown[0])}. {NAME_CLASSES}"
        )
    if not rows:
        raise DataError(
            f"{column} must hold a true label in at least one row with a complementary label; got "
            "no such row"
        )
    codes = np.array([index[str(true[row])] for row in rows])
    n_classes = len(index)
    T = transition.estimate(
        codes, y_comp.mask[rows], classes=np.arange(n_classes), smoothing=1 / n_classes
    )
    source = f"estimated from {len(rows)} rows with a true label in {column}"
    absent = [name for name, i in index.items() if i not in codes]
    if absent:
        source += f"; no row has the true label {' or '.join(absent[:5])}, so its row is a guess"
    return T, source


def write(T: FloatArray, classes: Sequence[str], target: str, option: str = "--output") -> None:
    """Write a matrix as CSV, with the names of its classes around it."""
    with text_output(target, [".csv"], " for a transition matrix", option) as out:
        out.write(as_csv(T, list(classes)))


def summary(matrix: Matrix) -> dict[str, Any]:
    """Return the properties of a matrix in values that JSON has."""
    T = matrix.T
    singular = transition.is_singular(T)
    return {
        "classes": names_of(matrix),
        "gamma": transition.gamma(T),
        "condition_number": None if singular else transition.condition_number(T),
        "uniform": transition.is_uniform(T),
        "singular": singular,
        "wrong_labels": float(T.diagonal().mean()),
        "T": T.tolist(),
    }


def compare(assumed: Matrix, true: Matrix) -> dict[str, Any]:
    """Return how far a matrix is from the true one, in values that JSON has."""
    classes = assumed.classes or names_of(true)
    if len(assumed.T) != len(true.T):
        raise DataError(
            "both matrices must have the same number of classes; got "
            f"{len(assumed.T)} and {len(true.T)}"
        )
    T = read_matrix(true, classes, name="the second matrix").T
    entries = np.abs(assumed.T - T)
    rows = entries.sum(axis=1)
    epsilon, gamma = float(rows.max()), transition.gamma(T)
    return {
        "largest difference of a row (epsilon, L1)": round(epsilon, 6),
        "class of that row": names_of(assumed)[int(rows.argmax())],
        "mean difference of a row": round(float(rows.mean()), 6),
        "largest difference of an entry": round(float(entries.max()), 6),
        "gamma of the second": round(gamma, 6),
        "2 epsilon / gamma, added to the bound of the error rate": (
            round(2 * epsilon / gamma, 6) if gamma else None
        ),
    }
