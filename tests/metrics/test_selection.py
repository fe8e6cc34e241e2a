"""The one-standard-error rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ybar import (
    metrics,
)

quick = settings(deadline=None, max_examples=40)


SEEDS = st.integers(0, 2**32 - 1)


def slow_rule(scel, errors, complexity, paired):
    best = min((i for i in range(len(scel)) if scel[i] == scel[i]), key=lambda i: scel[i])
    near = [
        i
        for i in range(len(scel))
        if i == best or scel[i] - scel[best] <= (errors[i] if paired else errors[best])
    ]
    return sorted(near, key=lambda i: (complexity[i], scel[i]))[0]


@quick
@given(seed=SEEDS, n=st.integers(1, 12), paired=st.booleans(), given_order=st.booleans())
def test_the_rule_takes_the_simplest_within_one_error_of_the_best(seed, n, paired, given_order):
    rng = np.random.default_rng(seed)
    scel = rng.normal(2, 0.1, n)
    scel[rng.random(n) < 0.2] = np.nan
    scel[rng.integers(n)] = 2.0
    errors = rng.random(n) * 0.2
    complexity = rng.integers(0, 4, n)
    found = metrics.one_standard_error(
        scel, errors, complexity=complexity if given_order else None, paired=paired
    )
    assert found == slow_rule(scel, errors, complexity if given_order else range(n), paired)


@pytest.mark.parametrize(
    ("scel", "errors", "options", "index"),
    [
        ([2.0], [0.1], {}, 0),
        ([2.3, 2.0, 2.05], [0.1] * 3, {}, 1),
        ([2.09, 2.0], [0.0, 0.1], {}, 0),
        ([2.09, 2.0], [0.0, 0.1], {"paired": True}, 1),
        ([2.09, 2.0], [0.1, 0.0], {"paired": True}, 0),
        ([2.0, 2.05], [0.1, 0.1], {"complexity": [50, 10]}, 1),
        ([2.05, 2.02, 2.0], [0.1] * 3, {"complexity": [1, 1, 2]}, 1),
        ([math.nan, 2.05, 2.0], [math.nan, 0.1, 0.1], {}, 1),
        ([math.inf, 2.05, 2.0], [math.nan, 0.1, 0.1], {}, 1),
        ([2.05, 2.0], [math.nan, math.nan], {}, 1),
        ([2.0, 2.0], [0.0, 0.0], {}, 0),
    ],
)
def test_the_rule_in_cases_one_can_check_by_eye(scel, errors, options, index):
    found = metrics.one_standard_error(scel, errors, **options)
    assert found == index
    assert type(found) is int


@pytest.mark.parametrize(
    ("scel", "std_error", "options", "argument", "value"),
    [
        ([2.1, 2.0], [0.1], {}, "std_error", "(1,)"),
        ([], [], {}, "scel", "(0,)"),
        ([[2.1, 2.0]], [[0.1, 0.1]], {}, "scel", "(1, 2)"),
        (["low"], [0.1], {}, "scel", "['low']"),
        ([math.nan, math.inf], [0.1, 0.1], {}, "scel", "[nan, inf]"),
        ([2.1, 2.0], [0.1, -0.2], {}, "std_error", "-0.2"),
        ([2.1, 2.0], [0.1, 0.1], {"complexity": [1, math.nan]}, "complexity", "NaN"),
        ([2.1, 2.0], [0.1, 0.1], {"paired": [0.1, 0]}, "paired", "[0.1, 0]"),
    ],
)
def test_an_error_names_the_argument_and_shows_its_value(scel, std_error, options, argument, value):
    with pytest.raises(ValueError, match=f"^{argument} must") as error:
        metrics.one_standard_error(scel, std_error, **options)
    assert value in str(error.value)
    assert "\n" not in str(error.value)
