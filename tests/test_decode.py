"""Decoders: the nearest row, the inverse, the likelihood; each against a slow plain reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decode_helpers import (
    CALLABLES,
    METHODS,
    SEEDS,
    assert_nearest,
    distributions,
    invertible,
    l1,
    l2,
    problems,
    quick,
)
from ybar import decode, transition

# --- the nearest row -----------------------------------------------------------------------------


@quick
@given(problem=problems())
def test_l1_takes_the_row_of_T_with_the_smallest_l1_distance(problem):
    q, T = problem
    assert_nearest(decode.decode(q, T, "l1"), q, T, l1)
    np.testing.assert_array_equal(decode.decode(q, T), decode.decode(q, T, "l1"))


@quick
@given(problem=problems())
def test_l2_takes_the_row_of_T_with_the_smallest_l2_distance(problem):
    q, T = problem
    assert_nearest(decode.decode(q, T, "l2"), q, T, l2, tolerance=1e-7)


@pytest.mark.parametrize("name", CALLABLES)
@settings(deadline=None, max_examples=30)
@given(problem=problems(max_rows=7))
def test_a_callable_decodes_as_if_called_pair_by_pair(name, problem):
    q, T = problem
    fast, plain = CALLABLES[name]
    assert_nearest(decode.decode(q, T, fast), q, T, plain)


@quick
@given(seed=SEEDS, n=st.integers(3, 40))
def test_l1_takes_the_first_class_where_rows_of_T_are_the_same(seed, n):
    rng = np.random.default_rng(seed)
    T = rng.dirichlet(np.ones(n), n)
    first, second = sorted(rng.choice(n, 2, replace=False))
    T[second] = T[first]
    q = 0.98 * np.tile(T[first], (5, 1)) + 0.02 * rng.dirichlet(np.ones(n), 5)
    assert second not in decode.decode(q, T, "l1")


# --- uniform T -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@quick
@given(data=st.data(), n=st.integers(2, 12))
def test_under_uniform_T_every_method_takes_the_smallest_q(method, data, n):
    weights = data.draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n).filter(any))
    assume(sorted(weights)[0] < sorted(weights)[1])
    q = np.array([weights], dtype=float) / sum(weights)
    smallest = weights.index(min(weights))
    assert decode.decode(q, transition.uniform(n), method).tolist() == [smallest]


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("method", METHODS)
def test_the_shortcut_for_uniform_T_is_what_the_method_gives_without_it(method, n, monkeypatch):
    q = np.random.default_rng(n).dirichlet(np.ones(n), 500)
    quickly = decode.decode(q, transition.uniform(n), method)
    monkeypatch.setattr(transition, "is_uniform", lambda T: False)
    slowly = decode.decode(q, transition.uniform(n), method)
    np.testing.assert_array_equal(quickly, slowly)
    np.testing.assert_array_equal(quickly, q.argmin(axis=1))


@quick
@given(data=st.data(), n=st.integers(2, 8))
def test_under_uniform_T_the_smallest_q_has_the_smallest_l1_distance_of_all(data, n):
    q = data.draw(distributions(n))
    U = transition.uniform(n)
    distances = [l1(q, U[k]) for k in range(n)]
    assert distances[int(q.argmin())] <= min(distances) + 1e-12
    generic = decode.decode(q[None], U, lambda u, v: np.abs(u - v).sum(axis=-1))
    assert distances[generic[0]] <= min(distances) + 1e-12


# --- max -----------------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_max_recovers_the_likeliest_class_where_q_follows_T(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    p = rng.dirichlet(np.ones(n), 20)
    decoded = decode.decode(p @ T, T, "max")
    for row, k in zip(p, decoded, strict=True):
        assert row[k] >= row.max() - 1e-9


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_max_takes_the_largest_entry_of_q_times_the_inverse(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    q = rng.dirichlet(np.ones(n), 5)
    for row, k in zip(q, decode.decode(q, T, "max"), strict=True):
        x = np.linalg.lstsq(T.T, row, rcond=None)[0]  # x T = q
        assert x[k] >= x.max() - 1e-7 * np.abs(x).max()


def test_max_with_a_singular_T_warns_that_it_uses_the_pseudo_inverse():
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    q = np.array([[0.1, 0.5, 0.4], [0.4, 0.5, 0.1]])
    with pytest.warns(UserWarning, match="singular, so its pseudo-inverse is used"):
        decoded = decode.decode(q, T, "max")
    for row, k in zip(q, decoded, strict=True):
        x = np.linalg.lstsq(T.T, row, rcond=None)[0]  # the shortest of the best solutions
        assert x[k] >= x.max() - 1e-9


@pytest.mark.parametrize("method", ["l1", "l2", "likelihood"])
def test_the_other_methods_do_not_mind_a_singular_T(method):
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    q = np.array([[0.02, 0.5, 0.48], [0.48, 0.5, 0.02]])
    decoded = decode.decode(q, T, method)
    assert decoded[0] in (0, 1)  # classes with the same row of T
    assert decoded[1] == 2


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_inverse_times_T_is_the_identity(seed, n):
    T = invertible(n, np.random.default_rng(seed))
    inverse = decode.inverse(T)
    for i, j in itertools.product(range(n), repeat=2):
        product = sum(inverse[i, k] * T[k, j] for k in range(n))
        assert math.isclose(product, float(i == j), abs_tol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_inverse_of_the_uniform_matrix_is_ones_less_K_minus_one_on_the_diagonal(n):
    np.testing.assert_allclose(
        decode.inverse(transition.uniform(n)), np.ones((n, n)) - (n - 1) * np.eye(n), atol=1e-9
    )


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_likelihood_decodes_to_the_largest_class_probability(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    q = rng.dirichlet(np.ones(n), 8)
    p = decode.class_probabilities(q, T)
    for row, k in zip(p, decode.decode(q, T, "likelihood"), strict=True):
        assert row[k] >= row.max() - 2e-4  # those that close are equally good


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([[0.5, 0.5]], r"shape \(N, 3\)"),
        ([0.2, 0.3, 0.5], r"shape \(N, 3\)"),
        ([[0.2, 0.3, 0.4]], "row 0 sums to 0.9"),
        ([[0, 0, 1], [1.2, -0.2, 0]], "none below 0; got -0.2 in row 1"),
        ([[0, 0, 1], [0, np.nan, 1]], "row 1 has NaN or infinity"),
        ([["a", "b", "c"]], "N×K array of probabilities"),
    ],
)
def test_decode_says_what_is_wrong_with_q(q, message):
    for function in (decode.decode, decode.class_probabilities):
        with pytest.raises(ValueError, match=message):
            function(q, transition.uniform(3))


@pytest.mark.parametrize("method", ["L1", "argmax", None, 1])
def test_an_unknown_method_is_refused_even_under_uniform_T(method):
    with pytest.raises(ValueError, match="method must be one of 'l1', 'l2', 'max', 'likelihood'"):
        decode.decode([[0.2, 0.8]], transition.uniform(2), method)
