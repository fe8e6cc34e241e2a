"""Questions about a subset of the classes: "is it one of these m?". Answers "no" are labels.

Question k lists the subset S_k, and an answer "no" is the label k: it excludes all m classes of
S_k, k among them. With one of K questions drawn at random,

    T[y, k] = 1/(K-m)    for the K-m subsets S_k without y, else 0.

With m = 1, T is uniform. A label carries log2(K/(K-m)) bits, but only (K-m)/K of the questions give
one. The subsets are the rotations of one: S_k holds the classes k + d (modulo K) for d in a set of
m offsets. Then T is a circulant matrix, and a Fourier transform of a row shows what T is worth.

Restricting labels to subsets is what makes many classes feasible (Mai et al. 2026, arXiv
2605.15586, restrict the labels of each class); a subset question needs no one who knows the class.
"""

from __future__ import annotations

import numpy as np

from ..utils.typing import FloatArray, IntArray

_SIZES = 30  # tried between 2 and the largest
_DRAWS = 20  # random sets of offsets tried for each size
_ERROR = 0.01
_SINGULAR = 1e-9
_MOST_LABELS = 1 << 30


def best_subsets(n: int, noise: float, largest: int) -> IntArray | None:
    """Return the subsets, one per row, that identify a class with the fewest questions.

    Sizes from 2 to `largest` are compared by the number of questions for an error of 1%, with
    uniform noise of this level; a level of 1 counts as 0. None if no size has an invertible T.
    """
    noise = 0.0 if noise == 1 else noise
    best, fewest = None, np.inf
    generator = np.random.default_rng(0)
    sizes = np.unique(np.geomspace(2, max(2, largest), _SIZES).round().astype(int))
    for size in sizes[sizes <= largest]:
        for _ in range(_DRAWS):
            others = generator.choice(n - 1, size - 1, replace=False) + 1
            offsets = np.sort(np.append(others, 0))
            questions = _labels_needed(_first_row(n, offsets), noise) * n / (n - size)
            if questions < fewest:
                best, fewest = offsets, questions
    return None if best is None else (np.arange(n)[:, None] + best) % n


def transition_of(subsets: IntArray) -> FloatArray:
    """Return the T of the answers "no", if each question names a subset drawn at random."""
    n, size = subsets.shape
    T = np.full((n, n), 1 / (n - size))
    T[subsets, np.arange(n)[:, None]] = 0.0
    return T


def _first_row(n: int, offsets: IntArray) -> FloatArray:
    row = np.full(n, 1 / (n - len(offsets)))
    row[-offsets % n] = 0.0
    return row


def _labels_needed(row: FloatArray, noise: float) -> float:
    """Return `transition.describing.labels_needed` of the circulant T with this first row.

    It is infinite where T is singular.
    """
    n = len(row)
    if np.abs(np.fft.rfft(row)).min() < _SINGULAR:
        return np.inf
    spectrum = np.fft.rfft(np.sqrt((1 - noise) * row + noise / n))
    overlap = np.maximum(np.fft.irfft(np.abs(spectrum) ** 2, n)[1:], 0.0)
    low, high = 0, 1
    while (overlap**high).sum() > _ERROR:
        low, high = high, 2 * high
        if high > _MOST_LABELS:
            return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (overlap**middle).sum() <= _ERROR else (middle, high)
    return high
