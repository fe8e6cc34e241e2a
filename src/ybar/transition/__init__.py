"""Build, check, describe and estimate transition matrices.

A transition matrix T is K×K with ``T[y, k] = P(ȳ = k given y)``: row y is the distribution of the
complementary labels of class y. Rows sum to 1, and the diagonal is 0 if labels are never wrong.

- To build T: `uniform`, `weak`, `strong`, `biased`, `from_menus`, `with_uniform_noise`.
- To estimate T from rows with both labels: `estimate`, `credible_intervals`, `from_counts`;
  `annotators` returns published counts. Without true labels see `ybar.estimation`.
- To judge T: `describe`, `gamma`, `epsilon`, `condition_number`, `is_singular`, `is_uniform`.

All functions compute in float64, clip nothing and leave their arguments unchanged.
"""

from __future__ import annotations

from .building import biased, from_menus, strong, weak, with_uniform_noise
from .checking import check, uniform
from .counting import annotators, credible_intervals, estimate, from_counts
from .describing import condition_number, describe, epsilon, gamma, is_singular, is_uniform

__all__ = [
    "annotators",
    "biased",
    "check",
    "condition_number",
    "credible_intervals",
    "describe",
    "epsilon",
    "estimate",
    "from_counts",
    "from_menus",
    "gamma",
    "is_singular",
    "is_uniform",
    "strong",
    "uniform",
    "weak",
    "with_uniform_noise",
]
