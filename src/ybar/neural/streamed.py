"""The labels of a stream, and its training and held-out samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..labels.observed import Observed, observe, observe_codes
from ..utils import checks
from ..utils.typing import AnyArray
from . import samples
from .methods import Method
from .samples import Parts, Samples
from .streaming import HeldOut, Stream


def codes_of(
    X: Stream, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
) -> tuple[AnyArray, AnyArray]:
    """Return the class index of each label, in the smallest type, and the classes."""
    if sample_weight is not None:
        raise ValueError(
            "sample_weight must be None if X is a stream; got "
            f"{checks.shown(sample_weight)}. Repeat rows, or fit to rows in memory"
        )
    if isinstance(y, str):
        return X.labels(y, classes)
    observed = observe(y, classes)
    checks.same_length("X", len(X), "y", len(observed))
    if not observed.patterns.one_label_each:
        raise ValueError(
            "y must hold one complementary label per row, or name their column, where X is a "
            "stream; got several labels per row, or evidence. Fit to rows in memory"
        )
    k = observed.label_table.argmax(axis=1)[observed.code]
    return k.astype(np.min_scalar_type(-len(observed.classes))), observed.classes


def split(
    X: Stream,
    codes: AnyArray,
    observed: Observed,
    method: Method,
    fraction: float,
    generator: np.random.Generator,
) -> tuple[HeldOut, Parts]:
    """Return the stream with its held-out rows in memory, and the samples of each part.

    Parameters
    ----------
    X : Stream
        Of the features.
    codes : ndarray of shape (N,)
        The class index of each label.
    observed : Observed
        The labels that occur, with their classes and T.
    """
    if not 0 <= fraction < 1 or (isinstance(fraction, (bool, int)) and fraction):
        raise ValueError(
            "validation_fraction must be a float of at least 0 and below 1; got "
            f"{checks.shown(fraction)}"
        )
    numbers = X.held_out_rows(fraction, generator) if fraction else np.empty(0, np.intp)
    n_training = len(X) - len(numbers)
    if n_training < 2:
        raise ValueError(
            f"validation_fraction must leave at least 2 rows to train on; got {fraction} of "
            f"{len(X)} rows"
        )
    held_out = HeldOut(X, numbers, X.rows(numbers))
    # A stream knows its rows by their positions: these numbers take no memory, and are not read.
    rows = np.broadcast_to(np.intp(0), n_training)
    training = Samples(rows, np.delete(codes, numbers))
    if not fraction:
        return held_out, (training, None, None)
    validation = observe_codes(codes[numbers].astype(np.intp), len(observed.classes))
    validation = validation.with_transition(observed.T)
    in_memory = np.arange(len(numbers))
    return held_out, (
        training,
        samples.normalised(validation, in_memory),
        samples.normalised(validation, in_memory, method) if method.learns else None,
    )
