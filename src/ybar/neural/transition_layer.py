"""The transition layer of networks: the T of each run, passed in or learned with the weights.

A learned T has a parametrisation: "free" (all of T) or "noise" (one noise level λ). Gradients move
its parameters from batch to batch. "noise", and "free" with trust in the T that was passed, are
re-estimated on held-out labels after each epoch instead, once p is informative
(`HeldOutUpdates`): on the training labels, p is overconfident.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..metrics.transition_profile import TransitionProfile
from ..transition.building import with_uniform_noise
from ..utils.typing import AnyArray, FloatArray, IntArray
from .samples import Samples
from .transition_errors import HeldOutErrors
from .transition_estimate import TransitionEstimate

if TYPE_CHECKING:
    from .objective import Run

# The start of an entry of T that is 0: a softmax is never 0.
SMALLEST_ENTRY = 1e-4
# The start of the noise level: it would rise slowly from far below, but falls fast from above.
FIRST_NOISE = 0.3

_SMALLEST_NOISE = 1e-4
# The number of steps that the mean of the weights covers.
_STEPS_BEFORE_ESTIMATES = 1000


class Parametrisation(NamedTuple):
    """How a transition matrix is learned."""

    start: Callable[[FloatArray], FloatArray]
    """Maps log T to the parameters that training starts from."""
    log_matrix: Callable[[Tensor, Tensor], Tensor]
    """Maps the parameters and log T to the logarithm of the learned matrix."""
    gradient: Callable[[Tensor, Tensor, Tensor], Tensor]
    """Maps the parameters, log T and the gradient at `log_matrix` to that at the parameters."""
    relative_rate: float
    """Learning rate of the parameters, in units of that of the weights."""


def start_free(log_T: FloatArray) -> FloatArray:
    """Return W with row-softmax(W) = T, entries of 0 at `SMALLEST_ENTRY` so that they can rise."""
    return np.maximum(log_T, np.log(SMALLEST_ENTRY))


def log_free(W: Tensor, log_T: Tensor) -> Tensor:
    """Return log T(W) = log row-softmax(W)."""
    return W.log_softmax(-1)


def gradient_free(W: Tensor, log_T: Tensor, at_matrix: Tensor) -> Tensor:
    """Return the gradient at W from the gradient at log T(W)."""
    return at_matrix - W.softmax(-1) * at_matrix.sum(-1, keepdim=True)


def start_noise(log_T: FloatArray) -> FloatArray:
    """Return a with λ = sigmoid(a) = `FIRST_NOISE`."""
    return np.array([np.log(FIRST_NOISE) - np.log1p(-FIRST_NOISE)])


def log_noise(a: Tensor, log_T: Tensor) -> Tensor:
    """Return log T(λ) = log((1-λ)T + λ/K) with λ = sigmoid(a)."""
    a = a.unsqueeze(-1)
    uniform = functional.logsigmoid(a) - np.log(log_T.shape[-1])
    return torch.logaddexp(functional.logsigmoid(-a) + log_T, uniform)


def gradient_noise(a: Tensor, log_T: Tensor, at_matrix: Tensor) -> Tensor:
    """Return the gradient at a, from that at log T(λ): its product with λ(1-λ)(1/K - T)/T(λ)."""
    level = a.sigmoid().unsqueeze(-1)
    by_level = (1 / log_T.shape[-1] - log_T.exp()) * (-log_noise(a, log_T)).exp()
    return ((level * (1 - level)) * by_level * at_matrix).sum((-2, -1)).unsqueeze(-1)


PARAMETRISATIONS = {
    "free": Parametrisation(start_free, log_free, gradient_free, 1.0),
    # A single number, informed by every row: it should converge before the weights.
    "noise": Parametrisation(start_noise, log_noise, gradient_noise, 10.0),
}


class Learner:
    """The learned T of those runs of a stack that share a method.

    `runs` are their positions in the stack. `gradient` is that at the `parameters`; it is None once
    gradients no longer learn any of them.
    """

    def __init__(
        self,
        how: Parametrisation,
        runs: list[int],
        trusts: Sequence[float],
        log_T: FloatArray,
        device: torch.device,
    ) -> None:
        self.how, self.runs = how, runs
        start = np.stack([how.start(log_T)] * len(runs))
        self.parameters = torch.as_tensor(start, dtype=torch.float32).to(device)
        self.gradient: Tensor | None = torch.zeros_like(self.parameters)
        self.by_run = list(self.parameters)
        for parameters, gradient in zip(self.by_run, self.gradient, strict=True):
            parameters.grad = gradient
        self.prior: tuple[Tensor, Tensor] | None = None
        trust = torch.tensor(list(trusts), device=device)
        if trust.any():
            self.prior = trust.reshape(-1, 1, 1), self.parameters.softmax(-1)

    def log_matrices(self, log_T: Tensor) -> Tensor:
        """Return the current log T of each run."""
        return self.how.log_matrix(self.parameters, log_T)

    def set_gradient(self, summed: Tensor, n_rows: int, n_labels: int) -> None:
        """Set the gradient from that of a batch's sum of losses, and add that of the prior.

        The prior adds trust/n Σ_y KL(T[y], T(W)[y]), with T the first matrix: the loss of `trust`
        labels per class that are distributed as in T.
        """
        if self.gradient is None:
            return
        torch.div(summed, n_rows, out=self.gradient)
        if self.prior is not None:
            trust, first = self.prior
            self.gradient += trust / n_labels * (self.parameters.softmax(-1) - first)

    def freeze(self, run: int) -> Tensor:
        """Return the parameters of a run, which gradients do not change from now on."""
        parameters: Tensor = self.by_run[self.runs.index(run)]
        parameters.grad = None  # the optimiser skips it
        if all(parameters.grad is None for parameters in self.by_run):
            self.gradient = None
        return parameters


class TransitionLayer:
    """The T of each run of a stack, with one `Learner` per method that learns T.

    `parameters` are those of each run, with ``.grad``; None if the run does not learn T.
    """

    def __init__(self, runs: Sequence[Run], log_T: FloatArray, device: torch.device) -> None:
        self.exact_log_T = torch.from_numpy(log_T)
        self.log_T = torch.as_tensor(log_T, dtype=torch.float32, device=device)
        self.learners: list[Learner] = []
        self.parameters: list[Tensor | None] = [None] * len(runs)
        for method in dict.fromkeys(run.method for run in runs if run.method.learns):
            members = [i for i, run in enumerate(runs) if run.method == method]
            free = method.learns == "free"
            trusts = [runs[i].trust if free else 0.0 for i in members]
            how = PARAMETRISATIONS[str(method.learns)]
            learner = Learner(how, members, trusts, log_T, device)
            self.learners.append(learner)
            for run, parameters in zip(members, learner.by_run, strict=True):
                self.parameters[run] = parameters

    def learner_of(self, runs: Sequence[int]) -> Learner | None:
        """Return the learner of T of the runs of a method; None if T is fixed."""
        return next((learner for learner in self.learners if learner.runs == list(runs)), None)

    def matrix(self, run: int) -> FloatArray:
        """Return the current T of a run."""
        log_T = self.log_T
        for learner in self.learners:
            if run in learner.runs:
                log_T = learner.log_matrices(log_T)[learner.runs.index(run)]
        return np.asarray(np.exp(log_T.cpu().double().numpy()))

    def learned(self, run: int, estimate: TransitionEstimate | None) -> LearnedTransition | None:
        """Return a copy of the learned T of a run, with the estimate that it comes from."""
        parameters = self.parameters[run]
        if parameters is None:
            return None
        return LearnedTransition(self.matrix(run), parameters.cpu().numpy().copy(), estimate)

    def freeze(self, run: int) -> Tensor:
        """Return the parameters of a run, which gradients do not change from now on."""
        return next(learner for learner in self.learners if run in learner.runs).freeze(run)


class LearnedTransition(NamedTuple):
    """The learned T of a run."""

    matrix: FloatArray
    parameters: AnyArray
    estimate: TransitionEstimate | None
    """The estimate on held-out labels; None if gradients learned T."""

    @property
    def noise_level(self) -> float:
        """λ, of the parametrisation "noise"."""
        if self.estimate is not None:
            return self.estimate.noise_level
        return float(1 / (1 + np.exp(-self.parameters[0])))

    def profile(self, trust: float) -> dict[str, Any] | None:
        """Return the fields of a `TransitionProfile`; None unless held-out labels estimated T."""
        if self.estimate is None:
            return None
        errors = self.estimate.errors(self.matrix if trust else None, trust)
        unknown = TransitionProfile.unknown(self.matrix)
        return (unknown if errors is None else errors.profile)._asdict()


@dataclass
class Judgement:
    """The T that the held-out labels of a run are evaluated with."""

    estimate: TransitionEstimate | None = None
    """None for a run that does not estimate T on held-out labels."""
    provisional: bool = False
    """Whether T is still to be estimated, so that later epochs use another T."""
    parameters: FloatArray | None = None
    """The new parameters of T, if it was estimated."""
    halves: Sequence[tuple[IntArray, FloatArray]] = ()
    """Positions of labels, and the T that was estimated on the other labels."""
    errors: HeldOutErrors | None = None
    """The uncertainty of the estimated T, by held-out row."""


class HeldOutUpdates:
    """Estimates T on held-out labels after each epoch, for the runs that learn it so.

    T is estimated on the labels `estimation`, those of a row together where possible.
    `validation_rows` holds the row of each label of the validation loss, and `n_steps` is the
    number of steps of the whole training.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        T: FloatArray,
        estimation: Samples,
        validation_rows: IntArray,
        n_steps: int,
    ) -> None:
        self.runs, self.T, self.samples = runs, T, estimation
        held_out, self.positions = np.unique(validation_rows, return_inverse=True)
        self.at = np.searchsorted(held_out, estimation.rows)
        # An uninformative p is consistent with any noise level, and if T has no noise the network
        # must stay uninformative.
        self.first_step = min(_STEPS_BEFORE_ESTIMATES, n_steps / 2)

    def starts(self) -> dict[int, FloatArray]:
        """Return the parameters that runs hold fixed until their first estimate."""
        start = np.log(with_uniform_noise(self.T, FIRST_NOISE))
        return {
            i: start
            for i, run in enumerate(self.runs)
            if run.method.learns == "free" and run.learns_held_out
        }

    def judge(self, run: int, logits: AnyArray, step: int) -> Judgement:
        """Return the T to evaluate a run with after a step, and its new parameters if any."""
        how = self.runs[run]
        if not how.learns_held_out:
            return Judgement()
        _, k, weight, patterns = self.samples
        estimate = TransitionEstimate(logits[self.at], k, weight, self.T, patterns)
        if step < self.first_step:
            return Judgement(estimate, provisional=True)
        if how.method.learns == "noise":
            level = min(max(estimate.noise_level, _SMALLEST_NOISE), 1 - _SMALLEST_NOISE)
            parameters, halves = np.array([math.log(level) - math.log1p(-level)]), []
            errors = estimate.errors()
        else:
            matrices = estimate.cross_fitted(self.at, how.trust)
            halves = [(np.flatnonzero(self.positions % 2 == i), T) for i, T in enumerate(matrices)]
            matrix = estimate.matrix(how.trust)
            parameters, errors = np.log(matrix), estimate.errors(matrix, how.trust)
        by_row = None if errors is None else errors.by_row(self.at, len(logits))
        return Judgement(estimate, False, parameters, halves, by_row)
