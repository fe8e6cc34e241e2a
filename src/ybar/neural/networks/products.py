"""Matrix products, by the faster of the two libraries that torch calls on a CPU.

``torch.mm`` calls MKL, which uses AVX-512 only on Intel's processors. oneDNN uses AVX-512 on all
that have it: on AMD's, large products take half of the time.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Of multiplications. Small products keep the bits of torch.mm, and a small part of the time.
_SMALLEST = 2**24

# oneDNN's product, x Wᵀ; None if torch does not have this private operator, or without AVX-512.
_onednn = None
if torch.backends.cpu.get_cpu_capability() == "AVX512":
    _onednn = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def multiply(a: Tensor, b: Tensor, out: Tensor, column: Tensor | None = None) -> None:
    """Write a @ b, or a @ b + column, to `out`."""
    large = out.numel() * a.shape[1] >= _SMALLEST
    if large and _onednn is not None and a.device.type == "cpu":
        product = _onednn(a, b.t(), None, "none", [], "")
        if column is None:
            out.copy_(product)
        else:
            torch.add(product, column, out=out)
    elif column is None:
        torch.mm(a, b, out=out)
    else:
        torch.addmm(column, a, b, out=out)
