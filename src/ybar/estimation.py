"""Estimate T from complementary labels alone, without a single true label.

If labels follow T, ``q = p T``: every q lies in the simplex whose corners are the rows of T, and an
example whose class is certain lies in a corner. To estimate T, find the corners, and then the class
of each corner: its label is rare there, because a class is rarely ruled out for its own examples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from . import decode, transition
from .transition.describing import closest_rows
from .utils import checks
from .utils.encoding import pairs
from .utils.typing import AnyArray, FloatArray, IntArray

__all__ = ["estimate_from_probabilities"]

METHODS = ("anchors", "vertices", "volume")

_MOST_ROWS = {"anchors": 3000, "vertices": 50_000, "volume": 3000}
_MOST_ROWS_OF_VOLUME = 1000
_SHARES = {"anchors": 0.5, "vertices": 0.1, "volume": 0.5}
_ROUNDS, _CONVERGED = 20, 1e-4
_BETTER = 1e-3  # a fit is better if its misfit is smaller by this share
_SAME = 1e-4  # rows of T, and assignments of rows to classes, closer than this count as equal
_SMALLER_PART = 0.7  # share of a class's examples by which an entry of T counts as 0
_NEVER = 1e-4  # rarer labels count as never occurring
_RANK_TOLERANCE = 1e-6
_BEYOND_CHANCE = 2.0  # standard errors
_SMALLEST_ENTRY = 1e-4  # the start of "volume" for an entry that is 0
_INSTEAD = "label some rows with their true class and use transition.estimate(y_true, y_comp)"


def estimate_from_probabilities(
    q: ArrayLike,
    *,
    method: str = "anchors",
    share: float | None = None,
    volume: float = 3e-3,
    y_comp: ArrayLike | None = None,
) -> FloatArray:
    """Estimate T from the complementary probabilities of a model.

    Every q is a mixture of the rows of T, so the rows of T are the corners of the set that q spans.
    The class of a corner is found by the diagonal: a class is rarely ruled out for its own
    examples. T is identifiable if

    - q is accurate: the model is fitted to many labels and separates the classes;
    - every class has examples whose class is certain ("anchors", "vertices"), or examples that are
      uncertain between few classes at a time, for many such groups ("volume");
    - no row of T is a mixture of other rows, and the assignment of rows to classes with the
      smallest product of the diagonal is unique. If some classes are almost never ruled out for
      examples of others, as under `ybar.transition.strong`, that needs thousands of labels per
      class.

    Complementary labels can check a part of the first condition: pass the labels of held-out rows
    as `y_comp`. The other conditions cannot be checked without true labels. A few rows with both
    labels (`ybar.transition.estimate`) need none of these conditions.

    Parameters
    ----------
    q : array-like of shape (N, K)
        Complementary probabilities, preferably of held-out rows, since models are overconfident on
        rows they were fitted to. At most 3,000 evenly spaced rows are used ("vertices": 50,000; the
        search of "volume": 1,000).
    method : {"anchors", "vertices", "volume"}
        - "anchors": the mean q of the most certain examples of each class, alternating between
          assigning examples to classes under T and averaging them. Robust to a rough q;
        - "vertices": the most extreme rows of q, one corner after the other. Exact for an exact q
          with a certain example of each class;
        - "volume": the T of smallest volume that explains q, starting at "anchors", with a diagonal
          below 1/K. Needs no certain examples, but an accurate q. Finds a local minimum.
    share : float, optional
        Share of the examples of a class that count as certain, above 0 and at most 1; by default
        0.5, for "vertices" 0.1. A smaller share includes fewer examples of other classes; a
        larger one averages over more examples.
    volume : float
        Weight of the volume: about a fifth of the mean Kullback-Leibler divergence between q and
        the true q, which is (K-1)/(2n) for frequencies of n labels. Compare weights by the SCEL
        of ``decode.class_probabilities(q, T) @ T``.
    y_comp : array-like of shape (N,) of class indices, or boolean array of shape (N, K), optional
        Complementary labels of the rows of q, if the model was not fitted to them. They must
        confirm that q varies in K-1 directions by more than chance (two standard errors);
        otherwise the model does not separate some classes.

    Returns
    -------
    ndarray of shape (K, K)

    Raises
    ------
    ValueError
        If q shows that T is not identifiable.

    Examples
    --------
    >>> import numpy as np
    >>> from ybar import estimation, transition
    >>> T = transition.strong(4, random_state=0)
    >>> p = np.random.default_rng(0).dirichlet([0.02] * 4, size=500)  # nearly certain
    >>> estimated = estimation.estimate_from_probabilities(p @ T)
    >>> bool(transition.epsilon(T, estimated) < 0.01)
    True
    """
    if not isinstance(method, str) or method not in METHODS:
        allowed = ", ".join(map(repr, METHODS))
        raise ValueError(f"method must be one of {allowed}; got {checks.shown(method)}")
    if share is not None:
        share = checks.number(share, "share", "a number above 0, at most 1", 0, 1)
        if share == 0:
            raise ValueError("share must be a number above 0, at most 1; got 0")
    volume = checks.number(volume, "volume", "a finite number of at least 0", 0)
    array = _check_q(q, _MOST_ROWS[method])
    if y_comp is not None:
        _check_confirmed(np.asarray(q, dtype=np.float64), y_comp)
    share = _SHARES[method] if share is None else share
    if method == "vertices":
        corners = _vertices(array, share)
        T = _assign_classes(_means(array, corners), corners, array)
    else:
        T = _anchors(array, share)
    _check_apart(T)
    if method == "volume":
        T = _smallest_volume(_thinned(array, _MOST_ROWS_OF_VOLUME), T, volume)
    return transition.check(T)


def _check_q(q: ArrayLike, most: int) -> FloatArray:
    """Return at most `most` evenly spaced rows of q, checked to have the rank that T needs."""
    array = decode.check_probabilities(q)
    n_rows, n_classes = array.shape
    if n_rows < n_classes:
        raise ValueError(
            f"q must have at least one row for each of the {n_classes} classes; got {n_rows}. Pass "
            f"q of more rows, or {_INSTEAD}"
        )
    array = _thinned(array, most).astype(np.float64)
    rank = np.linalg.matrix_rank(array, tol=_RANK_TOLERANCE * float(np.linalg.norm(array, 2)))
    if rank < n_classes:
        raise ValueError(
            f"q must have rank {n_classes}, the number of classes, to identify T; got rank {rank}: "
            + ("all rows are equal" if rank == 1 else "some classes are not separated")
            + f". Fit a better model, or {_INSTEAD}"
        )
    return np.asarray(array / array.sum(axis=1, keepdims=True))


def _check_confirmed(q: FloatArray, y_comp: ArrayLike) -> None:
    """Raise `ValueError` if q varies in fewer than K-1 directions by more than chance.

    The labels are regressed on each principal direction of q. The slope is 1 if q is right and 0 if
    the direction is noise.
    """
    n_rows, n_classes = q.shape
    row, k = pairs(y_comp, n_classes)
    checks.same_length("q", n_rows, "y_comp", len(np.asarray(y_comp)))
    deviations = q[row] - q[row].mean(axis=0)
    directions = np.linalg.svd(deviations, full_matrices=False)[2][: n_classes - 1]
    of_q = deviations @ directions.T
    of_labels = directions.T[k] - directions.T[k].mean(axis=0)
    scale = np.maximum((of_q**2).sum(axis=0), np.finfo(float).tiny)
    slope = (of_q * of_labels).sum(axis=0) / scale
    error = np.sqrt((of_q**2 * (of_labels - slope * of_q) ** 2).sum(axis=0)) / scale
    confirmed = int((slope > _BEYOND_CHANCE * error).sum())
    if confirmed < n_classes - 1:
        raise ValueError(
            f"q must vary in {n_classes - 1} directions to identify T; y_comp confirms "
            f"{confirmed} of them, the others may be noise. Pass more rows, fit a better model, or "
            f"{_INSTEAD}"
        )


def _thinned(array: AnyArray, most: int) -> AnyArray:
    n = len(array)
    return array if n <= most else array[np.linspace(0, n - 1, most).astype(np.intp)]


def _check_apart(T: FloatArray) -> None:
    first, second = closest_rows(T)
    if np.abs(T[first] - T[second]).sum() < _SAME:
        raise ValueError(
            f"q must separate every class to identify T; examples of classes {first} and {second} "
            f"have the same q. Fit a better model, or {_INSTEAD}"
        )


def _assign_classes(corners: FloatArray, rows: list[IntArray], q: FloatArray) -> FloatArray:
    """Return T: the corners assigned to classes so that the product of the diagonal is smallest.

    The size of an entry is the mean over the smaller part of the corner's rows of q, since a few
    rows of another class would hide that the entry is 0.
    """
    size = np.empty_like(corners)
    for y, members in enumerate(rows):
        ordered = np.sort(q[members], axis=0)
        size[y] = ordered[: max(1, math.ceil(_SMALLER_PART * len(members)))].mean(axis=0)
    cost = np.log(size + _NEVER)
    corner, name = optimize.linear_sum_assignment(cost)
    least = cost[corner, name].sum()
    for y in range(len(cost)):
        # The best assignment in which this corner belongs to another class.
        kept = cost[y, name[y]]
        cost[y, name[y]] = 1 - 10 * len(cost) * np.log(_NEVER)
        others = optimize.linear_sum_assignment(cost)
        if cost[others].sum() - least < _SAME:
            raise ValueError(
                "q must show by its smallest entries which row of T is of which class; classes "
                f"{name[y]} and {others[1][y]} are ruled out equally rarely, so their rows could "
                f"be swapped. To identify T, {_INSTEAD}"
            )
        cost[y, name[y]] = kept
    T = np.empty_like(corners)
    T[name] = corners[corner]
    return T


def _vertices(q: FloatArray, share: float) -> list[IntArray]:
    """Return the rows of q in each corner, by successive projection.

    The longest row is a corner; projecting it out leaves the same problem with one corner less.
    Each corner is an average of several rows, since single extreme rows are extreme by noise
    (smoothed successive projection: Nadisic, Gillis & Kervazo 2023).
    """
    n_rows, n_classes = q.shape
    m = max(1, int(share * n_rows / n_classes))
    corners = []
    rest = q.copy()
    for _ in range(n_classes):
        direction = rest[np.argmax((rest * rest).sum(axis=1))]
        for _ in range(5):
            furthest = np.argsort(-(rest @ direction), kind="stable")[:m]
            direction = rest[furthest].mean(axis=0)
        corners.append(furthest)
        unit = direction / np.linalg.norm(direction)
        rest -= np.outer(rest @ unit, unit)
    return corners


def _anchors(q: FloatArray, share: float) -> FloatArray:
    """Return the mean q of the most certain examples of each class.

    There are two starts, and the better fit is returned: the rows with the smallest q[y] (under a
    strongly biased T these can be of several classes), and `_vertices`. From each start, the corner
    with the fewest rows moves to the rows that are fitted worst, as long as the fit improves.
    """
    n_rows, n_classes = q.shape
    m = max(1, int(share * n_rows / n_classes))
    smallest = np.argsort(q, axis=0, kind="stable")[:m]
    fits = []
    for start in (q[smallest].mean(axis=0), _means(q, _vertices(q, _SHARES["vertices"]))):
        fit = _refine(q, start, share)
        for _ in range(n_classes):
            moved = fit.T.copy()
            moved[fit.sizes.argmin()] = q[np.argsort(-fit.misfits, kind="stable")[:m]].mean(axis=0)
            other = _refine(q, moved, share)
            if not other.misfit < (1 - _BETTER) * fit.misfit:
                break
            fit = other
        fits.append(fit)
    best = min(fits, key=lambda fit: fit.misfit)
    if not best.sizes.all():
        raise ValueError(
            f"q must have examples of each of the {n_classes} classes to identify T; got examples "
            f"of {(best.sizes > 0).sum()}. Pass q of more rows, fit a better model, or {_INSTEAD}"
        )
    return _assign_classes(best.T, _most_certain(q, best.p, share), q)


def _means(q: FloatArray, rows: list[IntArray]) -> FloatArray:
    return np.stack([q[members].mean(axis=0) for members in rows])


class _Fit(NamedTuple):
    """Corners, the p that explain q best with them, misfits of rows, sizes of the corners."""

    T: FloatArray
    p: FloatArray
    misfits: FloatArray
    sizes: IntArray

    @property
    def misfit(self) -> float:
        return float(self.misfits.mean())


def _refine(q: FloatArray, T: FloatArray, share: float) -> _Fit:
    """Alternate between assigning rows to corners and averaging the most certain rows of each."""
    for _ in range(_ROUNDS):
        before, p = T, decode.class_probabilities(q, T)
        T = T.copy()
        for y, rows in enumerate(_most_certain(q, p, share)):
            if len(rows):
                T[y] = q[rows].mean(axis=0)
        if np.abs(T - before).max() < _CONVERGED:
            break
    p = decode.class_probabilities(q, T)
    misfits = np.abs(q - p @ T).sum(axis=1)
    return _Fit(T, p, misfits, np.bincount(p.argmax(axis=1), minlength=len(T)))


def _most_certain(q: FloatArray, p: FloatArray, share: float) -> list[IntArray]:
    """Return for each corner the share of its rows that it explains best."""
    nearest = p.argmax(axis=1)
    certain = []
    for y in range(q.shape[1]):
        rows = np.flatnonzero(nearest == y)
        order = np.argsort(-p[rows, y], kind="stable")
        certain.append(rows[order[: math.ceil(share * len(rows))]])
    return certain


def _smallest_volume(q: FloatArray, T: FloatArray, volume: float) -> FloatArray:
    """Minimise mean KL(q, pT) + volume · ½ log det(TTᵀ + δI) over T, with the best p for each T.

    ½ log det TTᵀ is the logarithm of the volume that the rows of T span (Li et al. 2021). It has
    no lower bound, so a direction hidden by noise would shrink to nothing; δ, the square of the
    small singular values of uniform T, prevents this. The entries of a row off the diagonal are a
    softmax, and the diagonal stays below 1/K: labels are wrong less often than random ones. By the
    envelope theorem the gradient needs no derivative of p. There are two starts, T and the mean of
    T and uniform, and the better result is returned.
    """
    n_rows, n = q.shape
    off = ~np.eye(n, dtype=bool)
    delta = np.eye(n) / (n - 1) ** 2

    def matrix(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        others = special.softmax(x[n:].reshape(n, n - 1), axis=1)
        wrong = special.expit(x[:n])
        T = np.diag(wrong / n)
        T[off] = (others * (1 - wrong / n)[:, None]).ravel()
        return T, others, wrong

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        T, others, wrong = matrix(x)
        p = decode.class_probabilities(q, T)
        r = p @ T
        seen = (q > 0) & (r > 0)
        gram = T @ T.T + delta
        misfit = -(q * np.log(r, out=np.zeros_like(r), where=seen)).sum() / n_rows
        slope = volume * np.linalg.solve(gram, T)
        slope -= p.T @ np.divide(q, r, out=np.zeros_like(q), where=seen) / n_rows
        of_others = slope[off].reshape(n, n - 1)
        centred = of_others - (of_others * others).sum(axis=1, keepdims=True)
        of_wrong = np.diag(slope) - (of_others * others).sum(axis=1)
        gradient = (
            of_wrong * wrong * (1 - wrong) / n,
            ((1 - wrong / n)[:, None] * others * centred).ravel(),
        )
        size = float(np.linalg.slogdet(gram)[1]) / 2
        return float(misfit) + volume * size, np.concatenate(gradient)

    results = []
    for start in (T, (T + transition.uniform(n)) / 2):
        diagonal = special.logit(np.clip(np.diag(start) * n, 0.01, 0.9))
        others = np.log(np.maximum(start[off], _SMALLEST_ENTRY))
        results.append(
            optimize.minimize(
                loss,
                np.concatenate([diagonal, others]),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 200, "ftol": 1e-8, "gtol": 1e-6},
            )
        )
    return matrix(min(results, key=lambda result: result.fun).x)[0]
