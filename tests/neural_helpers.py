"""What the tests of the networks share."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ybar import (
    ComplementaryNetClassifier,
    labels,
    transition,
)
from ybar.metrics.likelihood import log_softmax
from ybar.neural import fitting, methods, population
from ybar.neural.loop import Recipe
from ybar.neural.objective import Objective
from ybar.neural.transition_layer import PARAMETRISATIONS, TransitionLayer

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


NAMES = [
    "ure",
    "ure-nn",
    "ure-ga",
    "fwd",
    "scl-nl",
    "scl-exp",
    "dm",
    "dm-unweighted",
    "cpe-i",
    "cpe-f",
    "cpe-t",
    "cpe-n",
    "op",
    "op-w",
    "mcl-log",
    "mcl-exp",
    "mcl-mae",
    "proden",
    "pc",
    "scarce",
]


CORRECTED = ["ure-nn", "ure-ga"]


WHOLE_BATCH = [*CORRECTED, "scarce"]


LEARNING = ["cpe-t", "cpe-n"]


KINDS = ["uniform", "weak", "strong"]


each_name = pytest.mark.parametrize("name", NAMES)


each_kind = pytest.mark.parametrize("kind", KINDS)


each_size = pytest.mark.parametrize("K", [3, 10])


def random_batch(K, rows=30, seed=0, scale=2.0):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(rows, K)), rng.integers(0, K, rows)


def calm_batch(T, rows=400, seed=0):
    """Return logits of no opinion, and as many ȳ of each kind as T gives: no R_k is negative."""
    rng = np.random.default_rng(seed)
    y_comp = np.repeat(np.arange(len(T)), np.rint(rows * T.mean(axis=0)).astype(int))
    return 0.01 * rng.normal(size=(len(y_comp), len(T))), y_comp


def torn_batch(T, rows=30):
    """Return a batch of which some R_k is negative, and some is not."""
    for seed in range(1000):
        g, y_comp = random_batch(len(T), rows, seed)
        R = class_risks(g, y_comp, T)
        if min(R) < -0.1 and max(R) > 0.1 and min(map(abs, R)) > 0.01:
            return g, y_comp
    raise AssertionError("no such batch")


def start(name, T, dtype=torch.float64):
    """Return what the method learns of T, as it begins; None if it learns nothing."""
    learns = methods.METHODS[name].learns
    if learns is None:
        return None
    return torch.tensor(PARAMETRISATIONS[learns].start(log_of(T)), dtype=dtype)


def log_transition(name, T, learned, dtype=torch.float64):
    log_T = torch.tensor(log_of(T), dtype=dtype)
    learns = methods.METHODS[name].learns
    return log_T if learns is None else PARAMETRISATIONS[learns].log_matrix(learned, log_T)


def loss_of(name, g, y_comp, T, *weight, learned=None):
    g = torch.as_tensor(g)
    if learned is None:
        learned = start(name, T, g.dtype)
    log_T = log_transition(name, T, learned, g.dtype)
    y_comp = as_read(name, torch.as_tensor(y_comp), len(T))
    return methods.METHODS[name].loss(g, y_comp, log_T, *weight)


def as_read(name, y_comp, K):
    """Return the labels in the form that the method reads."""
    joint = methods.METHODS[name].joint_labels
    return torch.nn.functional.one_hot(y_comp, K).bool() if joint else y_comp


def softmax(z):
    e = [math.exp(v - max(z)) for v in z]
    return [v / sum(e) for v in e]


def ure(p, y_comp, T):
    inverse = np.linalg.inv(T)
    return sum(inverse[y_comp, k] * -math.log(p[k]) for k in range(len(p)))


def forward(p, y_comp, T):
    return -math.log(sum(T[y][y_comp] * p[y] for y in range(len(p))))


def dm(p, y_comp, weighted):
    s = softmax([1 - v for v in p])
    share = (1 - p[y_comp]) / (len(p) - 1) if weighted else 0
    return -math.log(s[y_comp]) - share * math.log(s[y_comp])


def op_w(p, y_comp, T):
    s = [1 / v / sum(1 / u for u in p) for v in p]  # softmax(-g), of p = softmax(g)
    inverse = [1 / v + 1 for v in s]
    return -softmax(inverse)[y_comp] * p[y_comp] * math.log(s[y_comp])


def allowed(p, ruled_out):
    return [v for k, v in enumerate(p) if k not in ruled_out]


def mcl(p, ruled_out, loss):
    return 2 * (len(p) - 1) / len(ruled_out) * loss(sum(allowed(p, ruled_out)))


def proden(p, ruled_out):
    total = sum(allowed(p, ruled_out))
    return -sum(v / total * math.log(v) for v in allowed(p, ruled_out))


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


SETS = {
    "mcl-log": lambda p, c: mcl(p, c, lambda t: -math.log(t)),
    "mcl-exp": lambda p, c: mcl(p, c, lambda t: math.exp(-t)),
    "mcl-mae": lambda p, c: mcl(p, c, lambda t: 1 - t),
    "proden": proden,
}


def scarce(g, ruled_out, weight=None, priors=None):
    """The negative-unlabelled risk of a batch, class by class and row by row."""
    K, rows = len(g[0]), range(len(g))
    weight = np.ones(len(g)) if weight is None else weight
    priors = [1 / K] * K if priors is None else priors
    risk = 0.0
    for k in range(K):
        named = [i for i in rows if k in ruled_out[i]]
        mass = sum(weight[i] for i in named) or 1.0
        of_negative = sum(weight[i] * -math.log(sigmoid(-g[i][k])) for i in named) / mass
        as_positive = sum(weight[i] * -math.log(sigmoid(g[i][k])) for i in named) / mass
        of_all = sum(weight[i] * -math.log(sigmoid(g[i][k])) for i in rows) / sum(weight)
        risk += (1 - priors[k]) * of_negative + abs(of_all - (1 - priors[k]) * as_positive)
    return risk


BY_ROW = {
    "op": lambda p, c, T: -math.log(1 / p[c] / sum(1 / v for v in p)),
    "op-w": op_w,
    "pc": lambda p, c, T: sum(p[c] / (p[c] + v) for k, v in enumerate(p) if k != c),
    **{name: lambda p, c, T, loss=loss: loss(p, {c}) for name, loss in SETS.items()},
    "ure": ure,
    "fwd": forward,
    "scl-nl": lambda p, c, T: -math.log(1 - p[c]),
    "scl-exp": lambda p, c, T: math.exp(p[c]),
    "dm": lambda p, c, T: dm(p, c, weighted=True),
    "dm-unweighted": lambda p, c, T: dm(p, c, weighted=False),
    "cpe-i": lambda p, c, T: -math.log(p[c]),
    "cpe-f": forward,
    "cpe-t": forward,
    "cpe-n": forward,
}


def class_risks(g, y_comp, T, weight=None):
    """R_k = Σ_j π̄_j (T⁻¹)[j, k] · mean over {ȳ = j} of ℓ(p, k), weights counting as rows."""
    K, rows, inverse = len(T), len(g), np.linalg.inv(T)
    weight = np.ones(rows) if weight is None else weight
    p = [softmax(z) for z in g]
    R = [0.0] * K
    for j in range(K):
        mine = [i for i in range(rows) if y_comp[i] == j]
        mass = sum(weight[i] for i in mine)
        for k in range(K):
            if mine:
                mean = sum(weight[i] * -math.log(p[i][k]) for i in mine) / mass
                R[k] += mass / rows * inverse[j, k] * mean
    return R


def reference(name, g, y_comp, T, weight=None):
    """Return the loss of each row, or of the batch for the methods that have one for it all."""
    if name not in WHOLE_BATCH:
        return [BY_ROW[name](softmax(z), c, T) for z, c in zip(g, y_comp, strict=True)]
    if name == "scarce":
        return scarce(g, [{c} for c in y_comp], weight)
    R = class_risks(g, y_comp, T, weight)
    if name == "ure-nn":
        return sum(max(0.0, r) for r in R)
    return -sum(min(0.0, r) for r in R) if min(R) < 0 else sum(R)


def learned_matrix(name, values, T):
    """Return T(W) or T(λ) from the parameters it is learned in."""
    K = len(T)
    if name == "cpe-t":
        return np.array([softmax(row) for row in values])
    share = 1 / (1 + math.exp(-values[0]))
    return np.array([[(1 - share) * T[y, k] + share / K for k in range(K)] for y in range(K)])


def mean_reference(name, g, y_comp, T, weight=None):
    if name in LEARNING:
        T = learned_matrix(name, start(name, T).numpy(), T)
    rows = reference(name, g, y_comp, T, weight)
    return rows if name in WHOLE_BATCH else np.average(rows, weights=weight)


def grown(
    job, runs, sizes=(64, 20, 10), recipe=None, selection=None, n_jobs=1, watched=(), **dropout
):
    X, training, held_out, T, _ = job
    return fitting.fit_runs(
        runs,
        population.Data(X, training, held_out, T, watched),
        fitting.Architecture(sizes, **dropout),
        recipe or Recipe(max_epochs=6, batch_size=100, weight_decay=1e-4),
        selection or population.Selection("last"),
        order_seed=2,
        mask_seed=5,
        n_jobs=n_jobs,
    )


def strayed(seed=0, n=20_000, K=5):
    """Return logits, a T, labels that come from another one, and that one."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 3
    p = np.exp(log_softmax(logits))
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    T = transition.strong(K, random_state=seed)
    true = 0.8 * T + 0.2 * np.roll(np.eye(K), 1, axis=1) * [1, 0, 1, 0, 1]
    true[:, 0] += 1 - true.sum(axis=1)
    return logits, T, labels.draw(y, true, rng), true


QUICK = {"hidden_layer_sizes": (50,), "max_epochs": 8, "learning_rate": 0.01, "random_state": 0}


def net(**params):
    return ComplementaryNetClassifier(**{**QUICK, **params})


def weights(clf):
    return [*clf.coefs_, *clf.intercepts_]


def same_bits(a, b):
    return all(np.array_equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))


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


def linear_net(**params):
    defaults = {"hidden_layer_sizes": (), "max_epochs": 30, "random_state": 0, "dropout": 0}
    return ComplementaryNetClassifier(**{**defaults, "learning_rate": 1e-2, **params})
