"""ybar learns ordinary multi-class classifiers from complementary labels.

A complementary label names a class that an example does *not* belong to. Every classifier here is
fitted to such labels with ``fit(X, y_comp)`` and predicts ordinary classes with ``predict(X)``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        calibration,
        collection,
        datasets,
        decode,
        distributed,
        estimation,
        labels,
        metrics,
        transition,
    )
    from .classifiers.boosting import CPEBoostingClassifierCV
    from .classifiers.cpe import CPEClassifier
    from .classifiers.kmeans import CPEKMeansClassifierCV
    from .classifiers.neighbors import CPEKNeighborsClassifierCV
    from .neural import ComplementaryNetClassifier, ComplementaryNetClassifierCV
    from .persistence import load, save

__all__ = [
    "CPEBoostingClassifierCV",
    "CPEClassifier",
    "CPEKMeansClassifierCV",
    "CPEKNeighborsClassifierCV",
    "ComplementaryNetClassifier",
    "ComplementaryNetClassifierCV",
    "calibration",
    "collection",
    "datasets",
    "decode",
    "distributed",
    "estimation",
    "labels",
    "load",
    "metrics",
    "save",
    "transition",
]

__version__ = "0.1.0"

# Modules of the classes and functions, imported at first use: importing scikit-learn takes longer
# than printing the help of a command.
_MODULES = {
    "CPEBoostingClassifierCV": "classifiers",
    "CPEClassifier": "classifiers",
    "CPEKMeansClassifierCV": "classifiers",
    "CPEKNeighborsClassifierCV": "classifiers",
    "ComplementaryNetClassifier": "neural",
    "ComplementaryNetClassifierCV": "neural",
    "load": "persistence",
    "save": "persistence",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_MODULES.get(name, name)}", __name__)
    value = getattr(module, name) if name in _MODULES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
