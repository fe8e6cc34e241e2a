"""Bad parameters, base estimators, weights and splits raise one line that shows them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bad_input import (
    MASK,
    NO_LABEL,
    ONES,
    X_NAN,
    TooNarrow,
    X,
    Y,
    assert_one_clear_line,
    boosting,
    changed,
    cpe,
    kmeans,
    knn,
)


class Fails(LogisticRegression):
    """A base estimator whose fit raises."""

    def fit(self, X, y, sample_weight=None):
        raise ZeroDivisionError("the third tree has no root")


class FailsWithoutAWord(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError


class GivesNaN(LogisticRegression):
    def predict_proba(self, X):
        return np.full((len(X), 3), np.nan)


HALVES = [(np.arange(30), np.arange(30, 60))]
CALIBRATE = ["estimator", "predict_proba", "CalibratedClassifierCV"]

# Each: the id, the base estimator, the type of the error of fit, and what the error must show.
BASES = [
    ("without-predict-proba", LinearSVC(), ValueError, [*CALIBRATE, "LinearSVC"]),
    (
        "pipeline-without-predict-proba",
        make_pipeline(StandardScaler(), LinearSVC()),
        ValueError,
        [*CALIBRATE, "Pipeline"],
    ),
    ("a-class", LogisticRegression, TypeError, ["estimator", "LogisticRegression"]),
    ("a-string", "logistic", TypeError, ["estimator", "'logistic'", "LogisticRegression"]),
    (
        "a-regressor",
        LinearRegression(),
        TypeError,
        ["estimator", "LinearRegression", "LogisticRegression"],
    ),
    ("that-fails", Fails(), RuntimeError, ["estimator", "Fails", "ZeroDivisionError"]),
    (
        "that-fails-without-a-word",
        FailsWithoutAWord(),
        RuntimeError,
        ["estimator", "FailsWithoutAWord", "AssertionError"],
    ),
    (
        "with-a-wrong-parameter",
        LogisticRegression(C=-1.0),
        ValueError,
        ["estimator", "LogisticRegression", "'C'", "-1.0"],
    ),
]

# Each: the id, the classifier, the weights, and what the error must show.
WEIGHTS = [
    ("base-takes-no-weights", cpe(KNeighborsClassifier()), ONES, ["KNeighborsClassifier"]),
    (
        "base-pipeline-takes-no-weights",
        cpe(make_pipeline(StandardScaler(), KNeighborsClassifier())),
        ONES,
        ["KNeighborsClassifier"],
    ),
    *(
        (f"{name}-weights-{what}", make(), weights, shows)
        for name, make in (("cpe", cpe), ("boosting", boosting))
        for what, weights, shows in [
            ("too-few", ONES[:5], ["60", "(5,)"]),
            ("negative", changed(ONES, 4, -2), ["-2", "row 4"]),
            ("nan", changed(ONES, 4, np.nan), ["nan", "row 4"]),
            ("all-zero", 0 * ONES, ["only zeros"]),
            ("words", ["much"] * 60, ["['much'"]),
        ]
    ),
]

# Each: the id, the function that builds the classifier, its parameters, and what the error must
# show; the first is the parameter's name.
PARAMETERS = [
    *(
        (f"{name}-{what}", make, params, shows)
        for name, make in (("knn", knn), ("boosting", boosting))
        for what, params, shows in [
            ("fraction-zero", {"validation_fraction": 0.0}, ["validation_fraction", "0.0"]),
            ("fraction-one", {"validation_fraction": 1.0}, ["validation_fraction", "1.0"]),
            ("fraction-a-string", {"validation_fraction": "10%"}, ["validation_fraction", "'10%'"]),
            ("fraction-all", {"validation_fraction": 0.999}, ["validation_fraction", "0.999"]),
            ("n-jobs-zero", {"n_jobs": 0}, ["n_jobs", "0", "1"]),
            ("n-jobs-a-string", {"n_jobs": "all"}, ["n_jobs", "'all'", "1"]),
        ]
    ),
    *(
        (f"{name}-{what}", make, params, shows)
        for name, make in (("knn", knn), ("kmeans", kmeans), ("boosting", boosting))
        for what, params, shows in [
            ("cv-one-part", {"cv": 1}, ["cv", "1"]),
            ("cv-more-parts-than-rows", {"cv": 100}, ["cv", "60", "100"]),
            ("cv-a-string", {"cv": "five"}, ["cv", "'five'"]),
            ("cv-no-split", {"cv": []}, ["cv", "none"]),
            ("cv-no-such-row", {"cv": [(range(30), [600])]}, ["cv", "600", "60"]),
            ("cv-three-parts", {"cv": [([0, 1], [2], [3])]}, ["cv", "[([0, 1], [2], [3])]"]),
            ("cv-an-empty-part", {"cv": [(range(30), [])]}, ["cv", "0 rows"]),
            (
                "random-state-a-string",
                {"random_state": "seed"},
                ["random_state", "Generator", "'seed'"],
            ),
        ]
    ),
    *(
        (f"{name}-{what}", make, {parameter: values}, [parameter, *shows])
        for name, make, parameter in (
            ("knn", knn, "n_neighbors"),
            ("kmeans", kmeans, "cluster_counts"),
        )
        for what, values, shows in [
            ("too-many", [10, 1000], ["1000"]),
            ("zero", [5, 0], ["0"]),
            ("not-whole", np.array([5, 2.5]), ["5.0"]),
            ("a-boolean", [True], ["True"]),
            ("empty", [], ["[]"]),
            ("not-a-list", 5, ["5", "[5]"]),
        ]
    ),
    *(
        (f"{name}-{what}", make, {"n_components": value}, ["n_components", shows])
        for name, make in (("knn", knn), ("kmeans", kmeans))
        for what, value, shows in [
            ("components-zero", 0, "0"),
            ("components-a-fraction", 0.9, "0.9"),
            ("components-a-string", "mle", "'mle'"),
        ]
    ),
    *(
        (f"learning-rates-{what}", boosting, {"learning_rates": rates}, ["learning_rates", *shows])
        for what, rates, shows in [
            ("zero", [0.1, 0], ["0"]),
            ("nan", [np.nan], ["0", "nan"]),
            ("infinite", [np.inf], ["inf"]),
            ("a-word", ["fast"], ["0", "'fast'"]),
            ("not-a-list", 0.1, ["0.1", "[0.1]"]),
        ]
    ),
    ("n-estimators-negative", boosting, {"n_estimators": [10, -5]}, ["n_estimators", "-5"]),
    ("n-estimators-not-a-list", boosting, {"n_estimators": 100}, ["n_estimators", "[100]"]),
    *(
        (f"lightgbm-{what}", boosting, {"lightgbm_params": params}, ["lightgbm_params", *shows])
        for what, params, shows in [
            ("clash", {"learning_rate": 0.2}, ["'learning_rate'", "learning_rates"]),
            *(
                (f"clash-by-alias-{alias}", {alias: 1}, [f"'{alias}'"])
                for alias in (
                    "eta",
                    "num_trees",
                    "n_estimators",
                    "random_state",
                    "n_jobs",
                    "application",
                    "objective",
                )
            ),
            ("misspelt", {"nm_leaves": 7}, ["'nm_leaves'", "'num_leaves'"]),
            ("wrong-value", {"num_leaves": 1}, ["{'num_leaves': 1}", "LightGBM"]),
            ("a-list", ["num_leaves"], ["['num_leaves']"]),
        ]
    ),
    ("transition-none", cpe, {"transition": None}, ["transition", "'uniform'", "None"]),
]

# Each: the id, the call, and what the error must show.
OTHERS = [
    (
        "base-forgets-a-class",
        lambda: cpe(TooNarrow()).fit(X, Y).predict(X),
        ["estimator", "TooNarrow", "predict_proba", "(60, 2)"],
    ),
    ("base-gives-nan", lambda: cpe(GivesNaN()).fit(X, Y).predict(X), ["row 0", "NaN"]),
    (
        "weights-only-where-no-label-is",
        lambda: cpe().fit(X, changed(MASK, 0, False), sample_weight=np.eye(60)[0]),
        ["sample_weight", "0"],
    ),
    *(
        (
            f"weights-zero-where-{part}",
            lambda weights=weights: boosting(cv=HALVES).fit(X, Y, weights),
            ["cv", "30 rows"],
        )
        for part, weights in (("held-out", np.arange(60) < 30), ("trained", np.arange(60) >= 30))
    ),
    *(
        (
            f"{name}-cv-no-label-{part}",
            lambda make=make, y=y: make(cv=HALVES).fit(X, np.concatenate(y)),
            ["cv", "30 rows"],
        )
        for name, make in (("knn", knn), ("kmeans", kmeans), ("boosting", boosting))
        for part, y in (("held-out", [MASK[:30], NO_LABEL]), ("trained", [NO_LABEL, MASK[:30]]))
    ),
]


@pytest.mark.parametrize(
    ("base", "error", "shows"), [case[1:] for case in BASES], ids=[case[0] for case in BASES]
)
def test_a_bad_base_estimator_gets_one_clear_line(base, error, shows):
    assert_one_clear_line(lambda: cpe(base).fit(X, Y), error, *shows)


@pytest.mark.parametrize(
    ("clf", "weights", "shows"), [case[1:] for case in WEIGHTS], ids=[case[0] for case in WEIGHTS]
)
def test_bad_weights_get_one_clear_line(clf, weights, shows):
    assert_one_clear_line(lambda: clf.fit(X, Y, weights), ValueError, "sample_weight", *shows)


@pytest.mark.parametrize(
    ("make", "params", "shows"),
    [case[1:] for case in PARAMETERS],
    ids=[case[0] for case in PARAMETERS],
)
def test_a_bad_parameter_gets_one_clear_line(make, params, shows):
    assert_one_clear_line(lambda: make(**params).fit(X, Y), ValueError, *shows)


@pytest.mark.parametrize(
    ("call", "shows"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS]
)
def test_other_bad_input_gets_one_clear_line(call, shows):
    assert_one_clear_line(call, ValueError, *shows)


# scikit-learn's own text, which may have several lines.
PASSED_ON = [
    pytest.param(
        lambda: cpe().fit(X_NAN, Y),
        ValueError,
        ["estimator LogisticRegression could not be fitted", "X contains NaN", "imputer"],
        id="cpe-X-nan",
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X_NAN, Y),
            ValueError,
            ["X contains NaN", f"{type(make()).__name__} does not accept", "imputer"],
            id=f"{name}-X-nan",
        )
        for name, make in (("knn", knn), ("kmeans", kmeans))
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:1], Y[:1]),
            ValueError,
            ["1 sample(s)", "minimum of 2"],
            id=f"{name}-X-one-row",
        )
        for name, make in (("knn", knn), ("kmeans", kmeans), ("boosting", boosting))
    ),
    pytest.param(
        lambda: (
            knn()
            .fit(pd.DataFrame(X, columns=list("abcd")), Y)
            .predict(pd.DataFrame(X, columns=list("abce")))
        ),
        ValueError,
        ["feature names should match", "- e", "- d"],
        id="knn-predict-feature-names",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), PASSED_ON)
def test_errors_of_scikit_learn_are_passed_on(call, error, shows):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    assert caught.type is error
    assert not [part for part in shows if part not in str(caught.value)], caught.value
