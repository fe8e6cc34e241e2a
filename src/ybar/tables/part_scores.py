"""Scores of a model on many files: sums of each file, added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix

from .. import calibration, transition
from ..distributed.metrics import ure_sums
from ..distributed.sums import Sums
from ..labels.observed import observe_codes
from ..metrics import likelihood
from ..metrics.losses import Losses
from ..utils.typing import BoolArray, FloatArray, IntArray
from . import accuracy, evaluation, scoring
from .files import DataError
from .labels import cells, check_columns, is_missing_word, read_labels
from .model import TableClassifier
from .part_predictions import cached_model
from .parts import naming, read

_MOST_CHECKED = 50_000  # rows on which T is tested


class Work(NamedTuple):
    """What a model is evaluated by."""

    model: str
    true: str | None
    label: tuple[str, ...]
    separator: str
    delimiter: str | None
    on_cluster: bool


class Checked(NamedTuple):
    """Rows of a file on which T is tested."""

    mask: BoolArray
    predicted: IntArray
    free_q: FloatArray | None


class Part(NamedTuple):
    """What one file adds up to."""

    rows: int
    seen: int
    confusion: IntArray
    labels: IntArray
    """The number of labels of each class, in rows that the model was not fitted to."""
    scel: Sums
    ure: Sums
    checked: Checked | None


def check(work: Work) -> None:
    """Raise an error unless there is a column of labels to evaluate by."""
    evaluation.check_options(work.true, work.label)


def score_part(part: str, number: int, n_parts: int, work: Work) -> Part:
    """Return the sums of one file."""
    model = cached_model(work.model, work.on_cluster)
    columns = [*work.label, *filter(None, [work.true])]
    with naming(part):
        frame = read(part, delimiter=work.delimiter, as_text=[*model.as_text, *columns])
        check_columns(frame, work.label, "--label")
        check_columns(frame, columns, "--true")
        seen = model.recognised(frame) if len(frame) else np.zeros(0, bool)
        K = len(model.classes_)
        confusion = np.zeros((K, K), int)
        if work.true is not None and len(frame):
            true, predicted = evaluation.true_and_predicted(model, frame, work.true)
            if len(true):
                names = [str(name) for name in model.classes_]
                confusion = confusion_matrix(true, predicted, labels=names)
        mask = _mask(model, frame, work)
        rows = np.flatnonzero(mask.any(axis=1) & ~seen)
        scores: tuple[IntArray, Sums, Sums, Checked | None]
        scores = (np.zeros(K, int), Sums.nothing(), Sums.nothing(), None)
        if len(rows):
            most = max(1, _MOST_CHECKED // n_parts)
            scores = _scores(model, frame.iloc[rows], mask[rows], most, number)
    return Part(len(frame), int(seen.sum()), confusion, *scores)


def _mask(model: TableClassifier, frame: Any, work: Work) -> BoolArray:
    """Return the labels of a file, which may have none."""
    classes = [str(name) for name in model.classes_]
    found = (
        name
        for column in work.label
        for cell in cells(frame[column], work.separator)
        for name in cell
    )
    if not any(name and (name in classes or not is_missing_word(name)) for name in found):
        return np.zeros((len(frame), len(classes)), bool)
    remedy = "The model has no other classes"
    return read_labels(frame, work.label, classes, work.separator, remedy=remedy).mask


def _scores(
    model: TableClassifier, rows: Any, mask: BoolArray, most: int, number: int
) -> tuple[IntArray, Sums, Sums, Checked]:
    T = model.label_transition_
    p = calibration.temper(model.predict_proba(rows), model.account_.get("temperature", 1.0))
    losses = Losses(likelihood.log_losses((p @ T)[mask], 0.0), np.nonzero(mask)[0], len(mask))
    predicted = scoring.predicted_indices(model, rows)
    ure = Sums.nothing()
    if not transition.is_singular(T):
        ure = ure_sums(observe_codes(mask, len(T)), predicted, T)
    some = np.random.default_rng(number).permutation(len(mask))[:most]
    free_q = None
    if model.estimates_q:
        free_q = model.predict_complementary_proba(rows.iloc[some])
    checked = Checked(mask[some], predicted[some], free_q)
    return mask.sum(axis=0), Sums.of(losses, None), ure, checked


def scores(model: TableClassifier, parts: Sequence[Part]) -> dict[str, Any]:
    """Return the scores on all files in values that JSON has, as `evaluation.evaluate` does."""
    result: dict[str, Any] = {
        "rows": sum(part.rows for part in parts),
        "rows_of_the_training_data": sum(part.seen for part in parts),
    }
    confusion = np.sum([part.confusion for part in parts], axis=0)
    if confusion.any():
        classes = [str(name) for name in model.classes_]
        result |= evaluation.by_confusion(classes, confusion)
    labels = np.sum([part.labels for part in parts], axis=0)
    if labels.any():
        result |= _by_labels(model, parts, labels)
    if not confusion.any() and not labels.any():
        raise DataError("the files must hold labels of rows that are new; got none")
    return result


def _by_labels(model: TableClassifier, parts: Sequence[Part], labels: IntArray) -> dict[str, Any]:
    T, profile = model.label_transition_, model.transition_profile_
    classes = [str(name) for name in model.classes_]
    scel, scel_std_error = Sums.merged([part.scel for part in parts]).mean_and_error(None)
    ure = Sums.merged([part.ure for part in parts])
    known = [part.checked for part in parts if part.checked is not None]
    mask = np.concatenate([each.mask for each in known])
    predicted = np.concatenate([each.predicted for each in known])
    free = [each.free_q for each in known if each.free_q is not None]
    error, std_error = (math.nan, math.nan)
    if ure.rows:
        error, std_error = ure.mean_and_error()
        std_error = float(np.hypot(std_error, np.ptp(np.linalg.inv(T)) / int(labels.sum())))
    if profile is not None:  # what is unknown of T does not decrease with the number of rows
        std_error = scoring.error_rate(predicted, T, mask, profile)[1]
    tested = None if profile is not None else predicted
    free_q = np.concatenate(free) if free else None
    check = accuracy.check(mask, T, tested, classes, free_q)
    named = evaluation.named_in_training(model.account_) | (labels > 0)
    absent = accuracy.absent_classes(named[None, :], T)
    counts: Any = labels[None, :]
    guess = scoring.constant_guess(counts, T)
    return {
        "complementary_labels": int(labels.sum()),
        "scel": scel,
        "scel_std_error": scel_std_error,
        "scel_of_the_best_constant_guess": float(
            (labels[labels > 0] * -np.log(guess[labels > 0])).sum() / labels.sum()
        ),
    } | accuracy.summary(error, std_error, check, [classes[k] for k in absent])
