"""Check that an array is a transition matrix; build the uniform one, the default of classifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.typing import AnyArray, FloatArray

# Rows of a T read from a file with a few decimals still count as summing to one.
_ROW_SUM_TOLERANCE = 1e-4
_ROUNDING = 1e-12


def check(T: ArrayLike, n_classes: int | None = None, *, name: str = "T") -> FloatArray:
    """Return T as a new float64 array, or raise `ValueError` if it is no transition matrix.

    Parameters
    ----------
    T : "uniform" or array-like of shape (K, K)
        "uniform" needs `n_classes`.
    n_classes : int, optional
        The K that T must have.
    name : str
        What the caller's argument is called, for the error.

    Returns
    -------
    ndarray of shape (K, K)
        If a row misses 1 by more than rounding (and at most 1e-4), rows are divided by their sum.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.check([[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(T, str):
        if n_classes is None:
            raise ValueError(
                f"{name} must be a K×K array; got {T!r}. Make one, for example with "
                "transition.uniform(K)"
            )
        if T != "uniform":
            raise ValueError(
                f"{name} must be 'uniform' or a K×K array; got {T!r}. Make an array, for example "
                "with transition.weak(K) or transition.from_counts(counts)"
            )
        return uniform(n_classes)
    rule = f"{name} must be {'a' if n_classes is None else repr('uniform') + ' or a'} K×K array"
    array = checks.array_of_numbers(T, f"{rule} of numbers").astype(np.float64)
    checks.same_names(T, name)
    check_shape(array, n_classes, name)
    _check_entries(array, name)
    sums = array.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise ValueError(
            f"{name} must have rows that sum to 1; row {worst} sums to {sums[worst]:.6g}. "
            "Turn counts into a transition matrix with transition.from_counts"
        )
    if abs(sums[worst] - 1) <= _ROUNDING:
        return array
    return np.asarray(array / sums[:, None])


def check_shape(array: AnyArray, n_classes: int | None, name: str) -> None:
    """Raise `ValueError` unless an array is square, with a row for each of at least 2 classes."""
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"{name} must be square, one row and one column for each class; got shape {array.shape}"
        )
    if n_classes is not None and len(array) != n_classes:
        raise ValueError(
            f"{name} must have one row and one column for each of the {n_classes} classes; got "
            f"shape {array.shape}. If some classes never occur as a complementary label, name "
            "all of them with classes="
        )
    if len(array) < 2:
        raise ValueError(f"{name} must have at least 2 classes; got shape {array.shape}")


def _check_entries(array: FloatArray, name: str) -> None:
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{name} must hold finite numbers; got {array[row, column]} at row {row}, "
            f"column {column}. Estimate missing entries with transition.from_counts(..., "
            "smoothing=)"
        )
    if (array < 0).any():
        row, column = np.argwhere(array < 0)[0]
        raise ValueError(
            f"{name} must hold probabilities, so none below 0; got {array[row, column]:g} at "
            f"row {row}, column {column}"
        )


def uniform(n_classes: int) -> FloatArray:
    """Return the T under which every other class is equally likely: 1/(K-1) off the diagonal.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.uniform(3)
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """
    n = checks.whole_number(n_classes, "n_classes", 2)
    T = np.full((n, n), 1 / (n - 1))
    np.fill_diagonal(T, 0.0)
    return T
