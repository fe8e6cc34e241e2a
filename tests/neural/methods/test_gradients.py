"""Closed-form gradients against finite differences and autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neural_helpers import (
    CORRECTED,
    NAMES,
    as_read,
    calm_batch,
    class_risks,
    each_name,
    each_size,
    log_transition,
    loss_of,
    matrix,
    random_batch,
    start,
    torn_batch,
)
from ybar.neural import methods
from ybar.neural.methods import likelihoods, risks


@pytest.mark.parametrize(
    ("name", "batch"),
    [(name, "torn" if name in CORRECTED else "random") for name in NAMES if name != "proden"]
    + [(name, "calm") for name in CORRECTED],
)
@pytest.mark.parametrize("kind", ["uniform", "strong", "cyclic"])
def test_each_gradient_is_the_slope_of_its_loss(name, batch, kind):
    T = matrix(kind, 5)
    g, y_comp = {
        "random": lambda: random_batch(5, rows=8),
        "torn": lambda: torn_batch(T, rows=8),
        "calm": lambda: calm_batch(T, rows=40),
    }[batch]()
    if name in CORRECTED:  # away from their kinks
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
        y_comp = as_read(name, y_comp, K)
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
