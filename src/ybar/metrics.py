"""Judge complementary probabilities and predictions, with complementary labels alone or not.

`scel` and `ure_zero_one` need complementary labels only; `complementary_estimation_loss` and
`error_bound` compare with true labels, to check the theory. All labels are class indices here;
several complementary labels a row are a boolean N×K array, and every single label counts once.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from . import _checks, labels, transition
from ._comparison import Comparison, compare, compare_error_rates, one_standard_error
from ._distances import pairwise
from ._losses import log_losses as log_losses
from ._losses import mean_and_error as mean_and_error
from ._losses import same_length, scel_losses, ure_losses
from ._typing import AnyArray, Distance, FloatArray, IntArray
from .decode import check_probabilities

__all__ = [
    "Comparison",
    "ErrorBound",
    "compare",
    "compare_error_rates",
    "complementary_estimation_loss",
    "error_bound",
    "one_standard_error",
    "scel",
    "scel_scorer",
    "ure_scorer",
    "ure_zero_one",
]


@overload
def scel(
    y_comp: ArrayLike,
    q: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    zero_as: float = ...,
    return_std_error: Literal[False] = ...,
) -> float: ...
@overload
def scel(
    y_comp: ArrayLike,
    q: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    zero_as: float = ...,
    return_std_error: Literal[True],
) -> tuple[float, float]: ...
def scel(
    y_comp: ArrayLike,
    q: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    zero_as: float = 0.0,
    return_std_error: bool = False,
) -> float | tuple[float, float]:
    """Return the surrogate complementary estimation loss: the mean of -log q[ȳ]. Lower is better.

    Up to a constant that no model can change, it is an unbiased estimate of the Kullback-Leibler
    divergence of q from the rows of T (Proposition 1 of the paper).

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, boolean array of shape (N, K), or Evidence
        Held-out complementary labels; or whatever was observed, see `ybar.labels.Evidence`.
    q : array-like of shape (N, K)
        Complementary probabilities. For evidence the class probabilities p instead: the loss is
        the mean of -log Σ_y p[y] e[y] over the rows that say something, which for complementary
        labels is -log q[ȳ].
    sample_weight : array-like of shape (N,), optional
    zero_as : float
        What a probability of exactly 0 counts as, where its label occurs. By default as 0: the
        loss is infinite then. The scorers and ``score`` pass 1/(n+1) for n labels, see
        `scel_scorer`. All other probabilities count as they are, however small.
    return_std_error : bool
        Also return the standard error of the mean (over rows, which are independent, even where
        the labels of one row are not).

    Returns
    -------
    loss : float
    std_error : float
        Only if `return_std_error`.

    Examples
    --------
    >>> from ybar import metrics
    >>> round(metrics.scel([0, 2], [[0.5, 0.2, 0.3], [0.2, 0.3, 0.5]]), 4)
    0.6931
    """
    zero_as = _checks.number(zero_as, "zero_as", "a probability, from 0 to 1", 0, 1)
    losses = scel_losses(y_comp, q, zero_as)
    mean, std_error = mean_and_error(*losses, sample_weight)
    return (mean, std_error) if return_std_error else mean


@overload
def ure_zero_one(
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    return_std_error: Literal[False] = ...,
) -> float: ...
@overload
def ure_zero_one(
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    return_std_error: Literal[True],
) -> tuple[float, float]: ...
def ure_zero_one(
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    return_std_error: bool = False,
) -> float | tuple[float, float]:
    """Return the unbiased estimate of the error rate from complementary labels alone.

    The mean of ``Σ_k (T⁻¹)[ȳ, k]·1[ŷ ≠ k]``; with uniform T this is (K-1)·mean(ŷ = ȳ). It is
    unbiased when T is the true one, and can be negative or above 1 by chance. Several labels a row
    must each follow T, and be no more for some classes than for others.

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
        Complementary labels that the predictions were not fitted to.
    y_pred : array-like of shape (N,)
        Predicted class indices.
    T : array-like of shape (K, K)
        A singular T is replaced by its pseudo-inverse, with a warning: no longer unbiased.
    sample_weight : array-like of shape (N,), optional
    return_std_error : bool
        Also return the standard error.

    Returns
    -------
    error_rate : float
    std_error : float
        Only if `return_std_error`.

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> round(metrics.ure_zero_one([0, 1, 2, 0], [0, 2, 1, 1], transition.uniform(3)), 4)
    0.5
    """
    (losses,) = ure_losses(y_comp, T, stacklevel=3, y_pred=y_pred)
    mean, std_error = mean_and_error(*losses, sample_weight)
    return (mean, std_error) if return_std_error else mean


def complementary_estimation_loss(
    y_true: ArrayLike,
    q: ArrayLike,
    T: ArrayLike,
    *,
    loss: Distance = "kl",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the paper's R(f̄; ℓ): the mean loss of q against the row of T of the true class.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        True class indices.
    q : array-like of shape (N, K)
        Complementary probabilities.
    T : array-like of shape (K, K)
        The transition matrix by which the complementary labels are drawn.
    loss : "kl", a name as for `transition.gamma`, or a callable of two vectors
        "kl" is Σ_k T[y, k] (log T[y, k] - log q[k]).
    sample_weight : array-like of shape (N,), optional

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> T = transition.uniform(3)
    >>> metrics.complementary_estimation_loss([0, 1], T[[0, 1]], T)
    0.0
    """
    array = transition.check(T)
    probabilities = check_probabilities(q, len(array))
    _, true = labels.pairs(y_true, len(array), name="y_true", several=False)
    same_length("y_true", true, "q", probabilities)
    losses = _losses_against_rows(probabilities, array, true, loss)
    return mean_and_error(losses, np.arange(len(true)), len(true), sample_weight)[0]


