"""Adam, and the mean of the weights."""

from __future__ import annotations

import numpy as np
import torch

from ybar.neural.optimiser import Adam, Average


def test_adam_takes_the_same_steps_fused_and_plain():
    weights = [[torch.zeros(3), torch.zeros(2)] for _ in range(2)]
    fused, plain = (Adam(each, 0.1, weight_decay=1e-2) for each in weights)
    assert fused.fused is not None
    plain.fused = None
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


def test_the_mean_of_the_weights_is_the_mean_of_the_weights():
    parameter = torch.zeros(3)
    average = Average([parameter], 0.9)
    mean = np.zeros(3)
    for step in range(1, 200):
        parameter.copy_(torch.arange(3) * step)
        average.update()
        share = 1 - min(0.9, step / (step + 10))
        mean += share * (np.arange(3) * step - mean)
    with average.in_place():
        np.testing.assert_allclose(parameter, mean, rtol=1e-4)
    np.testing.assert_allclose(parameter, np.arange(3) * 199)
