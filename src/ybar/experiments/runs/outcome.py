"""The trial that a job's runs share, and the outcome of each run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...utils.typing import AnyArray, FloatArray, IntArray
from ..plan.jobs import Training

Progress = Callable[[float], Any]


@dataclass
class Outcome:
    """The outcome of a run."""

    training: Training
    cause: str | None = None  # why it failed, in one line
    traceback: str | None = None
    curves: dict[str, AnyArray] = field(default_factory=dict)  # by epoch or candidate
    scores: dict[str, float] = field(default_factory=dict)  # for tables; see `networks.scores`
    seconds: float = math.nan  # its share of the time of its job
    versions: dict[str, str] = field(default_factory=dict)  # of ybar, Python and the libraries


class Trial(NamedTuple):
    """What all methods of a trial share: T, the drawn labels, the rows to train and validate on."""

    T: FloatArray
    y_comp: IntArray
    training: IntArray
    held_out: IntArray
