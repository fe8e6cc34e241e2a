"""What boosted trees are fitted to: complementary labels as they are, or their likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from .. import labels
from ..labels.evidence import log_likelihoods
from ..metrics.losses import Losses, log_losses
from ..utils.typing import AnyArray, FloatArray, IntArray
from .base import Checked

_LEAF = 20
_NEARLY_ORDINARY = 0.5

Gradient = Callable[[AnyArray, Any], tuple[FloatArray, FloatArray]]


class Labels:
    """Trees give q: every single label is a sample of LightGBM's own multi-class loss.

    Only classes that occur have trees; labels are their places among `seen`.
    """

    estimates, objective = "q", "multiclass"

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.n_classes = len(checked.classes)
        rows, k = labels.pairs(checked.codes, self.n_classes)
        self.seen, self.weights = np.unique(k), _of_mean_1(checked.weights, rows)

    def samples(self, part: IntArray) -> tuple[IntArray, AnyArray]:
        """Return the row and the label of each sample of some rows."""
        rows, k = labels.pairs(self.checked.codes[part], self.n_classes)
        return part[rows], np.searchsorted(self.seen, k)

    def defaults(self, n_samples: int, n_features: int) -> dict[str, Any]:  # noqa: ARG002
        """Return nothing: LightGBM's are for such labels."""
        return {}

    def gradient(self, rows: IntArray) -> Gradient | None:  # noqa: ARG002
        """Return None: LightGBM has it."""
        return None

    def losses(self, q: AnyArray, part: IntArray) -> Losses:
        """Return -log q[ȳ] of each label of the rows, an exact 0 as 1/(n+1) among n labels."""
        rows, k = labels.pairs(self.checked.codes[part], self.n_classes)
        chosen = q[rows, np.searchsorted(self.seen, k)]
        return Losses(log_losses(chosen, 1 / (len(k) + 1)), part[rows], len(self.checked.codes))


class Likelihood:
    """Trees give the scores of p, and minimise -log Σ_y p[y] e[y] of all that was observed.

    The gradient is p - r, r[y] ∝ p[y] e[y] being the probabilities of classes once the evidence
    is known. The second derivative may be negative. We take that of ordinary labels, p (1 - p),
    which is never below it, times `information`: the share of what an ordinary label tells that
    this evidence tells at p = 1/K, which is K/(K-1) times the mean of ‖r - p‖². It is 1 for
    ordinary labels, where all of this is LightGBM's multi-class loss, and 1/(K-1)² for uniform
    complementary ones, which would hardly move p otherwise. So a learning rate means the same
    whatever was observed.
    """

    estimates, objective = "p", "none"

    def __init__(self, checked: Checked) -> None:
        self.checked, K = checked, len(checked.classes)
        self.n_classes, self.seen = K, np.arange(K)
        codes, weights = checked.codes, checked.weights
        self.pattern, self.log_e = _patterns(checked)
        self.says = np.asarray(codes.any(axis=1) if codes.ndim == 2 else codes >= 0)
        if weights is not None:
            self.says = np.logical_and(self.says, weights > 0)
        self.weights = _of_mean_1(weights, self.says)
        used, code = np.unique(self.pattern[self.says], return_inverse=True)
        impossible = np.asarray(np.isneginf(self.log_e[used]).all(axis=1))[code]
        if impossible.any():
            raise ValueError(
                "y must hold only labels that transition allows; what is said of row "
                f"{np.flatnonzero(self.says)[np.argmax(impossible)]} has probability 0, whatever "
                "its class. Correct it or transition, or allow for errors with "
                "transition.with_uniform_noise"
            )
        told = ((softmax(self.log_e[used], axis=1) - 1 / K) ** 2).sum(axis=1)[code]
        weighed = None if self.weights is None else self.weights[self.says]
        self.information = K / (K - 1) * np.average(told, weights=weighed)

    def samples(self, part: IntArray) -> tuple[IntArray, AnyArray]:
        """Return the rows of which something is known; LightGBM wants labels, and reads none."""
        rows = part[self.says[part]]
        return rows, np.zeros(len(rows))

    def defaults(self, n_samples: int, n_features: int) -> dict[str, Any]:
        """Return what keeps trees from learning labels by heart, each of which says so little.

        Leaves that tell as much as LightGBM's 20 ordinary labels would, a tenth of all rows at
        most; for each tree half of the rows, and a fifth of the features, or four. Where evidence
        is nearly as good as ordinary labels, LightGBM's own.
        """
        if self.information > _NEARLY_ORDINARY:
            return {}
        most = max(_LEAF, n_samples // 10)
        leaf = round(min(_LEAF / max(self.information, 1e-12), most))
        enough = n_samples >= 8 * leaf  # half of them are four leaves
        return {
            "min_data_in_leaf": leaf,
            "bagging_fraction": 0.5 if enough else 1.0,
            "bagging_freq": 1,
            "feature_fraction": max(0.2, min(1.0, 4 / n_features)),
        }

    def gradient(self, rows: IntArray) -> Gradient:
        """Return the function from the scores of those rows to both derivatives of the loss."""
        log_e = self.log_e[self.pattern[rows]]
        weight = 1.0 if self.weights is None else self.weights[rows, None]
        curvature = self.information * self.n_classes / (self.n_classes - 1)

        def of(scores: AnyArray, _: Any) -> tuple[FloatArray, FloatArray]:
            p = softmax(scores, axis=1)
            slope = p - softmax(scores + log_e, axis=1)
            return weight * slope, weight * (curvature * p * (1 - p))

        return of

    def losses(self, scores: AnyArray, part: IntArray) -> Losses:
        """Return the loss of each label of the rows, or of each row of other evidence."""
        log_p, n = log_softmax(scores, axis=1), len(self.checked.codes)
        if self.checked.evidence is None:
            rows, k = labels.pairs(self.checked.codes[part], self.n_classes)
            with np.errstate(divide="ignore"):
                log_e = np.log(self.checked.T).T[k]
        else:
            rows = np.flatnonzero(self.says[part])
            log_e = self.log_e[self.pattern[part[rows]]]
        return Losses(-logsumexp(log_p[rows] + log_e, axis=1), part[rows], n)


def _of_mean_1(weights: FloatArray | None, used: AnyArray) -> FloatArray | None:
    """Return weights of mean 1 over the rows used: LightGBM has a least curvature of leaves."""
    return None if weights is None else weights / weights[used].mean()


def _patterns(checked: Checked) -> tuple[IntArray, FloatArray]:
    """Return the different log e that rows have, (M, K), and which of them each row has."""
    if checked.evidence is not None:
        return checked.evidence.codes, checked.evidence.log_table
    if checked.codes.ndim == 1:
        pattern, sets = checked.codes, np.eye(len(checked.classes))
    else:
        sets, pattern = np.unique(checked.codes, axis=0, return_inverse=True)
    return pattern.reshape(-1), log_likelihoods(
        np.zeros(sets.shape), sets.astype(np.float64), checked.T
    )


TARGETS: dict[str, type[Labels] | type[Likelihood]] = {"cpe-i": Labels, "cpe-f": Likelihood}


def joined(parts: Iterable[Losses]) -> Losses:
    """Return the losses of all held-out parts together."""
    values, rows, n = zip(*parts, strict=True)
    return Losses(np.concatenate(values), np.concatenate(rows), n[0])
