"""The methods: the loss that each minimises, its gradient, and the facts about it.

Every loss takes ``(logits, y_comp, log_T)``: logits g of shape (..., B, K), complementary labels of
shape (B,), and the logarithm of the transition matrix, (K, K) or one per leading index. It returns
the loss of each row, (..., B). Leading dimensions are runs that train together. Throughout,
p = softmax(g) and ℓ(p, k) = -log p[k]. All computations stay in log space as long as possible, so
that losses and gradients are finite at any finite logits and where T has zeros.

A closed-form gradient computes what autograd would, in fewer passes over the logits. Its function
returns the loss too. It works on arrays of shape (..., K, B), because passes over the many rows are
vectorised and passes over the few classes are not.

To add a method, write its loss, or a function of its loss and gradient, and one entry of
``METHODS`` in the module of its family, or call `register`. Nothing here imports torch, so that the
facts about a method are known without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import decode
from ...utils import checks
from ...utils.typing import FloatArray
from . import label_sets, likelihoods, one_vs_rest, order_preserving, risks, surrogates
from .method import Loss, Method
from .one_vs_rest import scarce
from .order_preserving import op_w

__all__ = ["METHODS", "Method", "find", "op_w", "register", "scarce"]

_FAMILIES = (risks, surrogates, order_preserving, label_sets, one_vs_rest, likelihoods)
#: All methods by name, including those that `register` has added.
METHODS: dict[str, Method] = {name: m for family in _FAMILIES for name, m in family.METHODS.items()}

_ALLOWED: dict[str, tuple[Any, ...]] = {
    "estimates": ("p", "q"),
    "criterion": ("scel", "ure"),
    "family": ("likelihood", "risk", "surrogate", "other"),
    "learns": (None, "free", "noise"),
}


def register(name: str, loss: Loss, **facts: Any) -> None:
    """Add a method, or replace one, under a name that ``method=`` then takes.

    Parameters
    ----------
    name : str
    loss : callable of (logits, y_comp, log_T)
        In PyTorch operations that broadcast over leading dimensions; see this module.
    **facts
        The other attributes of `Method`.

    Examples
    --------
    >>> from ybar.neural import methods
    >>> def squared(logits, y_comp, log_T):
    ...     p = logits.softmax(-1)
    ...     return p.gather(-1, y_comp.expand(p.shape[:-1])[..., None])[..., 0] ** 2
    >>> methods.register("squared", squared)
    >>> methods.METHODS.pop("squared").decoder
    'max'
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a string to call the method by; got {checks.shown(name)}")
    METHODS[name] = _method_of(loss, **facts)


def find(method: str | Loss | Method) -> Method:
    """Return the method of that name, or a method made of a callable."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]
    return _method_of(method)


def assuming(method: Method, T: FloatArray) -> Method:
    """Return the method with a loss that always uses this T.

    The paper's baselines assume uniform T in the unbiased risk even where the labels follow another
    T. A method of a whole batch then also assumes the shares of complementary labels under this T
    and equally frequent classes.
    """
    return replace(method, assumes=tuple(map(tuple, T.tolist())))


def _method_of(loss: Any, **facts: Any) -> Method:
    if not callable(loss):
        raise ValueError(
            f"method must be one of {', '.join(map(repr, METHODS))}, or a callable of (logits, "
            f"y_comp, log_T); got {checks.shown(loss)}"
        )
    method = Method(loss, **facts)
    decode.check_method(method.decoder, name="decoder")
    for name, allowed in _ALLOWED.items():
        if getattr(method, name) not in allowed:
            raise ValueError(
                f"{name} must be {' or '.join(map(repr, allowed))}; got "
                f"{checks.shown(getattr(method, name))}"
            )
    return method
