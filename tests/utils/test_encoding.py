"""Labels become codes in the user's own names, and codes become single labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ybar import labels

quick = settings(deadline=None, max_examples=60)


ANIMALS = ["dog", "ant", "cow", "bee"]  # not in sorted order, on purpose


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
