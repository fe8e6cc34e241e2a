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

# Each: the call, the type of its error, and what the error must show.
CASES = [
    *(
        pytest.param(call, error, says, id=f"{name}-{what}")
        for name, make in CLASSIFIERS.items()
        for what, call, error, says in [
            (
                "y-none",
                lambda make=make: make().fit(X, None),
                ValueError,
                ["y", "None"],
            ),
            (
                "y-too-short",
                lambda make=make: make().fit(X, Y[:50]),
                ValueError,
                ["X", "y", "60", "50"],
            ),
            (
                "y-empty",
                lambda make=make: make().fit(X, []),
                ValueError,
                ["y", "none"],
            ),
            (
                "y-all-equal",
                lambda make=make: make().fit(X, np.zeros(60, int)),
                ValueError,
                ["y", "0"],
            ),
            (
                "y-all-equal-and-named",
                lambda make=make: make(classes=["cat", "cow"]).fit(X, ["cow"] * 60),
                ValueError,
                ["y", "'cow'"],
            ),
            (
                "y-outside-classes",
                lambda make=make: make(classes=["cat", "cow"]).fit(X, NAMES),
                ValueError,
                ["y", "['cat', 'cow']", "'dog'", "row 2", "classes="],
            ),
            (
                "y-of-another-type-than-classes",
                lambda make=make: make(classes=["cat", "cow", "dog"]).fit(X, Y),
                ValueError,
                ["y", "['cat', 'cow', 'dog']", "0", "row 0", "classes="],
            ),
            (
                "y-row-excludes-every-class",
                lambda make=make: make().fit(X, EXCLUDES_ALL),
                ValueError,
                ["y", "row 7", "3"],
            ),
            (
                "y-excludes-nothing",
                lambda make=make: make().fit(X, np.zeros((60, 3), bool)),
                ValueError,
                ["y", "True"],
            ),
            (
                "y-boolean-of-wrong-width",
                lambda make=make: make(classes=["cat", "cow"]).fit(X, MASK),
                ValueError,
                ["y", "(60, 3)"],
            ),
            (
                "y-boolean-of-one-column",
                lambda make=make: make().fit(X, MASK[:, :1]),
                ValueError,
                ["y", "(60, 1)"],
            ),
            (
                "y-2d-of-integers",
                lambda make=make: make().fit(X, MASK.astype(int)),
                ValueError,
                ["y", "(60, 3)"],
            ),
            (
                "y-nan",
                lambda make=make: make().fit(X, np.where(Y == 1, np.nan, Y)),
                ValueError,
                ["y", "nan", "row 1"],
            ),
            (
                "y-none-in-a-row",
                lambda make=make: make().fit(X, np.where(Y == 2, None, NAMES)),
                ValueError,
                ["y", "None", "row 2"],
            ),
            (
                "y-continuous",
                lambda make=make: make().fit(X, X[:, 0].round(2)),
                ValueError,
                ["y", "0.13", "row 0"],
            ),
            (
                "fewer-rows-than-classes",
                lambda make=make: make(classes=range(4)).fit(X[:3], Y[:3]),
                ValueError,
                ["X", "(4)", "3", "n_samples"],
            ),
            (
                "classes-twice-the-same",
                lambda make=make: make(classes=["cat", "cow", "cat", "dog"]).fit(X, NAMES),
                ValueError,
                ["classes", "'cat'"],
            ),
            (
                "transition-of-another-K",
                lambda make=make: make(transition=transition.uniform(4)).fit(X, Y),
                ValueError,
                ["transition", "3", "(4, 4)", "classes="],
            ),
            (
                "transition-not-square",
                lambda make=make: make(transition=U[:2]).fit(X, Y),
                ValueError,
                ["transition", "(2, 3)"],
            ),
            (
                "transition-unknown-name",
                lambda make=make: make(transition="weak").fit(X, Y),
                ValueError,
                ["transition", "'uniform'", "'weak'", "transition.weak"],
            ),
            (
                "decoder-unknown-name",
                lambda make=make: make(decoder="l7").fit(X, Y),
                ValueError,
                ["decoder", "'l1'", "'l2'", "'max'", "'likelihood'", "'l7'"],
            ),
            (
                "score-y-of-another-length",
                lambda name=name: fitted(name).score(X, NAMES[:5]),
                ValueError,
                ["X", "y", "60", "5"],
            ),
            (
                "score-y-none",
                lambda name=name: fitted(name).score(X, None),
                ValueError,
                ["y", "None"],
            ),
        ]
    ),
    pytest.param(
        lambda: cpe().fit(X, [["cat", "cow"]] * 30 + [["dog"]] * 30),
        ValueError,
        ["y", "length"],
        id="y-lists-of-different-length",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.zeros((60, 3, 2))),
        ValueError,
        ["y", "(60, 3, 2)"],
        id="y-3d",
    ),
    pytest.param(
        lambda: cpe().fit(X, "cat"),
        ValueError,
        ["y", "'cat'"],
        id="y-a-single-string",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.where(Y == 1, np.inf, Y)),
        ValueError,
        ["y", "inf", "row 1"],
        id="y-infinite",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.where(Y == 1, pd.NA, NAMES)),
        ValueError,
        ["y", "<NA>", "row 1"],
        id="y-pandas-na",
    ),
    pytest.param(
        lambda: labels.encode(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")),
        ValueError,
        ["y", "row 1"],
        id="y-not-a-time",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.where(Y == 1, 1, NAMES.astype(object))),
        ValueError,
        ["y", "int", "str", "astype"],
        id="y-of-two-kinds",
    ),
    pytest.param(
        lambda: cpe().fit(X, NAMES.astype("S3")),
        ValueError,
        ["y", "bytes", "astype"],
        id="y-bytes",
    ),
    pytest.param(
        lambda: cpe(classes=["cat"]).fit(X, NAMES),
        ValueError,
        ["classes", "['cat']"],
        id="classes-only-one",
    ),
    pytest.param(
        lambda: cpe(classes="cat").fit(X, NAMES),
        ValueError,
        ["classes", "'cat'"],
        id="classes-a-string",
    ),
    pytest.param(
        lambda: cpe(classes=MASK).fit(X, MASK),
        ValueError,
        ["classes", "array("],
        id="classes-2d",
    ),
    pytest.param(
        lambda: cpe(classes=["cat", "cow", "dog", None]).fit(X, NAMES),
        ValueError,
        ["classes", "None"],
        id="classes-with-none",
    ),
    pytest.param(
        lambda: cpe(classes=[0.0, 1.0, 2.0, np.nan]).fit(X, Y),
        ValueError,
        ["classes", "nan"],
        id="classes-with-nan",
    ),
    pytest.param(
        lambda: cpe(classes=np.array(["cat", 1], dtype=object)).fit(X, NAMES),
        ValueError,
        ["classes", "'cat'", "1"],
        id="classes-of-two-kinds",
    ),
    pytest.param(
        lambda: cpe().fit(None, Y),
        TypeError,
        ["X", "None"],
        id="X-none",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)


