"""What runs minimise: each by its own method, and what some of them learn of T on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..labels.patterns import log_likelihoods
from ..utils.typing import AnyArray, FloatArray
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


class Learner:
    """The runs of a method that learn T: their parameters of it, and the gradient at these.

    Attributes
    ----------
    parameters : Tensor of shape (runs, ...)
    slope : Tensor or None
        The gradient; None once nothing moves by it.
    """

    def __init__(
        self, method: Method, runs: Sequence[Run], log_T: FloatArray, device: torch.device
    ) -> None:
        self.how = LEARNED[str(method.learns)]
        start = np.stack([self.how.start(log_T)] * len(runs))
        self.parameters = torch.as_tensor(start, dtype=torch.float32).to(device)
        self.slope: Tensor | None = torch.zeros_like(self.parameters)
        self.pull: tuple[Tensor, Tensor] | None = None
        trust = torch.tensor([run.trust for run in runs], device=device)
        if method.learns == "free" and trust.any():
            self.pull = trust.reshape(-1, 1, 1), self.parameters.softmax(-1)

    def of_run(self, at: int) -> Tensor:
        """Return a run's parameters, a view of those of all, with ``.grad``."""
        values = self.parameters[at]
        values.grad = None if self.slope is None else self.slope[at]
        return values

    def log_matrix(self, log_T: Tensor) -> Tensor:
        """Return log T of each run as it is now."""
        return self.how.log_matrix(self.parameters, log_T)

    def set_slope(self, slope: Tensor, n_rows: int, n_labels: int) -> None:
        """Take note of the gradient of a batch's sum of losses, and of what pulls T back.

        That is the gradient of trust/n Σ_y KL(T[y], T(W)[y]), the T it starts from against its own:
        what `trust` labels of each class would say which are distributed as T has them.
        """
        if self.slope is None:
            return
        torch.div(slope, n_rows, out=self.slope)
        if self.pull is not None:
            trust, first = self.pull
            self.slope += trust / n_labels * (self.parameters.softmax(-1) - first)


@dataclass
class Part:
    """Runs that are evaluated together: those of one method, or all whose loss is a likelihood."""

    runs: list[int]
    place: slice | Tensor | None
    """Where they are among all runs; None if they are all."""
    pending: list[Tensor] = field(default_factory=list, init=False)
    """The sums of losses of batches since the last `settle`."""

    def of(self, values: Tensor) -> Tensor:
        """Return what belongs to these runs."""
        if isinstance(self.place, Tensor):
            return values.index_select(0, self.place)
        return values if self.place is None else values[self.place]

    def put(self, values: Tensor, into: Tensor) -> None:
        """Write it where it belongs."""
        if isinstance(self.place, Tensor):
            into.index_copy_(0, self.place, values)
        else:
            into[self.place or slice(None)] = values


@dataclass
class Likelihoods(Part):
    """Runs whose loss is -log Σ_y p[y] M[y, ȳ], each with its M."""

    fixed: Tensor
    """log M of those that learn nothing of it, (matrices, K, K)."""
    learners: list[tuple[Learner, slice | list[int]]]
    """Those that learn T, with their places in this part."""
    which: Tensor | None
    """Which matrix each run has, the learned ones coming last; None where that is no question."""


