"""Two models on the same held-out labels."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ybar import (
    CPEKNeighborsClassifierCV,
    datasets,
    decode,
    labels,
    metrics,
    transition,
)

quick = settings(deadline=None, max_examples=40)


SEEDS = st.integers(0, 2**32 - 1)


def drawn(rng, rows, n, several):
    """Return labels of some rows (a boolean array may leave rows out), and two models' q."""
    q_a, q_b = rng.dirichlet(np.ones(n), (2, rows))
    if not several:
        return rng.integers(0, n, rows), q_a, q_b
    mask = rng.random((rows, n)) < 0.4
    mask[mask.all(axis=1), 0] = False
    mask[:2] = np.arange(n) == 1
    return mask, q_a, q_b


def pairs_of(y_comp):
    if y_comp.ndim == 1:
        return list(enumerate(y_comp))
    return [(i, k) for i, row in enumerate(y_comp) for k, ruled_out in enumerate(row) if ruled_out]


def slow_comparison(pairs, loss_a, loss_b, weights):
    """Return difference, error, t, p, rows and df of a weighted mean of row means, by matrices."""
    pairs = [(i, k) for i, k in pairs if weights[i] > 0]
    rows = sorted({i for i, _ in pairs})
    differences = {i: [loss_a(j, k) - loss_b(j, k) for j, k in pairs if j == i] for i in rows}
    x = np.array([sum(differences[i]) / len(differences[i]) for i in rows])
    h = np.array([weights[i] * len(differences[i]) for i in rows])
    h = h / h.sum()
    G = np.eye(len(h)) - np.outer(np.ones(len(h)), h)  # x minus its weighted mean
    M = G.T @ np.diag(h**2) @ G
    mean, error = h @ x, math.sqrt(x @ M @ x * (h @ h) / np.trace(M))  # E[x'Mx] = var(x)·tr(M)
    t, df = mean / error, np.trace(M) ** 2 / np.trace(M @ M)
    return mean, error, t, 2 * stats.t.sf(abs(t), df), len(rows), df


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(3, 20), several=st.booleans())
def test_the_comparison_is_that_of_the_rows_with_several_labels_and_weights(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    y_comp, q_a, q_b = drawn(rng, rows, n, several)
    weights = rng.random(rows) * (np.arange(rows) % 3 > 0) + (np.arange(rows) < 2)
    slow = slow_comparison(
        pairs_of(y_comp), lambda i, k: -math.log(q_a[i, k]), lambda i, k: -math.log(q_b[i, k]),
        weights,
    )  # fmt: skip
    found = metrics.compare(y_comp, q_a, q_b, sample_weight=weights)
    np.testing.assert_allclose(found, slow, rtol=1e-7, atol=1e-10)


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(2, 40))
def test_with_one_label_a_row_it_is_the_paired_t_test(seed, n, rows):
    rng = np.random.default_rng(seed)
    y_comp, q_a, q_b = drawn(rng, rows, n, several=False)
    losses = [-np.log(q[np.arange(rows), y_comp]) for q in (q_a, q_b)]
    found, expected = metrics.compare(y_comp, q_a, q_b), stats.ttest_rel(*losses)
    np.testing.assert_allclose(found.t, expected.statistic, rtol=1e-7)
    np.testing.assert_allclose(found.p_value, expected.pvalue, rtol=1e-7)
    assert found.n_rows == rows
    turned = metrics.compare(y_comp, q_b, q_a)
    np.testing.assert_allclose(turned[:3], [-found[0], found[1], -found[2]], rtol=1e-9)
    assert turned.p_value == pytest.approx(found.p_value)


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(2, 20), several=st.booleans())
def test_the_difference_is_that_of_the_scores_zeros_as_for_the_scorer(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    y_comp, q_a, q_b = drawn(rng, rows, n, several)
    q_a[:, 1] = 0
    q_a /= q_a.sum(axis=1, keepdims=True)
    zero_as = 1 / (len(pairs_of(y_comp)) + 1)
    scel_a, scel_b = (metrics.scel(y_comp, q, zero_as=zero_as) for q in (q_a, q_b))
    found = metrics.compare(y_comp, q_a, q_b)
    assert found.difference == pytest.approx(scel_a - scel_b, abs=1e-10)
    assert all(map(math.isfinite, found))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_does_not_differ_from_itself(several, weighted):
    rng = np.random.default_rng(0)
    y_comp, q, _ = drawn(rng, 30, 4, several)
    q[:, 2] = 0
    q /= q.sum(axis=1, keepdims=True)
    weights = rng.random(30) if weighted else None
    found = metrics.compare(y_comp, q, q.copy(), sample_weight=weights)
    assert found[:4] == (0, 0, 0, 1)
    predicted = q.argmin(axis=1)
    T = transition.weak(4, random_state=0)
    found = metrics.compare_error_rates(y_comp, predicted, predicted, T, sample_weight=weights)
    assert found[:4] == (0, 0, 0, 1)


def test_a_difference_without_any_scatter_is_no_chance():
    found = metrics.compare([0] * 8, [[0.5, 0.5]] * 8, [[0.25, 0.75]] * 8)
    assert found == (-math.log(2), 0, -math.inf, 0, 8, 7)


def test_evidence_is_compared_by_class_probabilities():
    rng = np.random.default_rng(0)
    T = transition.weak(4, random_state=0)
    y_comp, p_a, p_b = drawn(rng, 50, 4, several=False)
    evidence = labels.Evidence.complementary(y_comp, T)
    of_q = metrics.compare(y_comp, p_a @ T, p_b @ T)
    np.testing.assert_allclose(metrics.compare(evidence, p_a, p_b), of_q, rtol=1e-9)
    nothing = labels.Evidence(np.ones((3, 4)))
    more = labels.Evidence.concatenate([evidence, nothing])
    found = metrics.compare(more, np.vstack([p_a, p_a[:3]]), np.vstack([p_b, p_b[:3]]))
    np.testing.assert_allclose(found, of_q, rtol=1e-9)
    assert found.n_rows == 50


@quick
@given(seed=SEEDS, n=st.integers(3, 6), rows=st.integers(4, 20), several=st.booleans())
def test_error_rates_are_compared_row_by_row_too(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    T = 0.5 * np.eye(n)[rng.permutation(n)] + 0.5 * rng.dirichlet(np.ones(n), n)
    inverse = np.linalg.inv(T)
    y_comp, _, _ = drawn(rng, rows, n, several)
    a, b = rng.integers(0, n, (2, rows))
    a[0], b[0], b[1] = 0, 1, a[1]
    weights = rng.random(rows) + 0.1

    def loss(predicted):
        return lambda i, k: sum(inverse[k, c] for c in range(n) if c != predicted[i])

    slow = slow_comparison(pairs_of(y_comp), loss(a), loss(b), weights)
    found = metrics.compare_error_rates(y_comp, a, b, T, sample_weight=weights)
    np.testing.assert_allclose(found, slow, rtol=1e-6, atol=1e-9)
    rates = [metrics.ure_zero_one(y_comp, y, T, sample_weight=weights) for y in (a, b)]
    assert found.difference == pytest.approx(rates[0] - rates[1], abs=1e-8)
    if not several:
        losses = [[loss(y)(i, k) for i, k in pairs_of(y_comp)] for y in (a, b)]
        expected = stats.ttest_rel(*losses)
        plain = metrics.compare_error_rates(y_comp, a, b, T)
        np.testing.assert_allclose(plain.p_value, expected.pvalue, rtol=1e-6)


def test_the_difference_of_error_rates_is_unbiased_and_its_error_right():
    rng = np.random.default_rng(0)
    T = transition.with_uniform_noise(transition.weak(4, random_state=1), 0.1)
    y = rng.integers(0, 4, 400)
    a, b = (np.where(rng.random(400) < right, y, rng.integers(0, 4, 400)) for right in (0.8, 0.5))
    true = np.mean(a != y) - np.mean(b != y)
    found = [metrics.compare_error_rates(labels.draw(y, T, rng), a, b, T) for _ in range(400)]
    differences = np.array([c.difference for c in found])
    assert abs(differences.mean() - true) < 4 * differences.std() / math.sqrt(len(found))
    # The error is that of new rows too; with these rows given, the scatter can only be less.
    assert differences.std() < 1.1 * np.mean([c.std_error for c in found])
    assert np.mean([abs(c.difference - true) < 1.96 * c.std_error for c in found]) > 0.93


def test_a_singular_T_warns_at_the_caller():
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    with pytest.warns(UserWarning, match="singular, so its pseudo-inverse is used") as record:
        metrics.compare_error_rates([0, 1, 2, 2], [0, 1, 2, 0], [1, 1, 2, 0], T)
    assert record[0].filename == __file__


def equally_good(rng, rows, labels_a_row):
    """Return labels and two models, each the better one in a random half of the rows."""
    q = rng.dirichlet(np.ones(4), rows) * 0.6 + 0.1
    off = np.array([0.08, -0.08, 0.05, -0.05])[rng.permuted(np.tile(range(4), (rows, 1)), axis=1)]
    first = np.where(rng.random((rows, 1)) < 0.5, 1, -1)
    y_comp = (q.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
    if labels_a_row == "several":  # the second hangs on the first
        y_comp = np.eye(4, dtype=bool)[y_comp] | np.eye(4, dtype=bool)[(y_comp + 1) % 4]
        y_comp[:, 0] &= rng.random(rows) < 0.5
    return y_comp, q + first * off, q - first * off


@pytest.mark.parametrize("labels_a_row", ["one", "several"])
def test_p_values_of_equally_good_models_are_uniform(labels_a_row):
    rng = np.random.default_rng(0)
    p = [metrics.compare(*equally_good(rng, 200, labels_a_row)).p_value for _ in range(1500)]
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 1500)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_p_values_of_equal_error_rates_are_uniform():
    rng = np.random.default_rng(0)
    T = transition.weak(4, random_state=0)
    p = []
    for _ in range(1000):
        y = rng.integers(0, 4, 300)
        a, b = (np.where(rng.random(300) < 0.7, y, rng.integers(0, 4, 300)) for _ in range(2))
        p.append(metrics.compare_error_rates(labels.draw(y, T, rng), a, b, T).p_value)
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_power_grows_with_the_number_of_rows():
    rng = np.random.default_rng(0)
    shares = []
    for rows in (50, 200, 800):
        found = []
        for _ in range(200):
            y_comp, q_a, q_b = equally_good(rng, rows, "one")
            true_q = (q_a + q_b) / 2
            found.append(metrics.compare(y_comp, true_q, q_a).p_value < 0.05)
        shares.append(np.mean(found))
    assert shares[0] + 0.1 < shares[1] < shares[2] - 0.1
    assert shares[2] > 0.85


def test_paired_errors_are_far_below_those_of_either_model():
    d = datasets.load("digits")
    T = transition.strong(10, random_state=0)
    y_comp, unseen = labels.draw(d.y_train, T, 0), labels.draw(d.y_test, T, 1)
    q = {
        k: CPEKNeighborsClassifierCV([k], transition=T, random_state=0)
        .fit(d.X_train, y_comp)
        .predict_complementary_proba(d.X_test)
        for k in (40, 80)
    }
    own = [metrics.scel(unseen, q[k], zero_as=1e-3, return_std_error=True)[1] for k in q]
    found = metrics.compare(unseen, q[40], q[80])
    assert found.std_error < 0.4 * math.hypot(*own)


def test_the_scatter_of_counts_hides_in_q_what_p_shows():
    """Frequencies of k labels cost (K-1)/(2k) in SCEL, most of which p T does not have."""
    rng = np.random.default_rng(0)
    T, n, k = transition.uniform(10), 20_000, 100
    y = rng.integers(0, 10, n)
    counted = rng.multinomial(k, T[y]) / k
    blurred = np.full((n, 10), 0.06 / 9)
    blurred[np.arange(n), y] = 0.94
    y_comp = labels.draw(y, T, rng)
    by_q = metrics.compare(y_comp, counted, blurred @ T)
    by_p = metrics.compare(y_comp, decode.class_probabilities(counted, T) @ T, blurred @ T)
    assert by_q.difference == pytest.approx(8 / (2 * k) - -math.log(1 - 0.06 / 9), abs=0.01)
    assert by_q.t > 10
    assert by_p.t < -3


@pytest.mark.parametrize(
    ("comparison", "text"),
    [
        (
            metrics.Comparison(0.0, 0.0, 0.0, 1.0, 30, 29),
            "no difference (standard error 0, p = 1, 30 rows)",
        ),
        (
            metrics.Comparison(-0.01234, 0.0045, -2.742, 0.00612, 6000, 5999),
            "the first is lower by 0.01234 ± 0.0045 "
            "(standard error; t = -2.74, p = 0.0061, 6,000 rows)",
        ),
        (
            metrics.Comparison(0.5, 0.0, math.inf, 0.0, 4, 3),
            "the second is lower by 0.5 ± 0 (standard error; t = inf, p = 0, 4 rows)",
        ),
    ],
)
def test_a_comparison_reads_as_one_line(comparison, text):
    assert str(comparison) == text


Q = [[0.5, 0.2, 0.3], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]


Y = [0, 2, 1]


U = transition.uniform(3)


EVIDENCE = labels.Evidence.complementary(Y, U)


BAD = [
    (lambda: metrics.compare(Y, Q[:2], Q), "q_a", "3 and 2"),
    (lambda: metrics.compare(Y, Q, Q[:2]), "q_b", "3 and 2"),
    (lambda: metrics.compare(Y, Q, np.array(Q) - 1), "q_b", "-0.8 in row 0"),
    (lambda: metrics.compare(Y, np.array(Q) * 10, Q), "q_a", "row 0 sums to 10"),
    (lambda: metrics.compare(Y, Q, np.array(Q) * np.nan), "q_b", "row 0 has NaN"),
    (lambda: metrics.compare(Y, Y, Q), "q_a", "(3,)"),
    (lambda: metrics.compare(Y, Q, "q"), "q_b", "'q'"),
    (lambda: metrics.compare([0, 1, 1], Q, [[0.5, 0.5]] * 3), "q_a and q_b", "(3, 3) and (3, 2)"),
    (lambda: metrics.compare([0, 2, 3], Q, Q), "y_comp", "got 3"),
    (lambda: metrics.compare(["a", "b", "c"], Q, Q), "y_comp", "<U1"),
    (lambda: metrics.compare(Y[:1], Q[:1], Q[:1]), "y_comp", "got 1"),
    (lambda: metrics.compare(Y, Q, Q, sample_weight=[0, 1, 0]), "y_comp", "got 1"),
    (lambda: metrics.compare(Y, Q, Q, sample_weight=[1, -1, 1]), "sample_weight", "-1 in row 1"),
    (lambda: metrics.compare(Y, Q, Q, sample_weight=[1, 1]), "sample_weight", "(2,)"),
    (lambda: metrics.compare(EVIDENCE, [[0.5, 0.5]] * 3, Q), "q_a", "(3, 2)"),
    (
        lambda: metrics.compare_error_rates(labels.Evidence.ordinary(Y, classes=3), Y, Y, U),
        "y_comp",
        "evidence of other kinds",
    ),
    (lambda: metrics.compare_error_rates(EVIDENCE, Y, Y, np.eye(4)), "T", "(4, 4)"),
    (lambda: metrics.compare_error_rates(Y, Q, Y, U), "y_pred_a", "float64 of shape (3, 3)"),
    (lambda: metrics.compare_error_rates(Y, Y, [0, 1, -1], U), "y_pred_b", "got -1"),
    (lambda: metrics.compare_error_rates(Y, Y, [0, 1], U), "y_comp and y_pred_b", "3 and 2"),
    (lambda: metrics.compare_error_rates(Y, Y, Y, [[0.5, 0.5]]), "T", "(1, 2)"),
]


@pytest.mark.parametrize(("call", "argument", "value"), BAD)
def test_an_error_names_the_argument_and_shows_its_value(call, argument, value):
    with pytest.raises(ValueError, match=re.escape(value)) as error:
        call()
    assert argument in str(error.value)
    assert "\n" not in str(error.value)
