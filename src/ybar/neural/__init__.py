"""Networks that learn from complementary labels; torch is imported when one is fitted."""

from .classifier import ComplementaryNetClassifier
from .onnx import to_onnx
from .search import ComplementaryNetClassifierCV

__all__ = [
    "ComplementaryNetClassifier",
    "ComplementaryNetClassifierCV",
    "to_onnx",
]
