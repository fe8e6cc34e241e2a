"""The gradients of the losses at the logits, in closed form: what autograd finds, in fewer passes.

A batch's logits are few numbers, so that the time of a loss is that of its passes over them. Each
function here has the name of a loss in `losses`, but takes and returns arrays of shape (..., K, B),
classes first, since passes over the many rows are vectorised and those over the few classes are
not. It returns the gradient of each row's loss; those of a whole batch return B times the loss, and
its gradient. e is the unit vector of ȳ, and p = softmax(g).
"""

from __future__ import annotations

import torch
from torch import Tensor


def forward(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return p - r with r[y] ∝ p[y] T[y, ȳ], the classes' probabilities once ȳ is known."""
    return logits.softmax(-2).sub_(posterior(logits, y_comp, log_T))


def posterior(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return r of `forward`."""
    return (logits + log_T.index_select(-1, y_comp)).softmax(-2)


def at_transition(logits: Tensor, y_comp: Tensor, log_T: Tensor, weight: Tensor | None) -> Tensor:
    """Return the gradient of the batch's sum of `forward` losses at log T: -Σ r eᵀ."""
    unit = torch.nn.functional.one_hot(y_comp, log_T.shape[-1]).to(logits.dtype)
    if weight is not None:
        unit = unit * weight.unsqueeze(-1)
    return -posterior(logits, y_comp, log_T) @ unit


def complementary(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return p - e."""
    p = logits.softmax(-2)
    return p.scatter_add_(-2, _index(p, y_comp), p.new_full((), -1.0).expand_as(_index(p, y_comp)))


def surrogate_log(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return p less the softmax over the classes other than ȳ."""
    others = logits.scatter(-2, _index(logits, y_comp), -torch.inf).softmax(-2)
    return logits.softmax(-2).sub_(others)


def surrogate_exp(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return exp(p[ȳ]) p[ȳ] (e - p)."""
    p = logits.softmax(-2)
    at_label = p.gather(-2, _index(p, y_comp))
    factor = at_label * at_label.exp()
    return (p * -factor).scatter_add_(-2, _index(p, y_comp), factor)


def discriminative_unweighted(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return the gradient at r = 1 - p, which is s - e, taken on to the logits."""
    p = logits.softmax(-2)
    return _from_r(p, complementary(1 - p, y_comp, log_T))


def discriminative(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return the gradient at r = 1 - p, w (s - e) - e log s[ȳ]/(K-1), taken on to the logits."""
    p = logits.softmax(-2)
    log_s = (1 - p).log_softmax(-2)
    at_label, others = _index(p, y_comp), p.shape[-2] - 1
    weight = 1 + (1 - p.gather(-2, at_label)) / others
    at_e = -weight - log_s.gather(-2, at_label) / others
    return _from_r(p, (weight * log_s.exp_()).scatter_add_(-2, at_label, at_e))


def _from_r(p: Tensor, at_r: Tensor) -> Tensor:
    """Return the gradient at the logits from that at r = 1 - p."""
    return p * ((p * at_r).sum(-2, keepdim=True) - at_r)


def unbiased(logits: Tensor, y_comp: Tensor, inverse: Tensor) -> Tensor:
    """Return (Σ_k c[k]) p - c with c = T⁻¹[ȳ]."""
    return _of_risk(logits.softmax(-2), _coefficients(inverse, y_comp, None))


def unbiased_non_negative(
    logits: Tensor, y_comp: Tensor, inverse: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return B Σ_k max(0, R_k) and its gradient."""
    log_p, c = logits.log_softmax(-2), _coefficients(inverse, y_comp, weight)
    parts = -(c * log_p).sum(-1, keepdim=True)
    loss = parts.clamp(min=0).sum((-2, -1))
    return loss, _of_risk(log_p.exp_(), c * (parts > 0))


def unbiased_gradient_ascent(
    logits: Tensor, y_comp: Tensor, inverse: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return B Σ_k R_k, or -B Σ_k min(0, R_k) where some R_k < 0, and its gradient."""
    log_p, c = logits.log_softmax(-2), _coefficients(inverse, y_comp, weight)
    parts = -(c * log_p).sum(-1, keepdim=True)
    negative = parts < 0
    sign = torch.where(negative.any(-2, keepdim=True), -negative.to(parts.dtype), 1.0)
    return (sign * parts).sum((-2, -1)), _of_risk(log_p.exp_(), c * sign)


def _coefficients(inverse: Tensor, y_comp: Tensor, weight: Tensor | None) -> Tensor:
    """Return those of ℓ(p, k) in each row's risk, (K, B)."""
    c = inverse.transpose(-1, -2).index_select(-1, y_comp)
    return c if weight is None else c * weight


def _of_risk(p: Tensor, c: Tensor) -> Tensor:
    """Return the gradient of Σ_k c[k] ℓ(p, k)."""
    return c.sum(-2, keepdim=True) * p - c


def _index(values: Tensor, y_comp: Tensor) -> Tensor:
    return y_comp.expand(*values.shape[:-2], 1, -1)
