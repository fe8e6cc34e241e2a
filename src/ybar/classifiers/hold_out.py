"""Split rows into training rows and held-out rows: the only splits in ybar."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from ..labels.observed import Observed
from ..utils.checks import shown
from ..utils.random import as_generator
from ..utils.typing import BoolArray, IntArray, Seed

Split = tuple[IntArray, IntArray]


def split(n_rows: int, n_held_out: int, random_state: Seed, *, shuffled: bool = False) -> Split:
    """Return the indices of the training rows and of the held-out rows, drawn at random.

    Indices are sorted unless `shuffled`.
    """
    order = as_generator(random_state).permutation(n_rows)
    training, held_out = order[n_held_out:], order[:n_held_out]
    return (training, held_out) if shuffled else (np.sort(training), np.sort(held_out))


def splits(
    observed: Observed,
    cv: Any,
    validation_fraction: float,
    random_state: Seed,
    earlier: BoolArray | None = None,
) -> list[Split]:
    """Return (training, validation) row indices: one random hold-out, or the splits of `cv`.

    Rows of weight 0 count as absent: they are in no part and do not change the split of the
    others. Both parts of each split must have usable rows: informative, with a weight above 0.

    `earlier` says of each row of an earlier fit whether it was held out. These rows stay where
    they were, without `cv`; only rows after them are divided at random.
    """
    rows = observed.weighted_rows
    if cv is None and earlier is not None:
        parts = [_continued_part(rows, earlier, validation_fraction, random_state)]
    elif cv is None:
        parts = [_random_part(len(rows), validation_fraction, random_state)]
    elif isinstance(cv, (int, np.integer)) or hasattr(cv, "split"):
        parts = _splits_of(cv, observed.code[rows], random_state)
    else:  # these indices count all rows
        parts = _splits_of(cv, observed.code, random_state)
        rows = np.arange(len(observed))
    usable, kept = observed.usable, np.isin(np.arange(len(observed)), observed.weighted_rows)
    weighted = []
    for pair in parts:
        both = [rows[part] for part in pair]
        for part, purpose in zip(both, ("train", "validate"), strict=True):
            if not usable[part].any():
                name, remedy = "cv", "Choose other parts"
                if cv is None:
                    name, remedy = "validation_fraction", "Choose another, or label more rows"
                raise ValueError(
                    f"{name} must leave labelled rows of some weight to {purpose} on; got none in "
                    f"{len(part)} rows. {remedy}"
                )
        training, validation = (part[kept[part]] for part in both)
        weighted.append((training, validation))
    return weighted


def check_fraction(fraction: float) -> None:
    """Raise an error unless a share of rows can be held out."""
    if not isinstance(fraction, (float, np.floating)) or not 0 < fraction < 1:
        raise ValueError(
            "validation_fraction must be a float between 0 and 1, both excluded; got "
            f"{shown(fraction)}"
        )


def _random_part(n_rows: int, fraction: float, random_state: Seed) -> Split:
    check_fraction(fraction)
    n_validation = math.ceil(fraction * n_rows)
    if n_validation >= n_rows:
        raise ValueError(
            f"validation_fraction must leave rows to train on; got {fraction} of {n_rows} rows. "
            "Hold out fewer"
        )
    return split(n_rows, n_validation, random_state)


def _continued_part(
    rows: IntArray, earlier: BoolArray, fraction: float, random_state: Seed
) -> Split:
    """Return positions in `rows`: those held out earlier, and a part of the new rows."""
    n_known = int(np.searchsorted(rows, len(earlier)))
    held_out = np.zeros(len(rows), dtype=bool)
    held_out[:n_known] = earlier[rows[:n_known]]
    n_new = len(rows) - n_known
    _, new = split(n_new, math.ceil(fraction * n_new), random_state)
    held_out[n_known + new] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _splits_of(cv: Any, code: IntArray, random_state: Seed) -> list[Split]:
    n_rows = len(code)
    if isinstance(cv, (int, np.integer)):
        if not 2 <= cv <= n_rows:
            raise ValueError(f"cv must be an int from 2 to the {n_rows} rows; got {cv}")
        # Shuffled, because rows are often sorted by class.
        seed = int(as_generator(random_state).integers(2**31))
        cv = KFold(int(cv), shuffle=True, random_state=seed)
    try:
        pairs = list(check_cv(cv).split(np.empty((n_rows, 0)), code))
        parts = [(np.arange(n_rows)[a], np.arange(n_rows)[b]) for a, b in pairs]
    except (TypeError, ValueError, IndexError) as err:
        raise ValueError(
            "cv must be an int, a splitter of scikit-learn or a list of (train, validation) row "
            f"indices below {n_rows}; got {shown(cv)} ({err})"
        ) from err
    if not parts:
        raise ValueError("cv must have at least one pair of (train, validation) rows; got none")
    return parts
