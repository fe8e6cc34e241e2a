"""SCEL and URE as scorers for scikit-learn's searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from .. import labels
from ..utils import checks
from ..utils.estimators import last_step
from ..utils.typing import FloatArray
from .losses import mean_and_error, scel_losses
from .validation import ure_zero_one


def labels_follow(classifier: Any) -> FloatArray:
    """Return the T that a classifier takes labels to be drawn from.

    That is the one given, unless the classifier found another on labels held out ("cpe-n", and
    "cpe-t" with trust).
    """
    return np.asarray(getattr(classifier, "_labels_follow", classifier.transition_))


def _for_scoring(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Any, Any]:
    """Return the classifier of ours, its X, and the labels as codes, or as evidence."""
    classifier, X = last_step(estimator, X)
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
    checks.same_length("X", _num_samples(X), "y", len(codes))
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
