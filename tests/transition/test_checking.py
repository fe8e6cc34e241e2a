"""`check` returns a new array whose rows sum to 1, or raises one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bad_input import assert_one_clear_line
from matrices import transitions
from ybar import calibration, decode, displays, labels, metrics, transition

quick = settings(deadline=None, max_examples=40)


@quick
@given(T=transitions(), scale=st.floats(1 - 9e-7, 1 + 9e-7))
def test_check_returns_a_new_array_with_rows_that_sum_to_one(T, scale):
    rounded = T * scale
    kept = rounded.copy()
    checked = transition.check(rounded)
    np.testing.assert_allclose(checked, T, atol=1e-12)
    assert not np.shares_memory(checked, rounded)
    np.testing.assert_array_equal(rounded, kept)


@pytest.mark.parametrize("n", [3, 7, 10, 47, 200])
@pytest.mark.parametrize("decimals", [3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_entries_with_three_decimals_are_normalised_with_a_warning(n, decimals, seed):
    for T in (transition.uniform(n), transition.weak(n, seed), transition.strong(n, seed)):
        rounded = T.round(decimals)
        if np.abs(rounded.sum(axis=1) - 1).max() < 1e-9:
            continue
        with pytest.warns(UserWarning, match=r"A has rows .*; row \d+ sums to .*divided") as caught:
            checked = transition.check(rounded, name="A")
        assert caught[0].filename == __file__
        np.testing.assert_allclose(checked.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(checked, rounded / rounded.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n", [4, 200, 1000, 3000])
def test_a_row_may_miss_one_by_a_half_unit_of_three_decimals_per_entry(n):
    allowed = min(n * 0.0005, 0.1)
    T = transition.uniform(n)
    for miss in (-0.999 * allowed, 0.999 * allowed):
        with pytest.warns(UserWarning, match="sums to"):
            np.testing.assert_allclose(transition.check(T * (1 + miss)), T, atol=1e-12)
    for miss in (-1.001 * allowed, 1.001 * allowed):
        shown = f"{1 + miss:.6g}"
        assert_one_clear_line(lambda m=miss: transition.check(T * (1 + m)), ValueError, "T", shown)


# --- data frames ---------------------------------------------------------------------------------

NAMES = ["ant", "bee", "cat"]
UNNAMED = transition.weak(3, random_state=0)
NAMED = pd.DataFrame(UNNAMED, NAMES, NAMES)
SHUFFLED = NAMED.loc[["cat", "ant", "bee"], ["cat", "ant", "bee"]]
NUMBERED = pd.DataFrame(UNNAMED, [1, 2, 0], [1, 2, 0])
Q = np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3], [0.3, 0.4, 0.3]])
Q_FRAME = pd.DataFrame(Q, columns=NAMES)
MASK_FRAME = pd.DataFrame(np.eye(3, dtype=bool), columns=NAMES)
Y = [0, 1, 2]
EVIDENCE = labels.Evidence.complementary(NAMES, UNNAMED, classes=NAMES)

# Each: a call with T. What T has to agree with is unnamed in the first, named in the second.
BY_INDEX = {
    "decode": lambda T: decode.decode(Q, T),
    "class_probabilities": lambda T: decode.class_probabilities(Q, T),
    "draw": lambda T: labels.draw(Y, T, random_state=0),
    "ure_zero_one": lambda T: metrics.ure_zero_one(Y, Y, T),
    "compare_error_rates": lambda T: metrics.compare_error_rates(Y, Y, [1, 2, 0], T).difference,
    "complementary_estimation_loss": lambda T: metrics.complementary_estimation_loss(Y, Q, T),
    "error_bound": lambda T: metrics.error_bound(Y, Q, T),
    "error_bound of T_true": lambda T: metrics.error_bound(Y, Q, UNNAMED, T_true=T),
    "check_transition": lambda T: metrics.check_transition(Y, T).p_value,
    "fit_temperature": lambda T: calibration.fit_temperature(Y, Q, T),
}
BY_NAME = {
    "decode": lambda T: decode.decode(Q_FRAME, T),
    "class_probabilities": lambda T: decode.class_probabilities(Q_FRAME, T),
    "draw": lambda T: np.searchsorted(NAMES, labels.draw(NAMES, T, 0, classes=NAMES)),
    "ure_zero_one": lambda T: metrics.ure_zero_one(MASK_FRAME, Y, T),
    "ure_zero_one of evidence": lambda T: metrics.ure_zero_one(EVIDENCE, Y, T),
    "complementary_estimation_loss": lambda T: metrics.complementary_estimation_loss(Y, Q_FRAME, T),
    "ConfusionDisplay": lambda T: (
        displays.ConfusionDisplay.from_complementary(NAMES, NAMES, T, classes=NAMES).matrix
    ),
    "check_transition": lambda T: metrics.check_transition(Y, T, classes=NAMES).p_value,
}


@pytest.mark.parametrize("name", BY_INDEX)
def test_class_indices_do_not_read_a_named_T_by_position(name):
    call = BY_INDEX[name]
    unnamed = pd.DataFrame(UNNAMED)
    np.testing.assert_allclose(call(unnamed), call(UNNAMED), rtol=1e-9, atol=1e-12)
    argument = "T_true" if "T_true" in name else "T"
    for T in (NAMED, SHUFFLED, NUMBERED):
        shows = [argument, "index", "[0, 1, 2]", repr(T.index.tolist())]
        assert_one_clear_line(lambda T=T: call(T), ValueError, *shows)
    only_columns = pd.DataFrame(UNNAMED, columns=SHUFFLED.columns)
    assert_one_clear_line(lambda: call(only_columns), ValueError, argument, "columns", "'cat'")


@pytest.mark.parametrize("name", BY_NAME)
def test_names_of_labels_or_probabilities_must_be_those_of_T_in_their_order(name):
    call = BY_NAME[name]
    np.testing.assert_allclose(call(NAMED), call(UNNAMED), rtol=1e-9, atol=1e-12)
    shows = ["T", "index", repr(NAMES), "['cat', 'ant', 'bee']"]
    assert_one_clear_line(lambda: call(SHUFFLED), ValueError, *shows)


def test_two_named_matrices_must_name_the_same_classes_in_one_order():
    assert transition.epsilon(NAMED, UNNAMED) == transition.epsilon(NAMED, NAMED) == 0
    shows = ["T", "index", repr(NAMES), "['cat', 'ant', 'bee']"]
    assert_one_clear_line(lambda: transition.epsilon(NAMED, SHUFFLED), ValueError, *shows)


def test_functions_of_T_alone_take_any_names():
    assert transition.gamma(SHUFFLED) == transition.gamma(UNNAMED)
    assert transition.check(SHUFFLED).shape == (3, 3)


# --- bad input -----------------------------------------------------------------------------------

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
