"""Methods whose loss does not depend on T. Their functions return the loss and its gradient.

e is the unit vector of ȳ, and p = softmax(g).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .arrays import label_index
from .method import in_closed_form

if TYPE_CHECKING:
    from torch import Tensor


def exponential(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return exp(p[ȳ]), of the surrogate complementary losses, and exp(p[ȳ]) p[ȳ] (e - p)."""
    p = logits.softmax(-2)
    p_label = p.gather(-2, label_index(p, y_comp))
    loss = p_label.exp()
    factor = p_label * loss
    return loss.squeeze(-2), (p * -factor).scatter_add_(-2, label_index(p, y_comp), factor)


def discriminative_unweighted(
    logits: Tensor, y_comp: Tensor, log_T: Tensor
) -> tuple[Tensor, Tensor]:
    """Return -log s[ȳ] with r = 1 - p and s = softmax(r), and its gradient (``dm-unweighted``).

    At r the gradient is s - e.
    """
    p = logits.softmax(-2)
    log_s = (1 - p).log_softmax(-2)
    index = label_index(p, y_comp)
    loss = -log_s.gather(-2, index)
    at_e = loss.new_full((), -1.0).expand_as(loss)
    return loss.squeeze(-2), _through_r(p, log_s.exp().scatter_add_(-2, index, at_e))


def discriminative(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return -w log s[ȳ] with w = 1 + r[ȳ]/(K-1), r = 1 - p, s = softmax(r), and its gradient.

    At r the gradient is w (s - e) - e log s[ȳ]/(K-1).
    """
    p = logits.softmax(-2)
    log_s = (1 - p).log_softmax(-2)
    index, others = label_index(p, y_comp), p.shape[-2] - 1
    weight = 1 + (1 - p.gather(-2, index)) / others
    log_s_label = log_s.gather(-2, index)
    at_e = -weight - log_s_label / others
    gradient = _through_r(p, (weight * log_s.exp()).scatter_add_(-2, index, at_e))
    return (-weight * log_s_label).squeeze(-2), gradient


def _through_r(p: Tensor, at_r: Tensor) -> Tensor:
    """Return the gradient at the logits from the gradient at r = 1 - p."""
    return p * ((p * at_r).sum(-2, keepdim=True) - at_r)


_surrogate = functools.partial(in_closed_form, family="surrogate", criterion="ure")
METHODS = {
    "scl-exp": _surrogate(exponential, "SCL-EXP"),
    "dm": _surrogate(discriminative, "DM"),
    "dm-unweighted": _surrogate(discriminative_unweighted, "DM (unweighted)"),
}
