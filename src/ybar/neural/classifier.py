"""`ComplementaryNetClassifier`: linear models and networks, by every method of the paper."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import _checks, _path, labels
from .._extras import require
from .._random import as_generator
from .._typing import AnyArray, FloatArray, IntArray, Seed
from ..classifiers import Checked, ComplementaryClassifier
from ..decode import Method as Decoder
from ..decode import check_method
from . import evaluate

if TYPE_CHECKING:
    from .population import Record, Selection
    from .train import Recipe, Run, Samples

__all__ = ["ComplementaryNetClassifier"]

Callback: TypeAlias = Callable[[dict[str, Any]], Any]
_PREDICTED_AT_ONCE = 4096


class NetBase(ComplementaryClassifier):
    """What the classifier and its search share."""

    method: Any
    hidden_layer_sizes: Any
    network: Any
    batch_size: int
    max_epochs: int | None
    weight_decay: float
    dropout: float
    input_dropout: float
    weight_averaging: float
    validation_fraction: float
    select: str
    criterion: str
    patience: int | None
    device: str
    random_state: Seed
    verbose: bool
    callbacks: Any

    coefs_: list[AnyArray]
    intercepts_: list[AnyArray]
    network_state_: list[AnyArray]
    learned_transition_: FloatArray
    history_: dict[str, FloatArray]
    best_epoch_: int
    n_epochs_: int

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q: the probability of each class as a complementary label.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or what `fit` took

        Returns
        -------
        ndarray of shape (N, K)
        """
        logits = self.decision_function(X)
        return self._reading().complementary(logits, self.learned_transition_)

    def predict(self, X: Any) -> AnyArray:
        """Return the ordinary class of each row of X.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or what `fit` took

        Returns
        -------
        ndarray of shape (N,)
        """
        logits = self.decision_function(X)
        return self.classes_[self._reading().classes(logits, self.learned_transition_)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return ordinary-class probabilities: the network's own p, if its method has one.

        ``cpe-i`` estimates q only; its p are those of `ybar.decode.class_probabilities`.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or what `fit` took

        Returns
        -------
        ndarray of shape (N, K)
        """
        return self._reading().ordinary(self.decision_function(X))
