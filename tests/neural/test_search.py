"""The search over learning rates and trust."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from neural_helpers import linear_net, net, same_bits
from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    labels,
    transition,
)


def test_the_search_chooses_the_trust_by_scel(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    search = ComplementaryNetClassifierCV(
        "cpe-t",
        (),
        learning_rates=[1e-2, 1e-3],
        transition_trusts=[0, 1000],
        transition=T,
        max_epochs=5,
        random_state=0,
    ).fit(digits.X_train, y_comp)
    results = search.cv_results_
    assert len(results["params"]) == 4
    best = results["params"][int(np.argmin(results["scel"]))]
    assert search.best_params_ == best
    assert search.transition_trust_ == best["transition_trust"]
    assert set(search.histories_) == {1e-2, 1e-3}
    alone = linear_net(
        method="cpe-t",
        transition=T,
        max_epochs=5,
        dropout=0.5,
        **{name: best[name] for name in ("learning_rate", "transition_trust")},
    ).fit(digits.X_train, y_comp)
    np.testing.assert_allclose(alone.coefs_[0], search.coefs_[0], atol=1e-5)


def test_the_search_gives_the_same_bits_at_any_n_jobs(strong):
    X, y_comp, _, _, T = strong
    rates = [0.01, 0.003, 0.001]
    for hidden in ((), (300,)):
        searches = [
            ComplementaryNetClassifierCV(
                hidden_layer_sizes=hidden, learning_rates=rates, transition=T, max_epochs=6,
                random_state=0, n_jobs=n_jobs,
            ).fit(X, y_comp)
            for n_jobs in (None, 2, 3)
        ]  # fmt: skip
        for other in searches[1:]:
            assert same_bits(searches[0], other)
            assert np.array_equal(searches[0].cv_results_["scel"], other.cv_results_["scel"])


def test_the_search_keeps_what_the_best_rate_alone_would_give(strong):
    X, y_comp, X_test, y_test, T = strong
    rates = [0.03, 0.003, 0.0003]
    common = {"transition": T, "max_epochs": 25, "random_state": 0, "hidden_layer_sizes": (60,)}
    search = ComplementaryNetClassifierCV(learning_rates=rates, **common).fit(X, y_comp)
    alone = [
        ComplementaryNetClassifier(learning_rate=rate, **common).fit(X, y_comp) for rate in rates
    ]
    scel = [clf.history_["scel"].min() for clf in alone]
    assert search.best_index_ == np.argmin(scel)
    assert search.learning_rate_ == rates[search.best_index_]
    np.testing.assert_allclose(search.cv_results_["scel"], scel, rtol=5e-3)
    chosen = alone[search.best_index_]
    mine, its = (np.mean(clf.predict(X_test) == y_test) for clf in (search, chosen))
    assert abs(mine - its) <= 0.01
    assert search.best_score_ == -search.cv_results_["scel"].min()
    assert list(search.histories_) == rates
    first = {rate: history["scel"][:2] for rate, history in search.histories_.items()}
    for rate, clf in zip(rates, alone, strict=True):
        np.testing.assert_allclose(first[rate], clf.history_["scel"][:2], rtol=1e-4)


def test_the_search_passes_over_a_rate_that_fails(blobs):
    X, y, y_comp = blobs
    search = ComplementaryNetClassifierCV(
        "ure", (10,), learning_rates=[1e38, 0.01], max_epochs=40, random_state=0
    ).fit(X, y_comp)
    assert search.learning_rate_ == 0.01
    assert np.isinf(search.cv_results_["scel"][0])
    assert np.mean(search.predict(X) == y) > 0.95


def test_it_works_in_scikit_learns_search(strong):
    X, y_comp, _, _, T = strong
    search = GridSearchCV(
        net(transition=T, max_epochs=3), {"hidden_layer_sizes": [(), (30,)]}, cv=2
    ).fit(X, y_comp)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("criterion", ["scel", "ure"])
def test_scores_and_ranks_of_a_search_are_those_that_it_chose_by(
    digits_strong, strong_T, criterion
):
    X, y_comp, *_ = digits_strong
    clf = ComplementaryNetClassifierCV(
        hidden_layer_sizes=(),
        learning_rates=[1e-2, 1e-3, 1e-5],
        transition=strong_T,
        criterion=criterion,
        max_epochs=3,
        random_state=0,
    ).fit(X, y_comp)
    results = clf.cv_results_
    np.testing.assert_array_equal(results["mean_test_score"], -results[criterion])
    assert clf.best_score_ == results["mean_test_score"][clf.best_index_]
    assert results["rank_test_score"][clf.best_index_] == 1
