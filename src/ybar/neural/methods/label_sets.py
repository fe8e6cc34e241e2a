"""Methods that read all labels of a row together, as the set Ȳ of classes that are ruled out.

Their functions return the loss and its gradient, and do not depend on T. The second argument is a
boolean array (B, K), true at the classes of Ȳ. t = Σ_{k∉Ȳ} p[k], and m is 1 in Ȳ and 0 elsewhere.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .method import in_closed_form

if TYPE_CHECKING:
    from torch import Tensor


def bounded_log(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return -c log t with c = 2(K-1)/|Ȳ|, and c (p - r), r[k] = p[k]/t outside of Ȳ.

    Feng et al., 2020, like ``mcl-exp`` and ``mcl-mae``.
    """
    factor = _factor(ruled_out, logits)
    log_p = logits.log_softmax(-2)
    allowed = _allowed(log_p, ruled_out)
    return -factor * allowed.logsumexp(-2), factor * (log_p.exp() - allowed.softmax(-2))


def bounded_exponential(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return l = c e^(-t) with c = 2(K-1)/|Ȳ|, and l (m - (1-t)) p."""
    p = logits.softmax(-2)
    excluded = _excluded(p, ruled_out)
    rest = excluded.sum(-2)
    loss = _factor(ruled_out, logits) * (rest - 1).exp()
    return loss, loss.unsqueeze(-2) * (excluded - rest.unsqueeze(-2) * p)


def bounded_absolute(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return c (1 - t) with c = 2(K-1)/|Ȳ|, and c (m - (1-t)) p."""
    p, factor = logits.softmax(-2), _factor(ruled_out, logits)
    excluded = _excluded(p, ruled_out)
    rest = excluded.sum(-2)
    return factor * rest, factor * (excluded - rest.unsqueeze(-2) * p)


def progressive(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> tuple[Tensor, Tensor]:
    """Return -Σ_{k∉Ȳ} w[k] log p[k], w = p/t, not differentiated, and p - w (Lv et al., 2020).

    PRODEN identifies the true label among candidates, the classes outside of Ȳ. Its gradient is
    that of -log t.
    """
    log_p = logits.log_softmax(-2)
    w = _allowed(log_p.detach(), ruled_out).softmax(-2)
    return -(w * log_p).sum(-2), log_p.exp() - w


def _allowed(log_p: Tensor, ruled_out: Tensor) -> Tensor:
    """Return log p outside of Ȳ, and -infinity in Ȳ, with classes first."""
    return log_p.masked_fill(ruled_out.T, -math.inf)


def _excluded(p: Tensor, ruled_out: Tensor) -> Tensor:
    """Return p in Ȳ, and 0 elsewhere, with classes first."""
    return p * ruled_out.T


def _factor(ruled_out: Tensor, logits: Tensor) -> Tensor:
    """Return 2(K-1)/|Ȳ| of each row."""
    return 2 * (ruled_out.shape[-1] - 1) / ruled_out.sum(-1).to(logits)


_of_sets = functools.partial(in_closed_form, family="surrogate", joint_labels=True)
METHODS = {
    "mcl-log": _of_sets(bounded_log, "MCL-LOG"),
    "mcl-exp": _of_sets(bounded_exponential, "MCL-EXP"),
    "mcl-mae": _of_sets(bounded_absolute, "MCL-MAE"),
    "proden": _of_sets(progressive, "PRODEN"),
}
