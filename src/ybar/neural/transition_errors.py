"""The uncertainty of a T that was estimated on held-out labels.

Every T is evaluated with the p that fits it best, among the vector scalings of the network's p:
``softmax(exp(s) g + b)`` with a temperature s and a bias per class b, whose prior is N(0, 0.25).
Otherwise errors of p would pass for noise. Few labels leave b near 0; many determine it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..labels.patterns import Patterns
from ..metrics.likelihood import softmax
from ..metrics.transition_profile import QUANTILE, TransitionProfile, profile_interval
from ..transition.building import with_uniform_noise
from ..utils.typing import AnyArray, FloatArray, IntArray

_BIAS_PRECISION = 4.0
# Vector scaling does not remove all errors of p. They reduce the effective number of labels by
# this factor, which studies/error_bars.py chose by the coverage of the intervals of λ.
_INFLATION = 1.4
LOG_SCALE_BOUND = 2.0  # temperatures from e⁻² to e²
_SETTLED = 1e-3  # decrease of the loss after which Newton steps end; W has twice its error
_MOST_STEPS = 50
_MOST_DAMPING = 1e6
_STEP = 1e-4  # of the derivative with respect to λ
# Of the walk over λ; the first step is in units of its standard error.
_FIRST_STEP, _GROWTH, _LARGEST_STEP = 0.5, 1.3, 0.2
_SMALLEST, _TINY, _RIDGE = 1e-9, 1e-300, 1e-3
_CLOSE = 0.02  # to 3.84
MOST_CLASSES = 20  # of a free T, whose covariance has K⁴ entries


class HeldOutErrors(NamedTuple):
    """The uncertainty of a T that was estimated on held-out labels.

    Attributes
    ----------
    profile : TransitionProfile
    scores : ndarray of shape (M, n)
        Of each matrix of the profile and each row: see `NoiseLevels`.
    coefficients : ndarray of shape (R, n)
        The part of each row in the error of T: that is, to first order, the sum over rows and
        directions of ``coefficients[r, i] * directions[r]``, and an error of the prior.
    """

    profile: TransitionProfile
    scores: FloatArray
    coefficients: FloatArray

    def by_row(self, rows: IntArray, n_rows: int) -> HeldOutErrors:
        """Return the same with sums over the labels of a row; `rows` holds the row of each."""

        def summed(values: FloatArray) -> FloatArray:
            sums = [np.bincount(rows, each, n_rows) for each in values]
            return np.array(sums, dtype=np.float64).reshape(-1, n_rows)

        return self._replace(scores=summed(self.scores), coefficients=summed(self.coefficients))

    def interval(
        self, values: FloatArray, deviations: FloatArray, changes: FloatArray
    ) -> tuple[AnyArray, AnyArray]:
        """Return the 95% interval of an estimate on the rows that T was estimated on.

        The errors of the estimate and of T are sums over the same rows, so they may cancel. With
        x_i(λ), the part of row i in both errors, and its score s_i(λ), the estimate that
        `profile_interval` uses is ``R(λ) - β Σ s_i``, whose variance ``Σ (x_i - β s_i)²`` is the
        smallest for β = Σ x_i s_i / Σ s_i². It is independent of W(λ) in large samples.

        Parameters
        ----------
        values : ndarray of shape (M,)
            R at each matrix of the profile.
        deviations : ndarray of shape (M, n)
            The part of each row in the sampling error of R.
        changes : ndarray of shape (R,)
            The change of R along each direction.
        """
        of_T = changes @ self.coefficients
        of_prior = max(float(changes @ changes - of_T @ of_T), 0.0)
        x = deviations + of_T
        squares = np.maximum((self.scores**2).sum(axis=1), _TINY)
        beta = (x * self.scores).sum(axis=1) / squares
        centers = values - beta * self.scores.sum(axis=1)
        variances = ((x - beta[:, None] * self.scores) ** 2).sum(axis=1) + of_prior
        return profile_interval(self.profile.statistic, centers, variances)


class Fit(NamedTuple):
    """A vector scaling: (s, b), and minus the log posterior of the labels."""

    parameters: FloatArray
    loss: float


class VectorScaling:
    """The likelihood of held-out labels, of pattern k each, at any T and vector scaling of p."""

    def __init__(
        self, logits: FloatArray, k: IntArray, weight: FloatArray, patterns: Patterns
    ) -> None:
        self.logits = logits - logits.mean(axis=1, keepdims=True)
        self.k, self.weight, self.patterns = k, weight, patterns
        self.precision = np.array([0.0] + [_BIAS_PRECISION] * logits.shape[1])

    def likelihoods(self, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the likelihood of each row's labels in each class, and what was divided out."""
        log_e = self.patterns.log_likelihoods(T)
        top = log_e.max(axis=1, keepdims=True)
        top[np.isneginf(top)] = 0
        return np.exp(log_e - top)[self.k], top[self.k, 0]

    def posterior(
        self, likelihoods: FloatArray, parameters: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return p, the posterior of the classes, and the likelihood of each row."""
        p = softmax(np.exp(parameters[0]) * self.logits + parameters[1:])
        joint = p * likelihoods
        evidence = joint.sum(axis=1)
        with np.errstate(invalid="ignore"):
            joint /= evidence[:, None]
        return p, joint, evidence

    def gradients(self, p: FloatArray, posterior: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the gradient of each row's -log likelihood with respect to (s, b)."""
        at_b = p - posterior
        at_s = np.exp(parameters[0]) * np.einsum("ny,ny->n", at_b, self.logits)
        return np.column_stack([at_s, at_b])

    def fit(self, T: FloatArray, start: FloatArray) -> Fit:
        """Return the likeliest vector scaling at T, by damped Newton steps."""
        likelihoods, top = self.likelihoods(T)

        def evaluate(parameters: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            p, posterior, evidence = self.posterior(likelihoods, parameters)
            with np.errstate(divide="ignore"):
                log_evidence = np.log(evidence) + top
            prior = float(self.precision @ parameters**2) / 2
            return prior - float(self.weight @ log_evidence), p, posterior

        damping, parameters = 1e-3, start
        loss, p, posterior = evaluate(parameters)
        for _ in range(_MOST_STEPS if math.isfinite(loss) else 0):
            rows = self.gradients(p, posterior, parameters)
            gradient = self.weight @ rows + self.precision * parameters
            # The outer product of gradients, which is never indefinite.
            curvature = (rows * self.weight[:, None]).T @ rows + np.diag(self.precision)
            diagonal = np.diag(np.diag(curvature) + _SMALLEST)
            while damping < _MOST_DAMPING:
                moved = parameters - np.linalg.solve(curvature + damping * diagonal, gradient)
                moved[0] = np.clip(moved[0], -LOG_SCALE_BOUND, LOG_SCALE_BOUND)
                tried = evaluate(moved)
                if tried[0] <= loss:
                    break
                damping = 4 * damping
            else:
                break
            decrease, parameters, damping = loss - tried[0], moved, damping / 5
            loss, p, posterior = tried
            if decrease < _SETTLED:
                break
        return Fit(parameters, loss)


class NoiseLevels(NamedTuple):
    """The noise levels that a likelihood-ratio test at the level 5% does not reject, ascending.

    Attributes
    ----------
    levels : ndarray of shape (M,)
        Both ends of the interval, the estimated level, and some levels between them.
    statistic : ndarray of shape (M,)
        W(λ) = 2 (ℓ(λ̃) - ℓ(λ)), at most 3.84. ℓ is the log posterior of the labels at the best
        vector scaling; it is highest at λ̃.
    scores : ndarray of shape (M, n)
        Of each row: the derivative of its log-likelihood with respect to λ, less what (s, b)
        explain of it. Their sum is the derivative of ℓ.
    """

    levels: FloatArray
    statistic: FloatArray
    scores: FloatArray


class NoiseWalk:
    """A walk over λ, from an estimate to both ends of its interval.

    Unequal weights reduce the effective number of labels, and so does an error of p.
    """

    def __init__(self, model: VectorScaling, T: FloatArray, center: float) -> None:
        self.model, self.T, self.center = model, T, center
        total = float(model.weight.sum())
        unequal = float(model.weight @ model.weight) / total if total > 0 else 1.0
        self.unit = _INFLATION * unequal
        self.fits: dict[float, Fit] = {}

    def visit(self, level: float) -> Fit:
        """Return the fit at a level, which begins with that of the nearest one."""
        if level not in self.fits:
            start = np.zeros(len(self.T) + 1)
            if self.fits:
                start = self.fits[min(self.fits, key=lambda other: abs(other - level))].parameters
            self.fits[level] = self.model.fit(with_uniform_noise(self.T, level), start)
        return self.fits[level]

    def statistic(self, level: float) -> float:
        """Return W(λ), against the best of the levels visited."""
        lowest = min(fit.loss for fit in self.fits.values())
        return 2 * (self.visit(level).loss - lowest) / self.unit

    def scores(self, level: float) -> FloatArray:
        """Return `NoiseLevels.scores` of a level."""
        model, (parameters, _) = self.model, self.visit(level)
        likelihoods, _ = model.likelihoods(with_uniform_noise(self.T, level))
        p, posterior, _ = model.posterior(likelihoods, parameters)
        around = max(level - _STEP, 0.0), min(level + _STEP, 1.0)
        logs = []
        for each in around:
            likelihoods, top = model.likelihoods(with_uniform_noise(self.T, each))
            logs.append(np.log(np.maximum((p * likelihoods).sum(axis=1), _TINY)) + top)
        score = (logs[1] - logs[0]) / (around[1] - around[0])
        rows = model.gradients(p, posterior, parameters)
        weighted = rows * model.weight[:, None]
        curvature = weighted.T @ rows + np.diag(model.precision + _SMALLEST)
        explained = rows @ np.linalg.solve(curvature, weighted.T @ score)
        return np.asarray(model.weight * (score - explained))

    def levels(self) -> NoiseLevels:
        """Return the levels of the interval."""
        self.visit(self.center)
        information = float(np.sum(self.scores(self.center) ** 2)) / self.unit
        first_step = min(_FIRST_STEP / math.sqrt(max(information, 1.0)), _LARGEST_STEP)
        for end in (0.0, 1.0):
            level, step = self.center, first_step
            while level != end and self._inside(level):
                level = min(level + step, 1.0) if end else max(level - step, 0.0)
                step *= _GROWTH
                self.visit(level)
        self._visit_best()
        for end in (0.0, 1.0):
            self._visit_crossing(end)
        limit = QUANTILE + _CLOSE
        kept = sorted({self.center} | {v for v in self.fits if self.statistic(v) <= limit})
        return NoiseLevels(
            np.array(kept),
            np.array([min(self.statistic(level), QUANTILE) for level in kept]),
            np.array([self.scores(level) for level in kept]),
        )

    def _inside(self, level: float) -> bool:
        return self.statistic(level) <= QUANTILE

    def _visit_best(self) -> None:
        """Visit the vertex of the parabola through the best level and its neighbours."""
        levels = sorted(self.fits)
        at = int(np.argmin([self.fits[level].loss for level in levels]))
        x = np.array(levels[max(at - 1, 0) : at + 2])
        losses = np.array([self.fits[level].loss for level in x])
        if len(x) == 3 and np.isfinite(losses).all():
            a, b, _ = np.polyfit(x - levels[at], losses, 2)
            if a > 0:
                self.visit(float(np.clip(levels[at] - b / (2 * a), x[0], x[-1])))

    def _visit_crossing(self, end: float) -> None:
        """Visit the level next to an end of the range at which W crosses 3.84."""
        outward = sorted(self.fits, reverse=end == 0)
        inside = max(i for i, level in enumerate(outward) if self._inside(level))
        if inside == len(outward) - 1:
            return
        near, far = outward[inside : inside + 2]
        for _ in range(_MOST_STEPS):
            roots = np.sqrt([self.statistic(near), self.statistic(far)])  # nearly linear in λ
            share = (math.sqrt(QUANTILE) - roots[0]) / (roots[1] - roots[0])
            level = near + (far - near) * (share if math.isfinite(roots[1]) else 0.5)
            self.visit(level)
            near, far = (level, far) if self._inside(level) else (near, level)
            if abs(self.statistic(level) - QUANTILE) < _CLOSE:
                return


def errors_of_noise(levels: NoiseLevels, T: FloatArray) -> HeldOutErrors:
    """Return the errors of (1-λ)T + λ/K."""
    matrices = [with_uniform_noise(T, level) for level in levels.levels[levels.levels < 1]]
    none = np.empty((0, *T.shape)), np.empty((0, levels.scores.shape[1]))
    return _errors(levels, np.array(matrices).reshape(-1, *T.shape), *none)


def errors_of_matrix(
    walk: NoiseWalk, levels: NoiseLevels, estimated: FloatArray, trust: float
) -> HeldOutErrors:
    """Return the errors of a T with the prior `trust` · ((1-λ)T + λ/K), at its best vector scaling.

    With W = log T, the gradients g_i of the rows' log-likelihoods with respect to θ = (s, b, W),
    and the curvature H = Σ g_i g_iᵀ + that of the prior, the error of θ at a fixed λ is
    H⁻¹ Σ g_i and an error of the prior, together of covariance H⁻¹. λ moves θ by the derivative
    H⁻¹ · trust · (1/K - T). To first order, dT[y] = T[y] ∘ (dW[y] - T[y]·dW[y]).
    """
    model, T = walk.model, walk.T
    K, n = len(T), len(model.k)
    estimated = estimated / estimated.sum(axis=1, keepdims=True)  # exactly, where trust is large
    likelihoods, _ = model.likelihoods(estimated)
    parameters, _ = model.fit(estimated, np.zeros(K + 1))
    p, posterior, _ = model.posterior(likelihoods, parameters)
    counts = model.patterns.counts[model.k]
    at_W = counts[:, None] - counts.sum(axis=1)[:, None, None] * estimated
    at_W = (at_W * posterior[:, :, None]).reshape(n, K * K)
    g = np.column_stack([-model.gradients(p, posterior, parameters), at_W])
    curvature = (g * model.weight[:, None]).T @ g
    start = K + 1
    curvature[np.diag_indices(start)] += model.precision
    for y, row in enumerate(estimated):
        at = slice(start + K * y, start + K * (y + 1))
        curvature[at, at] += trust * (np.diag(row) - np.outer(row, row))
    curvature[np.diag_indices(len(curvature))] += _RIDGE
    root = np.linalg.inv(np.linalg.cholesky(curvature)).T  # root @ root.T is the inverse

    def change_of(at_W: FloatArray) -> FloatArray:
        change = at_W.reshape(-1, K, K)
        mean = np.einsum("yk,ryk->ry", estimated, change)
        return np.asarray(estimated * (change - mean[:, :, None]))

    by_level = root[start:] @ (root[start:].T @ (trust * (1 / K - T)).ravel())
    (slope,) = change_of(by_level)
    changes = levels.levels[levels.levels < 1] - walk.center
    moved = np.maximum(estimated + changes[:, None, None] * slope, _SMALLEST)
    moved /= moved.sum(axis=2, keepdims=True)
    directions = change_of(root[start:].T) * math.sqrt(walk.unit)
    coefficients = (g * model.weight[:, None]) @ root / math.sqrt(walk.unit)
    return _errors(levels, moved, directions, coefficients.T)


def _errors(
    levels: NoiseLevels, matrices: FloatArray, directions: FloatArray, coefficients: FloatArray
) -> HeldOutErrors:
    """Return the errors of a T with those matrices at the levels below 1."""
    below = levels.levels < 1
    profile = TransitionProfile(matrices, levels.statistic[below], directions, bool(below[-1]))
    return HeldOutErrors(profile, levels.scores[below], coefficients)
