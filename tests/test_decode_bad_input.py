"""Bad input to decoders raises one line with the argument and the value."""

from __future__ import annotations

import numpy as np
import pytest

from bad_input import BIASED, Q, U, assert_one_clear_line, changed
from ybar import decode

# Each: the call, the type of its error, and what the error must show.
CASES = [
    *(
        pytest.param(
            lambda method=method: decode.decode(Q, U, method),
            ValueError,
            ["method", "'l1'", "'l2'", "'max'", "'likelihood'", repr(method)],
            id=f"method-{what}",
        )
        for what, method in [("unknown", "l3"), ("none", None), ("a-list", ["l1"])]
    ),
    pytest.param(
        lambda: decode.decode(Q, BIASED, lambda q, t: np.nan),
        ValueError,
        ["method", "nan"],
        id="method-returns-nan",
    ),
    pytest.param(
        lambda: decode.decode(Q, BIASED, lambda q, t: None),
        ValueError,
        ["method", "None"],
        id="method-returns-none",
    ),
    *(
        pytest.param(
            lambda function=function, q=q: function(q, U), ValueError, says, id=f"{name}-q-{what}"
        )
        for name, function in (
            ("decode", decode.decode),
            ("class-probabilities", decode.class_probabilities),
        )
        for what, q, says in [
            ("of-another-K", [[0.4, 0.6]], ["q", "(1, 2)"]),
            ("1d", [0.2, 0.3, 0.5], ["q", "(3,)"]),
            ("empty", [], ["q", "(0,)"]),
            ("none", None, ["q", "None"]),
            ("words", [["a", "b", "c"]], ["q", "[['a', 'b', 'c']]"]),
            ("ragged", [[1, 0, 0], [1]], ["q", "length"]),
            ("complex", [[1, 0, 0j]], ["q", "real"]),
            ("nan", changed(Q, (1, 1), np.nan), ["q", "row 1"]),
            (
                "both-infinities",
                [[np.inf, -np.inf, 1]],
                ["q", "row 0"],
            ),
            (
                "negative",
                [[0.2, 0.3, 0.5], [-0.2, 0.7, 0.5]],
                ["q", "0", "-0.2", "row 1"],
            ),
            (
                "not-summing-to-one",
                [[0.2, 0.3, 0.5], [0.2, 0.7, 0.5]],
                ["q", "1", "row 1", "1.4"],
            ),
        ]
    ),
    pytest.param(
        lambda: decode.inverse(U[:2]),
        ValueError,
        ["T", "(2, 3)"],
        id="inverse-T-not-square",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)
