"""Streams, warm starts and second fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ybar
from neural_helpers import net, same_bits, small_module
from ybar import (
    ComplementaryNetClassifier,
    transition,
)
from ybar.neural.transition_layer import FIRST_NOISE


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
        with pytest.raises(ValueError, match="must continue with the same network"):
            clf.fit(X, y_comp)
    if "classes" not in change:
        with pytest.raises(ValueError, match="must continue with the same network"):
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


def test_warm_start_keeps_held_out_rows_held_out():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(400, 50)), rng.integers(10, size=400)
    clf = net(
        method="cpe-i", hidden_layer_sizes=(100,), warm_start=True, max_epochs=30, batch_size=32,
        learning_rate=1e-2, weight_averaging=0.0, weight_decay=0.0, select="last",
        random_state=None, dropout=0.0, input_dropout=0.0,
    )  # fmt: skip
    for n_rows in (300, 300, 400, 400):  # more rows may follow those of the last fit
        clf.fit(X[:n_rows], noise[:n_rows])
        # A network does not predict noise that it has not seen; it memorises the rest.
        assert np.median(clf.history_["scel"]) > np.log(10) + 1
