"""The objective of a stack of runs: losses, and their gradients at the logits and at T."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..labels.patterns import Patterns
from ..utils.typing import FloatArray
from .methods import Method, likelihoods, risks
from .transition_layer import Learner, TransitionLayer


@dataclass(frozen=True)
class Run:
    """The settings in which runs on the same rows differ."""

    method: Method
    learning_rate: float = 1e-3
    seed: Any = 0
    trust: float = 0.0
    """The weight of the T that training is passed as a prior, in labels per class."""
    decoder: Any = "max"
    """The decoder with which the run is evaluated."""

    @property
    def learns_held_out(self) -> bool:
        """Whether it estimates T on held-out labels, rather than learning it by gradients."""
        return self.method.learns == "noise" or (self.method.learns == "free" and self.trust > 0)


@dataclass
class Part:
    """Runs that are evaluated together: those of one method, or all whose loss is a likelihood."""

    runs: list[int]
    index: Tensor | None
    """Their positions among all runs; None if they are all runs."""
    pending: list[Tensor] = field(default_factory=list, init=False)
    """The sums of losses of the batches since the last `Objective.pop_losses`."""


@dataclass
class LikelihoodPart(Part):
    """Runs whose loss is -log Σ_y p[y] M[y, ȳ], each with its own M."""

    fixed: Tensor
    """log M of the runs that learn nothing of it, (matrices, K, K)."""
    learners: list[tuple[Learner, Tensor]]
    """The learners of T of the other runs, and their positions in this part."""
    which: Tensor | None
    """The matrix of each run, learned ones last; None if run i has matrix i or all have one."""


@dataclass
class MethodPart(Part):
    """Runs of one method whose loss is not a likelihood."""

    method: Method
    learner: Learner | None
    log_matrix: Tensor
    """The logarithm of the T that the loss uses."""
    gradient_input: Tensor
    """The form of T that the closed-form gradient uses: log T or T⁻¹."""
    shares: Tensor | None
    """The label shares that a method of a whole batch assumes; None for the training labels'."""


