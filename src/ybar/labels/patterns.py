"""`Patterns`: the distinct likelihoods of rows, as functions of T."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray


class Patterns(NamedTuple):
    """Distinct likelihoods: ``log e[m, y] = log_rest[m, y] + Σ_k counts[m, k] log T[y, k]``.

    Rows with the same observations share a pattern, so that a million labels of ten classes are
    ten patterns and a million small integers.

    Attributes
    ----------
    log_rest : ndarray of shape (M, K)
        Log-likelihood of the observations that do not depend on T.
    counts : ndarray of shape (M, K)
        Number of labels of each class that were drawn from T.
    """

    log_rest: FloatArray
    counts: FloatArray

    @classmethod
    def of_counts(cls, counts: FloatArray | BoolArray) -> Patterns:
        """Return patterns that consist of labels drawn from T only."""
        return cls(np.zeros(counts.shape), counts.astype(np.float64))

    @property
    def one_label_each(self) -> bool:
        """Whether pattern k is a single label of class k, for each class."""
        single = np.array_equal(self.counts, np.eye(self.counts.shape[1]))
        return single and not self.log_rest.any()

    def log_likelihoods(self, T: FloatArray | None) -> FloatArray:
        """Return log e, (M, K), under T; None is for patterns without labels drawn from T."""
        if T is None:
            return self.log_rest
        return log_likelihoods(self.log_rest, self.counts, T)

    def informative(self, T: FloatArray | None) -> BoolArray:
        """Return for each pattern whether its likelihoods under T differ between classes."""
        table = self.log_likelihoods(T)
        return np.asarray((table != table[:, :1]).any(axis=1))

    def fixed(self, T: FloatArray | None) -> Patterns:
        """Return patterns that have these likelihoods under T, and keep them under any other T."""
        return Patterns(self.log_likelihoods(T), np.zeros_like(self.counts))


def log_likelihoods(log_rest: FloatArray, counts: FloatArray, T: FloatArray) -> FloatArray:
    """Return log_rest[m, y] + Σ_k counts[m, k] log T[y, k], (M, K)."""
    log_T = np.log(T, out=np.zeros_like(T), where=T > 0)
    impossible = (counts @ (T == 0).T.astype(np.float64)) > 0
    return np.asarray(np.where(impossible, -np.inf, log_rest + counts @ log_T.T))


def patterns_of(codes: AnyArray, n_classes: int) -> tuple[IntArray, Patterns]:
    """Return the pattern of each row of complementary labels, and the patterns.

    `codes` are class indices, or a boolean array of shape (N, K).
    """
    if codes.ndim == 1:
        return codes, Patterns.of_counts(np.eye(n_classes))
    masks, code = unique_rows(codes)
    return code, Patterns.of_counts(masks)


def labels_of(code: IntArray, patterns: Patterns) -> AnyArray | None:
    """Return the complementary labels that rows consist of, None where they hold more.

    Labels are class indices, or a boolean array of shape (N, K) unless each row has exactly one.
    """
    used, code = np.unique(code, return_inverse=True)
    log_rest, counts = patterns.log_rest[used], patterns.counts[used]
    if (log_rest != log_rest[:, :1]).any() or (counts > 1).any():
        return None
    if (counts.sum(axis=1) == 1).all():
        return np.asarray(counts.argmax(axis=1)[code])
    return np.asarray((counts > 0)[code])


def unique_rows(mask: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the sorted distinct rows of a boolean array, and the index of each row among them.

    The same as ``np.unique(mask, axis=0, return_inverse=True)``, some thirty times faster.
    """
    packed = np.packbits(mask, axis=1)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    words = padded.view(">u8").astype(np.uint64)
    one_word = words.shape[1] == 1
    _, first, code = np.unique(
        words[:, 0] if one_word else words,
        axis=None if one_word else 0,
        return_index=True,
        return_inverse=True,
    )
    return mask[first], code.reshape(-1)
