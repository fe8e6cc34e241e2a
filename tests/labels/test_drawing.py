"""Complementary labels are drawn from T and nothing else."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ybar import labels, transition
from ybar.labels import drawing

quick = settings(deadline=None, max_examples=60)


ANIMALS = ["dog", "ant", "cow", "bee"]  # not in sorted order, on purpose


LARGEST = 1 - 2.0**-53  # the largest number that Generator.random returns


class Prescribed(np.random.Generator):
    """A Generator whose random numbers are given in advance."""

    def __init__(self, numbers):
        super().__init__(np.random.PCG64(0))
        self.numbers = np.asarray(numbers, dtype=float)
        self.used = 0

    def random(self, size=None, dtype=np.float64, out=None):
        count = int(np.prod(size))
        self.used += count
        assert self.used <= len(self.numbers)
        return self.numbers[self.used - count : self.used].copy()


def sparse(n, nonzero, seed):
    """Return a T with few non-zero entries a row, and none on the diagonal."""
    rng = np.random.default_rng(seed)
    T = np.zeros((n, n))
    for y in range(n):
        others = np.delete(np.arange(n), y)
        T[y, rng.choice(others, nonzero, replace=False)] = rng.dirichlet(np.ones(nonzero))
    return T


MATRICES = {
    "uniform": lambda: transition.uniform(10),
    "weak": lambda: transition.weak(10, 0),
    "strong": lambda: transition.strong(10, 0),
    "strong, no mass in the last part": lambda: transition.biased(10, (0.8, 0.2, 0.0), 0),
    "strong, one label a class": lambda: transition.biased(4, (1.0, 0.0, 0.0), 0),
    "noisy": lambda: transition.with_uniform_noise(transition.strong(7, 0), 0.3),
    "two classes": lambda: np.array([[0.0, 1.0], [1.0, 0.0]]),
    "two classes, noisy": lambda: np.array([[0.1, 0.9], [0.7, 0.3]]),
    "sparse": lambda: sparse(40, 3, 0),
    "a column that no class uses": lambda: np.array([[0, 0.3, 0.7], [0, 0, 1], [0, 1, 0]]),
    "many tiny entries": lambda: transition.from_counts(np.diag([1e9] * 20)[::-1] + 1),
}


@pytest.mark.parametrize("name", MATRICES)
def test_labels_are_drawn_with_the_frequencies_of_the_rows_of_T(name):
    T = MATRICES[name]()
    n = len(T)
    y = np.repeat(np.arange(n), 20_000)
    drawn = labels.draw(y, T, random_state=1)
    for k in range(n):
        counts = np.bincount(drawn[y == k], minlength=n)
        expected = 20_000 * T[k]
        assert counts[expected == 0].sum() == 0
        # Chi-square needs five a cell: rare labels are judged together.
        common = expected >= 5
        seen = np.append(counts[common], counts[~common].sum())
        due = np.append(expected[common], expected[~common].sum())
        seen, due = seen[due > 0], due[due > 0]
        if len(due) > 1 and due.min() >= 1:
            assert stats.chisquare(seen, due * seen.sum() / due.sum()).pvalue > 1e-6
        else:
            assert abs(seen[0] - due[0]) < 20


@pytest.mark.parametrize("name", MATRICES)
def test_evenly_spread_random_numbers_give_the_rows_of_T_themselves(name):
    T = MATRICES[name]()
    n = len(T)
    points = 100_000
    grid = (np.arange(points) + 0.5) / points
    for y in range(min(n, 10)):
        drawn = labels.draw(np.full(points, y), T, Prescribed(grid))
        share = np.bincount(drawn, minlength=n) / points
        # Each of the 2K pieces of [0, 1] that a label can own is off by less than a point.
        np.testing.assert_allclose(share, T[y], rtol=0, atol=2 * n / points)


@pytest.mark.parametrize("name", MATRICES)
def test_a_zero_of_T_is_never_drawn_in_a_million_labels(name):
    T = MATRICES[name]()
    y = np.random.default_rng(2).integers(0, len(T), 1_000_000)
    assert T[y, labels.draw(y, T, random_state=3)].min() > 0


def test_a_zero_of_T_is_never_drawn_with_a_thousand_classes():
    T = sparse(1000, 4, 0)
    y = np.random.default_rng(2).integers(0, 1000, 1_000_000)
    drawn = labels.draw(y, T, random_state=3)
    assert T[y, drawn].min() > 0
    # Nothing likely is left out either: an entry of at least 2% is due some 20 times.
    seen = np.zeros_like(T, dtype=bool)
    seen[y, drawn] = True
    assert seen[T > 0.02].all()


@quick
@given(
    n=st.integers(2, 30),
    nonzero=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    numbers=st.lists(
        st.sampled_from([0.0, 5e-324, 2.0**-53, 0.5, LARGEST]), min_size=1, max_size=6
    ),
)
def test_a_zero_of_T_is_never_drawn_at_the_ends_of_the_random_numbers(n, nonzero, seed, numbers):
    T = sparse(n, min(nonzero, n - 1), seed)
    for y in range(n):
        drawn = labels.draw(np.full(len(numbers), y), T, Prescribed(numbers))
        assert (T[y, drawn] > 0).all()


@pytest.mark.parametrize("n", [2, 3, 5, 7, 10, 16, 17, 33, 64, 65, 100, 257])
def test_the_smallest_and_the_largest_random_number_stay_inside_the_classes(n):
    T = transition.with_uniform_noise(transition.weak(n, 0), 0.5)
    for number in (0.0, LARGEST):
        drawn = labels.draw(np.arange(n), T, Prescribed([number] * n))
        assert drawn.min() >= 0
        assert drawn.max() < n


def test_labels_of_different_rows_are_independent():
    T = transition.weak(3, 0)
    y = np.zeros(200_000, dtype=int)
    drawn = labels.draw(y, T, random_state=4)
    table = np.zeros((3, 3))
    np.add.at(table, (drawn[:-1:2], drawn[1::2]), 1)
    table = table[1:, 1:]
    assert stats.chi2_contingency(table).pvalue > 1e-6


def test_the_same_seed_gives_the_same_labels_and_another_seed_others():
    T, y = transition.strong(10, 0), np.arange(1000) % 10
    first = labels.draw(y, T, random_state=5)
    np.testing.assert_array_equal(first, labels.draw(y, T, random_state=5))
    np.testing.assert_array_equal(first, labels.draw(y, T, np.random.default_rng(5)))
    assert not np.array_equal(first, labels.draw(y, T, random_state=6))
    sequence = np.random.SeedSequence(5)
    np.testing.assert_array_equal(
        labels.draw(y, T, sequence), labels.draw(y, T, np.random.SeedSequence(5))
    )


def test_a_generator_advances():
    T, y = transition.uniform(10), np.arange(1000) % 10
    generator = np.random.default_rng(7)
    first, second = labels.draw(y, T, generator), labels.draw(y, T, generator)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, labels.draw(y, T, random_state=7))


def test_a_random_state_is_taken_and_advances():
    T, y = transition.uniform(10), np.arange(1000) % 10
    legacy = np.random.RandomState(7)
    first, second = labels.draw(y, T, legacy), labels.draw(y, T, legacy)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, labels.draw(y, T, np.random.RandomState(7)))


@pytest.mark.parametrize("random_state", [None, 0, np.random.default_rng(0)])
def test_the_global_random_state_is_neither_changed_nor_used(random_state):
    T, y = transition.uniform(10), np.arange(1000) % 10
    np.random.seed(3)
    before = np.random.get_state()
    first = labels.draw(y, T, random_state)
    after = np.random.get_state()
    assert after[2:] == before[2:]
    np.testing.assert_array_equal(after[1], before[1])
    if random_state is None:
        np.random.seed(3)
        assert not np.array_equal(first, labels.draw(y, T, None))


@pytest.mark.parametrize("random_state", [-1, 1.5, "0", True, [0]])
def test_a_random_state_of_another_kind_is_refused(random_state):
    with pytest.raises(ValueError, match="random_state must be None, a non-negative int"):
        labels.draw([0, 1], transition.uniform(2), random_state)


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pl.Series, pd.Categorical])
def test_names_in_any_order_and_container_are_drawn_like_their_indices(wrap):
    T = transition.strong(4, 0)
    codes = np.arange(500) % 4
    y = wrap([ANIMALS[k] for k in codes])
    drawn = labels.draw(y, T, random_state=0, classes=ANIMALS)
    expected = labels.draw(codes, T, random_state=0)
    assert drawn.tolist() == [ANIMALS[k] for k in expected]
    assert all(T[y, ANIMALS.index(name)] > 0 for y, name in zip(codes, drawn, strict=True))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint64])
def test_indices_of_any_integer_type_are_taken_and_left_as_they_were(dtype):
    T = transition.weak(5, 0)
    y = (np.arange(100) % 5).astype(dtype)
    kept, T_kept = y.copy(), T.copy()
    drawn = labels.draw(y, T, random_state=0)
    np.testing.assert_array_equal(drawn, labels.draw(y.tolist(), T, random_state=0))
    np.testing.assert_array_equal(y, kept)
    np.testing.assert_array_equal(T, T_kept)


def test_labels_that_no_row_of_T_belongs_to_are_refused():
    T = transition.uniform(4)
    with pytest.raises(ValueError, match=r"y must hold class indices 0\.\.3; got 4"):
        labels.draw([0, 4], T)
    with pytest.raises(ValueError, match=r"y must hold class indices 0\.\.3; got -1"):
        labels.draw([0, -1], T)
    with pytest.raises(ValueError, match=r"labels\.encode.*labels\.draw takes classes="):
        labels.draw(["dog", "ant"], T)
    with pytest.raises(ValueError, match=r"y must hold only classes.*'cat'.* in row 1"):
        labels.draw(["dog", "cat"], T, classes=ANIMALS)
    with pytest.raises(ValueError, match=r"^T .*each of the 3 classes.*\(4, 4\)"):
        labels.draw(["dog", "ant"], T, classes=ANIMALS[:3])


def peak_of(function):
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n", [10, 100])
def test_drawing_a_million_labels_takes_memory_for_the_labels_not_for_labels_times_classes(n):
    y = np.random.default_rng(0).integers(0, n, 1_000_000)
    T = transition.strong(n, 0)
    drawn, peak = peak_of(lambda: labels.draw(y, T, random_state=0))
    assert drawn.nbytes == 8_000_000
    assert peak < 2 * drawn.nbytes


def test_drawing_a_million_names_takes_memory_for_the_labels():
    names = np.array([f"class {k}" for k in range(10)])
    y = names[np.random.default_rng(0).integers(0, 10, 1_000_000)]
    T = transition.strong(10, 0)
    drawn, peak = peak_of(lambda: labels.draw(y, T, random_state=0, classes=names))
    assert peak < 8 * drawn.nbytes


@pytest.mark.parametrize("n", [2, 3, 10, 37])
def test_the_alias_tables_add_up_to_T(n):
    """What column j keeps, and what it passes on to its alias, make T again, zeros exactly."""
    rng = np.random.default_rng(n)
    matrices = [
        transition.uniform(n),
        transition.strong(n, 0),
        transition.with_uniform_noise(transition.uniform(n), 1.0),
        rng.dirichlet(np.full(n, 0.05), n),
        np.eye(n)[rng.permutation(n)],
    ]
    for T in matrices:
        threshold, alias = drawing._alias_tables(T)
        again = threshold.copy()
        for y in range(n):
            for j in range(n):
                again[y, alias[y, j]] += 1 - threshold[y, j]
        np.testing.assert_allclose(again / n, T, atol=1e-14)
        assert not again[T == 0].any()
