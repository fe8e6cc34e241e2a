"""Adam, and a running mean of the weights that it moves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """Adam on tensors of one learning rate.

    It calls the kernel of ``torch.optim.Adam(fused=True)`` directly, with the same bits. Through
    torch's public function ``adam`` an epoch of 30 linear networks takes 5% longer. The class is
    slower still, and its first object imports 800 modules (1.3 s).
    """

    def __init__(
        self, parameters: list[Tensor], rate: float, weight_decay: float = 0.0, eps: float = 1e-8
    ) -> None:
        self.parameters = parameters
        self.settings: dict[str, Any] = {
            "lr": rate,
            "beta1": 0.9,
            "beta2": 0.999,
            "weight_decay": weight_decay,
            "eps": eps,
            "amsgrad": False,
            "maximize": False,
        }
        # The one private function of torch that is used here; other devices use the public one.
        fusable = parameters[0].device.type in ("cpu", "cuda")
        self.fused = getattr(torch, "_fused_adam_", None) if fusable else None
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]
        self.steps = [torch.zeros((), device=p.device) for p in parameters]

    def step(self) -> None:
        """Move the tensors against ``.grad``; tensors without a gradient do not move."""
        live = [i for i, p in enumerate(self.parameters) if p.grad is not None]
        if not live:
            return
        parameters, first, second, steps = (
            [tensors[i] for i in live]
            for tensors in (self.parameters, self.first, self.second, self.steps)
        )
        gradients = [p.grad for p in parameters if p.grad is not None]
        if self.fused is None:
            adam(parameters, gradients, first, second, [], steps, **self.settings)
        else:
            for step in steps:
                step += 1
            self.fused(parameters, gradients, first, second, [], steps, **self.settings)

    def state(self) -> list[Tensor]:
        """Return all tensors that change with the steps."""
        return [*self.parameters, *self.first, *self.second, *self.steps]


class Average:
    """A running mean of tensors: each update closes 1 - decay of the distance, at first more."""

    def __init__(self, parameters: Sequence[Tensor], decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.parameters = list(parameters) if decay else []
        self.mean = [p.detach().clone() for p in self.parameters]

    def update(self) -> None:
        """Include the current values."""
        if not self.mean:
            return
        self.steps += 1
        share = 1 - min(self.decay, self.steps / (self.steps + 10))
        for mean, parameter in zip(self.mean, self.parameters, strict=True):
            mean.lerp_(parameter, share)

    def means_of(self, tensor: Tensor) -> list[Tensor]:
        """Return the mean of one of the tensors, as a list of at most one."""
        pairs = zip(self.parameters, self.mean, strict=True)
        return [mean for parameter, mean in pairs if parameter is tensor]

    @torch.no_grad()
    def restart(self) -> None:
        """Start again from the current values."""
        self.steps = 0
        for mean, parameter in zip(self.mean, self.parameters, strict=True):
            mean.copy_(parameter)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the mean in place of the current values until the context ends."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for mean, parameter in zip(self.mean, self.parameters, strict=True):
            current = parameter.clone()
            parameter.copy_(mean)
            mean.copy_(current)
