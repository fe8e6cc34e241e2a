"""Methods that train the same network, and what their losses estimate."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neural_helpers import (
    CPU,
    KINDS,
    each_kind,
    each_size,
    grown,
    log_of,
    loss_of,
    matrix,
    random_batch,
    softmax,
)
from ybar import (
    labels,
    transition,
)
from ybar.neural import methods
from ybar.neural.data import Rows
from ybar.neural.loop import Recipe, Stack, train
from ybar.neural.networks import Dense
from ybar.neural.objective import Run
from ybar.neural.samples import Samples


@pytest.mark.parametrize("K", [2, 3, 10, 50])
def test_under_uniform_T_scl_nl_is_fwd_less_a_constant(K):
    T = matrix("uniform", K)
    g, y_comp = random_batch(K, rows=200, scale=5.0)
    z = torch.from_numpy(g).requires_grad_()
    found = [loss_of(name, z, y_comp, T) for name in ("scl-nl", "fwd")]
    slopes = [torch.autograd.grad(loss.sum(), z)[0] for loss in found]
    scl, fwd = (loss.detach() for loss in found)
    np.testing.assert_allclose(scl, fwd - math.log(K - 1), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=0, atol=1e-11)
    assert slopes[0].abs().max() > 0.1


def trained(*names, kind="uniform", K=4, rows=300, epochs=20):
    """Return each run's weights after training on small random data, all from one seed."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, K, rows)
    X = (rng.normal(size=(K, 6))[y] + rng.normal(size=(rows, 6))).astype(np.float32)
    T = matrix(kind, K)
    samples = Samples(np.arange(rows), labels.draw(y, T, random_state=0))
    recipe = Recipe(max_epochs=epochs, batch_size=32, weight_decay=1e-4)
    runs = [Run(methods.METHODS[name], learning_rate=1e-3) for name in names]
    stack = Stack(Dense([6, 16, K], [0] * len(runs), seed=0), runs, log_of(T), recipe)
    generator, stop = np.random.default_rng(8), threading.Event()
    before = stack.model.weights(0)
    seen = list(train(stack, Rows(X, CPU), samples, recipe, generator, stop))
    assert [epoch.epoch for epoch in seen] == list(range(1, epochs + 1))
    assert not seen[-1].failed
    after = [np.concatenate([w.ravel() for w in stack.model.weights(i)]) for i in range(len(runs))]
    return after, np.concatenate([w.ravel() for w in before])


def test_under_uniform_T_scl_nl_and_fwd_train_the_same_network():
    ([fwd], first), ([scl], _), ([dm], _) = (trained(name) for name in ("fwd", "scl-nl", "dm"))
    np.testing.assert_allclose(scl, fwd, rtol=1e-4, atol=1e-5)
    assert np.abs(fwd - first).max() > 0.1
    assert np.abs(dm - fwd).max() > 0.02


def test_under_another_T_scl_nl_and_fwd_do_not_train_the_same_network():
    ([fwd], _), ([scl], _) = (trained(name, kind="strong") for name in ("fwd", "scl-nl"))
    assert np.abs(scl - fwd).max() > 0.02


@pytest.mark.parametrize("kind", ["uniform", "strong"])
def test_fwd_and_cpe_f_train_the_same_network_to_the_last_bit(kind):
    ([fwd], _), ([cpe], _), (both, _) = (
        trained(*names, kind=kind) for names in (["fwd"], ["cpe-f"], ["fwd", "cpe-f"])
    )
    assert np.array_equal(fwd, cpe)
    assert np.array_equal(*both)
    ([dm], _) = trained("dm", kind=kind)
    assert np.abs(dm - fwd).max() > 0.02


@each_kind
@each_size
@pytest.mark.parametrize("level", [0.0, 0.3])
def test_ure_is_the_ordinary_loss_in_expectation(kind, K, level):
    T = transition.with_uniform_noise(matrix(kind, K, seed=3), level)
    g, y = random_batch(K)
    every = [loss_of("ure", g, np.full(len(g), c), T).numpy() for c in range(K)]
    for i, label in enumerate(y):
        expected = sum(T[label, c] * every[c][i] for c in range(K))
        assert expected == pytest.approx(-math.log(softmax(g[i])[label]), rel=1e-8, abs=1e-8)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    K=st.integers(3, 10),
    name=st.sampled_from(["fwd", "cpe-f"]),
    sure=st.booleans(),
    size=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_fwd_is_smallest_in_expectation_at_the_true_p(seed, kind, K, name, sure, size):
    rng = np.random.default_rng(seed)
    T = matrix(kind, K, seed)
    log_p = 100.0 * np.eye(K)[rng.integers(K)] if sure else 2 * rng.normal(size=K)
    other = np.where(log_p == 100, 0, log_p) + size * rng.normal(size=K)
    q = [sum(T[y, c] * p for y, p in enumerate(softmax(log_p))) for c in range(K)]

    def expected(logits):
        each = [loss_of(name, logits[None], [c], T).item() for c in range(K)]
        return sum(a * b for a, b in zip(q, each, strict=True))

    entropy = -sum(v * math.log(v) for v in q if v > 0)
    assert expected(log_p) == pytest.approx(entropy, rel=1e-9)
    assert expected(other) > entropy + 1e-9 * size**2
    assert expected(log_p + 3) == pytest.approx(entropy, rel=1e-9)


def test_uniform_T_makes_scl_and_forward_one_training(digits):
    T = transition.uniform(10)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    rows = np.arange(len(y_comp))
    job = (digits.X_train, Samples(rows, y_comp), Samples(rows[:200], y_comp[:200]), T, None)
    recipe = Recipe(max_epochs=25, batch_size=100, weight_decay=1e-4)
    fwd, scl, cpe = (
        grown(job, [Run(methods.METHODS[name], 0.003)], recipe=recipe)[0]
        for name in ("fwd", "scl-nl", "cpe-f")
    )
    assert all(map(np.array_equal, fwd.weights, cpe.weights))
    for a, b in zip(fwd.weights, scl.weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=2e-4)
    gaps = np.array(fwd.history["loss"]) - np.array(scl.history["loss"])
    np.testing.assert_allclose(gaps, np.log(9), rtol=1e-5)
