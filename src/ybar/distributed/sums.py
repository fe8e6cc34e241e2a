"""A mean of losses and its standard error as one reduction: what each block of rows adds up to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..metrics.losses import Losses
from ..utils.extras import require
from ..utils.typing import FloatArray

FAN_IN = 16  # results that one task of a reduction combines


class Sums(NamedTuple):
    """What rows contribute to a weighted mean over labels, and to its standard error over rows.

    A row of weight w has c labels, z of which have probability 0 under the model; A is the sum of
    the losses of the others. The loss of a label of probability 0 depends on the number of all
    labels, so it enters only in `mean_and_error`.

    Attributes
    ----------
    labels, rows : int
        Labels and rows that count.
    totals : ndarray of shape (3,)
        Sums of w A, w z and w c.
    centre : float
        A value near the mean, from which losses are measured, so that no digits cancel.
    products : ndarray of shape (3, 3)
        Sums of the products of w (A - c centre), w z and w c.
    cubes : float
        The sum of (w c)³.
    """

    labels: int
    rows: int
    totals: FloatArray
    centre: float
    products: FloatArray
    cubes: float

    @classmethod
    def nothing(cls) -> Sums:
        """Return the sums of no rows."""
        return cls(0, 0, np.zeros(3), 0.0, np.zeros((3, 3)), 0.0)

    @classmethod
    def of(cls, losses: Losses, weights: FloatArray | None) -> Sums:
        """Return the sums of one block; an infinite loss is that of a probability of 0."""
        values, rows, n = losses
        w = np.ones(n) if weights is None else weights
        used = w[rows] > 0
        values, rows = values[used], rows[used]
        zero = np.isposinf(values)
        finite = np.where(zero, 0.0, values)
        sums = [np.bincount(rows, weights=each, minlength=n) for each in (finite, zero, None)]
        columns = w[:, None] * np.stack(sums, axis=1).astype(np.float64)
        totals = columns.sum(axis=0)
        if not totals[2]:
            return cls.nothing()
        centre = float(totals[0] / totals[2])
        columns[:, 0] -= centre * columns[:, 2]
        n_rows = int(np.count_nonzero(columns[:, 2]))
        cubes = float((columns[:, 2] ** 3).sum())
        return cls(len(values), n_rows, totals, centre, columns.T @ columns, cubes)

    @classmethod
    def merged(cls, parts: Sequence[Sums]) -> Sums:
        """Return the sums of several blocks together."""
        parts = [part for part in parts if part.rows]
        if not parts:
            return cls.nothing()
        totals = np.sum([part.totals for part in parts], axis=0)
        centre = float(totals[0] / totals[2])
        return cls(
            sum(part.labels for part in parts),
            sum(part.rows for part in parts),
            totals,
            centre,
            np.sum([part._products_around(centre) for part in parts], axis=0),
            float(np.sum([part.cubes for part in parts])),
        )

    def _products_around(self, centre: float) -> FloatArray:
        shift = np.eye(3)
        shift[0, 2] = self.centre - centre
        return np.asarray(shift @ self.products @ shift.T)

    @property
    def effective_rows(self) -> float:
        """Kish's effective number of rows, (Σw)²/Σw²."""
        return float(self.totals[2] ** 2 / self.products[2, 2])

    def mean_and_error(self, zero_as: float | None = 0.0) -> tuple[float, float]:
        """Return the mean over labels and its standard error over rows.

        The same as `ybar.metrics.losses.mean_and_error` of all rows. A probability of 0 counts as
        `zero_as`; None is 1/(n+1) among n labels.
        """
        if zero_as is None:
            zero_as = 1 / (self.labels + 1)
        loss, zeros, weight = self.totals
        of_zero = 0.0
        if zeros:
            of_zero = -math.log(zero_as) if zero_as > 0 else math.inf
        mean = float((loss + of_zero * zeros) / weight) if zeros else float(loss / weight)
        if not math.isfinite(mean):
            return mean, math.nan
        direction = np.array([1.0, of_zero, self.centre - mean])
        deviations = float(direction @ self.products @ direction)
        return mean, math.sqrt(self._small_sample_factor() * max(0.0, deviations)) / float(weight)

    def _small_sample_factor(self) -> float:
        """Return `ybar.metrics.losses.small_sample_factor` of the rows' weights."""
        scale = self.totals[2] / self.rows
        first, second = self.rows, self.products[2, 2] / scale**2
        third = self.cubes / scale**3
        observed = second * first**2
        expected = observed + second**2 - 2 * first * third
        return float(observed / expected) if expected > 1e-12 * observed else math.nan


def reduced(parts: Sequence[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Return the lazy result of a reduction in a tree of tasks."""
    delayed = require("dask", "dask", "ybar.distributed").delayed
    merge_later = delayed(merge, pure=False)
    level = list(parts)
    while len(level) > 1:
        level = [merge_later(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0]
