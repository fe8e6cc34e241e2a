"""Clusters pool labels: their p is that of the pooled counts, and SCEL selects their number."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.model_selection import KFold

from ybar import CPEKMeansClassifierCV, CPEKNeighborsClassifierCV, labels, metrics, transition


def pooled_counts(clf, X, y_comp, K):
    """The label counts of each cluster, plus one label with equally likely classes."""
    counts = np.tile(clf.transition_.mean(axis=0), (clf.n_clusters_, 1))
    for row, k in zip(clf.pca_.transform(X) if clf.pca_ else X, y_comp, strict=True):
        counts[np.linalg.norm(clf.cluster_centers_ - row, axis=1).argmin(), k] += 1
    return counts


def maximum_likelihood(counts, T):
    """The p of the pooled counts, from a general optimiser."""

    def loss(scores):
        p = np.exp(scores - scores.max())
        return -(counts * np.log(p / p.sum() @ T)).sum()

    return loss, minimize(loss, np.zeros(len(T)), method="BFGS").fun


def test_p_of_a_cluster_maximises_the_likelihood_of_its_labels(digits_strong, strong_T):
    X, y_comp, _, _ = digits_strong
    clf = CPEKMeansClassifierCV([12], transition=strong_T, random_state=0).fit(X, y_comp)
    assert clf.cluster_proba_.shape == (12, 10)
    with np.errstate(divide="ignore"):
        scores = np.log(clf.cluster_proba_)
    for counts, p in zip(pooled_counts(clf, X, y_comp, 10), scores, strict=True):
        loss, lowest = maximum_likelihood(counts, strong_T)
        assert loss(p) <= lowest + 1e-4


def test_the_path_is_the_scel_of_fits_without_the_held_out_labels(digits_strong, strong_T):
    X, y_comp, _, _ = digits_strong
    mask = y_comp[:, None] == np.arange(10)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    candidates = [5, 15, 40]
    options = {"transition": strong_T, "random_state": 0}
    path = CPEKMeansClassifierCV(candidates, cv=folds, **options).fit(X, y_comp)
    for n, scel in zip(candidates, path.cv_results_["scel"], strict=True):
        losses = []
        for train, validation in folds:
            rest = mask.copy()
            rest[validation] = False
            inner = [(train[::2], train[1::2])]
            single = CPEKMeansClassifierCV([n], cv=inner, **options).fit(X, rest)
            q = single.predict_complementary_proba(X[validation])
            losses.extend(-np.log(q[np.arange(len(validation)), y_comp[validation]]))
        assert scel == pytest.approx(np.mean(losses), rel=1e-9)
    assert path.n_clusters_ == candidates[int(np.argmin(path.cv_results_["scel"]))]
    assert path.best_params_ == {"n_clusters": path.n_clusters_}


def test_fifty_classes_are_learned_from_one_label_per_row():
    X, y = make_blobs(12_000, n_features=10, centers=50, random_state=0)
    y_comp = labels.draw(y, transition.uniform(50), random_state=0)
    train, test = slice(10_000), slice(10_000, None)
    pooled, neighbours = (
        np.mean(clf.fit(X[train], y_comp[train]).predict(X[test]) == y[test])
        for clf in (
            CPEKMeansClassifierCV(random_state=0),
            CPEKNeighborsClassifierCV(random_state=0),
        )
    )
    assert pooled > 0.6
    assert pooled > neighbours + 0.1


def test_no_label_that_T_allows_has_probability_0(digits_strong, strong_T):
    X, y_comp, X_test, _ = digits_strong
    for T in (strong_T, transition.uniform(10)):
        clf = CPEKMeansClassifierCV([100], transition=T, random_state=0).fit(X, y_comp)
        q = clf.predict_complementary_proba(X_test)
        assert q.min() > 0
        assert np.isfinite(metrics.scel(np.arange(len(q)) % 10, q))


def test_the_default_candidates_depend_on_classes_and_labels(blobs):
    X, _, y_comp = blobs
    expected = {60: [1, 2, 3], 240: [1, 2, 3, 4, 6, 9, 12], 10: [1]}
    for n, candidates in expected.items():
        clf = CPEKMeansClassifierCV(random_state=0).fit(X[:n], y_comp[:n])
        tried = clf.cv_results_["param_n_clusters"].tolist()
        assert tried == candidates
    few_labels = (y_comp[:, None] == np.arange(3)) & (np.arange(len(X)) < 60)[:, None]
    clf = CPEKMeansClassifierCV(random_state=0).fit(X, few_labels)
    assert clf.cv_results_["param_n_clusters"].tolist() == expected[60]


def test_equal_rows_make_fewer_cells(blobs):
    _, y, y_comp = blobs
    clf = CPEKMeansClassifierCV([3, 50], random_state=0).fit(y[:, None], y_comp)
    np.testing.assert_array_equal(clf.predict(y[:, None]), y)


def test_fewer_clusters_within_one_error(digits):
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    best, simple = (
        CPEKMeansClassifierCV(select=rule, random_state=0).fit(digits.X_train, y_comp)
        for rule in ("best", "one-std-error")
    )
    assert simple.n_clusters_ < best.n_clusters_
    assert simple.cluster_proba_.shape == (simple.n_clusters_, 10)
    std_error = best.cv_results_["scel_std_error"][best.best_index_]
    assert 0 < best.best_score_ - simple.best_score_ < std_error


def test_one_cluster_is_a_constant_guess(blobs):
    X, y, _ = blobs
    y_comp = labels.draw(y[y > 0], transition.uniform(3), random_state=0)
    clf = CPEKMeansClassifierCV([1], classes=range(3), random_state=0).fit(X[y > 0], y_comp)
    p = clf.predict_proba(X)
    assert (p == p[0]).all()
    np.testing.assert_allclose(p[0], [0, 0.5, 0.5], atol=0.1)


@pytest.mark.parametrize("counts", [[60], [5, 60], [60, 5], [7, 3, 5], [4, 4]])
def test_candidates_come_in_any_order_up_to_a_cluster_per_row(counts, blobs):
    X, _, y_comp = blobs
    clf = CPEKMeansClassifierCV(counts, random_state=0).fit(X[:60], y_comp[:60])
    assert clf.cv_results_["param_n_clusters"].tolist() == counts
    assert clf.cluster_centers_.shape == (clf.n_clusters_, 2)
