"""Networks that learn from complementary labels; torch is imported when one is fitted."""

from .classifier import ComplementaryNetClassifier

__all__ = ["ComplementaryNetClassifier"]
