"""What was observed of the rows, as training takes it: labels one by one, or whole likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import labels
from ..classifiers.base import Checked
from ..labels.patterns import log_likelihoods
from ..utils import checks
from ..utils.typing import IntArray
from .samples import Patterns, Samples


def check(checked: Checked, method: Any, criterion: str = "scel", *, begun: bool = False) -> None:
    """Refuse what the method cannot learn from: its loss would be infinite, or has no room.

    Where learning has `begun`, there is a T already, and more rows need not say anything of it.
    """
    if checked.evidence is not None:
        _check_evidence(checked.evidence, method, criterion, begun)
        return
    if method.estimates == "q" or method.learns:
        return
    _, k = labels.pairs(checked.codes, len(checked.classes))
    never = np.flatnonzero(checked.T.sum(axis=0) == 0)
    wrong = never[np.isin(never, k)]
    if len(wrong):
        raise ValueError(
            "y must hold only labels that transition allows; "
            f"{checks.shown(checked.classes[wrong[0]])} occurs, but its column of transition is "
            "all 0. Correct transition, or use method='cpe-n'"
        )
    if checked.codes.ndim == 2 and method.takes_evidence:
        log_e = log_likelihoods(np.zeros(1), checked.codes.astype(np.float64), checked.T)
        impossible = (log_e == -np.inf).all(axis=1)
        if impossible.any():
            raise ValueError(
                "y must hold only labels that transition allows; those of row "
                f"{int(np.argmax(impossible))} cannot occur together, whatever its class. Correct "
                "it or transition, or use method='cpe-n'"
            )


def _check_evidence(evidence: labels.Evidence, method: Any, criterion: str, begun: bool) -> None:
    if not method.takes_evidence:
        raise ValueError(
            "method must be 'cpe-f', 'fwd', 'cpe-n' or 'cpe-t' where y is evidence of other kinds "
            "than complementary labels: only a likelihood has room for them"
        )
    without = evidence.transition is None or not evidence.patterns.counts[evidence.codes].any()
    if method.learns and without and not begun:
        raise ValueError(
            "y must hold complementary labels under one T for the methods 'cpe-n' and 'cpe-t', "
            "which learn it; got evidence without any, or under several. Use method='cpe-f'"
        )
    if criterion == "ure":
        raise ValueError(
            "criterion must be 'scel' where y is evidence of other kinds than complementary "
            "labels; got 'ure', which inverts their T"
        )


def samples(checked: Checked, part: IntArray, method: Any = None) -> Samples:
    """Return what is trained on, with weights of mean 1; without a method what is judged by."""
    rows, k, patterns = entries(checked, part, method)
    if checked.weights is None:
        return Samples(rows, k, None, patterns)
    weight = checked.weights[rows]
    used = weight > 0
    return Samples(rows[used], k[used], weight[used] / weight[used].mean(), patterns)


def entries(
    checked: Checked, part: IntArray, method: Any = None
) -> tuple[IntArray, IntArray, Patterns | None]:
    """Return rows, and the label or the pattern of each.

    A likelihood takes all labels of a row together; other methods, and SCEL, take each by itself.
    """
    if checked.evidence is not None:
        evidence = checked.evidence[part]
        patterns = Patterns(*evidence.patterns)
        says = evidence.informative
        return part[says], evidence.codes[says], patterns
    if method is not None and method.takes_evidence and checked.codes.ndim == 2:
        sets, code = np.unique(checked.codes[part], axis=0, return_inverse=True)
        says = np.asarray(checked.codes[part].any(axis=1))
        patterns = Patterns(np.zeros(sets.shape), sets.astype(np.float64))
        return part[says], code.reshape(-1)[says], patterns
    row, k = labels.pairs(checked.codes[part], len(checked.classes))
    return part[row], k, None
