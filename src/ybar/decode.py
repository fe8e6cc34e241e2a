"""Decode complementary probabilities q with T, into a class or into class probabilities p.

``q[i, k] = P(ȳ = k given x_i)`` and, if labels follow T, ``q = p T`` (row vectors). Everything is
computed with numpy in blocks of rows, so that no array of size N×K×K is ever allocated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from . import transition
from .transition.checking import check_for_labels
from .utils import checks
from .utils.distances import pairwise
from .utils.typing import AnyArray, FloatArray, IntArray

__all__ = ["class_probabilities", "decode", "inverse"]

Method: TypeAlias = str | Callable[[Any, Any], Any]

METHODS = ("l1", "l2", "max", "likelihood")

_BLOCK_NUMBERS = 1 << 22  # float64 numbers a temporary array may hold: 32 MB
_SUM_TOLERANCE = 1e-3  # rows of float32 models with many classes differ from 1 by about this
_NEWTON_CLASSES = 100  # for more, a Newton step (K³ operations) costs more than many EM steps
_NEWTON_GAP, _NEWTON_STEPS = 1e-9, 60
_EM_GAP, _EM_STEPS = 1e-5, 300


def decode(q: ArrayLike, T: ArrayLike, method: Method = "l1") -> IntArray:
    """Return the class of each row of q.

    Parameters
    ----------
    q : array-like of shape (N, K)
        Complementary probabilities.
    T : array-like of shape (K, K)
        Transition matrix.
    method : {"l1", "l2", "max", "likelihood"} or callable
        - "l1", "l2": the class whose row of T is nearest to q;
        - "max": argmax of q T⁻¹; if T is singular, its pseudo-inverse is used, with a warning;
        - "likelihood": argmax of `class_probabilities`;
        - a callable of two vectors, q and a row of T, that returns their distance.

    Returns
    -------
    ndarray of shape (N,)
        Class indices. Ties, to within rounding, are broken arbitrarily.

    Notes
    -----
    With uniform T, all four named methods equal argmin_k q[k], which is then used.

    Examples
    --------
    >>> from ybar import decode, transition
    >>> decode.decode([[0.5, 0.1, 0.4]], transition.uniform(3))
    array([1])
    """
    array, probabilities = _check(q, T)
    check_method(method)
    if isinstance(method, str) and transition.is_uniform(array):
        return np.asarray(probabilities.argmin(axis=1))
    return _in_blocks(
        probabilities, np.empty(len(probabilities), dtype=np.intp), *_decider(array, method)
    )


def check_method(method: Method, *, name: str = "method") -> None:
    """Check that `method` is a decoder."""
    known = isinstance(method, str) and method in METHODS
    if not known and not callable(method):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, METHODS))} or a callable distance; "
            f"got {checks.shown(method)}"
        )


def _decider(T: FloatArray, method: Method) -> tuple[Callable[[FloatArray], IntArray], int]:
    """Return the function that decodes a block, and how many numbers it allocates per row."""
    if method == "likelihood":
        solve, numbers_per_row = _solver(T)
        return lambda q: solve(q).argmax(axis=1), numbers_per_row
    if method == "max":
        inverted = inverse(T, stacklevel=4)
        return lambda q: (q @ inverted).argmax(axis=1), len(T)
    if method == "l2":
        # ‖q - t‖² = ‖q‖² - 2 q·t + ‖t‖², and ‖q‖² is the same for every class.
        squares = (T * T).sum(axis=1)
        return lambda q: (squares - 2 * (q @ T.T)).argmin(axis=1), len(T)
    return lambda q: pairwise(q, T, method, name="method").argmin(axis=1), len(T)


def class_probabilities(q: ArrayLike, T: ArrayLike) -> FloatArray:
    """Return the most likely p on the simplex for q under T.

    p maximises ``Σ_k q[k] log (p T)[k]``, the log-likelihood of complementary labels observed with
    the frequencies q; the problem is concave. If q T⁻¹ has no negative entry, p is q T⁻¹.

    Parameters
    ----------
    q : array-like of shape (N, K)
        Complementary probabilities; zeros are allowed.
    T : array-like of shape (K, K)
        Transition matrix, singular or not.

    Returns
    -------
    ndarray of shape (N, K)
        Rows are non-negative and sum to 1.

    Notes
    -----
    Matrices with one value on the diagonal and one off it (uniform, with or without uniform
    noise) have a closed form. For other matrices a primal-dual interior-point method solves all
    rows of a block together, until the log-likelihood is within 1e-9 of its maximum: with
    ``g = T (q / (p T))`` the gap is at most max(g) - 1. Above 100 classes, where each step would
    take K³ operations per row, p is an approximation: accelerated EM runs until the gap is below
    1e-5 (in nats per label), or for 300 steps.

    The part of q on labels that no class can have under T (a zero column) is ignored.

    Examples
    --------
    >>> from ybar import decode, transition
    >>> decode.class_probabilities([[0.5, 0.1, 0.4]], transition.uniform(3))
    array([[0. , 0.8, 0.2]])
    """
    array, probabilities = _check(q, T)
    return _in_blocks(probabilities, np.empty(probabilities.shape), *_solver(array))


def inverse(T: ArrayLike, *, stacklevel: int = 2) -> FloatArray:
    """Return T⁻¹, or the pseudo-inverse with a warning if T is singular.

    Examples
    --------
    >>> from ybar import decode, transition
    >>> decode.inverse(transition.uniform(3)).round(6)
    array([[-1.,  1.,  1.],
           [ 1., -1.,  1.],
           [ 1.,  1., -1.]])
    """
    array = transition.check(T)
    if transition.is_singular(array):
        warnings.warn(
            "T is singular, so its pseudo-inverse is used: results that need T⁻¹ (the 'max' "
            "decoder, URE) are biased. Prefer the 'l1' or 'likelihood' decoder and SCEL",
            UserWarning,
            stacklevel=stacklevel,
        )
        return np.asarray(np.linalg.pinv(array))
    return np.asarray(linalg.solve(array, np.eye(len(array))))


def check_probabilities(q: ArrayLike, n_classes: int | None = None, *, name: str = "q") -> AnyArray:
    """Return q as a float array of shape (N, K) whose rows are distributions.

    Without `n_classes`, K may be any number from 2 on. float32 stays float32, so that a large q is
    not copied; blocks are converted when used.
    """
    array = checks.array_of_numbers(q, f"{name} must be an N×K array of probabilities")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    n_columns = array.shape[1] if array.ndim == 2 else 0
    if n_columns < 2 or n_columns != (n_classes or n_columns):
        columns = f"(N, {n_classes}), one column for each class"
        if n_classes is None:
            columns = "(N, K), one column for each of at least 2 classes"
        raise ValueError(f"{name} must have shape {columns}; got {array.shape}")
    if array.size == 0:
        return array
    with np.errstate(invalid="ignore"):
        sums = array.sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all():
        raise ValueError(
            f"{name} must hold finite probabilities; row {int(np.argmin(np.isfinite(sums)))} has "
            "NaN or infinity. Check the model that made it"
        )
    if array.min() < 0:
        row = int(np.argmin(array.min(axis=1)))
        raise ValueError(
            f"{name} must hold probabilities, so none below 0; got {array[row].min():g} in row "
            f"{row}. Turn scores into probabilities first, for example by softmax"
        )
    row = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[row] - 1) > _SUM_TOLERANCE:
        raise ValueError(
            f"{name} must have rows that sum to 1; row {row} sums to {sums[row]:.6g}. "
            "Divide each row by its sum if they are counts or scores"
        )
    return array


def _check(q: ArrayLike, T: ArrayLike) -> tuple[FloatArray, AnyArray]:
    array = check_for_labels(T, q)
    return array, check_probabilities(q, len(array))


def _in_blocks(
    q: AnyArray, out: AnyArray, function: Callable[[FloatArray], AnyArray], numbers_per_row: int
) -> AnyArray:
    """Fill `out` with the function of q, computed in blocks of rows."""
    step = max(1, _BLOCK_NUMBERS // numbers_per_row)
    for start in range(0, len(q), step):
        rows = slice(start, start + step)
        out[rows] = function(q[rows].astype(np.float64, copy=False))
    return out


def _solver(T: FloatArray) -> tuple[Callable[[FloatArray], FloatArray], int]:
    """Return the function that solves a block, and how many numbers it allocates per row."""
    n_classes = len(T)
    ratio = _exchangeable(T)
    if ratio is not None:
        return lambda q: _water_filling(q, ratio), 8 * n_classes
    inverted = None if transition.is_singular(T) else np.asarray(linalg.inv(T))
    if n_classes <= _NEWTON_CLASSES:
        return lambda q: _maximise(q, T, inverted, _newton), 2 * n_classes * n_classes
    return lambda q: _maximise(q, T, inverted, _accelerated_em), 8 * n_classes


def _exchangeable(T: FloatArray) -> float | None:
    """Return b/(b-a) if T is a on the diagonal and b > a off it, else None."""
    n = len(T)
    a = float(np.diag(T).mean())
    b = (1 - a) / (n - 1)
    if b - a < 1e-9:
        return None
    flat = np.full((n, n), b)
    np.fill_diagonal(flat, a)
    return b / (b - a) if np.abs(T - flat).max() <= 1e-9 else None


def _water_filling(q: FloatArray, ratio: float) -> FloatArray:
    """Solve the likelihood for T = b + (a-b)I in closed form.

    For this T, (p T)[k] = b - (b-a) p[k], and the optimum is p[k] = max(0, ratio - q[k]/c), where
    Σ p = 1 determines c: classes are added in ascending order of q while their p is positive.
    """
    n_classes = q.shape[1]
    ordered = np.sort(q, axis=1)
    kept = np.arange(1, n_classes + 1)
    # With m classes kept, m·ratio - Σq/c = 1; the m-th stays positive while ratio·c > q.
    cumulative = np.cumsum(ordered, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        inverse_c = np.divide(
            kept * ratio - 1, cumulative, out=np.full_like(q, np.inf), where=cumulative > 0
        )
        positive = (ratio - ordered * inverse_c >= 0) | (kept == 1)
    m = n_classes - np.argmax(positive[:, ::-1], axis=1)
    scale = inverse_c[np.arange(len(q)), m - 1]
    split = np.isinf(scale)
    smallest = q <= ordered[np.arange(len(q)), m - 1][:, None]
    p = np.maximum(ratio - q * np.where(split, 0.0, scale)[:, None], 0.0) * smallest
    # If some q are 0, these classes share the mass: every split explains q equally well.
    p[split] = smallest[split]
    return np.asarray(p / p.sum(axis=1, keepdims=True))


Solver: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


def _maximise(
    q: FloatArray, T: FloatArray, inverted: FloatArray | None, solver: Solver
) -> FloatArray:
    n_classes = len(T)
    possible = T.max(axis=0) > 0
    if not possible.all():
        q = np.where(possible, q, 0.0)
    total = q.sum(axis=1, keepdims=True)
    q = np.divide(q, total, out=np.zeros_like(q), where=total > 0)
    p = np.full((len(q), n_classes), 1 / n_classes)
    informative = total[:, 0] > 0
    if inverted is not None:
        # If q T⁻¹ is on the simplex, up to rounding, it is the optimum.
        guess = np.maximum(q @ inverted, 0.0)
        total = guess.sum(axis=1, keepdims=True)
        guess = np.divide(guess, total, out=np.full_like(q, 1 / n_classes), where=total > 0)
        r = guess @ T
        possible_at_all = ~((q > 0) & (r == 0)).any(axis=1)
        gap = (_ratio(q, np.where(r == 0, 1.0, r)) @ T.T).max(axis=1) - 1
        exact = informative & possible_at_all & (gap <= _NEWTON_GAP)
        p[exact] = guess[exact]
        informative &= ~exact
    if informative.any():
        p[informative] = solver(q[informative], T)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _ratio(q: FloatArray, r: FloatArray) -> FloatArray:
    return np.divide(q, r, out=np.zeros_like(q), where=q > 0)


def _newton(q: FloatArray, T: FloatArray) -> FloatArray:
    """Maximise Σ q log(pT) - Σ p over p ≥ 0; the solution sums to 1 without a constraint.

    Primal-dual interior point: z are the multipliers of p ≥ 0, and each step solves
    ``(T diag(q/r²) Tᵀ + diag(z/p)) dp = g - 1 + μ/p`` with r = pT, g = (q/r)Tᵀ.
    """
    n, n_classes = q.shape
    diagonal = np.arange(n_classes)
    out = np.empty_like(q)
    left = np.arange(n)
    p = np.full((n, n_classes), 1 / n_classes)
    z = np.ones((n, n_classes))
    for _ in range(_NEWTON_STEPS):
        r = p @ T
        w = _ratio(q, r)
        g = w @ T.T
        done = g.max(axis=1) * p.sum(axis=1) - 1 <= _NEWTON_GAP
        if done.any():
            out[left[done]] = p[done]
            go_on = ~done
            left = left[go_on]
            q, p, z, r, w, g = (a[go_on] for a in (q, p, z, r, w, g))
            if len(left) == 0:
                return out
        barrier = 0.1 * np.mean(p * z, axis=1, keepdims=True) / p
        hessian = (T * _ratio(w, r)[:, None, :]) @ T.T
        hessian[:, diagonal, diagonal] += z / p
        dp = np.linalg.solve(hessian, (g - 1 + barrier)[..., None])[..., 0]
        dz = barrier - z - z / p * dp
        p = p + _step_length(p, dp) * dp
        z = z + _step_length(z, dz) * dz
    out[left] = p
    return out


def _step_length(value: FloatArray, change: FloatArray) -> FloatArray:
    """Return the largest step up to 1 that keeps 1% of the distance to 0."""
    furthest = np.max(-change / value, axis=1, keepdims=True)
    return np.asarray(0.99 / np.maximum(furthest, 0.99))


def _accelerated_em(q: FloatArray, T: FloatArray) -> FloatArray:
    """Maximise Σ q log(pT) on the simplex by EM, p ← p ∘ ((q/r)Tᵀ), with extrapolation.

    Two EM steps are extrapolated by SQUAREM (Varadhan & Roland 2008); rows whose likelihood the
    extrapolation lowers keep their EM step.
    """

    def em(q: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        r = p @ T
        g = _ratio(q, r) @ T.T
        log_likelihood = np.sum(q * np.log(r, out=np.zeros_like(r), where=q > 0), axis=1)
        return p * g, g.max(axis=1) - 1, log_likelihood

    out = np.empty_like(q)
    left = np.arange(len(q))
    p = np.full_like(q, 1 / q.shape[1])
    longest = np.full((len(q), 1), 4.0)
    for _ in range(_EM_STEPS // 3):
        first, gap, _ = em(q, p)
        done = gap <= _EM_GAP
        if done.any():
            out[left[done]] = p[done]
            go_on = ~done
            left = left[go_on]
            q, p, first, longest = (a[go_on] for a in (q, p, first, longest))
            if len(left) == 0:
                return out
        second, _, before = em(q, first)
        change = first - p
        bend = second - first - change
        bent = np.linalg.norm(bend, axis=1, keepdims=True)
        moved = np.linalg.norm(change, axis=1, keepdims=True)
        step = np.clip(np.divide(moved, bent, out=np.ones_like(bent), where=bent > 0), 1, longest)
        far = np.maximum(p + 2 * step * change + step**2 * bend, 0.01 * second)
        third, _, after = em(q, far / far.sum(axis=1, keepdims=True))
        worse = (after < before)[:, None]
        p = np.where(worse, second, third)
        p /= p.sum(axis=1, keepdims=True)
        longest = np.where(worse, np.maximum(longest / 2, 1), longest)
        longest = np.where(~worse & (step == longest), 4 * longest, longest)
    out[left] = p
    return out
