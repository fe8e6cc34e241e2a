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
    """The outcome of a run.

    Attributes
    ----------
    cause : str or None
        Why the run failed, in one line; None if it did not.
    curves : dict of ndarray
        The values of each epoch (or of each candidate of a search path).
    scores : dict of float
        What tables are built from, such as ``last.accuracy_l1``; see `networks.scores`.
    seconds : float
        The run's share of the time of its job.
    versions : dict of str
        The versions of ybar, Python and the libraries.
    """

    training: Training
    cause: str | None = None
    traceback: str | None = None
    curves: dict[str, AnyArray] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    seconds: float = math.nan
    versions: dict[str, str] = field(default_factory=dict)


class Trial(NamedTuple):
    """What all methods of a trial share: T, the drawn labels, the rows to train and validate on."""

    T: FloatArray
    y_comp: IntArray
    training: IntArray
    held_out: IntArray
