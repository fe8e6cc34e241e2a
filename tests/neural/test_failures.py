"""When something goes wrong: NaN, interrupts, errors in callbacks and methods."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from neural_helpers import net, weights
from ybar import (
    ComplementaryNetClassifierCV,
)
from ybar.neural.methods import likelihoods


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
    done, threads = [], set(threading.enumerate())

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
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)  # one that trains on would not end
        assert not thread.is_alive()


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


def test_apples_device_is_taken_only_where_asked_for(monkeypatch):
    from ybar.neural import settings

    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert settings.device("auto").type == "cpu"
    assert settings.device("mps").type == "mps"
