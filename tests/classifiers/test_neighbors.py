"""CPE-KNN: the path from one search is what one fit for each k would give."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from ybar import CPEClassifier, CPEKNeighborsClassifierCV, metrics

CANDIDATES = [10, 20, 30, 40, 60, 80, 120, 250]


@pytest.fixture(scope="module")
def untied(digits):
    """Digits a hair off their grid: which of two equally far rows comes first is left open."""
    rng = np.random.default_rng(0)
    return digits.X_train + 1e-4 * rng.random(digits.X_train.shape)


@pytest.mark.parametrize("scoring", [metrics.scel_scorer, None], ids=["scorer", "score"])
def test_the_path_equals_a_grid_search_over_single_fits(digits_strong, untied, strong_T, scoring):
    _, y_comp, X_test, _ = digits_strong
    X = untied
    split = list(ShuffleSplit(1, test_size=0.2, random_state=1).split(X))
    path = CPEKNeighborsClassifierCV(CANDIDATES, n_components=None, transition=strong_T, cv=split)
    path.fit(X, y_comp)
    grid = GridSearchCV(
        CPEClassifier(KNeighborsClassifier(), transition=strong_T),
        {"estimator__n_neighbors": CANDIDATES},
        cv=split,
        scoring=scoring,
    ).fit(X, y_comp)
    np.testing.assert_allclose(
        path.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], rtol=1e-12
    )
    assert path.n_neighbors_ == grid.best_params_["estimator__n_neighbors"]
    assert path.best_index_ == grid.best_index_
    assert path.best_score_ == pytest.approx(grid.best_score_, rel=1e-12)
    np.testing.assert_array_equal(
        path.cv_results_["rank_test_score"], grid.cv_results_["rank_test_score"]
    )
    np.testing.assert_array_equal(path.predict(X_test), grid.predict(X_test))
    np.testing.assert_array_equal(
        path.predict_complementary_proba(X_test),
        grid.best_estimator_.predict_complementary_proba(X_test),
    )


def test_pca_sees_the_training_part_only_and_all_rows_at_the_end(digits_strong, strong_T):
    X, y_comp, X_test, _ = digits_strong
    split = list(ShuffleSplit(1, test_size=0.2, random_state=1).split(X))
    path = CPEKNeighborsClassifierCV(
        CANDIDATES, n_components=8, transition=strong_T, cv=split, random_state=0
    ).fit(X, y_comp)
    grid = GridSearchCV(
        CPEClassifier(
            make_pipeline(PCA(8, random_state=0), KNeighborsClassifier()), transition=strong_T
        ),
        {"estimator__kneighborsclassifier__n_neighbors": CANDIDATES},
        cv=split,
        scoring=metrics.scel_scorer,
    ).fit(X, y_comp)
    np.testing.assert_allclose(
        path.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], rtol=1e-12
    )
    np.testing.assert_array_equal(path.predict(X_test), grid.predict(X_test))
    assert path.pca_.n_components_ == 8


def test_folds_are_pooled_label_by_label(digits_strong, untied, strong_T):
    X, y_comp = untied, digits_strong[1]
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    path = CPEKNeighborsClassifierCV([30], n_components=None, transition=strong_T, cv=folds)
    path.fit(X, y_comp)
    losses = []
    for train, validation in folds:
        single = CPEClassifier(KNeighborsClassifier(30), classes=range(10))
        q = single.fit(X[train], y_comp[train]).predict_complementary_proba(X[validation])
        chosen = q[np.arange(len(validation)), y_comp[validation]]
        losses.extend(-np.log(np.where(chosen == 0, 1 / (len(validation) + 1), chosen)))
    assert path.cv_results_["scel"][0] == pytest.approx(np.mean(losses), rel=1e-12)
    error = np.std(losses, ddof=1) / np.sqrt(len(losses))
    assert path.cv_results_["scel_std_error"][0] == pytest.approx(error, rel=1e-9)


def test_several_labels_a_row_vote_once_each(digits, untied):
    rng = np.random.default_rng(0)
    mask = rng.random((len(untied), 10)) < 0.3
    mask[np.arange(len(mask)), digits.y_train] = False
    split = list(ShuffleSplit(1, test_size=0.2, random_state=1).split(mask))
    path = CPEKNeighborsClassifierCV([5, 25], n_components=None, cv=split)
    path.fit(untied, mask)
    train, validation = split[0]
    for k, scel in zip([5, 25], path.cv_results_["scel"], strict=True):
        losses = []
        for row in validation:
            distance = np.linalg.norm(untied[train] - untied[row], axis=1)
            near = mask[train[np.argsort(distance, kind="stable")[:k]]]
            q = near.sum(axis=0) / near.sum()
            chosen = np.where(q == 0, 1 / (mask[validation].sum() + 1), q)[mask[row]]
            losses.extend(-np.log(chosen))
        assert scel == pytest.approx(np.mean(losses), rel=1e-6)


def test_the_default_candidates_shrink_with_the_data(blobs):
    X, y, y_comp = blobs
    for n in (12, 60, 200):
        clf = CPEKNeighborsClassifierCV(random_state=0).fit(X[:n], y_comp[:n])
        tried = clf.cv_results_["param_n_neighbors"]
        assert tried.max() <= n
        assert tried.tolist() == [k for k in range(10, 251, 10) if k <= n - np.ceil(0.1 * n)]
    assert np.mean(CPEKNeighborsClassifierCV(random_state=0).fit(X, y_comp).predict(X) == y) > 0.97


def test_blocks_do_not_change_the_result(digits_strong, strong_T, monkeypatch):
    X, y_comp, X_test, _ = digits_strong
    mask = y_comp[:, None] == np.arange(10)
    clf = CPEKNeighborsClassifierCV(transition=strong_T, random_state=0)
    whole = [clf.fit(X, y).predict_complementary_proba(X_test) for y in (y_comp, mask)]
    monkeypatch.setattr("ybar.classifiers.neighbors._BLOCK_NUMBERS", 1000)
    parts = [clf.fit(X, y).predict_complementary_proba(X_test) for y in (y_comp, mask)]
    np.testing.assert_array_equal(whole, parts)


def test_bytes_are_read_as_the_numbers_they_are(digits_strong, strong_T):
    X, y_comp, X_test, _ = digits_strong
    clf = CPEKNeighborsClassifierCV(transition=strong_T, random_state=0)
    as_float = clf.fit(16 * X, y_comp).predict(16 * X_test)
    as_bytes = clf.fit((16 * X).astype(np.uint8), y_comp).predict((16 * X_test).astype(np.uint8))
    assert np.mean(as_float == as_bytes) > 0.99
