"""Bad matrices, counts and their settings raise one line with the argument and the value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bad_input import TWO, U, assert_one_clear_line, changed
from ybar import labels, transition

# Each: the call, the type of its error, and what the error must show.
CASES = [
    pytest.param(
        lambda: transition.check([[0, 0.5, 0.5], [1, 0, 0]]),
        ValueError,
        ["T", "(2, 3)"],
        id="T-not-square",
    ),
    pytest.param(
        lambda: transition.check([0.5, 0.5]),
        ValueError,
        ["T", "(2,)"],
        id="T-1d",
    ),
    pytest.param(
        lambda: transition.check(U, 4),
        ValueError,
        ["T", "4", "(3, 3)", "classes="],
        id="T-of-another-K",
    ),
    pytest.param(
        lambda: transition.check([[1.0]]),
        ValueError,
        ["T", "(1, 1)"],
        id="T-of-one-class",
    ),
    pytest.param(
        lambda: transition.check(changed(U, (1, 2), -0.5)),
        ValueError,
        ["T", "0", "-0.5", "row 1", "column 2"],
        id="T-negative",
    ),
    pytest.param(
        lambda: transition.check([[0, 8], [3, 0]]),
        ValueError,
        ["T", "1", "row 0", "8", "transition.from_counts"],
        id="T-rows-not-summing-to-one",
    ),
    pytest.param(
        lambda: transition.check(changed(U, (1, 2), np.nan)),
        ValueError,
        ["T", "nan", "row 1", "column 2"],
        id="T-nan",
    ),
    pytest.param(
        lambda: transition.check([[0, 1], [1]]),
        ValueError,
        ["T", "[[0, 1], [1]]"],
        id="T-ragged",
    ),
    pytest.param(
        lambda: transition.check([["a", "b"], ["c", "d"]]),
        ValueError,
        ["T", "[['a', 'b'], ['c', 'd']]"],
        id="T-words",
    ),
    pytest.param(
        lambda: transition.check(None),
        ValueError,
        ["T", "None"],
        id="T-none",
    ),
    pytest.param(
        lambda: transition.gamma("uniform"),
        ValueError,
        ["T", "'uniform'", "transition.uniform"],
        id="T-uniform-without-K",
    ),
    pytest.param(
        lambda: transition.epsilon(U, transition.uniform(4)),
        ValueError,
        ["T", "3", "(4, 4)"],
        id="epsilon-two-K",
    ),
    pytest.param(
        lambda: transition.gamma(U, "manhatan"),
        ValueError,
        ["distance", "'l1'", "'l2'", "'manhatan'"],
        id="distance-unknown",
    ),
    pytest.param(
        lambda: transition.gamma(U, lambda a, b: "far"),
        ValueError,
        ["distance", "'far'"],
        id="distance-returns-a-word",
    ),
    *(
        pytest.param(
            lambda K=K: transition.uniform(K),
            ValueError,
            ["n_classes", repr(K)],
            id=f"n-classes-{what}",
        )
        for what, K in [("one", 1), ("a-float", 10.0), ("a-string", "10"), ("a-boolean", True)]
    ),
    pytest.param(
        lambda: transition.strong(1),
        ValueError,
        ["n_classes", "1"],
        id="n-classes-of-strong",
    ),
    *(
        pytest.param(
            lambda masses=masses: transition.biased(4, masses),
            ValueError,
            ["masses", "1", repr(masses)],
            id=f"masses-{what}",
        )
        for what, masses in [
            ("not-summing-to-one", (0.5, 0.6)),
            ("negative", (-0.5, 1.5)),
            ("nan", (float("nan"), 1.0)),
            ("empty", []),
            ("none", None),
            ("a-word", "half"),
            ("words", ["half", "half"]),
        ]
    ),
    *(
        pytest.param(
            lambda level=level: transition.with_uniform_noise(U, level),
            ValueError,
            ["level", shown],
            id=f"level-{what}",
        )
        for what, level, shown in [
            ("above-one", 1.5, "1.5"),
            ("negative", -0.1, "-0.1"),
            ("nan", np.float64("nan"), "nan"),
            ("a-string", "0.5", "'0.5'"),
            ("none", None, "None"),
            ("a-boolean", True, "True"),
            ("a-matrix", np.eye(30), "array("),
        ]
    ),
    *(
        pytest.param(
            lambda smoothing=smoothing: transition.from_counts(TWO, smoothing),
            ValueError,
            ["smoothing", repr(smoothing)],
            id=f"smoothing-{what}",
        )
        for what, smoothing in [
            ("negative", -1),
            ("infinite", float("inf")),
            ("a-string", "1/K"),
            ("none", None),
            ("a-boolean", True),
        ]
    ),
    pytest.param(
        lambda: transition.from_counts([[0, 8, 2], [5, 0, 5]]),
        ValueError,
        ["counts", "(2, 3)"],
        id="counts-not-square",
    ),
    pytest.param(
        lambda: transition.from_counts([["few", 8], [5, 0]]),
        ValueError,
        ["counts", "[['few', 8], [5, 0]]"],
        id="counts-words",
    ),
    pytest.param(
        lambda: transition.from_counts([[0, -1], [5, 0]]),
        ValueError,
        ["counts", "-1", "row 0", "column 1"],
        id="counts-negative",
    ),
    pytest.param(
        lambda: transition.from_counts([[0, 1], [np.nan, 0]]),
        ValueError,
        ["counts", "nan", "row 1", "column 0"],
        id="counts-nan",
    ),
    pytest.param(
        lambda: transition.from_counts([[0, 3], [0, 0]]),
        ValueError,
        ["counts", "row 1", "smoothing="],
        id="counts-none-in-a-row",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [1]),
        ValueError,
        ["y_true", "y_comp", "2", "1"],
        id="estimate-two-lengths",
    ),
    pytest.param(
        lambda: transition.estimate([], []),
        ValueError,
        ["y_true", "none"],
        id="estimate-empty",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [1, 5], classes=[0, 1]),
        ValueError,
        ["y_comp", "[0, 1]", "5"],
        id="estimate-y-comp-outside-classes",
    ),
    pytest.param(
        lambda: transition.estimate([0, 7], [1, 0], classes=[0, 1]),
        ValueError,
        ["y_true", "[0, 1]", "7"],
        id="estimate-y-true-outside-classes",
    ),
    pytest.param(
        lambda: transition.estimate(["cat", "dog"], ["dog", None]),
        ValueError,
        ["y_comp", "None", "row 1"],
        id="estimate-y-comp-none",
    ),
    pytest.param(
        lambda: transition.estimate([0, np.nan], [1, 0]),
        ValueError,
        ["y_true", "nan", "row 1"],
        id="estimate-y-true-nan",
    ),
    pytest.param(
        lambda: transition.estimate([0.5, 1.5], [1, 0]),
        ValueError,
        ["y_true", "0.5"],
        id="estimate-y-true-continuous",
    ),
    pytest.param(
        lambda: transition.estimate(["cat", "dog"], [0, 1]),
        ValueError,
        ["y_true", "y_comp", "'cat'", "0"],
        id="estimate-names-and-indices",
    ),
    pytest.param(
        lambda: transition.estimate([0, 0], [0, 0]),
        ValueError,
        ["y_true", "y_comp", "0", "classes="],
        id="estimate-one-class",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [1, 0], classes=[0, 0, 1]),
        ValueError,
        ["classes", "0"],
        id="estimate-classes-twice-the-same",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [[0, 1], [1, 0]]),
        ValueError,
        ["y_comp", "(2, 2)"],
        id="estimate-y-comp-2d-of-integers",
    ),
    pytest.param(
        lambda: transition.from_counts(pd.crosstab(pd.Series(list("aabbcc")), list("bcdcdb"))),
        ValueError,
        ["counts", "['a', 'b', 'c']", "['b', 'c', 'd']"],
        id="counts-of-other-names",
    ),
    pytest.param(
        lambda: transition.check(pd.DataFrame(U, index=list("abc"), columns=list("cba"))),
        ValueError,
        ["T", "['a', 'b', 'c']", "['c', 'b', 'a']"],
        id="T-of-other-names",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1, 2], [[1], [0, 2], [1]]),
        ValueError,
        ["y_comp", "length"],
        id="estimate-ragged",
    ),
    pytest.param(
        lambda: transition.credible_intervals([0, 1], [1, 0], smoothing=1e-20),
        ValueError,
        ["smoothing", "1e-20", "1e-06"],
        id="intervals-tiny-smoothing",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], labels.Evidence.complementary([1, 0], U)),
        ValueError,
        ["y_comp", "Evidence", "evidence.labels"],
        id="estimate-evidence",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)
