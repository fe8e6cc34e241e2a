"""What all classifiers share: checks of the arguments of `fit`, decoding, scoring."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from .. import decode, labels, metrics, transition
from ..labels.observed import Observed, observe
from ..utils import checks
from ..utils.typing import AnyArray, FloatArray
from .scoring import warn_if_compared_with_labels

_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)


class ComplementaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all classifiers: it derives all predictions from complementary probabilities.

    A subclass has the parameters ``transition``, ``decoder`` and ``classes`` and defines
    ``predict_complementary_proba``. Its ``fit`` runs inside ``with self._all_or_nothing()``, calls
    `_observe_fit` first, and sets ``classes_`` and ``transition_``.
    """

    transition: ArrayLike
    decoder: Any
    classes: ArrayLike | None
    classes_: AnyArray
    transition_: FloatArray
    decoder_: Any  # the decoder of decoder=None
    estimates_: str = "q"  # what the classifier learns: "q", or "p", from which q = p T follows
    _allows_decoder_none = False
    _accepts_evidence: Any = False  # whether it learns from other kinds of evidence than labels

    @property
    def label_transition_(self) -> FloatArray:
        """The T that labels are assumed to follow; networks may have estimated it."""
        return self.transition_

    def _store_parameters(self, arguments: dict[str, Any]) -> None:
        """Store the parameters of ``__init__``, which passes its ``locals()``."""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in ("transition", "classes") if _PLAIN.get() else ():
            if hasattr(state.get(name), "to_numpy"):
                state[name] = np.array(state[name].to_numpy().tolist())
        return state

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q: the probability of each class as a complementary label.

        Returns
        -------
        ndarray of shape (N, K)
            Columns in the order of ``classes_``.
        """
        raise NotImplementedError

    def predict(self, X: Any) -> AnyArray:
        """Return the ordinary class of each row of X.

        Returns
        -------
        ndarray of shape (N,)
        """
        check_is_fitted(self, "classes_")
        warn_if_compared_with_labels(self)
        decoder = self.decoder_ if self.decoder is None else self.decoder
        if self.estimates_ == "p" and decoder == "max":
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        q = self.predict_complementary_proba(X)
        return np.asarray(self.classes_[decode.decode(q, self.transition_, decoder)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the ordinary-class probabilities, the most likely ones for q under T.

        They are computed by `ybar.decode.class_probabilities`, whatever the decoder. Unless T is
        uniform or the decoder is "likelihood", the most probable class can therefore differ from
        `predict`.

        Returns
        -------
        ndarray of shape (N, K)
        """
        return decode.class_probabilities(self.predict_complementary_proba(X), self.transition_)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return minus SCEL, the log loss on complementary labels: no true labels are needed.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels, not ordinary ones.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        float
            Higher is better. If a label occurs although its predicted probability is exactly 0
            (neighbours and forests predict that), the probability counts as 1/(n+1) among n
            labels; see `ybar.metrics.scel_scorer`.
        """
        return metrics.scel_scorer(self, X, y, sample_weight)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore all attributes if `fit` fails or is interrupted: the old model stays usable."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _validate(self, X: Any, **checks: Any) -> AnyArray:
        """Check X as scikit-learn does, with the error message in one line."""
        try:
            return np.asarray(validate_data(self, X, **checks))
        except ValueError as err:
            raise ValueError(" ".join(str(err).split())) from err

    def _observe_fit(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> Observed:
        """Check the arguments of ``fit``, and return y with its weights and T."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "the complementary labels, one for each row of X"
            )
        if X is None:
            raise TypeError("X must be an array, a sparse matrix or a data frame; got None")
        if self.decoder is not None or not self._allows_decoder_none:
            decode.check_method(self.decoder, name="decoder")
        observed = self._observe(y, self.classes)
        n_rows, n_classes = _num_samples(X), len(observed.classes)
        checks.same_length("X", n_rows, "y", len(observed))
        observed = weighted(observed, sample_weight)
        check_several_classes(observed)
        if n_rows < n_classes:
            raise ValueError(
                f"X must have at least as many rows as there are classes ({n_classes}); got "
                f"n_samples = {n_rows}. Collect more rows or name fewer classes"
            )
        return self._with_transition(observed)

    def _observe(self, y: ArrayLike | labels.Evidence, known: ArrayLike | None) -> Observed:
        """Return y in the internal form; raise if the classifier cannot learn from it."""
        return self._accept(observe(y, known), known)

    def _accept(self, observed: Observed, known: ArrayLike | None) -> Observed:
        """Return observations as the classifier learns from them; raise if it cannot."""
        if observed.by_label:
            return observed
        classes = observed.classes
        if known is not None and not np.array_equal(np.asarray(known), classes):
            raise ValueError(
                f"classes must be those of the evidence in y, {checks.shown(classes.tolist())}; "
                f"got {checks.shown(np.asarray(known).tolist())}"
            )
        by_label = observed.as_labels()
        observed = self._with_transition(observed)
        if by_label is not None:
            return by_label
        if not self._accepts_evidence:
            raise ValueError(
                "y must hold complementary labels under one T and nothing else for "
                f"{type(self).__name__}, which learns their probabilities; got evidence of other "
                "kinds, or a label twice in a row. Use method='cpe-f' of "
                "ComplementaryNetClassifier or CPEBoostingClassifierCV, which accepts all evidence"
            )
        if not observed.informative.any():
            raise ValueError("y must be informative in some row; got evidence of nothing")
        return observed

    def _with_transition(self, observed: Observed) -> Observed:
        """Return y with its T: that of the evidence, or that of the parameter `transition`."""
        left_out = isinstance(self.transition, str) and self.transition == "uniform"
        if observed.transition is not None and left_out:
            return observed
        T = transition.check(self.transition, classes=observed.classes, name="transition")
        if observed.transition is None:
            return observed.with_transition(T)
        if not np.allclose(T, observed.transition, rtol=0, atol=1e-9):
            raise ValueError(
                "transition must be the T of the complementary labels in y, or be left out "
                "(the evidence names its T); got another one"
            )
        return observed

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # y names classes that a row does not belong to, so the accuracy after a fit to ordinary
        # labels is poor by design.
        tags.classifier_tags.poor_score = True
        tags.target_tags.required = True
        return tags


def weighted(observed: Observed, sample_weight: ArrayLike | None) -> Observed:
    """Return the observations with weights; some informative row must have a weight above 0."""
    if sample_weight is None:
        return observed
    observed = replace(observed, weights=checks.check_weights(sample_weight, len(observed)))
    if not observed.usable.any():
        raise ValueError(
            "sample_weight must not be zero for every row that has a label; got 0 for all"
        )
    return observed


def check_several_classes(observed: Observed) -> None:
    """Check that labels are of at least two classes; otherwise there is nothing to learn."""
    if not observed.by_label:
        return
    seen = np.unique(observed.subset(np.flatnonzero(observed.usable)).single_labels()[1])
    if len(seen) < 2:
        raise ValueError(
            "y must hold at least two different complementary labels; got only one class, "
            f"{checks.shown(observed.classes[seen[0]])}. Collect labels that rule out other "
            "classes too"
        )


@contextlib.contextmanager
def plain_parameters() -> Iterator[None]:
    """Store parameters that are data frames as arrays in the state of classifiers."""
    token = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(token)
