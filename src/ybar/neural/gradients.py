"""Losses with their gradients at the logits in closed form: what autograd finds, in fewer passes.

A batch's logits are few numbers, so that the time of a loss is that of its passes over them. Most
functions here have the name of a loss in `losses`, but take and return arrays of shape (..., K, B),
classes first, since passes over the many rows are vectorised and those over the few classes are
not. They return each row's loss and its gradient; those of a whole batch B times the loss, and its
gradient. e is the unit vector of ȳ, and p = softmax(g).
"""

from __future__ import annotations

import torch
from torch import Tensor


def likelihood(logits: Tensor, columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return -log Σ_y p[y] M[y, ȳ], its gradient p - r, and r[y] ∝ p[y] M[y, ȳ].

    r are the classes' probabilities once ȳ is known; `columns` has log M[:, ȳ] of each row. The
    gradient at log M[y, k] is -r[y], summed over the rows with ȳ = k.
    """
    log_p = logits.log_softmax(-2)
    joint = log_p + columns
    r = joint.softmax(-2)
    # The largest r belongs to the largest joint, and is their quotient by the sum.
    loss = r.amax(-2).log_().sub_(joint.amax(-2))
    return loss, log_p.exp_().sub_(r), r


def surrogate_exp(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    """Return exp(p[ȳ]), and exp(p[ȳ]) p[ȳ] (e - p)."""
    p = logits.softmax(-2)
    at_label = p.gather(-2, _index(p, y_comp))
    loss = at_label.exp()
    factor = at_label * loss
    return loss.squeeze(-2), (p * -factor).scatter_add_(-2, _index(p, y_comp), factor)


def discriminative_unweighted(
    logits: Tensor,
    y_comp: Tensor,
    log_T: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Return -log s[ȳ], and its gradient at r = 1 - p, which is s - e, taken on to the logits."""
    p = logits.softmax(-2)
    log_s = (1 - p).log_softmax(-2)
    at_label = _index(p, y_comp)
    loss = -log_s.gather(-2, at_label)
    at_e = loss.new_full((), -1.0).expand_as(loss)
    return loss.squeeze(-2), _from_r(p, log_s.exp_().scatter_add_(-2, at_label, at_e))


def discriminative(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    """Return -w log s[ȳ], and from its gradient at r = 1 - p that at the logits.

    That at r is w (s - e) - e log s[ȳ]/(K-1), w being 1 + r[ȳ]/(K-1).
    """
    p = logits.softmax(-2)
    log_s = (1 - p).log_softmax(-2)
    at_label, others = _index(p, y_comp), p.shape[-2] - 1
    weight = 1 + (1 - p.gather(-2, at_label)) / others
    log_s_label = log_s.gather(-2, at_label)
    at_e = -weight - log_s_label / others
    gradient = _from_r(p, (weight * log_s.exp_()).scatter_add_(-2, at_label, at_e))
    return (-weight * log_s_label).squeeze(-2), gradient


def _from_r(p: Tensor, at_r: Tensor) -> Tensor:
    """Return the gradient at the logits from that at r = 1 - p."""
    return p * ((p * at_r).sum(-2, keepdim=True) - at_r)


def unbiased(logits: Tensor, y_comp: Tensor, inverse: Tensor) -> tuple[Tensor, Tensor]:
    """Return Σ_k c[k] ℓ(p, k) with c = T⁻¹[ȳ], and (Σ_k c[k]) p - c."""
    log_p, c = logits.log_softmax(-2), _coefficients(inverse, y_comp, None)
    return -(c * log_p).sum(-2), _of_risk(log_p.exp_(), c)


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
