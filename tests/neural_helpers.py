"""What the tests of the networks share."""

from __future__ import annotations

import numpy as np
import torch

from ybar import transition
from ybar.neural.objective import Objective
from ybar.neural.transition_layer import TransitionLayer

CPU = torch.device("cpu")


def log_of(T):
    with np.errstate(divide="ignore"):
        return np.log(T)


def objective_of(runs, T):
    return Objective(runs, TransitionLayer(runs, log_of(T), CPU))


def evaluated(objective, logits, y_comp, weight):
    """Return each run's mean loss over the batch and its gradient."""
    gradient = objective(logits, y_comp, weight) / len(y_comp)
    (sums,) = objective.pop_losses()
    return torch.tensor(sums / len(y_comp)), gradient


def matrix(kind, K, seed=0):
    if kind == "cyclic":  # even classes have one complementary label, odd ones two
        T = np.zeros((K, K))
        for y in range(K):
            T[y, (y + 1) % K] += 1 - 0.5 * (y % 2)
            T[y, (y + 2) % K] += 0.5 * (y % 2)
        return T
    return transition.uniform(K) if kind == "uniform" else getattr(transition, kind)(K, seed)


def module_of(dense, run=0):
    """Return torch's own layers with the weights of a run."""
    layers = []
    arrays = dense.weights(run)
    for weight, bias in zip(arrays[::2], arrays[1::2], strict=True):
        linear = torch.nn.Linear(*weight.shape[::-1])
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight))
            linear.bias.copy_(torch.from_numpy(bias))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])
