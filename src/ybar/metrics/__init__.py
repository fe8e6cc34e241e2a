"""Evaluate complementary probabilities and predictions, mostly without true labels.

`scel` and `ure_zero_one` need complementary labels only; `complementary_estimation_loss` and
`error_bound` need true labels, and check the theory. All labels are class indices here; several
complementary labels per row are a boolean N×K array, in which each label counts once.
"""

from __future__ import annotations

from .bounds import ErrorBound, complementary_estimation_loss, error_bound
from .comparison import Comparison, compare, compare_error_rates
from .scorers import scel_scorer, ure_scorer
from .selection import one_standard_error
from .transition_check import TransitionCheck, TransitionTest, check_transition
from .transition_profile import TransitionProfile
from .validation import scel, ure_zero_one

__all__ = [
    "Comparison",
    "ErrorBound",
    "TransitionCheck",
    "TransitionProfile",
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
