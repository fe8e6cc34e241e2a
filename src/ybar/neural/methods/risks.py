"""Methods that estimate the ordinary risk with the inverse of T.

Their functions return the loss and its gradient. ℓ(p, k) = -log p[k]. The functions of a whole
batch weigh its B rows, by weights of mean 1, and return B times the loss.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from ...utils.typing import FloatArray
from .method import in_closed_form

if TYPE_CHECKING:
    from torch import Tensor


def unbiased(logits: Tensor, y_comp: Tensor, inverse_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return Σ_k c[k] ℓ(p, k) with c = T⁻¹[ȳ], and (Σ_k c[k]) p - c (``ure``).

    The mean of this loss estimates the ordinary risk without bias. With uniform T it is
    Σ_k ℓ(p, k) - (K-1) ℓ(p, ȳ).
    """
    log_p, c = logits.log_softmax(-2), _coefficients(inverse_T, y_comp, None)
    return -(c * log_p).sum(-2), _risk_gradient(log_p.exp(), c)


def non_negative(
    logits: Tensor, y_comp: Tensor, inverse_T: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return B Σ_k max(0, R_k) and its gradient (``ure-nn``).

    R_k = Σ_j π̄_j (T⁻¹)[j, k] · mean of ℓ(p, k) over the rows with ȳ = j. π̄_j is the share of such
    rows in the batch, by weight. Training weighs the rows so that π̄_j is the share in the whole
    training set (`objective.balanced`). A label that does not occur in the batch adds 0.
    """
    log_p, c = logits.log_softmax(-2), _coefficients(inverse_T, y_comp, weight)
    class_risks = -(c * log_p).sum(-1, keepdim=True)
    loss = class_risks.clamp(min=0).sum((-2, -1))
    return loss, _risk_gradient(log_p.exp(), c * (class_risks > 0))


def gradient_ascent(
    logits: Tensor, y_comp: Tensor, inverse_T: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return B Σ_k R_k, but -B Σ_k min(0, R_k) where some R_k < 0, and its gradient (``ure-ga``).

    R_k is that of ``ure-nn``. A step on the second form raises the negative parts: gradient
    ascent on what cannot be negative for the true risk.
    """
    log_p, c = logits.log_softmax(-2), _coefficients(inverse_T, y_comp, weight)
    class_risks = -(c * log_p).sum(-1, keepdim=True)
    negative = class_risks < 0
    sign = (-negative.to(class_risks.dtype)).where(negative.any(-2, keepdim=True), 1.0)
    return (sign * class_risks).sum((-2, -1)), _risk_gradient(log_p.exp(), c * sign)


def inverse(log_T: Tensor) -> Tensor:
    """Return T⁻¹, or the pseudo-inverse of a T that is singular to the precision of `log_T`."""
    array = log_T.detach().cpu().numpy()
    inverted = _inverse(array.tobytes(), array.shape, array.dtype)
    return log_T.new_tensor(inverted)


@functools.lru_cache(maxsize=16)
def _inverse(log_T: bytes, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> FloatArray:
    matrices = np.exp(np.frombuffer(log_T, dtype).astype(np.float64)).reshape(shape)
    return np.linalg.pinv(matrices, rcond=10 * shape[-1] * np.finfo(dtype).eps)


def _coefficients(inverse_T: Tensor, y_comp: Tensor, weight: Tensor | None) -> Tensor:
    """Return the coefficients of ℓ(p, k) in each row's risk, (K, B)."""
    c = inverse_T.transpose(-1, -2).index_select(-1, y_comp)
    return c if weight is None else c * weight


def _risk_gradient(p: Tensor, c: Tensor) -> Tensor:
    """Return the gradient of Σ_k c[k] ℓ(p, k) at the logits."""
    return c.sum(-2, keepdim=True) * p - c


_risk = functools.partial(in_closed_form, family="risk", criterion="ure", read=inverse)
METHODS = {
    "ure": _risk(unbiased, "URE"),
    "ure-nn": _risk(non_negative, "URE-NN", whole_batch=True),
    "ure-ga": _risk(gradient_ascent, "URE-GA", whole_batch=True),
}
