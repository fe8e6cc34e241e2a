"""One way from a user's ``random_state`` to a numpy Generator."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, RandomState, SeedSequence

from .checks import shown
from .typing import Seed


def as_generator(random_state: Seed) -> Generator:
    """Return a Generator for `random_state`; the global random state is never touched.

    A ``Generator`` is used as it is (and so advances), a ``RandomState`` seeds a new one (and
    advances too), an int or a ``SeedSequence`` always gives the same stream, None a fresh one.
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
