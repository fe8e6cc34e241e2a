"""The classifier: what it learns, records and keeps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone

import ybar
from neural_helpers import net, same_bits, small_module
from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    decode,
    labels,
    metrics,
    transition,
)
from ybar.neural import methods

METHODS = list(methods.METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_the_ordinary_classes(method, blobs):
    X, y, y_comp = blobs
    clf = net(method=method, max_epochs=60, dropout=0.0).fit(X, y_comp)
    assert np.mean(clf.predict(X) == y) > 0.9
    assert clf.predict_proba(X).shape == (900, 3)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(clf.predict_complementary_proba(X).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("hidden", [(), (30,), (40, 20)])
def test_defaults_learn_digits_under_a_strong_matrix(hidden, strong):
    X, y_comp, X_test, y_test, T = strong
    clf = ComplementaryNetClassifier(
        hidden_layer_sizes=hidden, transition=T, learning_rate=0.01, max_epochs=60, random_state=0
    )
    assert np.mean(clf.fit(X, y_comp).predict(X_test) == y_test) > 0.8
    assert [c.shape for c in clf.coefs_] == list(zip((64, *hidden), (*hidden, 10), strict=True))


def test_a_callable_and_a_registered_name_are_methods_too(blobs):
    X, y, y_comp = blobs

    def squared(logits, y_comp, log_T):
        p = logits.softmax(-1)
        return p.gather(-1, y_comp.expand(p.shape[:-1])[..., None])[..., 0] ** 2

    by_callable = net(method=squared, max_epochs=40).fit(X, y_comp)
    assert np.mean(by_callable.predict(X) == y) > 0.95
    methods.register("squared", squared)
    try:
        assert same_bits(net(method="squared", max_epochs=40).fit(X, y_comp), by_callable)
    finally:
        del methods.METHODS["squared"]


def test_the_decoder_is_the_methods_own_unless_named(strong):
    X, y_comp, X_test, _, T = strong
    fwd = net(method="fwd", transition=T).fit(X, y_comp)
    cpe = net(method="cpe-f", transition=T).fit(X, y_comp)
    assert same_bits(fwd, cpe)
    q, p = cpe.predict_complementary_proba(X_test), cpe.predict_proba(X_test)
    np.testing.assert_allclose(q, p @ T, rtol=1e-6)
    np.testing.assert_array_equal(fwd.predict(X_test), p.argmax(axis=1))
    np.testing.assert_array_equal(cpe.predict(X_test), decode.decode(q, T, "l1"))
    fwd.set_params(decoder="l1")
    np.testing.assert_array_equal(fwd.predict(X_test), cpe.predict(X_test))


def test_cpe_i_has_complementary_probabilities_and_solves_for_the_others(strong):
    X, y_comp, X_test, _, T = strong
    clf = net(method="cpe-i", transition=T).fit(X, y_comp)
    q = clf.predict_complementary_proba(X_test)
    np.testing.assert_allclose(clf.predict_proba(X_test), decode.class_probabilities(q, T))


def test_what_cpe_t_and_cpe_n_learn_of_t_is_shown(blobs):
    X, y, _ = blobs
    T = transition.uniform(3)
    noisy = labels.draw(y, transition.with_uniform_noise(T, 0.5), 0)  # 1/6 on the diagonal
    fitted = {
        method: net(method=method, max_epochs=250, select="last", dropout=0.0).fit(X, noisy)
        for method in ("cpe-n", "cpe-t")
    }
    n, t = fitted["cpe-n"], fitted["cpe-t"]
    assert 0.2 < n.noise_ < 0.8  # a network that is unsure explains part of the noise
    level = 3 * n.learned_transition_[0, 0]
    expected = transition.with_uniform_noise(T, level)
    np.testing.assert_allclose(n.learned_transition_, expected, atol=1e-6)
    assert level == pytest.approx(n.noise_, abs=0.2)
    assert np.abs(t.learned_transition_ - T).max() > 0.01
    assert (
        np.diag(t.learned_transition_) > 0
    ).all()  # was 0; see test_losses for how far it can go
    for clf in fitted.values():
        np.testing.assert_allclose(clf.learned_transition_.sum(axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(clf.transition_, T)
        q = clf.predict_complementary_proba(X)
        np.testing.assert_allclose(q, clf.predict_proba(X) @ clf.learned_transition_, rtol=1e-5)
        assert np.mean(clf.predict(X) == y) > 0.9
    without = net(method="cpe-n", max_epochs=250, select="last", dropout=0.0)
    assert without.fit(X, labels.draw(y, T, 0)).noise_ < 0.05


def test_the_epoch_of_the_lowest_criterion_is_kept(strong):
    X, y_comp, _, _, T = strong
    for criterion in ("scel", "ure"):
        clf = net(transition=T, max_epochs=15, criterion=criterion).fit(X, y_comp)
        assert clf.best_epoch_ == 1 + np.argmin(clf.history_[criterion])
        assert clf.n_epochs_ == 15
        for name in ("loss", "scel", "ure", "seconds", "scel_std_error", "ure_std_error"):
            assert clf.history_[name].shape == (15,)
    last = net(transition=T, max_epochs=15, select="last").fit(X, y_comp)
    assert last.best_epoch_ == 15


def test_the_record_is_what_the_metrics_say_of_the_rows_held_out(strong):
    X, y_comp, _, _, T = strong
    seen = []
    clf = net(
        transition=T, select="last", callbacks=[lambda news: seen.append(news)], decoder="max"
    ).fit(X, y_comp)
    # The split is the first thing that random_state decides.
    order = np.random.default_rng(0).permutation(len(X))
    held_out = np.sort(order[: -(-len(X) // 10)])
    q = clf.predict_complementary_proba(X[held_out])
    scel, error = metrics.scel(y_comp[held_out], q, return_std_error=True)
    assert clf.history_["scel"][-1] == pytest.approx(scel, rel=1e-5)
    assert clf.history_["scel_std_error"][-1] == pytest.approx(error, rel=1e-4)
    predicted = np.searchsorted(clf.classes_, clf.predict(X[held_out]))
    ure = metrics.ure_zero_one(y_comp[held_out], predicted, T)
    assert clf.history_["ure"][-1] == pytest.approx(ure, abs=0.02)
    assert [news["epoch"] for news in seen] == list(range(1, 9))
    assert seen[-1]["scel"] == clf.history_["scel"][-1]


def test_the_training_loss_is_the_mean_over_rows_not_over_batches(blobs):
    X, _, y_comp = blobs
    clf = net(
        learning_rate=1e-12,
        batch_size=700,
        max_epochs=1,
        dropout=0.0,
        input_dropout=0.0,
        weight_decay=0.0,
        validation_fraction=0.0,
        select="last",
    ).fit(X, y_comp)  # 900 rows: a batch of 700 and one of 200
    assert clf.history_["loss"][0] == pytest.approx(-clf.score(X, y_comp), rel=1e-5)


def test_a_callback_can_end_the_training_and_patience_does(strong):
    X, y_comp, _, _, T = strong
    clf = net(transition=T, callbacks=[lambda news: news["epoch"] == 3]).fit(X, y_comp)
    assert clf.n_epochs_ == 3
    clf = net(transition=T, max_epochs=300, patience=5, learning_rate=0.05).fit(X, y_comp)
    assert clf.n_epochs_ == clf.best_epoch_ + 5 < 300


def test_small_data_gets_more_epochs_by_default():
    assert ComplementaryNetClassifier()._recipe(54_000).max_epochs == 40
    assert ComplementaryNetClassifier()._recipe(2_560).max_epochs == 200
    assert ComplementaryNetClassifier()._recipe(100).max_epochs == 400


def test_the_papers_settings_are_one_call_away():
    clf = ComplementaryNetClassifier.paper("ure-ga", hidden_layer_sizes=())
    expected = {
        "max_epochs": 300, "weight_decay": 1e-4, "batch_size": 256, "dropout": 0.0,
        "input_dropout": 0.0, "weight_averaging": 0.0, "select": "last", "criterion": "ure",
        "hidden_layer_sizes": (), "method": "ure-ga",
    }  # fmt: skip
    assert {name: clf.get_params()[name] for name in expected} == expected
    assert ComplementaryNetClassifier.paper("cpe-t", max_epochs=5).max_epochs == 5
    search = ComplementaryNetClassifierCV.paper("cpe-i")
    assert (search.criterion, search.select, search.max_epochs) == ("scel", "last", 300)


def test_same_seed_same_bits_and_another_seed_others(strong):
    X, y_comp, _, _, T = strong
    first = net(transition=T).fit(X, y_comp)
    assert same_bits(first, net(transition=T).fit(X, y_comp))
    assert same_bits(first, clone(first).fit(X, y_comp))
    assert not same_bits(first, net(transition=T, random_state=1).fit(X, y_comp))


def test_threads_and_random_states_are_as_before(strong):
    X, y_comp, _, _, T = strong
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.manual_seed(7)
        np.random.seed(7)
        state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
        two = net(transition=T).fit(X, y_comp)
        net(network=small_module, transition=T, max_epochs=2).fit(X, y_comp)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), state)
        assert np.array_equal(np.random.get_state()[1], numpy_state)
        torch.set_num_threads(1)
        assert same_bits(two, net(transition=T).fit(X, y_comp))
    finally:
        torch.set_num_threads(before)


def test_one_training_on_several_threads_differs_by_rounding_only(strong):
    X, y_comp, X_test, _, T = strong
    states = []

    def record_threads(_):
        states.append((torch.get_num_threads(), (torch.tensor(1e-38) * 0.1).item()))

    before = torch.get_num_threads()
    wide = {"hidden_layer_sizes": (600,), "max_epochs": 3, "transition": T}
    one = net(**wide).fit(X, y_comp)
    two = net(**wide, n_threads=2, callbacks=[record_threads]).fit(X, y_comp)
    assert torch.get_num_threads() == before
    assert states == [(2, 0.0)] * 3
    np.testing.assert_allclose(two.predict_proba(X_test), one.predict_proba(X_test), atol=1e-3)
    assert same_bits(two, net(**wide, n_threads=2).fit(X, y_comp))
    assert np.isfinite(two.partial_fit(X, y_comp).history_["loss"][-1])
    assert torch.get_num_threads() == before


def test_a_progress_bar_is_shown_on_request(blobs, capsys):
    X, _, y_comp = blobs
    net(verbose=True, max_epochs=2).fit(X, y_comp)
    assert "epochs" in capsys.readouterr().out


def test_nothing_is_warned_of_in_an_ordinary_fit(blobs):
    X, _, y_comp = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net().fit(X, y_comp).predict(X)


@pytest.mark.parametrize("method", ["ure-nn", "ure-ga"])
def test_the_corrected_risks_learn(method):
    d = ybar.datasets.load("digits")
    y_comp = ybar.labels.draw(d.y_train, ybar.transition.uniform(10), random_state=0)
    clf = ComplementaryNetClassifier(
        method, hidden_layer_sizes=(), learning_rate=1e-2, max_epochs=40, random_state=0
    ).fit(d.X_train, y_comp)
    # Few rows for a risk this noisy, but well above chance; it was below with shares of the batch.
    assert np.mean(clf.predict(d.X_test) == d.y_test) > 0.25
