"""Searches select by SCEL, or the simplest candidate within one standard error."""

from __future__ import annotations

import numpy as np
import pytest

from ybar import (
    CPEBoostingClassifierCV,
    CPEKMeansClassifierCV,
    CPEKNeighborsClassifierCV,
    datasets,
    labels,
    load,
    metrics,
    save,
    transition,
)


def digits_labels(T):
    d = datasets.load("digits")
    return d.X_train, labels.draw(d.y_train, T, 0)


def test_neighbours_can_be_the_most_within_one_error(tmp_path):
    T = transition.strong(10, random_state=0)
    X, y_comp = digits_labels(T)
    best, simple = (
        CPEKNeighborsClassifierCV(transition=T, select=select, cv=3, random_state=0).fit(X, y_comp)
        for select in ("best", "one-std-error")
    )
    assert simple.n_neighbors_ > best.n_neighbors_
    np.testing.assert_array_equal(simple.cv_results_["scel"], best.cv_results_["scel"])
    chosen = simple.cv_results_["param_n_neighbors"][simple.best_index_]
    assert chosen == simple.n_neighbors_ == simple.best_params_["n_neighbors"]
    assert simple.best_score_ < best.best_score_
    # Paired errors are below those of either, so that it stays within one of those as well.
    own = best.cv_results_["scel_std_error"][best.best_index_]
    assert best.best_score_ - simple.best_score_ < own
    save(simple, tmp_path / "model")
    assert load(tmp_path / "model").n_neighbors_ == simple.n_neighbors_


def test_neighbours_within_one_error_are_those_of_the_losses_themselves():
    T = transition.strong(10, random_state=0)
    X, y_comp = digits_labels(T)
    order = np.random.default_rng(0).permutation(len(X))
    train, held_out = order[200:], order[:200]
    ks = [10, 20, 40, 80, 160, 320]
    found = CPEKNeighborsClassifierCV(
        ks, transition=T, select="one-std-error", cv=[(train, held_out)], random_state=0
    ).fit(X, y_comp)
    q = [
        CPEKNeighborsClassifierCV([k], transition=T, random_state=0, n_components=32)
        .fit(X[train], y_comp[train])
        .predict_complementary_proba(X[held_out])
        for k in ks
    ]
    unseen = y_comp[held_out]
    scel = [metrics.scel(unseen, each, zero_as=1 / 201) for each in q]
    np.testing.assert_allclose(found.cv_results_["scel"], scel, rtol=1e-3)
    best = q[int(np.argmin(scel))]
    errors = [metrics.compare(unseen, each, best).std_error for each in q]
    index = metrics.one_standard_error(scel, errors, complexity=[-k for k in ks], paired=True)
    assert found.best_index_ == index


def test_trees_can_be_the_fewest_within_one_error():
    T = transition.strong(10, random_state=0)
    X, y_comp = digits_labels(T)
    options = {
        "learning_rates": [0.05, 0.2],
        "n_estimators": range(1, 41),
        "transition": T,
        "random_state": 0,
        "lightgbm_params": {"num_leaves": 7},
    }
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    best, simple = (
        CPEBoostingClassifierCV(**options, select=select).fit(X, y_comp, weights)
        for select in ("best", "one-std-error")
    )
    assert simple.best_params_["learning_rate"] == best.best_params_["learning_rate"]
    assert simple.best_params_["n_estimators"] < best.best_params_["n_estimators"]
    assert simple.cv_results_["params"][simple.best_index_] == simple.best_params_
    np.testing.assert_array_equal(simple.cv_results_["scel"], best.cv_results_["scel"])
    own = best.cv_results_["scel_std_error"][best.best_index_]
    assert 0 < best.best_score_ - simple.best_score_ < own
    assert simple.model_.count("Tree=") == 10 * simple.best_params_["n_estimators"]


@pytest.mark.parametrize(
    "search", [CPEKNeighborsClassifierCV, CPEKMeansClassifierCV, CPEBoostingClassifierCV]
)
@pytest.mark.parametrize("select", ["last", None])
def test_an_unknown_rule_of_selection_is_named(search, select, blobs):
    X, _, y_comp = blobs
    with pytest.raises(ValueError, match=f"^select must .* got {select!r}"):
        search(select=select).fit(X, y_comp)
