"""`plan`: compare ways to ask for labels before anyone has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from .. import transition
from ..utils import checks
from ..utils.random import as_generator
from ..utils.typing import Seed
from . import pilot as pilots
from .advice import as_text
from .designs import HOW, SUBSETS, Design, check_designs, choose, default_designs, describe
from .subsets import best_subsets


@dataclass(frozen=True, eq=False, repr=False)
class CollectionPlan:
    """The result of `ybar.collection.plan`; `print` shows a table and a recommendation.

    Attributes
    ----------
    designs : tuple of Design
        In the order of the argument `designs`; ``plan["uniform"]`` is the design of that name.
    recommended : Design or None
        The design to use: an enforceable one if any is, None if no design identifies all classes.
    n_classes, noise, budget, target
        The arguments.
    sizes : tuple of int
        Numbers of labels at which accuracies were simulated; empty without X.
    pilot_rows : int or None
        Rows to train on in each repetition. Larger sizes repeat these rows with new labels.
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
        return as_text(self)


def plan(
    n_classes: int,
    *,
    noise: float = 0.0,
    budget: int | None = None,
    X: Any = None,
    y: ArrayLike | None = None,
    target: float | None = None,
    designs: Mapping[str, ArrayLike] | None = None,
    largest_subset: int | None = None,
    classifier: Any = None,
    repeats: int = 5,
    random_state: Seed = None,
) -> CollectionPlan:
    """Compare ways to ask for labels before anyone has answered, and estimate how many are needed.

    A design is a T, to which `noise` is added. Designs are compared by the information about the
    class in a label. With a pilot (X with true classes y) they are also compared by
    simulation: labels are drawn under T, and a classifier is fitted to them and tested on held-out
    rows.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    noise : float
        Share λ of labels that are drawn from all classes, right or wrong (`with_uniform_noise`).
        Classifiers get the T with this noise.
    budget : int, optional
        How many labels you can buy, at least K. By default the number of training rows of the
        pilot.
    X : array-like, sparse matrix or data frame, optional
        Rows of a pilot, or of data like yours.
    y : array-like of shape (N,), optional
        Their true classes: all K, each at least twice. The rows of T are in sorted order.
    target : float, optional
        An accuracy from 0 to 1; the plan estimates how many labels reach it.
    designs : dict of "uniform" or array-like of shape (K, K), optional
        The designs by name, the simplest first. By default:

        - "uniform";
        - "cycle", the menus (0, 1), (1, 2), …, (K-1, 0) of `from_menus`;
        - "subsets" (for K ≥ 5), questions "is it one of these m?"; answers "yes" are dropped. The
          m is the one that needs the fewest questions under this noise;
        - the paper's "weak" and "strong";
        - "few", under which each class has only three labels (two for K < 7), placed so that
          classes share few of them.

        Of designs that are equal, as for a small K, only the first is compared.
    largest_subset : int, optional
        How many classes a question of the design "subsets" may list, at least 2. By default, and
        at most, K/2.
    classifier : one of ybar's classifiers, or a pipeline that ends in one, optional
        The classifier you will use: accuracies depend on it as much as on the design. Its
        ``transition`` and ``classes`` are set by `plan`. By default `CPEClassifier` with a logistic
        regression and the "likelihood" decoder, which is fast and accepts sparse X.
    repeats : int
        Simulations, at least 2. Each holds out another random third of the rows for testing.
    random_state : int, Generator, RandomState or None
        For "weak", "strong" and the simulations.

    Returns
    -------
    CollectionPlan
        Print it to read it. ``plan.designs`` has the numbers, ``plan.recommended`` is a design.

    Notes
    -----
    Drawing from row y of T requires knowing y. A design is *enforceable* if questions, drawn
    without knowing the class, can produce its T: questions about subsets, or menus (`from_menus`),
    which can if and only if ``Σ_k min_{y≠k} T[y, k] ≥ 1``. If some designs are enforceable, `plan`
    recommends one of them, with an invertible T if possible. Among these it recommends the most
    accurate design, or an earlier one that is less accurate by at most one standard error of the
    difference. Without a pilot, it recommends the design that needs the fewest questions for 99%.
    Under a singular T different p can have the same q, so no number of labels identifies
    overlapping classes.

    Sizes above the number of training rows repeat rows with new labels. Standard errors are over
    the simulations, which share the pilot: they do not include the difference between a small
    pilot and the rest of your data.

    Examples
    --------
    >>> from ybar import collection
    >>> print(collection.plan(10, noise=0.1, budget=6000, random_state=0))
    plan for 10 classes, noise 0.1, 6,000 labels
                              uniform  cycle  subsets   weak  strong    few
    can be enforced               yes    yes      yes     no      no     no
    gamma                         0.2   0.36     0.72   0.27   0.282    1.2
    condition number               10     18     5.56   48.6     205   5.39
    bits per label              0.103  0.143    0.714  0.136   0.584  1.285
    questions per label          1.11      1        2      1       1      1
    labels per class for 90%       82     69       14     83      39      8
    labels per class for 99%      124    105       22    131      73     12
    Recommended: subsets. Ask 'is it one of these 5?' with a row of .subsets drawn at random,
    and keep the negative answers; the label is the number of the row.
    22 labels identify the class of examples that look alike (99%); 6,000 are enough for 272
    such groups.
    The design 'few' would be better, 1.285 bits per label, if the labels followed its T. You
    cannot enforce its T: only annotators who know the class can draw from it.
    """
    n = checks.whole_number(n_classes, "n_classes", 2)
    noise = checks.number(noise, "noise", "a number from 0 (no noise) to 1 (only noise)", 0, 1)
    if budget is not None:
        budget = checks.whole_number(budget, "budget", n)
    if target is not None:
        target = checks.number(target, "target", "an accuracy from 0 to 1", 0, 1)
    repeats = checks.whole_number(repeats, "repeats", 2)
    generator = as_generator(random_state)
    subsets = None
    if designs is None:
        largest = n if largest_subset is None else largest_subset
        largest = min(checks.whole_number(largest, "largest_subset", 2), n // 2)
        subsets = best_subsets(n, noise, largest)
        matrices = default_designs(n, subsets, generator)
    else:
        if largest_subset is not None:
            raise ValueError(
                "largest_subset must be left out if designs are passed; got "
                f"{checks.shown(largest_subset)}"
            )
        matrices = check_designs(designs, n)
    pilot = pilots.check(n, X, y, classifier, budget, target)
    if pilot is not None:
        for name, T in (designs or {}).items():
            checks.check_names(T, pilot.classes, f"designs[{checks.shown(name)}]")
    noisy = {name: transition.with_uniform_noise(T, noise) for name, T in matrices.items()}
    simulation = None if pilot is None else pilots.simulate(pilot, noisy, repeats, generator)
    described = [
        describe(
            name,
            T,
            noisy[name],
            how=HOW.get(name) if designs is None else None,
            subsets=subsets if designs is None and name == SUBSETS else None,
            simulation=simulation,
            target=target,
        )
        for name, T in matrices.items()
    ]
    return CollectionPlan(
        designs=tuple(described),
        recommended=_recommend(described),
        n_classes=n,
        noise=noise,
        budget=budget if pilot is None else pilot.sizes[-1],
        target=target,
        sizes=() if pilot is None else pilot.sizes,
        pilot_rows=None if pilot is None else pilot.n_train,
    )


def _recommend(designs: Sequence[Design]) -> Design | None:
    """Return the design to use: enforceable and with an inverse if there is such a design."""
    candidates = [design for design in designs if design.labels_99 is not None]
    candidates = [design for design in candidates if design.enforceable] or candidates
    candidates = [design for design in candidates if not design.singular] or candidates
    return choose(candidates)
