"""Estimate T from complementary probabilities alone.

Where labels follow T, ``q = p T``: every q lies in the simplex whose corners are the rows of T. An
example whose class is certain lies in a corner. Finding T is finding the corners; which corner is
which class is told by the diagonal, since a class is seldom ruled out for its own examples.

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
_ROUNDS, _SETTLED = 20, 1e-4
_BETTER = 1e-3  # a fit counts as better if it is so by this share
_SAME = 1e-4  # rows of T, and ways to name them, that are nearer than this are the same
_SMALLER_PART = 0.7
_NEVER = 1e-4  # a label that is rarer than this counts as never given
_RANK_TOLERANCE = 1e-6
_BEYOND_CHANCE = 2.0  # standard errors
_SMALLEST_ENTRY = 1e-4  # where the volume's search starts for an entry that is 0
_INSTEAD = "give some rows their true label and count with transition.estimate(y_true, y_comp)"


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
    >>> from ybar import estimation, transition
    >>> T = transition.strong(4, random_state=0)
    >>> p = np.random.default_rng(0).dirichlet([0.02] * 4, size=500)  # nearly certain
    >>> found = estimation.estimate_from_probabilities(p @ T)
    >>> bool(transition.epsilon(T, found) < 0.01)
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
    array = _check(q, _MOST_ROWS[method])
    if y_comp is not None:
        _check_borne_out(np.asarray(q, dtype=np.float64), y_comp)
    share = _SHARES[method] if share is None else share
    if method == "vertices":
        corners = _vertices(array, share)
        T = _named(_means(array, corners), corners, array)
    else:
        T = _anchors(array, share)
    _check_apart(T)
    if method == "volume":
        T = _smallest_volume(_thinned(array, _MOST_ROWS_OF_VOLUME), T, volume)
    return transition.check(T)


def _check(q: ArrayLike, most: int) -> FloatArray:
    """Return at most so many rows of q, evenly spaced; refuse a q that cannot tell T."""
    rule = "q must be an N×K array of probabilities, one column for each of at least 2 classes"
    shape = np.shape(checks.array_of_numbers(q, rule))
    if len(shape) != 2 or shape[1] < 2:
        raise ValueError(f"{rule}; got shape {shape}")
    array = decode.check_probabilities(q, shape[1])
    n_rows, n_classes = array.shape
    if n_rows < n_classes:
        raise ValueError(
            f"q must have at least one row for each of the {n_classes} classes to find T from; got "
            f"{n_rows}. Pass q of more rows, or {_INSTEAD}"
        )
    array = _thinned(array, most).astype(np.float64)
    rank = np.linalg.matrix_rank(array, tol=_RANK_TOLERANCE * float(np.linalg.norm(array, 2)))
    if rank < n_classes:
        raise ValueError(
            f"q must have rank {n_classes}, one for each class, to tell T; got rank {rank}: "
            + ("all its rows are the same" if rank == 1 else "some classes look alike in it")
            + f". Fit a model that tells more classes apart, or {_INSTEAD}"
        )
    return np.asarray(array / array.sum(axis=1, keepdims=True))


def _check_borne_out(q: FloatArray, y_comp: ArrayLike) -> None:
    """Refuse a q that varies in fewer than K-1 directions by more than chance.

    Along each principal direction of q the labels are regressed on it: with a slope of 1 where q is
    right, of 0 where it is noise.
    """
    n_rows, n_classes = q.shape
    row, k = pairs(y_comp, n_classes)
    checks.same_length("q", n_rows, "y_comp", len(np.asarray(y_comp)))
    away = q[row] - q[row].mean(axis=0)
    directions = np.linalg.svd(away, full_matrices=False)[2][: n_classes - 1]
    of_q = away @ directions.T
    of_labels = directions.T[k] - directions.T[k].mean(axis=0)
    scale = np.maximum((of_q**2).sum(axis=0), np.finfo(float).tiny)
    slope = (of_q * of_labels).sum(axis=0) / scale
    error = np.sqrt((of_q**2 * (of_labels - slope * of_q) ** 2).sum(axis=0)) / scale
    borne_out = int((slope > _BEYOND_CHANCE * error).sum())
    if borne_out < n_classes - 1:
        raise ValueError(
            f"q must vary in {n_classes - 1} directions to tell T; y_comp bears out "
            f"{borne_out} of them, the others may be noise: some classes look alike to the model. "
            f"Pass more rows, fit a better model, or {_INSTEAD}"
        )


def _thinned(array: AnyArray, most: int) -> AnyArray:
    n = len(array)
    return array if n <= most else array[np.linspace(0, n - 1, most).astype(np.intp)]


def _check_apart(T: FloatArray) -> None:
    first, second = closest_rows(T)
    if np.abs(T[first] - T[second]).sum() < _SAME:
        raise ValueError(
            f"q must have examples of every class that tell it apart; those of classes {first} and "
            f"{second} have the same q, so T cannot be told. Fit a better model, or {_INSTEAD}"
        )


def _named(corners: FloatArray, rows: list[IntArray], q: FloatArray) -> FloatArray:
    """Return corners as rows of T: each gets a class, so that the diagonal is smallest.

    That is, so that its product is. An entry is judged by the smaller part of its class's q, since
    a few rows of another class would hide that it is 0.
    """
    size = np.empty_like(corners)
    for y, mine in enumerate(rows):
        ordered = np.sort(q[mine], axis=0)
        size[y] = ordered[: max(1, math.ceil(_SMALLER_PART * len(mine)))].mean(axis=0)
    cost = np.log(size + _NEVER)
    corner, name = optimize.linear_sum_assignment(cost)
    least = cost[corner, name].sum()
    for y in range(len(cost)):
        # The best of the ways to name the corners that give this one another name.
        kept = cost[y, name[y]]
        cost[y, name[y]] = 1 - 10 * len(cost) * np.log(_NEVER)
        others = optimize.linear_sum_assignment(cost)
        if cost[others].sum() - least < _SAME:
            raise ValueError(
                "q must tell by its smallest entries which row of T belongs to which class; here "
                f"that of class {name[y]} could as well be that of class {others[1][y]}, both being"
                f" ruled out as seldom. To tell T, {_INSTEAD}"
            )
        cost[y, name[y]] = kept
    T = np.empty_like(corners)
    T[name] = corners[corner]
    return T


def _vertices(q: FloatArray, share: float) -> list[IntArray]:
    """Return the rows in each corner by successive projection: those furthest out.

    The longest row is a corner; what is at right angles to it is the same problem with one corner
    less. Several rows are averaged, since the furthest are so by noise (smoothed successive
    projection: Nadisic, Gillis & Kervazo 2023).
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
    """Return the mean q of each class's surest examples, found by turns with what T says they are.

    Two starts, the better fit of which is kept: the rows with the smallest q[y] (under a strongly
    biased T those can be of several classes), and `_vertices`. From each, the corner that fewest
    rows are near goes to where q fits worst, as long as that helps.
    """
    n_rows, n_classes = q.shape
    m = max(1, int(share * n_rows / n_classes))
    smallest = np.argsort(q, axis=0, kind="stable")[:m]
    fits = []
    for start in (q[smallest].mean(axis=0), _means(q, _vertices(q, _SHARES["vertices"]))):
        fit = _settle(q, start, share)
        for _ in range(n_classes):
            moved = fit.T.copy()
            moved[fit.sizes.argmin()] = q[np.argsort(-fit.misfits, kind="stable")[:m]].mean(axis=0)
            other = _settle(q, moved, share)
            if not other.misfit < (1 - _BETTER) * fit.misfit:
                break
            fit = other
        fits.append(fit)
    best = min(fits, key=lambda fit: fit.misfit)
    if not best.sizes.all():
        raise ValueError(
            f"q must have examples of every class to find T from; {(best.sizes > 0).sum()} of "
            f"{n_classes} were found. Pass q of more rows, or of a better model, or {_INSTEAD}"
        )
    return _named(best.T, _surest(q, best.p, share), q)


