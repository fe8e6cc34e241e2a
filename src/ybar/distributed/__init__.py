"""Classifiers and metrics for Dask collections: data that no single machine holds."""

from .base import Evaluation
from .boosting import DaskCPEBoostingClassifierCV
from .cpe import DaskCPEClassifier
from .metrics import scel, ure_zero_one

__all__ = [
    "DaskCPEBoostingClassifierCV",
    "DaskCPEClassifier",
    "Evaluation",
    "scel",
    "ure_zero_one",
]
