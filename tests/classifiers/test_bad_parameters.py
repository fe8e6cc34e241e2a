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


# Each: the call, the type of its error, and what the error must show.
CASES = [
    pytest.param(
        lambda: cpe(LinearSVC()).fit(X, Y),
        ValueError,
        ["estimator", "predict_proba", "LinearSVC", "CalibratedClassifierCV"],
        id="base-without-predict-proba",
    ),
    pytest.param(
        lambda: cpe(make_pipeline(StandardScaler(), LinearSVC())).fit(X, Y),
        ValueError,
        ["estimator", "predict_proba", "Pipeline", "CalibratedClassifierCV"],
        id="base-pipeline-without-predict-proba",
    ),
    pytest.param(
        lambda: cpe(LogisticRegression).fit(X, Y),
        TypeError,
        ["estimator", "LogisticRegression"],
        id="base-a-class",
    ),
    pytest.param(
        lambda: cpe("logistic").fit(X, Y),
        TypeError,
        ["estimator", "'logistic'", "LogisticRegression"],
        id="base-a-string",
    ),
    pytest.param(
        lambda: cpe(LinearRegression()).fit(X, Y),
        TypeError,
        ["estimator", "LinearRegression", "LogisticRegression"],
        id="base-a-regressor",
    ),
    pytest.param(
        lambda: cpe(Fails()).fit(X, Y),
        RuntimeError,
        ["estimator", "Fails", "ZeroDivisionError"],
        id="base-that-fails",
    ),
    pytest.param(
        lambda: cpe(FailsWithoutAWord()).fit(X, Y),
        RuntimeError,
        ["estimator", "FailsWithoutAWord", "AssertionError"],
        id="base-that-fails-without-a-word",
    ),
    pytest.param(
        lambda: cpe(LogisticRegression(C=-1.0)).fit(X, Y),
        ValueError,
        ["estimator", "LogisticRegression", "'C'", "-1.0"],
        id="base-with-a-wrong-parameter",
    ),
    pytest.param(
        lambda: cpe(TooNarrow()).fit(X, Y).predict(X),
        ValueError,
        ["estimator", "TooNarrow", "predict_proba", "(60, 2)"],
        id="base-forgets-a-class",
    ),
    pytest.param(
        lambda: cpe(GivesNaN()).fit(X, Y).predict(X),
        ValueError,
        ["row 0", "NaN"],
        id="base-gives-nan",
    ),
    pytest.param(
        lambda: cpe(KNeighborsClassifier()).fit(X, Y, sample_weight=ONES),
        ValueError,
        ["sample_weight", "KNeighborsClassifier"],
        id="base-takes-no-weights",
    ),
    pytest.param(
        lambda: cpe(make_pipeline(StandardScaler(), KNeighborsClassifier())).fit(X, Y, ONES),
        ValueError,
        ["sample_weight", "KNeighborsClassifier"],
        id="base-pipeline-takes-no-weights",
    ),
    *(
        pytest.param(call, ValueError, says, id=f"{name}-{what}")
        for name, make in (("cpe", cpe), ("boosting", boosting))
        for what, call, says in [
            (
                "weights-too-few",
                lambda make=make: make().fit(X, Y, sample_weight=ONES[:5]),
                ["sample_weight", "60", "(5,)"],
            ),
            (
                "weights-negative",
                lambda make=make: make().fit(X, Y, sample_weight=changed(ONES, 4, -2)),
                ["sample_weight", "-2", "row 4"],
            ),
            (
                "weights-nan",
                lambda make=make: make().fit(X, Y, sample_weight=changed(ONES, 4, np.nan)),
                ["sample_weight", "nan", "row 4"],
            ),
            (
                "weights-all-zero",
                lambda make=make: make().fit(X, Y, sample_weight=0 * ONES),
                ["sample_weight", "zero"],
            ),
            (
                "weights-words",
                lambda make=make: make().fit(X, Y, sample_weight=["much"] * 60),
                ["sample_weight", "['much'"],
            ),
        ]
    ),
    pytest.param(
        lambda: cpe().fit(X, changed(MASK, 0, False), sample_weight=np.eye(60)[0]),
        ValueError,
        ["sample_weight", "0"],
        id="weights-only-where-no-label-is",
    ),
    pytest.param(
        lambda: boosting(cv=[(np.arange(30), np.arange(30, 60))]).fit(X, Y, np.arange(60) < 30),
        ValueError,
        ["cv", "30 rows"],
        id="weights-zero-where-held-out",
    ),
    pytest.param(
        lambda: boosting(cv=[(np.arange(30), np.arange(30, 60))]).fit(X, Y, np.arange(60) >= 30),
        ValueError,
        ["cv", "30 rows"],
        id="weights-zero-where-trained",
    ),
    *(
        pytest.param(call, ValueError, says, id=f"{name}-{what}")
        for name, make in (("knn", knn), ("boosting", boosting))
        for what, call, says in [
            (
                "validation-fraction-zero",
                lambda make=make: make(validation_fraction=0.0).fit(X, Y),
                ["validation_fraction", "0.0"],
            ),
            (
                "validation-fraction-one",
                lambda make=make: make(validation_fraction=1.0).fit(X, Y),
                ["validation_fraction", "1.0"],
            ),
            (
                "validation-fraction-a-string",
                lambda make=make: make(validation_fraction="10%").fit(X, Y),
                ["validation_fraction", "'10%'"],
            ),
            (
                "validation-fraction-leaves-no-row",
                lambda make=make: make(validation_fraction=0.999).fit(X, Y),
                ["validation_fraction", "0.999"],
            ),
            (
                "cv-one-part",
                lambda make=make: make(cv=1).fit(X, Y),
                ["cv", "1"],
            ),
            (
                "cv-more-parts-than-rows",
                lambda make=make: make(cv=100).fit(X, Y),
                ["cv", "60", "100"],
            ),
            (
                "cv-a-string",
                lambda make=make: make(cv="five").fit(X, Y),
                ["cv", "'five'"],
            ),
            (
                "cv-no-split",
                lambda make=make: make(cv=[]).fit(X, Y),
                ["cv", "none"],
            ),
            (
                "cv-rows-that-do-not-exist",
                lambda make=make: make(cv=[(range(30), [600])]).fit(X, Y),
                ["cv", "600", "60"],
            ),
            (
                "cv-three-parts",
                lambda make=make: make(cv=[([0, 1], [2], [3])]).fit(X, Y),
                ["cv", "[([0, 1], [2], [3])]"],
            ),
            (
                "cv-an-empty-part",
                lambda make=make: make(cv=[(range(30), [])]).fit(X, Y),
                ["cv", "got"],
            ),
            (
                "cv-no-label-held-out",
                lambda make=make: make(cv=[(range(30), range(30, 60))]).fit(
                    X, np.concatenate([MASK[:30], NO_LABEL])
                ),
                ["cv", "30 rows"],
            ),
            (
                "cv-no-label-to-train-on",
                lambda make=make: make(cv=[(range(30), range(30, 60))]).fit(
                    X, np.concatenate([NO_LABEL, MASK[:30]])
                ),
                ["cv", "30 rows"],
            ),
            (
                "random-state-a-string",
                lambda make=make: make(random_state="seed").fit(X, Y),
                ["random_state", "Generator", "'seed'"],
            ),
            (
                "n-jobs-zero",
                lambda make=make: make(n_jobs=0).fit(X, Y),
                ["n_jobs", "0", "1"],
            ),
            (
                "n-jobs-a-string",
                lambda make=make: make(n_jobs="all").fit(X, Y),
                ["n_jobs", "'all'", "1"],
            ),
        ]
    ),
    pytest.param(
        lambda: knn(n_neighbors=[10, 1000]).fit(X, Y),
        ValueError,
        ["n_neighbors", "54", "1000"],
        id="n-neighbors-more-than-rows",
    ),
    pytest.param(
        lambda: knn(n_neighbors=[5, 0]).fit(X, Y),
        ValueError,
        ["n_neighbors", "0"],
        id="n-neighbors-zero",
    ),
    pytest.param(
        lambda: knn(n_neighbors=np.array([5, 2.5])).fit(X, Y),
        ValueError,
        ["n_neighbors", "5.0"],
        id="n-neighbors-not-whole",
    ),
    pytest.param(
        lambda: knn(n_neighbors=[True]).fit(X, Y),
        ValueError,
        ["n_neighbors", "True"],
        id="n-neighbors-a-boolean",
    ),
    pytest.param(
        lambda: knn(n_neighbors=[]).fit(X, Y),
        ValueError,
        ["n_neighbors", "[]"],
        id="n-neighbors-empty",
    ),
    pytest.param(
        lambda: knn(n_neighbors=5).fit(X, Y),
        ValueError,
        ["n_neighbors", "5", "[5]"],
        id="n-neighbors-not-a-list",
    ),
    pytest.param(
        lambda: knn(n_components=0).fit(X, Y),
        ValueError,
        ["n_components", "0"],
        id="n-components-zero",
    ),
    pytest.param(
        lambda: knn(n_components=0.9).fit(X, Y),
        ValueError,
        ["n_components", "0.9"],
        id="n-components-a-fraction",
    ),
    pytest.param(
        lambda: knn(n_components="mle").fit(X, Y),
        ValueError,
        ["n_components", "'mle'"],
        id="n-components-a-string",
    ),
    pytest.param(
        lambda: boosting(learning_rates=[0.1, 0]).fit(X, Y),
        ValueError,
        ["learning_rates", "0"],
        id="learning-rates-zero",
    ),
    pytest.param(
        lambda: boosting(learning_rates=[np.nan]).fit(X, Y),
        ValueError,
        ["learning_rates", "0", "nan"],
        id="learning-rates-nan",
    ),
    pytest.param(
        lambda: boosting(learning_rates=[np.inf]).fit(X, Y),
        ValueError,
        ["learning_rates", "inf"],
        id="learning-rates-infinite",
    ),
    pytest.param(
        lambda: boosting(learning_rates=["fast"]).fit(X, Y),
        ValueError,
        ["learning_rates", "0", "'fast'"],
        id="learning-rates-a-word",
    ),
    pytest.param(
        lambda: boosting(learning_rates=0.1).fit(X, Y),
        ValueError,
        ["learning_rates", "0.1", "[0.1]"],
        id="learning-rates-not-a-list",
    ),
    pytest.param(
        lambda: boosting(n_estimators=[10, -5]).fit(X, Y),
        ValueError,
        ["n_estimators", "-5"],
        id="n-estimators-negative",
    ),
    pytest.param(
        lambda: boosting(n_estimators=100).fit(X, Y),
        ValueError,
        ["n_estimators", "100", "[100]"],
        id="n-estimators-not-a-list",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"learning_rate": 0.2}).fit(X, Y),
        ValueError,
        ["lightgbm_params", "'learning_rate'", "learning_rates"],
        id="lightgbm-params-clash",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"objective": "binary"}).fit(X, Y),
        ValueError,
        ["lightgbm_params", "'objective'"],
        id="lightgbm-params-objective",
    ),
    *(
        pytest.param(
            lambda alias=alias: boosting(lightgbm_params={alias: 1}).fit(X, Y),
            ValueError,
            ["lightgbm_params", f"'{alias}'"],
            id=f"lightgbm-params-clash-by-alias-{alias}",
        )
        for alias in ("eta", "num_trees", "n_estimators", "random_state", "n_jobs", "application")
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"nm_leaves": 7}).fit(X, Y),
        ValueError,
        ["lightgbm_params", "'nm_leaves'", "'num_leaves'", "num_leaves"],
        id="lightgbm-params-misspelt",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"num_leaves": 1}).fit(X, Y),
        ValueError,
        ["lightgbm_params", "{'num_leaves': 1}", "LightGBM"],
        id="lightgbm-params-wrong-value",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params=["num_leaves"]).fit(X, Y),
        ValueError,
        ["lightgbm_params", "['num_leaves']"],
        id="lightgbm-params-a-list",
    ),
    pytest.param(
        lambda: cpe(transition=None).fit(X, Y),
        ValueError,
        ["transition", "'uniform'", "None"],
        id="transition-none",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)


# scikit-learn's own text, which may have several lines.
PASSED_ON = [
    pytest.param(
        lambda: cpe().fit(X_NAN, Y),
        ValueError,
        ["estimator LogisticRegression could not be fitted", "X contains NaN", "imputer"],
        id="cpe-X-nan",
    ),
    pytest.param(
        lambda: knn().fit(X_NAN, Y),
        ValueError,
        ["X contains NaN", "CPEKNeighborsClassifierCV does not accept", "imputer"],
        id="knn-X-nan",
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:1], Y[:1]),
            ValueError,
            ["1 sample(s)", "minimum of 2"],
            id=f"{name}-X-one-row",
        )
        for name, make in (("knn", knn), ("boosting", boosting))
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