def _losses_against_rows(q: AnyArray, T: FloatArray, true: IntArray, loss: Distance) -> FloatArray:
    losses = np.empty(len(true))
    for y in np.unique(true):
        rows = true == y
        if loss == "kl":
            seen = T[y] > 0
            with np.errstate(divide="ignore"):
                logs = np.log(T[y, seen]) - np.log(q[rows][:, seen].astype(np.float64))
            losses[rows] = logs @ T[y, seen]
        else:
            losses[rows] = pairwise(
                q[rows].astype(np.float64, copy=False),
                T[y : y + 1],
                loss,
                name="loss (if not 'kl') or distance",
            )[:, 0]
    return losses


class ErrorBound(NamedTuple):
    """Both sides of Proposition 2 and of the Corollary: `error_rate` is at most each bound."""

    error_rate: float
    """R₀₁: the share of rows decoded to a wrong class."""
    distance_bound: float
    """(2/γ_d)·(R(f̄; d) + ε_d)."""
    kl_bound: float
    """(4√2/γ)·√R(f̄; KL) + 2ε/γ, with the L1 distance; NaN for other distances."""
    gamma: float
    """Smallest distance between two rows of T."""
    epsilon: float
    """Largest distance between a row of `T_true` and that of T; 0 when T is the true one."""


