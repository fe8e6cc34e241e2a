"""The candidates of ``ybar fit``: how they are built, and how good they are on held-out labels."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from .. import calibration
from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.cpe import CPEClassifier
from ..classifiers.kmeans import CPEKMeansClassifierCV
from ..classifiers.neighbors import CPEKNeighborsClassifierCV
from ..metrics import TransitionProfile
from ..neural import ComplementaryNetClassifier
from ..neural import methods as networks
from ..utils.errors import InputError
from ..utils.extras import MissingExtraError
from ..utils.random import as_generator
from ..utils.typing import BoolArray, FloatArray, IntArray
from . import answers, deadline, scoring
from .deadline import TimeIsUpError
from .files import DataError
from .labels import ComplementaryLabels
from .model import TableClassifier
from .training import TrainingTable

NETWORKS = tuple(networks.METHODS)
METHODS = ("auto", "logistic", "kmeans", "knn", "forest", "boosting", *NETWORKS)
AUTO = ("logistic", "kmeans", "knn", "forest", "boosting", "cpe-f", "cpe-n")

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "logistic": [{"C": C} for C in (1.0, 0.3, 0.1, 0.03)],
    "forest": [{"min_samples_leaf": n} for n in (5, 20)],
}
"""The hyperparameters, as parameters of `build`, that are compared on the held-out rows.

All other methods select theirs in `fit`, on rows that they hold out of the training rows.
"""

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
    scel : float
        The SCEL of p T after one temperature for all rows, which is fitted to the held-out labels.
        Without it, the comparison would depend on how over- or underconfident p is: see
        the study in ``results/selection.md``.
    losses : ndarray
        The loss of each held-out label, which compares candidates label by label.
    proba : ndarray
        p of the held-out rows, without a temperature.
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
    model : TableClassifier or None
        The model that was scored.
    """

    method: str
    scel: float = float("inf")
    scel_std_error: float = float("nan")
    error: float = float("nan")
    error_std_error: float = float("nan")
    seconds: float = 0.0
    temperature: float = 1.0
    losses: FloatArray | None = None
    proba: FloatArray | None = None
    failure: Exception | None = None
    failed: str | None = None
    predicted: IntArray | None = None
    free_q: FloatArray | None = None
    T: FloatArray | None = None
    profile: TransitionProfile | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    model: TableClassifier | None = None


def methods_to_try(method: str, table: TrainingTable) -> list[str]:
    """Return the methods that "auto", or the name of a single method, stands for."""
    possible = METHODS if table.y_comp.asked is None else answers.METHODS
    if method not in possible:
        raise DataError(
            f"--method must be one of {', '.join(possible)} to learn from answers (--asked); got "
            f"{method!r}"
        )
    if method != "auto":
        return [method]
    n_rows = len(table.frame)
    return [
        name for name in AUTO if name in possible and (name != "knn" or n_rows <= _MOST_ROWS_OF_KNN)
    ]


