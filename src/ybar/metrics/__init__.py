"""Judge complementary probabilities and predictions, with complementary labels alone or not.

`scel` and `ure_zero_one` need complementary labels only; `complementary_estimation_loss` and
`error_bound` compare with true labels, to check the theory. All labels are class indices here;
several complementary labels a row are a boolean N×K array, and every single label counts once.
"""

from __future__ import annotations

from .bounds import ErrorBound, complementary_estimation_loss, error_bound
from .comparison import Comparison, compare, compare_error_rates, one_standard_error
from .scorers import scel_scorer, ure_scorer
from .transition_check import TransitionCheck, TransitionTest, check_transition
from .validation import scel, ure_zero_one

__all__ = [
    "Comparison",
    "ErrorBound",
    "TransitionCheck",
    "TransitionTest",
    "check_transition",
    "compare",
    "compare_error_rates",
    "complementary_estimation_loss",
    "error_bound",
    "one_standard_error",
    "scel",
    "scel_scorer",
    "ure_scorer",
    "ure_zero_one",
]
