"""Standard errors and weights of means over labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics_helpers import invertible, random_mask
from ybar import labels, metrics, transition

quick = settings(deadline=None, max_examples=40)


SEEDS = st.integers(0, 2**32 - 1)


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(2, 40))
def test_with_one_label_a_row_the_standard_error_is_that_of_a_mean(seed, n, rows):
    rng = np.random.default_rng(seed)
    q, y, y_pred = (
        rng.dirichlet(np.ones(n), rows),
        rng.integers(0, n, rows),
        rng.integers(0, n, rows),
    )
    losses = np.array([-math.log(q[i, y[i]]) for i in range(rows)])
    mean, error = metrics.scel(y, q, return_std_error=True)
    assert math.isclose(mean, losses.mean(), rel_tol=1e-12)
    assert math.isclose(error, losses.std(ddof=1) / math.sqrt(rows), rel_tol=1e-9, abs_tol=1e-15)
    T = invertible(n, rng)
    inverse = np.linalg.inv(T)
    losses = np.array(
        [sum(inverse[y[i], k] for k in range(n) if k != y_pred[i]) for i in range(rows)]
    )
    mean, error = metrics.ure_zero_one(y, y_pred, T, return_std_error=True)
    assert math.isclose(mean, losses.mean(), rel_tol=1e-8, abs_tol=1e-8)
    assert math.isclose(error, losses.std(ddof=1) / math.sqrt(rows), rel_tol=1e-7, abs_tol=1e-8)


def test_a_single_row_has_no_standard_error():
    for y in ([1], np.array([[True, False, True]])):
        mean, error = metrics.scel(y, [[0.2, 0.3, 0.5]], return_std_error=True)
        assert math.isfinite(mean)
        assert math.isnan(error)


def test_the_standard_error_is_calibrated_where_rows_have_several_labels():
    """Labels of a row share its model's mistake: the naive error over labels is far too small."""
    rng = np.random.default_rng(0)
    n, rows, trials = 6, 150, 1500
    means, errors, naive = [], [], []
    for _ in range(trials):
        good = rng.random(rows) < 0.5
        flat = np.full((rows, n), 1 / n)
        peaked = np.full((rows, n), 0.004)
        peaked[:, 0] = 1 - 0.004 * (n - 1)
        q = np.where(good[:, None], flat, peaked)
        mask = np.zeros((rows, n), dtype=bool)
        for k in range(1, n):
            mask[:, k] = rng.random(rows) < 0.7
        mask[rng.random(rows) < 0.1] = False
        mean, error = metrics.scel(mask, q, return_std_error=True)
        losses = -np.log(q[mask])
        means.append(mean)
        errors.append(error)
        naive.append(losses.std(ddof=1) / math.sqrt(len(losses)))
    spread = np.std(means, ddof=1)
    allowed = 5 / math.sqrt(2 * trials)  # relative standard error of a standard deviation: 1/√(2n)
    assert abs(np.mean(errors) / spread - 1) < allowed
    assert abs(np.mean(naive) / spread - 1) > 3 * allowed
    centre = np.mean(means)
    covered = np.mean(np.abs(np.array(means) - centre) < 1.96 * np.array(errors))
    assert abs(covered - 0.95) < 5 * math.sqrt(0.95 * 0.05 / trials)


def test_the_standard_error_of_the_weighted_mean_is_calibrated():
    rng = np.random.default_rng(1)
    n, rows, trials = 4, 200, 1500
    T = transition.weak(n, 0)
    found = []
    for _ in range(trials):
        y_comp = labels.draw(rng.integers(0, n, rows), T, rng)
        q = rng.dirichlet(np.ones(n), rows) * 0.9 + 0.025
        weights = rng.exponential(size=rows)
        found.append(metrics.scel(y_comp, q, sample_weight=weights, return_std_error=True))
    means, errors = np.array(found).T
    assert abs(errors.mean() / means.std(ddof=1) - 1) < 5 / math.sqrt(2 * trials)


@quick
@given(seed=SEEDS, n=st.integers(2, 5), rows=st.integers(2, 12), several=st.booleans())
def test_a_weight_is_as_many_repetitions_of_the_row(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    q = rng.dirichlet(np.ones(n), rows)
    y, y_pred = rng.integers(0, n, rows), rng.integers(0, n, rows)
    y_comp = random_mask(rows, n, rng) if several else rng.integers(0, n, rows)
    weights = rng.integers(0, 4, rows)
    weights[0] = 2
    again = np.repeat(np.arange(rows), weights)
    for weighted, repeated in [
        (
            metrics.scel(y_comp, q, sample_weight=weights),
            metrics.scel(y_comp[again], q[again]),
        ),
        (
            metrics.ure_zero_one(y_comp, y_pred, T, sample_weight=weights),
            metrics.ure_zero_one(y_comp[again], y_pred[again], T),
        ),
        (
            metrics.complementary_estimation_loss(y, q, T, sample_weight=weights),
            metrics.complementary_estimation_loss(y[again], q[again], T),
        ),
    ]:
        assert math.isclose(weighted, repeated, rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(
        metrics.scel(y_comp, q, sample_weight=weights * 0.37),
        metrics.scel(y_comp, q, sample_weight=weights),
        rel_tol=1e-12,
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "one number for each of the 2 rows"),
        ([1.0, -1.0], "not negative"),
        ([0.0, 0.0], "not all zero"),
        ([1.0, np.nan], "finite"),
        (["a", "b"], "must be numbers"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        metrics.scel([0, 1], [[0.5, 0.5], [0.5, 0.5]], sample_weight=weights)


def test_numbers_of_rows_that_differ_are_refused():
    q = [[0.5, 0.5], [0.5, 0.5]]
    T = transition.uniform(2)
    with pytest.raises(ValueError, match="y_comp and q must have the same number of rows"):
        metrics.scel([0], q)
    with pytest.raises(ValueError, match="y_comp and y_pred must have the same number of rows"):
        metrics.ure_zero_one([0], [0, 1], T)
    with pytest.raises(ValueError, match="y_true and q must have the same number of rows"):
        metrics.complementary_estimation_loss([0], q, T)
    with pytest.raises(ValueError, match="y_true and q must have the same number of rows"):
        metrics.error_bound([0], q, T)
