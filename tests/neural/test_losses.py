"""Every method's loss: its formula by plain loops, its gradient, its extremes and equivalences."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neural_helpers import CPU, evaluated, log_of, matrix, objective_of
from ybar import labels, transition
from ybar.neural import methods, transition_layer
from ybar.neural.data import Rows
from ybar.neural.loop import Recipe, Stack, train
from ybar.neural.methods import likelihoods, risks
from ybar.neural.networks import Dense
from ybar.neural.objective import Run, balanced
from ybar.neural.optimiser import Adam
from ybar.neural.samples import Samples
from ybar.neural.transition_layer import PARAMETRISATIONS

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
]
WHOLE_BATCH = ["ure-nn", "ure-ga"]
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
    return methods.METHODS[name].loss(g, torch.as_tensor(y_comp), log_T, *weight)


# --- the formulas, by loops ----------------------------------------------------------------------


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


BY_ROW = {
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


def test_the_methods_are_the_twelve_of_the_design():
    assert set(methods.METHODS) == set(NAMES)


@each_name
def test_what_a_method_estimates_and_how_it_decodes(name):
    method = methods.METHODS[name]
    assert method.estimates == ("q" if name == "cpe-i" else "p")
    assert method.decoder == ("l1" if name in ("cpe-i", "cpe-f", "cpe-t") else "max")
    assert (method.learns is not None) == (name in LEARNING)
    assert method.whole_batch == (name in WHOLE_BATCH)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WHOLE_BATCH + LEARNING])
@each_kind
@each_size
def test_each_loss_is_its_formula(name, kind, K):
    T = matrix(kind, K)
    g, y_comp = random_batch(K)
    found = loss_of(name, g, y_comp, T)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found, reference(name, g, y_comp, T), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("moved", [0.0, 0.7])
@each_kind
@each_size
def test_each_loss_with_a_learned_transition_is_its_formula(name, moved, kind, K):
    T = matrix(kind, K)
    g, y_comp = random_batch(K)
    learned = start(name, T)
    learned += moved * torch.from_numpy(np.random.default_rng(1).normal(size=learned.shape))
    its_T = learned_matrix(name, learned.numpy(), T)
    np.testing.assert_allclose(log_transition(name, T, learned).exp(), its_T, rtol=1e-12)
    found = loss_of(name, g, y_comp, T, learned=learned)
    np.testing.assert_allclose(found, reference(name, g, y_comp, its_T), rtol=1e-10, atol=1e-12)


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


@pytest.mark.parametrize("name", WHOLE_BATCH)
@pytest.mark.parametrize("negative", [True, False])
@each_kind
@each_size
def test_each_loss_of_a_whole_batch_is_its_formula(name, negative, kind, K):
    T = matrix(kind, K)
    g, y_comp = torn_batch(T) if negative else calm_batch(T)
    R = class_risks(g, y_comp, T)
    assert (min(R) < 0) == negative
    assert max(R) > 0
    found = loss_of(name, g, y_comp, T)
    assert found.shape == ()
    np.testing.assert_allclose(found, reference(name, g, y_comp, T), rtol=1e-10)


@each_size
def test_ure_under_uniform_T_is_the_sum_of_all_losses_less_that_of_the_label(K):
    g, y_comp = random_batch(K)
    loss = [[-math.log(v) for v in softmax(z)] for z in g]
    expected = [sum(row) - (K - 1) * row[c] for row, c in zip(loss, y_comp, strict=True)]
    np.testing.assert_allclose(loss_of("ure", g, y_comp, matrix("uniform", K)), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "T",
    [
        [[0.0, 0.4, 0.6], [0.0, 0.4, 0.6], [0.625, 0.375, 0.0]],
        [[0, 0.5, 0.3, 0.2], [0.4, 0, 0.4, 0.2], [0.2, 0.25, 0.35, 0.2], [0.1, 0.1, 0.8, 0]],
    ],
)
def test_ure_takes_the_pseudo_inverse_of_a_singular_T(T):
    T = np.array(T)
    K = len(T)
    g, y_comp = random_batch(K)
    pseudo = np.linalg.pinv(T)
    expected = [
        sum(-pseudo[c, k] * math.log(softmax(z)[k]) for k in range(K))
        for z, c in zip(g, y_comp, strict=True)
    ]
    np.testing.assert_allclose(loss_of("ure", g, y_comp, T), expected, rtol=1e-9, atol=1e-12)
    with np.errstate(divide="ignore"):
        objective = objective_of([Run(methods.METHODS["ure"])], T)
    found, _ = evaluated(objective, torch.tensor(g).float()[None], torch.tensor(y_comp), None)
    assert float(found) == pytest.approx(np.mean(expected), rel=1e-3)


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHOLE_BATCH)
@pytest.mark.parametrize("negative", [True, False])
@each_kind
def test_weights_in_a_whole_batch_count_as_rows(name, negative, kind):
    T = matrix(kind, 5)
    g, y_comp = torn_batch(T) if negative else calm_batch(T)
    weight = np.random.default_rng(2).uniform(*((0.2, 1.8) if negative else (0.99, 1.01)), len(g))
    assert (min(class_risks(g, y_comp, T, weight)) < 0) == negative
    found = loss_of(name, g, y_comp, T, torch.from_numpy(weight))
    np.testing.assert_allclose(found, reference(name, g, y_comp, T, weight), rtol=1e-10)
    assert not math.isclose(found, reference(name, g, y_comp, T), rel_tol=1e-8)
    ones = loss_of(name, g, y_comp, T, torch.ones(len(g), dtype=torch.float64))
    np.testing.assert_allclose(ones, loss_of(name, g, y_comp, T, None), rtol=1e-14)


@pytest.mark.parametrize("name", WHOLE_BATCH)
def test_a_row_of_weight_two_is_a_row_given_twice(name):
    T = matrix("weak", 4)
    g, y_comp = random_batch(4, rows=12)
    weight = np.ones(12)
    weight[[3, 5]] = 2, 0
    twice = np.r_[0, 1, 2, 3, 3, 4, 6:12]
    found = loss_of(name, g, y_comp, T, torch.from_numpy(weight))
    np.testing.assert_allclose(found, loss_of(name, g[twice], y_comp[twice], T), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_a_batch_are_given_the_shares_of_all_that_is_trained_on(weighted):
    T = matrix("strong", 4)
    g, y_comp = random_batch(4, rows=30)
    y_comp[y_comp == 2] = 0  # missing from the batch: it adds 0
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 30) if weighted else None
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    p, inverse = [softmax(z) for z in g], np.linalg.inv(T)
    counts = np.ones(30) if weight is None else weight
    R = [0.0] * 4
    for k in range(4):
        for j in (0, 1, 3):
            mine = [i for i in range(30) if y_comp[i] == j]
            loss = sum(counts[i] * -math.log(p[i][k]) for i in mine)
            R[k] += shares[j] * inverse[j, k] * loss / sum(counts[i] for i in mine)
    given = balanced(
        torch.tensor(y_comp),
        None if weight is None else torch.from_numpy(weight),
        torch.from_numpy(shares),
    )
    found = loss_of("ure-nn", g, y_comp, T, given.double())
    np.testing.assert_allclose(found, sum(max(0.0, r) for r in R), rtol=1e-5)


def test_an_unsure_network_has_no_negative_risk_whatever_the_batch():
    T = matrix("uniform", 10)
    y_comp = np.random.default_rng(0).integers(10, size=256)
    assert min(class_risks(np.zeros((256, 10)), y_comp, T)) < 0  # by the batch's own shares
    objective = objective_of([Run(methods.METHODS["ure-ga"])], T)
    objective.shares = torch.full((10,), 0.1)
    (loss,), _ = evaluated(objective, torch.zeros(1, 256, 10), torch.tensor(y_comp), None)
    assert float(loss) == pytest.approx(math.log(10), rel=1e-5)  # the sum of all, none turned


@pytest.mark.parametrize("name", ["ure", "fwd", *WHOLE_BATCH])
def test_a_method_that_assumes_uniform_T_is_the_one_that_is_given_it(name):
    uniform, strong = matrix("uniform", 5), matrix("strong", 5)
    g, y_comp = random_batch(5, rows=60)
    assumed = methods.assuming(methods.METHODS[name], uniform)
    found = []
    for method, T, shares in (
        (assumed, strong, [0.1, 0.2, 0.3, 0.3, 0.1]),  # whatever the data have
        (methods.METHODS[name], uniform, [0.2] * 5),
    ):
        objective = objective_of([Run(method)], T)
        objective.shares = torch.tensor(shares)
        logits = torch.tensor(g).float()[None]
        found.append(evaluated(objective, logits, torch.tensor(y_comp), None))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@each_name
@pytest.mark.parametrize("weighted", [False, True])
def test_an_objective_is_the_weighted_mean_of_the_loss_and_its_gradient(name, weighted):
    T = matrix("strong", 5)
    g, y_comp = random_batch(5, rows=40)
    weight = np.random.default_rng(3).uniform(0.2, 1.8, 40) if weighted else np.ones(40)
    weight /= weight.mean()
    given = torch.from_numpy(weight).float() if weighted else None
    objective = objective_of([Run(methods.METHODS[name])], T)
    loss, gradient = evaluated(
        objective, torch.from_numpy(g).float()[None], torch.from_numpy(y_comp), given
    )
    expected = mean_reference(name, g, y_comp, T, weight)
    np.testing.assert_allclose(loss, [expected], rtol=2e-5)
    step, slope = 1e-5, np.empty_like(g)
    for at in np.ndindex(*g[:2].shape):
        there, back = g.copy(), g.copy()
        there[at] += step
        back[at] -= step
        rise = [mean_reference(name, z, y_comp, T, weight) for z in (there, back)]
        slope[at] = (rise[0] - rise[1]) / (2 * step)
    np.testing.assert_allclose(gradient[0, :2], slope[:2], rtol=1e-3, atol=2e-5)


# --- gradients -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "batch"),
    [(name, "torn" if name in WHOLE_BATCH else "random") for name in NAMES]
    + [(name, "calm") for name in WHOLE_BATCH],
)
@pytest.mark.parametrize("kind", ["uniform", "strong", "cyclic"])
def test_each_gradient_is_the_slope_of_its_loss(name, batch, kind):
    T = matrix(kind, 5)
    g, y_comp = {
        "random": lambda: random_batch(5, rows=8),
        "torn": lambda: torn_batch(T, rows=8),
        "calm": lambda: calm_batch(T, rows=40),
    }[batch]()
    if name in WHOLE_BATCH:  # away from their kinks
        R = class_risks(g, y_comp, T)
        assert min(map(abs, R)) > 1e-2
        assert (min(R) < 0) == (batch == "torn")
    learned = start(name, T)
    inputs = [torch.from_numpy(g).requires_grad_()]
    if learned is not None:
        inputs.append(learned.requires_grad_())

    def of(g, learned=None):
        return loss_of(name, g, y_comp, T, learned=learned)

    assert torch.autograd.gradcheck(of, inputs, eps=1e-6, atol=1e-6, rtol=1e-4)


@each_name
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "strong"])
@each_size
def test_the_gradient_in_closed_form_is_that_of_autograd(name, weighted, kind, K):
    method = methods.METHODS[name]
    T = matrix(kind, K)
    weight = torch.from_numpy(np.random.default_rng(3).uniform(0.5, 1.5, 40)) if weighted else None
    for seed in range(3):
        g = torch.tensor(np.random.default_rng(seed).normal(scale=2, size=(2, 40, K)))
        y_comp = torch.from_numpy(np.random.default_rng(seed + 9).integers(0, K, 40))
        log_T = log_transition(name, T, start(name, T))
        z = g.clone().requires_grad_()
        if method.whole_batch:
            total = method.loss(z, y_comp, log_T, weight) * 40
        else:
            rows = method.loss(z, y_comp, log_T)
            total = (rows if weight is None else rows * weight).sum(-1)
        (expected,) = torch.autograd.grad(total.sum(), z)
        z = g.transpose(1, 2)
        if method.likelihood is not None:
            loss, found, _ = likelihoods.gradient(z, method.likelihood(log_T)[:, y_comp])
        else:
            given = risks.inverse(log_T) if method.family == "risk" else log_T
            weights = [weight] if method.whole_batch else []
            loss, found = method.gradient(z, y_comp, given, *weights)
        if not method.whole_batch:
            np.testing.assert_allclose(loss, rows.detach(), rtol=1e-10, atol=1e-12)
            loss = (loss if weight is None else loss * weight).sum(-1)
            found = found if weight is None else found * weight
        np.testing.assert_allclose(loss, total.detach(), rtol=1e-10)
        np.testing.assert_allclose(found.transpose(1, 2), expected, rtol=1e-9, atol=1e-10)


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


def test_every_method_of_ours_has_its_gradient_in_closed_form_and_fwd_shares_that_of_cpe_f():
    for method in methods.METHODS.values():
        assert (method.gradient is None) != (method.likelihood is None)
        assert method.learns is None or method.likelihood is likelihoods.transition_itself
    assert methods.METHODS["fwd"].loss is methods.METHODS["cpe-f"].loss
    assert methods.METHODS["fwd"].likelihood is methods.METHODS["cpe-f"].likelihood


# --- extremes ------------------------------------------------------------------------------------

EXTREME = {
    "random signs": lambda rows, K: 1e4 * np.random.default_rng(0).choice([-1.0, 1.0], (rows, K)),
    "one high": lambda rows, K: 1e4 * np.eye(K)[np.arange(rows) % K],
    "one high, others low": lambda rows, K: 1e4 * (2 * np.eye(K)[np.arange(rows) % K] - 1),
    "one low": lambda rows, K: -1e4 * np.eye(K)[np.arange(rows) % K],
    "all equal": lambda rows, K: np.repeat([[1e4], [-1e4]], rows // 2, axis=0) * np.ones(K),
    "between": lambda rows, K: np.random.default_rng(0).uniform(-1e4, 1e4, (rows, K)),
}


@each_name
@pytest.mark.parametrize("pattern", EXTREME)
@pytest.mark.parametrize("kind", ["uniform", "cyclic"])
def test_losses_and_gradients_are_finite_at_extreme_logits(name, pattern, kind):
    K, rows = 5, 50
    T = matrix(kind, K)
    assert (np.diag(T) == 0).all()
    assert np.linalg.cond(T) < 1e3
    assert kind != "cyclic" or [(row > 0).sum() for row in T] == [1, 2, 1, 2, 1]
    g = torch.tensor(EXTREME[pattern](rows, K), dtype=torch.float32)
    objective = objective_of([Run(methods.METHODS[name])], T)
    every_label = [np.full(rows, c) for c in range(K)] + [np.arange(rows) // K % K]
    for y_comp in map(torch.from_numpy, every_label):
        z = g.clone().requires_grad_()
        learned = start(name, T, torch.float32)
        inputs = [z] if learned is None else [z, learned.requires_grad_()]
        loss = loss_of(name, z, y_comp, T, learned=learned)
        assert loss.isfinite().all()
        for slope in torch.autograd.grad(loss.sum(), inputs):
            assert slope.isfinite().all()
        for weight in (None, torch.linspace(0, 2, rows)):
            mean, gradient = evaluated(objective, g[None], y_comp, weight)
            assert mean.isfinite().all()
            assert gradient.isfinite().all()
            assert learned is None or objective.transition.parameters[0].grad.isfinite().all()


@pytest.mark.parametrize(
    ("name", "at_label", "loss", "slope"),
    [
        # -log of a p that is 0 to rounding is the logits' difference, and still pushes at full.
        ("fwd", 1e4, 1e4, [-1 / 3, 1, -1 / 3, -1 / 3]),
        ("cpe-f", 1e4, 1e4, [-1 / 3, 1, -1 / 3, -1 / 3]),
        ("scl-nl", 1e4, 1e4 - math.log(3), [-1 / 3, 1, -1 / 3, -1 / 3]),
        ("scl-exp", 1e4, math.e, [0, 0, 0, 0]),
        ("cpe-i", 1e4, 0, [0, 0, 0, 0]),
        ("ure", 1e4, 3e4, [-1, 3, -1, -1]),
        ("fwd", -1e4, math.log(3), [0, 0, 0, 0]),
        ("scl-nl", -1e4, 0, [0, 0, 0, 0]),
        ("scl-exp", -1e4, 1, [0, 0, 0, 0]),
        ("cpe-i", -1e4, 1e4 + math.log(3), [1 / 3, -1, 1 / 3, 1 / 3]),
        ("ure", -1e4, -2e4 + math.log(3), [-2 / 3, 2, -2 / 3, -2 / 3]),
    ],
)
def test_at_extreme_logits_a_loss_and_its_gradient_are_their_limits(name, at_label, loss, slope):
    g = torch.tensor([[0.0, at_label, 0.0, 0.0]])
    objective = objective_of([Run(methods.METHODS[name])], transition.uniform(4))
    found, gradient = evaluated(objective, g[None], torch.tensor([1]), None)
    np.testing.assert_allclose(found, [loss], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient[0, 0], slope, rtol=0, atol=1e-3)  # float32 at 1e4


# --- runs side by side ---------------------------------------------------------------------------


@each_name
@pytest.mark.parametrize("lead", [(3,), (2, 2)])
def test_leading_dimensions_are_runs_that_do_not_meet(name, lead):
    T, rows = matrix("strong", 4), 12
    rng = np.random.default_rng(4)
    g, y_comp = rng.normal(size=(*lead, rows, 4)), rng.integers(0, 4, rows)
    together = loss_of(name, g, y_comp, T)
    assert together.shape == (lead if name in WHOLE_BATCH else (*lead, rows))
    for run in np.ndindex(*lead):
        np.testing.assert_allclose(together[run], loss_of(name, g[run], y_comp, T), rtol=1e-12)


@each_name
def test_each_run_may_have_a_transition_of_its_own(name):
    rng = np.random.default_rng(5)
    g, y_comp = rng.normal(size=(3, 12, 4)), torch.from_numpy(rng.integers(0, 4, 12))
    matrices = [matrix("strong", 4, seed) for seed in range(3)]
    log_T = torch.stack([log_transition(name, T, start(name, T)) for T in matrices])
    together = methods.METHODS[name].loss(torch.from_numpy(g), y_comp, log_T)
    for run, T in enumerate(matrices):
        np.testing.assert_allclose(together[run], loss_of(name, g[run], y_comp, T), rtol=1e-12)


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


@pytest.mark.parametrize(
    "order",
    [
        [*NAMES, *NAMES],
        [name for name in NAMES for _ in range(2)],
        ["fwd", "dm", "fwd", "dm", "fwd"],
        ["cpe-t", "fwd", "cpe-t", "cpe-t", "ure-ga", "cpe-n", "fwd", "ure-ga", "cpe-n"],
        ["dm"],
    ],
    ids=["twice around", "pairs", "in turn", "uneven", "alone"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_runs_of_several_methods_get_what_they_get_alone(order, weighted):
    T, rows = matrix("strong", 4), 20
    rng = np.random.default_rng(6)
    # As Dense gives them: runs are columns of one matrix.
    logits = torch.tensor(rng.normal(size=(rows, len(order), 4)), dtype=torch.float32)
    logits = logits.transpose(0, 1)
    kept = logits.clone()
    y_comp = torch.from_numpy(rng.integers(0, 4, rows))
    weight = torch.tensor(rng.uniform(0.5, 1.5, rows)).float() if weighted else None
    runs = [Run(methods.METHODS[name]) for name in order]
    objective = objective_of(runs, T)
    loss, gradient = evaluated(objective, logits, y_comp, weight)
    assert torch.equal(logits, kept)
    assert loss.shape == (len(order),)
    for i, run in enumerate(runs):
        alone = objective_of([run], T)
        its_loss, its_gradient = evaluated(alone, logits[[i]], y_comp, weight)
        np.testing.assert_allclose(loss[i], its_loss[0], rtol=1e-5)
        np.testing.assert_allclose(gradient[i], its_gradient[0], rtol=1e-4, atol=1e-7)
        assert (objective.transition.parameters[i] is not None) == (order[i] in LEARNING)
        if order[i] in LEARNING:
            slope, its_slope = (
                objective.transition.parameters[i].grad,
                alone.transition.parameters[0].grad,
            )
            np.testing.assert_allclose(slope, its_slope, rtol=1e-4, atol=1e-7)
            assert its_slope.abs().max() > 1e-6


def test_adam_takes_the_same_steps_fused_and_plain():
    weights = [[torch.zeros(3), torch.zeros(2)] for _ in range(2)]
    fused, plain = (Adam(each, 0.1, weight_decay=1e-2) for each in weights)
    assert fused.settings["fused"]
    plain.settings["fused"] = False
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        for one, other in zip(*weights, strict=True):
            one.grad = other.grad = torch.randn(one.shape, generator=generator)
        for group in (fused, plain):
            group.step()
    for one, other in zip(*weights, strict=True):
        assert one.abs().min() > 1e-2
        torch.testing.assert_close(one, other)
    assert [float(step) for step in fused.steps + plain.steps] == [5] * 4


# --- equivalences --------------------------------------------------------------------------------


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


# --- what the losses estimate --------------------------------------------------------------------


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


# --- a transition that is learned ----------------------------------------------------------------


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


# --- names ---------------------------------------------------------------------------------------


@pytest.fixture
def own_methods(monkeypatch):
    """Methods that a test may add to and take from."""
    monkeypatch.setattr(methods, "METHODS", dict(methods.METHODS))
    return methods.METHODS


def squared(logits, y_comp, log_T):
    p = logits.softmax(-1)
    return p.gather(-1, y_comp.expand(p.shape[:-1])[..., None])[..., 0] ** 2


@each_name
def test_find_gives_the_method_of_a_name(name):
    assert methods.find(name) is methods.METHODS[name]
    assert methods.find(methods.METHODS[name]) is methods.METHODS[name]


@pytest.mark.parametrize("wrong", ["", "FWD", "cpe", "no such method " * 20, None, 3, ["fwd"]])
def test_an_unknown_method_is_told_all_the_known_ones_in_one_line(wrong, own_methods):
    methods.register("of-my-own", squared)
    with pytest.raises(ValueError, match="method must be one of") as caught:
        methods.find(wrong)
    message = str(caught.value)
    assert "\n" not in message
    assert all(repr(name) in message for name in [*NAMES, "of-my-own"])
    assert f"got {repr(wrong)[:40]}" in message


def test_a_callable_is_a_method():
    method = methods.find(squared)
    assert isinstance(method, methods.Method)
    assert method.loss is squared
    assert (method.estimates, method.decoder, method.learns) == ("p", "max", None)
    assert (method.whole_batch, method.gradient) == (False, None)
    assert squared not in [known.loss for known in methods.METHODS.values()]


def test_a_method_can_be_added_and_replaced(own_methods):
    methods.register("squared", squared, estimates="q", decoder="l1")
    method = methods.find("squared")
    assert (method.loss, method.estimates, method.decoder) == (squared, "q", "l1")
    g, y_comp = random_batch(4)
    objective = objective_of([Run(method)], transition.uniform(4))
    loss, gradient = evaluated(
        objective, torch.from_numpy(g).float()[None], torch.from_numpy(y_comp), None
    )
    expected = np.mean([softmax(z)[c] ** 2 for z, c in zip(g, y_comp, strict=True)])
    np.testing.assert_allclose(loss, [expected], rtol=1e-5)
    assert gradient.shape == (1, 30, 4)
    methods.register("squared", likelihoods.forward)
    assert methods.find("squared").loss is likelihoods.forward
    assert set(own_methods) == {*NAMES, "squared"}


@pytest.mark.parametrize(
    ("name", "loss", "expected"),
    [
        ("mine", 3, "a callable of .*; got 3$"),
        ("mine", None, "a callable of .*; got None$"),
        ("mine", "fwd", "a callable of .*; got 'fwd'$"),
        ("", squared, "name must be a string to call the method by; got ''$"),
        (None, squared, "name must be a string to call the method by; got None$"),
        (7, squared, "name must be a string to call the method by; got 7$"),
    ],
)
def test_what_is_no_method_is_not_added(own_methods, name, loss, expected):
    with pytest.raises(ValueError, match=expected):
        methods.register(name, loss)
    assert set(own_methods) == set(NAMES)


def test_a_setting_that_no_method_has_is_refused(own_methods):
    with pytest.raises(TypeError, match="decode_by"):
        methods.register("mine", squared, decode_by="l1")
    assert set(own_methods) == set(NAMES)


def test_the_risk_is_trained_with_the_inverse_that_held_out_labels_are_judged_by():
    T = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 3e-6, 0.5 - 3e-6]])  # nearly singular
    with np.errstate(divide="ignore"):
        (part,) = objective_of([Run(methods.find("ure"))], T).parts
    np.testing.assert_allclose(part.gradient_input.numpy(), np.linalg.inv(T), rtol=1e-5)
