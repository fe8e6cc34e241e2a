"""The networks that the loop trains: stacks of dense ones, their gradient by hand, or any module.

Both have ``forward(x, train)`` giving logits of shape (runs, rows, K), ``backward(gradient)``
filling the gradients of ``parameters(run)``, and ``weights(run)`` / ``set_weights``.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.random import SFC64, Generator
from torch import Tensor

from .. import _checks
from .._typing import AnyArray

__all__ = ["Dense", "Module"]

_LEVELS = 2**16
_ALIGNED = 16  # floats in a cache line


class Dense:
    """Dense networks of one shape, ReLU between layers, trained side by side on the same rows.

    The first layers of all runs are one matrix, so that the rows they share go through one
    product; later layers have a product for each run. Activations are (rows, runs × width). The
    gradient is written out, into buffers that stay: autograd would allocate and copy.

    Dropout keeps an entry with a probability that is a multiple of 2⁻¹⁶. Its masks are drawn from
    `seed` and shared by all runs: a run alone draws the same.

    Parameters
    ----------
    sizes : sequence of int
        Features, hidden units of each layer, classes.
    seeds : one for each run
        What its first weights are drawn from, uniformly in ±1/√inputs as PyTorch does.
    dropout, input_dropout : float
        Shares of hidden units and of features dropped in training.
    seed : int or SeedSequence
        What masks are drawn from.
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
            for n_in, n_out in _pairs(sizes)
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
        self.activations: list[Tensor] = []
        self.buffers: dict[Any, Tensor] = {}

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
        """Put in what `weights` gave."""
        for layer, (weight, bias) in enumerate(zip(arrays[::2], arrays[1::2], strict=True)):
            self.weight[layer][run].copy_(torch.from_numpy(weight))
            self.bias[layer][run].copy_(torch.from_numpy(bias))

    def forward(self, x: Tensor, train: bool = False) -> Tensor:
        """Return the logits, (runs, rows, K); `x` is overwritten where its entries are dropped."""
        h = x.flatten(1)
        if train:
            self._drop(h, 0, 1)
        self.activations = [h]
        n_runs, n_rows = self.n_runs, len(x)
        for layer, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            n_out = weight.shape[1]
            z = self._buffer(("z", layer), n_rows, n_runs * n_out)
            if layer == 0:
                torch.addmm(bias.view(-1), h, weight.view(-1, weight.shape[2]).t(), out=z)
            else:
                for run, (part, out) in enumerate(_by_run(n_runs, h, z)):
                    torch.addmm(bias[run], part, weight[run].t(), out=out)
            h = z
            if layer < len(self.weight) - 1:
                h.relu_()
                if train:
                    self._drop(h, layer + 1, n_runs)
                self.activations.append(h)
        return h.view(n_rows, n_runs, -1).transpose(0, 1)

    def backward(self, gradient: Tensor) -> None:
        """Write the gradients, given that of the loss at the logits of the last `forward`."""
        n_runs, n_rows = self.n_runs, gradient.shape[1]
        g = gradient.transpose(0, 1).reshape(n_rows, -1)
        for layer in range(len(self.weight) - 1, -1, -1):
            h, weight, out = (
                self.activations[layer],
                self.weight[layer],
                self.weight_gradient[layer],
            )
            torch.sum(g, 0, out=self.bias_gradient[layer].view(-1))
            if layer == 0:
                torch.mm(g.t(), h, out=out.view(-1, out.shape[2]))
                return
            before = self._buffer(("g", layer), n_rows, h.shape[1])
            for run, (g_run, h_run, before_run) in enumerate(_by_run(n_runs, g, h, before)):
                torch.mm(g_run.t(), h_run, out=out[run])
                torch.mm(g_run, weight[run], out=before_run)
            # h is above 0 exactly where ReLU and dropout let through.
            torch.ops.aten.threshold_backward.grad_input(before, h, 0.0, grad_input=before)
            if self.drop[layer]:
                before *= _scale(self.drop[layer])
            g = before

    def _drop(self, h: Tensor, layer: int, n_runs: int) -> None:
        dropped = self.drop[layer]
        if not dropped:
            return
        n_rows, width = len(h), h.shape[1] // n_runs
        raw = np.asarray(self.bits.random_raw(-(-n_rows * width // 4))).view(np.int16)
        level = self._buffer(("level", layer), n_rows, width)
        level.copy_(torch.from_numpy(raw[: n_rows * width].reshape(n_rows, width)))
        by_run = h.view(n_rows, n_runs, width)
        edge = dropped - _LEVELS / 2 - 0.5
        # Its name aside, this is "h where level is above the edge, else 0", in one pass.
        torch.ops.aten.threshold_backward.grad_input(
            by_run, level.unsqueeze(1).expand_as(by_run), edge, grad_input=by_run
        )
        h *= _scale(dropped)

    def _buffer(self, key: Any, n_rows: int, width: int) -> Tensor:
        found = self.buffers.get(key)
        if found is None or len(found) < n_rows:
            found = self.buffers[key] = torch.empty(n_rows, width, device=self.device)
        return found[:n_rows]

    @contextlib.contextmanager
    def randomness(self) -> Iterator[None]:
        """Do nothing: the masks have bits of their own."""
        yield


def _in_one_piece(
    shapes: Sequence[tuple[int, ...]], device: torch.device
) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros and views of it in those shapes, each where a product likes it."""
    starts = np.cumsum([0] + [-(-math.prod(shape) // _ALIGNED) * _ALIGNED for shape in shapes])
    flat = torch.zeros(int(starts[-1]), device=device)
    views = [
        flat[start : start + math.prod(shape)].view(shape)
        for start, shape in zip(starts[:-1].tolist(), shapes, strict=True)
    ]
    return flat, views


def _pairs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return list(itertools.pairwise(sizes))


def _first_weights(sizes: Sequence[int], generator: Generator) -> list[AnyArray]:
    found = []
    for n_in, n_out in _pairs(sizes):
        edge = 1 / np.sqrt(max(n_in, 1))
        for shape in ((n_out, n_in), (n_out,)):
            found.append(generator.uniform(-edge, edge, shape).astype(np.float32))
    return found


def _in_levels(share: float) -> int:
    return round(share * _LEVELS)


def _scale(dropped: int) -> float:
    return _LEVELS / (_LEVELS - dropped)


def _by_run(n_runs: int, *matrices: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield each run's columns of matrices that hold the runs side by side."""
    return zip(*(m.view(len(m), n_runs, -1).unbind(1) for m in matrices), strict=True)


class Module:
    """Any torch module with K outputs, trained by autograd: a population of one.

    Parameters
    ----------
    build : callable
        Makes the module; called with the seed in torch's generator, which is put back after.
    seed : int
    """

    n_runs = 1

    def __init__(self, build: Callable[[], Any], seed: int, device: torch.device) -> None:
        self.device = device
        self.state: Tensor | None = None
        self.seed = seed
        with self.randomness():
            self.module = build()
            if not isinstance(self.module, torch.nn.Module):
                raise ValueError(
                    "network must be a callable that returns a torch.nn.Module; got "
                    f"{_checks.shown(self.module)}"
                )
            self.module.to(device)

    def parameters(self, first: int = 0, last: int = 1) -> list[Tensor]:  # noqa: ARG002
        """Return the tensors to train."""
        return [p for p in self.module.parameters() if p.requires_grad]

    def weights(self, run: int = 0) -> list[AnyArray]:  # noqa: ARG002
        """Return copies of all tensors of the module's state, in its order."""
        return [t.detach().cpu().numpy().copy() for t in self.module.state_dict().values()]

    def set_weights(self, run: int, arrays: Sequence[AnyArray]) -> None:  # noqa: ARG002
        """Put in what `weights` gave."""
        tensors = {
            name: torch.from_numpy(array)
            for name, array in zip(self.module.state_dict(), arrays, strict=True)
        }
        self.module.load_state_dict(tensors)

    def forward(self, x: Tensor, train: bool = False) -> Tensor:
        """Return the logits, (1, rows, K)."""
        self.module.train(train)
        with torch.set_grad_enabled(train):
            logits = self.module(x)
        if logits.ndim != 2 or len(logits) != len(x):
            raise ValueError(
                f"network must give logits of shape ({len(x)}, K) for {len(x)} rows; got "
                f"{tuple(logits.shape)}"
            )
        self.logits = logits
        detached: Tensor = logits.detach()
        return detached.unsqueeze(0)

    def backward(self, gradient: Tensor) -> None:
        """Fill ``.grad`` of the parameters."""
        for p in self.parameters():
            p.grad = None
        torch.autograd.backward([self.logits], [gradient[0]])

    @contextlib.contextmanager
    def randomness(self) -> Iterator[None]:
        """Lend torch's generator the module's own state, for its first weights and dropout."""
        with torch.random.fork_rng():
            if self.state is None:
                torch.manual_seed(self.seed)
            else:
                torch.set_rng_state(self.state)
            yield
            self.state = torch.get_rng_state()
