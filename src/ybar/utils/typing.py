"""Names for the types that several modules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator, RandomState, SeedSequence
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
Seed: TypeAlias = int | Generator | RandomState | SeedSequence | None
Distance: TypeAlias = str | Callable[[Any, Any], Any]
