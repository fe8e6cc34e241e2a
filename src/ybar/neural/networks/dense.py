"""Stacks of dense networks, with their gradient written out."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.random import SFC64, Generator
from torch import Tensor

from ...utils.typing import AnyArray
from .products import multiply

_LEVELS = 2**16
_ALIGNED = 16  # floats in a cache line
_BUFFERS_KEPT = 6


class Layer(NamedTuple):
    """A layer's outputs and the loss's gradient at them, for all runs and run by run."""

    z: Tensor
    g: Tensor
    by_run: Tensor
    g_by_run: Tensor

    @classmethod
    def of(cls, n_runs: int, n_out: int, n_rows: int, device: torch.device) -> Layer:
        """Return buffers for `n_rows` rows."""
        z, g = torch.empty(2, n_runs * n_out, n_rows, device=device).unbind()
        return cls(z, g, z.view(n_runs, n_out, n_rows), g.view(n_runs, n_out, n_rows))


class Dense:
    """Dense networks of one shape, ReLU between layers, trained side by side on the same rows.

    The first layers of all runs form one matrix, so that a batch goes through one product; later
    layers have one product per run. Activations are (runs × width, rows): products are fastest in
    this order, and the part of each run is contiguous. The gradient is written out, into buffers
    that are reused: autograd would allocate and copy.

    The first weights of each run are drawn from its seed, uniformly in ±1/√inputs, as in PyTorch.
    Dropout keeps an entry with a probability that is a multiple of 2⁻¹⁶. Its masks are drawn from
    `seed` and shared by all runs, so that a run draws the same masks alone.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        seeds: Sequence[Any],
        *,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        seed: Any = None,
        device: torch.device | None = None,
    ) -> None:
        self.device = torch.device("cpu") if device is None else device
        self.n_runs, self.sizes = len(seeds), list(sizes)
        shapes = [
            shape
            for n_in, n_out in itertools.pairwise(sizes)
            for shape in ((self.n_runs, n_out, n_in), (self.n_runs, n_out))
        ]
        self.flat, layers = _in_one_piece(shapes, self.device)
        self.flat_gradient, gradients = _in_one_piece(shapes, self.device)
        self.weight, self.bias = layers[::2], layers[1::2]
        self.weight_gradient, self.bias_gradient = gradients[::2], gradients[1::2]
        for run, run_seed in enumerate(seeds):
            self.set_weights(run, _first_weights(sizes, np.random.default_rng(run_seed)))
        self.bits = SFC64(seed)
        self.drop = [_in_levels(input_dropout)] + [_in_levels(dropout)] * (len(sizes) - 2)
        # Buffers for a number of rows. The cache must not hold the network, which holds the cache.
        n_runs, device, widths = self.n_runs, self.device, sizes[1:]
        self._layers = functools.lru_cache(_BUFFERS_KEPT)(
            lambda n_rows: [Layer.of(n_runs, width, n_rows, device) for width in widths]
        )
        self.x = torch.empty(0)
        # Views that every batch reads.
        self.first_weight, self.first_weight_gradient = (
            w[0].view(-1, sizes[0]) for w in (self.weight, self.weight_gradient)
        )
        self.bias_columns = [bias.unsqueeze(2) for bias in self.bias]
        self.first_bias = self.bias[0].view(-1, 1)
        self.first_bias_gradient = self.bias_gradient[0].view(-1)

    def untrained(self) -> list[Tensor]:
        """Return nothing: all tensors are trained."""
        return []

    def parameters(self, first: int, last: int) -> list[Tensor]:
        """Return the tensors of runs first to last - 1, with ``.grad`` where `backward` writes."""
        values, gradients = [self.flat], [self.flat_gradient]
        if last - first < self.n_runs:  # else all are one piece
            values = [t[first:last] for t in self.weight + self.bias]
            gradients = [t[first:last] for t in self.weight_gradient + self.bias_gradient]
        for value, gradient in zip(values, gradients, strict=True):
            value.grad = gradient
        return values

    def weights(self, run: int) -> list[AnyArray]:
        """Return copies of a run's weights and biases, layer by layer."""
        pairs = zip(self.weight, self.bias, strict=True)
        return [t[run].cpu().numpy().copy() for pair in pairs for t in pair]

    def set_weights(self, run: int, arrays: Sequence[AnyArray]) -> None:
        """Restore the `weights` of a run."""
        for layer, (weight, bias) in enumerate(zip(arrays[::2], arrays[1::2], strict=True)):
            self.weight[layer][run].copy_(torch.from_numpy(weight))
            self.bias[layer][run].copy_(torch.from_numpy(bias))

    def forward(self, x: Tensor, train: bool = False) -> Tensor:
        """Return the logits, (runs, rows, K); `x` is overwritten where its entries are dropped."""
        x = x.flatten(1)
        if train:
            self._drop(x.unsqueeze(0), 0)
        layers = self._layers(len(x))
        first = layers[0]
        multiply(self.first_weight, x.t(), first.z, self.first_bias)
        for layer, (before, now) in enumerate(itertools.pairwise(layers), start=1):
            before.z.relu_()
            if train:
                self._drop(before.by_run, layer)
            weight, bias = self.weight[layer], self.bias_columns[layer]
            for run in range(self.n_runs):
                multiply(weight[run], before.by_run[run], now.by_run[run], bias[run])
        self.x = x
        return layers[-1].by_run.transpose(1, 2)

    def backward(self, gradient: Tensor, scale: float = 1.0) -> None:
        """Write the gradients, from the gradient at the logits of the last `forward`."""
        layers = self._layers(gradient.shape[1])
        g_by_run = layers[-1].g_by_run
        torch.mul(gradient.transpose(1, 2), scale, out=g_by_run)
        for layer in range(len(layers) - 1, 0, -1):
            before, weight = layers[layer - 1], self.weight[layer]
            torch.sum(g_by_run, 2, out=self.bias_gradient[layer])
            for run in range(self.n_runs):
                g, h = g_by_run[run], before.by_run[run]
                multiply(g, h.t(), self.weight_gradient[layer][run])
                multiply(weight[run].t(), g, before.g_by_run[run])
            # z is above 0 exactly where neither ReLU nor dropout blocked it.
            _where_above(before.g, before.z, 0.0, before.g)
            if self.drop[layer]:
                before.g.mul_(_scale(self.drop[layer]))
            g_by_run = before.g_by_run
        torch.sum(layers[0].g, 1, out=self.first_bias_gradient)
        multiply(layers[0].g, self.x, self.first_weight_gradient)

    def _drop(self, h: Tensor, layer: int) -> None:
        """Set entries of h, (runs, ...), to 0 at random, the same for all runs; scale the rest."""
        dropped = self.drop[layer]
        if not dropped:
            return
        shape = h.shape[1:]
        n = math.prod(shape)
        raw = np.asarray(self.bits.random_raw(-(-n // 4))).view(np.int16)[:n]
        level = torch.from_numpy(raw).to(self.device).float().view(shape).expand_as(h)
        _where_above(h, level, dropped - _LEVELS / 2 - 0.5, h)
        h *= _scale(dropped)

    @contextlib.contextmanager
    def randomness(self) -> Iterator[None]:
        """Do nothing: the masks have a generator of their own."""
        yield


def _in_one_piece(
    shapes: Sequence[tuple[int, ...]], device: torch.device
) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros and views of it in those shapes, each aligned to a cache line."""
    starts = np.cumsum([0] + [-(-math.prod(shape) // _ALIGNED) * _ALIGNED for shape in shapes])
    flat = torch.zeros(int(starts[-1]), device=device)
    views = [
        flat[start : start + math.prod(shape)].view(shape)
        for start, shape in zip(starts[:-1].tolist(), shapes, strict=True)
    ]
    return flat, views


def _first_weights(sizes: Sequence[int], generator: Generator) -> list[AnyArray]:
    arrays = []
    for n_in, n_out in itertools.pairwise(sizes):
        edge = 1 / np.sqrt(max(n_in, 1))
        for shape in ((n_out, n_in), (n_out,)):
            arrays.append(generator.uniform(-edge, edge, shape).astype(np.float32))
    return arrays


def _in_levels(share: float) -> int:
    return min(round(share * _LEVELS), _LEVELS - 1)


def _scale(dropped: int) -> float:
    return _LEVELS / (_LEVELS - dropped)


def _where_above(values: Tensor, level: Tensor, edge: float, out: Tensor) -> None:
    """Write values where level is above the edge, else 0: the kernel of ReLU's gradient."""
    torch.ops.aten.threshold_backward.grad_input(values, level, edge, grad_input=out)
