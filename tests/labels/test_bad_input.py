"""Bad labels raise one line with the argument and the value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bad_input import MASK, TWO, U, assert_one_clear_line
from ybar import labels

# Each: the call, the type of its error, and what the error must show.
CASES = [
    pytest.param(
        lambda: labels.draw([0, 1, 3], U),
        ValueError,
        ["y", "3", "T"],
        id="draw-y-too-large",
    ),
    pytest.param(
        lambda: labels.draw([0, -1], U),
        ValueError,
        ["y", "-1"],
        id="draw-y-negative",
    ),
    pytest.param(
        lambda: labels.draw([0.0, 1.0], U),
        ValueError,
        ["y", "float64"],
        id="draw-y-floats",
    ),
    pytest.param(
        lambda: labels.draw(["cat", "dog"], U),
        ValueError,
        ["y", "labels.draw", "classes="],
        id="draw-y-names-without-classes",
    ),
    pytest.param(
        lambda: labels.draw([], U),
        ValueError,
        ["y", "nothing"],
        id="draw-y-empty",
    ),
    pytest.param(
        lambda: labels.draw([], TWO, classes=["cat", "dog"]),
        ValueError,
        ["y", "none"],
        id="draw-y-empty-with-classes",
    ),
    pytest.param(
        lambda: labels.draw(MASK, U),
        ValueError,
        ["y", "(60, 3)"],
        id="draw-y-2d",
    ),
    pytest.param(
        lambda: labels.draw(["cat", "cow"], TWO, classes=["cat", "dog"]),
        ValueError,
        ["y", "['cat', 'dog']", "'cow'", "row 1", "classes="],
        id="draw-y-outside-classes",
    ),
    pytest.param(
        lambda: labels.draw(["cat", "dog"], U, classes=["cat", "dog"]),
        ValueError,
        ["T", "2", "(3, 3)"],
        id="draw-T-of-another-K-than-classes",
    ),
    *(
        pytest.param(
            lambda seed=seed: labels.draw([0, 1], U, random_state=seed),
            ValueError,
            ["random_state", "Generator", shown],
            id=f"random-state-{what}",
        )
        for what, seed, shown in [
            ("negative", -1, "-1"),
            ("a-float", 1.5, "1.5"),
            ("a-boolean", True, "True"),
            ("a-long-array", np.arange(99), "array("),
        ]
    ),
    pytest.param(
        lambda: labels.pairs([0, 1], "3"),
        ValueError,
        ["n_classes", "'3'"],
        id="pairs-n-classes-a-string",
    ),
    pytest.param(
        lambda: labels.encode(pd.cut([1, 2, 3], 2)),
        ValueError,
        ["y", "Interval"],
        id="labels-intervals",
    ),
    pytest.param(
        lambda: labels.Evidence.candidates([[0, 1], [2]]),
        ValueError,
        ["sets", "length"],
        id="evidence-candidates-ragged",
    ),
    pytest.param(
        lambda: labels.Evidence.candidates([[True, False], [False, False]]),
        ValueError,
        ["sets", "row 1"],
        id="evidence-candidates-none",
    ),
    pytest.param(
        lambda: labels.Evidence.ordinary([0, np.nan], classes=3),
        ValueError,
        ["y", "row 1"],
        id="evidence-ordinary-nan",
    ),
    pytest.param(
        lambda: labels.Evidence.complementary([0], {"ann": 2 * U, "bob": U}, annotator=["bob"]),
        ValueError,
        ["T['ann']", "row 0", "2"],
        id="evidence-first-annotator",
    ),
    pytest.param(
        lambda: labels.Evidence.complementary([[1, 2], [0, 1]], U),
        ValueError,
        ["y_comp", "(2, 2)"],
        id="evidence-label-columns",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)
