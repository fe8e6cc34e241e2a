"""What the fitted network classifiers predict, from arrays, torch datasets and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from .. import metrics
from ..classifiers.base import ComplementaryClassifier
from ..classifiers.scoring import warn_if_compared_with_labels
from ..metrics.transition_profile import TransitionProfile
from ..utils.extras import require
from ..utils.typing import AnyArray, FloatArray
from . import evaluate, inputs, settings, streamed, streaming


class NetPredictions(ComplementaryClassifier):
    """Checks of X, logits, and what is computed from them."""

    network: Any
    device: str
    coefs_: list[AnyArray]
    intercepts_: list[AnyArray]
    network_state_: list[AnyArray]
    estimates_: str
    decoder_: Any
    learned_transition_: FloatArray
    _transition_state: dict[str, Any]

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q: the probability of each class as a complementary label.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or as in `fit`

        Returns
        -------
        ndarray of shape (N, K)
        """
        reading, T = self._reading(), self.learned_transition_
        return _joined([reading.complementary(logits, T) for logits in self._logits(X)])

    def predict(self, X: Any) -> AnyArray:
        """Return the ordinary class of each row of X.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or as in `fit`

        Returns
        -------
        ndarray of shape (N,)
        """
        reading, T = self._reading(), self.learned_transition_
        classes = _joined([reading.classes(logits, T) for logits in self._logits(X)])
        warn_if_compared_with_labels(self)
        return self.classes_[classes]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return ordinary-class probabilities: the network's p, if its method estimates p.

        ``cpe-i`` estimates q; its p are those of `ybar.decode.class_probabilities`.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or as in `fit`

        Returns
        -------
        ndarray of shape (N, K)
        """
        reading = self._reading()
        return _joined([reading.ordinary(logits) for logits in self._logits(X)])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return minus SCEL, the log loss on complementary labels: no true labels are needed.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or as in `fit`
        y : array-like of shape (N,), boolean array of shape (N, K), Evidence, or a column's name
            Complementary labels, not ordinary ones. The name of a column only if X is a stream.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        float
            Higher is better.
        """
        if not isinstance(X, streaming.Stream):
            return super().score(X, y, sample_weight)
        check_is_fitted(self, "classes_")
        k, _ = streamed.codes_of(X, y, sample_weight, self.classes_)
        reading, T, total, n_seen = self._reading(), self.learned_transition_, 0.0, 0
        for logits in self._logits(X):
            labels = k[n_seen : n_seen + len(logits)]
            q = reading.complementary(logits, T)
            total += len(q) * metrics.scel(labels, q, zero_as=1 / (len(k) + 1))
            n_seen += len(q)
        return -total / n_seen

    @property
    def label_transition_(self) -> FloatArray:
        """The T that labels are assumed to follow.

        It is the T that `fit` was passed, unless T was estimated on held-out labels ("cpe-n", and
        "cpe-t" with `transition_trust`).
        """
        estimated = self._transition_state["estimated"]
        return self.learned_transition_ if estimated else self.transition_

    @property
    def transition_profile_(self) -> TransitionProfile | None:
        """What is unknown of `label_transition_`; None unless it was estimated.

        Pass it to `ybar.metrics.ure_zero_one`, whose standard error then contains that of T.
        """
        profile = self._transition_state.get("profile")
        return None if profile is None else TransitionProfile(**profile)

    def _reading(self) -> evaluate.Reading:
        decoder = self.decoder_ if self.decoder is None else self.decoder
        return evaluate.Reading(self.estimates_, decoder, self.transition_)

    def _logits(self, X: Any) -> Iterator[AnyArray]:
        """Yield the logits of all rows, or block by block if X is a stream."""
        check_is_fitted(self, "classes_")
        is_module = hasattr(self, "network_state_")
        logits_of = self._module_logits() if is_module else self._all_dense_logits
        X = self._rows_of(X, reset=False)
        if not isinstance(X, streaming.Stream):
            yield logits_of(X)
            return
        for _, block in X.blocks():
            yield logits_of(block)

    def _all_dense_logits(self, X: Any) -> AnyArray:
        return np.asarray(np.concatenate([self._dense_logits(block) for block in inputs.blocks(X)]))

    def _dense_logits(self, h: AnyArray) -> AnyArray:
        for layer, (weight, bias) in enumerate(zip(self.coefs_, self.intercepts_, strict=True)):
            h = h @ weight + bias
            if layer < len(self.coefs_) - 1:
                np.maximum(h, 0, out=h)
        return h

    def _module_logits(self) -> Callable[[Any], AnyArray]:
        """Return the function from rows to the logits of the module."""
        require("torch", "torch", type(self).__name__)
        # These import torch.
        from . import networks, population
        from .data import Rows

        if self.network is None:
            raise ValueError(
                "network must be the callable that the classifier was fitted with; got None. Set "
                "it again, or fit anew"
            )
        model = networks.Module(self.network, 0, settings.device(self.device))
        model.set_weights(0, self.network_state_)

        def logits_of(X: Any) -> AnyArray:
            logits = population.logits_of(model, Rows(X, model.device), np.arange(len(X)))
            return np.asarray(logits[0])

        return logits_of

    def _rows_of(self, X: Any, reset: bool, at_least: int = 1) -> Any:
        """Return X checked: an array, a stream of its features, or a torch dataset unchanged."""
        if reset:
            self.__dict__.pop("_kind", None)  # items of a torch dataset may differ in type
        if isinstance(X, streaming.Stream):
            return self._features_of(X, reset)
        if not inputs.is_dataset(X) and (self.network is None or np.ndim(X) < 3):
            X = self._validate(X, reset=reset, ensure_min_samples=at_least)
            self._check_kind(X.dtype, reset)
            return X
        if not inputs.is_dataset(X):
            X = check_array(X, allow_nd=True, ensure_min_samples=at_least)
            self._check_kind(X.dtype, reset)
        n_features = inputs.count_features(X, at_least)
        if reset:
            self.n_features_in_ = n_features
            self.__dict__.pop("feature_names_in_", None)
        elif n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X

    def _features_of(self, X: streaming.Stream, reset: bool) -> streaming.Stream:
        """Return the columns of a stream that are features; all of them where it is fitted to."""
        if reset:
            self.feature_names_in_ = np.array(list(X.columns), dtype=object)
            self.n_features_in_ = len(X.columns)
        elif hasattr(self, "feature_names_in_"):
            X = X.select(self.feature_names_in_.tolist())
        else:
            X = X.features_beside(None)
        if len(X.columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(X.columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input. Name them with columns="
            )
        self._check_kind(X.dtype, reset)
        return X

    def _check_kind(self, kind: np.dtype[Any], reset: bool) -> None:
        if reset:
            self._kind = kind.name
        inputs.check_kind(kind, np.dtype(getattr(self, "_kind", kind.name)))


def _joined(parts: list[AnyArray]) -> AnyArray:
    """Return the values of all blocks; those of a single one are not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
