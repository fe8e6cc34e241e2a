"""Dense networks: gradients and dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neural_helpers import module_of
from ybar.neural.networks import Dense


@pytest.mark.parametrize("sizes", [(5, 4), (5, 6, 4), (5, 6, 7, 4)])
def test_the_gradient_by_hand_is_that_of_autograd(sizes):
    generator = torch.Generator().manual_seed(0)
    dense = Dense(sizes, [0, 1, 2])
    x = torch.randn(9, 5, generator=generator)
    at_logits = torch.randn(3, 9, 4, generator=generator)
    logits = dense.forward(x.clone(), train=True)
    dense.backward(at_logits)
    for run in range(3):
        module = module_of(dense, run)
        expected = module(x)
        np.testing.assert_allclose(logits[run], expected.detach(), rtol=1e-5, atol=1e-6)
        expected.backward(at_logits[run])
        gradients = [
            g[run] for p in zip(dense.weight_gradient, dense.bias_gradient, strict=True) for g in p
        ]
        for ours, theirs in zip(gradients, module.parameters(), strict=True):
            np.testing.assert_allclose(ours, theirs.grad, rtol=1e-4, atol=1e-6)


def test_dropout_keeps_its_share_and_the_mean_and_is_passed_back():
    dense = Dense((400, 300, 4), [0], dropout=0.5, input_dropout=0.2, seed=0)
    x = torch.ones(500, 400)
    dense.forward(x, train=True)
    kept, hidden = dense.x, dense._layers(500)[0].z
    assert float((kept == 0).float().mean()) == pytest.approx(0.2, abs=0.005)
    assert float(kept.mean()) == pytest.approx(1, abs=0.01)
    np.testing.assert_allclose(kept.unique(), [0, 1.25], rtol=1e-4)
    dense.backward(torch.ones(1, 500, 4))
    passed = dense._layers(500)[0].g
    assert torch.equal(passed != 0, hidden > 0)
    reference = dense.weight[1][0].t() @ torch.ones(4, 500) * 2  # 1 / (1 - 0.5)
    np.testing.assert_allclose(passed[hidden > 0], reference[hidden > 0], rtol=1e-4, atol=1e-6)
    first = kept.clone()
    dense.forward(torch.ones(500, 400), train=True)
    assert not torch.equal(first, dense.x)
    once = dense.forward(torch.ones(5, 400)).clone()
    assert torch.equal(once, dense.forward(torch.ones(5, 400)))
