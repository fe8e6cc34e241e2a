"""Check that an array is a transition matrix; build the uniform one, the default of classifiers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.typing import AnyArray, FloatArray

_HALF_UNIT = 0.0005  # the largest rounding error of an entry with three decimals
_LARGEST_MISS = 0.1  # an upper limit, because K half units are large if there are many classes
_SAID = 1e-6  # larger deviations from 1 cause a warning; those of float32 are smaller
_ROUNDING = 1e-12


def check(
    T: ArrayLike,
    n_classes: int | None = None,
    *,
    name: str = "T",
    classes: AnyArray | None = None,
) -> FloatArray:
    """Return T as a new float64 array, or raise `ValueError` if it is no transition matrix.

    Parameters
    ----------
    T : "uniform" or array-like of shape (K, K)
        "uniform" needs `n_classes`.
    n_classes : int, optional
        The K that T must have.
    name : str
        The name of the caller's argument, for errors.
    classes : ndarray of shape (K,), optional
        The classes in the order of the rows. A data frame that names other classes, or these in
        another order, raises `ValueError`.

    Returns
    -------
    ndarray of shape (K, K)
        Rows whose sums differ from 1 are divided by their sum, with a warning if the difference is
        above 1e-6. Entries may be rounded to three decimals: the sum of a row may differ from 1 by
        K times 0.0005, but not by more than 0.1.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.check([[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    if classes is not None:
        n_classes = len(classes)
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
    checks.check_same_names(T, name)
    check_shape(array, n_classes, name)
    _check_entries(array, name)
    if classes is not None:
        checks.check_names(T, classes, name)
    return _normalised(array, name)


def check_for_labels(T: ArrayLike, labels: Any, *, name: str = "T") -> FloatArray:
    """Return T as an array whose order is that of labels or probabilities.

    `labels` are evidence, a data frame with named columns, or class indices or columns without
    names. If T is a data frame, it must name the same classes in the same order.
    """
    array = check(T, name=name)
    known = getattr(labels, "classes", None)
    names = checks.frame_names(labels, "columns") if known is None else known
    checks.check_names(T, np.asarray(range(len(array)) if names is None else names), name)
    return array


def _normalised(array: FloatArray, name: str) -> FloatArray:
    """Return a matrix whose rows sum to 1 if they do so up to the rounding of their entries."""
    sums = array.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    miss = abs(sums[worst] - 1)
    if miss > min(len(array) * _HALF_UNIT, _LARGEST_MISS) + _ROUNDING:
        raise ValueError(
            f"{name} must have rows that sum to 1; row {worst} sums to {sums[worst]:.6g}. "
            "Turn counts into a transition matrix with transition.from_counts"
        )
    if miss <= _ROUNDING:
        return array
    if miss > _SAID:
        warnings.warn(
            f"{name} has rows that sum to 1 only up to rounding; row {worst} sums to "
            f"{sums[worst]:.6g}. Each row was divided by its sum. Pass all decimals to avoid this",
            stacklevel=3,
        )
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
