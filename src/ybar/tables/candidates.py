"""The candidates of ``ybar fit``: how they are built, and how good they are on held-out labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression

from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.cpe import CPEClassifier
from ..classifiers.neighbors import CPEKNeighborsClassifierCV
from ..metrics import TransitionProfile
from ..neural import ComplementaryNetClassifier
from ..neural import methods as networks
from ..utils.errors import InputError
from ..utils.extras import MissingExtraError
from ..utils.random import as_generator
from ..utils.typing import BoolArray, FloatArray, IntArray
from . import scoring
from .files import DataError
from .model import TableClassifier
from .training import TrainingTable

NETWORKS = tuple(networks.METHODS)
METHODS = ("auto", "logistic", "knn", "boosting", *NETWORKS)
AUTO = ("logistic", "knn", "boosting", "cpe-f", "cpe-n")

_HELD_OUT = 0.2
_MOST_ROWS_OF_KNN = 200_000
_MOST_ROWS_OF_TWO_RATES = 100_000

# What stops one candidate and not the others. Estimators raise ValueError if they cannot learn from
# the data, which is scikit-learn's convention; FloatingPointError is a loss that diverges.
_FAILURES = (ValueError, FloatingPointError, MemoryError, MissingExtraError)


Build: TypeAlias = Callable[..., TableClassifier]
"""The function `build` with its table, decoder and seed."""


@dataclass
class CandidateResult:
    """The scores of a candidate on the held-out rows.

    Attributes
    ----------
    losses : ndarray
        -log q of each held-out label, which compares candidates label by label.
    error : float
        URE, the estimate of the error rate, with its standard error in `error_std_error`.
    failure : Exception or None
        Why the candidate could not be fitted.
    failed : str or None
        The same as text; also if there was no time left to fit it.
    predicted : ndarray or None
        The predicted class indices of the held-out rows.
    free_q : ndarray or None
        q of the held-out rows, if the candidate learned it without T.
    T : ndarray or None
        The matrix that the candidate assumes for the labels: the user's, or one that it learned.
    profile : TransitionProfile or None
        What is unknown of that T, if it was learned from held-out labels.
    settings : dict
        The hyperparameters that it selected, as parameters of `build`.
    """

    method: str
    scel: float = float("inf")
    scel_std_error: float = float("nan")
    error: float = float("nan")
    error_std_error: float = float("nan")
    seconds: float = 0.0
    losses: FloatArray | None = None
    failure: Exception | None = None
    failed: str | None = None
    predicted: IntArray | None = None
    free_q: FloatArray | None = None
    T: FloatArray | None = None
    profile: TransitionProfile | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def methods_to_try(method: str, n_rows: int) -> list[str]:
    """Return the methods that "auto", or the name of a single method, stands for."""
    if method != "auto":
        return [method]
    return [name for name in AUTO if name != "knn" or n_rows <= _MOST_ROWS_OF_KNN]


def build(
    method: str,
    *,
    table: TrainingTable,
    decoder: str | None = None,
    seed: int = 0,
    callbacks: Sequence[Callable[..., Any]] = (),
    learning_rate: float | None = None,
    n_estimators: int | None = None,
) -> TableClassifier:
    """Return a model that is not fitted; for "boosting", selected hyperparameters may be passed."""
    shared: dict[str, Any] = {"transition": table.T, "classes": table.y_comp.names}
    if decoder is not None:
        shared["decoder"] = decoder
    if method == "logistic":
        return TableClassifier(CPEClassifier(LogisticRegression(max_iter=1000), **shared), "sparse")
    if method == "knn":
        return TableClassifier(CPEKNeighborsClassifierCV(random_state=seed, **shared), "dense")
    if method == "boosting":
        rates = [0.1, 0.05] if len(table.frame) <= _MOST_ROWS_OF_TWO_RATES else [0.1]
        clf: Any = CPEBoostingClassifierCV(
            rates if learning_rate is None else [learning_rate],
            range(10, 301, 10) if n_estimators is None else [n_estimators],
            method="cpe-f",
            random_state=seed,
            **shared,
        )
        return TableClassifier(clf, "trees")
    clf = ComplementaryNetClassifier(
        method, random_state=seed, callbacks=list(callbacks) or None, **shared
    )
    return TableClassifier(clf, "dense")


def split(mask: BoolArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return a random split into training rows and held-out rows."""
    order = as_generator(seed).permutation(len(mask))
    n_held_out = max(1, round(_HELD_OUT * len(mask)))
    training, held_out = np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
    n_labelled = int(mask.any(axis=1).sum())
    if not mask[training].any() or not mask[held_out].any():
        raise DataError(
            "the data must have enough labelled rows to train on some and to hold out others; got "
            f"{n_labelled} labelled rows of {len(mask)}"
        )
    if mask[training].any(axis=0).sum() < 2:
        raise DataError(
            "the training rows must have at least two different complementary labels; got one in "
            f"{n_labelled} labelled rows of {len(mask)}. Collect more labels"
        )
    return training, held_out


def evaluate_all(
    methods: Iterable[str],
    table: TrainingTable,
    build: Build,
    training: IntArray,
    held_out: IntArray,
    deadline: float | None = None,
) -> Iterator[CandidateResult]:
    """Fit each candidate to the training rows and score it on the held-out rows.

    After the deadline no candidate starts. A candidate that has started is finished, except that
    networks stop and keep their best epoch so far.
    """
    y, mask = table.y_comp.as_y(), table.y_comp.mask[held_out]
    for method in methods:
        if deadline is not None and time.monotonic() > deadline:
            yield CandidateResult(method, failed="no time left")
            continue
        started = time.monotonic()
        result = CandidateResult(method)
        model = build(method, callbacks=_stop_at(deadline))
        try:
            model.fit(table.frame.iloc[training], y[training], table.columns)
        except _FAILURES as error:
            result.failure, result.failed = error, _reason(error)
        else:
            _score(result, model, table.frame.iloc[held_out], mask)
            if method == "boosting":
                result.settings = model.pipeline_[-1].best_params_
        result.seconds = time.monotonic() - started
        yield result


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, (InputError, MissingExtraError)):
        return text
    return f"{type(error).__name__}: {text}"


def _score(result: CandidateResult, model: TableClassifier, rows: Any, mask: BoolArray) -> None:
    q = model.predict_complementary_proba(rows)
    result.losses = scoring.label_losses(q, mask)
    result.scel, result.scel_std_error = scoring.mean_and_std_error(result.losses, mask)
    result.predicted = scoring.predicted_indices(model, rows)
    result.T, result.free_q = model.label_transition_, q if model.estimates_q else None
    result.profile = model.transition_profile_
    result.error, result.error_std_error = scoring.error_rate(
        result.predicted, result.T, mask, result.profile
    )


def fit_to_all(
    result: CandidateResult, table: TrainingTable, build: Build, deadline: float | None = None
) -> TableClassifier:
    """Return the model of a candidate, fitted to all rows."""
    model = build(result.method, callbacks=_stop_at(deadline), **result.settings)
    model.fit(table.frame, table.y_comp.as_y(), table.columns)
    if result.method in NETWORKS:  # the deadline is not part of the model
        model.classifier.set_params(callbacks=None)
    return model


def _stop_at(deadline: float | None) -> list[Callable[..., Any]]:
    """Return the callbacks that stop the training of a network at a deadline."""
    if deadline is None:
        return []
    return [lambda *_, **__: time.monotonic() > deadline]