def error_bound(
    y_true: ArrayLike,
    q: ArrayLike,
    T: ArrayLike,
    *,
    T_true: ArrayLike | None = None,
    distance: Distance = "l1",
) -> ErrorBound:
    """Return both sides of the paper's Proposition 2, or of its Corollary if `T_true` is given.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        True class indices.
    q : array-like of shape (N, K)
        Complementary probabilities.
    T : array-like of shape (K, K)
        The transition matrix that decodes.
    T_true : array-like of shape (K, K), optional
        The one that drew the complementary labels, where T is not it.
    distance : as for `transition.gamma`
        Decodes, and measures q against rows of T; must obey the triangle inequality.

    Returns
    -------
    ErrorBound

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> T = transition.uniform(3)
    >>> metrics.error_bound([0, 1], [[0.1, 0.5, 0.4], [0.5, 0.1, 0.4]], T).error_rate
    0.0
    """
    array = transition.check(T)
    true_T = array if T_true is None else transition.check(T_true, len(array), name="T_true")
    probabilities = check_probabilities(q, len(array))
    _, true = labels.pairs(y_true, len(array), name="y_true", several=False)
    same_length("y_true", true, "q", probabilities)
    nearest = pairwise(probabilities.astype(np.float64), array, distance).argmin(axis=1)
    error_rate = float(np.mean(nearest != true))
    gamma = transition.gamma(array, distance)
    between = np.diag(pairwise(true_T, array, distance))
    epsilon = float(between.max()) if T_true is not None else 0.0
    if gamma == 0:
        kl_bound = math.inf if distance == "l1" else math.nan
        return ErrorBound(error_rate, math.inf, kl_bound, 0.0, epsilon)
    estimation = float(_losses_against_rows(probabilities, true_T, true, distance).mean())
    kl_bound = math.nan
    if distance == "l1":
        divergence = float(_losses_against_rows(probabilities, true_T, true, "kl").mean())
        # Rounding can leave a divergence of exactly 0 a hair below it.
        kl_bound = (4 * math.sqrt(2 * max(divergence, 0.0)) + 2 * epsilon) / gamma
    return ErrorBound(error_rate, 2 * (estimation + epsilon) / gamma, kl_bound, gamma, epsilon)


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier of ours inside pipelines and searches, and X as it sees it."""
    while not hasattr(estimator, "predict_complementary_proba"):
        if isinstance(estimator, Pipeline):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            raise TypeError(
                "the scorer needs a classifier with predict_complementary_proba, or a pipeline or "
                f"search that ends in one; got {type(estimator).__name__}. Wrap it: "
                "CPEClassifier(estimator)"
            )
    return estimator, X


def labels_follow(classifier: Any) -> FloatArray:
    """Return the T that a classifier takes labels to be drawn from.

    That is the one given, unless the classifier found another on labels held out ("cpe-n", and
    "cpe-t" with trust).
    """
    return np.asarray(getattr(classifier, "_labels_follow", classifier.transition_))


def _for_scoring(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Any, Any]:
    """Return the classifier of ours, its X, and the labels as codes, or as evidence."""
    classifier, X = _last_step(estimator, X)
    check_is_fitted(classifier, "classes_")
    codes: Any
    if isinstance(y, labels.Evidence):
        if not np.array_equal(y.classes, classifier.classes_):
            raise ValueError(
                "the evidence in y must be of the classes of the classifier, "
                f"{_checks.shown(classifier.classes_.tolist())}; got "
                f"{_checks.shown(y.classes.tolist())}"
            )
        codes = y
    else:
        codes, _ = labels.encode(y, classifier.classes_)
    if _num_samples(X) != len(codes):
        raise ValueError(
            f"X and y must have the same number of rows; got {_num_samples(X)} and {len(codes)}"
        )
    return classifier, X, codes


def scel_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return minus SCEL: a scorer for ``GridSearchCV(scoring=...)``, y being complementary labels.

    Notes
    -----
    Models that count (neighbours, forests) give classes that they have not seen the probability
    0. One such label would make SCEL infinite and every such model equally bad. Among the n labels
    scored it counts as 1/(n+1) instead: n labels cannot tell a rarer one from an impossible one.

    For `ybar.labels.Evidence` the loss is that of all that was observed of a row, under the T that
    the evidence has, or, where that is the one the classifier was given, under what it learned of
    it; see `scel`. Models of q alone (all but networks and trees that learn p) are judged by their
    q, label by label, where evidence holds nothing but labels under their T.

    Several labels a row work in ``GridSearchCV`` and ``cross_val_score``; ``HalvingGridSearchCV``
    itself takes one label a row only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from ybar import CPEClassifier, labels, metrics, transition
    >>> X, y = load_iris(return_X_y=True)
    >>> y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    >>> cross_val_score(CPEClassifier(), X, y_comp, scoring=metrics.scel_scorer).shape
    (5,)
    """
    classifier, X, codes = _for_scoring(estimator, X, y)
    if isinstance(codes, labels.Evidence) and _same(codes, classifier):
        own = codes.labels() if getattr(classifier, "estimates_", "q") == "q" else None
        learned = getattr(classifier, "learned_transition_", None)
        codes = codes.under(learned) if own is None else own
    if isinstance(codes, labels.Evidence):
        probabilities = classifier.predict_proba(X)
    else:
        probabilities = classifier.predict_complementary_proba(X)
    return -mean_and_error(*scel_losses(codes, probabilities, None), sample_weight)[0]


def ure_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return minus the URE of the error rate: a scorer as `scel_scorer`.

    Labels are taken to follow the T that the classifier was given, or the one that it found on
    labels held out ("cpe-n", and "cpe-t" with trust); those of `ybar.labels.Evidence` its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from ybar import CPEClassifier, labels, metrics, transition
    >>> X, y = load_iris(return_X_y=True)
    >>> y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    >>> cross_val_score(CPEClassifier(), X, y_comp, scoring=metrics.ure_scorer).shape
    (5,)
    """
    classifier, X, codes = _for_scoring(estimator, X, y)
    predicted, _ = labels.encode(classifier.predict(X), classifier.classes_)
    T = labels_follow(classifier)
    if isinstance(y, labels.Evidence) and y.transition is not None and not _same(y, classifier):
        T = y.transition
    return -ure_zero_one(codes, predicted, T, sample_weight=sample_weight)


def _same(evidence: labels.Evidence, classifier: Any) -> bool:
    """Return whether its labels are drawn from the T that the classifier was given."""
    T = evidence.transition
    return T is not None and np.allclose(T, classifier.transition_, rtol=0, atol=1e-9)
