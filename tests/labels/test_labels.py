"""Complementary labels: drawn from T and nothing else, encoded in the user's own names."""

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


# --- draw ----------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="one row for each of the 3 classes"):
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


# --- encode --------------------------------------------------------------------------------------

WORDS = st.text(st.sampled_from("abzAZ09 _-é中🐝"), min_size=1, max_size=6)
NAMES = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=8, unique=True),
    st.lists(WORDS, min_size=2, max_size=8, unique=True),
)


@quick
@given(names=NAMES, data=st.data())
def test_codes_are_places_in_the_sorted_values_that_occur(names, data):
    y = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=20))
    codes, classes = labels.encode(y)
    assert classes.tolist() == sorted(set(y))
    assert codes.tolist() == [sorted(set(y)).index(value) for value in y]
    assert codes.dtype == np.intp


@quick
@given(names=NAMES, data=st.data())
def test_given_classes_keep_their_order_and_may_be_absent(names, data):
    y = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=20))
    codes, classes = labels.encode(y, names)
    assert classes.tolist() == names
    assert codes.tolist() == [names.index(value) for value in y]


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "one column": lambda values: np.array(values)[:, None][:, 0],
    "pandas": pd.Series,
    "pandas with another index": lambda values: pd.Series(
        values, index=range(9, 9 - len(values), -1)
    ),
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "Categorical": pd.Categorical,
    "Index": pd.Index,
    "polars": pl.Series,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("values", [["cow", "ant", "cow", "dog"], [7, -2, 7, 30], [3, 0, 3, 1]])
def test_every_container_gives_the_same_codes(container, values):
    wrap = CONTAINERS[container]
    codes, classes = labels.encode(wrap(values))
    assert codes.tolist() == [sorted(set(values)).index(value) for value in values]
    assert classes.tolist() == sorted(set(values))
    order = sorted(set(values), reverse=True)
    codes, classes = labels.encode(wrap(values), order)
    assert codes.tolist() == [order.index(value) for value in values]
    assert classes.tolist() == order


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(ANIMALS)])
def test_categories_of_polars_are_their_words(dtype):
    words = ["cow", "ant", "cow", "dog"]
    codes, classes = labels.encode(pl.Series(words, dtype=dtype), ANIMALS)
    assert codes.tolist() == [ANIMALS.index(word) for word in words]
    assert classes.tolist() == ANIMALS


def test_python_strings_in_an_object_array_are_names():
    codes, classes = labels.encode(np.array(["cow", "ant", "cow"], dtype=object), ANIMALS)
    assert (codes.tolist(), classes.tolist()) == ([2, 1, 2], ANIMALS)


def test_two_classes_and_true_and_false_as_names():
    codes, classes = labels.encode([5, 5, 2])
    assert (codes.tolist(), classes.tolist()) == ([1, 1, 0], [2, 5])
    codes, classes = labels.encode(np.array([True, False, True]))
    assert (codes.tolist(), classes.tolist()) == ([1, 0, 1], [False, True])


@quick
@given(data=st.data(), n=st.integers(2, 6), rows=st.integers(1, 8))
def test_a_boolean_array_is_its_own_code(data, n, rows):
    flags = st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda row: not all(row))
    mask = np.array([data.draw(flags) for _ in range(rows)])
    if not mask.any():
        mask[0, 0] = True
    kept = mask.copy()
    codes, classes = labels.encode(mask)
    np.testing.assert_array_equal(codes, kept)
    assert codes.dtype == bool
    assert classes.tolist() == list(range(n))
    names = [f"class {n - k}" for k in range(n)]
    codes, classes = labels.encode(mask, names)
    np.testing.assert_array_equal(codes, kept)
    assert classes.tolist() == names
    np.testing.assert_array_equal(mask, kept)


def test_a_data_frame_of_booleans_is_a_boolean_array():
    mask = np.array([[True, False, False], [False, True, True]])
    for frame in (pd.DataFrame(mask), pl.DataFrame(mask, schema=["a", "b", "c"])):
        codes, _ = labels.encode(frame)
        np.testing.assert_array_equal(codes, mask)


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        ([], None, "at least one complementary label"),
        (["a", None], None, "row 1"),
        ([1.0, np.nan], None, "row 1"),
        (pd.Series(["a", None, "b"]), None, "row 1"),
        (pd.Series(["a", None, "b"], dtype="string"), None, "row 1"),
        (pd.Series([1, None, 2], dtype="Int64"), None, "row 1"),
        (pl.Series(["a", None, "b"]), None, "row 1"),
        (["a", "z"], ["a", "b"], "must hold only classes.*'z'.* in row 1"),
        ([1, 2], ["a", "b"], "must hold only classes"),
        (["a", "b"], ["a", "b", "a"], "name each class once; got .*a"),
        (["a", "b"], ["a"], "at least 2 class names"),
        ([[0, 1], [1, 0]], None, r"pass y\.astype\(bool\)"),
        ([[True, True], [True, False]], None, "row 0 rules out all 2 classes"),
        ([[False, False], [False, False]], None, "at least one class somewhere"),
        ([[True, False], [True, False]], ["a", "b", "c"], "one column for each class"),
        ([[True], [False]], None, "one column for each class"),
    ],
)
def test_encode_says_what_is_wrong(y, classes, message):
    with pytest.raises(ValueError, match=message):
        labels.encode(np.array(y) if isinstance(y, list) else y, classes)


# --- pairs ---------------------------------------------------------------------------------------


@quick
@given(codes=st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_pairs_of_single_labels_are_each_row_once(codes):
    rows, indices = labels.pairs(codes, 5)
    assert rows.tolist() == list(range(len(codes)))
    assert indices.tolist() == codes


@quick
@given(data=st.data(), n=st.integers(2, 5), count=st.integers(1, 8))
def test_pairs_of_a_boolean_array_are_its_true_cells_row_by_row(data, n, count):
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    mask = np.array([data.draw(flags) for _ in range(count)])
    mask[:, -1] &= ~mask[:, :-1].all(axis=1)  # no row rules out every class
    mask[-1] = np.arange(n) == 0
    expected = [(i, k) for i in range(count) for k in range(n) if mask[i, k]]
    rows, indices = labels.pairs(mask, n)
    assert list(zip(rows.tolist(), indices.tolist(), strict=True)) == expected


def test_pairs_refuses_codes_of_other_classes():
    with pytest.raises(ValueError, match=r"y_comp must hold class indices 0\.\.2; got 3"):
        labels.pairs([0, 3], 3)
    with pytest.raises(ValueError, match="y_pred must hold class indices"):
        labels.pairs([0.5, 1.0], 3, name="y_pred")
    with pytest.raises(ValueError, match="must have one column for each class"):
        labels.pairs(np.array([[True, False]]), 3)


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
