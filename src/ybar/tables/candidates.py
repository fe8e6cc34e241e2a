"""The models that ``ybar fit`` knows, and how it chooses among them without true labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from .. import metrics, transition
from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.cpe import CPEClassifier
from ..classifiers.neighbors import CPEKNeighborsClassifierCV
from ..metrics import losses
from ..neural import ComplementaryNetClassifier
from ..neural import methods as networks
from ..utils.random import as_generator
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from .columns import Columns
from .files import DataError
from .labels import ComplementaryLabels
from .model import TableClassifier

NETWORKS = tuple(networks.METHODS)
METHODS = ("auto", "logistic", "knn", "boosting", *NETWORKS)
AUTO = ("logistic", "knn", "boosting", "cpe-f", "cpe-n")

_HELD_OUT = 0.2
_MOST_ROWS_OF_KNN = 200_000
_MOST_ROWS_OF_TWO_RATES = 100_000


@dataclass
class Tried:
    """What a candidate made of the rows it did not see.

    Attributes
    ----------
    losses : ndarray
        -log q of each held-out label, to compare candidates label by label.
    error : float
        URE, the estimate of its error rate; `error_std_error` tells how sure that is.
    failed : str or None
        Why it could not be tried.
    settings : dict
        What it chose for itself on the way, by the names of `make`.
    """

    method: str
    scel: float = float("inf")
    scel_std_error: float = float("nan")
    error: float = float("nan")
    error_std_error: float = float("nan")
    seconds: float = 0.0
    losses: FloatArray | None = None
    failed: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


class Told(NamedTuple):
    """What all candidates are told."""

    columns: Columns
    y_comp: ComplementaryLabels
    T: FloatArray
    seed: int = 0
    decoder: str | None = None


def make(
    method: str,
    told: Told,
    callbacks: Sequence[Callable[..., Any]] = (),
    *,
    learning_rate: float | None = None,
    n_estimators: int | None = None,
) -> TableClassifier:
    """Return a model that is not fitted yet; one of trees may be told what was chosen before."""
    shared: dict[str, Any] = {"transition": told.T, "classes": told.y_comp.names}
    if told.decoder is not None:
        shared["decoder"] = told.decoder
    if method == "logistic":
        return TableClassifier(CPEClassifier(LogisticRegression(max_iter=1000), **shared), "sparse")
    if method == "knn":
        return TableClassifier(CPEKNeighborsClassifierCV(random_state=told.seed, **shared), "dense")
    if method == "boosting":
        rates = [0.1, 0.05] if len(told.y_comp.mask) <= _MOST_ROWS_OF_TWO_RATES else [0.1]
        clf: Any = CPEBoostingClassifierCV(
            rates if learning_rate is None else [learning_rate],
            range(10, 301, 10) if n_estimators is None else [n_estimators],
            method="cpe-f",
            random_state=told.seed,
            **shared,
        )
        return TableClassifier(clf, "trees")
    clf = ComplementaryNetClassifier(
        method, random_state=told.seed, callbacks=list(callbacks) or None, **shared
    )
    return TableClassifier(clf, "dense")


def candidates(method: str, n_rows: int) -> list[str]:
    """Return the methods to try."""
    if method != "auto":
        return [method]
    return [name for name in AUTO if name != "knn" or n_rows <= _MOST_ROWS_OF_KNN]


def split(mask: BoolArray, seed: int) -> tuple[AnyArray, AnyArray]:
    """Return the rows to try candidates on and those to judge them by, at random."""
    order = as_generator(seed).permutation(len(mask))
    n_held_out = max(1, round(_HELD_OUT * len(mask)))
    training, held_out = np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
    for rows, what in ((training, "learn from"), (held_out, "judge by")):
        if not mask[rows].any():
            raise DataError(
                f"there must be labelled rows to learn from and to judge by; of {len(mask)} rows, "
                f"{int(mask.any(axis=1).sum())} of them labelled, none was left to {what}"
            )
    return training, held_out


def try_all(
    names: Iterable[str], frame: Any, told: Told, seconds: float | None = None
) -> Iterator[Tried]:
    """Fit each candidate to four fifths of the rows and judge it by the labels of the others.

    A candidate that has begun is finished, but for networks, which end with the best epoch so far.
    """
    training, held_out = split(told.y_comp.mask, told.seed)
    y, mask = told.y_comp.as_y(), told.y_comp.mask[held_out]
    deadline = None if seconds is None else time.monotonic() + seconds
    for method in names:
        if deadline is not None and time.monotonic() > deadline:
            yield Tried(method, failed="no time left")
            continue
        started = time.monotonic()
        found = Tried(method)
        try:
            model = make(method, told, _until(deadline))
            model.fit(frame.iloc[training], y[training], told.columns)
            _judge(found, model, frame.iloc[held_out], mask)
            if method == "boosting":
                found.settings = model.pipeline_[-1].best_params_
        except (ValueError, TypeError, RuntimeError, ImportError, MemoryError) as error:
            found.failed = " ".join(str(error).split())
        found.seconds = time.monotonic() - started
        yield found


def fit_to_all(chosen: Tried, frame: Any, told: Told, seconds: float | None) -> TableClassifier:
    """Return a model fitted to all rows."""
    deadline = None if seconds is None else time.monotonic() + seconds
    model = make(chosen.method, told, _until(deadline), **chosen.settings)
    model.fit(frame, told.y_comp.as_y(), told.columns)
    if chosen.method in NETWORKS:  # a deadline is no part of a model
        model.classifier.set_params(callbacks=None)
        model.pipeline_[-1].set_params(callbacks=None)
    return model


def _until(deadline: float | None) -> list[Callable[..., Any]]:
    if deadline is None:
        return []
    return [lambda *_, **__: time.monotonic() > deadline]


def _judge(found: Tried, model: TableClassifier, rows: Any, mask: BoolArray) -> None:
    """Fill in what held-out labels say of a model."""
    found.losses = losses_of(model.predict_complementary_proba(rows), mask)
    found.scel, found.scel_std_error = mean_and_error(found.losses, mask)
    at = {name: i for i, name in enumerate(model.classes_.tolist())}
    predicted = np.array([at[name] for name in model.predict(rows).tolist()])
    T = model.label_transition_
    if not transition.is_singular(T):
        found.error, found.error_std_error = error_rate(mask, predicted, T)


def error_rate(mask: BoolArray, predicted: IntArray, T: FloatArray) -> tuple[float, float]:
    """Return URE and its standard error, as if one label more of each kind had been seen.

    Without that, a few labels none of which contradicts the model would make it sure of itself.
    """
    error, std_error = metrics.ure_zero_one(mask, predicted, T, return_std_error=True)
    inverse = np.linalg.inv(T)
    return error, float(np.hypot(std_error, np.ptp(inverse) / int(mask.sum())))


def losses_of(q: FloatArray, mask: BoolArray) -> FloatArray:
    """Return -log q of each label; a probability of 0 counts as 1/(n+1)."""
    return losses.log_losses(q[mask], 1 / (int(mask.sum()) + 1))


def mean_and_error(values: FloatArray, mask: BoolArray) -> tuple[float, float]:
    """Return the mean of a value for each label of a mask, and its standard error over rows."""
    return losses.mean_and_error(values, np.nonzero(mask)[0], len(mask), None)


def constant_losses(training: BoolArray, held_out: BoolArray) -> FloatArray:
    """Return the losses of the best guess that does not look at the features."""
    shares = (training.sum(axis=0) + 1) / (training.sum() + training.shape[1])
    q = np.broadcast_to(shares, held_out.shape)
    return losses_of(np.asarray(q), held_out)
