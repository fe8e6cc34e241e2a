"""`check` returns a new array whose rows sum to 1, or raises one line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bad_input import assert_one_clear_line
from matrices import transitions
from ybar import transition

quick = settings(deadline=None, max_examples=40)


@quick
@given(T=transitions(), scale=st.floats(1 - 9e-5, 1 + 9e-5))
def test_check_returns_a_new_array_with_rows_that_sum_to_one(T, scale):
    rounded = T * scale
    kept = rounded.copy()
    checked = transition.check(rounded)
    np.testing.assert_allclose(checked, T, atol=1e-12)
    assert not np.shares_memory(checked, rounded)
    np.testing.assert_array_equal(rounded, kept)


# Each: what is no T, and what the error must show.
BAD = [
    ([[0, 1, 0], [1, 0, 0]], "(2, 3)"),
    ([[1.0]], "(1, 1)"),
    ([[0, 0.9], [1, 0]], "row 0", "0.9"),
    ([[0, 1], [1.5, -0.5]], "-0.5", "row 1", "column 1"),
    ([[0, 1], [np.nan, 0]], "nan", "row 1", "column 0"),
    ([["a", "b"], ["c", "d"]], "[['a', 'b'], ['c', 'd']]"),
    ("weak", "'weak'"),
]


@pytest.mark.parametrize("case", BAD, ids=range(len(BAD)))
def test_what_is_no_transition_matrix_raises_one_line(case):
    T, *shows = case
    assert_one_clear_line(lambda: transition.check(T), ValueError, "T", *shows)
    assert_one_clear_line(lambda: transition.check(T, name="A"), ValueError, "A", *shows)
