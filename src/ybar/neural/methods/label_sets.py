"""Methods that read all labels of a row together, as the set Ȳ of classes that are ruled out.

Their second argument is a boolean array (B, K), true at the classes of Ȳ. t = Σ_{k∉Ȳ} p[k]. The
losses do not depend on T.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .arrays import classes_first
from .method import Method

if TYPE_CHECKING:
    from torch import Tensor


def bounded_log(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return -(2(K-1)/|Ȳ|) log t (``mcl-log``, Feng et al., 2020)."""
    log_t = _allowed(classes_first(logits).log_softmax(-2), ruled_out).logsumexp(-2)
    return -_factor(ruled_out, logits) * log_t


def bounded_log_gradient(
    logits: Tensor,
    ruled_out: Tensor,
    log_T: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Return the loss ``mcl-log``, and (2(K-1)/|Ȳ|) (p - r), r[k] = p[k]/t outside of Ȳ."""
    factor = _factor(ruled_out, logits)
    log_p = logits.log_softmax(-2)
    allowed = _allowed(log_p, ruled_out)
    return -factor * allowed.logsumexp(-2), factor * (log_p.exp() - allowed.softmax(-2))


def bounded_exponential(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return (2(K-1)/|Ȳ|) e^(-t) (``mcl-exp``, Feng et al., 2020)."""
    excluded = _excluded(classes_first(logits).softmax(-2), ruled_out)
    return _factor(ruled_out, logits) * (excluded.sum(-2) - 1).exp()


def bounded_exponential_gradient(
    logits: Tensor,
    ruled_out: Tensor,
    log_T: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Return the loss ``mcl-exp`` l, and l (m - (1-t)) p, m being 1 in Ȳ and 0 elsewhere."""
    p = logits.softmax(-2)
    excluded = _excluded(p, ruled_out)
    rest = excluded.sum(-2)
    loss = _factor(ruled_out, logits) * (rest - 1).exp()
    return loss, loss.unsqueeze(-2) * (excluded - rest.unsqueeze(-2) * p)


def bounded_absolute(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return (2(K-1)/|Ȳ|) (1 - t) (``mcl-mae``, Feng et al., 2020)."""
    excluded = _excluded(classes_first(logits).softmax(-2), ruled_out)
    return _factor(ruled_out, logits) * excluded.sum(-2)


def bounded_absolute_gradient(
    logits: Tensor,
    ruled_out: Tensor,
    log_T: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Return the loss ``mcl-mae``, and (2(K-1)/|Ȳ|) (m - (1-t)) p, m as in ``mcl-exp``."""
    p, factor = logits.softmax(-2), _factor(ruled_out, logits)
    excluded = _excluded(p, ruled_out)
    rest = excluded.sum(-2)
    return factor * rest, factor * (excluded - rest.unsqueeze(-2) * p)


def progressive(logits: Tensor, ruled_out: Tensor, log_T: Tensor) -> Tensor:  # noqa: ARG001
    """Return -Σ_{k∉Ȳ} w[k] log p[k], w = p/t, not differentiated (``proden``, Lv et al., 2020).

    PRODEN identifies the true label among candidates, the classes outside of Ȳ. Its gradient is
    that of -log t.
    """
    log_p = classes_first(logits).log_softmax(-2)
    return -(_allowed(log_p.detach(), ruled_out).softmax(-2) * log_p).sum(-2)


def progressive_gradient(
    logits: Tensor,
    ruled_out: Tensor,
    log_T: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Return the loss ``proden``, and p - w."""
    log_p = logits.log_softmax(-2)
    w = _allowed(log_p, ruled_out).softmax(-2)
    return -(w * log_p).sum(-2), log_p.exp_().sub_(w)


def _allowed(log_p: Tensor, ruled_out: Tensor) -> Tensor:
    """Return log p outside of Ȳ, and -infinity in Ȳ, with classes first."""
    return log_p.masked_fill(ruled_out.T, -math.inf)


def _excluded(p: Tensor, ruled_out: Tensor) -> Tensor:
    """Return p in Ȳ, and 0 elsewhere, with classes first."""
    return p * ruled_out.T


def _factor(ruled_out: Tensor, logits: Tensor) -> Tensor:
    """Return 2(K-1)/|Ȳ| of each row."""
    return 2 * (ruled_out.shape[-1] - 1) / ruled_out.sum(-1).to(logits)


_of_sets = functools.partial(Method, family="surrogate", joint_labels=True)
METHODS = {
    "mcl-log": _of_sets(bounded_log, "MCL-LOG", gradient=bounded_log_gradient),
    "mcl-exp": _of_sets(bounded_exponential, "MCL-EXP", gradient=bounded_exponential_gradient),
    "mcl-mae": _of_sets(bounded_absolute, "MCL-MAE", gradient=bounded_absolute_gradient),
    "proden": _of_sets(progressive, "PRODEN", gradient=progressive_gradient),
}
