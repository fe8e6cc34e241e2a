"""Scores that compare predictions with complementary labels are noticed where they are made."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ybar import (
    ComplementaryNetClassifier,
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKMeansClassifierCV,
    CPEKNeighborsClassifierCV,
    labels,
    metrics,
    transition,
)

EVERY = [
    CPEClassifier(),
    CPEKNeighborsClassifierCV(random_state=0),
    CPEKMeansClassifierCV(random_state=0),
    CPEBoostingClassifierCV([0.1], [5], random_state=0),
    CPEBoostingClassifierCV([0.1], [5], method="cpe-f", decoder="max", random_state=0),
    ComplementaryNetClassifier(
        hidden_layer_sizes=(), learning_rate=0.1, max_epochs=30, random_state=0
    ),
]


@pytest.mark.parametrize("clf", EVERY, ids=lambda clf: type(clf).__name__)
def test_accuracy_in_a_search_is_warned_of(clf, blobs):
    X, _, y_comp = blobs
    search = GridSearchCV(clf, {"classes": [None]}, cv=2, scoring="accuracy")
    with pytest.warns(UserWarning, match=f"accuracy_score .* for {type(clf).__name__}"):
        search.fit(X, y_comp)
    assert search.best_score_ < 0.1  # of a model that is right in more than 97% of the rows


@pytest.mark.parametrize(
    "score",
    [
        lambda clf, X, y: cross_val_score(clf, X, y, scoring="f1_macro"),
        lambda clf, X, y: cross_validate(clf, X, y, scoring=["accuracy", "balanced_accuracy"]),
        lambda clf, X, y: cross_val_score(
            make_pipeline(StandardScaler(), clf), X, y, scoring="accuracy"
        ),
    ],
    ids=["f1", "several", "pipeline"],
)
def test_it_is_seen_in_any_cross_validation(score, blobs):
    X, _, y_comp = blobs
    with pytest.warns(UserWarning, match="complementary labels for CPEClassifier"):
        score(CPEClassifier(), X, y_comp)


class Wrapper(ClassifierMixin, BaseEstimator):
    """Draws complementary labels from true classes, so that accuracy is accuracy."""

    def fit(self, X, y):
        y_comp = labels.draw(y, transition.uniform(3), random_state=0)
        self.clf_ = CPEClassifier().fit(X, y_comp)
        self.classes_ = self.clf_.classes_
        return self

    def predict(self, X):
        return self.clf_.predict(X)


def test_what_is_right_is_not_warned_of(blobs):
    X, y, y_comp = blobs
    T = transition.uniform(3)
    ure = make_scorer(lambda y, predicted: 1 - metrics.ure_zero_one(y, predicted, T))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scoring in (None, metrics.scel_scorer, metrics.ure_scorer, ure):
            cross_val_score(clone(CPEClassifier()), X, y_comp, scoring=scoring)
        fitted = CPEClassifier().fit(X, y_comp)
        assert get_scorer("accuracy")(fitted, X, y) == accuracy_score(y, fitted.predict(X))
        assert np.mean(cross_val_score(Wrapper(), X, y, scoring="accuracy")) > 0.97
