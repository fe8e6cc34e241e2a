"""The partitions of Dask collections: rows of X, labels and weights, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..labels import Evidence
from ..utils import checks
from ..utils.extras import require
from ..utils.typing import AnyArray, FloatArray

_IN_MEMORY = "For data in memory, use the classifiers of ybar itself"


@dataclass(frozen=True)
class Blocks:
    """The lazy partitions of X, and those of y and of the weights that belong to them.

    Attributes
    ----------
    X, y, weights : list
        Delayed arrays or data frames; y and weights hold None where there are none.
    lengths : tuple of float
        Numbers of rows; NaN where they are not known.
    names : (str, str)
        What the caller's arguments X and y are called, for errors.
    """

    X: list[Any]
    y: list[Any]
    weights: list[Any]
    lengths: tuple[float, ...]
    names: tuple[str, str] = ("X", "y")

    def __len__(self) -> int:
        return len(self.X)

    def map(self, function: Callable[..., Any], *args: Any, numbered: bool = False) -> list[Any]:
        """Return the lazy results of ``function(X, y, weights, *args)`` for each partition.

        With `numbered`, the number of the partition is the last argument. Errors name it.
        """
        delayed = require("dask", "dask", "ybar.distributed").delayed
        later = delayed(_in_place, pure=False)
        parts = zip(self.X, self.y, self.weights, strict=True)
        places = [f"partition {i + 1} of {len(self)}" for i in range(len(self))]
        return [
            later(places[i], self.names, function, *part, *args, *([i] if numbered else []))
            for i, part in enumerate(parts)
        ]


def _in_place(
    place: str,
    names: tuple[str, str],
    function: Callable[..., Any],
    X: Any,
    y: Any,
    w: Any,
    *args: Any,
) -> Any:
    """Call a function of one partition; an error about its content names the partition."""
    try:
        for name, values in ((names[1], y), ("sample_weight", w)):
            if X is not None and values is not None:
                checks.same_length(names[0], len(X), name, len(values))
        return function(X, y, w, *args)
    except (ValueError, TypeError) as error:
        kind = next(kind for kind in (ValueError, TypeError) if isinstance(error, kind))
        raise kind(f"{place}: {' '.join(str(error).split())}") from error


def blocks_of(
    X: Any, y: Any = None, sample_weight: Any = None, *, names: tuple[str, str] = ("X", "y")
) -> Blocks:
    """Return the partitions of X with those of y and of the weights.

    Parameters
    ----------
    X : Dask array of shape (N, n_features), or Dask data frame
    y : Dask array, series or data frame, Evidence, or list of Evidence, optional
        A list holds the evidence of each partition of X, possibly delayed.
    sample_weight : Dask array or series of shape (N,), optional
    names : (str, str)
        What the caller's arguments X and y are called, for errors.
    """
    parts, lengths = _partitions(X, names[0])
    y_parts = _like(y, (names[0], names[1]), len(parts), lengths)
    weights = _like(sample_weight, (names[0], "sample_weight"), len(parts), lengths)
    return Blocks(parts, y_parts, weights, lengths, names)


def _partitions(values: Any, name: str) -> tuple[list[Any], tuple[float, ...]]:
    dask = require("dask", "dask", "ybar.distributed")
    if not dask.is_dask_collection(values) or not hasattr(values, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask array or a Dask data frame; got {checks.shown(values)}. "
            f"{_IN_MEMORY}"
        )
    if not hasattr(values, "chunks"):  # a data frame or a series
        parts = list(values.to_delayed())
        return parts, (math.nan,) * len(parts)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions; got shape {values.shape}")
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    return values.to_delayed().ravel().tolist(), tuple(values.chunks[0])


def _like(
    values: Any, names: tuple[str, str], n_parts: int, lengths: tuple[float, ...]
) -> list[Any]:
    """Return the partitions of y or of the weights, one for each partition of X."""
    like, name = names
    if values is None:
        return [None] * n_parts
    known = not any(map(math.isnan, lengths))
    if isinstance(values, Evidence):
        if not known:
            raise ValueError(
                f"{name} must be a list of evidence, one for each partition of {like}, if the "
                "lengths of the partitions are not known; got one Evidence. Split it, or call "
                f"{like}.compute_chunk_sizes()"
            )
        ends = np.cumsum(lengths).astype(int).tolist()
        checks.same_length(like, ends[-1], name, len(values))
        return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    if isinstance(values, (list, tuple)):
        parts = list(values)
    else:
        if known and getattr(values, "chunks", ((math.nan,),))[0] != lengths:
            values = _rechunked(values, names, lengths)
        parts, _ = _partitions(values, name)
    if len(parts) != n_parts:
        raise ValueError(
            f"{name} must have the partitions of {like}, of which there are {n_parts}; got "
            f"{len(parts)}. Derive both from the same collection, or repartition one of them"
        )
    return parts


def _rechunked(values: Any, names: tuple[str, str], lengths: tuple[float, ...]) -> Any:
    """Return an array with the chunks of X, if its own lengths are known."""
    chunks = getattr(values, "chunks", None)
    if chunks is None or any(map(math.isnan, chunks[0])):
        return values
    checks.same_length(names[0], int(sum(lengths)), names[1], int(sum(chunks[0])))
    return values.rechunk({0: lengths})


def as_numbers(X: Any) -> AnyArray:
    """Return a partition of X as a matrix of numbers; NaN is a missing value."""
    return np.asarray(
        check_array(
            X, dtype="numeric", ensure_all_finite="allow-nan", ensure_min_samples=0, order="C"
        )
    )


def as_weights(weights: Any, n_rows: int) -> FloatArray | None:
    """Return the weights of a partition, which may all be 0."""
    if weights is None:
        return None
    array = np.asarray(weights)
    if n_rows and not array.any():
        array = np.ones_like(array)
        checks.check_weights(array, n_rows)
        return np.zeros(n_rows)
    return checks.check_weights(array, n_rows) if n_rows else np.zeros(0)


def compute(parts: Sequence[Any]) -> list[Any]:
    """Compute delayed results with the active scheduler of Dask."""
    dask = require("dask", "dask", "ybar.distributed")
    return list(dask.compute(*parts))


def as_collection(parts: Sequence[Any], lengths: Sequence[float], like: AnyArray) -> Any:
    """Return delayed arrays as one Dask array; `like` is an empty array of the same form."""
    da = require("dask.array", "dask", "ybar.distributed")
    arrays = [
        da.from_delayed(part, shape=(n, *like.shape[1:]), dtype=like.dtype)
        for part, n in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
