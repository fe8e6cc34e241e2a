"""Methods that compare or separate the classes by sigmoids.

Their functions return the loss and its gradient, and do not depend on T.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...utils import checks
from .arrays import at_label, label_index
from .method import Method, in_closed_form

if TYPE_CHECKING:
    from torch import Tensor

_ROUNDING = 1e-3


def pairwise(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return Σ_{k≠ȳ} σ(g[ȳ] - g[k]) and its gradient (``pc``, Ishida et al., 2017).

    The gradient is -σ' at the other classes, and the sum of these σ' at ȳ.
    """
    share = (at_label(logits, y_comp).unsqueeze(-2) - logits).sigmoid()
    slope = share * (1 - share)
    total = slope.sum(-2, keepdim=True) - 0.25  # σ(0) = 0.5 and σ'(0) at k = ȳ
    return share.sum(-2) - 0.5, (-slope).scatter_(-2, label_index(slope, y_comp), total)


def negative_unlabelled(
    logits: Tensor,
    ruled_out: Tensor,
    log_T: Tensor,
    weight: Tensor | None,
    *,
    priors: tuple[float, ...] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return B Σ_k N_k(-g) + |U_k(g) - N_k(g)| of a batch of B rows, and its gradient (``scarce``).

    With the logistic loss ℓ(z) = log(1 + e^(-z)) and the prior π_k of class k, N_k(g) is (1 - π_k)
    times the mean of ℓ(g[k]) over the rows whose labels rule out class k, 0 if there are none, and
    U_k(g) is the mean of ℓ(g[k]) over all rows. The absolute value replaces an estimate of the loss
    on rows of class k, which is never negative (Wang et al., 2024).
    """
    of_negative, of_all = _shares(logits, ruled_out, weight, priors)
    of_positive = of_all - of_negative
    positive = (of_positive * _log_one_plus_exp(-logits)).sum(-1, keepdim=True)
    loss = (of_negative * _log_one_plus_exp(logits)).sum((-2, -1)) + positive.abs().sum((-2, -1))
    share = logits.sigmoid()
    gradient = of_negative * share - positive.sign() * of_positive * (1 - share)
    n = logits.shape[-1]
    return n * loss, n * gradient


def scarce(priors: ArrayLike | None = None) -> Method:
    """Return the method "scarce" with class priors.

    Parameters
    ----------
    priors : array-like of shape (K,), optional
        P(y = k) of each class, in the order of ``classes_``; uniform by default. They must sum to
        1.

    Examples
    --------
    >>> from ybar import ComplementaryNetClassifier
    >>> from ybar.neural import methods
    >>> clf = ComplementaryNetClassifier(method=methods.scarce([0.2, 0.3, 0.5]))
    """
    if priors is not None:
        rule = "priors must be numbers of at least 0 that sum to 1, one per class"
        values = checks.array_of_numbers(priors, rule)
        valid = values.ndim == 1 and (values >= 0).all() and abs(values.sum() - 1) <= _ROUNDING
        if not valid:
            raise ValueError(f"{rule}; got {checks.shown(priors)}, with sum {np.sum(values):g}")
        priors = tuple((values / values.sum()).tolist())
    function = functools.partial(negative_unlabelled, priors=priors)
    return in_closed_form(
        function, "SCARCE", family="surrogate", joint_labels=True, whole_batch=True
    )


def _shares(
    z: Tensor, ruled_out: Tensor, weight: Tensor | None, priors: tuple[float, ...] | None
) -> tuple[Tensor, Tensor]:
    """Return each row's share in N_k, (K, B), and in U_k, (B,)."""
    n_classes = z.shape[-2]
    if priors is None:
        priors = (1 / n_classes,) * n_classes
    if len(priors) != n_classes:
        raise ValueError(
            f"priors must have one number per class, {n_classes} here; got {len(priors)}"
        )
    mass = z.new_ones(z.shape[-1]) if weight is None else weight.to(z)
    of_class = ruled_out.T * mass
    total = of_class.sum(-1, keepdim=True)
    others = 1 - z.new_tensor(priors).unsqueeze(-1)
    # For a class that no row rules out: 0/1 in place of 0/0.
    return others * of_class / total.where(total > 0, 1.0), mass / mass.sum()


def _log_one_plus_exp(z: Tensor) -> Tensor:
    return z.logaddexp(z.new_zeros(()))


METHODS = {
    "scarce": scarce(),
    "pc": in_closed_form(pairwise, "PC", family="surrogate"),
}
