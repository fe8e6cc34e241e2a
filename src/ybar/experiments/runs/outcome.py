"""What a job is about, and what came of each of its runs."""

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
    """What came of a run.

    Attributes
    ----------
    cause : str or None
        Why it failed, in a line; None where it did not.
    curves : dict of ndarray
        Numbers of each epoch (or of each candidate of a path).
    scores : dict of float
        What tables are made from, such as ``last.accuracy_l1``; see `networks.figures`.
    seconds : float
        Its share of the time of the job.
    versions : dict of str
        Of ybar, Python and the libraries that it ran with.
    """

    training: Training
    cause: str | None = None
    traceback: str | None = None
    curves: dict[str, AnyArray] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    seconds: float = math.nan
    versions: dict[str, str] = field(default_factory=dict)


class Trial(NamedTuple):
    """What all methods of a trial see: T, the labels drawn, the rows to train and validate on."""

    T: FloatArray
    y_comp: IntArray
    training: IntArray
    held_out: IntArray
