"""Transition matrices for tests: of every kind, and drawn by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ybar import transition

ALL_K = range(2, 41)
MASSES = {
    "weak": (0.45, 0.30, 0.25),
    "strong": (0.75, 0.24, 0.01),
    "two parts": (0.9, 0.1),
    "one part": (1.0,),
    "four parts": (0.4, 0.3, 0.2, 0.1),
}


@st.composite
def distributions(draw, n):
    """Rows with exact zeros and ties, as real tables have them."""
    weights = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n).filter(any))
    return np.array(weights, dtype=float) / sum(weights)


@st.composite
def transitions(draw, max_classes=5):
    n = draw(st.integers(2, max_classes))
    return np.array([draw(distributions(n)) for _ in range(n)])


def build(kind, n, random_state=0):
    if kind == "uniform":
        return transition.uniform(n)
    if kind in ("weak", "strong"):
        return getattr(transition, kind)(n, random_state)
    return transition.biased(n, MASSES[kind], random_state)
