"""Classifiers that learn ordinary classes from complementary labels."""

from __future__ import annotations

from .base import ComplementaryClassifier
from .boosting import CPEBoostingClassifierCV
from .cpe import CPEClassifier
from .kmeans import CPEKMeansClassifierCV
from .neighbors import CPEKNeighborsClassifierCV

__all__ = [
    "CPEBoostingClassifierCV",
    "CPEClassifier",
    "CPEKMeansClassifierCV",
    "CPEKNeighborsClassifierCV",
    "ComplementaryClassifier",
]
