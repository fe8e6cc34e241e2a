"""Describe a transition matrix: distances of rows, condition, and the number of labels it needs."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import ArrayLike

from ..utils.checks import frame_names
from ..utils.distances import pairwise
from ..utils.typing import Distance, FloatArray
from .building import with_uniform_noise
from .checking import check, uniform

_UNIFORM_TOLERANCE = 1e-9


def gamma(T: ArrayLike, distance: Distance = "l1") -> float:
    """Return the paper's γ: the smallest distance between two rows of T.

    Decoders distinguish classes by the rows of T: the larger γ, the more a label is worth. At γ = 0
    two classes have equal rows, and no number of labels distinguishes them.

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
    names = frame_names(T_true, "index")
    used = check(T, len(true), classes=None if names is None else np.asarray(names))
    return float(np.abs(true - used).sum(axis=1).max())


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
    """Return whether T is the uniform matrix, to within 1e-9 per entry."""
    array = check(T)
    return bool(np.abs(array - uniform(len(array))).max() <= _UNIFORM_TOLERANCE)


def is_singular(T: ArrayLike) -> bool:
    """Return whether T has no usable inverse (its numerical rank is below K)."""
    array = check(T)
    # The rank of a matrix of thousands of classes takes a minute.
    return not is_uniform(array) and bool(np.linalg.matrix_rank(array) < len(array))


def labels_needed(T: FloatArray, error: float) -> int | None:
    """Return how many labels identify any class with at most this probability of error, or None.

    The probability that m labels of class y are more likely under another row j is at most
    BC(y, j)^m, where BC is the Bhattacharyya coefficient Σ_k √(T[y, k] T[j, k]). The bound is the
    sum over the other classes.
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

    high = 1
    while bound(high) > error:
        high *= 2
    return bisect.bisect_left(range(high + 1), True, lo=1, key=lambda m: bound(m) <= error)


def describe(T: ArrayLike) -> str:
    """Return a short description of T: its kind, γ, its condition, and the number of labels needed.

    "Labels to identify a class" is the number of labels, drawn from one row of T, that identify the
    row with the stated probability. It applies to examples that look alike. The number is
    Bhattacharyya's upper bound: under uniform T nearly all of these labels are needed, under a
    strong T about half. A model that generalises between examples needs fewer labels per example; a
    model of overlapping classes needs more.

    Examples
    --------
    >>> from ybar import transition
    >>> print(transition.describe(transition.uniform(10)))
    transition matrix of 10 classes: uniform
    gamma (smallest L1 distance of two rows): 0.2222
    condition number: 9
    share of wrong labels (diagonal): none
    labels to identify a class: 39 for 90%, 58 for 99%, 78 for 99.9%
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
    needed = {error: labels_needed(array, error) for error in (0.1, 0.01, 0.001)}
    if None in needed.values():
        first, second = closest_rows(array)
        lines.append(
            f"no number of labels distinguishes classes {first} and {second}: their rows are equal"
        )
    else:
        amounts = ", ".join(f"{m:,} for {100 * (1 - e):g}%" for e, m in needed.items())
        lines.append(f"labels to identify a class: {amounts}")
    return "\n".join(lines)


def closest_rows(T: FloatArray) -> tuple[int, int]:
    """Return the two classes whose rows are closest in L1 distance."""
    between = pairwise(T, T, "l1")
    np.fill_diagonal(between, np.inf)
    first, second = np.unravel_index(int(np.argmin(between)), between.shape)
    return int(first), int(second)
