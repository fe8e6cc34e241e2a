"""Transition matrices are built as the paper says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrices import ALL_K, MASSES, build, transitions
from ybar import transition

quick = settings(deadline=None, max_examples=40)


def shares_by_loops(n_classes, masses):
    """Lay the K-1 other classes and the parts over [0, 1]; a class takes what it covers."""
    others, parts = n_classes - 1, len(masses)
    shares = []
    for i in range(others):
        share = Fraction(0)
        for j, mass in enumerate(masses):
            low = max(Fraction(i, others), Fraction(j, parts))
            high = min(Fraction(i + 1, others), Fraction(j + 1, parts))
            if high > low:
                share += (high - low) * parts * Fraction(str(mass))
        shares.append(share)
    return sorted(shares, reverse=True)


def test_uniform_gives_every_other_class_the_same_share():
    for n in ALL_K:
        T = transition.uniform(n)
        assert T.shape == (n, n)
        for y, k in itertools.product(range(n), repeat=2):
            assert T[y, k] == (0 if y == k else 1 / (n - 1))


@pytest.mark.parametrize("kind", ["uniform", *MASSES])
def test_rows_sum_to_one_and_a_class_never_rules_itself_out(kind):
    for n in ALL_K:
        T = build(kind, n, random_state=n)
        assert T.shape == (n, n)
        assert T.dtype == np.float64
        assert (T >= 0).all()
        assert (np.diag(T) == 0).all()
        np.testing.assert_allclose(T.sum(axis=1), 1, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", MASSES)
def test_every_row_has_the_same_shares_and_borders_take_from_both_parts(kind):
    for n in ALL_K:
        T = build(kind, n, random_state=n)
        shares = shares_by_loops(n, MASSES[kind])
        assert sum(shares) == 1
        others = T[~np.eye(n, dtype=bool)].reshape(n, n - 1)
        expected = np.tile([float(share) for share in shares], (n, 1))
        np.testing.assert_allclose(-np.sort(-others, axis=1), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("masses", [(1.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5)])
def test_a_part_without_mass_gets_exactly_zero(masses):
    for n in ALL_K:
        T = transition.biased(n, masses, random_state=0)
        zeros = sum(share == 0 for share in shares_by_loops(n, masses))
        np.testing.assert_array_equal((T == 0).sum(axis=1), zeros + 1, err_msg=f"K = {n}")


@pytest.mark.parametrize(
    ("kind", "values"),
    [("weak", (0.15, 0.10, 0.25 / 3)), ("strong", (0.25, 0.08, 0.01 / 3))],
)
@pytest.mark.parametrize("seed", range(5))
def test_ten_classes_have_three_at_each_of_the_papers_values(kind, values, seed):
    T = build(kind, 10, seed)
    for row in T:
        for value in values:
            assert np.isclose(row, value, rtol=0, atol=1e-14).sum() == 3
        assert (row == 0).sum() == 1


@pytest.mark.parametrize("kind", ["weak", "strong", "two parts", "four parts"])
@pytest.mark.parametrize("n", [3, 4, 10, 25])
def test_T_is_drawn_anew_for_each_seed_and_is_the_same_for_the_same_seed(kind, n):
    drawn = [build(kind, n, seed) for seed in range(20)]
    for seed, T in enumerate(drawn):
        np.testing.assert_array_equal(T, build(kind, n, seed))
    assert len({T.tobytes() for T in drawn}) > (15 if n >= 10 else 2)


def test_a_generator_advances_and_a_random_state_is_taken_and_the_global_one_left_alone():
    before = np.random.get_state()
    generator = np.random.default_rng(0)
    first, second = transition.strong(10, generator), transition.strong(10, generator)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, transition.strong(10, 0))
    legacy = np.random.RandomState(0)
    third, fourth = transition.weak(10, legacy), transition.weak(10, legacy)
    assert not np.array_equal(third, fourth)
    np.testing.assert_array_equal(
        third,
        transition.weak(10, np.random.RandomState(0)),
    )
    assert not np.array_equal(transition.weak(10), transition.weak(10))
    after = np.random.get_state()
    assert after[2] == before[2]
    np.testing.assert_array_equal(after[1], before[1])


def test_each_row_is_cut_anew_with_every_class_as_likely_in_each_part():
    rng = np.random.default_rng(0)
    trials = 3000
    favoured = np.zeros((10, 10))
    both = 0
    for _ in range(trials):
        largest = transition.strong(10, rng) > 0.2
        favoured += largest
        both += largest[0, 2] and largest[1, 2]
    off = ~np.eye(10, dtype=bool)
    error = math.sqrt(1 / 3 * 2 / 3 / trials)
    assert np.abs(favoured[off] / trials - 1 / 3).max() < 5 * error
    # Rows are cut independently of each other: 1/3 · 1/3 of the time both favour class 2.
    assert abs(both / trials - 1 / 9) < 5 * math.sqrt(1 / 9 * 8 / 9 / trials)


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, "10", None, True])
def test_fewer_than_two_classes_are_refused(n):
    for function in (transition.uniform, transition.weak, transition.strong):
        with pytest.raises(ValueError, match=r"^n_classes "):
            function(n)


@pytest.mark.parametrize("masses", [(), (0.5, 0.4), (1.5, -0.5), (np.nan, 1.0), [[1.0]]])
def test_masses_that_are_no_distribution_are_refused(masses):
    with pytest.raises(ValueError, match=r"^masses "):
        transition.biased(5, masses)


@quick
@given(T=transitions(), level=st.floats(0, 1))
def test_uniform_noise_mixes_every_entry_with_one_over_K(T, level):
    n = len(T)
    noisy = transition.with_uniform_noise(T, level)
    for y, k in itertools.product(range(n), repeat=2):
        assert math.isclose(noisy[y, k], (1 - level) * T[y, k] + level / n, abs_tol=1e-12)
    np.testing.assert_allclose(noisy.sum(axis=1), 1, atol=1e-12)


@quick
@given(T=transitions(), first=st.floats(0, 1), second=st.floats(0, 1))
def test_noise_on_noise_is_noise_and_its_ends_are_T_and_nothing_but_noise(T, first, second):
    twice = transition.with_uniform_noise(transition.with_uniform_noise(T, first), second)
    once = transition.with_uniform_noise(T, 1 - (1 - first) * (1 - second))
    np.testing.assert_allclose(twice, once, atol=1e-12)
    np.testing.assert_allclose(transition.with_uniform_noise(T, 0), T, atol=1e-15)
    np.testing.assert_allclose(transition.with_uniform_noise(T, 1), 1 / len(T), atol=1e-15)
