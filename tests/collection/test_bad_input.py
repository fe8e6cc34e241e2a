"""Bad arguments of `plan` raise one line with the argument and the value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from bad_input import assert_one_clear_line
from ybar import CPEClassifier, collection, transition

X, Y = load_iris(return_X_y=True)
NO_PILOT = {"X": None, "y": None}
GAPS = np.where(np.arange(150)[:, None] == 7, np.nan, X)
SHORT_ROW = [[0, 1, 0], [1, 1, 0], [1, 0, 0]]

# Each: the arguments that differ from a good call, and what the error must show.
CASES = {
    "one class": ({"n_classes": 1}, "n_classes", "1"),
    "classes as text": ({"n_classes": "ten"}, "n_classes", "'ten'"),
    "noise above 1": ({"noise": 1.5}, "noise", "1.5"),
    "noise as text": ({"noise": "low"}, "noise", "'low'"),
    "no number": ({"noise": math.nan}, "noise", "nan"),
    "budget too small": ({"budget": 2}, "budget", "3", "2"),
    "half a label": ({"budget": 99.5}, "budget", "99.5"),
    "target in percent": ({"target": 90}, "target", "90"),
    "one repetition": ({"repeats": 1}, "repeats", "1"),
    "X alone": ({"y": None}, "X", "X=ndarray", "y=None"),
    "y alone": ({"X": None}, "y", "X=None", "y=ndarray"),
    "target alone": (NO_PILOT | {"target": 0.9}, "target", "X=None"),
    "classifier alone": (NO_PILOT | {"classifier": CPEClassifier()}, "classifier", "X=None"),
    "rows": ({"y": Y[:-1]}, "X", "y", "150", "149"),
    "X no rows": ({"X": 3.0}, "X", "3.0"),
    "a class missing": ({"n_classes": 4, "budget": 9}, "y", "n_classes", "[0, 1, 2]"),
    "a class once": ({"X": X[:101], "y": Y[:101]}, "y", "2"),
    "y continuous": ({"y": Y + 0.5}, "y", "0.5"),
    "y missing": ({"y": np.where(Y == 1, np.nan, Y)}, "y", "row 50"),
    "another's classifier": (
        {"classifier": LogisticRegression()},
        "classifier",
        "LogisticRegression()",
    ),
    "a class of classifiers": ({"classifier": CPEClassifier}, "classifier", "CPEClassifier"),
    "designs as a list": ({"designs": ["uniform"]}, "designs", "['uniform']"),
    "no design": ({"designs": {}}, "designs", "{}"),
    "a number for a name": ({"designs": {1: transition.uniform(3)}}, "designs", "1"),
    "an unknown design": ({"designs": {"mine": "strong"}}, "designs['mine']", "'strong'"),
    "another K": ({"designs": {"mine": transition.uniform(4)}}, "designs['mine']", "(4, 4)"),
    "rows that miss 1": ({"designs": {"mine": SHORT_ROW}}, "designs['mine']", "row 1", "2"),
    "gaps": ({"X": GAPS}, "X", "NaN"),
    "a budget beyond memory": ({"budget": 10**10}, "budget", "10,000,000,000"),
    "subsets of one": ({"largest_subset": 1}, "largest_subset", "2", "1"),
    "subsets with designs": (
        {"largest_subset": 3, "designs": {"mine": "uniform"}},
        "largest_subset",
        "designs",
        "3",
    ),
    "seed": ({"random_state": "zero"}, "random_state", "'zero'"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_one_clear_line(case):
    changes, *shows = CASES[case]
    arguments = {"n_classes": 3, "X": X, "y": Y} | changes
    assert_one_clear_line(lambda: collection.plan(**arguments), ValueError, *shows)


# Each: menus, and what the error must show.
MENUS = [
    ([[0, 1]], "(1, 2)"),
    ([[0, -1], [1, 0]], "-1", "row 0", "column 1"),
    ([[0, math.nan], [1, 0]], "nan"),
    (np.zeros((3, 3)), "zeros"),
    (2 * np.eye(3), "2"),
    ("cycle", "'cycle'"),
]


@pytest.mark.parametrize("case", MENUS, ids=range(len(MENUS)))
def test_menus_that_are_none_raise_one_line(case):
    menus, *shows = case
    assert_one_clear_line(lambda: transition.from_menus(menus), ValueError, "menus", *shows)
