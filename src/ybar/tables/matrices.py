"""The transition matrix of a table: from a word, from a file, or estimated from true labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import transition
from ..transition.reading import Matrix
from ..utils.checks import shown
from ..utils.typing import FloatArray
from .files import DataError
from .labels import NAME_CLASSES, ComplementaryLabels, as_names, check_columns, listed

ESTIMATE = "estimate:"


def names_of(matrix: Matrix) -> list[str]:
    """Return the names of the classes, or their numbers if the matrix has no names."""
    return matrix.classes or [str(i) for i in range(len(matrix.T))]


def estimate(
    frame: Any, column: str, y_comp: ComplementaryLabels, option: str
) -> tuple[FloatArray, str]:
    """Return T from the rows that have a true label in a column, and a text that says so."""
    check_columns(frame, [column], option)
    true = as_names(frame[column])
    index = {name: i for i, name in enumerate(y_comp.classes)}
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
