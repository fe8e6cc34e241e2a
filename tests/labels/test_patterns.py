"""Distinct likelihoods, against loops and against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ybar import transition
from ybar.labels.patterns import Patterns, labels_of, unique_rows


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 40), st.sampled_from([1, 2, 7, 8, 9, 63, 64, 65, 130])),
)
def test_distinct_rows_are_those_of_numpy_in_its_order(seed, shape):
    rng = np.random.default_rng(seed)
    mask = rng.random((5, shape[1]))[rng.integers(0, 5, shape[0])] < 0.3
    rows, code = unique_rows(mask)
    expected_rows, expected_code = np.unique(mask, axis=0, return_inverse=True)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(code, expected_code.reshape(-1))


def test_likelihoods_are_products_with_exact_zeros():
    T = transition.strong(4, random_state=0)
    log_rest = np.log([[1.0, 0.5, 0.25, 1.0], [1.0, 1.0, 1.0, 1.0]])
    counts = np.array([[2.0, 0, 1, 0], [0, 0, 0, 0]])
    found = np.exp(Patterns(log_rest, counts).log_likelihoods(T))
    np.testing.assert_allclose(found[0], np.exp(log_rest[0]) * T[:, 0] ** 2 * T[:, 2])
    assert found[0, 0] == found[0, 2] == 0
    np.testing.assert_array_equal(found[1], 1)


def test_fixed_patterns_keep_their_likelihoods_under_any_T():
    T, other = transition.strong(3, random_state=0), transition.uniform(3)
    patterns = Patterns.of_counts(np.eye(3))
    fixed = patterns.fixed(T)
    np.testing.assert_array_equal(fixed.log_likelihoods(other), patterns.log_likelihoods(T))
    np.testing.assert_array_equal(fixed.log_likelihoods(None), patterns.log_likelihoods(T))


def test_single_labels_are_told_from_other_patterns():
    unit = np.eye(3)
    assert Patterns.of_counts(unit).one_label_each
    assert not Patterns.of_counts(unit[::-1]).one_label_each
    assert not Patterns.of_counts(unit[:2]).one_label_each
    assert not Patterns(np.array([[0, 0, -1.0], [0, 0, 0], [0, 0, 0]]), unit).one_label_each


def test_a_pattern_is_informative_if_its_likelihoods_differ():
    patterns = Patterns.of_counts(np.array([[1.0, 0, 0], [0, 0, 0]]))
    assert patterns.informative(transition.uniform(3)).tolist() == [True, False]
    assert patterns.informative(np.full((3, 3), 1 / 3)).tolist() == [False, False]


@pytest.mark.parametrize(
    ("log_rest", "counts", "expected"),
    [
        ([[0, 0], [0, 0]], [[1, 0], [0, 1]], [1, 0]),
        ([[0, 0], [0, 0]], [[0, 0], [0, 1]], [[False, True], [False, False]]),
        ([[-3, -3], [0, 0]], [[1, 0], [0, 1]], [1, 0]),
        ([[0, -1], [0, 0]], [[1, 0], [0, 1]], None),
        ([[0, 0], [0, 0]], [[2, 0], [0, 1]], None),
    ],
    ids=["one each", "none in some row", "common factor", "more than labels", "a label twice"],
)
def test_labels_come_back_if_there_is_nothing_else(log_rest, counts, expected):
    patterns = Patterns(np.array(log_rest, float), np.array(counts, float))
    found = labels_of(np.array([1, 0]), patterns)
    assert found is None if expected is None else found.tolist() == expected
