"""Decode complementary probabilities q with T, into a class or into class probabilities p.

``q[i, k] = P(ȳ = k given x_i)`` and, if labels follow T, ``q = p T`` (row vectors). Everything is
computed with numpy in blocks of rows, so that no array of size N×K×K is ever allocated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from .. import transition
from ..transition.checking import check_for_labels
from ..utils import checks
from ..utils.distances import pairwise
from ..utils.typing import AnyArray, FloatArray, IntArray
from . import likelihood

__all__ = ["class_probabilities", "decode", "inverse"]

Method: TypeAlias = str | Callable[[Any, Any], Any]

METHODS = ("l1", "l2", "max", "likelihood")

_BLOCK_NUMBERS = 1 << 22  # float64 numbers a temporary array may hold: 32 MB
_SUM_TOLERANCE = 1e-3  # rows of float32 models with many classes differ from 1 by about this


def decode(q: ArrayLike, T: ArrayLike, method: Method = "l1") -> IntArray:
    """Return the class of each row of q.

    Parameters
    ----------
    q : array-like of shape (N, K)
        Complementary probabilities.
    T : array-like of shape (K, K)
        Transition matrix.
    method : {"l1", "l2", "max", "likelihood"} or callable
        - "l1", "l2": the class whose row of T is nearest to q;
        - "max": argmax of q T⁻¹; if T is singular, its pseudo-inverse is used, with a warning;
        - "likelihood": argmax of `class_probabilities`;
        - a callable of two vectors, q and a row of T, that returns their distance.

    Returns
    -------
    ndarray of shape (N,)
        Class indices. Ties, to within rounding, are broken arbitrarily.

    Notes
    -----
    With uniform T, all four named methods equal argmin_k q[k], which is then used.

    Examples
    --------
    >>> from ybar import decode, transition
    >>> decode.decode([[0.5, 0.1, 0.4]], transition.uniform(3))
    array([1])
    """
    array, probabilities = _check(q, T)
    check_method(method)
    if isinstance(method, str) and transition.is_uniform(array):
        return np.asarray(probabilities.argmin(axis=1))
    return _in_blocks(
        probabilities, np.empty(len(probabilities), dtype=np.intp), *_decider(array, method)
    )


def check_method(method: Method, *, name: str = "method") -> None:
    """Check that `method` is a decoder."""
    known = isinstance(method, str) and method in METHODS
    if not known and not callable(method):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, METHODS))} or a callable distance; "
            f"got {checks.shown(method)}"
        )


def _decider(T: FloatArray, method: Method) -> tuple[Callable[[FloatArray], IntArray], int]:
    """Return the function that decodes a block, and how many numbers it allocates per row."""
    if method == "likelihood":
        solve, numbers_per_row = likelihood.solver(T)
        return lambda q: solve(q).argmax(axis=1), numbers_per_row
    if method == "max":
        inverted = inverse(T, stacklevel=4)
        return lambda q: (q @ inverted).argmax(axis=1), len(T)
    if method == "l2":
        # ‖q - t‖² = ‖q‖² - 2 q·t + ‖t‖², and ‖q‖² is the same for every class.
        squares = (T * T).sum(axis=1)
        return lambda q: (squares - 2 * (q @ T.T)).argmin(axis=1), len(T)
    return lambda q: pairwise(q, T, method, name="method").argmin(axis=1), len(T)


def class_probabilities(q: ArrayLike, T: ArrayLike) -> FloatArray:
    """Return the most likely p on the simplex for q under T.

    p maximises ``Σ_k q[k] log (p T)[k]``, the log-likelihood of complementary labels observed with
    the frequencies q; the problem is concave. If q T⁻¹ has no negative entry, p is q T⁻¹.

    Parameters
    ----------
    q : array-like of shape (N, K)
        Complementary probabilities; zeros are allowed.
    T : array-like of shape (K, K)
        Transition matrix, singular or not.

    Returns
    -------
    ndarray of shape (N, K)
        Rows are non-negative and sum to 1.

    Notes
    -----
    Matrices with one value on the diagonal and one off it (uniform, with or without uniform
    noise) have a closed form. For other matrices, singular or not, Newton steps solve all rows of a
    block together, until the log-likelihood is within 1e-9 of its maximum (in nats per label; 1e-6
    for more than 100 classes): with ``g = T (q / (p T))`` no p is better by more than max(g) - 1.

    Entries of q at labels that T gives to no class (a column of zeros) are ignored.

    Examples
    --------
    >>> from ybar import decode, transition
    >>> decode.class_probabilities([[0.5, 0.1, 0.4]], transition.uniform(3))
    array([[0. , 0.8, 0.2]])
    """
    array, probabilities = _check(q, T)
    return _in_blocks(probabilities, np.empty(probabilities.shape), *likelihood.solver(array))


def inverse(T: ArrayLike, *, stacklevel: int = 2) -> FloatArray:
    """Return T⁻¹, or the pseudo-inverse with a warning if T is singular.

    Examples
    --------
    >>> from ybar import decode, transition
    >>> decode.inverse(transition.uniform(3)).round(6)
    array([[-1.,  1.,  1.],
           [ 1., -1.,  1.],
           [ 1.,  1., -1.]])
    """
    array = transition.check(T)
    if transition.is_singular(array):
        warnings.warn(
            "T is singular, so its pseudo-inverse is used: results that need T⁻¹ (the 'max' "
            "decoder, URE) are biased. Prefer the 'l1' or 'likelihood' decoder and SCEL",
            UserWarning,
            stacklevel=stacklevel,
        )
        return np.asarray(np.linalg.pinv(array))
    return np.asarray(linalg.solve(array, np.eye(len(array))))


def check_probabilities(q: ArrayLike, n_classes: int | None = None, *, name: str = "q") -> AnyArray:
    """Return q as a float array of shape (N, K) whose rows are distributions.

    Without `n_classes`, K may be any number from 2 on. float32 stays float32, so that a large q is
    not copied; blocks are converted when used.
    """
    array = checks.array_of_numbers(q, f"{name} must be an N×K array of probabilities")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    n_columns = array.shape[1] if array.ndim == 2 else 0
    if n_columns < 2 or n_columns != (n_classes or n_columns):
        columns = f"(N, {n_classes}), one column for each class"
        if n_classes is None:
            columns = "(N, K), one column for each of at least 2 classes"
        raise ValueError(f"{name} must have shape {columns}; got {array.shape}")
    if array.size == 0:
        return array
    with np.errstate(invalid="ignore"):
        sums = array.sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all():
        raise ValueError(
            f"{name} must hold finite probabilities; row {int(np.argmin(np.isfinite(sums)))} has "
            "NaN or infinity. Check the model that made it"
        )
    if array.min() < 0:
        row = int(np.argmin(array.min(axis=1)))
        raise ValueError(
            f"{name} must hold probabilities, so none below 0; got {array[row].min():g} in row "
            f"{row}. Turn scores into probabilities first, for example by softmax"
        )
    row = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[row] - 1) > _SUM_TOLERANCE:
        raise ValueError(
            f"{name} must have rows that sum to 1; row {row} sums to {sums[row]:.6g}. "
            "Divide each row by its sum if they are counts or scores"
        )
    return array


def _check(q: ArrayLike, T: ArrayLike) -> tuple[FloatArray, AnyArray]:
    array = check_for_labels(T, q)
    return array, check_probabilities(q, len(array))


def _in_blocks(
    q: AnyArray, out: AnyArray, function: Callable[[FloatArray], AnyArray], numbers_per_row: int
) -> AnyArray:
    """Fill `out` with the function of q, computed in blocks of rows."""
    step = max(1, _BLOCK_NUMBERS // numbers_per_row)
    for start in range(0, len(q), step):
        rows = slice(start, start + step)
        out[rows] = function(q[rows].astype(np.float64, copy=False))
    return out
