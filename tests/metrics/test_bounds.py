"""The complementary estimation loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ybar import metrics


def kl_by_loops(q, t):
    total = 0.0
    for a, b in zip(q, t, strict=True):
        if b > 0:
            total += b * (math.log(b) - math.log(a)) if a > 0 else math.inf
    return total


LOSSES = {
    "kl": ("kl", kl_by_loops),
    "l1": ("l1", lambda q, t: sum(abs(a - b) for a, b in zip(q, t, strict=True))),
    "l2": ("l2", lambda q, t: math.sqrt(sum((a - b) ** 2 for a, b in zip(q, t, strict=True)))),
    "chebyshev": ("chebyshev", lambda q, t: max(abs(a - b) for a, b in zip(q, t, strict=True))),
    "callable": (
        lambda q, t: (q - t) @ np.arange(len(t)) ** 2.0,  # q comes first
        lambda q, t: sum((a - b) * k**2 for k, (a, b) in enumerate(zip(q, t, strict=True))),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=30)
@given(data=st.data(), n=st.integers(2, 5), rows=st.integers(1, 6))
def test_the_estimation_loss_is_the_mean_loss_against_the_row_of_the_true_class(
    name, data, n, rows
):
    def distribution():
        weights = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any))
        return np.array(weights, dtype=float) / sum(weights)

    q = np.array([distribution() for _ in range(rows)])
    T = np.array([distribution() for _ in range(n)])
    y = data.draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows))
    loss, plain = LOSSES[name]
    expected = sum(plain(q[i], T[y[i]]) for i in range(rows)) / rows
    found = metrics.complementary_estimation_loss(y, q, T, loss=loss)
    if math.isinf(expected):
        assert found == math.inf
    else:
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
