"""Estimate transition matrices from counts of classes with their complementary labels."""

from __future__ import annotations

import importlib.resources
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..utils import checks
from ..utils.encoding import encode, pairs, union_of_classes
from ..utils.typing import FloatArray
from .checking import check_shape

__all__ = ["annotators", "credible_intervals", "estimate", "from_counts"]

ANNOTATORS = ("clcifar10", "clcifar20", "aclcifar10")
_LEAST_SMOOTHING = 1e-6  # below this the quantiles of a Beta distribution are NaN


def from_counts(
    counts: ArrayLike, smoothing: float = 0.0, *, diagonal: bool | None = None
) -> FloatArray:
    """Turn counts of (class, complementary label) into a transition matrix.

    ``T[y, k] = (counts[y, k] + smoothing) / Σ_j (counts[y, j] + smoothing)``: the mean of the
    posterior under a symmetric Dirichlet prior with `smoothing` pseudo-counts in each cell.

    Parameters
    ----------
    counts : array-like of shape (K, K)
        ``counts[y, k]`` is how often an example of class y was said not to be k.
    smoothing : float
        Pseudo-counts for each cell. 0 keeps zeros, and a row without any count is an error.
    diagonal : bool, optional
        Whether wrong labels are possible, so that the cells of the diagonal are smoothed too. By
        default only if the diagonal has a count: if all of it is 0, labels are never wrong.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.from_counts([[0, 8, 2], [5, 0, 5], [3, 7, 0]])
    array([[0. , 0.8, 0.2],
           [0.5, 0. , 0.5],
           [0.3, 0.7, 0. ]])
    >>> transition.from_counts([[0, 8, 0], [5, 0, 5], [3, 7, 0]], smoothing=1)[0]
    array([0. , 0.9, 0.1])
    """
    array = check_counts(counts, "counts")
    smoothing = checks.number(smoothing, "smoothing", "a finite number of at least 0", 0)
    wrong = np.diag(array)
    if diagonal is None:
        diagonal = bool(wrong.any())
    checks.boolean(diagonal, "diagonal")
    if not diagonal and wrong.any():
        raise ValueError(
            "diagonal must be True, or be left out, if counts has wrong labels on its diagonal; "
            f"got {wrong.max():g} in row {int(wrong.argmax())}. Set them to 0 to ignore them"
        )
    array += smoothing * np.where(np.eye(len(array), dtype=bool), diagonal, True)
    sums = array.sum(axis=1, keepdims=True)
    if (sums == 0).any():
        raise ValueError(
            f"counts has no count in row {int(np.argmin(sums))}, so its probabilities are "
            "unknown; pass smoothing= (for example 1/K) or collect labels for that class"
        )
    return np.asarray(array / sums)


def estimate(
    y_true: ArrayLike,
    y_comp: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    smoothing: float | None = None,
) -> FloatArray:
    """Estimate T from a few rows that have both an ordinary and a complementary label.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        Ordinary labels.
    y_comp : array-like of shape (N,), or boolean array of shape (N, K)
        Complementary labels: one per row, or several.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. By default the sorted values of `y_true` and
        `y_comp` together; for several labels per row as in `ybar.labels.encode`.
    smoothing : float, optional
        Pseudo-counts for each cell, those of the diagonal included: labels that were never wrong in
        a few rows may be wrong in others. By default 1/K: the prior of a row is worth one label,
        and classes without any row cause a warning.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.estimate(["a", "a", "b"], ["b", "b", "a"], smoothing=0.5).round(2)
    array([[0.17, 0.83],
           [0.75, 0.25]])
    """
    counts = _count(y_true, y_comp, classes)
    if smoothing is None:
        smoothing = 1 / len(counts)
        without = np.flatnonzero(counts.sum(axis=1) == 0)
        if len(without):
            warnings.warn(
                f"y_true has no row of {len(without)} of the {len(counts)} classes, first of "
                f"class {without[0]} (from 0); all entries of their rows of T are set to 1/K. "
                "Collect both labels for a few rows of each class, or pass smoothing=",
                stacklevel=2,
            )
    return from_counts(counts, smoothing, diagonal=True)


