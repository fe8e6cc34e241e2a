"""T as it is learned with the weights."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from neural_helpers import (
    CPU,
    LEARNING,
    each_kind,
    each_size,
    learned_matrix,
    log_of,
    log_transition,
    loss_of,
    matrix,
    objective_of,
    start,
)
from ybar import (
    labels,
    transition,
)
from ybar.experiments.runs import networks
from ybar.labels.patterns import Patterns
from ybar.neural import fitting, methods, population, transition_layer
from ybar.neural.data import Rows
from ybar.neural.loop import Recipe, Stack, train
from ybar.neural.methods import likelihoods
from ybar.neural.networks import Dense
from ybar.neural.objective import Run
from ybar.neural.optimiser import Adam
from ybar.neural.samples import Samples

K = 5


@each_kind
@each_size
def test_a_learned_transition_starts_at_the_given_one(kind, K):
    T = matrix(kind, K)
    free = log_transition("cpe-t", T, start("cpe-t", T)).exp().numpy()
    np.testing.assert_allclose(free, T, rtol=0, atol=2 * transition_layer.SMALLEST_ENTRY)
    assert (free > 0).all()
    noisy = log_transition("cpe-n", T, start("cpe-n", T)).exp().numpy()
    level = transition_layer.FIRST_NOISE
    np.testing.assert_allclose(noisy, (1 - level) * T + level / K, rtol=1e-12)
    assert 0 < level < 1
    runs = [Run(methods.METHODS[name]) for name in ("cpe-n", "fwd", "cpe-t")]
    objective = objective_of(runs, T)
    for run, expected in enumerate((noisy, T, free)):
        np.testing.assert_allclose(objective.transition.matrix(run), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("kind", ["uniform", "strong", "cyclic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_at_a_learned_transition_is_that_of_autograd(name, kind, weighted):
    K, runs, rows = 5, 2, 30
    T = matrix(kind, K)
    method = methods.METHODS[name]
    generator = torch.Generator().manual_seed(0)
    g = torch.randn(runs, rows, K, generator=generator)
    y_comp = torch.randint(K, (rows,), generator=generator)
    weight = torch.rand(rows, generator=generator) if weighted else None
    objective = objective_of([Run(method)] * runs, T)
    for own in objective.transition.parameters:
        own += torch.randn(own.shape, generator=generator)
    objective(g, y_comp, weight)
    for run in range(runs):
        own = objective.transition.parameters[run].double().requires_grad_()
        loss = likelihoods.forward(g[run].double(), y_comp, log_transition(name, T, own))
        (loss if weight is None else loss * weight).mean().backward()
        assert own.grad.abs().max() > 1e-4
        np.testing.assert_allclose(
            objective.transition.parameters[run].grad, own.grad, rtol=2e-4, atol=1e-7
        )


@pytest.mark.parametrize("name", LEARNING)
def test_parameters_of_a_transition_stack(name):
    T = matrix("weak", 4)
    one = start(name, T)
    several = torch.stack([one, one + 0.5, one - torch.arange(one.numel()).view_as(one) / 7])
    together = log_transition(name, T, several)
    assert together.shape == (3, 4, 4)
    for run in range(3):
        expected = learned_matrix(name, several[run].numpy(), T)
        np.testing.assert_allclose(together[run].exp(), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "diagonal"), [("cpe-t", 0.3), ("cpe-n", 0.15)])
def test_an_entry_of_T_that_starts_at_zero_can_be_learned(name, diagonal):
    K, rows = 5, 1000
    T = transition.uniform(K)
    true = (1 - diagonal) * T + diagonal * np.eye(K)
    y = np.arange(rows) % K
    y_comp = torch.from_numpy(labels.draw(y, true, random_state=0))
    logits = torch.tensor(20.0 * np.eye(K)[y], dtype=torch.float32)
    learned = start(name, T, torch.float32).requires_grad_()
    adam = Adam([learned], 0.1)
    slopes = []
    for _ in range(300):
        loss = loss_of(name, logits, y_comp, T, learned=learned).mean()
        (learned.grad,) = torch.autograd.grad(loss, learned)
        slopes.append(learned.grad)
        adam.step()
    at_start = slopes[0]
    assert at_start.isfinite().all()
    pull = at_start.diag() if name == "cpe-t" else at_start
    assert (pull < -0.01).all()
    found = log_transition(name, T, learned.detach(), torch.float32).exp().numpy()
    seen = [np.mean(y_comp.numpy()[y == k] == k) for k in range(K)]
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert (np.diag(found) > 2 / 3 * diagonal).all()
    expected = seen if name == "cpe-t" else np.full(K, np.mean(seen))
    np.testing.assert_allclose(np.diag(found), expected, atol=0.01)


def test_a_noise_level_that_is_given_is_moved_by_nothing_else(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=4, batch_size=20, weight_averaging=0.9)
    runs = [Run(methods.METHODS["cpe-n"], rate) for rate in (0.01, 0.01)]
    stack = Stack(Dense((64, 10), [0, 1]), runs, log_of(T), recipe)
    generator, given = np.random.default_rng(3), None
    for epoch in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
        for run, level in enumerate((0.3, 0.6)):
            expected = transition.with_uniform_noise(T, level)
            if given is not None:
                np.testing.assert_allclose(stack.transition.matrix(run), expected, atol=1e-6)
            elif epoch.epoch == 2:
                assert np.abs(stack.transition.matrix(run) - expected).max() > 0.01
                stack.fix_transition(run, np.array([np.log(level / (1 - level))]))
        given = True if epoch.epoch >= 2 else None


def test_a_T_that_is_given_to_one_run_leaves_the_others_to_learn_theirs(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=3, batch_size=20, weight_averaging=0.9)
    runs = [Run(methods.METHODS["cpe-t"], 0.01, trust=trust) for trust in (0, 100)]
    given = transition.with_uniform_noise(T, 0.4)
    found = []
    for both in (False, True):
        stack = Stack(Dense((64, 10), [0, 0]), runs, log_of(T), recipe)
        if both:
            stack.fix_transition(1, np.log(given))
        generator = np.random.default_rng(3)
        for _ in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
            found.append([stack.transition.matrix(run) for run in (0, 1)])
    np.testing.assert_allclose(found[-1][1], given, atol=1e-6)
    assert np.abs(found[-1][0] - T).max() > 0.01
    np.testing.assert_allclose(found[-1][0], found[2][0], atol=1e-5)


def test_trust_in_T_is_worth_so_many_labels_of_each_class():
    T = transition.strong(K, random_state=0)
    method = methods.find("cpe-t")
    runs = [Run(method, trust=trust) for trust in (0.0, 30.0)]
    objective = objective_of(runs, T)
    rng = np.random.default_rng(0)
    k = torch.from_numpy(rng.integers(K, size=64))
    logits = torch.from_numpy(rng.normal(size=(2, 64, K))).float()
    logits[1] = logits[0]
    objective.observe(k, None, None)
    first = objective.transition.parameters[1].softmax(-1).clone()
    with torch.no_grad():
        for own in objective.transition.parameters:
            own += torch.from_numpy(np.random.default_rng(1).normal(size=(K, K))).float()
    objective(logits, k, None)
    W = objective.transition.parameters[1].clone().requires_grad_()
    divergence = (first * (first.log() - W.log_softmax(-1))).sum()
    (expected,) = torch.autograd.grad(30 / 64 * divergence, W)
    added = objective.transition.parameters[1].grad - objective.transition.parameters[0].grad
    np.testing.assert_allclose(added, expected, atol=1e-6)


def test_noise_is_found_from_all_labels_of_a_row_together():
    rng = np.random.default_rng(0)
    n, n_classes = 1500, 10
    y = rng.integers(n_classes, size=n)
    X = (np.eye(n_classes)[y] + rng.normal(0, 0.5, (n, n_classes))).astype(np.float32)
    T = transition.strong(n_classes, random_state=0)
    first, second = (labels.draw(y, transition.with_uniform_noise(T, 0.3), rng) for _ in range(2))
    X, first, second = (array[first != second] for array in (X, first, second))
    mask = np.eye(n_classes, dtype=bool)[first] | np.eye(n_classes, dtype=bool)[second]
    rows, held_out = np.arange(len(X)), np.arange(len(X))[::5]
    sets, code = np.unique(mask, axis=0, return_inverse=True)
    patterns = Patterns(np.zeros(sets.shape), sets.astype(float))
    training = Samples(rows, code.reshape(-1), None, patterns)
    together = Samples(held_out, code.reshape(-1)[held_out], None, patterns)
    row, k = np.nonzero(mask[held_out])
    run = Run(methods.METHODS["cpe-n"], 0.01)

    def found(validation, jointly):
        (record,) = fitting.fit_runs(
            [run],
            population.Data(X, training, validation, T, jointly=jointly),
            fitting.Architecture((n_classes, n_classes)),
            Recipe(max_epochs=10),
            population.Selection("last"),
            order_seed=0,
            mask_seed=0,
        )
        return record.learned.noise_level, record.history["scel"][-1]

    one_by_one = Samples(held_out[row], k)
    noise, scel = found(one_by_one, together)
    assert noise == pytest.approx(found(together, None)[0], abs=1e-6)
    assert noise != pytest.approx(found(one_by_one, None)[0], abs=1e-3)
    assert scel < np.log(n_classes) + 0.1  # of a label still, not of a row


def test_epochs_that_had_another_T_are_not_among_the_best(digits):
    """T is found after half of so few steps; until then SCEL is that of the T it started from."""
    T = transition.strong(10, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.5)
    y_comp = labels.draw(digits.y_train, noisy, random_state=0)
    rows = np.arange(len(y_comp))
    (record,) = fitting.fit_runs(
        [Run(methods.find("cpe-n"), 1e-3)],
        population.Data(
            digits.X_train,
            Samples(rows[300:], y_comp[300:]),
            Samples(rows[:300], y_comp[:300]),
            T,
        ),
        fitting.Architecture([64, 10]),
        Recipe(6, 100, 0.0, 0.0),
        population.Selection("best"),
        order_seed=0,
        mask_seed=0,
    )
    assert record.comparable_from == 3  # epochs 1 and 2 end before half of the steps
    assert record.kept_epoch >= 3
    curves = {"scel": np.array([1.0, 1.1, 3.0, 2.0, 2.5])}
    assert networks.scores(curves, 3)["best-scel.epoch"] == 4
    assert networks.scores(curves)["best-scel.epoch"] == 1
    assert networks.scores(curves, 9)["best-scel.epoch"] == 5  # all that there is
