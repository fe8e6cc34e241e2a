"""SCEL and URE as scorers for scikit-learn's searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from .. import labels
from ..labels.observed import Observed, observe
from ..utils import checks
from ..utils.estimators import last_step
from .losses import mean_and_error, scel_losses, ure_losses


def _for_scoring(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Any, Observed]:
    """Return the classifier of ybar, its input, and y in the internal form."""
    classifier, X = last_step(estimator, X)
    observed = observe(y, classifier.classes_)
    if not np.array_equal(observed.classes, classifier.classes_):
        raise ValueError(
            "the evidence in y must be of the classes of the classifier, "
            f"{checks.shown(classifier.classes_.tolist())}; got "
            f"{checks.shown(observed.classes.tolist())}"
        )
    checks.same_length("X", _num_samples(X), "y", len(observed))
    return classifier, X, observed


def scel_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return minus SCEL: a scorer for ``GridSearchCV(scoring=...)`` on complementary labels.

    Notes
    -----
    Models that count (neighbours, forests) assign the probability 0 to classes that they have not
    seen. A single such label would make SCEL infinite, and all such models equally bad. Among the
    n scored labels a probability of 0 therefore counts as 1/(n+1): n labels cannot distinguish a
    rarer label from an impossible one.

    For `ybar.labels.Evidence` the loss is that of all observations of a row, under the T of the
    evidence; see `scel`. If that T is the one that was passed to the classifier, the T that the
    classifier learned replaces it. Models that estimate q only (all but networks and trees that
    learn p) are scored by q, label by label, if the evidence holds only labels drawn from their T.

    Boolean arrays with several labels per row work in ``GridSearchCV`` and ``cross_val_score``;
    ``HalvingGridSearchCV`` itself accepts only one label per row.

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
    classifier, X, observed = _for_scoring(estimator, X, y)
    if _has_its_transition(observed, classifier):
        observed = _as_learned(observed, classifier)
    if observed.by_label:
        probabilities = classifier.predict_complementary_proba(X)
    else:
        probabilities = classifier.predict_proba(X)
    return -mean_and_error(*scel_losses(observed, probabilities, None), sample_weight)[0]


def ure_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return minus the URE of the error rate: a scorer like `scel_scorer`.

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
    classifier, X, observed = _for_scoring(estimator, X, y)
    predicted, _ = labels.encode(classifier.predict(X), classifier.classes_)
    T = classifier.label_transition_
    if observed.transition is not None and not _has_its_transition(observed, classifier):
        T = observed.transition
    (losses,) = ure_losses(observed, T, stacklevel=3, y_pred=predicted)
    return -mean_and_error(*losses, sample_weight)[0]


def _has_its_transition(observed: Observed, classifier: Any) -> bool:
    """Return whether evidence has the T that was passed to the classifier."""
    T = observed.transition
    return T is not None and np.allclose(T, classifier.transition_, rtol=0, atol=1e-9)


def _as_learned(observed: Observed, classifier: Any) -> Observed:
    """Return evidence as the classifier models it: label by label, or under the T it learned."""
    by_label = observed.as_labels()
    if by_label is not None and getattr(classifier, "estimates_", "q") == "q":
        return by_label
    return observed.with_transition(getattr(classifier, "learned_transition_", observed.T))
