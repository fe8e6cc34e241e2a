"""The labels that training and validation read: one sample per label, or per row."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from ..labels.observed import Observed
from ..labels.patterns import Patterns
from ..utils import checks
from ..utils.typing import AnyArray, IntArray
from .methods import Method


class Samples(NamedTuple):
    """One sample per single complementary label: its row, the label, its weight.

    With `patterns` there is one sample per row, and `y_comp` holds the index of its pattern.
    """

    rows: IntArray
    y_comp: IntArray
    weight: AnyArray | None = None
    patterns: Patterns | None = None


Parts: TypeAlias = tuple[Samples, Samples | None, Samples | None]
"""Training samples, validation samples, and those that T is estimated on if they are others."""


def collect(observed: Observed, rows: IntArray, method: Method | None = None) -> Samples:
    """Return the samples of some rows, with their weights as they were passed.

    A method that minimises a likelihood, or a loss of sets of labels, uses all labels of a row
    jointly. Other methods, and SCEL (`method` is None), use each label separately.
    """
    part = observed.subset(rows)
    if part.by_label and not part.patterns.one_label_each:
        # Only the sets of labels that occur in the part need to be evaluated.
        used, code = np.unique(part.code, return_inverse=True)
        part = replace(part, code=code, patterns=Patterns(*(a[used] for a in part.patterns)))
    jointly = method is not None and method.reads_rows
    of_part, code, patterns = part.joint_terms() if jointly else part.separate_terms()
    weight = None if part.weights is None else part.weights[of_part]
    return Samples(rows[of_part], code, weight, None if patterns.one_label_each else patterns)


def normalised(observed: Observed, rows: IntArray, method: Method | None = None) -> Samples:
    """Return the samples of a weight above 0, with weights that are 1 on average."""
    samples = collect(observed, rows, method)
    of_part, code, weight, patterns = samples
    if weight is None:
        return samples
    used = weight > 0
    return Samples(of_part[used], code[used], weight[used] / weight[used].mean(), patterns)


def check(
    observed: Observed, method: Method, criterion: str = "scel", *, begun: bool = False
) -> None:
    """Check that the method can learn from y; otherwise its loss would be infinite or undefined.

    If training has `begun`, T is known, so y need not hold labels that are drawn from it.
    """
    if not observed.by_label:
        _check_evidence(observed, method, criterion, begun)
    elif method.estimates == "p" and not method.learns:
        _check_allowed(observed, method)


def _check_allowed(observed: Observed, method: Method) -> None:
    """Check that labels are possible under T."""
    never = observed.T.sum(axis=0) == 0
    wrong = np.flatnonzero(never & observed.label_table[np.unique(observed.code)].any(axis=0))
    if len(wrong):
        raise ValueError(
            "y must hold only labels that transition allows; "
            f"{checks.shown(observed.classes[wrong[0]])} occurs, but its column of transition is "
            "all 0. Correct transition, or use method='cpe-n'"
        )
    impossible = np.asarray((observed.log_table == -np.inf).all(axis=1))[observed.code]
    if method.accepts_evidence and impossible.any():
        raise ValueError(
            "y must hold only labels that transition allows; those of row "
            f"{int(np.argmax(impossible))} cannot occur together under any class. Correct "
            "it or transition, or use method='cpe-n'"
        )
    whole = np.asarray(observed.label_table.all(axis=1))[observed.code]
    if method.joint_labels and whole.any():
        raise ValueError(
            "y must leave at least one class in every row for a method that reads the labels of a "
            f"row together; row {int(np.argmax(whole))} rules out all {len(observed.classes)} "
            "classes. Correct it, or use method='cpe-n'"
        )


def _check_evidence(observed: Observed, method: Method, criterion: str, begun: bool) -> None:
    """Check that the method and the criterion support evidence of other kinds than labels."""
    if not method.accepts_evidence:
        raise ValueError(
            "method must be 'cpe-f', 'fwd', 'cpe-n' or 'cpe-t' if y is evidence of other kinds "
            "than complementary labels: the others do not minimise a likelihood"
        )
    if method.learns and not begun and not observed.patterns.counts[observed.code].any():
        raise ValueError(
            "y must hold complementary labels under one T for the methods 'cpe-n' and 'cpe-t', "
            "which learn T; got evidence without such labels, or under several T. Use "
            "method='cpe-f'"
        )
    if criterion == "ure":
        raise ValueError(
            "criterion must be 'scel' if y is evidence of other kinds than complementary "
            "labels; got 'ure', which inverts their T"
        )
