"""Order-preserving losses (Liu et al., 2023): the ruled-out class gets the lowest score.

s = softmax(-g), so that s[ȳ] is largest where g[ȳ] is lowest. The functions return the loss and
its gradient, and do not depend on T.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ...utils import checks
from .arrays import at_label, label_index
from .method import Method, in_closed_form

if TYPE_CHECKING:
    from torch import Tensor

# 1/s[k] is at most e^80, because its square must be finite in single precision.
_LARGEST_LOG = 80.0


def order_preserving(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return -log s[ȳ], and e - s (``op``)."""
    log_s = (-logits).log_softmax(-2)
    return -at_label(log_s, y_comp), _less(log_s.exp(), y_comp)


def reweighted(
    logits: Tensor,
    y_comp: Tensor,
    log_T: Tensor,
    *,
    power: float | None = None,
    differentiate: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return -w log s[ȳ] (``op-w``), w = softmax(1/s + 1)[ȳ] p[ȳ] or, with a power, p[ȳ]^power.

    The gradient is w (e - s) - w' log s[ȳ] with w' the gradient of w; as in the authors' code, w is
    differentiated too. The gradient of p[ȳ]^a is a p[ȳ]^a (e - p). That of softmax(v)[ȳ] with
    v = 1/s is softmax(v)[ȳ] (b - s Σ b), b = (e - softmax(v)) v.
    """
    log_s = (-logits).log_softmax(-2)
    loss = -at_label(log_s, y_comp)
    weight = _weight(logits, log_s, y_comp, power)
    if not differentiate:
        weight = weight.detach()
    s = log_s.exp()
    gradient = _less(s, y_comp)
    if differentiate:
        log_w = _less(logits.softmax(-2), y_comp)  # the gradient of log w, so far of log p[ȳ]
        if power is not None:
            log_w *= power
        else:
            v = _inverse(log_s)
            b = _less(v.softmax(-2), y_comp) * v * (-log_s < _LARGEST_LOG)
            log_w += b - s * b.sum(-2, keepdim=True)
        gradient += loss.unsqueeze(-2) * log_w
    return weight * loss, weight.unsqueeze(-2) * gradient


def op_w(power: float | None = None, *, differentiate: bool = True) -> Method:
    """Return the method "op-w" with another weight.

    Parameters
    ----------
    power : float, optional
        Weigh rows by p[ȳ]^power; by default by softmax(1/s + 1)[ȳ] p[ȳ], as published.
    differentiate : bool
        Whether gradients flow through the weight, as in the authors' code.

    Examples
    --------
    >>> from ybar import ComplementaryNetClassifier
    >>> from ybar.neural import methods
    >>> ComplementaryNetClassifier(method=methods.op_w(power=0.5)).method.label
    'OP-W'
    """
    if power is not None:
        checks.number(power, "power", "a number of at least 0", 0)
    checks.boolean(differentiate, "differentiate")
    function = functools.partial(reweighted, power=power, differentiate=differentiate)
    return in_closed_form(function, "OP-W", family="surrogate")


def _weight(z: Tensor, log_s: Tensor, y_comp: Tensor, power: float | None) -> Tensor:
    """Return each row's weight, from logits and log s with classes first."""
    log_p = at_label(z.log_softmax(-2), y_comp)
    if power is not None:
        return (power * log_p).exp()
    return (at_label(_inverse(log_s).log_softmax(-2), y_comp) + log_p).exp()


def _inverse(log_s: Tensor) -> Tensor:
    return (-log_s).clamp(max=_LARGEST_LOG).exp()


def _less(values: Tensor, y_comp: Tensor) -> Tensor:
    """Return e - values."""
    index = label_index(values, y_comp)
    return (-values).scatter_add_(-2, index, values.new_ones(()).expand(index.shape))


METHODS = {
    "op": in_closed_form(order_preserving, "OP", family="surrogate"),
    "op-w": op_w(),
}
