"""Designs of a collection: the T that each produces, and the value of its labels.

A collector does not know the class of an example, and so cannot draw a label from row T[y]. But a
collector can draw a *menu*, classes in some order, and ask for the first of them that is wrong.
With π[k] the share of menus that begin with k, and s[a, b] the share of menus that begin with a, b,

    T[y, k] = π[k] + s[y, k]    for k ≠ y.

So menus can produce T if and only if some distribution π satisfies ``π[k] ≤ T[y, k]`` for all
y ≠ k. Such a π exists if ``Σ_k min_{y≠k} T[y, k] ≥ 1``; s is the rest of T. Uniform noise does not
change this condition. Questions about a subset of the classes produce other matrices: see
`subsets`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from .. import transition
from ..transition.describing import labels_needed
from ..utils import checks
from ..utils.typing import FloatArray, IntArray
from .pilot import Simulation, labels_for, std_error
from .subsets import transition_of

SUBSETS = "subsets"
_ROUNDING = 1e-9  # probabilities that differ by less count as equal

HOW = {
    "uniform": "ask 'is it a k?' with k drawn at random, and keep the negative answers",
    "cycle": (
        "put the classes in a circle, show one drawn at random and the next one, and ask for the "
        "first of the two that it is not"
    ),
}
_BY_SUBSET = (
    "ask 'is it one of these {size}?' with a row of .subsets drawn at random, and keep the "
    "negative answers; the label is the number of the row"
)
_BY_MENU = "show menus of two as often as its .menus say, and ask for the first that it is not"
_BY_CLASS = "the annotator must know the class and draw from its row of T"


@dataclass(frozen=True, eq=False)
class Design:
    """A way to ask for labels: its T, the value of a label, and the simulated accuracies.

    Attributes
    ----------
    name : str
    how : str
        How to ask.
    transition : ndarray of shape (K, K)
        T including the noise, which the labels follow and classifiers need.
    enforceable : bool
        Whether questions, drawn without knowing the class, can produce this T.
    menus : ndarray of shape (K, K) or None
        How often to show each menu (see `ybar.transition.from_menus`), or None if menus cannot
        produce T.
    subsets : ndarray of shape (K, m) or None
        The m classes that each question lists, where the label k is "none of ``subsets[k]``".
    gamma, condition_number : float
        Those of `ybar.transition`; the condition number is infinite where T is singular.
    singular : bool
        Whether T has no inverse, so that URE is undefined, and overlapping classes may not be
        identifiable.
    information : float
        Mutual information of a label and the class in bits, if classes are equally frequent.
    labels_90, labels_99 : int or None
        Upper bound on the number of labels that identify the class of examples that look alike,
        with a probability of 90% or 99%; None if no number does.
    questions_per_label : float
        Questions asked for each label, if classes are equally frequent. It is above 1 if answers
        "yes" are dropped.
    accuracies : ndarray of shape (repeats, len(sizes)) or None
        Simulated, at each of the plan's ``sizes``.
    labels_for_target : int or None
        Number of labels at which the mean accuracy first reaches the target, or None.
    """

    name: str
    how: str
    transition: FloatArray = field(repr=False)
    enforceable: bool
    menus: FloatArray | None = field(repr=False)
    subsets: IntArray | None = field(repr=False)
    gamma: float
    condition_number: float
    singular: bool
    information: float
    labels_90: int | None
    labels_99: int | None
    questions_per_label: float
    accuracies: FloatArray | None = field(default=None, repr=False)
    labels_for_target: int | None = None

    @property
    def accuracy(self) -> float | None:
        """Mean simulated accuracy with the whole budget."""
        return None if self.accuracies is None else float(self.accuracies[:, -1].mean())

    @property
    def std_error(self) -> float | None:
        """Return the standard error of `accuracy` over the repetitions."""
        return None if self.accuracies is None else float(std_error(self.accuracies)[-1])


def choose(designs: list[Design]) -> Design | None:
    """Return the best design, or a design named before it that is not clearly worse.

    The best has the highest accuracy. A design is not clearly worse if its mean accuracy is lower
    by at most one standard error of the difference. Without accuracies, the best design is the one
    that needs the fewest questions for 99%.
    """
    scores = [(d, d.accuracies[:, -1]) for d in designs if d.accuracies is not None]
    if not scores:
        return min(designs, key=lambda d: (_questions(d), -d.information), default=None)
    best = max((score for _, score in scores), key=np.mean)
    behind = ((design, best - score) for design, score in scores)
    return next(d for d, by in behind if by.mean() <= std_error(by))


def _questions(design: Design) -> float:
    return (design.labels_99 or math.inf) * design.questions_per_label


def default_designs(
    n: int, subsets: IntArray | None, generator: Generator
) -> dict[str, FloatArray]:
    """Return the designs by name, the simplest first; of equal designs only the first."""
    designs = {
        "uniform": transition.uniform(n),
        "cycle": transition.from_menus(np.roll(np.eye(n), 1, axis=1)),
        **({} if subsets is None else {SUBSETS: transition_of(subsets)}),
        "weak": transition.weak(n, generator),
        "strong": transition.strong(n, generator),
        "few": _few(n),
    }
    kept: dict[str, FloatArray] = {}
    for name, T in designs.items():
        if not any(np.allclose(T, other, rtol=0, atol=1e-9) for other in kept.values()):
            kept[name] = T
    return kept


def _few(n: int) -> FloatArray:
    """Return the T under which class y gets one of the labels y+1, y+2 and y+4 (modulo K).

    For K ≥ 7 two classes share at most one of these labels. For smaller K the label is y+1 in two
    of three cases, else y+2. Both matrices are never singular.
    """
    steps, masses = ((1, 2, 4), (1, 1, 1)) if n >= 7 else ((1, 2), (2, 1))
    first_row = np.zeros(n)
    np.add.at(first_row, np.array(steps) % n, np.array(masses) / 3)
    if first_row[0] > 0:  # with two classes, each has a single label
        return transition.uniform(n)
    return np.stack([np.roll(first_row, y) for y in range(n)])


def check_designs(designs: Any, n: int) -> dict[str, FloatArray]:
    """Return the designs of the user by name, each checked."""
    rule = "designs must be a dict of transition matrices by name, such as {'mine': T}"
    if not isinstance(designs, Mapping) or not designs:
        raise ValueError(f"{rule}; got {checks.shown(designs)}")
    for name in designs:
        if not isinstance(name, str):
            raise ValueError(f"{rule}; got the name {checks.shown(name)}")
    return {
        name: transition.check(T, n, name=f"designs[{checks.shown(name)}]")
        for name, T in designs.items()
    }


def menus_of(T: FloatArray) -> FloatArray | None:
    """Return how often to show the menu (a, b) to produce T, or None if menus cannot.

    Menus produce no wrong labels. Wrong labels that are equally frequent in all classes are treated
    as uniform noise: answers drawn from all classes, independent of the menu.
    """
    wrong = np.diag(T)
    if np.ptp(wrong) > _ROUNDING or wrong[0] * len(T) >= 1:
        return None
    noise = wrong[0] * len(T)
    T = (T - noise / len(T)) / (1 - noise)
    if T.min() < -_ROUNDING:
        return None
    columns = T.copy()
    np.fill_diagonal(columns, np.inf)
    first = columns.min(axis=0)
    if first.sum() < 1 - _ROUNDING:
        return None
    menus = np.maximum(T - first / first.sum(), 0.0)
    np.fill_diagonal(menus, 0.0)
    return np.asarray(menus)


def _information(T: FloatArray) -> float:
    """Return the mutual information of class and label in bits, classes equally frequent."""
    occurs = T > 0
    ratio = np.ones_like(T)
    np.divide(T, T.mean(axis=0), where=occurs, out=ratio)
    return max(0.0, float((T * np.log2(ratio)).sum() / len(T)))


def describe(
    name: str,
    design: FloatArray,
    T: FloatArray,
    *,
    how: str | None = None,
    subsets: IntArray | None = None,
    simulation: Simulation | None = None,
    target: float | None = None,
) -> Design:
    """Return a design with its T, which includes the noise, its measures and its accuracies."""
    menus = menus_of(design)
    questions_per_label = 1.0
    if subsets is not None:
        size = subsets.shape[1]
        how, questions_per_label = _BY_SUBSET.format(size=size), len(T) / (len(T) - size)
    elif how == HOW["uniform"]:
        questions_per_label = len(T) / (len(T) - 1)
    singular = transition.is_singular(T)
    accuracies = None if simulation is None else simulation.accuracies[name]
    reached = None
    if simulation is not None and accuracies is not None and target is not None:
        reached = labels_for(target, simulation.sizes, accuracies.mean(axis=0))
    return Design(
        name=name,
        how=how or (_BY_CLASS if menus is None else _BY_MENU),
        transition=T,
        enforceable=menus is not None or subsets is not None,
        menus=menus,
        subsets=subsets,
        gamma=transition.gamma(T),
        condition_number=math.inf if singular else transition.condition_number(T),
        singular=singular,
        information=_information(T),
        labels_90=labels_needed(T, 0.1),
        labels_99=labels_needed(T, 0.01),
        questions_per_label=questions_per_label,
        accuracies=accuracies,
        labels_for_target=reached,
    )
