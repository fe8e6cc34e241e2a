"""`plan`: what each way of asking would be worth, before anyone has answered.

A collector does not know the class of what is shown, and so cannot draw from row T[y]. What can be
drawn is a menu of classes in some order; the label is the first of them that the example is not.
With π[k] the chance of menus that begin with k, and s[a, b] that of menus that begin with a, b,

    T[y, k] = π[k] + s[y, k]    for k ≠ y.

So a T can be had in this way if and only if some distribution π lies below its columns, ``π[k] ≤
T[y, k]`` for all y ≠ k: if ``Σ_k min_{y≠k} T[y, k] ≥ 1``. What is left of T then is s. Uniform
noise changes neither side of it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from .. import transition
from ..transition.describing import labels_needed
from ..utils import checks
from ..utils.random import as_generator
from ..utils.text import plain
from ..utils.typing import FloatArray, Seed
from . import pilot as pilots

_WIDTH = 92  # of the text below the table
_AS_MANY = 1e-9  # by how much probabilities may differ that are the same

_HOW = {
    "uniform": "ask 'is it a k?' with k drawn at random, and keep the no's",
    "cycle": (
        "put the classes in a circle, show one drawn at random and the next one, and ask for the "
        "first of the two that it is not"
    ),
}
_BY_MENU = "show menus of two as often as its .menus say, and ask for the first that it is not"
_BY_CLASS = "who answers must know the class and draw from its row of T"


@dataclass(frozen=True, eq=False)
class Design:
    """One way of asking: the T it makes, what that is worth, what it reached in the simulation.

    Attributes
    ----------
    name : str
    how : str
        How to ask for it.
    transition : ndarray of shape (K, K)
        T with the noise in it: what the labels will follow, and what to give to a classifier.
    enforceable : bool
        Whether menus drawn without knowing the class can make this T.
    menus : ndarray of shape (K, K) or None
        If so, and if T without the noise has no wrong labels, how often to show each menu: see
        `ybar.transition.from_menus`.
    gamma, condition_number : float
        Those of `ybar.transition`; the condition number is infinite where T is singular.
    singular : bool
        Whether T has no inverse: there is no URE, and classes that overlap may not be told apart.
    information : float
        Bits that a label tells of the class, where all classes are equally frequent.
    labels_90, labels_99 : int or None
        So many labels of examples that look alike are enough to name their class with that chance
        (a bound: fewer may do); None where no number does.
    accuracies : ndarray of shape (repeats, len(sizes)) or None
        Simulated, at each of the plan's ``sizes``.
    labels_for_target : int or None
        Where the curve of mean accuracies first meets the target; None where it does not.
    """

    name: str
    how: str
    transition: FloatArray = field(repr=False)
    enforceable: bool
    menus: FloatArray | None = field(repr=False)
    gamma: float
    condition_number: float
    singular: bool
    information: float
    labels_90: int | None
    labels_99: int | None
    accuracies: FloatArray | None = field(default=None, repr=False)
    labels_for_target: int | None = None

    @property
    def accuracy(self) -> float | None:
        """Mean simulated accuracy with the whole budget."""
        return None if self.accuracies is None else float(self.accuracies[:, -1].mean())

    @property
    def std_error(self) -> float | None:
        """Return the standard error of `accuracy` over the repetitions."""
        return None if self.accuracies is None else float(pilots.std_error(self.accuracies)[-1])


@dataclass(frozen=True, eq=False, repr=False)
class CollectionPlan:
    """What `ybar.collection.plan` found; printed, it is a table and a recommendation.

    Attributes
    ----------
    designs : tuple of Design
        In the order in which they were named; ``plan["uniform"]`` is the one of that name.
    recommended : Design or None
        The design to ask for: of those that are enforceable, if any is. None where no design
        tells all classes apart.
    n_classes, noise, budget, target
        As they were given.
    sizes : tuple of int
        Numbers of labels at which accuracies were simulated; empty without X.
    pilot_rows : int or None
        Rows that were trained on in each repetition. Larger sizes use them again, with new labels.
    """

    designs: tuple[Design, ...]
    recommended: Design | None
    n_classes: int
    noise: float
    budget: int | None
    target: float | None
    sizes: tuple[int, ...]
    pilot_rows: int | None

    def __getitem__(self, name: str) -> Design:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(f"no design {name!r}; there are {[d.name for d in self.designs]}")

    def __repr__(self) -> str:
        advice = (textwrap.fill(line, _WIDTH) for line in _advice(self))
        return "\n".join([_title(self), *_table(self), *advice])


def plan(
    n_classes: int,
    *,
    noise: float = 0.0,
    budget: int | None = None,
    X: Any = None,
    y: ArrayLike | None = None,
    target: float | None = None,
    designs: Mapping[str, ArrayLike] | None = None,
    classifier: Any = None,
    repeats: int = 5,
    random_state: Seed = None,
) -> CollectionPlan:
    """Compare ways of asking before anyone has answered, and say how many labels are needed.

    Each design is a T, with `noise` added. It is judged by what its labels tell of the class and,
    where there is a pilot (X with true classes y), by simulation: labels are drawn under it, a
    classifier is fitted to them and tested on the rows held out.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    noise : float
        Share λ of labels that are drawn from all classes, right or wrong (`with_uniform_noise`).
        Classifiers are given the T with this noise.
    budget : int, optional
        How many labels can be bought, at least K. By default as many as the pilot has rows to
        train on.
    X : array-like, sparse matrix or data frame, optional
        Rows of a pilot, or of data like yours.
    y : array-like of shape (N,), optional
        Their true classes, all K of them, each at least twice; sorted they are the rows of T.
    target : float, optional
        An accuracy from 0 to 1: how many labels does it take?
    designs : dict of "uniform" or array-like of shape (K, K), optional
        What to compare, by name, the simplest first. By default "uniform"; "cycle", the menus
        (0, 1), (1, 2), …, (K-1, 0) of `from_menus`; the paper's "weak" and "strong"; "few", under
        which a class has only three labels, or two for K < 7, placed so that classes share few
        of them. Of those that are equal for a small K the first stays.
    classifier : one of ybar's classifiers, or a pipeline that ends in one, optional
        The one you mean to use: accuracies are as much its own as the design's. Its
        ``transition`` and ``classes`` are set. By default `CPEClassifier` with a logistic
        regression and the "likelihood" decoder, which is cheap and takes sparse X too.
    repeats : int
        Simulations, at least 2. Each holds out another random third of the rows for testing.
    random_state : int, Generator, RandomState or None
        For "weak", "strong" and the simulations.

    Returns
    -------
    CollectionPlan
        Print it. ``plan.designs`` has the figures, ``plan.recommended`` one of the designs.

    Notes
    -----
    Nobody can draw from row y of T who does not know y. A design is *enforceable* if menus drawn
    without knowing the class can make its T (`from_menus`), which holds if and only if
    ``Σ_k min_{y≠k} T[y, k] ≥ 1``. Recommended is, of the enforceable designs if there are any,
    and of those whose T has an inverse if there are any: the most accurate, or one named before
    it that is at most a standard error of the difference behind; without a pilot the one that
    needs the fewest labels for 99%. Under a T without inverse different p can have the same q, so
    that no number of labels helps where classes overlap.

    Sizes above the number of rows to train on use rows again, with labels drawn anew. Standard
    errors are over the simulations, which share the pilot: they do not tell how a small pilot
    may differ from the rest of your data.

    Examples
    --------
    >>> from ybar import collection
    >>> print(collection.plan(10, noise=0.1, budget=6000, random_state=0))
    plan for 10 classes, noise 0.1, 6,000 labels
                            uniform  cycle   weak  strong    few
    can be enforced             yes    yes     no      no     no
    gamma                       0.2   0.36   0.27   0.282    1.2
    condition number             10     18   48.6     205   5.39
    bits a label              0.103  0.143  0.136   0.584  1.285
    labels a class for 90%       82     69     83      39      8
    labels a class for 99%      124    105    131      73     12
    Recommended: cycle. Put the classes in a circle, show one drawn at random and the next one,
    and ask for the first of the two that it is not.
    Labels of examples that look alike to name their class (99%): 105; 6,000 do for 57 such
    groups.
    few promises more, 1.285 bits a label, if the labels follow its T. You cannot enforce that:
    only whoever answers can bring it about, knowing the class.
    """
    n = checks.whole_number(n_classes, "n_classes", 2)
    noise = checks.number(noise, "noise", "a number from 0 (no noise) to 1 (only noise)", 0, 1)
    if budget is not None:
        budget = checks.whole_number(budget, "budget", n)
    if target is not None:
        target = checks.number(target, "target", "an accuracy from 0 to 1", 0, 1)
    repeats = checks.whole_number(repeats, "repeats", 2)
    generator = as_generator(random_state)
    matrices = _default_designs(n, generator) if designs is None else _check_designs(designs, n)
    pilot = pilots.check(n, X, y, classifier, budget, target)
    if pilot is not None:
        for name, T in (designs or {}).items():
            checks.named_as(T, pilot.classes, f"designs[{checks.shown(name)}]")
    noisy = {name: transition.with_uniform_noise(T, noise) for name, T in matrices.items()}
    found = {} if pilot is None else pilots.simulate(pilot, noisy, repeats, generator)
    sizes = () if pilot is None else pilot.sizes
    known = _HOW if designs is None else {}
    described = [
        _describe(name, known.get(name), T, noisy[name], found.get(name), target, sizes)
        for name, T in matrices.items()
    ]
    candidates = [d for d in described if d.labels_99 is not None]
    for wanted in (lambda d: d.enforceable, lambda d: not d.singular):
        candidates = list(filter(wanted, candidates)) or candidates
    return CollectionPlan(
        designs=tuple(described),
        recommended=_choose(candidates),
        n_classes=n,
        noise=noise,
        budget=budget if pilot is None else sizes[-1],
        target=target,
        sizes=sizes,
        pilot_rows=None if pilot is None else pilot.n_train,
    )


# --- designs -------------------------------------------------------------------------------------


def _default_designs(n: int, generator: Generator) -> dict[str, FloatArray]:
    """Return the designs by name, the simplest to ask for first; of equal ones the first."""
    made = {
        "uniform": transition.uniform(n),
        "cycle": transition.from_menus(np.roll(np.eye(n), 1, axis=1)),
        "weak": transition.weak(n, generator),
        "strong": transition.strong(n, generator),
        "few": _few(n),
    }
    kept: dict[str, FloatArray] = {}
    for name, T in made.items():
        if not any(np.allclose(T, other, rtol=0, atol=1e-9) for other in kept.values()):
            kept[name] = T
    return kept


def _few(n: int) -> FloatArray:
    """Return the T under which class y gets one of the labels y+1, y+2 and y+4 (modulo K).

    From K = 7 on two classes have at most one of the three in common. Below it is y+1 two times
    out of three, else y+2. Neither is ever singular.
    """
    steps, masses = ((1, 2, 4), (1, 1, 1)) if n >= 7 else ((1, 2), (2, 1))
    first_row = np.zeros(n)
    np.add.at(first_row, np.array(steps) % n, np.array(masses) / 3)
    if first_row[0] > 0:  # two classes have a single label
        return transition.uniform(n)
    return np.stack([np.roll(first_row, y) for y in range(n)])


def _check_designs(designs: Any, n: int) -> dict[str, FloatArray]:
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


def _menus(T: FloatArray) -> FloatArray | None:
    """Return how often to show the menu (a, b) to get T, None where menus cannot make it.

    Menus make no wrong labels. Where T has as many of each class, they are noise: that of answers
    which are drawn from all classes alike, whatever the menu.
    """
    wrong = np.diag(T)
    if np.ptp(wrong) > _AS_MANY or wrong[0] * len(T) >= 1:
        return None
    noise = wrong[0] * len(T)
    T = (T - noise / len(T)) / (1 - noise)
    if T.min() < -_AS_MANY:
        return None
    columns = T.copy()
    np.fill_diagonal(columns, np.inf)
    first = columns.min(axis=0)
    if first.sum() < 1 - 1e-9:
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


def _describe(
    name: str,
    how: str | None,
    design: FloatArray,
    T: FloatArray,
    accuracies: FloatArray | None,
    target: float | None,
    sizes: tuple[int, ...],
) -> Design:
    menus = _menus(design)
    singular = transition.is_singular(T)
    reached = None
    if accuracies is not None and target is not None:
        reached = pilots.labels_for(target, sizes, accuracies.mean(axis=0))
    return Design(
        name=name,
        how=how or (_BY_CLASS if menus is None else _BY_MENU),
        transition=T,
        enforceable=menus is not None,
        menus=menus,
        gamma=transition.gamma(T),
        condition_number=math.inf if singular else transition.condition_number(T),
        singular=singular,
        information=_information(T),
        labels_90=labels_needed(T, 0.1),
        labels_99=labels_needed(T, 0.01),
        accuracies=accuracies,
        labels_for_target=reached,
    )


# --- advice --------------------------------------------------------------------------------------


def _choose(designs: list[Design]) -> Design | None:
    """Return the best design, or one named before it that is as good for all we know.

    The best has the highest accuracy; another is as good if its accuracies are less than one
    standard error of the difference below. Without accuracies: the fewest labels for 99%.
    """
    scores = [(d, d.accuracies[:, -1]) for d in designs if d.accuracies is not None]
    if not scores:
        fewest = sorted(designs, key=lambda d: (d.labels_99 or math.inf, -d.information))
        return fewest[0] if fewest else None
    best = max((score for _, score in scores), key=np.mean)
    behind = ((design, best - score) for design, score in scores)
    return next(d for d, by in behind if by.mean() <= pilots.std_error(by))


def _title(plan: CollectionPlan) -> str:
    parts = [f"plan for {plan.n_classes} classes"]
    if plan.noise:
        parts.append(f"noise {plan.noise:g}")
    if plan.budget is not None:
        parts.append(f"{plan.budget:,} labels")
    return ", ".join(parts)


def _table(plan: CollectionPlan) -> list[str]:
    """Return the lines of a table with a column for each design."""
    rows = [
        ["", *(plain(d.name) for d in plan.designs)],
        ["can be enforced", *("yes" if d.enforceable else "no" for d in plan.designs)],
        ["gamma", *(f"{d.gamma:.3g}" for d in plan.designs)],
        ["condition number", *(f"{d.condition_number:.3g}" for d in plan.designs)],
        ["bits a label", *(f"{d.information:.3f}" for d in plan.designs)],
        ["labels a class for 90%", *(_count(d.labels_90) for d in plan.designs)],
        ["labels a class for 99%", *(_count(d.labels_99) for d in plan.designs)],
    ]
    for i, size in enumerate(plan.sizes):
        at_size = [d.accuracies[:, i] for d in plan.designs if d.accuracies is not None]
        cells = (f"{a.mean():.3f} ± {pilots.std_error(a):.3f}" for a in at_size)
        rows.append([f"accuracy, {size:,} labels", *cells])
    if plan.target is not None:
        rows.append(
            [f"labels for accuracy {plan.target:g}", *(_needed(plan, d) for d in plan.designs)]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()
        for first, *others in rows
    ]


def _count(labels: int | None) -> str:
    return "never" if labels is None else f"{labels:,}"


def _needed(plan: CollectionPlan, design: Design) -> str:
    if design.labels_for_target is None:
        return "not reached"
    least = "≤ " if design.labels_for_target == plan.sizes[0] else ""
    return f"{least}{design.labels_for_target:,}"


def _advice(plan: CollectionPlan) -> list[str]:
    best = plan.recommended
    if best is None:
        return ["No design here tells all classes apart, however many labels there are."]
    lines = [
        f"Recommended: {plain(best.name)}. {best.how[0].upper()}{best.how[1:]}.",
        _enough(plan, best),
    ]
    if plan.pilot_rows is not None and plan.sizes[-1] > plan.pilot_rows:
        lines.append(
            f"Only {plan.pilot_rows:,} rows of the pilot could be trained on: beyond that they got "
            "further labels. Rows of their own would rather teach more."
        )
    if best.singular:
        lines.append(
            "Its T has no inverse: where classes overlap it may never tell them apart, and there "
            "is no URE."
        )
    if not best.enforceable:
        lines.append("All this holds only if the answers follow its T: estimate T, and plan anew.")
    others = [d for d in plan.designs if not d.enforceable and d.labels_99 is not None]
    rival = _choose([d for d in others if d is not best])
    if best.enforceable and rival is not None and _value(rival) > _value(best):
        lines.append(
            f"{plain(rival.name)} promises more, {_worth(rival)}, if the labels follow its T. You "
            "cannot enforce that: only whoever answers can bring it about, knowing the class."
        )
    return lines


def _enough(plan: CollectionPlan, best: Design) -> str:
    """Say how many labels are needed, or what the budget gives."""
    if best.accuracies is None:
        said = f"Labels of examples that look alike to name their class (99%): {best.labels_99:,}"
        if plan.budget is None or best.labels_99 is None:
            return f"{said}."
        return f"{said}; {plan.budget:,} do for {plan.budget // best.labels_99:,} such groups."
    if plan.target is None:
        return f"Expect {_worth(best)} with {plan.budget:,} labels."
    if best.labels_for_target is None:
        return (
            f"{plan.budget:,} labels do not reach {plan.target:g}: expect {_worth(best)}. Plan "
            "with a larger budget to see how many do."
        )
    return f"Accuracy {plan.target:g} needs about {_needed(plan, best)} labels."


def _value(design: Design) -> float:
    return design.information if design.accuracy is None else design.accuracy


def _worth(design: Design) -> str:
    if design.accuracy is None:
        return f"{design.information:.3f} bits a label"
    return f"accuracy {design.accuracy:.3f} ± {design.std_error:.3f}"
