r"""Build, check, describe and estimate transition matrices.

A transition matrix T is K×K with ``T[y, k] = P(ȳ = k given y)``: row y is the distribution of the
complementary labels of class y. Rows sum to 1; the diagonal is 0 when labels are never wrong.
Everything here is plain numpy in float64; no value is clipped, and no function changes its input.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import _checks
from ._distances import pairwise
from ._encode import encode, pairs
from ._random import as_generator
from ._typing import Distance, FloatArray, Seed

__all__ = [
    "biased",
    "check",
    "condition_number",
    "describe",
    "epsilon",
    "estimate",
    "from_counts",
    "gamma",
    "is_singular",
    "is_uniform",
    "strong",
    "uniform",
    "weak",
    "with_uniform_noise",
]

WEAK_MASSES = (0.45, 0.30, 0.25)
STRONG_MASSES = (0.75, 0.24, 0.01)

# Rows of a T read from a file with a few decimals still count as summing to one.
_ROW_SUM_TOLERANCE = 1e-4
_ROUNDING = 1e-12
_UNIFORM_TOLERANCE = 1e-9


def check(T: ArrayLike, n_classes: int | None = None, *, name: str = "T") -> FloatArray:
    """Return T as a new float64 array, or say in one line what is wrong with it.

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
    array = _checks.array_of_numbers(T, f"{rule} of numbers").astype(np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"{name} must be square, one row and one column for each class; got shape {array.shape}"
        )
    n = len(array)
    if n_classes is not None and n != n_classes:
        raise ValueError(
            f"{name} must have one row and one column for each of the {n_classes} classes; got "
            f"shape {array.shape}. If some classes never occur as a complementary label, name "
            "all of them with classes="
        )
    if n < 2:
        raise ValueError(f"{name} must have at least 2 classes; got shape {array.shape}")
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
    n = _checks.whole_number(n_classes, "n_classes", 2)
    T = np.full((n, n), 1 / (n - 1))
    np.fill_diagonal(T, 0.0)
    return T


def biased(
    n_classes: int, masses: Sequence[float] = WEAK_MASSES, random_state: Seed = None
) -> FloatArray:
    """Return a T whose rows give three (or more) random parts of the other classes their masses.

    Each row's other classes are put in random order and cut into ``len(masses)`` parts of equal
    size; part i shares ``masses[i]`` evenly. Where K-1 is not a multiple of the number of parts,
    a class on the border of two parts takes its share of both, so that the shape is the same for
    every K ≥ 2 and the rows always sum to 1.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    masses : sequence of float
        Masses of the parts, none negative, summing to 1.
    random_state : int, Generator, RandomState or None
        Each row is cut anew.

    Returns
    -------
    ndarray of shape (K, K)

    Examples
    --------
    >>> from ybar import transition
    >>> T = transition.biased(7, masses=(0.6, 0.3, 0.1), random_state=0)
    >>> sorted({round(float(t), 3) for t in T[0]})
    [0.0, 0.05, 0.15, 0.3]
    """
    n = _checks.whole_number(n_classes, "n_classes", 2)
    rule = "masses must be non-negative numbers that sum to 1, one for each part"
    mass = _checks.array_of_numbers(masses, rule).astype(np.float64)
    good = mass.ndim == 1 and mass.size > 0 and np.isfinite(mass).all() and (mass >= 0).all()
    if not good or abs(mass.sum() - 1) > 1e-9:
        raise ValueError(f"{rule}; got {_checks.shown(masses)}")
    # In units of 1/((K-1)·parts) of the other classes, what a class and a part have in common.
    class_end = mass.size * np.arange(1, n)[:, None]
    part_end = (n - 1) * np.arange(1, mass.size + 1)
    common = np.minimum(class_end, part_end) - np.maximum(class_end - mass.size, part_end - (n - 1))
    shares = np.maximum(common, 0) @ (mass / mass.sum()) / (n - 1)
    order = as_generator(random_state).permuted(np.tile(np.arange(n - 1), (n, 1)), axis=1)
    T = np.zeros((n, n))
    T[~np.eye(n, dtype=bool)] = shares[order].ravel()
    return T


def weak(n_classes: int, random_state: Seed = None) -> FloatArray:
    """Return the paper's weakly biased T: `biased` with masses 0.45, 0.30 and 0.25.

    Examples
    --------
    >>> from ybar import transition
    >>> sorted({round(float(t), 4) for t in transition.weak(10, random_state=0)[0]})
    [0.0, 0.0833, 0.1, 0.15]
    """
    return biased(n_classes, WEAK_MASSES, random_state)


def strong(n_classes: int, random_state: Seed = None) -> FloatArray:
    """Return the paper's strongly biased T: `biased` with masses 0.75, 0.24 and 0.01.

    Examples
    --------
    >>> from ybar import transition
    >>> sorted({round(float(t), 4) for t in transition.strong(10, random_state=0)[0]})
    [0.0, 0.0033, 0.08, 0.25]
    """
    return biased(n_classes, STRONG_MASSES, random_state)


