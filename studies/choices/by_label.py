"""URE-GA with the risk split by complementary label instead of ordinary class.

Runs are named by the ``version`` of a loss: raise it when the loss computes something else.
"""

import torch
from torch import Tensor


def gradient_ascent(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return l = Σ_k ℓ(p, k) - (K-1) ℓ(p, ȳ) of each row, uniform T being assumed.

    Where the mean of l is negative for some label, the rows of such labels give -l, all others 0.
    """
    n_classes = log_T.shape[-1]
    loss = -logits.log_softmax(-1)
    at_label = y_comp.expand(logits.shape[:-1])[..., None]
    row = loss.sum(-1) - (n_classes - 1) * loss.gather(-1, at_label)[..., 0]
    of_label = torch.nn.functional.one_hot(y_comp, n_classes).to(row.dtype)
    negative = (row.detach() @ of_label) < 0
    chosen = negative.gather(-1, y_comp.expand(row.shape))
    ascend = negative.any(-1, keepdim=True)
    return torch.where(ascend, -row * chosen, row)


gradient_ascent.version = 1


def gradient_ascent_counted(logits: Tensor, y_comp: Tensor, log_T: Tensor) -> Tensor:
    """Return URE-GA with a factor that the code of its authors has, uniform T being assumed.

    Where some R_k < 0, the step minimises -Σ_k n_k min(0, R_k), n_k being the number of labels k
    in the batch. The paper's formula has no n_k.
    """
    n_classes = log_T.shape[-1]
    of_label = torch.nn.functional.one_hot(y_comp, n_classes).to(logits.dtype)
    counts = of_label.sum(0)
    weight = (len(y_comp) / n_classes / counts.clamp(min=1))[y_comp]
    parts = -(1 - (n_classes - 1) * of_label) * logits.log_softmax(-1) * weight[:, None]
    negative = parts.detach().mean(-2, keepdim=True) < 0
    ascend = negative.any(-1, keepdim=True)
    return (parts * torch.where(ascend, -counts * negative, 1.0)).sum(-1)


gradient_ascent_counted.version = 1