def credible_intervals(
    y_true: ArrayLike,
    y_comp: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    smoothing: float | None = None,
    level: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    """Return an interval for each entry of T, from rows with both labels.

    By default these are Clopper and Pearson's intervals: for every T, each contains its entry with
    a probability of at least `level`. With `smoothing` they are credible intervals: the posterior
    of an entry is Beta(a[k], Σa - a[k]), where a is the row of counts plus `smoothing`. Those are
    narrower; they contain the entry with probability `level` on average over T from that prior.

    Each interval has equal tails and is for one entry alone. It begins at 0 if the entry has no
    count, and ends at 1 if the entry has all counts of its row.

    Parameters
    ----------
    y_true, y_comp, classes
        As in `estimate`.
    smoothing : float, optional
        Pseudo-counts for each cell, at least 1e-6; by default no prior is assumed.
    level : float
        Probability that an entry lies in its interval, between 0 and 1.

    Returns
    -------
    low, high : ndarrays of shape (K, K)

    Examples
    --------
    >>> from ybar import transition
    >>> low, high = transition.credible_intervals(["a"] * 9 + ["b"] * 4, ["b"] * 9 + ["a"] * 4)
    >>> low.round(2), high.round(2)
    (array([[0.  , 0.66],
           [0.4 , 0.  ]]), array([[0.34, 1.  ],
           [1.  , 0.6 ]]))
    """
    level = checks.number(level, "level", "a number above 0 and below 1", 0, 1)
    if level in (0, 1):
        raise ValueError(f"level must be a number above 0 and below 1; got {level:g}")
    counts = _count(y_true, y_comp, classes)
    others = counts.sum(axis=1, keepdims=True) - counts
    prior_below, prior_above = (0.0, 1.0), (1.0, 0.0)  # of the entry, of the rest of its row
    if smoothing is not None:
        smoothing = checks.number(smoothing, "smoothing", "a finite number above 0", 0)
        if smoothing < _LEAST_SMOOTHING:
            raise ValueError(
                f"smoothing must be at least {_LEAST_SMOOTHING:g}, or an entry without a count "
                f"would be certain; got {smoothing:g}. Leave it out to assume no prior"
            )
        prior_below = prior_above = smoothing, (len(counts) - 1) * smoothing
    tail = (1 - level) / 2
    low = special.betaincinv(counts + prior_below[0], others + prior_below[1], tail)
    high = special.betaincinv(counts + prior_above[0], others + prior_above[1], 1 - tail)
    return np.where(counts == 0, 0.0, low), np.where(others == 0, 1.0, high)


def annotators(name: str) -> FloatArray:
    """Return the T of annotators, people or a model, who were asked for complementary labels.

    The counts of people are from CLImage: Wang, Mai, Ye, Lin & Lin, "CLImage: Human-Annotated
    Datasets for Complementary-Label Learning", arXiv 2305.08295 (MIT licence). Annotators make
    mistakes: the diagonals are 0.04 and 0.03 on average, and 0.002 for the model. The counts and
    the names of the classes are in ``ybar/transition/annotators/*.csv``.

    Parameters
    ----------
    name : {"clcifar10", "clcifar20", "aclcifar10"}
        - "clcifar10": the classes of CIFAR-10 in their usual order; 5,000 labels per class, one
          of the three labels of each image (the source does not say which);
        - "clcifar20": the 20 superclasses of CIFAR-100; all three labels of its 50,000 images;
        - "aclcifar10": the classes of CIFAR-10; the first three of the nine labels that the
          vision-language model LLaVA chose for each image.

    Examples
    --------
    >>> from ybar import transition
    >>> transition.annotators("clcifar10")[3].round(3)  # for cats, 5% of the labels are "not a dog"
    array([0.16 , 0.173, 0.081, 0.039, 0.059, 0.053, 0.069, 0.088, 0.124,
           0.153])
    """
    if not isinstance(name, str) or name not in ANNOTATORS:
        allowed = ", ".join(map(repr, ANNOTATORS[:-1])) + f" or {ANNOTATORS[-1]!r}"
        raise ValueError(f"name must be {allowed}; got {checks.shown(name)}")
    lines = _annotator_file(name)[2:]
    return from_counts([[int(cell) for cell in line.split(",")] for line in lines])


def annotated_classes(name: str) -> list[str]:
    """Return the names of the classes in the order of the rows of `annotators`."""
    return _annotator_file(name)[1].split(",")


def _annotator_file(name: str) -> list[str]:
    """Return the lines of a file of counts: its source, the names of the classes, the counts."""
    file = importlib.resources.files("ybar.transition") / "annotators" / f"{name}.csv"
    return file.read_text("utf-8").splitlines()


def _count(y_true: ArrayLike, y_comp: ArrayLike, classes: ArrayLike | None) -> FloatArray:
    """Return how often each class has each complementary label."""
    column = checks.label_array(y_true, "y_true must hold one label per row")
    if len(column) == 0:
        raise ValueError("y_true must hold at least one label; got none")
    column = checks.label_column(column, "y_true")
    comp = checks.label_array(
        y_comp, "y_comp must hold one complementary label per row, or be a boolean array (N, K)"
    )
    if classes is None and (comp.ndim == 1 or comp.shape[1:] == (1,)):
        # The classes of both; each is encoded separately first, so that errors name the argument.
        others = encode(y_comp, name="y_comp")[1]
        classes = union_of_classes(np.unique(column), others, "y_true and y_comp")
    comp, names = encode(y_comp, classes, name="y_comp")
    true, _ = encode(column, names, name="y_true")
    checks.same_length("y_true", len(true), "y_comp", len(comp))
    rows, k = pairs(comp, len(names))
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (true[rows], k), 1)
    return counts


def check_counts(values: ArrayLike, name: str) -> FloatArray:
    """Return counts as a new float64 array, K×K and without negative entries."""
    checks.check_same_names(values, name)
    array = checks.array_of_numbers(values, f"{name} must be a K×K array of numbers").astype(
        np.float64
    )
    check_shape(array, None, name)
    checks.not_negative(array, name)
    return array
