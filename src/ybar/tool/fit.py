"""``ybar fit``: from a table with "not this" answers to a model, and how good it will be."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import persistence, transition
from ..tables import candidates, columns, files
from ..tables import labels as complementary
from ..tables.candidates import Told, Tried
from ..tables.model import TableClassifier
from ..transition.reading import MatrixError, read_matrix
from ..utils.files import target_file
from ..utils.typing import FloatArray

_SURE = 2.0  # standard errors


@dataclass(frozen=True)
class Request:
    """What ``ybar fit`` was asked for."""

    data: str
    label: list[str]
    model: str
    classes: str | None = None
    transition: str = "uniform"
    method: str = "auto"
    decoder: str | None = None
    leave_out: tuple[str, ...] = ()
    separator: str = "|"
    delimiter: str | None = None
    image_size: int = 28
    time_limit: float | None = None
    seed: int = 0


@dataclass
class Account:
    """What came of it: what was tried, what was chosen, what is to be expected of it."""

    told: Told
    source: str
    n_rows: int
    tried: list[Tried]
    chosen: Tried
    constant: float
    gain: float
    gain_std_error: float
    model: TableClassifier

    @property
    def informative(self) -> bool:
        """Whether the model knows surely more of the labels than the best constant guess."""
        return self.gain > _SURE * self.gain_std_error

    def plain(self) -> dict[str, Any]:
        """Return it in values that JSON has."""
        chosen, T = self.chosen, self.told.T
        return {
            "rows": self.n_rows,
            "labels": int(self.told.y_comp.mask.sum()),
            "classes": self.told.y_comp.classes,
            "columns": {name: list(v) for name, v in self.told.columns._asdict().items()},
            "left_out": dict(self.told.columns.left_out),
            "transition": {"source": self.source, "gamma": transition.gamma(T), "T": T.tolist()},
            "tried": [
                {
                    "method": tried.method,
                    "scel": _finite(tried.scel),
                    "scel_std_error": _finite(tried.scel_std_error),
                    "error_rate": _finite(tried.error),
                    "error_rate_std_error": _finite(tried.error_std_error),
                    "seconds": round(tried.seconds, 2),
                    "failed": tried.failed,
                }
                for tried in self.tried
            ],
            "method": chosen.method,
            "scel": chosen.scel,
            "scel_of_the_best_constant_guess": self.constant,
            "informative": self.informative,
            "expected_accuracy": _finite(1 - chosen.error),
            "expected_accuracy_std_error": _finite(chosen.error_std_error),
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def read(request: Request) -> tuple[Any, Told, str]:
    """Return the table, what candidates are told of it, and where T comes from."""
    true = [request.transition.removeprefix("estimate:")]
    true = true if request.transition.startswith("estimate:") else []
    frame = files.read(
        request.data,
        delimiter=request.delimiter,
        image_size=request.image_size,
        as_text=[*request.label, *true],
    )
    given = complementary.split_names(request.classes)
    if given is None and true:
        complementary.need(frame, true, "--transition estimate:")
        given = complementary.classes_of_both(frame, request.label, true[0], request.separator)
    if given is None and request.transition not in ("uniform", *true):
        given = _of_matrix(request.transition)
    found = complementary.read_labels(frame, request.label, given, request.separator)
    complementary.need(frame, request.leave_out, "--leave-out")
    used = columns.find(frame, [*request.label, *true, *request.leave_out, *_of_images(frame)])
    T, source = complementary.matrix_for(request.transition, frame, found)
    return frame, Told(used, found, T, request.seed, request.decoder), source


def _of_matrix(given: str) -> list[str] | None:
    """Return the classes that the file of a matrix names, None if it names none."""
    with contextlib.suppress(MatrixError):
        return read_matrix(given).classes
    return None  # what is wrong with it is said when it is needed


def _of_images(frame: Any) -> list[str]:
    """Return the columns of a folder of images that are no features."""
    return [name for name in ("file", "folder") if name in frame and "pixel0" in frame]


def fit(request: Request, tell: Callable[[Tried], Any] = lambda _: None) -> Account:
    """Read, try the candidates, fit the best one to all rows and write the model."""
    if request.model == "-":
        raise files.DataError("--model must be a file; a model cannot go to standard output")
    target = target_file(request.model, "--model")
    frame, told, source = read(request)
    started = time.monotonic()
    tried = []
    names = candidates.candidates(request.method, len(frame))
    for each in candidates.try_all(names, frame, told, request.time_limit):
        tried.append(each)
        tell(each)
    well = [each for each in tried if each.failed is None]
    if not well:
        reasons = "; ".join(f"{each.method}: {each.failed}" for each in tried)
        raise files.DataError(f"no model could be fitted to {request.data} ({reasons})")
    chosen = min(well, key=lambda each: each.scel)
    training, held_out = candidates.split(told.y_comp.mask, told.seed)
    constant = candidates.constant_losses(told.y_comp.mask[training], told.y_comp.mask[held_out])
    assert chosen.losses is not None  # noqa: S101
    gain, gain_error = candidates.mean_and_error(
        constant - chosen.losses, told.y_comp.mask[held_out]
    )
    left = None
    if request.time_limit is not None:
        left = max(request.time_limit - (time.monotonic() - started), chosen.seconds)
    model = candidates.fit_to_all(chosen, frame, told, left)
    account = Account(
        told, source, len(frame), tried, chosen, float(np.mean(constant)), gain, gain_error, model
    )
    model.account_ = account.plain()
    persistence.save(model, target)
    return account


def explain(account: Account) -> list[str]:
    """Return in words what is to be expected of a model, and where it may disappoint."""
    chosen, T = account.chosen, account.told.T
    lines = [
        f"Chosen: {chosen.method}, by SCEL {chosen.scel:.4f} on labels it did not see "
        f"(the best constant guess: {account.constant:.4f})."
    ]
    if not account.informative:
        lines.append(
            "These labels carry too little information to learn from: no model told them surely "
            "better than a guess that does not look at the data. Collect more labels, or labels "
            "that depend more on the class."
        )
    if math.isfinite(chosen.error):
        low, high = _interval(1 - chosen.error, chosen.error_std_error)
        lines.append(
            f"Expected accuracy: {100 * min(1.0, max(0.0, 1 - chosen.error)):.1f}% (two standard "
            f"errors: {100 * low:.1f}% to {100 * high:.1f}%), estimated without any true label"
            f", if T is right ({account.source})."
        )
        if high - low > 0.5:
            lines.append("That is too wide to say much: more labels narrow it.")
    else:
        lines.append(
            "No accuracy can be estimated: the transition matrix is singular, some classes cannot "
            "be told apart by their labels."
        )
    lines += _of_transition(T, account.told.y_comp.classes)
    missing = (T.sum(axis=0) > 0) & ~account.told.y_comp.mask.any(axis=0)
    for name in account.told.y_comp.names[missing]:
        lines.append(
            f"{name} is never among the complementary labels, which T expects: it will be "
            "predicted nearly everywhere, and the accuracy above is not to be trusted. If nobody "
            "was asked about it, say so with --transition."
        )
    return lines


def _interval(mean: float, std_error: float) -> tuple[float, float]:
    low, high = mean - _SURE * std_error, mean + _SURE * std_error
    return max(0.0, low), min(1.0, high)


def _of_transition(T: FloatArray, classes: list[str]) -> list[str]:
    between = np.abs(T[:, None] - T[None]).sum(axis=2)
    np.fill_diagonal(between, np.inf)
    a, b = np.unravel_index(int(np.argmin(between)), between.shape)
    if between[a, b] > 0.02:
        return []
    return [
        f"Labels hardly tell {classes[int(a)]} from {classes[int(b)]}: their rows of T differ by "
        f"{between[a, b]:.3f} in all."
    ]
