r"""Build, check, describe and estimate transition matrices.

A transition matrix T is K×K with ``T[y, k] = P(ȳ = k given y)``: row y is the distribution of the
complementary labels of class y. Rows sum to 1; the diagonal is 0 when labels are never wrong.
Everything here is plain numpy in float64; no value is clipped, and no function changes its input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _checks
from ._counting import annotators, check_counts, credible_intervals, estimate, from_counts
from ._distances import pairwise
from ._random import as_generator
from ._typing import Distance, FloatArray, Seed

if TYPE_CHECKING:
    from ._planning import CollectionPlan

__all__ = [
    "annotators",
    "biased",
    "check",
    "condition_number",
    "credible_intervals",
    "describe",
    "epsilon",
    "estimate",
    "estimate_from_probabilities",
    "from_counts",
    "from_menus",
    "gamma",
    "is_singular",
    "is_uniform",
    "plan",
    "strong",
    "uniform",
    "weak",
    "with_uniform_noise",
]

WEAK_MASSES = (0.45, 0.30, 0.25)
STRONG_MASSES = (0.75, 0.24, 0.01)

# Rows of a T read from a file with a few decimals still count as summing to one.
_ROW_SUM_TOLERANCE = 1e-4
_ROUNDING = 1e-12
_UNIFORM_TOLERANCE = 1e-9


def check(T: ArrayLike, n_classes: int | None = None, *, name: str = "T") -> FloatArray:
    """Return T as a new float64 array, or say in one line what is wrong with it.

    Parameters
    ----------
    T : "uniform" or array-like of shape (K, K)
        "uniform" needs `n_classes`.
    n_classes : int, optional
        The K that T must have.
    name : str
        What the caller's argument is called, for the error.

    Returns
    -------
    ndarray of shape (K, K)
        If a row misses 1 by more than rounding (and at most 1e-4), rows are divided by their sum.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.check([[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(T, str):
        if n_classes is None:
            raise ValueError(
                f"{name} must be a K×K array; got {T!r}. Make one, for example with "
                "transition.uniform(K)"
            )
        if T != "uniform":
            raise ValueError(
                f"{name} must be 'uniform' or a K×K array; got {T!r}. Make an array, for example "
                "with transition.weak(K) or transition.from_counts(counts)"
            )
        return uniform(n_classes)
    rule = f"{name} must be {'a' if n_classes is None else repr('uniform') + ' or a'} K×K array"
    array = _checks.array_of_numbers(T, f"{rule} of numbers").astype(np.float64)
    _checks.same_names(T, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"{name} must be square, one row and one column for each class; got shape {array.shape}"
        )
    n = len(array)
    if n_classes is not None and n != n_classes:
        raise ValueError(
            f"{name} must have one row and one column for each of the {n_classes} classes; got "
            f"shape {array.shape}. If some classes never occur as a complementary label, name "
            "all of them with classes="
        )
    if n < 2:
        raise ValueError(f"{name} must have at least 2 classes; got shape {array.shape}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{name} must hold finite numbers; got {array[row, column]} at row {row}, "
            f"column {column}. Estimate missing entries with transition.from_counts(..., "
            "smoothing=)"
        )
    if (array < 0).any():
        row, column = np.argwhere(array < 0)[0]
        raise ValueError(
            f"{name} must hold probabilities, so none below 0; got {array[row, column]:g} at "
            f"row {row}, column {column}"
        )
    sums = array.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise ValueError(
            f"{name} must have rows that sum to 1; row {worst} sums to {sums[worst]:.6g}. "
            "Turn counts into a transition matrix with transition.from_counts"
        )
    if abs(sums[worst] - 1) <= _ROUNDING:
        return array
    return np.asarray(array / sums[:, None])


def uniform(n_classes: int) -> FloatArray:
    """Return the T under which every other class is equally likely: 1/(K-1) off the diagonal.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.uniform(3)
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """
    n = _checks.whole_number(n_classes, "n_classes", 2)
    T = np.full((n, n), 1 / (n - 1))
    np.fill_diagonal(T, 0.0)
    return T


def biased(
    n_classes: int, masses: Sequence[float] = WEAK_MASSES, random_state: Seed = None
) -> FloatArray:
    """Return a T whose rows give three (or more) random parts of the other classes their masses.

    Each row's other classes are put in random order and cut into ``len(masses)`` parts of equal
    size; part i shares ``masses[i]`` evenly. Where K-1 is not a multiple of the number of parts,
    a class on the border of two parts takes its share of both, so that the shape is the same for
    every K ≥ 2 and the rows always sum to 1.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    masses : sequence of float
        Masses of the parts, none negative, summing to 1.
    random_state : int, Generator, RandomState or None
        Each row is cut anew.

    Returns
    -------
    ndarray of shape (K, K)

    Examples
    --------
    >>> from ybar import transition
    >>> T = transition.biased(7, masses=(0.6, 0.3, 0.1), random_state=0)
    >>> sorted({round(float(t), 3) for t in T[0]})
    [0.0, 0.05, 0.15, 0.3]
    """
    n = _checks.whole_number(n_classes, "n_classes", 2)
    rule = "masses must be non-negative numbers that sum to 1, one for each part"
    mass = _checks.array_of_numbers(masses, rule).astype(np.float64)
    good = mass.ndim == 1 and mass.size > 0 and np.isfinite(mass).all() and (mass >= 0).all()
    if not good or abs(mass.sum() - 1) > 1e-9:
        raise ValueError(f"{rule}; got {_checks.shown(masses)}")
    # In units of 1/((K-1)·parts) of the other classes, what a class and a part have in common.
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
    level = _checks.number(level, "level", "a number from 0 (no noise) to 1 (only noise)", 0, 1)
    return (1 - level) * array + level / len(array)


def from_menus(menus: ArrayLike) -> FloatArray:
    """Return the T of menus of two classes: "the first of these that it is not".

    The menu (a, b) gives the label a, unless the class is a: then b. Menus are drawn without
    knowing the class. With π[k] the share of menus that begin with k, and shares s,
    ``T[y, k] = π[k] + s[y, k]`` for k ≠ y. (Of longer menus only the first two classes matter.)

    Parameters
    ----------
    menus : array-like of shape (K, K)
        ``menus[a, b]`` is how often the menu (a, b) is shown: counts, shares or any weights. The
        diagonal is 0.

    Returns
    -------
    ndarray of shape (K, K)

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
            "menus must be above 0 somewhere, but not on the diagonal: a menu has two different "
            f"classes; got {came}"
        )
    shares = array / array.sum()
    T = shares.sum(axis=1) + shares
    np.fill_diagonal(T, 0.0)
    return np.asarray(T)


def estimate_from_probabilities(
    q: ArrayLike,
    *,
    method: str = "anchors",
    share: float | None = None,
    volume: float = 3e-3,
    y_comp: ArrayLike | None = None,
) -> FloatArray:
    """Estimate T from complementary labels alone, through a model's complementary probabilities.

    Every q is a mixture of the rows of T, so the rows are the corners of what q spans. Which corner
    is which class follows from the diagonal: a class is seldom ruled out for its own examples. T
    can be told this way if

    - q is good: fitted to many labels, of a model that tells the classes apart;
    - every class has examples that leave no doubt about it ("anchors", "vertices"), or examples
      in doubt between few classes at a time, from all sides ("volume");
    - no row of T is a mixture of others, and no other way to give the rows to classes makes the
      product of the diagonal as small. Where classes are almost never ruled out for examples of
      others, as under `strong`, that takes thousands of labels a class.

    Complementary labels alone can check a part of the first condition, no other; pass those of rows
    that the model was not fitted to as `y_comp`. A q that shows that T cannot be told is refused. A
    few rows with both labels (`estimate`) need none of these conditions.

    Parameters
    ----------
    q : array-like of shape (N, K)
        Complementary probabilities, best of rows that were not fitted: a model is too sure of its
        own. At most 3,000 rows are used (the search of "volume": 1,000; "vertices": 50,000),
        evenly spaced.
    method : {"anchors", "vertices", "volume"}
        - "anchors": the mean q of each class's surest examples; by turns, T says which examples
          are of which class, and their mean is T. Bears a rough q;
        - "vertices": the rows of q furthest out, one corner after the other. Exact for an exact q
          with a certain example of each class;
        - "volume": the smallest T, by volume, that explains q, beginning at "anchors"; its diagonal
          stays below 1/K. Needs no certain examples, but a good q. Finds a local minimum.
    share : float, optional
        Share of a class's examples that count as certain, above 0 and at most 1: by default 0.5,
        for "vertices" 0.1. Less has less of other classes in it, more has less noise.
    volume : float
        Weight of the volume: about a fifth of the mean Kullback-Leibler divergence of q from the
        true one, which is (K-1)/(2n) for frequencies of n labels. Of several, choose by the SCEL of
        ``decode.class_probabilities(q, T) @ T``.
    y_comp : array-like of shape (N,) of class indices, or boolean array of shape (N, K), optional
        Complementary labels of the rows of q, which the model was not fitted to. Where they do not
        bear out that q varies in K-1 directions by more than chance (two standard errors), classes
        look alike to the model, and T is refused.

    Returns
    -------
    ndarray of shape (K, K)

    Examples
    --------
    >>> import numpy as np
    >>> from ybar import transition
    >>> T = transition.strong(4, random_state=0)
    >>> p = np.random.default_rng(0).dirichlet([0.02] * 4, size=500)  # nearly certain
    >>> found = transition.estimate_from_probabilities(p @ T)
    >>> bool(transition.epsilon(T, found) < 0.01)
    True
    """
    from ._estimate import from_probabilities

    return from_probabilities(q, method, share, volume, y_comp)


def gamma(T: ArrayLike, distance: Distance = "l1") -> float:
    """Return the paper's γ: the smallest distance between two rows of T.

    Decoding tells classes apart by their rows: the larger γ, the more a label is worth; at γ = 0
    two classes cannot be told apart at all.

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
    return float(np.abs(true - check(T, len(true))).sum(axis=1).max())


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
    """Tell whether T is the uniform matrix, to within 1e-9 an entry."""
    array = check(T)
    return bool(np.abs(array - uniform(len(array))).max() <= _UNIFORM_TOLERANCE)


def is_singular(T: ArrayLike) -> bool:
    """Tell whether T has no usable inverse (its numerical rank is below K)."""
    array = check(T)
    return bool(np.linalg.matrix_rank(array) < len(array))


def _labels_needed(T: FloatArray, error: float) -> int | None:
    """Return how many labels of one class name it with at most this chance of error.

    m labels of class y are more likely under another row j with a chance of at most BC(y, j)^m,
    BC being the Bhattacharyya coefficient Σ_k √(T[y, k] T[j, k]); summed over the other classes.
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

    low, high = 0, 1
    while bound(high) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bound(middle) > error else (low, middle)
    return high


def describe(T: ArrayLike) -> str:
    """Return a short account of T: its kind, γ, its condition, and what labels buy under it.

    "Labels a class" are complementary labels of examples that look alike: that many, drawn from
    one row of T, are enough to name the row with the stated chance. That is Bhattacharyya's bound:
    under uniform T nearly all of them are needed, under a strong T about half. A model that shares
    strength between examples needs fewer of each, one whose classes overlap needs more.

    Examples
    --------
    >>> from ybar import transition
    >>> print(transition.describe(transition.uniform(10)))
    transition matrix of 10 classes: uniform
    gamma (smallest L1 distance of two rows): 0.2222
    condition number: 9
    share of wrong labels (diagonal): none
    labels a class to tell it from the others: 39 for 90%, 58 for 99%, 78 for 99.9%
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
    needed = {error: _labels_needed(array, error) for error in (0.1, 0.01, 0.001)}
    if None in needed.values():
        first, second = _closest_rows(array)
        lines.append(
            f"no number of labels tells class {first} from class {second}: their rows are the same"
        )
    else:
        amounts = ", ".join(f"{m:,} for {100 * (1 - e):g}%" for e, m in needed.items())
        lines.append(f"labels a class to tell it from the others: {amounts}")
    return "\n".join(lines)


def _closest_rows(T: FloatArray) -> tuple[int, int]:
    between = pairwise(T, T, "l1")
    np.fill_diagonal(between, np.inf)
    first, second = np.unravel_index(int(np.argmin(between)), between.shape)
    return int(first), int(second)


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
    >>> from ybar import transition
    >>> print(transition.plan(10, noise=0.1, budget=6000, random_state=0))
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
    from ._planning import plan as _plan

    return _plan(
        n_classes,
        noise=noise,
        budget=budget,
        X=X,
        y=y,
        target=target,
        designs=designs,
        classifier=classifier,
        repeats=repeats,
        random_state=random_state,
    )
