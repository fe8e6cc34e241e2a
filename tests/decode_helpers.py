"""Slow plain references for decoders, and q and T to try them on."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy import special
from scipy.spatial import distance as scipy_distance

quick = settings(deadline=None, max_examples=60)
SEEDS = st.integers(0, 2**32 - 1)
METHODS = ["l1", "l2", "max", "likelihood"]


@st.composite
def distributions(draw, n, smallest=0):
    """Rows with exact zeros and ties, as counted probabilities have them."""
    weights = draw(st.lists(st.integers(smallest, 12), min_size=n, max_size=n).filter(any))
    return np.array(weights, dtype=float) / sum(weights)


@st.composite
def problems(draw, max_classes=5, max_rows=4):
    """Return q and T, both with zeros; T can be singular and have zero columns."""
    n = draw(st.integers(2, max_classes))
    q = np.array([draw(distributions(n)) for _ in range(draw(st.integers(1, max_rows)))])
    return q, np.array([draw(distributions(n)) for _ in range(n)])


def invertible(n, rng, condition=1e3):
    """Return a random T with a usable inverse, with a zero diagonal half of the time."""
    while True:
        T = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0])), n)
        if n > 2 and rng.random() < 0.5:
            np.fill_diagonal(T, 0)
            T /= T.sum(axis=1, keepdims=True)
        if np.linalg.cond(T) < condition:
            return T


def l1(u, v):
    return sum(abs(a - b) for a, b in zip(u, v, strict=True))


def l2(u, v):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True)))


def assert_nearest(decoded, q, T, d, tolerance=1e-9):
    """Check each class against the distances of all rows of T, one by one."""
    assert len(decoded) == len(q)
    for row, k in zip(q, decoded, strict=True):
        distances = [d(row, t) for t in T]
        assert distances[k] <= min(distances) + tolerance
        if sorted(distances)[1] > min(distances) + tolerance:
            assert k == distances.index(min(distances))


def normalised(q, T):
    """Leave labels out of account that no class can have under T."""
    q = np.where(T.max(axis=0) > 0, q, 0)
    total = q.sum(axis=1, keepdims=True)
    return np.divide(q, total, out=np.zeros_like(q), where=total > 0)


def log_likelihood(p, q, T):
    """Σ_k q[k] log (p T)[k] for each row, in loops."""
    n = len(T)
    out = []
    for p_row, q_row in zip(p, q, strict=True):
        total = 0.0
        for k in range(n):
            r = sum(p_row[y] * T[y, k] for y in range(n))
            if q_row[k] > 0:
                total += q_row[k] * math.log(r) if r > 0 else -math.inf
        out.append(total)
    return np.array(out)


def gaps(p, q, T):
    """Return max g - 1 with g = T (q / (p T)): no p can be better by more than that.

    For p* on the simplex, Σ q log(r*/r) ≤ log Σ q r*/r = log p*·g ≤ max g - 1.
    """
    out = []
    for p_row, q_row in zip(p, q, strict=True):
        r = [sum(p_row[y] * T[y, k] for y in range(len(T))) for k in range(len(T))]
        w = [q_row[k] / r[k] if q_row[k] > 0 else 0.0 for k in range(len(T))]
        out.append(max(sum(T[y, k] * w[k] for k in range(len(T))) for y in range(len(T))) - 1)
    return np.array(out)


def long_em(q, T, steps=20_000):
    """p ← p ∘ ((q / r) Tᵀ): slow, but sure to converge."""
    p = np.full(q.shape, 1 / len(T))
    for _ in range(steps):
        r = p @ T
        p = p * (np.divide(q, r, out=np.zeros_like(q), where=q > 0) @ T.T)
    return p / p.sum(axis=1, keepdims=True)


def assert_simplex(p, n_rows, n_classes):
    assert p.shape == (n_rows, n_classes)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)


def kl_by_loops(u, v):
    if any(b == 0 < a for a, b in zip(u, v, strict=True)):
        return math.inf
    return sum(a * math.log(a / b) for a, b in zip(u, v, strict=True) if a > 0)


CALLABLES = {
    "sums over the last axis": (lambda u, v: np.abs(u - v).sum(axis=-1), l1),
    "sums over everything": (lambda u, v: np.abs(u - v).sum(), l1),
    "norm of a vector": (lambda u, v: np.linalg.norm(u - v), l2),
    "python's sum": (lambda u, v: sum(abs(u - v)), l1),
    "python's max": (
        lambda u, v: max(abs(u - v)),
        lambda u, v: max(abs(a - b) for a, b in zip(u, v, strict=True)),
    ),
    "scipy's function": (scipy_distance.cityblock, l1),
    "KL, the last axis": (lambda u, v: special.rel_entr(u, v).sum(axis=-1), kl_by_loops),
    "KL, everything": (lambda u, v: special.rel_entr(u, v).sum(), kl_by_loops),
    "KL the other way": (
        lambda u, v: special.rel_entr(v, u).sum(axis=-1),
        lambda u, v: kl_by_loops(v, u),
    ),
}
