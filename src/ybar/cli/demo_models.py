"""The models that ``ybar demo`` compares on handwritten digits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from .. import datasets, labels, metrics, transition
from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.cpe import CPEClassifier
from ..classifiers.neighbors import CPEKNeighborsClassifierCV
from ..neural import ComplementaryNetClassifier
from ..utils.typing import FloatArray, IntArray

HEADER = ("accuracy", "SCEL", "error rate (URE)", "seconds")
STRONG = "strong T"
SHOWN = "network, CPE-F"
"""The model whose predictions the page shows, under strong T."""

_NETWORKS = {
    "network, SCL": "scl-nl",
    "network, Fwd": "fwd",
    SHOWN: "cpe-f",
    "network, CPE-T": "cpe-t",
    "network, CPE-N": "cpe-n",
}
_EPOCHS = 150


@dataclass
class Row:
    """The scores of one model; `clf` is the fitted model, None for the one with true labels."""

    labels: str
    model: str
    accuracy: float
    scel: float = float("nan")
    error: float = float("nan")
    error_std_error: float = float("nan")
    seconds: float = 0.0
    clf: Any = None

    def cells(self) -> list[str]:
        """Return the scores as text, with dashes for unknown ones."""
        known = np.isfinite(self.scel)
        return [
            f"{100 * self.accuracy:.1f}%",
            f"{self.scel:.3f}" if known else "–",
            f"{self.error:.2f} ± {self.error_std_error:.2f}" if known else "–",
            f"{self.seconds:.1f}",
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the scores in values that JSON has."""
        return {name: value for name, value in vars(self).items() if name != "clf"}


def models(T: FloatArray) -> dict[str, Any]:
    """Return the models to compare, which know T."""
    shared: dict[str, Any] = {"transition": T}
    by_name: dict[str, Any] = {
        "logistic regression": CPEClassifier(LogisticRegression(max_iter=1000), **shared),
        "nearest neighbours": CPEKNeighborsClassifierCV(random_state=0, **shared),
        "boosting": CPEBoostingClassifierCV(
            [0.1], range(5, 151, 5), method="cpe-f", random_state=0, n_jobs=1, **shared
        ),
    }
    for name, method in _NETWORKS.items():
        by_name[name] = ComplementaryNetClassifier(
            method, max_epochs=_EPOCHS, random_state=0, **shared
        )
    return by_name


def matrices() -> dict[str, FloatArray]:
    """Return the transition matrices that the labels are drawn from."""
    return {"uniform T": transition.uniform(10), STRONG: transition.strong(10, 0)}


def training_labels(data: Bunch, T: FloatArray) -> IntArray:
    """Return the complementary labels of the training images."""
    return labels.draw(data.y_train, T, random_state=1)


def n_models() -> int:
    """Return the number of rows that `run` yields."""
    return sum(len(models(T)) for T in matrices().values()) + 1


def run() -> Iterator[Row]:
    """Fit all models and yield their scores."""
    with threadpool_limits(1):  # on so little data, more threads only wait for each other
        data = datasets.load("digits")
        for name, T in matrices().items():
            for model, clf in models(T).items():
                yield _fit(name, model, clf, data, T)
        yield _fit_to_true_labels(data)


def _fit(name: str, model: str, clf: Any, data: Bunch, T: FloatArray) -> Row:
    held_out = labels.draw(data.y_test, T, random_state=2)
    y_comp = training_labels(data, T)
    started = time.perf_counter()
    predicted = clf.fit(data.X_train, y_comp).predict(data.X_test)
    seconds = time.perf_counter() - started
    error, error_std_error = metrics.ure_zero_one(held_out, predicted, T, return_std_error=True)
    return Row(
        name,
        model,
        float(np.mean(predicted == data.y_test)),
        -float(clf.score(data.X_test, held_out)),
        error,
        error_std_error,
        seconds,
        clf,
    )


def _fit_to_true_labels(data: Bunch) -> Row:
    started = time.perf_counter()
    clf = MLPClassifier((500,), max_iter=200, random_state=0).fit(data.X_train, data.y_train)
    accuracy = float(np.mean(clf.predict(data.X_test) == data.y_test))
    return Row(
        "true labels",
        "a network trained on true labels",
        accuracy,
        seconds=time.perf_counter() - started,
    )
