"""ybar learns ordinary multi-class classifiers from complementary labels.

A complementary label says what an example is *not*. Fit any classifier here with
``fit(X, y_comp)`` and ask it for ordinary classes with ``predict(X)``.
"""

from . import datasets, decode, labels, metrics, transition
from .boosting import CPEBoostingClassifierCV
from .classifiers import CPEClassifier
from .neighbors import CPEKNeighborsClassifierCV
from .neural import ComplementaryNetClassifier, ComplementaryNetClassifierCV
from .persistence import load, save

__all__ = [
    "CPEBoostingClassifierCV",
    "CPEClassifier",
    "CPEKNeighborsClassifierCV",
    "ComplementaryNetClassifier",
    "ComplementaryNetClassifierCV",
    "datasets",
    "decode",
    "labels",
    "load",
    "metrics",
    "save",
    "transition",
]

__version__ = "0.1.0"