# scikit-learn's own text, which may have several lines.
PASSED_ON = [
    *(
        pytest.param(
            lambda make=make: make().fit(X_INF, Y),
            ValueError,
            ["X contains inf"],
            id=f"{name}-X-inf",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:, 0], Y),
            ValueError,
            ["Expected 2D array, got 1D array", "Reshape your data"],
            id=f"{name}-X-1d",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:, :0], Y),
            ValueError,
            ["0 feature(s)", "shape=(60, 0)", "minimum of 1"],
            id=f"{name}-X-without-columns",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda make=make, method=method: getattr(make(), method)(X),
            NotFittedError,
            [f"This {type(make()).__name__} instance is not fitted yet", "Call 'fit'"],
            id=f"{name}-unfitted-{method}",
        )
        for name, make in CLASSIFIERS.items()
        for method in ("predict", "predict_proba", "predict_complementary_proba")
    ),
    *(
        pytest.param(
            lambda make=make: make().score(X, Y),
            NotFittedError,
            [f"This {type(make()).__name__} instance is not fitted yet", "Call 'fit'"],
            id=f"{name}-unfitted-score",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda name=name: fitted(name).predict(X[:, :2]),
            ValueError,
            ["X has 2 features", "expecting 4 features"],
            id=f"{name}-predict-feature-count",
        )
        for name in CLASSIFIERS
    ),
    *(
        pytest.param(
            lambda name=name: fitted(name).predict(X[:0]),
            ValueError,
            ["0 sample(s)", "shape=(0, 4)", "minimum of 1"],
            id=f"{name}-predict-no-row",
        )
        for name in CLASSIFIERS
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), PASSED_ON)
def test_errors_of_scikit_learn_are_passed_on(call, error, shows):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    assert caught.type is error
    assert not [part for part in shows if part not in str(caught.value)], caught.value


def test_there_are_many_cases_each_with_the_argument_and_a_value():
    names = [case.id for case in CASES]
    assert len(names) >= 60
    assert len(set(names)) == len(names)
    assert all(len(case.values[2]) >= 2 for case in CASES)
