"""Yes-or-no answers: "is it an a?", about a class that the table names in each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..utils.checks import shown
from ..utils.typing import BoolArray, FloatArray, IntArray
from .files import DataError
from .labels import (
    NAME_CLASSES,
    ComplementaryLabels,
    as_names,
    check_classes,
    check_columns,
    explain_similar,
    listed,
    natural_order,
)

METHODS = ("auto", "boosting", "cpe-f", "fwd")
"""The methods that learn from answers: those that accept every kind of evidence."""
SOURCE = "not needed: the answers are yes and no"
"""What stands for the source of T."""

_YES = frozenset({"yes", "y", "true", "1"})
_NO = frozenset({"no", "n", "false", "0"})


def read_answers(
    frame: Any, asked: str, answer: str, classes: Sequence[str] | None
) -> ComplementaryLabels:
    """Return the answers of a table, one per row: yes rules out all other classes.

    Parameters
    ----------
    asked : str
        The column of the class that the row was asked about.
    answer : str
        The column of answers: yes or no, true or false, 1 or 0. A row without an answer carries no
        information.
    classes : sequence of str, optional
        All classes; by default those that were asked about.
    """
    check_columns(frame, [asked], "--asked")
    check_columns(frame, [answer], "--answer")
    questions = as_names(frame[asked], frozenset(classes or ()))
    replies = as_names(frame[answer])
    codes = np.full(len(frame), -1)
    if classes is None:
        classes = sorted({name for name in questions if name}, key=natural_order)
    check_classes(classes, len(frame), [asked], NAME_CLASSES)
    index = {name: i for i, name in enumerate(classes)}
    mask = np.zeros((len(frame), len(classes)), dtype=bool)
    for row, (name, reply) in enumerate(zip(questions, replies, strict=True)):
        word = (reply or "").lower()
        if not word:
            continue
        if word not in _YES | _NO:
            raise DataError(
                f"--answer must be a column of yes or no (also true or false, 1 or 0); got "
                f"{shown(reply)} in row {row + 1} of {answer!r}. Correct it, or empty the cell"
            )
        if name not in index:
            raise DataError(
                f"--asked must be a column of the classes {listed(classes)}; got {shown(name)} in "
                f"row {row + 1} of {asked!r}, which has an answer. {NAME_CLASSES}"
            )
        codes[row] = index[name]
        mask[row, codes[row]] = True
        if word in _YES:
            mask[row] = ~mask[row]
    if not mask.any():
        raise DataError(f"{answer} must hold answers; all cells are empty")
    return ComplementaryLabels(mask, list(classes), codes, tuple(explain_similar(classes)))


def probabilities(p: FloatArray) -> FloatArray:
    """Return the probabilities of both answers about each class: yes for all classes, then no."""
    return np.concatenate([p, 1 - p], axis=1)


def given(y: ComplementaryLabels) -> BoolArray:
    """Return which answer each row has, with the columns of `probabilities`."""
    asked = np.asarray(y.asked)
    rows = np.flatnonzero(asked >= 0)
    no = y.mask[rows, asked[rows]]
    mask = np.zeros((len(asked), 2 * len(y.classes)), dtype=bool)
    mask[rows, asked[rows] + len(y.classes) * no] = True
    return mask


def summary(predicted: IntArray, y: ComplementaryLabels) -> dict[str, Any]:
    """Return bounds of the accuracy, in the form of `accuracy.summary`.

    A prediction is right if it is the class that was confirmed, and wrong if it is a class that was
    ruled out. All others may be right or wrong, so no assumption about the questions is made.
    """
    rows = np.flatnonzero(y.mask.any(axis=1))
    wrong = y.mask[rows, predicted[rows]]
    right = ~wrong & (y.mask[rows].sum(axis=1) == y.mask.shape[1] - 1)
    return {
        "expected_accuracy": None,
        "expected_accuracy_std_error": None,
        "expected_accuracy_interval": None,
        "answers": {
            "rows": len(rows),
            "right": int(right.sum()),
            "wrong": int(wrong.sum()),
            "accuracy_bounds": [float(right.mean()), 1 - float(wrong.mean())],
        },
        "transition": {"refuted": False, "p_value": None, "level": None, "reasons": []},
    }


def explain(scores: dict[str, Any]) -> list[str]:
    """Return sentences on the accuracy of `summary`."""
    result = scores["answers"]
    low, high = result["accuracy_bounds"]
    unknown = result["rows"] - result["right"] - result["wrong"]
    return [
        f"The accuracy on {result['rows']} held-out rows is between {100 * low:.1f}% and "
        f"{100 * high:.1f}%, if the answers are right: {result['right']} predictions were "
        f"confirmed, {result['wrong']} were ruled out, and {unknown} were neither. "
        f"For a single number, use ybar evaluate --true COLUMN on a few true labels."
    ]


def explain_classes(y: ComplementaryLabels, asked: IntArray, most: int) -> str:
    """Return the classes with their number of answers, and of answers "yes".

    Parameters
    ----------
    asked : ndarray
        The class of each question, -1 for none, as in `y.asked`.
    most : int
        The number of classes that are listed.
    """
    rows = np.flatnonzero(asked >= 0)
    n_all, n_yes = np.zeros((2, len(y.classes)), dtype=int)
    np.add.at(n_all, asked[rows], 1)
    np.add.at(n_yes, asked[rows], ~y.mask[rows, asked[rows]])
    pairs = [f"{name} {yes}/{n}" for name, yes, n in zip(y.classes, n_yes, n_all, strict=True)]
    more = len(pairs) - most
    ending = f", and {more} more classes" if more > 0 else ""
    return f"Answers (yes/all) per class: {', '.join(pairs[:most])}{ending}."
