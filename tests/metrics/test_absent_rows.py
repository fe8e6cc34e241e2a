"""A row of weight 0 equals a row that is not there, in every metric."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from metrics_helpers import invertible, random_mask
from ybar import CPEClassifier, calibration, labels, metrics, transition

quick = settings(deadline=None, max_examples=30)


def evidence_of(y_comp, T):
    return labels.Evidence.complementary(y_comp, T, classes=range(len(T)))


# Each: a metric of labels, q (with zeros), q of another model, T, predictions and weights.
METRICS = {
    "scel": lambda y, q, r, T, p, w: metrics.scel(
        y, q, zero_as=0.01, sample_weight=w, return_std_error=True
    ),
    "scel of evidence": lambda y, q, r, T, p, w: metrics.scel(
        evidence_of(y, T), q, zero_as=0.01, sample_weight=w
    ),
    "ure_zero_one": lambda y, q, r, T, p, w: metrics.ure_zero_one(
        y, p, T, sample_weight=w, return_std_error=True
    ),
    "compare": lambda y, q, r, T, p, w: metrics.compare(y, q, r, sample_weight=w),
    "compare_error_rates": lambda y, q, r, T, p, w: metrics.compare_error_rates(
        y, p, q.argmin(axis=1), T, sample_weight=w
    ),
    "complementary_estimation_loss": lambda y, q, r, T, p, w: metrics.complementary_estimation_loss(
        p, r, T, sample_weight=w
    ),
    "check_transition": lambda y, q, r, T, p, w: [
        value
        for test in metrics.check_transition(y, T, q=q, y_pred=p, sample_weight=w).tests
        for value in (test.p_value, test.observed, test.allowed)
    ],
    "fit_temperature": lambda y, q, r, T, p, w: calibration.fit_temperature(
        y, q, T, sample_weight=w
    ),
}


@pytest.mark.parametrize("name", METRICS)
@quick
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 5),
    rows=st.integers(8, 30),
    several=st.booleans(),
)
def test_a_row_of_weight_zero_equals_a_row_that_is_not_there(name, seed, n, rows, several):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    y_comp = random_mask(rows, n, rng) if several else rng.integers(0, n, rows)
    q, other = rng.dirichlet(np.ones(n), (2, rows))
    q[rng.random((rows, n)) < 0.2] = 0  # probabilities that count as 1/(number of labels + 1)
    q[q.sum(axis=1) == 0] = 1
    q /= q.sum(axis=1, keepdims=True)
    predicted = rng.integers(0, n, rows)
    weights = rng.gamma(1.0, size=rows) * (rng.random(rows) < 0.6)
    weights[:3] = 1
    if several:
        y_comp[:3] = np.eye(n, dtype=bool)[[0, 1, 2]]
    keep = weights > 0
    measure = METRICS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sample_weight varies so much")
        found = measure(y_comp, q, other, T, predicted, weights)
        left = (values[keep] for values in (y_comp, q, other))
        expected = measure(*left, T, predicted[keep], weights[keep])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scorer", [metrics.scel_scorer, metrics.ure_scorer], ids=str)
def test_a_row_of_weight_zero_does_not_change_a_score(scorer):
    """Neighbours predict zeros, which count by the number of labels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(0, 4, 90)
    clf = CPEClassifier(KNeighborsClassifier(2), transition=transition.uniform(4)).fit(X, y)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    weights = np.where(np.arange(60) < 20, 0, 1 + np.arange(60) % 3)
    assert (clf.predict_complementary_proba(X)[np.arange(60), y] == 0)[20:].any()
    score = scorer(clf, X, y, sample_weight=weights)
    assert score == scorer(clf, X[20:], y[20:], sample_weight=weights[20:])
    if scorer is metrics.scel_scorer:
        assert clf.score(X, y, sample_weight=weights) == score


@pytest.mark.parametrize("weight", [1, 0.37, 1e-12, 1e12])
def test_equal_weights_are_as_good_as_none(weight):
    rng = np.random.default_rng(0)
    y, q = rng.integers(0, 4, 12), rng.dirichlet(np.ones(4), (2, 12))
    weights = np.full(12, weight)
    plain = metrics.scel(y, q[0], return_std_error=True)
    weighted = metrics.scel(y, q[0], return_std_error=True, sample_weight=weights)
    np.testing.assert_allclose(weighted, plain, rtol=1e-12)
    np.testing.assert_allclose(
        metrics.compare(y, *q, sample_weight=weights), metrics.compare(y, *q), rtol=1e-12
    )


def test_weights_that_leave_too_few_rows_leave_no_standard_error():
    rng = np.random.default_rng(0)
    y, q = rng.integers(0, 4, 500), rng.dirichlet(np.ones(4), 500)
    T = transition.weak(4, 0)
    for shape, has_error in ((0.05, False), (1.0, True)):
        weights = rng.gamma(shape, size=500)
        for measure in (
            lambda **options: metrics.scel(y, q, **options),
            lambda **options: metrics.ure_zero_one(y, q.argmin(axis=1), T, **options),
        ):
            plain = measure(sample_weight=weights)  # no warning: no error was asked for
            if has_error:
                mean, error = measure(sample_weight=weights, return_std_error=True)
            else:
                with pytest.warns(UserWarning, match="sample_weight.* 500 rows") as caught:
                    mean, error = measure(sample_weight=weights, return_std_error=True)
                assert caught[0].filename == __file__
            assert mean == plain
            assert np.isnan(error) != has_error


def test_a_row_beside_which_the_others_weigh_nothing_proves_nothing():
    rng = np.random.default_rng(0)
    y, q = rng.integers(0, 4, 20), rng.dirichlet(np.ones(4), (2, 20))
    weights = np.where(np.arange(20) == 3, 1e9, 1e-9)
    found = metrics.compare(y, *q, sample_weight=weights)
    assert np.isnan(found.std_error)
    assert np.isnan(found.p_value)
    T = transition.weak(4, 0)
    check = metrics.check_transition(y * 0, T, q=q[0], sample_weight=weights)
    assert not check.refuted
