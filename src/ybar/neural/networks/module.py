"""Any torch module, trained by autograd."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ...utils import checks
from ...utils.typing import AnyArray

_GENERATOR = threading.RLock()


class Module:
    """Any torch module with K outputs, trained by autograd: a population of one.

    `build` makes it. Torch's generator is seeded for the call, and its state is restored after.
    """

    n_runs = 1

    def __init__(self, build: Callable[[], Any], seed: int, device: torch.device) -> None:
        self.device = device
        self.state: tuple[Tensor, Tensor] | None = None
        self.seed = seed
        with self.randomness():
            self.module = build()
            if not isinstance(self.module, torch.nn.Module):
                raise ValueError(
                    "network must be a callable that returns a torch.nn.Module; got "
                    f"{checks.shown(self.module)}"
                )
            self.module.to(device)

    def parameters(self, first: int = 0, last: int = 1) -> list[Tensor]:  # noqa: ARG002
        """Return the tensors to train."""
        return [p for p in self.module.parameters() if p.requires_grad]

    def untrained(self) -> list[Tensor]:
        """Return the tensors that change with training but are not trained."""
        return [b for b in self.module.buffers() if b.is_floating_point()]

    def weights(self, run: int = 0) -> list[AnyArray]:  # noqa: ARG002
        """Return copies of all tensors of the module's state, in its order."""
        return [t.detach().cpu().numpy().copy() for t in self.module.state_dict().values()]

    def set_weights(self, run: int, arrays: Sequence[AnyArray]) -> None:  # noqa: ARG002
        """Restore `weights`."""
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
                f"network must return logits of shape ({len(x)}, K) for {len(x)} rows; got "
                f"{tuple(logits.shape)}"
            )
        self.logits = logits
        detached: Tensor = logits.detach()
        return detached.unsqueeze(0)

    def backward(self, gradient: Tensor, scale: float = 1.0) -> None:
        """Fill ``.grad`` of the parameters."""
        for p in self.parameters():
            p.grad = None
        torch.autograd.backward([self.logits], [gradient[0] * scale])

    @contextlib.contextmanager
    def randomness(self) -> Iterator[None]:
        """Put torch's generator in the state of this module, for its first weights and dropout."""
        # torch has one generator for all threads: only one module at a time may use it.
        with _GENERATOR, torch.random.fork_rng():
            if self.state is None:
                torch.manual_seed(self.seed)
            else:
                torch.set_rng_state(self.state[0])
                if self.device.type == "cuda":
                    torch.cuda.set_rng_state(self.state[1], self.device)
            yield
            on_cuda = self.device.type == "cuda"
            of_device = torch.cuda.get_rng_state(self.device) if on_cuda else torch.empty(0)
            self.state = torch.get_rng_state(), of_device
