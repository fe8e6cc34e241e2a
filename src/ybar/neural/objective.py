"""What runs minimise: each by its own method, and what some of them learn of T on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .._evidence import log_likelihoods
from .._typing import AnyArray, FloatArray
from . import gradients, losses
from .losses import LEARNED, Method


@dataclass(frozen=True)
class Run:
    """What tells a run of a population from the others."""

    method: Method
    learning_rate: float = 1e-3
    seed: Any = 0
    trust: float = 0.0
    """How many labels of each class the T given counts for where all of it is learned."""

    @property
    def learns_held_out(self) -> bool:
        """Whether it learns T from labels held out: on those trained on p is too sure of itself."""
        return self.method.learns == "noise" or (self.method.learns == "free" and self.trust > 0)


class Patterns(NamedTuple):
    """The different likelihoods that rows have: log rest[m, y] + Σ_k counts[m, k] log T[y, k]."""

    log_rest: FloatArray
    counts: FloatArray


@dataclass
class Part:
    """The runs of one method, evaluated together."""

    method: Method
    runs: list[int]
    place: slice | list[int]
    learned: Tensor | None
    """The parameters in which they learn T, (runs, ...), and the gradient at them."""
    slope: Tensor | None
    pull: tuple[Tensor, Tensor] | None
    """Where all of T is learned: the trust of each run in the T that it starts from, and that T."""
    pending: list[Any] = field(default_factory=list)
    """What the losses of batches since the last `settle` will be found from."""


class Objective:
    """Each run's loss by its own method, the gradient at the logits, and what is learned of T.

    Attributes
    ----------
    learned : list
        Each run's parameters of T, with ``.grad``, or None: views of those of its method.
    shares : Tensor or None
        Share of each complementary label among all that are trained on; None takes the batch's.
        Methods of a whole batch need it: shares of a batch are so noisy that they rule the loss.
    patterns : tuple or None
        What labels stand for where they are more than one class each, set by `observe`: log rest
        and counts of `Patterns`, and the likelihoods under the T given, (K, M).
    """

    def __init__(self, runs: Sequence[Run], log_T: FloatArray, device: torch.device) -> None:
        self.log_T = torch.as_tensor(log_T, dtype=torch.float32, device=device)
        self.learned: list[Tensor | None] = [None] * len(runs)
        self.shares: Tensor | None = None
        self.n_labels = 1
        self.patterns: tuple[Tensor, Tensor, Tensor] | None = None
        self.parts = []
        for method in dict.fromkeys(run.method for run in runs):
            chosen = [i for i, run in enumerate(runs) if run.method == method]
            learned = slope = pull = None
            if method.learns:
                start = LEARNED[method.learns].start(log_T)
                learned = torch.as_tensor(np.stack([start] * len(chosen)), dtype=torch.float32)
                learned = learned.to(device)
                slope = torch.zeros_like(learned)
                for run, values, its_slope in zip(chosen, learned, slope, strict=True):
                    values.grad = its_slope
                    self.learned[run] = values
                trust = torch.tensor([runs[i].trust for i in chosen], device=device)
                if method.learns == "free" and trust.any():
                    pull = trust.reshape(-1, 1, 1), learned.softmax(-1)
            self.parts.append(Part(method, chosen, _as_slice(chosen), learned, slope, pull))

    def observe(self, y_comp: Tensor, weight: Tensor | None, patterns: Patterns | None) -> None:
        """Take note of all that is trained on."""
        self.n_labels = len(y_comp)
        if patterns is None:
            self.shares = shares_of(y_comp, weight, self.log_T.shape[-1])
            return
        device = self.log_T.device
        log_T = self.log_T.double().cpu().numpy()
        fixed = log_likelihoods(patterns.log_rest, patterns.counts, np.exp(log_T))
        log_rest, counts, columns = (
            torch.as_tensor(np.ascontiguousarray(a), dtype=torch.float32, device=device)
            for a in (patterns.log_rest, patterns.counts, fixed.T)
        )
        self.patterns = log_rest, counts, columns

    def give(self, run: int) -> None:
        """Leave what a run knows of T to whoever sets it: no gradient moves it any more."""
        own = self.learned[run]
        if own is not None:
            own.grad = None  # the optimiser passes it over
        for part in self.parts:
            those = [self.learned[i] for i in part.runs]
            if all(own is None or own.grad is None for own in those):
                part.slope = None

    def transition(self, run: int) -> FloatArray:
        """Return T as a run has it now."""
        log_T = self.log_T
        for part in self.parts:
            if run in part.runs and part.method.learns and part.learned is not None:
                at = part.runs.index(run)
                log_T = LEARNED[part.method.learns].log_matrix(part.learned, log_T)[at]
        return np.asarray(np.exp(log_T.double().cpu().numpy()))

    def parameters_of(self, run: int) -> AnyArray | None:
        """Return a copy of what a run has learned of T, in the parameters it is learned in."""
        learned = self.learned[run]
        return None if learned is None else learned.cpu().numpy().copy()

    def __call__(self, logits: Tensor, y_comp: Tensor, weight: Tensor | None) -> Tensor:
        """Return the gradient at the logits of B times each run's mean loss over the batch.

        The losses themselves wait for `settle`, where those of many batches are found at once.
        """
        if len(self.parts) == 1:
            return self._of_part(self.parts[0], logits, y_comp, weight)
        gradient = torch.empty_like(logits)  # in the order that logits have in memory
        for part in self.parts:
            gradient[part.place] = self._of_part(part, logits[part.place], y_comp, weight)
        return gradient

    def _of_part(self, part: Part, logits: Tensor, y_comp: Tensor, weight: Tensor | None) -> Tensor:
        method, log_T, own = part.method, self.log_T, part.learned
        shares = self.shares if method.shares is None else torch.tensor(method.shares)
        if method.whole_batch and shares is not None:
            weight = balanced(y_comp, weight, shares.to(y_comp.device))
        if method.learns and own is not None:
            own = own.detach().requires_grad_()
            log_T = LEARNED[method.learns].log_matrix(own, log_T)
        if method.gradient is None:
            return self._by_autograd(part, logits, y_comp, weight, log_T, own)
        if self.patterns is not None and own is None:
            log_T = self.patterns[2]
        elif self.patterns is not None:
            log_rest, counts = (a.index_select(0, y_comp).T for a in self.patterns[:2])
            log_T, y_comp = (
                log_rest + log_T @ counts,
                torch.arange(len(y_comp), device=log_T.device),
            )
        classes_first, fixed = logits.transpose(-1, -2), log_T.detach()
        if own is not None and part.slope is not None:
            at_T = gradients.at_transition(classes_first, y_comp, fixed, weight)
            (slope,) = torch.autograd.grad(log_T, own, at_T)
            torch.div(slope, len(y_comp), out=part.slope)
            self._pull_back(part)
        given = losses.inverse(fixed) if method.inverts else fixed
        if method.whole_batch:
            total, gradient = method.gradient(classes_first, y_comp, given, weight)
            part.pending.append(total)
        else:
            gradient = method.gradient(classes_first, y_comp, given)
            gradient = gradient if weight is None else gradient * weight
            part.pending.append((classes_first.clone(), y_comp, weight, fixed))
        return torch.as_tensor(gradient).transpose(-1, -2)

    def _pull_back(self, part: Part) -> None:
        """Add the gradient of trust/n Σ_y KL(T[y], T(W)[y]), the T it starts from against its own.

        That is what `trust` labels of each class would say which are distributed as T has them.
        """
        if part.pull is not None and part.slope is not None and part.learned is not None:
            trust, first = part.pull
            part.slope += trust / self.n_labels * (part.learned.softmax(-1) - first)

    def _by_autograd(
        self,
        part: Part,
        logits: Tensor,
        y_comp: Tensor,
        weight: Tensor | None,
        log_T: Tensor,
        own: Tensor | None,
    ) -> Tensor:
        z = logits.detach().requires_grad_()
        if part.method.whole_batch:
            total = part.method.loss(z, y_comp, log_T, weight) * len(y_comp)
            _check_shape(total, (len(z),))
        else:
            rows = part.method.loss(z, y_comp, log_T)
            _check_shape(rows, tuple(z.shape[:2]))
            total = (rows if weight is None else rows * weight).sum(-1)
        gradient, *others = torch.autograd.grad(total.sum(), [z] if own is None else [z, own])
        if part.slope is not None:
            torch.div(others[0], len(y_comp), out=part.slope)
            self._pull_back(part)
        part.pending.append(total.detach())
        return gradient

    @torch.no_grad()
    def settle(self) -> FloatArray:
        """Return the sum of losses of each batch since the last call, (batches, runs)."""
        found = np.zeros((len(self.parts[0].pending), len(self.learned)))
        for part in self.parts:
            sums = part.pending
            if sums and isinstance(sums[0], tuple):
                sums = _sums(part.method, sums)
            if sums:
                found[:, part.place] = torch.stack(sums).double().cpu().numpy()
            part.pending = []
        return found


def shares_of(y_comp: Tensor, weight: Tensor | None, n_classes: int) -> Tensor:
    """Return the share of each label, by weight."""
    counts = torch.bincount(y_comp, weight, minlength=n_classes).float()
    return counts / counts.sum()


def balanced(y_comp: Tensor, weight: Tensor | None, shares: Tensor) -> Tensor:
    """Return weights under which the labels of a batch have the given shares.

    A label that the batch lacks lacks its share.
    """
    mass = torch.bincount(y_comp, weight, minlength=len(shares))
    factors = torch.where(mass > 0, len(y_comp) * shares / mass, 0.0)[y_comp]
    return factors if weight is None else factors * weight


def _check_shape(loss: Tensor, shape: tuple[int, ...]) -> None:
    if not isinstance(loss, Tensor) or tuple(loss.shape) != shape:
        came = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
        raise ValueError(
            "method must return the loss of each row, with the leading dimensions of its logits: "
            f"shape {shape} here; got {came}. Do not take the mean, and work on the last dimension"
        )


def _sums(method: Method, waiting: list[Any]) -> list[Tensor]:
    """Return each batch's sum of losses, (runs,), from its logits, labels, weights and log T."""
    logits, y_comp, weight, log_T = zip(*waiting, strict=True)
    if method.learns is None:
        together = torch.cat(logits, 2).transpose(1, 2)  # still classes first in memory
        rows = method.loss(together, torch.cat(y_comp), log_T[0])
    else:  # each batch had another T
        batches = zip((z.transpose(1, 2) for z in logits), y_comp, log_T, strict=True)
        rows = torch.cat([method.loss(*batch) for batch in batches], 1)
    if weight[0] is not None:
        rows = rows * torch.cat(weight)
    ends = np.cumsum([len(y) for y in y_comp]).tolist()
    return [rows[:, a:b].sum(-1) for a, b in zip([0, *ends], ends, strict=False)]


def _as_slice(chosen: list[int]) -> slice | list[int]:
    """Return evenly spaced indices as a slice, which takes a view where a list takes a copy."""
    step = chosen[1] - chosen[0] if len(chosen) > 1 else 1
    evenly = slice(chosen[0], chosen[-1] + 1, step)
    return evenly if chosen == list(range(chosen[-1] + 1))[evenly] else chosen
