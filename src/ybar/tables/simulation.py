"""Draw complementary labels for a table whose true classes are known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import labels as complementary
from ..transition import with_uniform_noise
from ..transition.reading import WORDS, assumed_order, read_matrix
from ..utils.checks import shown
from ..utils.random import as_generator
from ..utils.typing import FloatArray
from .files import DataError
from .labels import as_names, check_columns, check_separator, explain_similar, natural_order


class Simulated(NamedTuple):
    """A table with complementary labels, and how they were drawn."""

    frame: Any
    classes: list[str]
    T: FloatArray
    n_labels: int
    wrong: float
    """The fraction of the labels that are the true class."""
    notes: list[str]
    """Remarks on T and on the classes, for the user."""


def simulate(
    frame: Any,
    *,
    target: str,
    transition: str = "uniform",
    noise: float = 0.0,
    labels: int = 1,
    column: str = "not_label",
    keep_true: bool = False,
    separator: str = "|",
    seed: int = 0,
) -> Simulated:
    """Return a table with a column of complementary labels.

    The parameters are the options of ``ybar simulate``.
    """
    check_columns(frame, [target], "--target")
    if column in frame.columns and column != target:
        raise DataError(
            f"--column must be a new column; got {column!r}, which the data has. Choose another"
        )
    true = _true_classes(frame[target], target)
    classes = sorted(set(true), key=natural_order)
    if len(classes) < 2:
        raise DataError(f"{target} must hold at least 2 classes; got {shown(classes)}")
    check_separator(separator)
    separated = [name for name in classes if separator in name]
    if separated:
        raise DataError(
            f"--separator must not occur in a class; got {separator!r}, which occurs in "
            f"{shown(separated[0])}. Choose another"
        )
    rng = as_generator(seed)
    T, names = read_matrix(transition, classes, random_state=rng, name="--transition")
    notes = explain_similar(classes)
    if names is None and transition not in WORDS:
        notes.append(assumed_order(transition, classes, "sorted order"))
    index = {name: i for i, name in enumerate(classes)}
    y = np.array([index[name] for name in true])
    noisy_T = with_uniform_noise(T, noise)
    drawn = np.stack([complementary.draw(y, noisy_T, rng) for _ in range(labels)], axis=1)
    cells = [separator.join(classes[k] for k in sorted(set(row))) for row in drawn.tolist()]
    if not keep_true:
        frame = frame.drop(columns=target)
    return Simulated(
        frame.assign(**{column: cells}),
        classes,
        T,
        int(drawn.size),
        float(np.mean(drawn == y[:, None])),
        notes,
    )


def _true_classes(column: Any, target: str) -> list[str]:
    names = as_names(column)
    n_missing = sum(name is None for name in names)
    if n_missing:
        raise DataError(
            f"{target} must have a class in every row; {n_missing} of {len(names)} cells are empty "
            "or hold a word such as NA. Fill them in, or remove these rows"
        )
    return [str(name) for name in names]
