"""SCEL and URE are what their formulas say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from metrics_helpers import invertible, random_mask
from ybar import metrics, transition

quick = settings(deadline=None, max_examples=40)


SEEDS = st.integers(0, 2**32 - 1)


@quick
@given(seed=SEEDS, n=st.integers(2, 8), rows=st.integers(1, 30))
def test_scel_is_the_mean_of_minus_log_q_of_the_label(seed, n, rows):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(n), rows)
    y = rng.integers(0, n, rows)
    expected = sum(-math.log(q[i, y[i]]) for i in range(rows)) / rows
    assert math.isclose(metrics.scel(y, q), expected, rel_tol=1e-12)
    assert math.isclose(metrics.scel(y.tolist(), q.tolist()), expected, rel_tol=1e-12)


@quick
@given(seed=SEEDS, n=st.integers(2, 8), rows=st.integers(2, 30))
def test_scel_is_scikit_learns_log_loss_with_or_without_weights(seed, n, rows):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(n), rows) * 0.99 + 0.01 / n
    q /= q.sum(axis=1, keepdims=True)
    y, weights = rng.integers(0, n, rows), rng.random(rows) + 0.01
    assert math.isclose(metrics.scel(y, q), log_loss(y, q, labels=range(n)), rel_tol=1e-9)
    assert math.isclose(
        metrics.scel(y, q, sample_weight=weights),
        log_loss(y, q, labels=range(n), sample_weight=weights),
        rel_tol=1e-9,
    )


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(1, 15))
def test_scel_counts_every_label_of_a_boolean_row_once(seed, n, rows):
    rng = np.random.default_rng(seed)
    q, mask = rng.dirichlet(np.ones(n), rows), random_mask(rows, n, rng)
    losses = [-math.log(q[i, k]) for i in range(rows) for k in range(n) if mask[i, k]]
    assert math.isclose(metrics.scel(mask, q), sum(losses) / len(losses), rel_tol=1e-12)


def test_scel_is_infinite_where_a_label_had_no_chance_and_finite_if_zero_counts_as_something():
    q = np.array([[0.0, 1.0], [0.5, 0.5]])
    assert metrics.scel([0, 1], q) == math.inf
    mean, error = metrics.scel([0, 1], q, return_std_error=True)
    assert mean == math.inf
    assert math.isnan(error)
    expected = (-math.log(1e-3) - math.log(0.5)) / 2
    assert math.isclose(metrics.scel([0, 1], q, zero_as=1e-3), expected)
    # Such a row of weight 0 does not count.
    assert math.isclose(metrics.scel([0, 1], q, sample_weight=[0, 2]), math.log(2))
    # A zero that no label met does not count either, nor does any other probability change.
    assert math.isclose(metrics.scel([1, 1], q, zero_as=1e-3), math.log(2) / 2)
    tiny = np.array([[1e-12, 1 - 1e-12], [0.5, 0.5]])
    expected = (-math.log(1e-12) - math.log(0.5)) / 2
    assert math.isclose(metrics.scel([0, 1], tiny, zero_as=1e-3), expected)


@pytest.mark.parametrize("zero_as", [-0.1, 1.5, math.nan, "0"])
def test_zero_counts_as_a_probability_or_not_at_all(zero_as):
    with pytest.raises(ValueError, match="zero_as must be a probability"):
        metrics.scel([0], [[0.5, 0.5]], zero_as=zero_as)


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(1, 20), several=st.booleans())
def test_ure_is_the_mean_of_the_inverse_rows_over_the_wrong_classes(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    inverse = np.linalg.inv(T)
    y_pred = rng.integers(0, n, rows)
    y_comp = random_mask(rows, n, rng) if several else rng.integers(0, n, rows)
    pairs = (
        [(i, k) for i in range(rows) for k in range(n) if y_comp[i, k]]
        if several
        else list(enumerate(y_comp))
    )
    total = sum(inverse[ybar, k] for i, ybar in pairs for k in range(n) if k != y_pred[i])
    found = metrics.ure_zero_one(y_comp, y_pred, T)
    assert math.isclose(found, total / len(pairs), rel_tol=1e-8, abs_tol=1e-8)


@quick
@given(
    n=st.integers(2, 12),
    data=st.data(),
    rows=st.integers(1, 20),
)
def test_ure_under_uniform_T_is_K_minus_one_times_the_share_of_predicted_labels(n, data, rows):
    column = st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows)
    y_comp, y_pred = data.draw(column), data.draw(column)
    share = sum(a == b for a, b in zip(y_comp, y_pred, strict=True)) / rows
    found = metrics.ure_zero_one(y_comp, y_pred, transition.uniform(n))
    assert math.isclose(found, (n - 1) * share, rel_tol=1e-9, abs_tol=1e-9)


def test_ure_with_a_singular_T_warns_and_uses_the_pseudo_inverse():
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    with pytest.warns(UserWarning, match="singular, so its pseudo-inverse is used") as record:
        found = metrics.ure_zero_one([0, 1, 2, 2], [0, 1, 2, 0], T)
    assert record[0].filename == __file__
    pseudo = np.linalg.pinv(T)
    rows = zip([0, 1, 2, 2], [0, 1, 2, 0], strict=True)
    expected = sum(pseudo[c, k] for c, y in rows for k in range(3) if k != y) / 4
    assert math.isclose(found, expected, abs_tol=1e-12)
