"""The targets of boosted trees: complementary labels as classes, or their likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from ..labels.observed import Observed, mean_one
from ..metrics.likelihood import log_likelihood, log_losses, log_softmax
from ..metrics.losses import Losses
from ..utils.typing import AnyArray, FloatArray, IntArray

_LEAF = 20  # LightGBM's default for min_data_in_leaf
_NEARLY_ORDINARY = 0.5

Gradient = Callable[[AnyArray, Any], tuple[FloatArray, FloatArray]]


class Labels:
    """Trees estimate q: each label is a sample of LightGBM's own multi-class loss.

    Only classes that occur have trees; samples are labelled by indices into `seen`.
    """

    estimates, objective = "q", "multiclass"

    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        rows, k = observed.single_labels()
        used = observed.usable[rows]
        self.seen = np.unique(k[used])
        self.weights = mean_one(observed.weights, rows[used])

    def samples(self, part: IntArray) -> tuple[IntArray, AnyArray]:
        """Return the row and the label of each sample in a part of the rows."""
        rows, k = self.observed.subset(part).single_labels()
        return part[rows], np.searchsorted(self.seen, k)

    def defaults(self, n_samples: int, n_features: int) -> dict[str, Any]:  # noqa: ARG002
        """Return no parameters: LightGBM's defaults suit such labels."""
        return {}

    def gradient(self, rows: IntArray) -> Gradient | None:  # noqa: ARG002
        """Return None: LightGBM has the gradient of this loss."""
        return None

    def losses(self, q: AnyArray, part: IntArray) -> Losses:
        """Return -log q[ȳ] of each label of the rows, an exact 0 as 1/(n+1) among n labels."""
        rows, k = self.observed.subset(part).single_labels()
        chosen = q[rows, np.searchsorted(self.seen, k)]
        return Losses(log_losses(chosen, 1 / (len(k) + 1)), part[rows], len(self.observed))


class Likelihood:
    """Trees estimate the scores of p, and minimise -log Σ_y p[y] e[y] of all observations.

    The gradient is p - r, where r[y] ∝ p[y] e[y] are the class probabilities given the evidence.
    The second derivative may be negative. It is replaced by that of ordinary labels, p (1 - p),
    which is an upper bound, times `information`: the information in this evidence at p = 1/K,
    relative to that in ordinary labels, which is K/(K-1) times the mean of ‖r - p‖². For ordinary
    labels `information` is 1 and this is LightGBM's multi-class loss. For uniform complementary
    labels `information` is 1/(K-1)²; without this factor, p would hardly change. A learning rate
    therefore means the same for all kinds of evidence.
    """

    estimates, objective = "p", "none"

    def __init__(self, observed: Observed) -> None:
        self.observed, K = observed, len(observed.classes)
        self.seen = np.arange(K)
        self.log_e = observed.log_table
        self.usable = observed.usable
        self.weights = mean_one(observed.weights, self.usable)
        used, code = np.unique(observed.code[self.usable], return_inverse=True)
        impossible = np.asarray(np.isneginf(self.log_e[used]).all(axis=1))[code]
        if impossible.any():
            raise ValueError(
                "y must hold only labels that transition allows; those of row "
                f"{np.flatnonzero(self.usable)[np.argmax(impossible)]} have probability 0 under "
                "every class. Correct them or transition, or allow for errors with "
                "transition.with_uniform_noise"
            )
        distance = ((softmax(self.log_e[used], axis=1) - 1 / K) ** 2).sum(axis=1)[code]
        weights = None if self.weights is None else self.weights[self.usable]
        self.information = K / (K - 1) * np.average(distance, weights=weights)
        self.curvature = self.information * K / (K - 1)

    def samples(self, part: IntArray) -> tuple[IntArray, AnyArray]:
        """Return the usable rows; LightGBM requires labels, but does not read them."""
        rows = part[self.usable[part]]
        return rows, np.zeros(len(rows))

    def defaults(self, n_samples: int, n_features: int) -> dict[str, Any]:
        """Return parameters that prevent trees from memorising labels with little information.

        A leaf has as much information as 20 ordinary labels (LightGBM's default), but at most a
        tenth of all rows; each tree sees half of the rows, and a fifth of the features or four.
        If the evidence is nearly as good as ordinary labels, LightGBM's defaults stay.
        """
        if self.information > _NEARLY_ORDINARY:
            return {}
        most = max(_LEAF, n_samples // 10)
        leaf = round(min(_LEAF / max(self.information, 1e-12), most))
        enough = n_samples >= 8 * leaf  # half of them fill four leaves
        return {
            "min_data_in_leaf": leaf,
            "bagging_fraction": 0.5 if enough else 1.0,
            "bagging_freq": 1,
            "feature_fraction": max(0.2, min(1.0, 4 / n_features)),
        }

    def gradient(self, rows: IntArray) -> Gradient:
        """Return the function from the scores of those rows to both derivatives of the loss."""
        log_e = self.log_e[self.observed.code[rows]]
        weight = 1.0 if self.weights is None else self.weights[rows, None]
        return lambda scores, _: derivatives(scores, log_e, weight, self.curvature)

    def losses(self, scores: AnyArray, part: IntArray) -> Losses:
        """Return the loss of each label of the rows; for evidence, of each informative row."""
        rows, code, patterns = self.observed.subset(part).separate_terms()
        log_e = patterns.log_likelihoods(self.observed.T)[code]
        values = -log_likelihood(log_softmax(scores)[rows], log_e)
        return Losses(values, part[rows], len(self.observed))


def derivatives(
    scores: AnyArray, log_e: FloatArray, weight: Any, curvature: float
) -> tuple[FloatArray, FloatArray]:
    """Return both derivatives of the loss of `Likelihood` with respect to the scores."""
    p = softmax(scores, axis=1)
    slope = p - softmax(scores + log_e, axis=1)
    return weight * slope, weight * (curvature * p * (1 - p))


TARGETS: dict[str, type[Labels] | type[Likelihood]] = {"cpe-i": Labels, "cpe-f": Likelihood}
