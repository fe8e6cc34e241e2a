"""The network classifiers: what they learn, what they keep, what they leave as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import ybar
from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    decode,
    labels,
    metrics,
    transition,
)
from ybar.neural import methods
from ybar.neural.data import Rows
from ybar.neural.loop import batches
from ybar.neural.methods import likelihoods
from ybar.neural.transition_layer import FIRST_NOISE

METHODS = list(methods.METHODS)
QUICK = {"hidden_layer_sizes": (50,), "max_epochs": 8, "learning_rate": 0.01, "random_state": 0}


def net(**params):
    return ComplementaryNetClassifier(**{**QUICK, **params})


def weights(clf):
    return [*clf.coefs_, *clf.intercepts_]


def same_bits(a, b):
    return all(np.array_equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))


@pytest.fixture
def strong(digits_strong, strong_T):
    X, y_comp, X_test, y_test = digits_strong
    return X, y_comp, X_test, y_test, strong_T


# --- learning


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


# --- what is recorded and kept


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


# --- the same bits


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


def test_threads_leave_torch_as_it_was_modules_too(strong):
    X, y_comp, _, _, T = strong
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        found = []
        for n_jobs in (1, 2, 3):
            torch.manual_seed(1)
            state = torch.get_rng_state()
            search = ComplementaryNetClassifierCV(
                network=small_module, learning_rates=[0.01, 0.003, 0.001], max_epochs=4,
                transition=T, batch_size=64, random_state=0, n_jobs=n_jobs,
            )  # fmt: skip
            found.append(search.fit(X, y_comp).cv_results_["scel"])
            dense = ComplementaryNetClassifierCV(
                hidden_layer_sizes=(300,), learning_rates=[0.01, 0.003, 0.001], max_epochs=4,
                transition=T, random_state=0, n_jobs=n_jobs,
            )  # fmt: skip
            dense.fit(X, y_comp)
            assert torch.equal(torch.get_rng_state(), state)
            assert torch.get_num_threads() == 2
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
    finally:
        torch.set_num_threads(before)


def test_lazy_modules_are_reproducible(strong):
    X, y_comp, _, _, T = strong
    torch.manual_seed(1)
    state = torch.get_rng_state()
    clf = net(network=lambda: torch.nn.LazyLinear(10), transition=T, max_epochs=2)
    states = [clf.fit(X, y_comp).network_state_ for _ in range(2)]
    assert all(map(np.array_equal, *states))
    assert torch.equal(torch.get_rng_state(), state)


def test_inputs_are_not_changed(strong):
    X, y_comp, _, _, T = strong
    pixels = (X * 255).astype(np.uint8)
    kept = pixels.copy(), y_comp.copy(), T.copy()
    clf = net(transition=T).fit(pixels, y_comp)
    clf.predict(pixels)
    for now, before in zip((pixels, y_comp, T), kept, strict=True):
        np.testing.assert_array_equal(now, before)


# --- the search


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


# --- where the data comes from


def small_module():
    return torch.nn.Sequential(
        torch.nn.Linear(64, 30), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(30, 10)
    )


def small_cnn():
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8)),
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 10),
    )


def test_pixels_are_scaled_as_they_are_read(strong):
    X, y_comp, X_test, _, T = strong
    pixels, pixels_test = ((x * 255).astype(np.uint8) for x in (X, X_test))
    by_pixels = net(transition=T).fit(pixels, y_comp)
    by_floats = net(transition=T).fit(pixels.astype(np.float32) / 255, y_comp)
    for a, b in zip(weights(by_pixels), weights(by_floats), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.02, atol=2e-3)
    np.testing.assert_allclose(
        by_pixels.predict_proba(pixels_test),
        by_pixels.predict_proba(pixels_test.astype(np.float32) / 255),
        rtol=1e-4,
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", "i2", ">i4", "u2", "u4", "i8", "b1"])
def test_numbers_of_any_type_stream_from_a_memory_map(dtype, tmp_path, strong):
    X, y_comp, _, _, T = strong
    whole = (X * 16).round() > 7 if dtype == "b1" else (X * 16).round()
    path = tmp_path / "X.npy"
    np.save(path, whole.astype(dtype))
    mapped = np.load(path, mmap_mode="r")
    streamed = net(transition=T, max_epochs=2).fit(mapped, y_comp)
    assert same_bits(streamed, net(transition=T, max_epochs=2).fit(whole.astype("f4"), y_comp))


def test_a_memory_map_is_never_in_memory_whole(tmp_path):
    code = """
