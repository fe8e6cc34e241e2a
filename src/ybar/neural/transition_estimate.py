"""T and the noise in it, estimated from a network's p on held-out complementary labels.

This module needs only numpy. `transition_layer` trains with the estimate.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from ..labels.patterns import Patterns
from ..metrics.likelihood import log_softmax
from ..transition.building import with_uniform_noise
from ..utils.typing import AnyArray, FloatArray, IntArray
from .transition_errors import (
    LOG_SCALE_BOUND,
    MOST_CLASSES,
    HeldOutErrors,
    NoiseLevels,
    NoiseWalk,
    VectorScaling,
    errors_of_matrix,
    errors_of_noise,
)

_LARGE = 1e300
_LEVEL_TOLERANCE, _SCALE_TOLERANCE = 1e-4, 5e-3
_SMALLEST_LEVEL = 1e-3  # every entry of T starts above 0, so that it can be learned


class TransitionEstimate:
    """The T that explains held-out labels best, given the network's p.

    Every estimate fits a temperature of p as well. Otherwise an underconfident p would look like
    little noise, and an overconfident p like much noise; training with such a T would make p even
    less or more confident.

    All attributes are computed at their first use.

    `logits` have one row per label, or per pattern of labels, and `k` holds the label or the index
    of the pattern. `T` is the matrix that training was passed.
    """

    def __init__(
        self,
        logits: AnyArray,
        k: IntArray,
        weight: AnyArray | None,
        T: FloatArray,
        patterns: Patterns | None = None,
    ) -> None:
        self._logits = np.asarray(logits, dtype=np.float64)
        self._k, self._T, self._single_labels = k, T, patterns is None
        self._weight = np.ones(len(k)) if weight is None else np.asarray(weight, np.float64)
        self._patterns = patterns or Patterns.of_counts(np.eye(len(T)))

    @functools.cached_property
    def _log_scale(self) -> float:
        bounds = -LOG_SCALE_BOUND, LOG_SCALE_BOUND
        return _minimiser(lambda s: self._best_level(s)[0], *bounds, _SCALE_TOLERANCE)

    @functools.cached_property
    def noise_level(self) -> float:
        """The λ that maximises the likelihood of the labels under (1-λ)T + λ/K."""
        return self._best_level(self._log_scale)[1]

    @property
    def noise_interval(self) -> tuple[float, float]:
        """The 95% interval of λ: the levels that a likelihood-ratio test does not reject.

        The test maximises over the vector scalings of the network's p: see `transition_errors`.
        """
        levels = self._levels.levels
        return float(levels[0]), float(levels[-1])

    @functools.cached_property
    def _walk(self) -> NoiseWalk:
        model = VectorScaling(self._logits, self._k, self._weight, self._patterns)
        return NoiseWalk(model, self._T, self.noise_level)

    @functools.cached_property
    def _levels(self) -> NoiseLevels:
        return self._walk.levels()

    def errors(self, matrix: FloatArray | None = None, trust: float = 0.0) -> HeldOutErrors | None:
        """Return the errors of (1-λ)T + λ/K, or of the `matrix` of this `trust`.

        None if there are too many classes to compute the covariance.
        """
        if matrix is None:
            return errors_of_noise(self._levels, self._T)
        if len(matrix) > MOST_CLASSES:
            return None
        return errors_of_matrix(self._walk, self._levels, matrix, trust)

    def matrix(self, trust: float) -> FloatArray:
        """Return the T that maximises the likelihood of the labels and of a prior.

        The prior is worth `trust` labels of each class, drawn from (1-λ)T + λ/K: the T that
        training was passed, with the noise level of the labels.
        """
        K = len(self._T)
        prior = with_uniform_noise(self._T, max(self.noise_level, _SMALLEST_LEVEL))
        (log_rest, counts), weight = self._patterns, self._weight
        total = max(float(weight.sum()), 1.0)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            """Return minus the log posterior per label, and its gradient."""
            log_T = log_softmax(parameters[1:].reshape(K, K))
            scaled = self._logits * np.exp(parameters[0])
            log_p = log_softmax(scaled)
            joint = log_p + (log_rest + counts @ log_T.T)[self._k]
            top = joint.max(axis=1, keepdims=True)
            posterior = np.exp(joint - top)  # of each class, once the label is known
            evidence = posterior.sum(axis=1)
            posterior *= (weight / evidence)[:, None]
            by_pattern = np.empty((len(counts), K))
            for y in range(K):
                by_pattern[:, y] = np.bincount(self._k, posterior[:, y], len(counts))
            expected = by_pattern.T @ counts + trust * prior  # labels per class and kind
            value = -(weight @ (np.log(evidence) + top[:, 0])) - trust * float(
                (prior * log_T).sum()
            )
            at_scale = -float(((posterior - weight[:, None] * np.exp(log_p)) * scaled).sum())
            at_T = np.exp(log_T) * expected.sum(axis=1, keepdims=True) - expected
            return value / total, np.concatenate([[at_scale], at_T.ravel()]) / total

        start = np.concatenate([[self._log_scale], np.log(prior).ravel()])
        bounds = [(-LOG_SCALE_BOUND, LOG_SCALE_BOUND)] + [(None, None)] * K**2
        best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return np.asarray(np.exp(log_softmax(best.x[1:].reshape(K, K))))

    def cross_fitted(self, rows: IntArray, trust: float) -> list[FloatArray]:
        """Return two T: one for labels of even rows, estimated on odd rows, and vice versa.

        SCEL on the labels that T was estimated on is too low, most of all with a weak prior.
        `rows` holds the row of each label.
        """
        patterns = None if self._single_labels else self._patterns
        matrices = []
        for half in (0, 1):
            others = np.flatnonzero(rows % 2 != half)
            estimate = TransitionEstimate(
                self._logits[others], self._k[others], self._weight[others], self._T, patterns
            )
            matrices.append(estimate.matrix(trust))
        return matrices

    def _best_level(self, log_scale: float) -> tuple[float, float]:
        """Return the lowest -log likelihood at temperature exp(-scale), and its noise level."""
        log_p = log_softmax(self._logits * np.exp(log_scale))
        p, k, K = np.exp(log_p), self._k, len(self._T)
        without_noise = np.einsum("ny,ny->n", p, self._T.T[k]) if self._single_labels else None

        def log_evidence(noise: float) -> FloatArray:
            if without_noise is not None:
                return np.asarray(np.log((1 - noise) * without_noise + noise / K))
            log_e = self._patterns.log_likelihoods(with_uniform_noise(self._T, noise))
            top = np.maximum(log_e.max(axis=1), -_LARGE)  # many labels per row: far below 0
            evidence = np.einsum("ny,ny->n", p, np.exp(log_e - top[:, None])[k])
            logs = np.log(evidence) + top[k]
            small = evidence == 0  # underflow: stay in log space
            logs[small] = np.logaddexp.reduce(log_p[small] + log_e[k[small]], axis=1)
            return np.asarray(logs)

        def loss(noise: float) -> float:
            with np.errstate(divide="ignore"):
                return -float(log_evidence(noise) @ self._weight)

        levels = (0.0, _minimiser(loss, 0.0, 1.0, _LEVEL_TOLERANCE), 1.0)
        return min((loss(level), level) for level in levels)


def _minimiser(
    function: Callable[[float], float], low: float, high: float, tolerance: float
) -> float:
    """Return the minimiser of a function of a number, or 0 if the function is lower there."""
    options = {"xatol": tolerance}
    x = minimize_scalar(function, bounds=(low, high), method="bounded", options=options).x
    return min((float(x), 0.0), key=function)
