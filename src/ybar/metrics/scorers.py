"""SCEL and URE as scorers for scikit-learn's searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from .. import labels
from ..utils import checks
from .losses import mean_and_error, scel_losses
from .validation import ure_zero_one


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


def _for_scoring(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Any, Any]:
    """Return the classifier of ours, its X, and the labels as codes, or as evidence."""
    classifier, X = _last_step(estimator, X)
    check_is_fitted(classifier, "classes_")
    codes: Any
    if isinstance(y, labels.Evidence):
        if not np.array_equal(y.classes, classifier.classes_):
            raise ValueError(
                "the evidence in y must be of the classes of the classifier, "
                f"{checks.shown(classifier.classes_.tolist())}; got "
                f"{checks.shown(y.classes.tolist())}"
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

    Labels are assumed to follow the classifier's ``label_transition_``: the T that `fit` was
    passed, or a T estimated on held-out labels ("cpe-n", and "cpe-t" with trust). The labels of
    `ybar.labels.Evidence` follow the T that the evidence has.

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
    T = classifier.label_transition_
    if isinstance(y, labels.Evidence) and y.transition is not None and not _same(y, classifier):
        T = y.transition
    return -ure_zero_one(codes, predicted, T, sample_weight=sample_weight)


def _same(evidence: labels.Evidence, classifier: Any) -> bool:
    """Return whether its labels are drawn from the T that the classifier was given."""
    T = evidence.transition
    return T is not None and np.allclose(T, classifier.transition_, rtol=0, atol=1e-9)
