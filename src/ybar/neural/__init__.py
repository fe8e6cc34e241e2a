"""Networks that learn from complementary labels; torch is imported when one is fitted."""

from .classifier import ComplementaryNetClassifier
from .search import ComplementaryNetClassifierCV

__all__ = ["ComplementaryNetClassifier", "ComplementaryNetClassifierCV"]
