"""What held-out complementary labels tell of T, and of noise in it: plain numpy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.stats import chi2

from ..labels.patterns import log_likelihoods
from ..transition.building import with_uniform_noise
from ..utils.typing import AnyArray, FloatArray, IntArray
from .evaluate import log_softmax

_WIDEST = 2.0  # temperatures from e⁻² to e²
_LARGE = 1e300
_CLOSE_LEVEL, _CLOSE_TEMPERATURE = 1e-4, 5e-3
_LEAST_LEVEL = 1e-3  # from which an entry of T that is 0 can grow


class Noise:
    """The share λ of labels that are drawn from all classes alike, as held-out labels tell of it.

    Labels come from (1-λ)T + λ/K. λ is the one under which they are the likeliest, together with a
    temperature of p: without it a p that is less sure than it could be would pass for little noise
    and one that is surer than it should be for much, and a network that goes on with such a λ would
    become so.

    Nothing is computed before it is asked for.
    """

    def __init__(
        self,
        logits: AnyArray,
        k: IntArray,
        weight: AnyArray | None,
        T: FloatArray,
        patterns: Any = None,
    ) -> None:
        self._logits = np.asarray(logits, dtype=np.float64)
        self._k, self._weight = k, weight
        self._T, self._patterns = T, patterns

    @functools.cached_property
    def _log_scale(self) -> float:
        return _likeliest_scale(lambda s: self._likeliest(s)[0], also=0.0)

    @functools.cached_property
    def estimate(self) -> float:
        """λ."""
        return self._likeliest(self._log_scale)[1]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the λ that a likelihood-ratio test does not reject, whatever the temperature.

        Weights that differ make labels worth less than their number.
        """
        each = 1.0
        if self._weight is not None:
            each = float(self._weight @ self._weight) / float(self._weight.sum())
        allowed = self._likeliest(self._log_scale)[0] + each * float(chi2.ppf(level, 1)) / 2

        def above(noise: float) -> float:
            return self._whatever_the_temperature(noise) - allowed

        return self._border(above, 0.0), self._border(above, 1.0)

    def transition(self, trust: float) -> FloatArray:
        """Return the T under which the labels are the likeliest, pulled back towards the one given.

        The pull is as strong as `trust` more labels of each class would be that come from
        (1-λ)T + λ/K: the T given, with as much noise as the labels tell of. A temperature of p is
        found beside it, as for λ.
        """
        K = len(self._T)
        first = with_uniform_noise(self._T, max(self.estimate, _LEAST_LEVEL))
        log_rest, counts = self._patterns or (np.zeros((K, K)), np.eye(K))
        weight = np.ones(len(self._k)) if self._weight is None else self._weight
        total = max(float(weight.sum()), 1.0)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            """Return -log likelihood and pull, of a label, and the gradient."""
            log_T = log_softmax(parameters[1:].reshape(K, K))
            scaled = self._logits * np.exp(parameters[0])
            log_p = log_softmax(scaled)
            joint = log_p + (log_rest + counts @ log_T.T)[self._k]
            top = joint.max(axis=1, keepdims=True)
            share = np.exp(joint - top)
            given = share.sum(axis=1)
            share *= (weight / given)[:, None]  # of each class, now that the label is known
            seen = np.empty((len(counts), K))
            for y in range(K):
                seen[:, y] = np.bincount(self._k, share[:, y], len(counts))
            labels = seen.T @ counts + trust * first  # expected, of each class and kind
            value = -(weight @ (np.log(given) + top[:, 0])) - trust * float((first * log_T).sum())
            at_scale = -float(((share - weight[:, None] * np.exp(log_p)) * scaled).sum())
            at_T = np.exp(log_T) * labels.sum(axis=1, keepdims=True) - labels
            return value / total, np.concatenate([[at_scale], at_T.ravel()]) / total

        start = np.concatenate([[self._log_scale], np.log(first).ravel()])
        bounds = [(-_WIDEST, _WIDEST)] + [(None, None)] * K**2
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return np.asarray(np.exp(log_softmax(found.x[1:].reshape(K, K))))

    def elsewhere(self, rows: IntArray, trust: float) -> list[FloatArray]:
        """Return for labels of even rows the T that those of odd rows give, and the other way.

        What labels say of a T that was found on themselves is too good, the more so the less it is
        pulled back. `rows` tells which row each label is of.
        """
        found = []
        for half in (0, 1):
            there = np.flatnonzero(rows % 2 != half)
            weight = None if self._weight is None else self._weight[there]
            other = Noise(self._logits[there], self._k[there], weight, self._T, self._patterns)
            found.append(other.transition(trust))
        return found

    def _border(self, above: Callable[[float], float], outside: float) -> float:
        if above(outside) <= 0:
            return outside
        if above(self.estimate) >= 0:  # by rounding
            return self.estimate
        return float(brentq(above, self.estimate, outside, xtol=_CLOSE_LEVEL))

    def _whatever_the_temperature(self, noise: float) -> float:
        at = _likeliest_scale(lambda s: self._losses(s)(noise), also=self._log_scale)
        return self._losses(at)(noise)

    def _likeliest(self, log_scale: float) -> tuple[float, float]:
        """Return the least loss at a temperature, and the λ that gives it."""
        loss = self._losses(log_scale)
        levels = (0.0, _lowest(loss, 0.0, 1.0, _CLOSE_LEVEL, 0.0), 1.0)
        return min((loss(level), level) for level in levels)

    def _losses(self, log_scale: float) -> Callable[[float], float]:
        """Return what gives -log likelihood of all labels under λ, at a temperature exp(-scale)."""
        log_p = log_softmax(self._logits * np.exp(log_scale))
        T, k, n_classes, p = self._T, self._k, len(self._T), np.exp(log_p)
        if self._patterns is None:
            given = np.einsum("ny,ny->n", p, T.T[k])  # were there no noise

            def of_rows(noise: float) -> FloatArray:
                return np.asarray(-np.log((1 - noise) * given + noise / n_classes))
        else:
            log_rest, counts = self._patterns

            def of_rows(noise: float) -> FloatArray:
                log_e = log_likelihoods(log_rest, counts, with_uniform_noise(T, noise))
                top = np.maximum(log_e.max(axis=1), -_LARGE)  # of a row of many labels far below 0
                given = np.einsum("ny,ny->n", p, np.exp(log_e - top[:, None])[k])
                losses = -np.log(given) - top[k]
                small = given == 0  # too small for a float: the slow way
                losses[small] = -np.logaddexp.reduce(log_p[small] + log_e[k[small]], axis=1)
                return np.asarray(losses)

        def loss(noise: float) -> float:
            with np.errstate(divide="ignore"):
                losses = of_rows(noise)
            return float(losses.sum() if self._weight is None else losses @ self._weight)

        return loss


def _likeliest_scale(loss: Callable[[float], float], also: float) -> float:
    return _lowest(loss, -_WIDEST, _WIDEST, _CLOSE_TEMPERATURE, also)


def _lowest(
    function: Callable[[float], float], low: float, high: float, close: float, also: float
) -> float:
    """Return where a function of a number is lowest, or `also` if it is lower there."""
    options = {"xatol": close}
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options=options).x
    return min((float(found), also), key=function)
