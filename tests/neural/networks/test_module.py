"""Torch modules of the user."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone

import ybar
from neural_helpers import net, small_cnn, small_module
from ybar import (
    ComplementaryNetClassifierCV,
)


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


@pytest.mark.parametrize(
    ("network", "text"),
    [
        (
            lambda: torch.nn.Linear(64, 7),
            "network must return one output for each of the 10",
        ),
        (lambda: torch.nn.Unflatten(1, (8, 8)), "network must return logits"),
        (lambda: torch.nn.Linear(63, 10), "network must take batches of the shape of X"),
        (lambda: "no module", "network must be a callable that returns a torch.nn.Module"),
        ("no callable", "network must be a callable that builds"),
    ],
)
def test_a_network_that_does_not_fit_is_refused(network, text, strong):
    X, y_comp, _, _, _ = strong
    with pytest.raises(ValueError, match=text):
        net(network=network).fit(X, y_comp)
