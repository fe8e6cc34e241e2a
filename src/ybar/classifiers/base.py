"""What all classifiers share: the check of what `fit` is passed, decoding, scoring."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import (
    _num_samples,
    validate_data,
)

from .. import decode, labels, metrics, transition
from ..utils import checks
from ..utils.typing import AnyArray, FloatArray

_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)


class Checked(NamedTuple):
    """What `fit` was given, checked."""

    codes: AnyArray
    weights: FloatArray | None
    classes: AnyArray
    T: FloatArray
    evidence: labels.Evidence | None = None
    """Where y is more than complementary labels; `codes` then only tell which rows say something,
    as a boolean array of shape (N, 1)."""


class ComplementaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What every classifier here has in common: from complementary probabilities to the rest.

    A subclass has the parameters ``transition``, ``decoder`` and ``classes``, calls `_check_fit`
    at the start of ``fit``, sets ``classes_`` and ``transition_``, and defines
    ``predict_complementary_proba``. What ``fit`` does stands in ``with self._all_or_nothing()``.
    """

    transition: ArrayLike
    decoder: Any
    classes: ArrayLike | None
    classes_: AnyArray
    transition_: FloatArray
    decoder_: Any  # what decoder=None means
    _has_own_decoder = False  # whether it means something

    @property
    def _takes_evidence(self) -> bool:
        """Whether it learns from more than complementary labels."""
        return False

    @property
    def label_transition_(self) -> FloatArray:
        """The T that labels are assumed to follow; networks may estimate one of their own."""
        return self.transition_

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in ("transition", "classes") if _PLAIN.get() else ():
            if hasattr(state.get(name), "to_numpy"):
                state[name] = np.array(state[name].to_numpy().tolist())
        return state

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q, the probability of each class as a complementary label."""
        raise NotImplementedError

    def predict(self, X: Any) -> AnyArray:
        """Return the ordinary class of each row of X.

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        ndarray of shape (N,)
        """
        q = self.predict_complementary_proba(X)
        decoder = self.decoder_ if self.decoder is None else self.decoder
        return np.asarray(self.classes_[decode.decode(q, self.transition_, decoder)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the ordinary-class probabilities that explain the complementary ones best.

        They are those of `ybar.decode.class_probabilities`, whatever the decoder: where T is not
        uniform their largest entry can differ from `predict`, except with the "likelihood"
        decoder.

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        ndarray of shape (N, K)
        """
        return decode.class_probabilities(self.predict_complementary_proba(X), self.transition_)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return minus SCEL on complementary labels: what can be known without true labels.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels, not ordinary ones.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        float
            Higher is better. A label that occurs though its probability is exactly 0 (neighbours
            and forests give that) counts as 1/(n+1) among n labels; see
            `ybar.metrics.scel_scorer`.
        """
        return metrics.scel_scorer(self, X, y, sample_weight)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo what `fit` set so far when it fails, or is interrupted: the old model stays."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _validate(self, X: Any, **checks: Any) -> AnyArray:
        """Check X as scikit-learn does, with its error in one line."""
        try:
            return np.asarray(validate_data(self, X, **checks))
        except ValueError as err:
            raise ValueError(" ".join(str(err).split())) from err

    def _check_fit(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> Checked:
        """Check what all classifiers take."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "y are the complementary labels, one for each row of X"
            )
        if X is None:
            raise TypeError("X must be an array, a sparse matrix or a data frame; got None")
        if self.decoder is not None or not self._has_own_decoder:
            decode.check_method(self.decoder, name="decoder")
        codes, classes, T, evidence = self._read_y(y, self.classes)
        n_rows, n_classes = _num_samples(X), len(classes)
        if n_rows != len(codes):
            raise ValueError(
                "X and y must have the same number of rows (inconsistent numbers of samples); "
                f"got {n_rows} and {len(codes)}"
            )
        weights = None if sample_weight is None else checks.weights(sample_weight, n_rows)
        seen = np.arange(n_classes)
        check_labelled(codes, weights)
        if evidence is None and n_classes > 1:
            rows, indices = labels.pairs(codes, n_classes)
            seen = np.unique(indices if weights is None else indices[weights[rows] > 0])
        if len(seen) < 2:
            raise ValueError(
                "y must hold at least two different complementary labels; got only one class, "
                f"{checks.shown(classes[seen[0]])}. Collect labels that rule out other classes too"
            )
        if n_rows < n_classes:
            raise ValueError(
                f"X must have at least as many rows as there are classes ({n_classes}); got "
                f"n_samples = {n_rows}. Collect more rows or name fewer classes"
            )
        T = self._check_transition(classes) if T is None else T
        return Checked(codes, weights, classes, T, evidence)

    def _read_y(
        self, y: ArrayLike | labels.Evidence, known: ArrayLike | None
    ) -> tuple[AnyArray, AnyArray, FloatArray | None, labels.Evidence | None]:
        """Return y as codes and its classes; if it is evidence its T, and it if there is more."""
        if not isinstance(y, labels.Evidence):
            return *labels.encode(y, known), None, None
        classes, own = y.classes, y.transition
        if known is not None and not np.array_equal(np.asarray(known), classes):
            raise ValueError(
                f"classes must be those of the evidence in y, {checks.shown(classes.tolist())}; "
                f"got {checks.shown(np.asarray(known).tolist())}"
            )
        left_out = isinstance(self.transition, str) and self.transition == "uniform"
        if own is None or not left_out:
            T = self._check_transition(classes)
            if own is not None and not np.allclose(T, own, rtol=0, atol=1e-9):
                raise ValueError(
                    "transition must be the T of the complementary labels in y, or be left out "
                    "(evidence has its own); got another one"
                )
            own = T if own is None else own
        labelled = y.labels()
        if labelled is not None:
            return labelled, classes, own, None
        if not self._takes_evidence:
            raise ValueError(
                f"y must hold complementary labels under one T and nothing else for "
                f"{type(self).__name__}, which learns their probabilities; got evidence of other "
                "kinds, or a label twice in a row. Use method='cpe-f' of "
                "ComplementaryNetClassifier or CPEBoostingClassifierCV, which takes all of it"
            )
        informative = y.informative[:, None]
        if not informative.any():
            raise ValueError("y must tell classes apart in some row; got evidence of nothing")
        return informative, classes, own, y

    def _check_transition(self, classes: AnyArray) -> FloatArray:
        """Return T, in the order of the classes."""
        T = transition.check(self.transition, len(classes), name="transition")
        checks.named_as(self.transition, classes, "transition")
        return T

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # y says what an example is not: fitted to ordinary labels the accuracy must be poor.
        tags.classifier_tags.poor_score = True
        tags.target_tags.required = True
        return tags


def check_labelled(codes: AnyArray, weights: FloatArray | None) -> None:
    """Refuse weights that leave no label."""
    labelled = codes.any(axis=1) if codes.ndim == 2 else slice(None)
    if weights is not None and not weights[labelled].any():
        raise ValueError(
            "sample_weight must not be zero for every row that has a label; got 0 for all"
        )


@contextlib.contextmanager
def plain_parameters() -> Iterator[None]:
    """Have the state of classifiers hold plain arrays where they were given data frames."""
    token = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(token)
