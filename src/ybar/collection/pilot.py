"""Simulate the accuracy of a classifier under a design, on a pilot: rows with true classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .. import decode, labels
from ..classifiers import hold_out
from ..classifiers.cpe import CPEClassifier
from ..utils import checks
from ..utils.typing import AnyArray, FloatArray, IntArray

# The parts of the budget that are simulated.
_PARTS = (0.125, 0.25, 0.5, 1.0)
_MOST_GIGABYTES = 4


class Simulation(NamedTuple):
    """Accuracies on held-out rows, of shape (repeats, sizes), for each design by name."""

    accuracies: dict[str, FloatArray]
    sizes: tuple[int, ...]


class Pilot(NamedTuple):
    """Rows with their true classes, the classifier to fit, and the numbers of labels to try."""

    X: Any
    codes: IntArray
    classes: AnyArray
    classifier: Any
    sizes: tuple[int, ...]

    @property
    def n_test(self) -> int:
        """Number of rows held out in each repetition."""
        return len(self.codes) // 3

    @property
    def n_train(self) -> int:
        """Number of rows with labels in each repetition."""
        return len(self.codes) - self.n_test


def check(
    n: int,
    X: Any,
    y: ArrayLike | None,
    classifier: Any,
    budget: int | None,
    target: float | None,
) -> Pilot | None:
    """Check the arguments of `plan` about a pilot; return None if there is no pilot."""
    if X is None or y is None:
        arguments = {"X": X, "y": y, "target": target, "classifier": classifier}
        named = next((name for name, value in arguments.items() if value is not None), None)
        if named is not None:
            raise ValueError(
                f"{named} needs X and y, rows of a pilot with their true classes; got "
                f"X={_kind(X)} and y={_kind(y)}. Pass both, or leave {named} out"
            )
        return None
    column = checks.label_column(checks.label_array(y, "y must hold one true class per row"), "y")
    try:
        n_rows = _num_samples(X)
    except TypeError:
        raise ValueError(
            f"X must be an array, a sparse matrix or a data frame; got {checks.shown(X)}"
        ) from None
    checks.same_length("X", n_rows, "y", len(column))
    names, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(names) != n:
        raise ValueError(
            f"y must hold each of the {n} classes of n_classes; got {len(names)}, "
            f"{checks.shown(names.tolist())}. Add rows of the others, or correct n_classes"
        )
    if counts.min() < 2:
        raise ValueError(
            "y must hold each class at least twice, to train and to test; got "
            f"{checks.shown(names[counts.argmin()])} once. Add rows of it"
        )
    model = classifier
    if model is None:
        base = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
        model = CPEClassifier(base, decoder="likelihood")
    if isinstance(model, type) or not hasattr(model, "get_params") or _prefix(model) is None:
        shown = model.__name__ if isinstance(model, type) else checks.shown(model)
        raise ValueError(
            "classifier must be one of ybar's, such as CPEClassifier(), or a pipeline that ends in "
            f"one; got {shown}. Wrap other classifiers: CPEClassifier(estimator)"
        )
    total = n_rows - n_rows // 3 if budget is None else budget
    _check_memory(X, n_rows, total)
    sizes = sorted({size for part in _PARTS if (size := round(part * total)) >= n})
    rows = X.tocsr() if issparse(X) else X
    return Pilot(rows, codes.astype(np.intp), names, model, tuple(sizes))


def _check_memory(X: Any, n_rows: int, total: int) -> None:
    """Raise `ValueError` if the rows of the pilot, one per label, would not fit in memory."""
    gigabytes = getattr(getattr(X, "data", X), "nbytes", 0) / n_rows * total / 2**30
    if gigabytes > _MOST_GIGABYTES:
        raise ValueError(
            f"budget must be so small that X, repeated for each label, takes at most "
            f"{_MOST_GIGABYTES} GB; {total:,} labels take {gigabytes:.0f} GB. Simulate with fewer "
            "labels or columns, or leave X out"
        )


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _prefix(model: Any) -> str | None:
    """Return the prefix of the parameter `transition`, such as "cpeclassifier__"."""
    names = set(model.get_params())
    prefixes = (name.removesuffix("transition") for name in sorted(names, key=len))
    return next((p for p in prefixes if {f"{p}transition", f"{p}classes"} <= names), None)


def simulate(
    pilot: Pilot, designs: Mapping[str, FloatArray], repeats: int, generator: Generator
) -> Simulation:
    """Return accuracies on held-out rows.

    In a repetition all designs and sizes share the test rows and the order of the other rows.
    """
    accuracies = {name: np.empty((repeats, len(pilot.sizes))) for name in designs}
    for repeat in range(repeats):
        train, test = hold_out.split(len(pilot.codes), pilot.n_test, generator, shuffled=True)
        rows = np.resize(train, pilot.sizes[-1])  # repeated if there are too few
        X_rows, X_test = _safe_indexing(pilot.X, rows), _safe_indexing(pilot.X, test)
        model = _seeded(pilot.classifier, generator)
        for name, T in designs.items():
            y_comp = labels.draw(pilot.codes[rows], T, generator)
            for i, size in enumerate(pilot.sizes):
                part = _safe_indexing(X_rows, np.arange(size))
                y_pred = _fit_predict(model, T, part, y_comp[:size], X_test)
                accuracies[name][repeat, i] = (y_pred == pilot.codes[test]).mean()
    return Simulation(accuracies, pilot.sizes)


def _fit_predict(model: Any, T: FloatArray, X: Any, y_comp: AnyArray, X_test: Any) -> AnyArray:
    if (y_comp == y_comp[0]).all():  # classifiers need two labels
        q = np.eye(len(T))[[y_comp[0]]]
        return np.repeat(decode.decode(q, T), _num_samples(X_test))
    prefix = _prefix(model)
    parameters = {f"{prefix}transition": T, f"{prefix}classes": np.arange(len(T))}
    try:
        return np.asarray(clone(model).set_params(**parameters).fit(X, y_comp).predict(X_test))
    except ValueError as error:
        why = " ".join(str(error).split()).split(". ")[0]
        raise ValueError(
            f"X must be of a form that classifier accepts; its error: {why}"
        ) from error


def _seeded(model: Any, generator: Generator) -> Any:
    """Return a copy in which every random_state that is None is set to a number."""
    unset = sorted(
        name
        for name, value in model.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    seeds = {name: int(generator.integers(2**31)) for name in unset}
    return clone(model).set_params(**seeds)


def std_error(values: FloatArray) -> FloatArray:
    """Return the standard error of the mean over the first axis."""
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(len(values)))


def labels_for(target: float, sizes: tuple[int, ...], means: FloatArray) -> int | None:
    """Return the size at which a curve first reaches the target, linear in log(size)."""
    reached = np.flatnonzero(means >= target)
    if len(reached) == 0:
        return None
    i = int(reached[0])
    if i == 0:
        return sizes[0]
    at = np.interp(target, means[i - 1 : i + 1], np.log(sizes[i - 1 : i + 1]))
    return min(sizes[i], math.ceil(math.exp(at)))
