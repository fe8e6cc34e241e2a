"""The methods: what each one minimises, as a short function of the logits.

Every loss takes ``(logits, y_comp, log_T)``: logits g of shape (..., B, K), complementary labels of
shape (B,), and the logarithm of the transition matrix, (K, K) or one for each leading index. It
returns the loss of each row, (..., B). Leading dimensions are runs of a population. Throughout
p = softmax(g) and ℓ(p, k) = -log p[k]; nothing leaves log space before it must, so that losses and
gradients are finite at any finite logits and where T has zeros.

A method of your own is a function and one line, see `register`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .. import decode
from ..utils import checks
from ..utils.typing import FloatArray
from . import gradients

__all__ = ["METHODS", "Method", "find", "register"]

Loss: TypeAlias = Callable[..., Tensor]

# Where a learned transition matrix starts for an entry that is 0: softmax has no 0 to start from.
SMALLEST_ENTRY = 1e-4
# Where a learned noise level starts. From far below it is slow to rise, from above it falls fast.
FIRST_NOISE = 0.3


def forward(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return -log (Tᵀp)[ȳ], the forward correction; ``fwd`` and ``cpe-f`` share it."""
    log_p = _classes_first(logits).log_softmax(-2)
    return -(log_p + log_T.index_select(-1, y_comp)).logsumexp(-2)


