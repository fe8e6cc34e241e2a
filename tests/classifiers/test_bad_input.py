"""Bad input to any classifier raises one line with the argument and the value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bad_input import (
    CLASSIFIERS,
    EXCLUDES_ALL,
    MASK,
    NAMES,
    X_INF,
    U,
    X,
    Y,
    assert_one_clear_line,
    cpe,
    fitted,
)
from ybar import labels, transition

THREE = ["cat", "cow", "dog"]

# Each: the id, the parameters of the classifier, y, and what the error of fit must show. All
# classifiers are tested.
FITS = [
    ("y-none", {}, None, ["y", "None"]),
    ("y-too-short", {}, Y[:50], ["X", "y", "60", "50"]),
    ("y-empty", {}, [], ["y", "none"]),
    ("y-all-equal", {}, np.zeros(60, int), ["y", "0"]),
    ("y-all-equal-and-named", {"classes": ["cat", "cow"]}, ["cow"] * 60, ["y", "'cow'"]),
    (
        "y-outside-classes",
        {"classes": ["cat", "cow"]},
        NAMES,
        ["y", "['cat', 'cow']", "'dog'", "row 2", "classes="],
    ),
    (
        "y-of-another-type-than-classes",
        {"classes": THREE},
        Y,
        ["y", "['cat', 'cow', 'dog']", "0", "row 0", "classes="],
    ),
    ("y-row-excludes-every-class", {}, EXCLUDES_ALL, ["y", "row 7", "3"]),
    ("y-excludes-nothing", {}, np.zeros((60, 3), bool), ["y", "True"]),
    ("y-boolean-of-wrong-width", {"classes": ["cat", "cow"]}, MASK, ["y", "(60, 3)"]),
    ("y-boolean-of-one-column", {}, MASK[:, :1], ["y", "(60, 1)"]),
    ("y-2d-of-integers", {}, MASK.astype(int), ["y", "(60, 3)"]),
    ("y-nan", {}, np.where(Y == 1, np.nan, Y), ["y", "nan", "row 1"]),
    ("y-none-in-a-row", {}, np.where(Y == 2, None, NAMES), ["y", "None", "row 2"]),
    ("y-continuous", {}, X[:, 0].round(2), ["y", "0.13", "row 0"]),
    ("classes-twice-the-same", {"classes": [*THREE, "cat"]}, NAMES, ["classes", "'cat'"]),
    (
        "transition-of-another-K",
        {"transition": transition.uniform(4)},
        Y,
        ["transition", "3", "(4, 4)", "classes="],
    ),
    ("transition-not-square", {"transition": U[:2]}, Y, ["transition", "(2, 3)"]),
    (
        "transition-unknown-name",
        {"transition": "weak"},
        Y,
        ["transition", "'uniform'", "'weak'", "transition.weak"],
    ),
    (
        "decoder-unknown-name",
        {"decoder": "l7"},
        Y,
        ["decoder", "'l1'", "'l2'", "'max'", "'likelihood'", "'l7'"],
    ),
]

# The same, of one classifier.
FITS_OF_ONE = [
    ("y-lists-of-unequal-length", {}, [["cat", "cow"]] * 30 + [["dog"]] * 30, ["y", "length"]),
    ("y-3d", {}, np.zeros((60, 3, 2)), ["y", "(60, 3, 2)"]),
    ("y-a-single-string", {}, "cat", ["y", "'cat'"]),
    ("y-infinite", {}, np.where(Y == 1, np.inf, Y), ["y", "inf", "row 1"]),
    ("y-pandas-na", {}, np.where(Y == 1, pd.NA, NAMES), ["y", "<NA>", "row 1"]),
    (
        "y-of-two-kinds",
        {},
        np.where(Y == 1, 1, NAMES.astype(object)),
        ["y", "int", "str", "astype"],
    ),
    ("y-bytes", {}, NAMES.astype("S3"), ["y", "bytes", "astype"]),
    ("classes-only-one", {"classes": ["cat"]}, NAMES, ["classes", "['cat']"]),
    ("classes-a-string", {"classes": "cat"}, NAMES, ["classes", "'cat'"]),
    ("classes-2d", {"classes": MASK}, MASK, ["classes", "array("]),
    ("classes-with-none", {"classes": [*THREE, None]}, NAMES, ["classes", "None"]),
    ("classes-with-nan", {"classes": [0.0, 1.0, 2.0, np.nan]}, Y, ["classes", "nan"]),
    (
        "classes-of-two-kinds",
        {"classes": np.array(["cat", 1], dtype=object)},
        NAMES,
        ["classes", "'cat'", "1"],
    ),
]

ALL_FITS = [
    *(
        (f"{name}-{what}", make, *case)
        for name, make in CLASSIFIERS.items()
        for what, *case in FITS
    ),
    *((what, cpe, *case) for what, *case in FITS_OF_ONE),
]

# Each: the id, the call, the type of its error, and what the error must show.
CALLS = [
    *(
        (f"{name}-{what}", call, ValueError, shows)
        for name, make in CLASSIFIERS.items()
        for what, call, shows in [
            (
                "fewer-rows-than-classes",
                lambda make=make: make(classes=range(4)).fit(X[:3], Y[:3]),
                ["X", "(4)", "3", "n_samples"],
            ),
            (
                "score-y-of-another-length",
                lambda name=name: fitted(name).score(X, NAMES[:5]),
                ["X", "y", "60", "5"],
            ),
            ("score-y-none", lambda name=name: fitted(name).score(X, None), ["y", "None"]),
        ]
    ),
    (
        "y-not-a-time",
        lambda: labels.encode(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")),
        ValueError,
        ["y", "row 1"],
    ),
    ("X-none", lambda: cpe().fit(None, Y), TypeError, ["X", "None"]),
]


@pytest.mark.parametrize(
    ("make", "params", "y", "shows"),
    [case[1:] for case in ALL_FITS],
    ids=[case[0] for case in ALL_FITS],
)
def test_a_bad_argument_of_fit_gets_one_clear_line(make, params, y, shows):
    assert_one_clear_line(lambda: make(**params).fit(X, y), ValueError, *shows)


@pytest.mark.parametrize(
    ("call", "error", "shows"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS]
)
def test_other_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)


def of_all(what, error, call, *shows):
    """Return a case for each classifier; `call` has its name and the function that builds it."""
    return [
        pytest.param(
            lambda name=name, make=make: call(name, make),
            error,
            [part.format(kind=type(make()).__name__) for part in shows],
            id=f"{name}-{what}",
        )
        for name, make in CLASSIFIERS.items()
    ]


UNFITTED = ["This {kind} instance is not fitted yet", "Call 'fit'"]

# scikit-learn's own text, which may have several lines.
PASSED_ON = [
    *of_all("X-inf", ValueError, lambda _, make: make().fit(X_INF, Y), "X contains inf"),
    *of_all(
        "X-1d",
        ValueError,
        lambda _, make: make().fit(X[:, 0], Y),
        "Expected 2D array, got 1D array",
        "Reshape your data",
    ),
    *of_all(
        "X-without-columns",
        ValueError,
        lambda _, make: make().fit(X[:, :0], Y),
        "0 feature(s)",
        "shape=(60, 0)",
        "minimum of 1",
    ),
    *of_all("unfitted-predict", NotFittedError, lambda _, make: make().predict(X), *UNFITTED),
    *of_all(
        "unfitted-predict_proba", NotFittedError, lambda _, make: make().predict_proba(X), *UNFITTED
    ),
    *of_all(
        "unfitted-predict_complementary_proba",
        NotFittedError,
        lambda _, make: make().predict_complementary_proba(X),
        *UNFITTED,
    ),
    *of_all("unfitted-score", NotFittedError, lambda _, make: make().score(X, Y), *UNFITTED),
    *of_all(
        "predict-feature-count",
        ValueError,
        lambda name, _: fitted(name).predict(X[:, :2]),
        "X has 2 features",
        "expecting 4 features",
    ),
    *of_all(
        "predict-no-row",
        ValueError,
        lambda name, _: fitted(name).predict(X[:0]),
        "0 sample(s)",
        "shape=(0, 4)",
        "minimum of 1",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), PASSED_ON)
def test_errors_of_scikit_learn_are_passed_on(call, error, shows):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    assert caught.type is error
    assert not [part for part in shows if part not in str(caught.value)], caught.value


def test_there_are_many_cases_each_with_the_argument_and_a_value():
    cases = [*ALL_FITS, *CALLS]
    assert len(cases) >= 60
    assert len({name for name, *_ in cases}) == len(cases)
    assert all(len(shows) >= 2 for *_, shows in cases)
