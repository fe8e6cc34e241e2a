"""Methods whose loss is -log Σ_y p[y] M[y, ȳ] with a matrix M, such as the forward correction.

Their gradient at the logits is p - r, r being the class probabilities once ȳ is known. Runs of all
these methods are evaluated together, by `gradient`.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .arrays import at_label, classes_first, label_index
from .method import Method

if TYPE_CHECKING:
    from torch import Tensor


def forward(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return -log (Tᵀp)[ȳ], the forward correction; ``fwd`` and ``cpe-f`` share it."""
    log_p = classes_first(logits).log_softmax(-2)
    return -(log_p + log_T.index_select(-1, y_comp)).logsumexp(-2)


def complementary(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return -log p[ȳ], where p estimates q: ``cpe-i`` learns the complementary labels directly."""
    return -at_label(classes_first(logits).log_softmax(-2), y_comp)


def surrogate_log(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return -log(1 - p[ȳ]), of the surrogate complementary losses (``scl-nl``).

    1 - p[ȳ] is the sum of the other classes' p. With uniform T this is ``fwd`` minus log(K-1).
    """
    log_p = classes_first(logits).log_softmax(-2)
    return -log_p.scatter(-2, label_index(log_p, y_comp), -math.inf).logsumexp(-2)


def gradient(logits: Tensor, columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return -log Σ_y p[y] M[y, ȳ], its gradient p - r, and r[y] ∝ p[y] M[y, ȳ].

    Logits are (..., K, B); `columns` holds log M[:, ȳ] of each row. The gradient at log M[y, k] is
    -r[y], summed over the rows with ȳ = k.
    """
    log_p = logits.log_softmax(-2)
    joint = log_p + columns
    r = joint.softmax(-2)
    # The largest r belongs to the largest joint, and is their quotient by the sum.
    loss = r.amax(-2).log_().sub_(joint.amax(-2))
    return loss, log_p.exp_().sub_(r), r


def transition_itself(log_T: Tensor) -> Tensor:
    """Return log T, the matrix M of `forward`."""
    return log_T


def identity(log_T: Tensor) -> Tensor:
    """Return log I, the matrix M of `complementary`."""
    return _identity_like(log_T).log_()


def all_but_label(log_T: Tensor) -> Tensor:
    """Return log(1 - I), the matrix M of `surrogate_log`."""
    return (1 - _identity_like(log_T)).log_()


def _identity_like(log_T: Tensor) -> Tensor:
    return log_T.new_zeros(log_T.shape[-2:]).fill_diagonal_(1)


_forward = functools.partial(Method, forward, family="likelihood", likelihood=transition_itself)
METHODS = {
    "fwd": _forward("Fwd", criterion="ure"),
    "scl-nl": Method(
        surrogate_log, "SCL", family="surrogate", criterion="ure", likelihood=all_but_label
    ),
    "cpe-i": Method(
        complementary,
        "CPE-I",
        family="likelihood",
        estimates="q",
        decoder="l1",
        likelihood=identity,
    ),
    "cpe-f": _forward("CPE-F", decoder="l1"),
    "cpe-t": _forward("CPE-T", decoder="l1", learns="free"),
    "cpe-n": _forward("CPE-N", learns="noise"),
}
