"""What the classifiers of Dask collections share: lazy predictions, scores in one reduction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import decode
from ..classifiers.base import ComplementaryClassifier
from ..decode import inverse
from ..labels import Evidence
from ..labels.observed import Observed
from ..metrics.scorers import has_its_transition
from ..metrics.validation import checked_error
from ..utils.typing import AnyArray, FloatArray, IntArray
from .blocks import Blocks, as_collection, as_weights, blocks_of, compute
from .metrics import scel_sums, ure_sums
from .observing import Vocabulary, distinct_in, observed_in, vocabulary
from .sums import Sums, reduced


class Evaluation(NamedTuple):
    """Scores of a classifier on complementary labels that it was not fitted to.

    The error rate is NaN for evidence of other kinds than complementary labels.
    """

    scel: float
    scel_std_error: float
    error_rate: float
    error_rate_std_error: float
    n_rows: int
    n_labels: int


class Decoding(NamedTuple):
    """How the outputs of a model become q, p and classes."""

    transition: FloatArray
    estimates: str
    decoder: Any

    def q(self, outputs: AnyArray) -> AnyArray:
        """Return complementary probabilities."""
        return outputs if self.estimates == "q" else outputs @ self.transition

    def p(self, outputs: AnyArray) -> AnyArray:
        """Return class probabilities."""
        if self.estimates == "p" or not len(outputs):
            return outputs
        return decode.class_probabilities(outputs, self.transition)

    def indices(self, outputs: AnyArray) -> IntArray:
        """Return the index of the predicted class of each row."""
        if not len(outputs):
            return np.zeros(0, np.intp)
        if self.estimates == "p" and self.decoder == "max":
            return np.asarray(outputs.argmax(axis=1))
        return decode.decode(self.q(outputs), self.transition, self.decoder)


class DaskClassifier(BaseEstimator):  # type: ignore[misc]
    """Base class: it derives predictions and scores from lazy blocks of probabilities."""

    transition: Any
    decoder: Any
    classes: Any
    classes_: AnyArray
    transition_: FloatArray
    decoder_: Any
    estimates_: str
    _store_parameters = ComplementaryClassifier._store_parameters

    def _output_blocks(self, X: Any) -> Blocks:
        """Return the partitions of X, in which each X is a lazy block of probabilities."""
        raise NotImplementedError

    def to_local(self) -> ComplementaryClassifier:
        """Return the fitted model as an ordinary classifier, which needs no Dask.

        `ybar.save` writes it to a file.
        """
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Return the ordinary class of each row.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)

        Returns
        -------
        Dask array of shape (N,), lazy
        """
        return self._lazily(X, _classes, self.classes_, like=self.classes_[:0])

    def predict_proba(self, X: Any) -> Any:
        """Return ordinary-class probabilities.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)

        Returns
        -------
        Dask array of shape (N, K), lazy
        """
        return self._lazily(X, _p, like=np.empty((0, len(self.classes_))))

    def predict_complementary_proba(self, X: Any) -> Any:
        """Return q: the probability of each class as a complementary label.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)

        Returns
        -------
        Dask array of shape (N, K), lazy
        """
        return self._lazily(X, _q, like=np.empty((0, len(self.classes_))))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus SCEL, the log loss on complementary labels.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)
        y : as for ``fit``
        sample_weight : Dask array or series of shape (N,), optional

        Returns
        -------
        float
            The same number as the ``score`` of `to_local` on the same rows.
        """
        scel, _ = self._sums(X, y, sample_weight)
        return -scel.mean_and_error(None)[0]

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Return SCEL and the estimated error rate (URE) with their standard errors.

        Both come from one pass over the data.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)
        y : as for ``fit``
        sample_weight : Dask array or series of shape (N,), optional

        Returns
        -------
        Evaluation
            A named tuple: ``scel``, ``scel_std_error``, ``error_rate``, ``error_rate_std_error``,
            ``n_rows`` (with a label) and ``n_labels``.
        """
        scel, ure = self._sums(X, y, sample_weight)
        loss, loss_error = scel.mean_and_error(None)
        error, error_error = ure.mean_and_error() if ure.rows else (math.nan, math.nan)
        if sample_weight is not None:
            kept = checked_error(0.0, scel.rows, scel.effective_rows, stacklevel=3)
            loss_error, error_error = loss_error + kept, error_error + kept  # NaN if it is
        return Evaluation(loss, loss_error, error, error_error, scel.rows, scel.labels)

    @property
    def _decoding(self) -> Decoding:
        check_is_fitted(self, "classes_")
        decoder = self.decoder_ if self.decoder is None else self.decoder
        return Decoding(self.transition_, self.estimates_, decoder)

    def _lazily(self, X: Any, function: Callable[..., Any], *args: Any, like: AnyArray) -> Any:
        blocks = self._output_blocks_of(blocks_of(X), X)
        parts = blocks.map(function, self._decoding, *args)
        return as_collection(parts, blocks.lengths, like)

    def _output_blocks_of(self, blocks: Blocks, X: Any) -> Blocks:
        check_is_fitted(self, "classes_")
        return replace(blocks, X=self._output_blocks(X).X)

    def _sums(self, X: Any, y: Any, sample_weight: Any) -> tuple[Sums, Sums]:
        """Return the sums of SCEL and of URE over all rows."""
        check_is_fitted(self, "classes_")
        blocks = blocks_of(X, y, sample_weight)
        reading, T = self._reading(blocks)
        if T is not None:
            inverse(T, stacklevel=4)  # warns of a singular T, once and here
        outputs = self._output_blocks_of(blocks, X)
        parts = outputs.map(_sums_of_block, self._decoding, self.classes_, reading, T)
        ((scel, ure),) = compute([reduced(parts, _merged)])
        if not scel.rows:
            raise ValueError("y must have a label in some row of a weight above 0; got none")
        return scel, ure

    def _reading(self, blocks: Blocks) -> tuple[Vocabulary | None, FloatArray | None]:
        """Return how evidence is read, None for labels, and the T of URE, None if it has none."""
        kinds = compute(blocks.map(_is_evidence))
        if not any(kinds):
            return None, self.transition_
        words = vocabulary(compute(blocks.map(distinct_in, self.classes_)), self.classes_)
        observed = words.observed
        mine = has_its_transition(observed, self)
        labels = observed.as_labels()
        if mine and self.estimates_ == "q" and labels is not None:
            return replace(words, observed=labels), self.transition_
        if labels is None:
            return words, None
        return words, self.transition_ if mine else observed.T