import resource, sys
import numpy as np
from ybar import ComplementaryNetClassifier
import torch
X = np.lib.format.open_memmap(sys.argv[1], mode="w+", dtype=np.uint8, shape=(60_000, 2_000))
X.flush(); del X
X = np.load(sys.argv[1], mmap_mode="r")  # 120 MB of pixels, 480 MB as floats
y = np.arange(60_000) % 3
clf = ComplementaryNetClassifier(hidden_layer_sizes=(), max_epochs=1, random_state=0)
clf.fit(X[:2_000], y[:2_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clf.fit(X, y).predict(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 2**10)
"""
    path = tmp_path / "X.npy"
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    path.unlink()
    # Pages of the map count while they are cached, and may: the file's 120 MB, and little else.
    assert int(done.stdout) < 120 + 100


def test_rows_in_another_order_in_memory_are_not_copied_for_each_batch(strong):
    X, y_comp, _, _, T = strong
    tracked = []

    class Watched(np.ndarray):
        def take(self, *args, **kwargs):
            tracked.append(args)
            return super().take(*args, **kwargs)

    expected = net(transition=T).fit(X, y_comp)
    wide = np.zeros((len(X), 128))
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], pd.DataFrame(X)):
        assert same_bits(net(transition=T).fit(other, y_comp), expected)
    Rows(np.asfortranarray(X).view(Watched), torch.device("cpu")).take(np.arange(5))
    assert not tracked
    Rows(X.view(Watched), torch.device("cpu")).take(np.arange(5))
    assert tracked


class Items(torch.utils.data.Dataset):
    def __init__(self, X):
        self.X = X

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return torch.from_numpy(self.X[i]), 0


def test_a_torch_dataset_gives_what_its_array_gives(strong):
    X, y_comp, X_test, _, T = strong
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    streamed = net(transition=T).fit(Items(X), y_comp)
    at_once = net(transition=T).fit(X, y_comp)
    assert same_bits(streamed, at_once)
    np.testing.assert_array_equal(streamed.predict(Items(X_test)), at_once.predict(X_test))
    with pytest.raises(ValueError, match="X has 63 features"):
        streamed.predict(Items(X_test[:, :63]))

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    with pytest.raises(TypeError, match="IterableDataset"):
        net(transition=T).fit(Stream(), y_comp)


def test_several_labels_a_row_count_once_each(strong):
    X = strong[0]
    y = np.random.default_rng(0).integers(0, 10, len(X))
    mask = np.eye(10, dtype=bool)[y]
    one_each = net().fit(X, y)
    assert same_bits(one_each, net().fit(X, mask))


def test_weights_of_zero_leave_rows_out_and_their_scale_does_not_matter(strong):
    X, y_comp, _, _, T = strong
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    plain, weighted, doubled = (
        net(transition=T).fit(X, y_comp, w) for w in (None, weight, 2 * weight)
    )
    assert same_bits(weighted, doubled)
    assert not same_bits(plain, weighted)
    assert same_bits(plain, net(transition=T).fit(X, y_comp, np.full(len(X), 3.0)))
    wrong = y_comp.copy()
    wrong[::2] = (wrong[::2] + 1) % 10
    half = np.ones(len(X))
    half[::2] = 0
    a, b = (net(transition=T).fit(X, y, half) for y in (y_comp, wrong))
    assert same_bits(a, b)


# --- modules of the user


def test_any_module_trains_by_the_same_loop(strong):
    X, y_comp, X_test, y_test, T = strong
    images, images_test = X.reshape(-1, 8, 8), X_test.reshape(-1, 8, 8)
    clf = net(network=small_cnn, transition=T, max_epochs=30, weight_averaging=0.9)
    clf.fit(images, y_comp)
    assert np.mean(clf.predict(images_test) == y_test) > 0.7
    again = clone(clf).fit(images, y_comp)
    assert all(map(np.array_equal, clf.network_state_, again.network_state_))
    assert not hasattr(clf, "coefs_")


def test_a_module_is_saved_by_the_name_of_its_function(strong, tmp_path):
    X, y_comp, X_test, _, T = strong
    clf = net(network=small_module, transition=T, max_epochs=2).fit(X, y_comp)
    name = f"{small_module.__module__}.small_module"
    with pytest.warns(UserWarning, match=name):
        ybar.save(clf, tmp_path / "model")
    loaded = ybar.load(tmp_path / "model", trusted=[name])
    np.testing.assert_array_equal(loaded.predict_proba(X_test), clf.predict_proba(X_test))


class Unused(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.unused, self.used = torch.nn.Linear(3, 3), torch.nn.Linear(64, 10)

    def forward(self, x):
        return self.used(x)


def test_a_module_may_have_parts_it_does_not_use(strong):
    X, y_comp, _, _, T = strong
    clf = net(network=Unused, transition=T, max_epochs=2).fit(X, y_comp)
    assert len(clf.network_state_) == 4


def test_a_single_row_at_the_end_joins_the_batch_before(strong):
    X, y_comp, _, _, T = strong
    n = len(X) - -(-len(X) // 10)
    clf = net(network=small_cnn, transition=T, max_epochs=1, batch_size=n - 1)
    assert n % clf.batch_size == 1
    clf.fit(X.reshape(-1, 8, 8), y_comp)
    assert [(s.start, s.stop) for s in batches(7, 3)] == [(0, 3), (3, 7)]
    assert [(s.start, s.stop) for s in batches(6, 3)] == [(0, 3), (3, 6)]
    assert [(s.start, s.stop) for s in batches(1, 3)] == [(0, 1)]


@pytest.mark.parametrize(
    ("network", "text"),
    [
        (
            lambda: torch.nn.Linear(64, 7),
            "network must return one output for each of the 10",
        ),
        (lambda: torch.nn.Unflatten(1, (8, 8)), "network must give logits of shape"),
        (lambda: torch.nn.Linear(63, 10), "network must take batches of the shape of X"),
        (lambda: "no module", "network must be a callable that returns a torch.nn.Module"),
        ("no callable", "network must be a callable that builds"),
    ],
)
def test_a_network_that_does_not_fit_is_refused(network, text, strong):
    X, y_comp, _, _, _ = strong
    with pytest.raises(ValueError, match=text):
        net(network=network).fit(X, y_comp)


# --- streams and second fits


def test_partial_fit_learns_from_a_stream(strong, tmp_path):
    X, y_comp, X_test, y_test, T = strong
    clf = net(transition=T, classes=range(10))
    losses_seen = []
    for _ in range(15):
        for part in np.array_split(np.arange(len(X)), 6):
            clf.partial_fit(X[part], y_comp[part])
        losses_seen.append(clf.history_["loss"][-1])
    assert np.mean(clf.predict(X_test) == y_test) > 0.85
    assert losses_seen[-1] < losses_seen[0]
    assert clf.n_epochs_ == 90
    clf.partial_fit(X[:1], y_comp[:1])  # a single answer
    ybar.save(clf, tmp_path / "model")
    loaded = ybar.load(tmp_path / "model")
    for model in (clf, loaded):
        model.partial_fit(X[:50], y_comp[:50])
    assert same_bits(clf, loaded)


def test_a_stream_of_one_piece_goes_as_fit_does_with_the_whole_in_view(strong):
    X, y_comp, _, _, T = strong
    common = {
        "transition": T, "learning_rate": 1e-3, "batch_size": len(X), "dropout": 0.0,
        "input_dropout": 0.0, "weight_averaging": 0.0, "random_state": 3,
    }  # fmt: skip
    streamed = ComplementaryNetClassifier(hidden_layer_sizes=(), classes=range(10), **common)
    for _ in range(20):
        streamed.partial_fit(X, y_comp)
    at_once = ComplementaryNetClassifier(
        hidden_layer_sizes=(), max_epochs=20, validation_fraction=0, select="last", **common
    ).fit(X, y_comp)
    # Whole batches, so Adam takes the same steps but from other first weights.
    fall = [clf.history_["loss"][0] - clf.history_["loss"][-1] for clf in (streamed, at_once)]
    assert fall[0] == pytest.approx(fall[1], rel=0.15)


def test_partial_fit_goes_on_from_fit(strong):
    X, y_comp, _, _, T = strong
    clf = net(transition=T, max_epochs=30).fit(X, y_comp)
    before = -clf.score(X, y_comp)
    clf.partial_fit(X, y_comp)
    assert -clf.score(X, y_comp) < before + 0.05
    assert np.isnan(clf.history_["scel"][-1])
    assert len(clf.history_["loss"]) == 31


def test_partial_fit_says_what_it_needs(strong):
    X, y_comp, _, _, T = strong
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        net(transition=T).partial_fit(X, y_comp)
    clf = net(transition=T).partial_fit(X, y_comp, classes=range(10))
    with pytest.raises(ValueError, match="classes must be the same at every call"):
        clf.partial_fit(X, y_comp, classes=range(9))
    with pytest.raises(ValueError, match="same number of rows"):
        clf.partial_fit(X, y_comp[:-1])
    with pytest.raises(ValueError, match="63 features"):
        clf.partial_fit(X[:, :63], y_comp)


def test_warm_start_goes_on_from_the_last_fit(strong):
    X, y_comp, _, _, T = strong
    for method in ("cpe-f", "cpe-t"):
        warm = net(method=method, transition=T, warm_start=True, select="last")
        first = warm.fit(X, y_comp).history_["scel"]
        second = warm.fit(X, y_comp).history_["scel"]
        cold = net(method=method, transition=T, select="last").fit(X, y_comp)
        assert second[0] < first[0] - 0.05
        assert warm.score(X, y_comp) > cold.score(X, y_comp)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_layer_sizes": (50, 10)},
        {"hidden_layer_sizes": (8,)},
        {"hidden_layer_sizes": ()},
        {"network": small_module},
        {"classes": list(range(9, -1, -1))},
    ],
)
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_going_on_with_another_network_is_refused_in_one_line(change, first, strong):
    X, y_comp, _, _, T = strong
    clf = net(transition=T, warm_start=True, classes=list(range(10)))
    getattr(clf, first)(X, y_comp)
    clf.set_params(**change)
    if "classes" not in change or first == "fit":
        with pytest.raises(ValueError, match="must go on with the same network"):
            clf.fit(X, y_comp)
    if "classes" not in change:
        with pytest.raises(ValueError, match="must go on with the same network"):
            clf.partial_fit(X, y_comp)


@pytest.mark.parametrize(("a", "b"), [("cpe-n", "cpe-t"), ("cpe-t", "cpe-n"), ("cpe-f", "cpe-t")])
def test_another_way_to_learn_t_starts_afresh(a, b, strong):
    X, y_comp, _, _, T = strong
    for how in ("fit", "partial_fit"):
        clf = net(method=a, transition=T, warm_start=True, classes=range(10))
        clf.set_params(validation_fraction=0.0, select="last")  # held-out labels would tell of T
        getattr(clf, how)(X, y_comp)
        clf.set_params(method=b, weight_averaging=0.0, learning_rate=1e-6)
        getattr(clf, how)(X, y_comp)
        start = T if b == "cpe-t" else transition.with_uniform_noise(T, FIRST_NOISE)
        np.testing.assert_allclose(clf.learned_transition_, start, atol=5e-3)


def test_partial_fit_checks_what_fit_checks(strong):
    X, y_comp, _, _, T = strong
    with pytest.raises(ValueError, match="decoder must be one of"):
        net(decoder="bogus", classes=range(10)).partial_fit(X, y_comp)
    names = list("jihgfedcba")
    frame = pd.DataFrame(T, index=names, columns=names)
    letters = np.array(sorted(names))[y_comp]
    with pytest.raises(ValueError, match="transition must have its index named and ordered"):
        net(transition=frame, classes=sorted(names)).partial_fit(X, letters)
    singular = np.full((10, 10), 0.1)
    with pytest.warns(UserWarning, match="T is singular"):
        net(method="ure", transition=singular, classes=range(10)).partial_fit(X, y_comp)


def test_names_of_features_are_forgotten_with_the_frame_that_had_them(strong):
    X, y_comp, _, _, T = strong
    clf = net(transition=T, max_epochs=1)
    clf.fit(pd.DataFrame(X).add_prefix("pixel"), y_comp)
    assert clf.feature_names_in_[0] == "pixel0"
    clf.fit(Items(X.astype(np.float32)), y_comp)
    clf.predict(X)
    assert not hasattr(clf, "feature_names_in_")


# --- when something goes wrong


def test_a_loss_that_turns_nan_stops_and_keeps_the_best(blobs):
    X, y, y_comp = blobs
    calls = []

    def turns_nan(logits, y_comp, log_T):
        calls.append(None)
        return likelihoods.forward(logits, y_comp, log_T) * (np.nan if len(calls) > 41 else 1.0)

    clf = net(method=turns_nan, max_epochs=30, batch_size=82, learning_rate=0.02)
    with pytest.warns(ConvergenceWarning, match="epoch 5, batch 2.*learning_rate.*are kept"):
        clf.fit(X, y_comp)  # 810 rows in batches of 82: ten an epoch
    assert clf.n_epochs_ == 4
    assert np.mean(clf.predict(X) == y) > 0.9


def test_a_loss_that_is_nan_at_once_is_an_error_and_leaves_the_old_model(blobs):
    X, _, y_comp = blobs
    clf = net().fit(X, y_comp)
    before = weights(clf)
    clf.set_params(learning_rate=1e38)
    with pytest.raises(FloatingPointError, match="epoch 1, batch"):
        clf.fit(X, y_comp)
    assert all(map(np.array_equal, weights(clf), before))


def test_a_model_that_overflows_is_never_kept(blobs):
    X, y, y_comp = blobs
    for method in ("fwd", "cpe-f"):
        search = ComplementaryNetClassifierCV(
            method, (16,), learning_rates=[0.01, 1e25], max_epochs=40, batch_size=1000,
            random_state=0,
        ).fit(X, y_comp)  # fmt: skip
        assert search.learning_rate_ == 0.01
        assert np.mean(search.predict(X) == y) > 0.9
    with pytest.raises(FloatingPointError, match="no longer finite"):
        net(learning_rate=1e25, batch_size=1000).fit(X, y_comp)
    clf = net(learning_rate=1e38, classes=range(3), batch_size=1000, hidden_layer_sizes=())
    with pytest.raises(FloatingPointError, match="no longer finite"):
        clf.partial_fit(X, y_comp)
    assert not hasattr(clf, "coefs_")


def test_warnings_point_at_the_call_of_fit(blobs):
    X, _, y_comp = blobs
    calls = []

    def turns_nan(logits, y_comp, log_T):
        calls.append(None)
        return likelihoods.forward(logits, y_comp, log_T) * (np.nan if len(calls) > 8 else 1.0)

    with pytest.warns(ConvergenceWarning) as caught:
        net(method=turns_nan).fit(X, y_comp)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "loss",
    [
        lambda logits, y_comp, log_T: likelihoods.forward(logits, y_comp, log_T).mean(),
        lambda logits, y_comp, log_T: likelihoods.forward(logits[0], y_comp, log_T),
        lambda logits, y_comp, log_T: 1.0,
    ],
)
def test_a_method_of_the_wrong_shape_is_told_the_right_one(loss, blobs):
    X, _, y_comp = blobs
    with pytest.raises(ValueError, match="method must return the loss of each row"):
        net(method=loss).fit(X, y_comp)


@pytest.mark.usefixtures("interrupts_heard")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_returns_the_best_so_far_with_a_warning(n_jobs, blobs):
    X, y, y_comp = blobs
    done = []

    def interrupt(news):
        done.append(news["epoch"])
        if len(done) == 60:
            os.kill(os.getpid(), signal.SIGINT)

    search = ComplementaryNetClassifierCV(
        hidden_layer_sizes=(300,), learning_rates=[0.01, 0.003], max_epochs=10**6, n_jobs=n_jobs,
        callbacks=[interrupt], random_state=0,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="interrupted after epoch"):
        search.fit(X, y_comp)
    assert np.mean(search.predict(X) == y) > 0.9
    assert threading.active_count() < 5


def test_ctrl_c_before_the_first_epoch_is_ctrl_c(blobs):
    X, _, y_comp = blobs

    def interrupts(logits, y_comp, log_T):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        net(method=interrupts).fit(X, y_comp)


def test_an_error_in_a_callback_or_a_method_comes_through(blobs):
    X, _, y_comp = blobs

    def fails(*_):
        raise ZeroDivisionError("mine")

    for params in ({"callbacks": [fails]}, {"method": fails}):
        with pytest.raises(ZeroDivisionError, match="mine"):
            net(**params).fit(X, y_comp)


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


def test_whole_numbers_of_another_kind_than_in_fit_are_refused(digits_strong):
    X, y_comp, *_ = digits_strong
    for first, second in ((np.uint8, int), (int, np.uint8)):
        clf = ComplementaryNetClassifier("cpe-f", (), max_epochs=1, random_state=0)
        clf.fit(X.astype(first), y_comp)
        for method in (clf.predict, lambda X, clf=clf: clf.partial_fit(X, y_comp)):
            with pytest.raises(ValueError, match=f"X must be of dtype {np.dtype(first)}, as in"):
                method(X.astype(second))
        clf.predict(X.astype(float))  # which may be scaled already


def test_a_fit_to_a_torch_dataset_forgets_the_kind_of_numbers_of_the_fit_before(digits_strong):
    X, y_comp, X_test, *_ = digits_strong
    clf = ComplementaryNetClassifier("cpe-f", (), max_epochs=1, random_state=0)
    clf.fit(X.astype(np.uint8), y_comp)
    clf.fit(Items(X.astype(np.float32)), y_comp)
    whole = X_test.astype(int)
    np.testing.assert_array_equal(clf.predict(whole), clf.predict(whole.astype(float)))


def test_apples_device_is_taken_only_where_asked_for(monkeypatch):
    from ybar.neural import settings

    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert settings.device("auto").type == "cpu"
    assert settings.device("mps").type == "mps"


def test_a_part_whose_labels_weigh_nothing_is_refused():
    clf = ComplementaryNetClassifier("cpe-f", (), classes=[0, 1, 2], random_state=0)
    with pytest.raises(ValueError, match="zero for every row that has a label"):
        clf.partial_fit(
            np.zeros((2, 2)),
            np.array([[False] * 3, [True, False, False]]),
            sample_weight=[1, 0],
        )
