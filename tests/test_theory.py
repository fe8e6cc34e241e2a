"""The paper's propositions, on random problems, by enumeration and by plain loops.

Expectations over complementary labels are not sampled: every label, or every way to label all
rows, is visited with its probability, so that "unbiased" is checked to rounding.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ybar import decode, labels, metrics, transition

quick = settings(deadline=None, max_examples=40)
SEEDS = st.integers(0, 2**32 - 1)


def random_T(n, rng):
    """Return a transition matrix of one of the kinds that occur."""
    kind = rng.integers(5)
    if kind == 0:
        return transition.strong(n, rng)
    if kind == 1:
        return transition.with_uniform_noise(transition.strong(n, rng), rng.random())
    if kind == 2:
        return transition.uniform(n)
    T = rng.dirichlet(np.full(n, rng.choice([0.5, 3.0])), n)
    if kind == 3 and n > 2:
        np.fill_diagonal(T, 0)
        T /= T.sum(axis=1, keepdims=True)
    return T


def random_invertible(n, rng):
    while True:
        T = random_T(n, rng)
        if np.linalg.cond(T) < 1e3:
            return T


def random_q(n, rows, rng):
    q = rng.dirichlet(np.full(n, rng.choice([0.5, 2.0, 20.0])), rows) + 1e-6
    return q / q.sum(axis=1, keepdims=True)


def all_labellings(y, T):
    """Yield every way to draw complementary labels for y, with its probability."""
    n = len(T)
    for y_comp in itertools.product(range(n), repeat=len(y)):
        chance = math.prod(T[a, b] for a, b in zip(y, y_comp, strict=True))
        if chance > 0:
            yield np.array(y_comp), chance


def kl(q, t):
    """ℓ(f̄(x), T_y) = Σ_k -T_yk log(f̄_k / T_yk)."""
    return sum(-b * math.log(a / b) for a, b in zip(q, t, strict=True) if b > 0)


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# --- Proposition 1 -------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, n=st.integers(2, 4), rows=st.integers(1, 3))
def test_proposition_1_the_expected_scel_is_the_kl_estimation_loss_up_to_its_constant(
    seed, n, rows
):
    rng = np.random.default_rng(seed)
    T, q, y = random_T(n, rng), random_q(n, rows, rng), rng.integers(0, n, rows)
    expected = sum(chance * metrics.scel(y_comp, q) for y_comp, chance in all_labellings(y, T))
    C = sum(t * math.log(t) for label in y for t in T[label] if t > 0) / rows
    by_loops = sum(kl(q[i], T[y[i]]) for i in range(rows)) / rows
    assert math.isclose(expected + C, by_loops, rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(
        expected + C, metrics.complementary_estimation_loss(y, q, T), rel_tol=1e-9, abs_tol=1e-9
    )


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_proposition_1_holds_label_by_label_for_many_rows(seed, n):
    rng = np.random.default_rng(seed)
    rows = 25
    T, q, y = random_T(n, rng), random_q(n, rows, rng), rng.integers(0, n, rows)
    # The mean over rows is linear: label k in all rows, each row weighted by T[y, k].
    expected = sum(
        metrics.scel(np.full(rows, k), q, sample_weight=T[y, k]) * T[y, k].mean()
        for k in range(n)
        if T[y, k].any()
    )
    C = np.mean([sum(t * math.log(t) for t in T[label] if t > 0) for label in y])
    loss = metrics.complementary_estimation_loss(y, q, T, loss="kl")
    assert math.isclose(expected + C, loss, rel_tol=1e-9, abs_tol=1e-9)


@quick
@given(seed=SEEDS, n=st.integers(2, 6))
def test_no_q_has_a_smaller_expected_scel_than_the_row_of_T(seed, n):
    rng = np.random.default_rng(seed)
    T = transition.with_uniform_noise(random_T(n, rng), 0.01)
    for y in range(n):
        q = random_q(n, 1, rng)

        def expected(q, y=y):
            return sum(T[y, k] * metrics.scel([k], q) for k in range(n))

        assert expected(T[[y]]) <= expected(q) + 1e-12
        assert metrics.complementary_estimation_loss([y], T[[y]], T) == pytest.approx(0, abs=1e-12)


def test_drawn_labels_give_the_expected_scel_within_five_standard_errors():
    rng = np.random.default_rng(0)
    T = transition.strong(10, 0)
    y = rng.integers(0, 10, 50_000)
    q = 0.7 * T[y] + 0.3 * rng.dirichlet(np.ones(10), len(y))
    scel, error = metrics.scel(labels.draw(y, T, random_state=0), q, return_std_error=True)
    C = np.mean((T * np.log(np.where(T > 0, T, 1))).sum(axis=1)[y])
    assert abs(scel + C - metrics.complementary_estimation_loss(y, q, T)) < 5 * error


# --- unbiasedness of URE -------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, n=st.integers(2, 4), rows=st.integers(1, 3))
def test_the_expected_ure_is_the_error_rate_over_all_ways_to_label(seed, n, rows):
    rng = np.random.default_rng(seed)
    T = random_invertible(n, rng)
    y, y_pred = rng.integers(0, n, rows), rng.integers(0, n, rows)
    expected = sum(
        chance * metrics.ure_zero_one(y_comp, y_pred, T) for y_comp, chance in all_labellings(y, T)
    )
    error_rate = sum(a != b for a, b in zip(y, y_pred, strict=True)) / rows
    assert math.isclose(expected, error_rate, abs_tol=1e-8)


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_the_expected_ure_is_the_error_rate_for_many_rows(seed, n):
    rng = np.random.default_rng(seed)
    rows = 25
    T = random_invertible(n, rng)
    y, y_pred = rng.integers(0, n, rows), rng.integers(0, n, rows)
    expected = sum(
        metrics.ure_zero_one(np.full(rows, k), y_pred, T, sample_weight=T[y, k]) * T[y, k].mean()
        for k in range(n)
        if T[y, k].any()
    )
    assert math.isclose(expected, np.mean(y != y_pred), abs_tol=1e-8)


@quick
@given(seed=SEEDS, n=st.integers(2, 12))
def test_under_uniform_T_the_share_of_predicted_labels_is_unbiased_too(seed, n):
    rng = np.random.default_rng(seed)
    T = transition.uniform(n)
    y, y_pred = rng.integers(0, n, 2)
    plain = sum(T[y, k] * (n - 1) * (y_pred == k) for k in range(n))
    ours = sum(T[y, k] * metrics.ure_zero_one([k], [y_pred], T) for k in range(n))
    assert math.isclose(plain, float(y != y_pred), abs_tol=1e-12)
    assert math.isclose(ours, plain, abs_tol=1e-9)


def test_drawn_labels_give_the_error_rate_within_five_standard_errors():
    rng = np.random.default_rng(0)
    T = transition.strong(10, 0)
    y = rng.integers(0, 10, 200_000)
    y_pred = np.where(rng.random(len(y)) < 0.3, rng.integers(0, 10, len(y)), y)
    y_comp = labels.draw(y, T, random_state=0)
    ure, error = metrics.ure_zero_one(y_comp, y_pred, T, return_std_error=True)
    assert error < 0.05
    assert abs(ure - np.mean(y != y_pred)) < 5 * error


# --- Proposition 2 and the Corollary -------------------------------------------------------------


def l1(u, v):
    return sum(abs(a - b) for a, b in zip(u, v, strict=True))


def hellinger(u, v):
    return math.sqrt(sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(u, v, strict=True)))


def total_variation(u, v):
    return l1(u, v) / 2


DISTANCES = {
    "l1": ("l1", l1),
    "l2": ("l2", lambda u, v: math.dist(u, v)),
    "chebyshev": ("chebyshev", lambda u, v: max(abs(a - b) for a, b in zip(u, v, strict=True))),
    "Hellinger, the last axis": (
        lambda u, v: np.sqrt(((np.sqrt(u) - np.sqrt(v)) ** 2).sum(axis=-1)),
        hellinger,
    ),
    "Hellinger, pair by pair": (hellinger, hellinger),
    "total variation": (lambda u, v: np.abs(u - v).sum() / 2, total_variation),
}


def bound_problem(seed, n, rows):
    """Return y, q, T and T_true, with q anywhere between right and wrong."""
    rng = np.random.default_rng(seed)
    T = random_T(n, rng)
    level = rng.choice([0.0, 0.1, 0.5, 1.0])
    T_true = (1 - level) * T + level * random_T(n, rng)
    y = rng.integers(0, n, rows)
    share = rng.choice([0.0, 0.05, 0.3, 0.7])
    q = (1 - share) * T_true[y] + share * random_q(n, rows, rng)
    return y, q, T, T_true


@pytest.mark.parametrize("name", DISTANCES)
@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(1, 12), known=st.booleans())
def test_both_sides_of_the_bounds_are_those_of_the_paper(name, seed, n, rows, known):
    y, q, T, T_true = bound_problem(seed, n, rows)
    ours, d = DISTANCES[name]
    found = metrics.error_bound(y, q, T, T_true=None if known else T_true, distance=ours)
    true = T if known else T_true
    gamma = min(d(T[i], T[j]) for i in range(n) for j in range(n) if i != j)
    assume(gamma > 1e-6)
    epsilon = 0.0 if known else max(d(true[k], T[k]) for k in range(n))
    R = sum(d(q[i], true[y[i]]) for i in range(rows)) / rows
    wrong = 0
    for i in range(rows):
        distances = [d(q[i], T[k]) for k in range(n)]
        nearest = sorted(distances)
        assume(nearest[1] - nearest[0] > 1e-9)
        wrong += distances.index(nearest[0]) != y[i]
    assert math.isclose(found.error_rate, wrong / rows)
    assert math.isclose(found.gamma, gamma, rel_tol=1e-9)
    assert math.isclose(found.epsilon, epsilon, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(found.distance_bound, 2 / gamma * (R + epsilon), rel_tol=1e-7, abs_tol=1e-7)
    if name == "l1":
        divergence = max(0.0, sum(_kl_or_inf(q[i], true[y[i]]) for i in range(rows)) / rows)
        expected = 4 * math.sqrt(2) / gamma * math.sqrt(divergence) + 2 * epsilon / gamma
        if math.isinf(expected):
            assert found.kl_bound == math.inf
        else:  # a square root turns rounding of 1e-16 into 1e-8
            assert math.isclose(found.kl_bound, expected, rel_tol=1e-6, abs_tol=1e-6 / gamma)
    else:
        assert math.isnan(found.kl_bound)


def _kl_or_inf(q, t):
    return math.inf if any(a == 0 < b for a, b in zip(q, t, strict=True)) else kl(q, t)


@pytest.mark.parametrize("name", DISTANCES)
@quick
@given(seed=SEEDS, n=st.integers(2, 8), rows=st.integers(1, 40))
def test_proposition_2_the_error_rate_is_at_most_both_bounds(name, seed, n, rows):
    y, q, T, _ = bound_problem(seed, n, rows)
    found = metrics.error_bound(y, q, T, distance=DISTANCES[name][0])
    assert found.epsilon == 0
    assert found.error_rate <= found.distance_bound + 1e-9
    if name == "l1":
        assert found.error_rate <= found.kl_bound + 1e-9
        assert found.distance_bound <= found.kl_bound + 1e-6  # Pinsker, Jensen


@pytest.mark.parametrize("name", DISTANCES)
@quick
@given(seed=SEEDS, n=st.integers(2, 8), rows=st.integers(1, 40))
def test_the_corollary_the_bounds_hold_where_labels_came_from_another_T(name, seed, n, rows):
    y, q, T, T_true = bound_problem(seed, n, rows)
    found = metrics.error_bound(y, q, T, T_true=T_true, distance=DISTANCES[name][0])
    assert found.error_rate <= found.distance_bound + 1e-9
    if name == "l1":
        assert found.error_rate <= found.kl_bound + 1e-9
        assert math.isclose(found.epsilon, transition.epsilon(T_true, T), abs_tol=1e-12)


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_a_perfect_estimate_has_no_error_and_bounds_of_zero(seed, n):
    rng = np.random.default_rng(seed)
    T = random_T(n, rng)
    assume(transition.gamma(T) > 1e-3)
    y = rng.integers(0, n, 10)
    found = metrics.error_bound(y, T[y], T)
    assert found.error_rate == 0
    assert found.distance_bound == pytest.approx(0, abs=1e-9)
    assert found.kl_bound == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_where_two_rows_of_T_are_the_same_the_bounds_say_nothing(distance):
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    found = metrics.error_bound([0, 1, 2], T, T, distance=distance)
    assert found.gamma == 0
    assert found.distance_bound == math.inf
    # As documented: the KL bound is for L1 alone.
    assert found.kl_bound == math.inf if distance == "l1" else math.isnan(found.kl_bound)
    assert math.isclose(found.error_rate, 1 / 3)


# --- Appendix B ----------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 40))
def test_under_uniform_T_the_forward_loss_is_scl_nl_plus_log_K_minus_one(seed, n):
    rng = np.random.default_rng(seed)
    p = softmax(rng.normal(scale=3, size=n))
    assume(p.max() < 1 - 1e-9)
    U = transition.uniform(n)
    for k in range(n):
        forward = -math.log(sum(U[y, k] * p[y] for y in range(n)))
        scl_nl = -math.log(1 - p[k])
        assert math.isclose(forward, scl_nl + math.log(n - 1), rel_tol=1e-6, abs_tol=1e-6)


@quick
@given(seed=SEEDS, n=st.integers(2, 12), rows=st.integers(1, 20))
def test_scel_of_the_transition_layer_is_the_forward_loss(seed, n, rows):
    rng = np.random.default_rng(seed)
    T = transition.with_uniform_noise(random_T(n, rng), 0.01)
    p, y_comp = softmax(rng.normal(size=(rows, n))), rng.integers(0, n, rows)
    losses = [-math.log(sum(T[y, k] * p[i, y] for y in range(n))) for i, k in enumerate(y_comp)]
    assert math.isclose(metrics.scel(y_comp, p @ T), sum(losses) / rows, rel_tol=1e-9)


@quick
@given(seed=SEEDS, n=st.integers(2, 12))
def test_forward_correction_is_max_decoding_of_its_own_q(seed, n):
    rng = np.random.default_rng(seed)
    T = random_invertible(n, rng)
    p = softmax(rng.normal(size=(20, n)))
    for row, k in zip(p, decode.decode(p @ T, T, "max"), strict=True):
        assert row[k] >= row.max() - 1e-9


@quick
@given(seed=SEEDS, n=st.integers(2, 12))
def test_under_uniform_T_max_l1_and_argmin_q_are_the_same_decoder(seed, n):
    rng = np.random.default_rng(seed)
    U = transition.uniform(n)
    for q in random_q(n, 10, rng):
        smallest = min(range(n), key=lambda k: q[k])
        # ((Uᵀ)⁻¹ q)_k = 1 - (K-1) q_k
        solved = np.linalg.solve(U.T, q)
        np.testing.assert_allclose(solved, 1 - (n - 1) * q, atol=1e-9)
        assert max(range(n), key=lambda k: solved[k]) == smallest
        assert min(range(n), key=lambda k: l1(U[k], q)) == smallest
        for method in ("l1", "max", lambda u, v: np.abs(u - v).sum(axis=-1)):
            assert decode.decode(q[None], U, method)[0] == smallest


@quick
@given(seed=SEEDS, n=st.integers(2, 12))
def test_the_discriminative_model_is_l1_decoding_under_uniform_T(seed, n):
    rng = np.random.default_rng(seed)
    f = softmax(rng.normal(scale=2, size=(20, n)))
    q = softmax(1 - f)
    np.testing.assert_array_equal(
        decode.decode(q, transition.uniform(n), "l1"), [max(range(n), key=r.__getitem__) for r in f]
    )


@quick
@given(seed=SEEDS, n=st.integers(2, 10))
def test_where_q_follows_T_the_likelihood_gives_p_back_and_so_the_forward_prediction(seed, n):
    rng = np.random.default_rng(seed)
    T = random_invertible(n, rng)
    p = 0.95 * softmax(rng.normal(size=(10, n))) + 0.05 / n
    np.testing.assert_allclose(decode.class_probabilities(p @ T, T), p, atol=1e-9)
    for row, k in zip(p, decode.decode(p @ T, T, "likelihood"), strict=True):
        assert row[k] >= row.max() - 1e-9


# --- the realizable case, from end to end --------------------------------------------------------


@pytest.mark.parametrize("method", ["l1", "l2", "max", "likelihood"])
@pytest.mark.parametrize("kind", ["uniform", "weak", "strong"])
def test_enough_labels_of_each_example_name_its_class_with_every_decoder(kind, method):
    T = transition.uniform(6) if kind == "uniform" else getattr(transition, kind)(6, 0)
    y = np.repeat(np.arange(6), 4000)
    y_comp = labels.draw(y, T, random_state=0).reshape(6, 4000)
    q = np.array([np.bincount(row, minlength=6) / 4000 for row in y_comp])
    assert decode.decode(q, T, method).tolist() == list(range(6))
