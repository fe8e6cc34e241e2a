"""The scorers in scikit-learn's searches."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ybar import CPEClassifier, labels, metrics, transition


@pytest.fixture(scope="module")
def noisy_blobs():
    X, y = make_blobs(240, n_features=4, centers=4, cluster_std=2.0, random_state=0)
    names = np.array(["dog", "ant", "cow", "bee"])
    T = transition.with_uniform_noise(transition.weak(4, 0), 0.1)
    return X, y, names, T, labels.draw(y, T, random_state=0)


def folds(X):
    return list(KFold(4, shuffle=True, random_state=0).split(X))


def scel_by_loops(q, y):
    """As the scorer has it: a label that was given 0 counts as one in n + 1."""
    n = len(y)
    return sum(-math.log(q[i, y[i]] if q[i, y[i]] > 0 else 1 / (n + 1)) for i in range(n)) / n


def ure_by_loops(y_pred, y, T):
    inverse = np.linalg.inv(T)
    n = len(T)
    wrong = ((c, k) for c, p in zip(y, y_pred, strict=True) for k in range(n) if k != p)
    return sum(inverse[c, k] for c, k in wrong) / len(y)


def test_cross_val_score_gives_minus_scel_and_minus_ure_of_each_fold(noisy_blobs):
    X, _, names, T, codes = noisy_blobs
    y = names[codes]
    # Columns of q come in the order of `classes`, not in sorted order.
    clf = CPEClassifier(KNeighborsClassifier(15), transition=T, classes=names)
    scel_scores, ure_scores = [], []
    for train, test in folds(X):
        base = KNeighborsClassifier(15).fit(X[train], codes[train])
        q = base.predict_proba(X[test])
        scel_scores.append(-scel_by_loops(q, codes[test]))
        y_pred = [min(range(4), key=lambda k, r=r: np.abs(r - T[k]).sum()) for r in q]
        ure_scores.append(-ure_by_loops(y_pred, codes[test], T))
    found = cross_validate(
        clf,
        X,
        y,
        cv=folds(X),
        scoring={"scel": metrics.scel_scorer, "ure": metrics.ure_scorer},
    )
    np.testing.assert_allclose(found["test_scel"], scel_scores, rtol=1e-9)
    np.testing.assert_allclose(found["test_ure"], ure_scores, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        cross_val_score(clf, X, y, cv=folds(X), scoring=metrics.scel_scorer), scel_scores
    )
    np.testing.assert_allclose(cross_val_score(clf, X, y, cv=folds(X)), scel_scores)


def test_grid_search_takes_the_candidate_of_the_smallest_scel(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    grid = [1, 5, 40, 120]
    mean = {
        k: np.mean(
            [
                scel_by_loops(KNeighborsClassifier(k).fit(X[a], y[a]).predict_proba(X[b]), y[b])
                for a, b in folds(X)
            ]
        )
        for k in grid
    }
    search = GridSearchCV(
        CPEClassifier(KNeighborsClassifier(), transition=T),
        {"estimator__n_neighbors": grid},
        scoring=metrics.scel_scorer,
        cv=folds(X),
    ).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], [-mean[k] for k in grid], rtol=1e-9
    )
    assert search.best_params_ == {"estimator__n_neighbors": min(mean, key=mean.get)}
    assert search.best_params_["estimator__n_neighbors"] > 1


@pytest.mark.parametrize("name", ["scel_scorer", "ure_scorer"])
def test_a_halving_search_over_a_pipeline_takes_the_scorers(noisy_blobs, name):
    X, _, names, T, codes = noisy_blobs
    search = HalvingGridSearchCV(
        make_pipeline(StandardScaler(), CPEClassifier(transition=T, classes=names)),
        {
            "cpeclassifier__estimator": [LogisticRegression(C=C) for C in (1e-6, 1.0)],
            "cpeclassifier__decoder": ["l1", "l2"],
        },
        scoring=getattr(metrics, name),
        min_resources=60,
        factor=3,
        cv=3,
        random_state=0,
    ).fit(X, names[codes])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.cv_results_["mean_test_score"].std() > 0
    assert search.best_score_ == pytest.approx(
        max(
            score
            for score, n in zip(
                search.cv_results_["mean_test_score"],
                search.cv_results_["n_resources"],
                strict=True,
            )
            if n == max(search.cv_results_["n_resources"])
        )
    )
    assert set(search.predict(X)) <= set(names)


@pytest.mark.parametrize("nested", [False, True])
def test_inside_a_pipeline_the_classifier_is_judged_on_what_its_steps_give_it(noisy_blobs, nested):
    X, _, _, T, y = noisy_blobs
    classifier = CPEClassifier(LogisticRegression(), transition=T)
    last = Pipeline([("keep", VarianceThreshold()), ("cpe", classifier)]) if nested else classifier
    model = make_pipeline(StandardScaler(), SelectKBest(k=3), last).fit(X, y)
    seen = model[:-1].transform(X)
    base = LogisticRegression().fit(seen, y)
    expected = -scel_by_loops(base.predict_proba(seen), y)
    assert math.isclose(metrics.scel_scorer(model, X, y), expected, rel_tol=1e-6)
    expected = -ure_by_loops(model.predict(X), y, T)
    assert math.isclose(metrics.ure_scorer(model, X, y), expected, rel_tol=1e-7)


def test_the_scorers_find_the_classifier_inside_a_search(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    model = make_pipeline(StandardScaler(), CPEClassifier(transition=T))
    search = GridSearchCV(
        model,
        {"cpeclassifier__decoder": ["l1", "max"]},
        scoring=metrics.ure_scorer,
        cv=3,
    ).fit(X, y)
    for scorer in (metrics.scel_scorer, metrics.ure_scorer):
        assert scorer(search, X, y) == scorer(search.best_estimator_, X, y)
        assert math.isfinite(scorer(search, X, y))


def test_the_scorers_take_several_labels_a_row(noisy_blobs):
    X, _, names, T, y = noisy_blobs
    second = labels.draw(noisy_blobs[1], T, random_state=1)
    mask = np.zeros((len(y), 4), dtype=bool)
    mask[np.arange(len(y)), y] = mask[np.arange(len(y)), second] = True
    model = CPEClassifier(transition=T, classes=names)
    scores = cross_val_score(model, X, mask, cv=folds(X), scoring=metrics.scel_scorer)
    for score, (train, test) in zip(scores, folds(X), strict=True):
        q = model.fit(X[train], mask[train]).predict_complementary_proba(X[test])
        losses = [
            -math.log(q[i, k]) for i in range(len(test)) for k in range(4) if mask[test][i, k]
        ]
        assert math.isclose(score, -sum(losses) / len(losses), rel_tol=1e-9)
    scores = cross_val_score(model, X, mask, cv=folds(X), scoring=metrics.ure_scorer)
    assert np.isfinite(scores).all()


def test_the_scorers_take_weights_as_repetitions(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    model = CPEClassifier(transition=T).fit(X, y)
    weights = np.arange(len(y)) % 3
    again = np.repeat(np.arange(len(y)), weights)
    for scorer in (metrics.scel_scorer, metrics.ure_scorer):
        assert math.isclose(
            scorer(model, X, y, sample_weight=weights), scorer(model, X[again], y[again])
        )


class Prior(BaseEstimator):
    """Predicts the shares of the labels that it was fitted to, without weights."""

    def fit(self, X, y):
        self.classes_, self.transition_ = np.arange(4), transition.weak(4, 0)
        self.label_transition_ = self.transition_
        self.q_ = np.bincount(y, minlength=4) / len(y)
        return self

    def predict_complementary_proba(self, X):
        q = self.q_ ** (1 + X[:, :1] ** 2)
        return q / q.sum(axis=1, keepdims=True)

    def predict(self, X):
        return (np.abs(X[:, 0]) * 3).astype(int) % 4


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("several", [False, True])
def test_routed_weights_reach_the_scorers(several):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(120, 2)), rng.integers(0, 4, 120), rng.gamma(0.5, size=120)
    asked = {
        "scel": metrics.scel_scorer.set_score_request(sample_weight=True),
        "ure": metrics.ure_scorer.set_score_request(sample_weight="w"),
    }
    params = {"sample_weight": weights, "w": weights[::-1]}
    if not several:
        asked, params = asked["scel"], {"sample_weight": weights}
    found = cross_validate(Prior(), X, y, scoring=asked, cv=folds(X), params=params)
    for i, (train, test) in enumerate(folds(X)):
        model = Prior().fit(X[train], y[train])
        q = model.predict_complementary_proba(X[test])
        of_fold = found["test_scel" if several else "test_score"][i]
        expected = metrics.scel(y[test], q, sample_weight=weights[test])
        assert of_fold == pytest.approx(-expected)
        assert of_fold != pytest.approx(-metrics.scel(y[test], q))
        if several:
            reverse = weights[::-1][test]
            rate = metrics.ure_zero_one(
                y[test], model.predict(X[test]), model.transition_, sample_weight=reverse
            )
            assert found["test_ure"][i] == pytest.approx(-rate)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scorer", [metrics.scel_scorer, metrics.ure_scorer], ids=str)
def test_weights_that_no_one_asked_the_scorer_to_use_are_not_dropped_silently(scorer):
    X, y, weights = np.ones((40, 2)), np.arange(40) % 4, np.arange(40.0)
    params = {"cv": 4, "params": {"sample_weight": weights}, "error_score": "raise"}
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(Prior(), X, y, scoring=scorer, **params)
    ignored = scorer.set_score_request(sample_weight=False)
    with pytest.raises(TypeError, match="sample_weight"):  # scikit-learn: nobody uses it
        cross_validate(Prior(), X, y, scoring=ignored, **params)


@pytest.mark.usefixtures("routing")
def test_a_request_makes_a_copy_which_survives_pickling_and_copying():
    asked = metrics.ure_scorer.set_score_request(sample_weight="w")
    for scorer in (asked, pickle.loads(pickle.dumps(asked)), copy.deepcopy(asked)):
        assert scorer.get_metadata_routing().score.requests == {"sample_weight": "w"}
    unasked = metrics.ure_scorer.get_metadata_routing().score.requests
    assert unasked == {"sample_weight": None}


def test_a_label_without_a_chance_costs_the_scorer_log_n_plus_one_not_infinity(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    model = CPEClassifier(KNeighborsClassifier(1), transition=T).fit(X[:120], y[:120])
    q = model.predict_complementary_proba(X[120:])
    assert (q[np.arange(120), y[120:]] == 0).any()
    assert metrics.scel(y[120:], q) == math.inf
    expected = -scel_by_loops(q, y[120:])
    assert math.isclose(metrics.scel_scorer(model, X[120:], y[120:]), expected, rel_tol=1e-9)


def test_a_classifier_without_complementary_probabilities_is_told_what_to_do(noisy_blobs):
    X, _, _, _, y = noisy_blobs
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(TypeError, match=r"Wrap it: CPEClassifier\(estimator\)"):
            metrics.scel_scorer(model.fit(X, y), X, y)