def _is_evidence(_: Any, y: Any, __: Any) -> bool:
    return isinstance(y, Evidence)


def _classes(outputs: AnyArray, _: Any, __: Any, decoding: Decoding, classes: AnyArray) -> AnyArray:
    return np.asarray(classes[decoding.indices(outputs)])


def _p(outputs: AnyArray, _: Any, __: Any, decoding: Decoding) -> AnyArray:
    return decoding.p(outputs)


def _q(outputs: AnyArray, _: Any, __: Any, decoding: Decoding) -> AnyArray:
    return decoding.q(outputs)


def _sums_of_block(
    outputs: AnyArray,
    y: Any,
    weights: Any,
    decoding: Decoding,
    classes: AnyArray,
    reading: Vocabulary | None,
    T: FloatArray | None,
) -> tuple[Sums, Sums]:
    """Return the sums of SCEL and of URE of one block."""
    if not len(y):
        return Sums.nothing(), Sums.nothing()
    w = as_weights(weights, len(y))
    if reading is None:
        observed: Observed = replace(observed_in(y, classes), weights=w)
    else:
        observed = reading.read(y, w)
    q_or_p = decoding.q(outputs) if observed.by_label else decoding.p(outputs)
    scel = scel_sums(observed, q_or_p)
    if T is None:
        return scel, Sums.nothing()
    return scel, ure_sums(observed, decoding.indices(outputs), T)


def _merged(parts: Sequence[tuple[Sums, Sums]]) -> tuple[Sums, Sums]:
    scel, ure = zip(*parts, strict=True)
    return Sums.merged(scel), Sums.merged(ure)
