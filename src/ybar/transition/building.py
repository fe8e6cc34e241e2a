"""Build transition matrices: biased ones, noisy ones, and those of menus of classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.random import as_generator
from ..utils.typing import FloatArray, Seed
from .checking import check
from .counting import check_counts

WEAK_MASSES = (0.45, 0.30, 0.25)
STRONG_MASSES = (0.75, 0.24, 0.01)


def biased(
    n_classes: int, masses: Sequence[float] = WEAK_MASSES, random_state: Seed = None
) -> FloatArray:
    """Return a T in which random parts of the other classes share fixed masses.

    In each row the other classes are put in random order and cut into ``len(masses)`` parts of
    equal size, and part i shares ``masses[i]`` evenly. If K-1 is not a multiple of the number of
    parts, a class on the border of two parts belongs to both in proportion, so the rows sum to 1
    for every K ≥ 2.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    masses : sequence of float
        Masses of the parts, none negative, summing to 1.
    random_state : int, Generator, RandomState or None
        Draws the order of the classes, anew for each row.

    Examples
    --------
    >>> from ybar import transition
    >>> T = transition.biased(7, masses=(0.6, 0.3, 0.1), random_state=0)
    >>> sorted({round(float(t), 3) for t in T[0]})
    [0.0, 0.05, 0.15, 0.3]
    """
    n = checks.whole_number(n_classes, "n_classes", 2)
    rule = "masses must be non-negative numbers that sum to 1, one for each part"
    mass = checks.array_of_numbers(masses, rule).astype(np.float64)
    good = mass.ndim == 1 and mass.size > 0 and np.isfinite(mass).all() and (mass >= 0).all()
    if not good or abs(mass.sum() - 1) > 1e-9:
        raise ValueError(f"{rule}; got {checks.shown(masses)}")
    # Overlap of each class with each part, in units of 1/((K-1)·parts) of the other classes.
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
    level = checks.number(level, "level", "a number from 0 (no noise) to 1 (only noise)", 0, 1)
    return (1 - level) * array + level / len(array)


def from_menus(menus: ArrayLike) -> FloatArray:
    """Return the T of menus of two classes: "name the first of these that the example is not".

    The label of the menu (a, b) is a, or b if the class is a. Menus are drawn without knowing the
    class. With s[a, b] the share of the menu (a, b) and π[k] the share of menus that begin with k,
    ``T[y, k] = π[k] + s[y, k]`` for k ≠ y. Of longer menus only the first two classes matter.

    Parameters
    ----------
    menus : array-like of shape (K, K)
        ``menus[a, b]`` is how often the menu (a, b) is shown: counts, shares or any weights. The
        diagonal is 0.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.from_menus([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])
    array([[0.  , 0.5 , 0.25, 0.25],
           [0.25, 0.  , 0.5 , 0.25],
           [0.25, 0.25, 0.  , 0.5 ],
           [0.5 , 0.25, 0.25, 0.  ]])
    """
    array = check_counts(menus, "menus")
    if np.diag(array).any() or not array.any():
        came = f"{np.diag(array).max():g} on it" if array.any() else "only zeros"
        raise ValueError(
            "menus must have entries above 0, but none on the diagonal, since a menu has two "
            f"different classes; got {came}"
        )
    shares = array / array.sum()
    T = shares.sum(axis=1) + shares
    np.fill_diagonal(T, 0.0)
    return np.asarray(T)
