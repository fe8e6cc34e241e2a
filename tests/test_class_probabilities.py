"""`class_probabilities`: no other p on the simplex explains q better under T."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize

from decode_helpers import (
    SEEDS,
    assert_simplex,
    gaps,
    invertible,
    log_likelihood,
    long_em,
    normalised,
    problems,
    quick,
)
from ybar import decode, transition
from ybar.decode import likelihood


@quick
@given(seed=SEEDS, n=st.integers(2, 12))
def test_p_is_recovered_where_q_follows_an_invertible_T(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    p = rng.dirichlet(np.full(n, rng.choice([0.2, 1.0, 5.0])), 10)
    p[0] = np.eye(n)[rng.integers(n)]
    # Where some p is 0 rounding sends q outside, and the likelihood is flat to 1e-9 there.
    np.testing.assert_allclose(decode.class_probabilities(p @ T, T), p, rtol=0, atol=1e-4)
    inside = 0.9 * p + 0.1 / n
    recovered = decode.class_probabilities(inside @ T, T)
    np.testing.assert_allclose(recovered, inside, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["weak", "strong"])
@pytest.mark.parametrize("n", [40, 70])
def test_p_is_recovered_with_many_classes_even_where_it_names_one_class(n, kind):
    T = getattr(transition, kind)(n, 0)
    np.testing.assert_allclose(decode.class_probabilities(T, T), np.eye(n), rtol=0, atol=1e-5)
    p = np.random.default_rng(0).dirichlet(np.ones(n), 5)
    np.testing.assert_allclose(decode.class_probabilities(p @ T, T), p, rtol=0, atol=1e-5)


@settings(deadline=None, max_examples=150)
@given(problem=problems())
def test_no_other_p_explains_q_better(problem):
    q, T = problem
    p = decode.class_probabilities(q, T)
    assert_simplex(p, *q.shape)
    q = normalised(q, T)
    possible = q.any(axis=1)
    assert gaps(p[possible], q[possible], T).max(initial=0) <= 1e-6


@settings(deadline=None, max_examples=100)
@given(seed=SEEDS, n=st.integers(2, 20), kind=st.integers(0, 6))
def test_no_other_p_explains_q_better_for_larger_matrices(seed, n, kind):
    rng = np.random.default_rng(seed)
    T = [
        lambda: transition.strong(n, rng),
        lambda: transition.weak(n, rng),
        lambda: transition.with_uniform_noise(transition.strong(n, rng), rng.random()),
        lambda: transition.with_uniform_noise(transition.uniform(n), rng.random()),
        lambda: transition.uniform(n),
        lambda: rng.dirichlet(np.full(n, 0.5), n)[rng.integers(0, n, n)],  # singular
        lambda: np.full((n, n), 1 / n),
    ][kind]()
    q = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0, 10.0])), 6)
    q[0] = np.eye(n)[rng.integers(n)]
    q[1] = rng.multinomial(7, q[1]) / 7
    q[2:] = np.maximum(q[2:], 1e-12)  # below, rounding of p itself decides
    q /= q.sum(axis=1, keepdims=True)
    p = decode.class_probabilities(q, T)
    assert_simplex(p, 6, n)
    shortfall = gaps(p, q, T)
    assert shortfall[:2].max() <= 1e-6
    # A q[k] of 1e-12 may weigh in by its rounding only.
    r = p @ T
    g = np.where(q > 1e-9, q / np.maximum(r, 1e-300), 0) @ T.T
    assert g.max() - 1 <= 1e-6


@quick
@given(problem=problems(max_classes=4))
def test_a_general_optimiser_finds_no_better_p(problem):
    q, T = problem
    n = len(T)
    q = normalised(q, T)
    assume(q.any(axis=1).all())
    ours = log_likelihood(decode.class_probabilities(q, T), q, T)
    for row, reached in zip(q, ours, strict=True):

        def loss(p, row=row):
            return -sum(
                row[k] * math.log(max(float(p @ T[:, k]), 1e-300)) for k in range(n) if row[k] > 0
            )

        found = optimize.minimize(
            loss,
            np.full(n, 1 / n),
            method="SLSQP",
            bounds=[(0, 1)] * n,
            constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}],
        )
        at = np.maximum(found.x, 0)
        assert -loss(at / at.sum()) <= reached + 1e-8


@pytest.mark.parametrize("level", [0.0, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_closed_form_for_uniform_T_is_where_slow_steps_end(n, level):
    rng = np.random.default_rng(n)
    T = transition.with_uniform_noise(transition.uniform(n), level)
    q = np.vstack(
        [
            rng.dirichlet(np.ones(n), 10),
            rng.dirichlet(np.full(n, 20.0), 10),
            rng.multinomial(4, np.full(n, 1 / n), 10) / 4,
            np.full((1, n), 1 / n),
        ]
    )
    p, slow = decode.class_probabilities(q, T), long_em(q, T)
    assert_simplex(p, *q.shape)
    assert (log_likelihood(p, q, T) >= log_likelihood(slow, q, T) - 1e-9).all()
    if level < 0.9:  # beyond, 20,000 steps are not enough to tell p
        several = (q == 0).sum(axis=1) > 1  # then many p are equally good
        np.testing.assert_allclose(p[~several], slow[~several], rtol=0, atol=2e-3)


def test_classes_that_are_never_ruled_out_share_all_under_uniform_T():
    p = decode.class_probabilities([[0, 0, 0.3, 0.7], [0, 0.2, 0.3, 0.5]], transition.uniform(4))
    np.testing.assert_allclose(p, [[0.5, 0.5, 0, 0], [1, 0, 0, 0]], atol=1e-15)


TINY = [0.0, 5e-324, 1e-310, 1e-200, 1e-40, 1e-20, 1e-17, 1e-15, 1e-12]


@pytest.mark.parametrize("tiny", TINY)
@pytest.mark.parametrize("level", [0.0, 0.1])
def test_a_class_that_is_almost_never_ruled_out_gets_almost_everything(level, tiny):
    for n in (2, 3, 4, 10):
        T = transition.with_uniform_noise(transition.uniform(n), level)
        q = np.full((1, n), (1 - tiny) / (n - 1))
        q[0, 1] = tiny
        p = decode.class_probabilities(q, T)
        np.testing.assert_allclose(p, np.eye(n)[[1]], rtol=0, atol=1e-9, err_msg=f"K = {n}")


@pytest.mark.parametrize("level", [0.0, 1e-18, 1e-12, 0.1])
def test_classes_that_are_almost_never_ruled_out_get_almost_everything_between_them(level):
    for n, first, second in itertools.product((3, 4, 7), TINY, TINY):
        T = transition.with_uniform_noise(transition.uniform(n), level)
        q = np.full((1, n), 1 / (n - 2))
        q[0, :2] = first, second
        q /= q.sum()
        p = decode.class_probabilities(q, T)
        assert_simplex(p, 1, n)
        assert p[0, :2].sum() > 1 - 1e-9, (n, first, second)


@pytest.mark.parametrize("tiny", TINY)
def test_tiny_probabilities_change_nothing_under_biased_T(tiny):
    for n in (3, 10):
        T = transition.strong(n, 0)
        p = decode.class_probabilities(np.where(T > 0, T, tiny), T)
        np.testing.assert_allclose(p, np.eye(n), rtol=0, atol=1e-4, err_msg=f"K = {n}")


def test_labels_that_no_class_can_have_are_left_out_of_account():
    T = np.array([[0, 0.8, 0.2], [0, 0.3, 0.7], [0, 0.5, 0.5]])
    q = np.array([[0.0, 0.75, 0.25], [0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    p = decode.class_probabilities(q, T)
    np.testing.assert_allclose(p[1], p[0], atol=1e-6)
    np.testing.assert_allclose(p[2], 1 / 3)
    assert gaps(p[:1], q[:1], T).max() <= 1e-6


def without_columns(T, columns):
    """Return T with some labels made impossible."""
    T = T.copy()
    T[:, columns] = 0
    return T / T.sum(axis=1, keepdims=True)


LARGE = {
    "strong": lambda n, rng: transition.strong(n, rng),
    "weak": lambda n, rng: transition.weak(n, rng),
    "noisy": lambda n, rng: transition.with_uniform_noise(transition.strong(n, rng), 0.5),
    "dense": lambda n, rng: rng.dirichlet(np.ones(n), n),
    "singular": lambda n, rng: rng.dirichlet(np.full(n, 0.5), n)[np.arange(n) // 2],
    "zero columns": lambda n, rng: without_columns(transition.weak(n, rng), [0, 7, n - 1]),
    "uniform": lambda n, rng: transition.uniform(n),
}


def rough(T, rng):
    """Return q far outside the rows of T, counted, and almost exact."""
    n = len(T)
    return np.vstack(
        [
            rng.dirichlet(np.ones(n), 4),
            normalised(np.maximum(rng.dirichlet(np.full(n, 0.1), 4), 1e-12), np.ones((n, n))),
            [rng.multinomial(50, T[y]) / 50 for y in rng.integers(0, n, 4)],
            0.8 * T[rng.integers(0, n, 4)] + 0.2 * rng.dirichlet(np.ones(n), 4),
            rng.dirichlet(np.ones(n), 2) @ T * 0.999 + 0.001 * rng.dirichlet(np.ones(n), 2),
            np.eye(n)[rng.integers(0, n, 2)],
        ]
    )


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize(("n", "gap"), [(2, 1e-9), (65, 1e-9), (101, 1e-6), (130, 1e-6)])
def test_each_row_is_certified_for_few_and_many_classes(n, gap, name):
    if n == 2 and name in ("zero columns", "weak"):
        return
    rng = np.random.default_rng(n)
    T = LARGE[name](n, rng)
    q = rough(T, rng)
    p = decode.class_probabilities(q, T)
    assert_simplex(p, *q.shape)
    q = normalised(q, T)
    possible = q.any(axis=1)
    assert gaps(p[possible], q[possible], T).max() <= gap + 1e-12


@pytest.mark.parametrize("name", ["strong", "singular", "dense"])
def test_the_interior_point_ends_where_newton_steps_on_faces_end(name, monkeypatch):
    rng = np.random.default_rng(0)
    T = LARGE[name](30, rng)
    q = rough(T, rng)
    p = decode.class_probabilities(q, T)
    monkeypatch.setattr(likelihood, "_NEWTON_STEPS", 0)
    other = decode.class_probabilities(q, T)
    assert (p != other).any()
    np.testing.assert_allclose(
        log_likelihood(p, q, T), log_likelihood(other, q, T), rtol=0, atol=2e-9
    )


@pytest.mark.parametrize("name", ["strong", "singular", "noisy", "zero columns"])
def test_long_em_ends_no_higher_with_many_classes(name):
    rng = np.random.default_rng(1)
    T = LARGE[name](110, rng)
    q = rough(T, rng)[:16]
    ours = decode.class_probabilities(q, T)
    q = normalised(q, T)
    slow = long_em(q, T, steps=3000)
    assert (log_likelihood(ours, q, T) >= log_likelihood(slow, q, T) - 1e-6).all()
    highest = log_likelihood(slow, q, T) + gaps(slow, q, T) + 1e-12
    assert (log_likelihood(ours, q, T) <= highest).all()
