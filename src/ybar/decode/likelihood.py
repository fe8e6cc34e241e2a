"""The p on the simplex that explains q best under T: the maximum of Σ_k q[k] log r[k], r = p T.

With ``g = T (q / r)``, no other p has a log-likelihood that is higher by more than the *gap*
``max(g) - 1``, because log is concave. The gap certifies each row: p is returned once its gap is
below 1e-9 (in nats per label). There are four ways to p, the cheapest first:

1. T with one value on the diagonal and one off it has a closed form (`_water_filling`).
2. If q T⁻¹ has no negative entry, it is p.
3. Newton steps on faces of the simplex (`_newton_on_faces`), for all rows of a block together.
4. An interior-point method (`_interior_point`), which takes K³ operations per row and step, for the
   rare rows that step 3 leaves, such as those with q between 0 and 1e-15.

Step 3 maximises ``f(p) = Σ q log r - Σ p`` over p ≥ 0, whose solution sums to 1. Its gradient is
b = g - 1, and its Hessian -H, with ``H = T diag(q / r²) Tᵀ``. EM steps, p ← p ∘ g, come first.
A Newton step then maximises the quadratic model ``b·d - ½ dᵀHd`` over d ≥ -p:

- classes whose p falls to 0 are fixed there, and the others, the face, are solved by conjugate
  gradients, preconditioned by the diagonal of H. Classes that would become negative join the fixed
  ones, fixed classes with a positive gradient leave them, and the face is solved again;
- a search along the segment from p to p + d ends where f has stopped increasing.

H is never formed: ``Hs = ((s T) ∘ q/r²) Tᵀ`` are two products of matrices for all rows of a block.
They are computed in float32, since only the precision of the gradient limits that of p. Few classes
are on the face if q is rough, and H is well conditioned on a small face: ten products are typical.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import linalg

from .. import transition
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray

Solver: TypeAlias = Callable[[FloatArray], FloatArray]

_FEW_CLASSES = 100
_GAP, _GAP_OF_MANY_CLASSES = 1e-9, 1e-6
_EM_STEPS, _NEWTON_STEPS = 25, 40
_ROUNDS, _PRODUCTS = 10, 15  # of a Newton step: faces, and products with H on each
_RESIDUAL = 0.3  # of a Newton step, as a share of the gap
_WIDE = 10  # a common H⁻¹ is the preconditioner of faces without at most so many classes
_RIDGE = 1e-4
_DAMPING = np.float32(1e-4)
_HALVINGS = 10
_COMPRESS = 0.75  # share of rows in progress below which the others are dropped from the arrays
_INTERIOR_STEPS = 60
_INTERIOR_NUMBERS = 1 << 22  # in the K×K matrices of a block of rows
_LARGEST = np.float32(1e30)


def solver(T: FloatArray) -> tuple[Solver, int]:
    """Return the function from a block of q to p, and how many numbers per row it should count."""
    n_classes = len(T)
    ratio = _exchangeable(T)
    if ratio is not None:
        return lambda q: _water_filling(q, ratio), 8 * n_classes
    # Small blocks: the arrays of a Newton step should stay in the processor's cache.
    return _general_solver(T), 16 * n_classes


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


def _general_solver(T: FloatArray) -> Solver:
    n_classes = len(T)
    inverted = None if transition.is_singular(T) else np.asarray(linalg.inv(T))
    matrices = _matrices(T)
    gap = _GAP if n_classes <= _FEW_CLASSES else _GAP_OF_MANY_CLASSES
    interior_rows = max(1, _INTERIOR_NUMBERS // n_classes**2)

    def solve(q: FloatArray) -> FloatArray:
        # Labels that no class can have under T say nothing of p.
        q = np.where(T.max(axis=0) > 0, q, 0.0)
        total = q.sum(axis=1, keepdims=True)
        q = np.divide(q, total, out=np.zeros_like(q), where=total > 0)
        p = _start(q, T, inverted)
        # Rows that overflow float32, or whose r underflows, are left to the interior point.
        with np.errstate(all="ignore"):
            p, left = _newton_on_faces(q, p, T, matrices, gap)
        for start in range(0, len(left), interior_rows):
            rows = left[start : start + interior_rows]
            p[rows] = _interior_point(q[rows], T, gap)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    return solve


def _start(q: FloatArray, T: FloatArray, inverted: FloatArray | None) -> FloatArray:
    """Return q T⁻¹ without its negative part where it has a smaller gap than 1/K, else EM steps."""
    start = np.full(q.shape, 1 / len(T))
    p, far = start.copy(), q.any(axis=1)
    if inverted is not None:
        guess = np.maximum(q @ inverted, 0.0)
        total = guess.sum(axis=1, keepdims=True)
        guess = np.divide(guess, total, out=start.copy(), where=total > 0)
        near = far & (_gaps(q, guess, T) < _gaps(q, start, T))
        p[near] = guess[near]
        far &= ~near
    q, start = q[far], start[far]
    for _ in range(_EM_STEPS):
        start *= _ratio(q, start @ T) @ T.T
    p[far] = start
    return p


def _gaps(q: FloatArray, p: FloatArray, T: FloatArray) -> FloatArray:
    r = p @ T
    gap = (_ratio(q, np.where(r > 0, r, 1.0)) @ T.T).max(axis=1) - 1
    return np.where(((q > 0) & (r <= 0)).any(axis=1), np.inf, gap)


def _ratio(q: AnyArray, r: AnyArray) -> AnyArray:
    """Return q / r, 0 where q is 0."""
    return np.divide(q, r, out=np.zeros_like(q), where=q > 0)


def _dot(a: AnyArray, b: AnyArray) -> AnyArray:
    return np.asarray(np.einsum("ij,ij->i", a, b))


class _Matrices(NamedTuple):
    """T in float32, and what depends on T only."""

    T: AnyArray
    squares: AnyArray
    inverse: AnyArray


def _matrices(T: FloatArray) -> _Matrices:
    """Return T, its squares, and H⁻¹ at the q and r of p = 1/K, where H could be singular."""
    single = T.astype(np.float32)
    mean = T.mean(axis=0)
    hessian = np.divide(T, mean, out=np.zeros_like(T), where=mean > 0) @ T.T
    hessian[np.diag_indices_from(hessian)] += _RIDGE * np.trace(hessian) / len(T)
    return _Matrices(single, single * single, linalg.inv(hessian).astype(np.float32))


def _newton_on_faces(
    q: FloatArray, p: FloatArray, T: FloatArray, matrices: _Matrices, gap: float
) -> tuple[FloatArray, IntArray]:
    """Return p, and the rows whose gap is still too large."""
    out = p.copy()
    left = np.arange(len(q))
    for _ in range(_NEWTON_STEPS):
        r = p @ T
        w = _ratio(q, r)
        g = w @ T.T
        gaps = g.max(axis=1) - 1
        done = gaps <= gap
        if done.any():
            out[left[done]] = p[done]
            left, q, p, r, w, g, gaps = (a[~done] for a in (left, q, p, r, w, g, gaps))
        if len(left) == 0:
            break
        residual = np.maximum(_RESIDUAL * gaps, 0.3 * gap).astype(np.float32)
        c = np.minimum(_ratio(w, r), _LARGEST).astype(np.float32)
        d = _newton_step(p, g - 1, c, residual, matrices)
        length = _step_length(q, r, g - 1, d, T)
        # Rows without progress make an EM step, which never lowers the likelihood.
        p = np.where(length > 0, np.maximum(p + length * d, 0.0), p * g)
        p /= p.sum(axis=1, keepdims=True)
    out[left] = p
    return out, left


def _newton_step(
    p: FloatArray, b: FloatArray, c: AnyArray, residual: AnyArray, matrices: _Matrices
) -> FloatArray:
    """Return the d ≥ -p that maximises b·d - ½ dᵀHd with H = T diag(c) Tᵀ, roughly.

    A row is solved once its gradient b - Hd is at most `residual`: above it for no class, and below
    -residual only for classes at -p.
    """
    T = matrices.T
    diagonal = np.maximum(c @ matrices.squares.T, 1 / _LARGEST)
    lowest, gradient = -p.astype(np.float32), b.astype(np.float32)
    face = gradient > lowest * diagonal
    d = np.where(face, np.float32(0), lowest)
    rows = np.arange(len(p))
    for again in range(_ROUNDS):
        rest = gradient[rows] - ((d[rows] @ T) * c[rows]) @ T.T
        if again:
            face = (d[rows] > lowest[rows]) | (rest > 0)
        rest *= face
        unsolved = np.abs(rest).max(axis=1) > residual[rows]
        rows, rest, face = rows[unsolved], rest[unsolved], face[unsolved]
        if len(rows) == 0:
            break
        wide = (~face).sum(axis=1) <= _WIDE
        for some, inverse in ((~wide, None), (wide, matrices.inverse)):
            part = rows[some]
            step = _conjugate_gradients(
                rest[some], diagonal[part], face[some], c[part], residual[part], T, inverse
            )
            d[part] = np.maximum(d[part] + step, lowest[part])
    return np.where(d <= lowest, -p, np.maximum(d, -p))


def _conjugate_gradients(
    rest: AnyArray,
    diagonal: AnyArray,
    face: BoolArray,
    c: AnyArray,
    residual: AnyArray,
    T: AnyArray,
    inverse: AnyArray | None,
) -> AnyArray:
    """Solve H x = rest on the face of each row, until no entry differs by more than `residual`.

    The preconditioner is `inverse`, or the diagonal of H. A small multiple of the diagonal is added
    to H, because H is singular on faces with more classes than q has positive entries.
    """
    out = np.zeros_like(rest)
    rows = np.arange(len(rest))
    x, s, rho = out.copy(), out.copy(), np.ones(len(rest), dtype=np.float32)
    for _ in range(_PRODUCTS):
        going = np.abs(rest).max(axis=1, initial=0) > residual
        if going.mean() < _COMPRESS if len(rows) else True:
            out[rows] = x
            arrays = (rows, x, s, rho, rest, diagonal, face, c, residual, going)
            rows, x, s, rho, rest, diagonal, face, c, residual, going = (a[going] for a in arrays)
            if len(rows) == 0:
                return out
        z = rest / diagonal if inverse is None else (rest @ inverse) * face
        before, rho = rho, _dot(rest, z)
        s = z + np.divide(rho, before, out=np.zeros_like(rho), where=before > 0)[:, None] * s
        image = (((s @ T) * c) @ T.T + _DAMPING * diagonal * s) * face
        curvature = _dot(s, image)
        length = np.divide(rho, curvature, out=np.zeros_like(rho), where=going & (curvature > 0))
        x += length[:, None] * s
        rest -= length[:, None] * image
    out[rows] = x
    return out


def _step_length(
    q: FloatArray, r: FloatArray, b: FloatArray, d: FloatArray, T: FloatArray
) -> FloatArray:
    """Return how far to go along d, from 0 to 1: f rises all the way, or as far as about its top.

    f is concave, so its slope decreases along the segment. The search halves an interval until the
    slope is at most half of the first one in size.
    """
    change = d @ T
    total, first = d.sum(axis=1), _dot(b, d)
    low, length = np.zeros(len(q)), np.where(first > 0, 1.0, 0.0)
    high = length.copy()
    left = np.flatnonzero(first > 0)
    for halving in range(_HALVINGS):
        at = r[left] + length[left, None] * change[left]
        slope = _dot(_ratio(q[left], np.where(at > 0, at, 1.0)), change[left]) - total[left]
        slope[((q[left] > 0) & (at <= 0)).any(axis=1)] = -np.inf
        enough = slope >= -0.5 * first[left]
        if halving:
            enough &= slope <= 0.5 * first[left]
        high[left] = np.where(slope < 0, length[left], high[left])
        low[left] = np.where(slope > 0, length[left], low[left])
        left = left[~enough]
        length[left] = (low[left] + high[left]) / 2
    length[left] = low[left]
    return length[:, None]


def _interior_point(q: FloatArray, T: FloatArray, gap: float) -> FloatArray:
    """Maximise f over p ≥ 0 by a primal-dual interior-point method, without approximations.

    z are the multipliers of p ≥ 0, and each step solves
    ``(T diag(q/r²) Tᵀ + diag(z/p)) dp = g - 1 + μ/p`` with r = pT, g = (q/r)Tᵀ.
    """
    n, n_classes = q.shape
    diagonal = np.arange(n_classes)
    out = np.empty_like(q)
    left = np.arange(n)
    p = np.full((n, n_classes), 1 / n_classes)
    z = np.ones((n, n_classes))
    for _ in range(_INTERIOR_STEPS):
        r = p @ T
        w = _ratio(q, r)
        g = w @ T.T
        done = g.max(axis=1) * p.sum(axis=1) - 1 <= gap
        if done.any():
            out[left[done]] = p[done]
            left, q, p, z, r, w, g = (a[~done] for a in (left, q, p, z, r, w, g))
            if len(left) == 0:
                return out
        barrier = 0.1 * np.mean(p * z, axis=1, keepdims=True) / p
        hessian = (T * _ratio(w, r)[:, None, :]) @ T.T
        hessian[:, diagonal, diagonal] += z / p
        dp = np.linalg.solve(hessian, (g - 1 + barrier)[..., None])[..., 0]
        dz = barrier - z - z / p * dp
        p = p + _inside(p, dp) * dp
        z = z + _inside(z, dz) * dz
    out[left] = p
    return out


def _inside(value: FloatArray, change: FloatArray) -> FloatArray:
    """Return the largest step up to 1 that keeps 1% of the distance to 0."""
    furthest = np.max(-change / value, axis=1, keepdims=True)
    return np.asarray(0.99 / np.maximum(furthest, 0.99))