class Objective:
    """Each run's loss by its method, and the gradients at the logits and at the learned T.

    `observe` sets `shares`, the share of each complementary label among all training labels:
    methods of a whole batch need it, because the noise of the shares of a batch would dominate
    their loss. If labels are patterns, it sets `patterns` instead: the log rest and counts of
    `Patterns`, and the likelihoods under the T that was passed, (K, M). `ruled_out` are the classes
    that each label or pattern rules out, (K or M, K).
    """

    def __init__(self, runs: Sequence[Run], transition: TransitionLayer) -> None:
        self.transition = transition
        self.log_T = transition.log_T
        self.n_runs = len(runs)
        self.shares: Tensor | None = None
        self.n_labels = 1
        self.patterns: tuple[Tensor, Tensor, Tensor] | None = None
        self.ruled_out = torch.eye(len(self.log_T), dtype=torch.bool, device=self.log_T.device)
        self.parts: list[LikelihoodPart | MethodPart] = []
        for method in dict.fromkeys(run.method for run in runs):
            if not _is_likelihood(method):
                members = [i for i, run in enumerate(runs) if run.method == method]
                self.parts.append(self._method_part(method, members))
        members = [i for i, run in enumerate(runs) if _is_likelihood(run.method)]
        if members:
            self.parts.append(self._likelihood_part(members, [runs[i].method for i in members]))

    def _method_part(self, method: Method, members: list[int]) -> MethodPart:
        # T⁻¹ in double precision, so that the rank agrees with the warning about a singular T.
        log_T, invertible, shares = self.log_T, self.transition.exact_log_T, None
        if method.assumes is not None:
            assumed = np.array(method.assumes)
            with np.errstate(divide="ignore"):
                invertible = torch.as_tensor(np.log(assumed), dtype=torch.float32)
            log_T = invertible.to(log_T.device)
            if method.whole_batch:
                shares = torch.tensor(assumed.mean(axis=0).tolist(), device=log_T.device)
        return MethodPart(
            members,
            self._index(members),
            method,
            self.transition.learner_of(members),
            log_T,
            risks.inverse(invertible).to(log_T) if method.family == "risk" else log_T,
            shares,
        )

    def _likelihood_part(self, members: list[int], methods: Sequence[Method]) -> LikelihoodPart:
        fixed = list(dict.fromkeys(m.likelihood for m in methods if m.likelihood and not m.learns))
        learners = [each for each in self.transition.learners if each.runs[0] in members]
        order: list[Any] = [*fixed, *(run for learner in learners for run in learner.runs)]
        which = [
            order.index(run if method.learns else method.likelihood)
            for run, method in zip(members, methods, strict=True)
        ]
        trivial = len(order) == 1 or which == list(range(len(order)))
        device = self.log_T.device
        matrices = [likelihood(self.log_T) for likelihood in fixed]
        places = [
            torch.tensor([members.index(i) for i in learner.runs], device=device)
            for learner in learners
        ]
        return LikelihoodPart(
            members,
            self._index(members),
            torch.stack(matrices) if matrices else self.log_T.new_empty(0, *self.log_T.shape),
            list(zip(learners, places, strict=True)),
            None if trivial else torch.tensor(which, device=device),
        )

    def _index(self, members: list[int]) -> Tensor | None:
        if len(members) == self.n_runs:
            return None
        return torch.tensor(members, device=self.log_T.device)

    def observe(self, y_comp: Tensor, weight: Tensor | None, patterns: Patterns | None) -> None:
        """Set the values that the losses need from all training labels."""
        self.n_labels = len(y_comp)
        if patterns is None:
            self.shares = label_shares(y_comp, weight, self.log_T.shape[-1])
            return
        device = self.log_T.device
        fixed = patterns.log_likelihoods(np.exp(self.log_T.cpu().double().numpy()))
        log_rest, counts, columns = (
            torch.as_tensor(np.ascontiguousarray(a), dtype=torch.float32, device=device)
            for a in (*patterns, fixed.T)
        )
        self.patterns = log_rest, counts, columns
        self.ruled_out = counts > 0

    def __call__(self, logits: Tensor, y_comp: Tensor, weight: Tensor | None) -> Tensor:
        """Return the gradient at the logits of B times each run's mean loss over the batch.

        `pop_losses` returns the losses themselves.
        """
        classes_first = logits.transpose(-1, -2)
        gradient = torch.empty(0)
        if len(self.parts) > 1:
            gradient = torch.empty_like(classes_first)  # in the order that logits have in memory
        for part in self.parts:
            of_part = classes_first
            if part.index is not None:
                of_part = classes_first.index_select(0, part.index)
            if isinstance(part, LikelihoodPart):
                total, at_logits = self._likelihoods(part, of_part, y_comp, weight)
            else:
                total, at_logits = self._method(part, of_part, y_comp, weight)
            part.pending.append(total)
            if part.index is None:
                gradient = at_logits
            else:
                gradient.index_copy_(0, part.index, at_logits)
        return gradient.transpose(-1, -2)

    def _likelihoods(
        self, part: LikelihoodPart, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        loss, gradient, r = likelihoods.gradient(logits, self._columns(part, y_comp))
        learning = [pair for pair in part.learners if pair[0].gradient is not None]
        if learning:
            of_code = torch.eye(logits.shape[-2]) if self.patterns is None else self.patterns[1]
            counts = of_code.to(logits.device).index_select(0, y_comp).neg_()
            if weight is not None:
                counts *= weight.unsqueeze(-1)
            for learner, place in learning:
                at_matrix = r.index_select(0, place) @ counts
                at_T = learner.how.gradient(learner.parameters, self.log_T, at_matrix)
                learner.set_gradient(at_T, len(y_comp), self.n_labels)
        return _weighted_sum(loss, gradient, weight)

    def _columns(self, part: LikelihoodPart, y_comp: Tensor) -> Tensor:
        """Return log M[:, ȳ] of each run and row, (runs or 1, K, B)."""
        learned = [learner.log_matrices(self.log_T) for learner, _ in part.learners]
        if self.patterns is None:
            matrices = torch.cat([part.fixed, *learned]) if learned else part.fixed
            columns = matrices.gather(-1, y_comp.expand(*matrices.shape[:-1], -1))
        else:
            log_rest, counts = (a.index_select(0, y_comp).T for a in self.patterns[:2])
            fixed = self.patterns[2].index_select(-1, y_comp).expand(len(part.fixed), -1, -1)
            columns = torch.cat([fixed, *(log_rest + log_T @ counts for log_T in learned)])
        return columns if part.which is None else columns.index_select(0, part.which)

    def _method(
        self, part: MethodPart, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        method = part.method
        if method.whole_batch and not method.joint_labels:
            shares = self.shares if part.shares is None else part.shares
            weight = weight if shares is None else balanced(y_comp, weight, shares)
        if method.joint_labels:
            y_comp = self.ruled_out.index_select(0, y_comp)
        if method.gradient is None:
            return self._by_autograd(part, logits, y_comp, weight)
        if method.whole_batch:
            total, gradient = method.gradient(logits, y_comp, part.gradient_input, weight)
            return total, gradient
        loss, gradient = method.gradient(logits, y_comp, part.gradient_input)
        return _weighted_sum(loss, gradient, weight)

    def _by_autograd(
        self, part: MethodPart, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        method, learner, log_T = part.method, part.learner, part.log_matrix
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
        gradient, *at_parameters = torch.autograd.grad(total.sum(), inputs)
        if learner is not None:
            learner.set_gradient(at_parameters[0], len(y_comp), self.n_labels)
        return total.detach(), gradient.transpose(-1, -2)

    def pop_losses(self) -> FloatArray:
        """Return the sum of losses of each batch since the last call, (batches, runs)."""
        sums = np.zeros((len(self.parts[0].pending), self.n_runs))
        for part in self.parts:
            if part.pending:
                sums[:, part.runs] = torch.stack(part.pending).cpu().double().numpy()
            part.pending = []
        return sums


def label_shares(y_comp: Tensor, weight: Tensor | None, n_classes: int) -> Tensor:
    """Return the share of each label, by weight."""
    counts = torch.bincount(y_comp, weight, minlength=n_classes).float()
    return counts / counts.sum()


def balanced(y_comp: Tensor, weight: Tensor | None, shares: Tensor) -> Tensor:
    """Return weights under which the labels of a batch have the given shares.

    The share of a label that is missing in the batch is not distributed over the others.
    """
    mass = torch.bincount(y_comp, weight, minlength=len(shares))
    factors = (len(y_comp) * shares / mass).index_select(0, y_comp)
    return factors if weight is None else torch.where(weight > 0, factors * weight, 0.0)


def _is_likelihood(method: Method) -> bool:
    return method.likelihood is not None and method.assumes is None


def _check_shape(loss: Tensor, shape: tuple[int, ...]) -> None:
    if not isinstance(loss, Tensor) or tuple(loss.shape) != shape:
        came = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
        raise ValueError(
            "method must return the loss of each row, with the leading dimensions of its logits: "
            f"shape {shape} here; got {came}. Do not take the mean, and work on the last dimension"
        )


def _weighted_sum(loss: Tensor, gradient: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the rows' losses, and its gradient."""
    if weight is not None:
        loss, gradient = loss * weight, gradient * weight
    return loss.sum(-1), gradient