def complementary(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return -log p[ȳ], p standing for q: ``cpe-i`` learns the complementary labels as they are."""
    return -_of_label(_classes_first(logits).log_softmax(-2), y_comp)


def surrogate_log(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return -log(1 - p[ȳ]), of the surrogate complementary losses (``scl-nl``).

    1 - p[ȳ] is the sum of the other classes' p. With uniform T this is ``fwd`` less log(K-1).
    """
    log_p = _classes_first(logits).log_softmax(-2)
    return -log_p.scatter(-2, _index(log_p, y_comp), -torch.inf).logsumexp(-2)


def surrogate_exp(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return exp(p[ȳ]), of the surrogate complementary losses (``scl-exp``)."""
    return _of_label(_classes_first(logits).softmax(-2), y_comp).exp()


def discriminative_unweighted(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return -log s[ȳ] with r = 1 - p and s = softmax(r) (``dm-unweighted``)."""
    r = 1 - _classes_first(logits).softmax(-2)
    return -_of_label(r.log_softmax(-2), y_comp)


def discriminative(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return -(1 + r[ȳ]/(K-1)) log s[ȳ] with r = 1 - p and s = softmax(r) (``dm``, weighted)."""
    r = 1 - _classes_first(logits).softmax(-2)
    weight = 1 + _of_label(r, y_comp) / (logits.shape[-1] - 1)
    return -weight * _of_label(r.log_softmax(-2), y_comp)


def unbiased_parts(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return (T⁻¹)[ȳ, k] ℓ(p, k), each row's share of the risk of every ordinary class k."""
    return -inverse(log_T).index_select(-2, y_comp) * logits.log_softmax(-1)


def unbiased(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return Σ_k (T⁻¹)[ȳ, k] ℓ(p, k): its mean estimates the ordinary risk without bias (``ure``).

    With uniform T this is Σ_k ℓ(p, k) - (K-1) ℓ(p, ȳ).
    """
    return unbiased_parts(logits, y_comp, log_T).sum(-1)


def unbiased_non_negative(
    logits: Tensor, y_comp: Tensor, log_T: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Return Σ_k max(0, R_k) of a batch (``ure-nn``).

    R_k = Σ_j π̄_j (T⁻¹)[j, k] · mean of ℓ(p, k) over the rows with ȳ = j: the mean of
    `unbiased_parts`. π̄_j is the share of such rows in the batch, by weight; training weighs rows
    so that it is the share in all that is trained on (`objective.balanced`). A class missing from
    the batch adds 0.
    """
    return _mean(unbiased_parts(logits, y_comp, log_T), weight).clamp(min=0).sum(-1)


def unbiased_gradient_ascent(
    logits: Tensor, y_comp: Tensor, log_T: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Return Σ_k R_k of a batch, but -Σ_k min(0, R_k) where some R_k < 0 (``ure-ga``).

    R_k is that of ``ure-nn``. A step on the second form raises the negative parts: gradient
    ascent on what cannot be negative for the true risk.
    """
    parts = _mean(unbiased_parts(logits, y_comp, log_T), weight)
    return torch.where((parts < 0).any(-1), -parts.clamp(max=0).sum(-1), parts.sum(-1))


def _classes_first(logits: Tensor) -> Tensor:
    """Return (..., K, B): the order in memory of a dense network's logits, and the faster one."""
    return logits.transpose(-1, -2)


def _index(values: Tensor, y_comp: Tensor) -> Tensor:
    return y_comp.expand(*values.shape[:-2], 1, -1)


def _of_label(values: Tensor, y_comp: Tensor) -> Tensor:
    """Return each row's entry at its label, of values with classes first."""
    return values.gather(-2, _index(values, y_comp)).squeeze(-2)


def _mean(parts: Tensor, weight: Tensor | None) -> Tensor:
    return parts.mean(-2) if weight is None else (parts * weight.unsqueeze(-1)).mean(-2)


def inverse(log_T: Tensor) -> Tensor:
    """Return T⁻¹, or the pseudo-inverse of a T that is singular to the precision of `log_T`."""
    array = log_T.detach().cpu()
    return _inverse_of(array.numpy().tobytes(), tuple(array.shape), log_T.dtype).to(log_T.device)


@functools.lru_cache(maxsize=16)
def _inverse_of(log_T: bytes, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    kind = np.float64 if dtype == torch.float64 else np.float32
    matrices = np.exp(np.frombuffer(log_T, kind).astype(np.float64)).reshape(shape)
    found = np.linalg.pinv(matrices, rcond=10 * shape[-1] * np.finfo(kind).eps)
    return torch.as_tensor(found, dtype=dtype)


def start_free(log_T: FloatArray) -> FloatArray:
    """Return W with row-softmax(W) = T, entries of 0 at `SMALLEST_ENTRY` so that they can grow."""
    return np.maximum(log_T, np.log(SMALLEST_ENTRY))


def log_free(W: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return log T(W) = log row-softmax(W)."""
    return W.log_softmax(-1)


def start_noise(log_T: FloatArray) -> FloatArray:  # noqa: ARG001
    """Return a with λ = sigmoid(a) = `FIRST_NOISE`."""
    return np.array([np.log(FIRST_NOISE) - np.log1p(-FIRST_NOISE)])


def log_noise(a: Tensor, log_T: Tensor) -> Tensor:
    """Return log T(λ) = log((1-λ)T + λ/K) with λ = sigmoid(a)."""
    a = a.unsqueeze(-1)
    uniform = functional.logsigmoid(a) - np.log(log_T.shape[-1])
    return torch.logaddexp(functional.logsigmoid(-a) + log_T, uniform)


def slope_free(W: Tensor, log_T: Tensor, at: Tensor) -> Tensor:  # noqa: ARG001
    """Return the gradient at W, given that at log T(W)."""
    return at - W.softmax(-1) * at.sum(-1, keepdim=True)


def slope_noise(a: Tensor, log_T: Tensor, at: Tensor) -> Tensor:
    """Return the gradient at a, given that at log T(λ): Σ of it times λ(1-λ)(1/K - T)/T(λ)."""
    level = a.sigmoid().unsqueeze(-1)
    by_level = (1 / log_T.shape[-1] - log_T.exp()) * (-log_noise(a, log_T)).exp()
    return ((level * (1 - level)) * by_level * at).sum((-2, -1)).unsqueeze(-1)


class Learned(NamedTuple):
    """How a transition matrix is learned."""

    start: Callable[[FloatArray], FloatArray]
    """From the logarithm of the T given to the parameters that training starts from."""
    log_matrix: Callable[[Tensor, Tensor], Tensor]
    """From the parameters and log T to the logarithm of the matrix they stand for."""
    slope: Callable[[Tensor, Tensor, Tensor], Tensor]
    """From the parameters, log T and the gradient at `log_matrix` to that at the parameters."""
    pace: float
    """Learning rate of the parameters, in units of that of the weights."""


LEARNED = {
    "free": Learned(start_free, log_free, slope_free, 1.0),
    # One number, known from every row: it should be where it belongs before the weights are.
    "noise": Learned(start_noise, log_noise, slope_noise, 10.0),
}


def given(log_T: Tensor) -> Tensor:
    """Return log T: what `forward` says of a class is T."""
    return log_T


def label_alone(log_T: Tensor) -> Tensor:
    """Return log I: to `complementary` p is the probability of labels itself."""
    return torch.eye(log_T.shape[-1], dtype=log_T.dtype, device=log_T.device).log_()


def all_but_label(log_T: Tensor) -> Tensor:
    """Return log(1 - I): to `surrogate_log` a class is any but the label."""
    return (1 - torch.eye(log_T.shape[-1], dtype=log_T.dtype, device=log_T.device)).log_()


@dataclass(frozen=True)
class Method:
    """What the library must know of a method.

    Attributes
    ----------
    loss : callable
        Of (logits, y_comp, log_T), giving the loss of each row.
    estimates : {"p", "q"}
        Whether softmax(logits) are ordinary or complementary probabilities.
    decoder : str
        How its predictions are made unless the user says otherwise; "max" is argmax of its own p.
    learns : {None, "free", "noise"}
        Whether T itself is learned: all of it, or a share of uniform noise on it.
    whole_batch : bool
        The loss takes weights (mean 1) as a fourth argument and returns one number for the batch.
    inverts : bool
        The loss needs T⁻¹: a warning tells of a T that has none.
    likelihood : callable or None
        From log T to log M, where the loss is -log Σ_y p[y] M[y, ȳ]: all such methods are evaluated
        together. Where T is learned too, it is `given`.
    gradient : callable or None
        The loss with its gradient in closed form, see `gradients`; None leaves it to autograd. The
        methods that invert T are given T⁻¹ there in place of log T.
    shares : tuple of float or None
        Of a method of a whole batch: the share of each complementary label that it assumes; None
        takes those of all labels that are trained on.
    """

    loss: Loss
    estimates: Literal["p", "q"] = "p"
    decoder: str = "max"
    learns: Literal["free", "noise"] | None = None
    whole_batch: bool = False
    inverts: bool = False
    likelihood: Callable[[Tensor], Tensor] | None = None
    gradient: Callable[..., Any] | None = None
    shares: tuple[float, ...] | None = None

    @property
    def takes_evidence(self) -> bool:
        """Whether the loss is a likelihood, and so has room for all that can be observed."""
        return self.loss is forward


METHODS: dict[str, Method] = {
    "ure": Method(unbiased, inverts=True, gradient=gradients.unbiased),
    "ure-nn": Method(
        unbiased_non_negative,
        whole_batch=True,
        inverts=True,
        gradient=gradients.unbiased_non_negative,
    ),
    "ure-ga": Method(
        unbiased_gradient_ascent,
        whole_batch=True,
        inverts=True,
        gradient=gradients.unbiased_gradient_ascent,
    ),
    "fwd": Method(forward, likelihood=given),
    "scl-nl": Method(surrogate_log, likelihood=all_but_label),
    "scl-exp": Method(surrogate_exp, gradient=gradients.surrogate_exp),
    "dm": Method(discriminative, gradient=gradients.discriminative),
    "dm-unweighted": Method(
        discriminative_unweighted, gradient=gradients.discriminative_unweighted
    ),
    "cpe-i": Method(complementary, estimates="q", decoder="l1", likelihood=label_alone),
    "cpe-f": Method(forward, decoder="l1", likelihood=given),
    "cpe-t": Method(forward, decoder="l1", learns="free", likelihood=given),
    "cpe-n": Method(forward, learns="noise", likelihood=given),
}


def register(name: str, loss: Loss, **settings: Any) -> None:
    """Add a method, or replace one, under a name that ``method=`` then takes.

    Parameters
    ----------
    name : str
    loss : callable of (logits, y_comp, log_T)
        In PyTorch operations that broadcast over leading dimensions; see this module.
    **settings
        The other fields of `Method`.

    Examples
    --------
    >>> from ybar.neural import losses
    >>> def squared(logits, y_comp, log_T):
    ...     p = logits.softmax(-1)
    ...     return p.gather(-1, y_comp.expand(p.shape[:-1])[..., None])[..., 0] ** 2
    >>> losses.register("squared", squared)
    >>> losses.METHODS.pop("squared").decoder
    'max'
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a string to call the method by; got {checks.shown(name)}")
    METHODS[name] = _of_callable(loss, **settings)


def find(method: str | Loss | Method) -> Method:
    """Return the method of that name, or the one that a callable makes."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(
                f"method must be one of {', '.join(map(repr, METHODS))}, or a callable of (logits, "
                f"y_comp, log_T); got {checks.shown(method)}"
            )
        return METHODS[method]
    return _of_callable(method)


def assuming(method: Method, T: FloatArray) -> Method:
    """Return a method whose loss is told T, whatever T the training is given.

    The paper's baselines assume uniform T in the unbiased risk where the labels have another. With
    T they assume the shares of complementary labels that it gives where classes are as frequent.
    """
    with np.errstate(divide="ignore"):
        log_T = torch.as_tensor(np.log(T), dtype=torch.float32)

    inverted = inverse(log_T) if method.inverts else log_T

    def loss(logits: Tensor, y_comp: Tensor, _: Tensor, *weight: Tensor) -> Tensor:
        return method.loss(logits, y_comp, log_T, *weight)

    def gradient(logits: Tensor, y_comp: Tensor, _: Tensor, *weight: Tensor) -> Any:
        return method.gradient(logits, y_comp, inverted, *weight)  # type: ignore[misc]

    def likelihood(_: Tensor) -> Tensor:
        return method.likelihood(log_T)  # type: ignore[misc]

    shares = tuple(T.mean(axis=0).tolist()) if method.whole_batch else None
    return replace(
        method,
        loss=loss,
        gradient=method.gradient and gradient,
        likelihood=method.likelihood and likelihood,
        inverts=False,
        shares=shares,
    )


def _of_callable(loss: Any, **settings: Any) -> Method:
    if not callable(loss):
        raise ValueError(
            f"method must be one of {', '.join(map(repr, METHODS))}, or a callable of (logits, "
            f"y_comp, log_T); got {checks.shown(loss)}"
        )
    method = Method(loss, **settings)
    decode.check_method(method.decoder, name="decoder")
    for name, allowed in (("estimates", ("p", "q")), ("learns", (None, *LEARNED))):
        if getattr(method, name) not in allowed:
            raise ValueError(
                f"{name} must be {' or '.join(map(repr, allowed))}; got "
                f"{checks.shown(getattr(method, name))}"
            )
    return method