def _means(q: FloatArray, rows: list[IntArray]) -> FloatArray:
    return np.stack([q[mine].mean(axis=0) for mine in rows])


class _Fit(NamedTuple):
    """Corners, the p that explain q best with them, how far off they are, how many are near."""

    T: FloatArray
    p: FloatArray
    misfits: FloatArray
    sizes: IntArray

    @property
    def misfit(self) -> float:
        return float(self.misfits.mean())


def _settle(q: FloatArray, T: FloatArray, share: float) -> _Fit:
    """Take turns: which rows are nearest to which corner, and the mean of the surest of them."""
    for _ in range(_ROUNDS):
        before, p = T, decode.class_probabilities(q, T)
        T = T.copy()
        for y, rows in enumerate(_surest(q, p, share)):
            if len(rows):
                T[y] = q[rows].mean(axis=0)
        if np.abs(T - before).max() < _SETTLED:
            break
    p = decode.class_probabilities(q, T)
    misfits = np.abs(q - p @ T).sum(axis=1)
    return _Fit(T, p, misfits, np.bincount(p.argmax(axis=1), minlength=len(T)))


def _surest(q: FloatArray, p: FloatArray, share: float) -> list[IntArray]:
    """Return for each corner the rows that it explains best."""
    nearest = p.argmax(axis=1)
    found = []
    for y in range(q.shape[1]):
        rows = np.flatnonzero(nearest == y)
        order = np.argsort(-p[rows, y], kind="stable")
        found.append(rows[order[: math.ceil(share * len(rows))]])
    return found


def _smallest_volume(q: FloatArray, T: FloatArray, volume: float) -> FloatArray:
    """Minimise mean KL(q, pT) + volume · ½ log det(TTᵀ + δI) over T, with the best p for each T.

    ½ log det TTᵀ is the logarithm of the volume that the rows of T span (Li et al. 2021). It has
    no lower bound, so a direction that noise hides would be squeezed to nothing; δ, the square of
    the small singular values of uniform T, stops that. Rows are a softmax off the diagonal, and
    what the diagonal takes stays below 1/K: labels are wrong less often than by guessing. By the
    envelope theorem the gradient needs no derivative of p. The better of two starts is kept: T,
    and half-way from there to uniform.
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

    found = []
    for start in (T, (T + transition.uniform(n)) / 2):
        diagonal = special.logit(np.clip(np.diag(start) * n, 0.01, 0.9))
        others = np.log(np.maximum(start[off], _SMALLEST_ENTRY))
        found.append(
            optimize.minimize(
                loss,
                np.concatenate([diagonal, others]),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 200, "ftol": 1e-8, "gtol": 1e-6},
            )
        )
    return matrix(min(found, key=lambda result: result.fun).x)[0]