@dataclass
class OneMethod(Part):
    """Runs of a method with a loss of its own."""

    method: Method
    learner: Learner | None
    given: Tensor
    """What its gradient in closed form is given of T."""
    shares: Tensor | None
    """Of a method of a whole batch: the shares of labels that it assumes."""


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
        self.shares: Tensor | None = None
        self.n_labels = 1
        self.patterns: tuple[Tensor, Tensor, Tensor] | None = None
        self.learned: list[Tensor | None] = [None] * len(runs)
        self.learners: list[tuple[Learner, list[int]]] = []
        self.parts: list[Likelihoods | OneMethod] = []
        for method in dict.fromkeys(run.method for run in runs):
            chosen = [i for i, run in enumerate(runs) if run.method == method]
            learner = None
            if method.learns:
                learner = Learner(method, [runs[i] for i in chosen], log_T, device)
                self.learners.append((learner, chosen))
                for at, i in enumerate(chosen):
                    self.learned[i] = learner.of_run(at)
            if method.likelihood is None:
                shares = None if method.shares is None else torch.tensor(method.shares)
                self.parts.append(
                    OneMethod(
                        chosen,
                        _place(chosen, len(runs), device),
                        method,
                        learner,
                        # From T in double precision: what is singular is what we warn of.
                        losses.inverse(torch.from_numpy(log_T)).to(self.log_T)
                        if method.inverts
                        else self.log_T,
                        None if shares is None else shares.to(device),
                    )
                )
        likely = [i for i, run in enumerate(runs) if run.method.likelihood]
        if likely:
            self.parts.append(self._together(runs, likely))

    def _together(self, runs: Sequence[Run], likely: list[int]) -> Likelihoods:
        methods = [runs[i].method for i in likely]
        fixed = list(dict.fromkeys(m.likelihood for m in methods if m.likelihood and not m.learns))
        learners = [(learner, own) for learner, own in self.learners if own[0] in likely]
        order: list[Any] = [*fixed, *(i for _, own in learners for i in own)]
        which = [
            order.index(i if m.learns else m.likelihood)
            for i, m in zip(likely, methods, strict=True)
        ]
        no_question = len(order) == 1 or which == list(range(len(order)))
        device = self.log_T.device
        matrices = [of(self.log_T) for of in fixed]
        return Likelihoods(
            likely,
            _place(likely, len(runs), device),
            torch.stack(matrices) if matrices else self.log_T.new_empty(0, *self.log_T.shape),
            [(learner, _as_slice([likely.index(i) for i in own])) for learner, own in learners],
            None if no_question else torch.tensor(which, device=device),
        )

    def observe(self, y_comp: Tensor, weight: Tensor | None, patterns: Patterns | None) -> None:
        """Take note of all that is trained on."""
        self.n_labels = len(y_comp)
        if patterns is None:
            self.shares = shares_of(y_comp, weight, self.log_T.shape[-1])
            return
        device = self.log_T.device
        log_T = self.log_T.cpu().double().numpy()
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
        for learner, chosen in self.learners:
            those = [self.learned[i] for i in chosen]
            if all(own is None or own.grad is None for own in those):
                learner.slope = None

    def transition(self, run: int) -> FloatArray:
        """Return T as a run has it now."""
        log_T = self.log_T
        for learner, chosen in self.learners:
            if run in chosen:
                log_T = learner.log_matrix(log_T)[chosen.index(run)]
        return np.asarray(np.exp(log_T.cpu().double().numpy()))

    def parameters_of(self, run: int) -> AnyArray | None:
        """Return a copy of what a run has learned of T, in the parameters it is learned in."""
        learned = self.learned[run]
        return None if learned is None else learned.cpu().numpy().copy()

    def __call__(self, logits: Tensor, y_comp: Tensor, weight: Tensor | None) -> Tensor:
        """Return the gradient at the logits of B times each run's mean loss over the batch.

        The losses themselves wait for `settle`.
        """
        classes_first = logits.transpose(-1, -2)
        gradient = torch.empty(0)
        if len(self.parts) > 1:
            gradient = torch.empty_like(classes_first)  # in the order that logits have in memory
        for part in self.parts:
            own = part.of(classes_first)
            if isinstance(part, Likelihoods):
                total, found = self._likelihoods(part, own, y_comp, weight)
            else:
                total, found = self._of_method(part, own, y_comp, weight)
            part.pending.append(total)
            if len(self.parts) > 1:
                part.put(found, gradient)
            else:
                gradient = found
        return gradient.transpose(-1, -2)

    def _likelihoods(
        self, part: Likelihoods, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        loss, gradient, r = gradients.likelihood(logits, self._columns(part, y_comp))
        moving = [(learner, place) for learner, place in part.learners if learner.slope is not None]
        if moving:
            of_code = torch.eye(logits.shape[-2]) if self.patterns is None else self.patterns[1]
            counts = of_code.to(logits.device).index_select(0, y_comp).neg_()
            if weight is not None:
                counts *= weight.unsqueeze(-1)
            for learner, place in moving:
                slope = learner.how.slope(learner.parameters, self.log_T, r[place] @ counts)
                learner.set_slope(slope, len(y_comp), self.n_labels)
        return _weighed(loss, gradient, weight)

    def _columns(self, part: Likelihoods, y_comp: Tensor) -> Tensor:
        """Return log M[:, ȳ] of each run and row, (runs or 1, K, B)."""
        learned = [learner.log_matrix(self.log_T) for learner, _ in part.learners]
        if self.patterns is None:
            matrices = torch.cat([part.fixed, *learned]) if learned else part.fixed
            columns = matrices.gather(-1, y_comp.expand(*matrices.shape[:-1], -1))
        else:
            log_rest, counts = (a.index_select(0, y_comp).T for a in self.patterns[:2])
            fixed = self.patterns[2].index_select(-1, y_comp).expand(len(part.fixed), -1, -1)
            columns = torch.cat([fixed, *(log_rest + log_T @ counts for log_T in learned)])
        return columns if part.which is None else columns.index_select(0, part.which)

    def _of_method(
        self, part: OneMethod, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        method = part.method
        if method.whole_batch:
            shares = self.shares if part.shares is None else part.shares
            weight = weight if shares is None else balanced(y_comp, weight, shares)
        if method.gradient is None:
            return self._by_autograd(part, logits, y_comp, weight)
        if method.whole_batch:
            total, gradient = method.gradient(logits, y_comp, part.given, weight)
            return total, gradient
        loss, gradient = method.gradient(logits, y_comp, part.given)
        return _weighed(loss, gradient, weight)

    def _by_autograd(
        self, part: OneMethod, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        method, learner, log_T = part.method, part.learner, self.log_T
        z = logits.transpose(-1, -2).detach().requires_grad_()
        inputs = [z]
        if learner is not None:
            inputs.append(learner.parameters.detach().requires_grad_())
            log_T = learner.how.log_matrix(inputs[1], log_T)
        if method.whole_batch:
            total = method.loss(z, y_comp, log_T, weight) * len(y_comp)
            _check_shape(total, (len(z),))
        else:
            rows = method.loss(z, y_comp, log_T)
            _check_shape(rows, tuple(z.shape[:2]))
            total = (rows if weight is None else rows * weight).sum(-1)
        gradient, *others = torch.autograd.grad(total.sum(), inputs)
        if learner is not None:
            learner.set_slope(others[0], len(y_comp), self.n_labels)
        return total.detach(), gradient.transpose(-1, -2)

    def settle(self) -> FloatArray:
        """Return the sum of losses of each batch since the last call, (batches, runs)."""
        found = np.zeros((len(self.parts[0].pending), len(self.learned)))
        for part in self.parts:
            if part.pending:
                found[:, part.runs] = torch.stack(part.pending).cpu().double().numpy()
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
    factors = (len(y_comp) * shares / mass).index_select(0, y_comp)
    return factors if weight is None else torch.where(weight > 0, factors * weight, 0.0)


def _check_shape(loss: Tensor, shape: tuple[int, ...]) -> None:
    if not isinstance(loss, Tensor) or tuple(loss.shape) != shape:
        came = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
        raise ValueError(
            "method must return the loss of each row, with the leading dimensions of its logits: "
            f"shape {shape} here; got {came}. Do not take the mean, and work on the last dimension"
        )


def _weighed(loss: Tensor, gradient: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the sum of the rows' losses, and its gradient."""
    if weight is not None:
        loss, gradient = loss * weight, gradient * weight
    return loss.sum(-1), gradient


def _place(chosen: list[int], n_runs: int, device: torch.device) -> slice | Tensor | None:
    """Return where these are among all runs."""
    place = None if len(chosen) == n_runs else _as_slice(chosen)
    return torch.tensor(place, device=device) if isinstance(place, list) else place


def _as_slice(chosen: list[int]) -> slice | list[int]:
    """Return evenly spaced indices as a slice, which takes a view where a list takes a copy."""
    step = chosen[1] - chosen[0] if len(chosen) > 1 else 1
    evenly = slice(chosen[0], chosen[-1] + 1, step)
    return evenly if chosen == list(range(chosen[-1] + 1))[evenly] else chosen