def build(
    method: str,
    *,
    table: TrainingTable,
    decoder: str | None = None,
    seed: int = 0,
    callbacks: Sequence[Callable[..., Any]] = (),
    C: float = 1.0,
    min_samples_leaf: int = 5,
    learning_rate: float | None = None,
    n_estimators: int | None = None,
) -> TableClassifier:
    """Return a model that is not fitted; hyperparameters are for the method that has them."""
    shared: dict[str, Any] = {"transition": table.T, "classes": table.y_comp.names}
    if decoder is not None:
        shared["decoder"] = decoder
    if method == "logistic":
        base = LogisticRegression(C=C, max_iter=1000)
        return TableClassifier(CPEClassifier(base, **shared), "sparse")
    if method == "forest":
        base = ExtraTreesClassifier(
            100, min_samples_leaf=min_samples_leaf, random_state=seed, n_jobs=-1
        )
        # Forests estimate q by counting, which the likelihood decodes better than L1 does.
        shared = {"decoder": "likelihood"} | shared
        return TableClassifier(CPEClassifier(base, **shared), "dense")
    if method == "kmeans":
        return TableClassifier(CPEKMeansClassifierCV(random_state=seed, **shared), "dense")
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
        for stop in callbacks:
            clf._stop = stop
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
    methods: Sequence[str],
    table: TrainingTable,
    build: Build,
    training: IntArray,
    held_out: IntArray,
    end: float = math.inf,
) -> Iterator[CandidateResult]:
    """Fit each candidate to the training rows and score it on the held-out rows.

    Parameters
    ----------
    end : float
        The time of `time.monotonic` by which the comparison and the fit to all rows must end.
        Networks stop at the end of their share of the time, and keep their best epoch so far.
        Other candidates that have not finished by then fail.
    """
    fitted = False
    for i, method in enumerate(methods):
        started = time.monotonic()
        if started >= end:
            yield CandidateResult(method, failed="no time left")
            continue
        until = deadline.share(end, len(methods) - i, nothing_fitted=not fitted)
        tried, failed = [], CandidateResult(method)
        try:
            with deadline.ends_at(until if fitted else deadline.latest(end)):
                for settings in SETTINGS.get(method, [{}]):
                    tried.append(
                        _fit_and_score(method, table, build, training, held_out, until, settings)
                    )
        except _FAILURES as error:
            failed.failure, failed.failed = error, _reason(error)
        except TimeIsUpError:
            failed.failed = f"stopped after {time.monotonic() - started:.0f} s"
        result = min(tried, key=lambda one: one.scel, default=failed)
        fitted = fitted or result.failed is None
        result.seconds = time.monotonic() - started
        yield result


def _fit_and_score(
    method: str,
    table: TrainingTable,
    build: Build,
    training: IntArray,
    held_out: IntArray,
    until: float,
    settings: dict[str, Any],
) -> CandidateResult:
    """Return the result of one setting of a method."""
    model = build(method, callbacks=_stop_at(until, method), **settings)
    model.fit(table.frame.iloc[training], table.y_comp.as_y()[training], table.columns)
    _drop_callbacks(method, model)
    if method == "boosting":
        settings = model.pipeline_[-1].best_params_
    result = CandidateResult(method, settings=settings, model=model)
    score(result, table.frame.iloc[held_out], table.y_comp.subset(held_out))
    return result


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, (InputError, MissingExtraError)):
        return text
    return f"{type(error).__name__}: {text}"


def score(result: CandidateResult, rows: Any, labels: ComplementaryLabels) -> None:
    """Set the scores of a candidate's model on held-out rows."""
    model: Any = result.model
    result.proba, result.predicted, q = model.predictions(rows)
    result.T = model.label_transition_
    result.temperature = scoring.temperature(result.proba, result.T, labels)
    p = calibration.temper(result.proba, result.temperature)
    result.losses = scoring.losses_of(p, result.T, labels)
    result.scel, result.scel_std_error = scoring.mean_and_std_error(result.losses, labels.units)
    result.profile = model.transition_profile_
    if labels.asked is not None:
        return
    result.free_q = q
    result.error, result.error_std_error = scoring.error_rate(
        result.predicted, result.T, labels.mask, result.profile
    )


def fit_to_all(
    result: CandidateResult, table: TrainingTable, build: Build, end: float = math.inf
) -> TableClassifier | None:
    """Return the model of a candidate, fitted to all rows; None if there is no time for it."""
    if end - time.monotonic() < deadline.REFIT * result.seconds / len(
        SETTINGS.get(result.method, [{}])
    ):
        return None
    model = build(result.method, callbacks=_stop_at(end, result.method), **result.settings)
    try:
        with deadline.ends_at(end):
            model.fit(table.frame, table.y_comp.as_y(), table.columns)
    except TimeIsUpError:
        return None
    _drop_callbacks(result.method, model)
    return model


def _drop_callbacks(method: str, model: TableClassifier) -> None:
    """Remove the deadline, which is not part of the model."""
    if method in NETWORKS:
        model.classifier.set_params(callbacks=None)
    vars(model.classifier).pop("_stop", None)


def _stop_at(end: float, method: str) -> list[Callable[..., bool]]:
    """Return what stops the training of networks, and the search of boosting, in time."""
    if end == math.inf:
        return []
    now = time.monotonic()
    # After its search, boosting fits as many trees once more.
    stop = now + (0.4 if method == "boosting" else 0.85) * (end - now)
    return [lambda *_, **__: time.monotonic() > stop]