def with_uniform_noise(T: ArrayLike, level: float) -> FloatArray:
    """Return (1-λ)T + λ/K: with probability `level` = λ a label is drawn from all K classes.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.with_uniform_noise([[0, 1], [1, 0]], 0.5)
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    array = check(T)
    level = _checks.number(level, "level", "a number from 0 (no noise) to 1 (only noise)", 0, 1)
    return (1 - level) * array + level / len(array)


def from_counts(counts: ArrayLike, smoothing: float = 0.0) -> FloatArray:
    """Turn counts of (class, complementary label) into a transition matrix.

    ``T[y, k] = (counts[y, k] + smoothing) / (Σ_j counts[y, j] + K·smoothing)``: the mean of the
    posterior under a symmetric Dirichlet prior with `smoothing` pseudo-counts in each cell.

    Parameters
    ----------
    counts : array-like of shape (K, K)
        ``counts[y, k]`` is how often an example of class y was said not to be k.
    smoothing : float
        0 keeps zeros; a row without any count then is an error.

    Returns
    -------
    ndarray of shape (K, K)

    Examples
    --------
    >>> from ybar import transition
    >>> transition.from_counts([[0, 8, 2], [5, 0, 5], [3, 7, 0]])
    array([[0. , 0.8, 0.2],
           [0.5, 0. , 0.5],
           [0.3, 0.7, 0. ]])
    """
    array = _checks.array_of_numbers(counts, "counts must be a K×K array of numbers").astype(
        np.float64
    )
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise ValueError(
            "counts must be square, one row and one column for each of at least 2 classes; "
            f"got shape {array.shape}"
        )
    wrong = ~np.isfinite(array) | (array < 0)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"counts must be finite and not negative; got {array[row, column]:g} at row {row}, "
            f"column {column}"
        )
    smoothing = _checks.number(smoothing, "smoothing", "a finite number of at least 0", 0)
    array += smoothing
    sums = array.sum(axis=1, keepdims=True)
    if (sums == 0).any():
        raise ValueError(
            f"counts has no count in row {int(np.argmin(sums))}, so its probabilities are "
            "unknown; pass smoothing= (for example 1/K) or collect labels for that class"
        )
    return np.asarray(array / sums)


def estimate(
    y_true: ArrayLike,
    y_comp: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    smoothing: float | None = None,
) -> FloatArray:
    """Estimate T from a few rows that have both an ordinary and a complementary label.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        Ordinary labels.
    y_comp : array-like of shape (N,), or boolean array of shape (N, K)
        Complementary labels: one a row, or several.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. By default the sorted values of `y_true` and
        `y_comp` together; for several labels a row as in `ybar.labels.encode`.
    smoothing : float, optional
        Pseudo-counts for each cell; by default 1/K, so that the prior of a row weighs one label.

    Returns
    -------
    ndarray of shape (K, K)

    Examples
    --------
    >>> from ybar import transition
    >>> transition.estimate(["a", "a", "b"], ["b", "b", "a"], smoothing=0.5).round(2)
    array([[0.17, 0.83],
           [0.75, 0.25]])
    """
    given = _checks.label_array(y_true, "y_true must hold one label a row")
    if len(given) == 0:
        raise ValueError("y_true must hold at least one label; got none")
    given = _checks.label_column(given, "y_true")
    if classes is None and np.ndim(y_comp) == 1:
        # All classes of both together; each is encoded alone first, to word errors of its own.
        kinds = [np.unique(given), encode(y_comp, name="y_comp")[1]]
        if len({names.dtype.kind in "OUT" for names in kinds}) > 1:
            raise ValueError(
                "y_true and y_comp must hold labels of one kind; got "
                f"{_checks.shown(kinds[0][0])} and {_checks.shown(kinds[1][0])}"
            )
        classes = np.union1d(*kinds)
        if len(classes) < 2:
            raise ValueError(
                "y_true and y_comp must hold at least 2 classes; got only "
                f"{_checks.shown(classes[0])}. Name all with classes="
            )
    comp, names = encode(y_comp, classes, name="y_comp")
    true, _ = encode(given, names, name="y_true")
    if len(true) != len(comp):
        raise ValueError(
            "y_true and y_comp must have the same number of rows; got shapes "
            f"{true.shape} and {comp.shape}"
        )
    rows, k = pairs(comp, len(names))
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (true[rows], k), 1)
    return from_counts(counts, 1 / len(names) if smoothing is None else smoothing)


def gamma(T: ArrayLike, distance: Distance = "l1") -> float:
    """Return the paper's γ: the smallest distance between two rows of T.

    Decoding tells classes apart by their rows: the larger γ, the more a label is worth; at γ = 0
    two classes cannot be told apart at all.

    Parameters
    ----------
    T : array-like of shape (K, K)
    distance : {"l1", "l2"}, name of a scipy.spatial.distance metric, or callable of two vectors

    Examples
    --------
    >>> from ybar import transition
    >>> round(transition.gamma(transition.uniform(10)), 4)
    0.2222
    """
    array = check(T)
    between = pairwise(array, array, distance)
    return float(between[~np.eye(len(array), dtype=bool)].min())


def epsilon(T_true: ArrayLike, T: ArrayLike) -> float:
    """Return the paper's ε: the largest L1 distance between a row of `T_true` and that of `T`.

    Examples
    --------
    >>> from ybar import transition
    >>> T = transition.uniform(10)
    >>> round(transition.epsilon(transition.with_uniform_noise(T, 0.5), T), 4)
    0.1
    """
    true = check(T_true, name="T_true")
    return float(np.abs(true - check(T, len(true))).sum(axis=1).max())


def condition_number(T: ArrayLike) -> float:
    """Return the 2-norm condition number of T: how much inverting T can amplify noise.

    Examples
    --------
    >>> from ybar import transition
    >>> round(transition.condition_number(transition.uniform(10)), 6)
    9.0
    """
    return float(np.linalg.cond(check(T)))


def is_uniform(T: ArrayLike) -> bool:
    """Tell whether T is the uniform matrix, to within 1e-9 an entry."""
    array = check(T)
    return bool(np.abs(array - uniform(len(array))).max() <= _UNIFORM_TOLERANCE)


def is_singular(T: ArrayLike) -> bool:
    """Tell whether T has no usable inverse (its numerical rank is below K)."""
    array = check(T)
    return bool(np.linalg.matrix_rank(array) < len(array))


def _labels_needed(T: FloatArray, error: float) -> int | None:
    """Return how many labels of one class name it with at most this chance of error.

    m labels of class y are more likely under another row j with a chance of at most BC(y, j)^m,
    BC being the Bhattacharyya coefficient Σ_k √(T[y, k] T[j, k]); summed over the other classes.
    """
    roots = np.sqrt(T)
    overlap = roots @ roots.T
    np.fill_diagonal(overlap, 0.0)
    largest = float(overlap.max())
    if largest >= 1 - 1e-12:
        return None
    if largest == 0:
        return 1

    def bound(m: int) -> float:
        return float((overlap**m).sum(axis=1).max())

    low, high = 0, 1
    while bound(high) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bound(middle) > error else (low, middle)
    return high


def describe(T: ArrayLike) -> str:
    """Return a short account of T: its kind, γ, its condition, and what labels buy under it.

    "Labels a class" are complementary labels of examples that look alike: that many, drawn from
    one row of T, name the row with the stated chance. A model that shares strength between
    examples needs fewer of each, one whose classes overlap needs more.

    Examples
    --------
    >>> from ybar import transition
    >>> print(transition.describe(transition.uniform(10)))
    transition matrix of 10 classes: uniform
    gamma (smallest L1 distance of two rows): 0.2222
    condition number: 9
    share of wrong labels (diagonal): none
    labels a class to tell it from the others: 39 for 90%, 58 for 99%, 78 for 99.9%
    """
    array = check(T)
    n = len(array)
    diagonal = np.diag(array)
    noise = with_uniform_noise(uniform(n), min(1.0, n * float(diagonal.mean())))
    flat = np.abs(array - noise).max() <= _UNIFORM_TOLERANCE
    kinds = ["uniform" if flat else "biased"]
    if diagonal.max() > 0:
        kinds.append("noisy (labels can be wrong)")
    singular = is_singular(array)
    if singular:
        kinds.append("singular")
    distance = gamma(array)
    lines = [
        f"transition matrix of {n} classes: {', '.join(kinds)}",
        f"gamma (smallest L1 distance of two rows): {distance:.4g}",
        "condition number: "
        + ("infinite (T has no inverse)" if singular else f"{condition_number(array):.4g}"),
        "share of wrong labels (diagonal): "
        + (
            f"{diagonal.mean():.3g} on average, {diagonal.max():.3g} at most"
            if diagonal.max() > 0
            else "none"
        ),
    ]
    needed = {error: _labels_needed(array, error) for error in (0.1, 0.01, 0.001)}
    if None in needed.values():
        first, second = _closest_rows(array)
        lines.append(
            f"no number of labels tells class {first} from class {second}: their rows are the same"
        )
    else:
        amounts = ", ".join(f"{m:,} for {100 * (1 - e):g}%" for e, m in needed.items())
        lines.append(f"labels a class to tell it from the others: {amounts}")
    return "\n".join(lines)


def _closest_rows(T: FloatArray) -> tuple[int, int]:
    between = pairwise(T, T, "l1")
    np.fill_diagonal(between, np.inf)
    first, second = np.unravel_index(int(np.argmin(between)), between.shape)
    return int(first), int(second)
