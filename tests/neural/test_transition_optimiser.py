"""How the T of cpe-t is trained: by an optimiser of its own, or as the weights are."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from neural_helpers import CPU, log_of
from ybar import labels, transition
from ybar.neural import methods
from ybar.neural.data import Rows
from ybar.neural.loop import Recipe, Stack, train
from ybar.neural.networks import Dense
from ybar.neural.objective import Run
from ybar.neural.samples import Samples


def trained(recipe, on_step):
    """Train cpe-t and call `on_step` with the parameters of T before each step, and after it."""
    rng = np.random.default_rng(0)
    X, T = rng.random((300, 6)).astype(np.float32), transition.strong(10, 0)
    training = Samples(np.arange(300), labels.draw(rng.integers(0, 10, 300), T, random_state=1))
    stack = Stack(Dense((6, 10), [7]), [Run(methods.METHODS["cpe-t"], 1e-3)], log_of(T), recipe)
    (parameters,) = stack.transition.parameters
    step = stack.step

    def watched():
        before, gradient = parameters.clone(), parameters.grad.clone()
        step()
        on_step(before, gradient, parameters)

    stack.step = watched
    generator = np.random.default_rng(3)
    for _ in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
        pass


@pytest.mark.parametrize(
    ("as_weights", "settings"),
    [(True, {"weight_decay": 1e-4}), (False, {"weight_decay": 0.0, "eps": 1e-16})],
)
def test_t_moves_as_torch_s_adam_moves_it(as_weights, settings):
    recipe = Recipe(4, 50, weight_decay=1e-4, transition_as_weights=as_weights)
    reference, n_steps = None, 0

    def compare(before, gradient, after):
        nonlocal reference, n_steps
        if reference is None:
            parameter = before.clone().requires_grad_()
            reference = torch.optim.Adam([parameter], lr=1e-3, fused=True, **settings)
        (parameter,) = reference.param_groups[0]["params"]
        assert torch.equal(parameter, before)
        parameter.grad = gradient
        reference.step()
        assert torch.equal(parameter, after)
        n_steps += 1

    trained(recipe, compare)
    assert n_steps == 24


def test_the_two_ways_differ():
    ends = []
    for as_weights in (True, False):
        recipe = Recipe(4, 50, weight_decay=1e-4, transition_as_weights=as_weights)
        trained(recipe, lambda _, __, after: ends.append(after.clone()))
    assert not torch.equal(ends[23], ends[-1])
