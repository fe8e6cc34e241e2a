"""The reduction over any probabilistic classifier."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from lightgbm import LGBMClassifier
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from ybar import (
    CPEClassifier,
    decode,
    labels,
    transition,
)

BASES = {
    "default": None,
    "forest": RandomForestClassifier(n_estimators=30, min_samples_leaf=5, random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=15, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "neighbours": KNeighborsClassifier(30),
    "calibrated": CalibratedClassifierCV(LinearSVC()),
    "lightgbm": LGBMClassifier(n_estimators=15, n_jobs=1, verbosity=-1),
    "xgboost": XGBClassifier(n_estimators=15, n_jobs=1),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
}


@pytest.mark.parametrize("name", BASES)
def test_any_probabilistic_classifier_learns_the_ordinary_classes(name, blobs):
    X, y, y_comp = blobs
    clf = CPEClassifier(BASES[name]).fit(X, y_comp)
    assert np.mean(clf.predict(X) == y) > 0.97
    q = clf.predict_complementary_proba(X)
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-6)
    # What the base learned is what an ordinary fit to the complementary labels gives.
    assert np.array_equal(clf.classes_, [0, 1, 2])


def test_the_base_is_fitted_to_the_complementary_labels_and_only_decoded(digits_strong, strong_T):
    X, y_comp, X_test, _ = digits_strong
    base = RandomForestClassifier(n_estimators=20, random_state=0)
    clf = CPEClassifier(base, transition=strong_T).fit(X, y_comp)
    q = base.fit(X, y_comp).predict_proba(X_test)
    np.testing.assert_array_equal(clf.predict_complementary_proba(X_test), q)
    distances = np.array([[np.abs(row - t).sum() for t in strong_T] for row in q])
    chosen = distances[np.arange(len(q)), clf.predict(X_test)]
    np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-12)  # forests give ties
    np.testing.assert_array_equal(
        clf.predict_proba(X_test), decode.class_probabilities(q, strong_T)
    )


def test_xgboost_gets_labels_without_gaps(blobs):
    X, y, _ = blobs
    T = np.array([[0, 0, 1.0], [0.5, 0, 0.5], [1, 0, 0]])
    y_comp = labels.draw(y, T, random_state=0)
    assert set(y_comp) == {0, 2}
    base = XGBClassifier(n_estimators=60, max_depth=2, n_jobs=1)
    clf = CPEClassifier(base, transition=T, classes=[0, 1, 2]).fit(X, y_comp)
    assert np.mean(clf.predict(X) == y) > 0.85


def test_sample_weights_reach_the_base(blobs):
    X, _, y_comp = blobs
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(len(X)), weight.astype(int))
    for base in (LogisticRegression(tol=1e-8), make_pipeline(StandardScaler(), MultinomialNB())):
        if "multinomialnb" in base.get_params():
            X_fit = X - X.min(axis=0)
            base = make_pipeline(MultinomialNB())
        else:
            X_fit = X
        weighted = CPEClassifier(base).fit(X_fit, y_comp, sample_weight=weight)
        again = CPEClassifier(base).fit(X_fit[repeated], y_comp[repeated])
        np.testing.assert_allclose(
            weighted.predict_complementary_proba(X_fit),
            again.predict_complementary_proba(X_fit),
            atol=1e-4,
        )
    mask = y_comp[:, None] == np.arange(3)
    as_mask = CPEClassifier().fit(X, mask, sample_weight=weight)
    as_labels = CPEClassifier().fit(X, y_comp, sample_weight=weight)
    np.testing.assert_allclose(
        as_mask.predict_complementary_proba(X), as_labels.predict_complementary_proba(X)
    )


def test_text_with_sparse_features():
    rng = np.random.default_rng(0)
    words = [["goal", "match", "team"], ["court", "law", "judge"], ["cell", "gene", "protein"]]
    y = rng.integers(0, 3, 600)
    texts = [" ".join(rng.choice([*words[k], "the", "of"], 12)) for k in y]
    y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    whole = CPEClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    assert np.mean(whole.fit(texts, y_comp).predict(texts) == y) > 0.97
    X = TfidfVectorizer().fit_transform(texts)
    assert sp.issparse(X)
    assert np.mean(CPEClassifier().fit(X, y_comp).predict(X) == y) > 0.97
    mask = y_comp[:, None] == np.arange(3)
    assert np.mean(CPEClassifier().fit(X, mask).predict(X) == y) > 0.97
    assert np.mean(whole.fit(texts, mask).predict(texts) == y) > 0.97


def test_weights_pass_through_a_search_and_coo_matrices_can_have_several_labels(blobs):
    X, y, y_comp = blobs
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=3)
    weighted = CPEClassifier(search).fit(X, y_comp, sample_weight=np.arange(len(X)) % 2)
    assert np.mean(weighted.predict(X) == y) > 0.97
    mask = y_comp[:, None] == np.arange(3)
    assert np.mean(CPEClassifier().fit(sp.coo_matrix(X), mask).predict(X) == y) > 0.97


def test_weights_reach_a_pipeline_also_where_metadata_are_routed(blobs):
    X, _, y_comp = blobs
    weight = np.random.default_rng(0).random(len(X))
    expected = (
        CPEClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
        .fit(X, y_comp, sample_weight=weight)
        .predict_complementary_proba(X)
    )
    with config_context(enable_metadata_routing=True):
        last = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        clf = CPEClassifier(make_pipeline(scaler, last)).fit(X, y_comp, sample_weight=weight)
        np.testing.assert_allclose(clf.predict_complementary_proba(X), expected)


def test_weights_reach_a_base_that_takes_any_parameter(blobs):
    X, _, y_comp = blobs
    weight = np.random.default_rng(0).random(len(X))
    voting = VotingClassifier([("a", LogisticRegression())], voting="soft")
    q = [
        CPEClassifier(base).fit(X, y_comp, sample_weight=weight).predict_complementary_proba(X)
        for base in (voting, LogisticRegression())
    ]
    np.testing.assert_allclose(*q)


def fitted_q(base, blobs, **metadata):
    X, _, y_comp = blobs
    return CPEClassifier(base).fit(X, y_comp, **metadata).predict_complementary_proba(X)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
class TestMetadataRouting:
    """CPEClassifier passes on what its base estimator requests, and nothing else."""

    weight = np.random.default_rng(0).random(900) ** 4

    def test_a_base_that_requests_weights_gets_them(self, blobs):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        with config_context(enable_metadata_routing=False):
            expected = fitted_q(LogisticRegression(), blobs, sample_weight=self.weight)
        np.testing.assert_array_equal(fitted_q(base, blobs, sample_weight=self.weight), expected)
        np.testing.assert_array_equal(
            fitted_q(None, blobs, sample_weight=self.weight).shape, (900, 3)
        )

    def test_a_base_that_does_not_is_fitted_without(self, blobs):
        base = LogisticRegression().set_fit_request(sample_weight=False)
        expected = fitted_q(LogisticRegression(), blobs)
        np.testing.assert_array_equal(fitted_q(base, blobs, sample_weight=self.weight), expected)

    def test_a_base_that_does_not_say_is_asked_to(self, blobs):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            fitted_q(LogisticRegression(), blobs, sample_weight=self.weight)

    def test_weights_can_have_another_name(self, blobs):
        base = LogisticRegression().set_fit_request(sample_weight="cost")
        expected = fitted_q(
            LogisticRegression().set_fit_request(sample_weight=True),
            blobs,
            sample_weight=self.weight,
        )
        np.testing.assert_array_equal(fitted_q(base, blobs, cost=self.weight), expected)

    def test_other_metadata_pass_through_row_by_row(self, blobs):
        X, _, y_comp = blobs
        mask = y_comp[:, None] == np.arange(3)
        mask[:300] = False
        mask[:200, 1:] = True  # two labels, then 100 rows without any
        base = GridSearchCV(
            LogisticRegression(), {"C": [1.0]}, cv=GroupKFold(3), scoring="neg_log_loss"
        )
        clf = CPEClassifier(base).fit(X, mask, groups=np.arange(900) % 3)
        assert clf.estimator_.n_splits_ == 3
        with pytest.raises(TypeError, match="colour"):
            CPEClassifier(base).fit(X, mask, colour=np.arange(900))

    def test_requests_of_the_base_hold_inside_a_search(self, blobs):
        X, _, y_comp = blobs
        q = {}
        for requested in (True, False):
            base = LogisticRegression().set_fit_request(sample_weight=requested)
            clf = CPEClassifier(base).set_score_request(sample_weight=True)
            search = GridSearchCV(clf, {"decoder": ["l1"]}, cv=3)
            search.fit(X, y_comp, sample_weight=self.weight)
            q[requested] = search.best_estimator_.predict_complementary_proba(X)
            used = {"sample_weight": self.weight} if requested else {}
            np.testing.assert_array_equal(q[requested], fitted_q(base, blobs, **used))
        assert np.abs(q[True] - q[False]).max() > 1e-3


def test_other_metadata_need_routing(blobs):
    X, _, y_comp = blobs
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        CPEClassifier().fit(X, y_comp, groups=np.zeros(900))
