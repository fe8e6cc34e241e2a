"""Turn a ``random_state`` of the user into a numpy Generator."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, RandomState, SeedSequence

from .checks import shown
from .typing import Seed


def as_generator(random_state: Seed) -> Generator:
    """Return a Generator for `random_state`; the global random state is never touched.

    A ``Generator`` is returned as it is, so it advances. A ``RandomState`` seeds a new Generator
    and advances too. An int or a ``SeedSequence`` always yields the same stream, None a new one.
    """
    if isinstance(random_state, Generator):
        return random_state
    if isinstance(random_state, RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    seed_like = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is None or isinstance(random_state, SeedSequence) or seed_like:
        try:
            return np.random.default_rng(random_state)
        except ValueError:
            pass
    raise ValueError(
        "random_state must be None, a non-negative int, a numpy Generator, RandomState or "
        f"SeedSequence; got {shown(random_state)}"
    )
