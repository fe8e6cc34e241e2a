"""ybar learns ordinary multi-class classifiers from complementary labels.

A complementary label says what an example is *not*. Fit any classifier here with
``fit(X, y_comp)`` and ask it for ordinary classes with ``predict(X)``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import calibration, datasets, decode, labels, metrics, transition
    from .classifiers.boosting import CPEBoostingClassifierCV
    from .classifiers.cpe import CPEClassifier
    from .classifiers.neighbors import CPEKNeighborsClassifierCV
    from .neural import ComplementaryNetClassifier, ComplementaryNetClassifierCV
    from .persistence import load, save

__all__ = [
    "CPEBoostingClassifierCV",
    "CPEClassifier",
    "CPEKNeighborsClassifierCV",
    "ComplementaryNetClassifier",
    "ComplementaryNetClassifierCV",
    "calibration",
    "collection",
    "datasets",
    "decode",
    "estimation",
    "labels",
    "load",
    "metrics",
    "save",
    "transition",
]

__version__ = "0.1.0"

# Found when they are asked for: importing scikit-learn takes longer than the help of a command.
_HOMES = {
    "CPEBoostingClassifierCV": "classifiers",
    "CPEClassifier": "classifiers",
    "CPEKNeighborsClassifierCV": "classifiers",
    "ComplementaryNetClassifier": "neural",
    "ComplementaryNetClassifierCV": "neural",
    "load": "persistence",
    "save": "persistence",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f".{_HOMES.get(name, name)}", __name__)
    found = getattr(home, name) if name in _HOMES else home
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
