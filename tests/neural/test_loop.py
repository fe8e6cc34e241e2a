"""The loop against the plainest one there is."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from neural_helpers import CPU, log_of, module_of, net, small_cnn
from ybar.neural import fitting, methods, population
from ybar.neural.data import Rows
from ybar.neural.loop import Recipe, Stack, batches, computing, train
from ybar.neural.networks import Dense, Module
from ybar.neural.objective import Run


def plain_loop(module, X, samples, method, T, rate, recipe, seed):
    """Return the weights after the loop that everybody knows."""
    log_T = torch.tensor(log_of(T)).float()
    adam = torch.optim.Adam(module.parameters(), lr=rate, weight_decay=recipe.weight_decay)
    generator = np.random.default_rng(seed)
    X, y_comp = torch.tensor(X).float(), torch.from_numpy(samples.y_comp)
    weight = None if samples.weight is None else torch.from_numpy(samples.weight).float()
    for _ in range(recipe.max_epochs):
        order = generator.permutation(len(samples.rows))
        for first in range(0, len(order), recipe.batch_size):
            at = order[first : first + recipe.batch_size]
            rows = method.loss(module(X[samples.rows[at]]), y_comp[at], log_T)
            loss = (rows if weight is None else rows * weight[at]).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    return [p.detach().numpy() for p in module.parameters()]


@pytest.mark.parametrize("sizes", [(64, 10), (64, 20, 10), (64, 20, 15, 10)])
@pytest.mark.parametrize("method", ["cpe-f", "scl-nl", "dm", "ure", "cpe-i"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loop_takes_the_steps_of_the_plain_one(sizes, method, weighted, job):
    X, training, _, T, _ = job
    if weighted:
        weight = np.random.default_rng(0).uniform(0.5, 1.5, len(training.rows))
        training = training._replace(weight=weight / weight.mean())
    recipe = Recipe(max_epochs=3, batch_size=110, weight_decay=1e-2)  # the last batch is smaller
    dense, run = Dense(sizes, [7]), Run(methods.METHODS[method], 0.003)
    module = module_of(dense)
    stack = Stack(dense, [run], log_of(T), recipe)
    for _ in train(
        stack, Rows(X, CPU), training, recipe, np.random.default_rng(3), threading.Event()
    ):
        pass
    expected = plain_loop(module, X, training, run.method, T, 0.003, recipe, 3)
    for ours, theirs in zip(dense.weights(0), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-5)


class Counting(torch.nn.Linear):
    """A linear model that counts its batches, as batch normalisation keeps what it has seen."""

    def __init__(self):
        super().__init__(64, 10)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.seen += 1
        return super().forward(x)


def test_the_mean_of_the_weights_has_the_mean_of_what_belongs_to_them(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=2, batch_size=50, weight_averaging=0.9)
    model = Module(Counting, 0, CPU)
    stack = Stack(model, [Run(methods.METHODS["cpe-f"])], log_of(T), recipe)
    mean, n = 0.0, 0
    generator = np.random.default_rng(3)
    for epoch in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
        for _ in range(epoch.batches):
            n += 1
            mean += (1 - min(0.9, n / (n + 10))) * (n - mean)
        assert model.module.seen.item() == pytest.approx(mean, rel=1e-4)
    assert model.module.seen.item() == n


def test_a_module_goes_the_way_of_the_dense_network_that_it_is(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=3, batch_size=110, weight_decay=1e-2, weight_averaging=0.9)
    dense = Dense((64, 20, 10), [7])
    first = dense.weights(0)
    module = Module(lambda: module_of(dense), 0, CPU)
    for model in (dense, module):
        model.set_weights(0, first)
        stack = Stack(model, [Run(methods.METHODS["cpe-f"])], log_of(T), recipe)
        for _ in train(
            stack, Rows(X, CPU), training, recipe, np.random.default_rng(3), threading.Event()
        ):
            kept = model.weights(0)
        if model is dense:
            expected = kept
    for ours, theirs in zip(kept, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def is_subnormal(x):
    return (x != 0) & (np.abs(x) < np.finfo(np.float32).tiny)


def half_of_the_least_normal_number():
    return (torch.tensor(np.finfo(np.float32).tiny) * 0.5).item()


@pytest.mark.parametrize("before", [False, True])
def test_subnormal_numbers_are_taken_for_0_inside_only_and_in_this_thread_only(before):
    with ThreadPoolExecutor(1) as other:
        assert other.submit(half_of_the_least_normal_number).result() > 0  # it runs by now
        try:
            torch.set_flush_denormal(before)
            with computing():
                assert half_of_the_least_normal_number() == 0
                assert other.submit(half_of_the_least_normal_number).result() > 0
            assert (half_of_the_least_normal_number() == 0) == before
            with pytest.raises(ValueError, match="inside"), computing():
                raise ValueError("inside")
            assert (half_of_the_least_normal_number() == 0) == before
        finally:
            torch.set_flush_denormal(False)


@pytest.mark.parametrize("sizes", [(64, 10), (64, 2000, 10)])
@pytest.mark.parametrize("kind", ["dense", "module"])
@pytest.mark.parametrize(
    ("n_jobs", "n_threads", "averaging"), [(1, 1, 0.0), (1, 1, 0.9), (2, 1, 0.0), (1, 2, 0.9)]
)
def test_no_weight_becomes_subnormal(sizes, kind, n_jobs, n_threads, averaging, job, monkeypatch):
    """Weights of features that are always 0 only decay, and would shrink for ever.

    The wide network is trained by all threads of torch. They flush subnormal numbers only if they
    are started by a thread that does, so other threads of torch are started first.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.ones(1_000_000).add_(1)
    torch.set_num_threads(before)
    _, training, held_out, T, _ = job
    X = job[0].copy()
    X[:, :20] = 0
    recipe = Recipe(2, 400, 1e-4, averaging, n_threads=n_threads)

    dense = Dense(sizes, [0])
    weights = dense.weights(0)
    weights[0][:, :20] *= 1e-36  # what many epochs of decay would leave
    network = (lambda: module_of(dense)) if kind == "module" else None

    def weights_after_training():
        records = fitting.fit_runs(
            [Run(methods.METHODS["cpe-f"], 1e-12)] * n_jobs,
            population.Data(X, training, held_out, T),
            fitting.Architecture(sizes, network),
            recipe,
            population.Selection("last"),
            order_seed=2,
            mask_seed=5,
            n_jobs=n_jobs,
            start=fitting.Start(weights, None),
        )
        return [array for record in records for array in record.weights]

    assert not any(is_subnormal(array).any() for array in weights_after_training())
    monkeypatch.setattr(torch, "set_flush_denormal", lambda _: False)
    assert any(is_subnormal(array).any() for array in weights_after_training())


def test_a_single_row_at_the_end_joins_the_batch_before(strong):
    X, y_comp, _, _, T = strong
    n = len(X) - -(-len(X) // 10)
    clf = net(network=small_cnn, transition=T, max_epochs=1, batch_size=n - 1)
    assert n % clf.batch_size == 1
    clf.fit(X.reshape(-1, 8, 8), y_comp)
    assert [(s.start, s.stop) for s in batches(7, 3)] == [(0, 3), (3, 7)]
    assert [(s.start, s.stop) for s in batches(6, 3)] == [(0, 3), (3, 6)]
    assert [(s.start, s.stop) for s in batches(1, 3)] == [(0, 1)]
