"""Choosing without true labels: two models compared row by row, and the one-standard-error rule."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ybar import (
    CPEBoostingClassifierCV,
    CPEKNeighborsClassifierCV,
    datasets,
    decode,
    labels,
    load,
    metrics,
    save,
    transition,
)

ROOT = Path(__file__).resolve().parents[2]
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
    """Return difference, error, t and p of a ratio of sums over rows, one label at a time."""
    pairs = [(i, k) for i, k in pairs if weights[i] > 0]
    total = sum(weights[i] for i, _ in pairs)
    mean = sum(weights[i] * (loss_a(i, k) - loss_b(i, k)) for i, k in pairs) / total
    rows = sorted({i for i, _ in pairs})
    squares = 0.0
    for row in rows:
        own = sum(loss_a(i, k) - loss_b(i, k) - mean for i, k in pairs if i == row)
        squares += (weights[row] * own) ** 2
    error = math.sqrt(len(rows) / (len(rows) - 1) * squares) / total
    t = mean / error
    return mean, error, t, 2 * stats.t.sf(abs(t), len(rows) - 1), len(rows)


# --- two models by SCEL --------------------------------------------------------------------------


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
    assert found == (-math.log(2), 0, -math.inf, 0, 8)


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


# --- two models by URE ---------------------------------------------------------------------------


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


# --- size and power ------------------------------------------------------------------------------


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
        (metrics.Comparison(0.0, 0.0, 0.0, 1.0, 30), "no difference (± 0, p = 1, 30 rows)"),
        (
            metrics.Comparison(-0.01234, 0.0045, -2.742, 0.00612, 6000),
            "the first is lower by 0.01234 ± 0.0045 (t = -2.74, p = 0.0061, 6,000 rows)",
        ),
        (
            metrics.Comparison(0.5, 0.0, math.inf, 0.0, 4),
            "the second is lower by 0.5 ± 0 (t = inf, p = 0, 4 rows)",
        ),
    ],
)
def test_a_comparison_reads_as_one_line(comparison, text):
    assert str(comparison) == text


# --- the rule ------------------------------------------------------------------------------------


def slow_rule(scel, errors, complexity, paired):
    best = min((i for i in range(len(scel)) if scel[i] == scel[i]), key=lambda i: scel[i])
    near = [
        i
        for i in range(len(scel))
        if i == best or scel[i] - scel[best] <= (errors[i] if paired else errors[best])
    ]
    return sorted(near, key=lambda i: (complexity[i], scel[i]))[0]


@quick
@given(seed=SEEDS, n=st.integers(1, 12), paired=st.booleans(), given_order=st.booleans())
def test_the_rule_takes_the_simplest_within_one_error_of_the_best(seed, n, paired, given_order):
    rng = np.random.default_rng(seed)
    scel = rng.normal(2, 0.1, n)
    scel[rng.random(n) < 0.2] = np.nan
    scel[rng.integers(n)] = 2.0
    errors = rng.random(n) * 0.2
    complexity = rng.integers(0, 4, n)
    found = metrics.one_standard_error(
        scel, errors, complexity=complexity if given_order else None, paired=paired
    )
    assert found == slow_rule(scel, errors, complexity if given_order else range(n), paired)


@pytest.mark.parametrize(
    ("scel", "errors", "options", "index"),
    [
        ([2.0], [0.1], {}, 0),
        ([2.3, 2.0, 2.05], [0.1] * 3, {}, 1),
        ([2.09, 2.0], [0.0, 0.1], {}, 0),
        ([2.09, 2.0], [0.0, 0.1], {"paired": True}, 1),
        ([2.09, 2.0], [0.1, 0.0], {"paired": True}, 0),
        ([2.0, 2.05], [0.1, 0.1], {"complexity": [50, 10]}, 1),
        ([2.05, 2.02, 2.0], [0.1] * 3, {"complexity": [1, 1, 2]}, 1),
        ([math.nan, 2.05, 2.0], [math.nan, 0.1, 0.1], {}, 1),
        ([math.inf, 2.05, 2.0], [math.nan, 0.1, 0.1], {}, 1),
        ([2.05, 2.0], [math.nan, math.nan], {}, 1),
        ([2.0, 2.0], [0.0, 0.0], {}, 0),
    ],
)
def test_the_rule_in_cases_one_can_check_by_eye(scel, errors, options, index):
    found = metrics.one_standard_error(scel, errors, **options)
    assert found == index
    assert type(found) is int


def digits_labels(T):
    d = datasets.load("digits")
    return d.X_train, labels.draw(d.y_train, T, 0)


def test_neighbours_can_be_the_most_within_one_error(tmp_path):
    T = transition.strong(10, random_state=0)
    X, y_comp = digits_labels(T)
    best, simple = (
        CPEKNeighborsClassifierCV(transition=T, select=select, cv=3, random_state=0).fit(X, y_comp)
        for select in ("best", "one-std-error")
    )
    assert simple.n_neighbors_ > best.n_neighbors_
    np.testing.assert_array_equal(simple.cv_results_["scel"], best.cv_results_["scel"])
    chosen = simple.cv_results_["param_n_neighbors"][simple.best_index_]
    assert chosen == simple.n_neighbors_ == simple.best_params_["n_neighbors"]
    assert simple.best_score_ < best.best_score_
    # Paired errors are below those of either, so that it stays within one of those as well.
    own = best.cv_results_["scel_std_error"][best.best_index_]
    assert best.best_score_ - simple.best_score_ < own
    save(simple, tmp_path / "model")
    assert load(tmp_path / "model").n_neighbors_ == simple.n_neighbors_


def test_neighbours_within_one_error_are_those_of_the_losses_themselves():
    T = transition.strong(10, random_state=0)
    X, y_comp = digits_labels(T)
    order = np.random.default_rng(0).permutation(len(X))
    train, held_out = order[200:], order[:200]
    ks = [10, 20, 40, 80, 160, 320]
    found = CPEKNeighborsClassifierCV(
        ks, transition=T, select="one-std-error", cv=[(train, held_out)], random_state=0
    ).fit(X, y_comp)
    q = [
        CPEKNeighborsClassifierCV([k], transition=T, random_state=0, n_components=32)
        .fit(X[train], y_comp[train])
        .predict_complementary_proba(X[held_out])
        for k in ks
    ]
    unseen = y_comp[held_out]
    scel = [metrics.scel(unseen, each, zero_as=1 / 201) for each in q]
    np.testing.assert_allclose(found.cv_results_["scel"], scel, rtol=1e-3)
    best = q[int(np.argmin(scel))]
    errors = [metrics.compare(unseen, each, best).std_error for each in q]
    index = metrics.one_standard_error(scel, errors, complexity=[-k for k in ks], paired=True)
    assert found.best_index_ == index


def test_trees_can_be_the_fewest_within_one_error():
    T = transition.strong(10, random_state=0)
    X, y_comp = digits_labels(T)
    options = {
        "learning_rates": [0.05, 0.2],
        "n_estimators": range(1, 41),
        "transition": T,
        "random_state": 0,
        "lightgbm_params": {"num_leaves": 7},
    }
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    best, simple = (
        CPEBoostingClassifierCV(**options, select=select).fit(X, y_comp, weights)
        for select in ("best", "one-std-error")
    )
    assert simple.best_params_["learning_rate"] == best.best_params_["learning_rate"]
    assert simple.best_params_["n_estimators"] < best.best_params_["n_estimators"]
    assert simple.cv_results_["params"][simple.best_index_] == simple.best_params_
    np.testing.assert_array_equal(simple.cv_results_["scel"], best.cv_results_["scel"])
    own = best.cv_results_["scel_std_error"][best.best_index_]
    assert 0 < best.best_score_ - simple.best_score_ < own
    assert simple.model_.count("Tree=") == 10 * simple.best_params_["n_estimators"]


# --- bad input -----------------------------------------------------------------------------------

Q = [[0.5, 0.2, 0.3], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]
Y = [0, 2, 1]
U = transition.uniform(3)
EVIDENCE = labels.Evidence.complementary(Y, U)

BAD = {
    "q of another length": (
        lambda: metrics.compare(Y, Q[:2], Q),
        "y_comp and q_a must have the same number of rows; got 3 and 2",
    ),
    "the second q of another length": (
        lambda: metrics.compare(Y, Q, Q[:2]),
        "y_comp and q_b must have the same number of rows; got 3 and 2",
    ),
    "scores": (
        lambda: metrics.compare(Y, Q, np.array(Q) - 1),
        "q_b must hold probabilities, so none below 0; got -0.8 in row 0",
    ),
    "counts": (
        lambda: metrics.compare(Y, np.array(Q) * 10, Q),
        "q_a must have rows that sum to 1; row 0 sums to 10. Divide each row by its sum",
    ),
    "NaN": (
        lambda: metrics.compare(Y, Q, np.array(Q) * np.nan),
        "q_b must hold finite probabilities; row 0 has NaN or infinity",
    ),
    "predictions for q": (
        lambda: metrics.compare(Y, Y, Q),
        "q_a must have shape (N, K), one column for each of at least 2 classes; got (3,)",
    ),
    "words for q": (
        lambda: metrics.compare(Y, Q, "q"),
        "q_b must be an N×K array of probabilities; got 'q', which are not all numbers",
    ),
    "other classes": (
        lambda: metrics.compare([0, 1, 1], Q, [[0.5, 0.5]] * 3),
        "q_a and q_b must have the same shape, a column for each class; got (3, 3) and (3, 2)",
    ),
    "labels that are no classes": (
        lambda: metrics.compare([0, 2, 3], Q, Q),
        "y_comp must hold class indices 0..2; got 3",
    ),
    "labels by name": (
        lambda: metrics.compare(["a", "b", "c"], Q, Q),
        "y_comp must hold class indices 0..2 as integers; got <U1",
    ),
    "one row": (
        lambda: metrics.compare(Y[:1], Q[:1], Q[:1]),
        "y_comp must have labels in at least 2 rows of some weight, to tell a difference from "
        "chance; got 1",
    ),
    "one row of some weight": (
        lambda: metrics.compare(Y, Q, Q, sample_weight=[0, 1, 0]),
        "y_comp must have labels in at least 2 rows of some weight",
    ),
    "a weight below 0": (
        lambda: metrics.compare(Y, Q, Q, sample_weight=[1, -1, 1]),
        "sample_weight must be finite and not negative; got -1 in row 1",
    ),
    "weights of another length": (
        lambda: metrics.compare(Y, Q, Q, sample_weight=[1, 1]),
        "sample_weight must have one number for each of the 3 rows; got shape (2,)",
    ),
    "evidence of other classes": (
        lambda: metrics.compare(EVIDENCE, [[0.5, 0.5]] * 3, Q),
        "q_a must have a column for each of the 3 classes of the evidence; got shape (3, 2)",
    ),
    "evidence for URE": (
        lambda: metrics.compare_error_rates(labels.Evidence.ordinary(Y, classes=3), Y, Y, U),
        "y_comp must hold complementary labels under one T and nothing else for URE, which inverts "
        "it; got evidence of other kinds. Use SCEL, or metrics.compare",
    ),
    "probabilities for predictions": (
        lambda: metrics.compare_error_rates(Y, Q, Y, U),
        "y_pred_a must hold class indices 0..2, one a row; got float64 of shape (3, 3)",
    ),
    "predictions of no class": (
        lambda: metrics.compare_error_rates(Y, Y, [0, 1, -1], U),
        "y_pred_b must hold class indices 0..2; got -1",
    ),
    "predictions of another length": (
        lambda: metrics.compare_error_rates(Y, Y, [0, 1], U),
        "y_comp and y_pred_b must have the same number of rows; got 3 and 2",
    ),
    "no T": (
        lambda: metrics.compare_error_rates(Y, Y, Y, [[0.5, 0.5]]),
        "T must be",
    ),
    "errors of other candidates": (
        lambda: metrics.one_standard_error([2.1, 2.0], [0.1]),
        "std_error must be a list of numbers, one for each candidate (2); got shape (1,)",
    ),
    "no candidate": (
        lambda: metrics.one_standard_error([], []),
        "scel must be a list of numbers, one for each candidate; got shape (0,)",
    ),
    "a grid": (
        lambda: metrics.one_standard_error([[2.1, 2.0]], [[0.1, 0.1]]),
        "scel must be a list of numbers, one for each candidate; got shape (1, 2)",
    ),
    "words for SCEL": (
        lambda: metrics.one_standard_error(["low"], [0.1]),
        "scel must be a list of numbers, one for each candidate; got ['low']",
    ),
    "nothing finite": (
        lambda: metrics.one_standard_error([math.nan, math.inf], [0.1, 0.1]),
        "scel must have a finite value, that of the best candidate; got [nan, inf]",
    ),
    "an error below 0": (
        lambda: metrics.one_standard_error([2.1, 2.0], [0.1, -0.2]),
        "NaN where it is unknown; got -0.2",
    ),
    "no order": (
        lambda: metrics.one_standard_error([2.1, 2.0], [0.1, 0.1], complexity=[1, math.nan]),
        "complexity must be a number for each candidate; got NaN for candidate 1",
    ),
    "paired errors for paired": (
        lambda: metrics.one_standard_error([2.1, 2.0], [0.1, 0.1], paired=[0.1, 0]),
        "paired must be True or False; got [0.1, 0]",
    ),
    "neighbours selected otherwise": (
        lambda: CPEKNeighborsClassifierCV(select="last").fit(Q * 9, Y * 9),
        "select must be 'best' or 'one-std-error'; got 'last'",
    ),
    "trees selected otherwise": (
        lambda: CPEBoostingClassifierCV(select=None).fit(Q * 9, Y * 9),
        "select must be 'best' or 'one-std-error'; got None",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line_that_says_what_and_why(case):
    call, said = BAD[case]
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        call()
    assert "\n" not in str(error.value)
