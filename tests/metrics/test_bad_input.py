"""Bad input to metrics and scorers raises one line with the argument and the value."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bad_input import (
    EXCLUDES_ALL,
    MASK,
    NAMES,
    NO_LABEL,
    Q,
    U,
    X,
    Y,
    assert_one_clear_line,
    cpe,
    fitted,
)
from ybar import metrics, transition

# Each: the call, the type of its error, and what the error must show.
CASES = [
    *(
        pytest.param(
            lambda measure=measure, y_comp=y_comp: measure(y_comp),
            ValueError,
            says,
            id=f"{name}-y-comp-{what}",
        )
        for name, measure in (
            ("scel", lambda y_comp: metrics.scel(y_comp, Q)),
            ("ure", lambda y_comp: metrics.ure_zero_one(y_comp, [0, 1, 2], U)),
        )
        for what, y_comp, says in [
            ("too-large", [0, 1, 3], ["y_comp", "3"]),
            ("negative", [0, -1, 2], ["y_comp", "-1"]),
            (
                "floats",
                [0.0, 1.0, 2.0],
                ["y_comp", "float64"],
            ),
            (
                "names",
                ["cat", "cow", "dog"],
                ["y_comp", "labels.encode"],
            ),
            ("none", None, ["y_comp", "None"]),
            ("empty", [], ["y_comp", "nothing"]),
            ("too-short", [0, 1], ["y_comp", "2", "3"]),
            (
                "2d-of-integers",
                [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
                ["y_comp", "(3, 3)"],
            ),
            (
                "boolean-of-wrong-width",
                MASK[:3, :2],
                ["y_comp", "(3, 2)"],
            ),
            (
                "excludes-nothing",
                NO_LABEL[:3],
                ["y_comp", "True"],
            ),
            (
                "row-excludes-every-class",
                EXCLUDES_ALL[6:9],
                ["y_comp", "row 1", "3"],
            ),
        ]
    ),
    pytest.param(
        lambda: metrics.scel([0, 1, 2], [0.2, 0.3, 0.5]),
        ValueError,
        ["q", "(3,)"],
        id="scel-q-1d",
    ),
    pytest.param(
        lambda: metrics.scel([0, 0], [[1.0], [1.0]]),
        ValueError,
        ["q", "(2, 1)"],
        id="scel-q-of-one-class",
    ),
    pytest.param(
        lambda: metrics.scel([0, 1, 2], 2 * Q),
        ValueError,
        ["q", "row 0", "2"],
        id="scel-q-not-summing-to-one",
    ),
    *(
        pytest.param(
            lambda zero_as=zero_as: metrics.scel([0, 1, 2], Q, zero_as=zero_as),
            ValueError,
            ["zero_as", repr(zero_as)],
            id=f"zero-as-{what}",
        )
        for what, zero_as in [
            ("negative", -1),
            ("above-one", 2),
            ("nan", float("nan")),
            ("a-string", "eps"),
            ("none", None),
        ]
    ),
    *(
        pytest.param(
            lambda weights=weights: metrics.scel([0, 1, 2], Q, sample_weight=weights),
            ValueError,
            says,
            id=f"scel-weights-{what}",
        )
        for what, weights, says in [
            ("too-few", [1, 2], ["sample_weight", "3", "(2,)"]),
            ("a-number", 1.0, ["sample_weight", "3", "()"]),
            ("negative", [1, 2, -1], ["sample_weight", "-1", "row 2"]),
            ("nan", [1, np.nan, 1], ["sample_weight", "nan", "row 1"]),
            ("words", ["a", "b", "c"], ["sample_weight", "['a', 'b', 'c']"]),
        ]
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], [0, 3], U),
        ValueError,
        ["y_pred", "3"],
        id="ure-y-pred-too-large",
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], ["cat", "dog"], U),
        ValueError,
        ["y_pred", "labels.encode"],
        id="ure-y-pred-names",
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], MASK[:2], U),
        ValueError,
        ["y_pred", "(2, 3)"],
        id="ure-y-pred-boolean",
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], [0, 1], U[:2]),
        ValueError,
        ["T", "(2, 3)"],
        id="ure-T-not-square",
    ),
    pytest.param(
        lambda: metrics.complementary_estimation_loss([0, 1, 2], Q, U, loss="k1"),
        ValueError,
        ["loss", "'kl'", "'l1'", "'k1'"],
        id="estimation-loss-unknown",
    ),
    pytest.param(
        lambda: metrics.complementary_estimation_loss(MASK[:3], Q, U),
        ValueError,
        ["y_true", "(3, 3)"],
        id="estimation-loss-y-true-boolean",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 3], Q, U),
        ValueError,
        ["y_true", "3"],
        id="bound-y-true-too-large",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 2], Q, U, T_true=transition.uniform(4)),
        ValueError,
        ["T_true", "3", "(4, 4)"],
        id="bound-T-true-of-another-K",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 2], Q, U, distance=1),
        ValueError,
        ["distance", "'l1'", "'l2'", "1"],
        id="bound-distance-a-number",
    ),
    *(
        pytest.param(
            lambda scorer=scorer, model=model: scorer(model.fit(X, Y), X, Y),
            TypeError,
            ["estimator", "LogisticRegression"],
            id=f"{scorer}-of-a-foreign-{what}",
        )
        for scorer in (metrics.scel_scorer, metrics.ure_scorer)
        for what, model in [
            ("estimator", LogisticRegression()),
            ("pipeline", make_pipeline(StandardScaler(), LogisticRegression())),
        ]
    ),
    *(
        pytest.param(
            lambda scorer=scorer: scorer(fitted("cpe"), X, NAMES[:5]),
            ValueError,
            ["X", "y", "60", "5"],
            id=f"{scorer}-two-lengths",
        )
        for scorer in (metrics.scel_scorer, metrics.ure_scorer)
    ),
    pytest.param(
        lambda: metrics.scel_scorer(fitted("cpe"), X, Y),
        ValueError,
        ["y", "['cat', 'cow', 'dog']", "0", "row 0"],
        id="scorer-y-outside-classes",
    ),
    pytest.param(
        lambda: metrics.scel([[0], [1, 2]], [[0.5, 0.5]] * 2),
        ValueError,
        ["y_comp", "length"],
        id="scel-ragged",
    ),
    pytest.param(
        lambda: metrics.one_standard_error([2, 1], [np.inf, 0.1]),
        ValueError,
        ["std_error", "inf"],
        id="one-standard-error-infinite",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 2], U, U, distance="mahalanobis"),
        ValueError,
        ["distance", "'mahalanobis'"],
        id="bound-distance-with-variances",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)


# scikit-learn's own text, which may have several lines.
PASSED_ON = [
    *(
        pytest.param(
            lambda scorer=scorer: scorer(cpe(), X, Y),
            NotFittedError,
            ["This CPEClassifier instance is not fitted yet", "Call 'fit'"],
            id=f"{scorer}-of-unfitted",
        )
        for scorer in (metrics.scel_scorer, metrics.ure_scorer)
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), PASSED_ON)
def test_errors_of_scikit_learn_are_passed_on(call, error, shows):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    assert caught.type is error
    assert not [part for part in shows if part not in str(caught.value)], caught.value
