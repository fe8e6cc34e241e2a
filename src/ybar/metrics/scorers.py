"""SCEL and URE as scorers for scikit-learn's searches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from .. import labels
from ..labels.observed import Observed, observe
from ..utils import checks
from ..utils.estimators import last_step
from .losses import Losses, mean_and_error, scel_losses, ure_losses


class _Scorer:
    """A scorer for scikit-learn's searches that supports routed weights."""

    _name = ""

    def __init__(self, sample_weight: bool | str | None = None) -> None:
        self._sample_weight = sample_weight

    def __repr__(self) -> str:
        return f"metrics.{self._name}"

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of a fitted estimator; higher is better.

        Parameters
        ----------
        estimator : classifier of ybar, or a pipeline or search that ends in one
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), boolean array of shape (N, K), or Evidence
        sample_weight : array-like of shape (N,), optional
        """
        classifier, X = last_step(estimator, X)
        observed = observe(y, classifier.classes_)
        if not np.array_equal(observed.classes, classifier.classes_):
            raise ValueError(
                "y must hold evidence of the classes of the classifier, "
                f"{checks.shown(classifier.classes_.tolist())}; got "
                f"{checks.shown(observed.classes.tolist())}"
            )
        checks.same_length("X", _num_samples(X), "y", len(observed))
        losses = self._losses(classifier, X, observed, sample_weight)
        return -mean_and_error(*losses, sample_weight)[0]

    def _losses(
        self, classifier: Any, X: Any, observed: Observed, sample_weight: ArrayLike | None
    ) -> Losses:
        """Return the losses of the labels."""
        raise NotImplementedError

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Return a copy of the scorer that requests `sample_weight` in scikit-learn's routing.

        Parameters
        ----------
        sample_weight : bool, str or None
            True requests weights, False ignores them, a name requests weights passed under that
            name, and None raises an error if weights are passed.

        Examples
        --------
        >>> import sklearn
        >>> from sklearn.model_selection import GridSearchCV
        >>> from ybar import CPEClassifier, metrics
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     search = GridSearchCV(
        ...         CPEClassifier(), {"decoder": ["l1", "max"]},
        ...         scoring=metrics.scel_scorer.set_score_request(sample_weight=True),
        ...     )
        """
        return type(self)(sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what the scorer requests, for scikit-learn."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._sample_weight)
        return request

    def _accept_sample_weight(self) -> bool:
        """Return True: scikit-learn asks before it passes weights to several scorers at once."""
        return True


class SCELScorer(_Scorer):
    """Return minus SCEL, as a scorer for ``GridSearchCV(scoring=...)`` on complementary labels.

    Notes
    -----
    With scikit-learn's metadata routing, ``scel_scorer.set_score_request(sample_weight=True)`` is a
    copy of the scorer that receives the weights. A row of weight 0 counts as absent.

    Neighbours and forests assign the probability 0 to labels that they have not seen. A single
    such label would make SCEL infinite, so that these models could not be compared. Among n scored
    labels, a probability of 0 therefore counts as 1/(n+1): n labels cannot distinguish a rarer
    label from an impossible one.

    For `ybar.labels.Evidence` the loss is that of all observations of a row, under the T of the
    evidence; see `scel`. If the classifier was passed the same T and learned a better one, the
    learned T is used. Models that estimate q rather than p are scored by q, label by label, if the
    evidence holds only labels from their T.

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

    _name = "scel_scorer"

    def _losses(
        self, classifier: Any, X: Any, observed: Observed, sample_weight: ArrayLike | None
    ) -> Losses:
        if has_its_transition(observed, classifier):
            observed = _as_learned(observed, classifier)
        if observed.by_label:
            probabilities = classifier.predict_complementary_proba(X)
        else:
            probabilities = classifier.predict_proba(X)
        return scel_losses(observed, probabilities, None, sample_weight)


class UREScorer(_Scorer):
    """Return minus the URE of the error rate, as a scorer that is used like `scel_scorer`.

    Labels are assumed to follow the classifier's ``label_transition_``: the T that `fit` was
    passed, or a T estimated on held-out labels ("cpe-n", and "cpe-t" with trust). The labels of
    `ybar.labels.Evidence` follow the T that the evidence has.
    """

    _name = "ure_scorer"

    def _losses(
        self, classifier: Any, X: Any, observed: Observed, sample_weight: ArrayLike | None
    ) -> Losses:
        predicted, _ = labels.encode(classifier.predict(X), classifier.classes_)
        T = classifier.label_transition_
        if observed.transition is not None and not has_its_transition(observed, classifier):
            T = observed.transition
        (losses,) = ure_losses(observed, T, sample_weight, stacklevel=4, y_pred=predicted)
        return losses


scel_scorer = SCELScorer()
ure_scorer = UREScorer()


def has_its_transition(observed: Observed, classifier: Any) -> bool:
    """Return whether evidence has the T that was passed to the classifier."""
    T = observed.transition
    return T is not None and np.allclose(T, classifier.transition_, rtol=0, atol=1e-9)


def _as_learned(observed: Observed, classifier: Any) -> Observed:
    """Return evidence in the classifier's form: label by label, or under the learned T."""
    by_label = observed.as_labels()
    if by_label is not None and getattr(classifier, "estimates_", "q") == "q":
        return by_label
    return observed.with_transition(getattr(classifier, "learned_transition_", observed.T))
