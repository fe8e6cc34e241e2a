"""What must be known of all rows before training: classes, observations, bins, numbers of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..classifiers.base import check_several_classes
from ..classifiers.boosting import CPEBoostingClassifierCV
from ..utils import checks
from ..utils.encoding import check_classes
from ..utils.typing import AnyArray, BoolArray, FloatArray
from . import binning
from .blocks import Blocks, as_numbers, as_weights
from .observing import Found, Vocabulary, classes_of, found_in, names_in, vocabulary
from .workers import computed


class Seen(NamedTuple):
    """What one task finds in one partition."""

    found: Found | None
    rows: AnyArray
    missing: BoolArray
    n_rows: int
    names: list[str] | None


@dataclass(frozen=True)
class Facts:
    """What is known of all rows.

    Attributes
    ----------
    words : Vocabulary
    found : list of Found
        The observations of each partition.
    edges : list of ndarray
        The edges of the bins of each feature.
    missing : ndarray of bool
        Whether each feature is NaN in some row.
    named : list of str or None
        The columns of the data frame.
    lengths : list of int
        The number of rows of each partition.
    """

    words: Vocabulary
    found: list[Found | None]
    edges: list[FloatArray]
    missing: BoolArray
    named: list[str] | None
    lengths: list[int]

    @property
    def names(self) -> list[str]:
        """The names of the features in LightGBM's text."""
        return [f"Column_{i}" for i in range(len(self.edges))]

    @property
    def n_rows(self) -> int:
        """The number of all rows."""
        return sum(self.lengths)

    @property
    def _samples(self) -> FloatArray:
        """How many samples each row of an observation is: its labels, or 1 for evidence."""
        observed = self.words.observed
        if not observed.by_label:
            return observed.informative.astype(np.float64)
        return np.asarray(observed.label_table.sum(axis=1)[observed.code], dtype=np.float64)

    @property
    def n_usable(self) -> int:
        """The number of rows that have a label and a weight above 0."""
        return int(self.words.numbers[self._samples > 0].sum())

    @property
    def mean_weight(self) -> float:
        """The mean weight of all labels that count."""
        samples = self._samples
        weights: Any = self.words.observed.weights
        return float((weights * samples).sum() / (self.words.numbers * samples).sum())

    def read_by(self, local: CPEBoostingClassifierCV) -> Self:
        """Return the same facts with observations in the form that the classifier learns from."""
        observed = local._accept(self.words.observed, local.classes)
        if not observed.usable.any():
            raise ValueError(
                "y must hold a label in some row of a weight above 0; got none in "
                f"{self.n_rows:,} rows"
            )
        check_several_classes(observed)
        observed = local._with_transition(observed)
        if local.method == "cpe-f":
            self._check_possible(observed.T if observed.transition is not None else None)
        return replace(self, words=replace(self.words, observed=observed))

    def _check_possible(self, T: FloatArray | None) -> None:
        for i, found in enumerate(self.found):
            if found is None:
                continue
            own = (
                T if found.patterns.counts.any() and found.transition is None else found.transition
            )
            impossible = np.isneginf(found.patterns.log_likelihoods(own)).all(axis=1)
            if (impossible & (found.numbers > 0)).any():
                raise ValueError(
                    f"partition {i + 1} of {len(self.found)}: y must hold only labels that "
                    "transition allows; those of some rows have probability 0 under every class. "
                    "Correct them or transition, or allow for errors with "
                    "transition.with_uniform_noise"
                )


def facts_of(client: Any, blocks: Blocks, classes: ArrayLike | None, seed: int) -> Facts:
    """Return what is known of all rows, from one pass over them.

    Without `classes`, another pass over y finds the classes first.
    """
    if classes is None:
        names = classes_of(computed(client, replace(blocks, X=[None] * len(blocks)).map(names_in)))
    else:
        names = check_classes(classes)
    seen: list[Seen] = computed(client, blocks.map(_look, names, len(blocks), seed, numbered=True))
    _check_same_columns(seen)
    full = [part for part in seen if part.n_rows]
    if not full:
        raise ValueError(f"X must have rows; got none in {len(blocks)} partitions")
    found = [part.found for part in seen]
    rows = binning.joined([part.rows for part in full], [part.n_rows for part in full])
    lengths = [part.n_rows for part in seen]
    words = vocabulary(found, names)
    missing = np.any([part.missing for part in full], axis=0)
    return Facts(words, found, binning.edges_of(rows), missing, seen[0].names, lengths)


def _look(
    X: Any, y: Any, weights: Any, classes: AnyArray, n_parts: int, seed: int, number: int
) -> Seen:
    n_rows = len(X)
    found = found_in(y, as_weights(weights, n_rows), classes) if n_rows else None
    names = checks.frame_names(X, "columns")
    numbers = as_numbers(X) if n_rows else np.empty((0, X.shape[1]))
    rows = binning.sample(numbers, n_parts, np.random.default_rng([seed, number]))
    missing = np.asarray(np.isnan(numbers).any(axis=0))
    return Seen(found, rows, missing, n_rows, names)


def _check_same_columns(seen: list[Seen]) -> None:
    first = seen[0]
    for i, part in enumerate(seen):
        if part.names != first.names or part.rows.shape[1] != first.rows.shape[1]:
            theirs, ours = (
                p.names if p.names is not None else p.rows.shape[1] for p in (part, first)
            )
            raise ValueError(
                f"partition {i + 1} of {len(seen)}: X must have the same columns in all "
                f"partitions; got {checks.shown(theirs)} after {checks.shown(ours)}. Correct the "
                "file that it comes from"
            )
