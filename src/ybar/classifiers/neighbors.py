"""Nearest neighbours from complementary labels, every number of neighbours from one search."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from .. import labels
from ..decode import Method
from ..metrics.losses import log_losses, mean_and_error
from ..utils import checks
from ..utils.random import as_generator
from ..utils.typing import AnyArray, FloatArray, IntArray, Seed
from . import hold_out
from .base import ComplementaryClassifier
from .candidates import as_float, check_candidates, check_select, cv_results, simplest

__all__ = ["CPEKNeighborsClassifierCV"]

_BLOCK_NUMBERS = 1 << 24  # entries of the largest temporary array


class CPEKNeighborsClassifierCV(ComplementaryClassifier):
    """The paper's CPE-KNN: q are the label frequencies of the k nearest neighbours, k by SCEL.

    The rows are reduced by PCA; one search for the largest k on a held-out part then gives the
    SCEL of every k, since the k nearest are the first k of it. The best k is used with all rows.

    Parameters
    ----------
    n_neighbors : list of int, optional
        Candidates for k; by default 10, 20, …, 250, as far as there are rows.
    n_components : int or None
        Dimensions that PCA reduces to; None, or as many as there are features, for no PCA.
    transition : "uniform" or array-like of shape (K, K)
        ``T[y, k] = P(ȳ = k given y)``, its rows and columns in the order of ``classes_``.
    decoder : {"l1", "l2", "max", "likelihood"} or callable
        See `ybar.decode.decode`.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. Needed when some class never occurs as a
        complementary label; otherwise the sorted values of y.
    validation_fraction : float
        Share of the rows held out, at random, to choose k.
    cv : int, splitter or iterable of (train, validation) indices, optional
        Held-out parts of your own instead (an int: so many, shuffled); the SCEL is that of all
        their labels together.
    select : {"best", "one-std-error"}
        The k of the lowest SCEL; or the simplest, that is the largest, whose SCEL is within one
        standard error of it (that of the difference, see `ybar.metrics.one_standard_error`).
    random_state : int, Generator, RandomState or None
        Of the held-out part, and of PCA where it is randomised.
    n_jobs : int or None
        Threads of the neighbour search, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    n_neighbors_ : int
        The k that SCEL selected.
    cv_results_ : dict
        The path: ``param_n_neighbors``, ``scel``, ``scel_std_error`` and scikit-learn's
        ``params``, ``mean_test_score``, ``rank_test_score``.
    best_params_, best_index_, best_score_ : as in ``GridSearchCV``
    pca_ : fitted PCA, or None
    neighbors_ : fitted NearestNeighbors
    n_features_in_ : int
    feature_names_in_ : ndarray

    Examples
    --------
    >>> from ybar import CPEKNeighborsClassifierCV, datasets, labels, transition
    >>> d = datasets.load("digits")
    >>> T = transition.strong(10, random_state=0)
    >>> y_comp = labels.draw(d.y_train, T, random_state=0)
    >>> clf = CPEKNeighborsClassifierCV(transition=T, random_state=0).fit(d.X_train, y_comp)
    >>> bool((clf.predict(d.X_test) == d.y_test).mean() > 0.85)
    True
    """

    n_neighbors_: int
    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    pca_: PCA | None
    neighbors_: NearestNeighbors

    def __init__(
        self,
        n_neighbors: ArrayLike | None = None,
        *,
        n_components: int | None = 32,
        transition: ArrayLike = "uniform",
        decoder: Method = "l1",
        classes: ArrayLike | None = None,
        validation_fraction: float = 0.1,
        cv: Any = None,
        select: str = "best",
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.transition = transition
        self.decoder = decoder
        self.classes = classes
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.select = select
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose k by SCEL on held-out complementary labels, then keep all rows.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels: classes the rows are said not to be.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            return self._fit(X, y)

    def _fit(self, X: Any, y: ArrayLike) -> Self:
        X = self._validate(X, ensure_min_samples=2)
        codes, _, classes, T, _ = self._check_fit(X, y)
        checks.n_jobs(self.n_jobs)
        check_select(self.select)
        n = self.n_components
        if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 1):
            raise ValueError(
                f"n_components must be an int of at least 1, or None; got {checks.shown(n)}"
            )
        generator = as_generator(self.random_state)
        parts = hold_out.splits(codes, None, self.cv, self.validation_fraction, generator)
        candidates = self._candidates(min(len(train) for train, _ in parts))
        seed = int(generator.integers(2**31))
        numbers = as_float(X)

        of_part, rows_of_part = [], []
        for train, validation in parts:
            pca, neighbors = self._index(numbers[train], seed)
            nearest = self._search(pca, neighbors, numbers[validation], max(candidates))
            row, k = labels.pairs(codes[validation], len(classes))
            q = _path_of_q(codes[train], nearest, row, k, candidates, len(classes))
            of_part.append(log_losses(q, 1 / (len(k) + 1)))
            rows_of_part.append(validation[row])
        losses, rows = np.concatenate(of_part).T, np.concatenate(rows_of_part)
        means = [mean_and_error(values, rows, len(X), None) for values in losses]
        scel, std_error = (np.array(values) for values in zip(*means, strict=True))
        self.cv_results_ = cv_results([{"n_neighbors": k} for k in candidates], scel, std_error)
        self.best_index_ = int(np.argmin(scel))
        if self.select == "one-std-error":
            complexity = [-k for k in candidates]
            self.best_index_ = simplest(list(losses), complexity, rows, len(X), None)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(-scel[self.best_index_])
        self.n_neighbors_ = candidates[self.best_index_]
        self.pca_, self.neighbors_ = self._index(numbers, seed)
        self.classes_, self.transition_, self._codes = classes, T, codes.copy()
        return self

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q: the label frequencies of the k nearest rows.

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        ndarray of shape (N, K)
        """
        check_is_fitted(self, "neighbors_")
        numbers = as_float(self._validate(X, reset=False))
        nearest = self._search(self.pca_, self.neighbors_, numbers, self.n_neighbors_)
        return _frequencies(self._codes, nearest, len(self.classes_))

    def _candidates(self, n_train: int) -> list[int]:
        if self.n_neighbors is None:
            return [k for k in range(10, 251, 10) if k <= n_train] or [n_train]
        candidates = check_candidates(self.n_neighbors, "n_neighbors")
        if max(candidates) > n_train:
            raise ValueError(
                f"n_neighbors must not exceed the rows left to train on, {n_train}; got "
                f"{max(candidates)}. Leave out larger values or hold out fewer rows"
            )
        return candidates

    def _index(self, X: AnyArray, seed: int) -> tuple[PCA | None, NearestNeighbors]:
        n = self.n_components
        pca = None
        if n is not None and n < min(X.shape):
            pca = PCA(n, random_state=seed).fit(X)
        reduced = X if pca is None else pca.transform(X)
        return pca, NearestNeighbors(n_jobs=self.n_jobs).fit(reduced)

    def _search(
        self, pca: PCA | None, neighbors: NearestNeighbors, X: AnyArray, k: int
    ) -> IntArray:
        reduced = X if pca is None else pca.transform(X)
        return np.asarray(neighbors.kneighbors(reduced, k, return_distance=False))


def _path_of_q(
    codes: AnyArray, nearest: IntArray, rows: IntArray, k: IntArray, candidates: list[int], K: int
) -> FloatArray:
    """Return q[row, k] of each single label for every candidate number of neighbours."""
    last = np.asarray(candidates) - 1
    q = np.empty((len(rows), len(candidates)))
    step = max(1, _BLOCK_NUMBERS // nearest.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        near = nearest[rows[part]]
        if codes.ndim == 1:
            hits = codes[near] == k[part, None]
            of = last[None, :] + 1
        else:
            hits = codes[near, k[part, None]]
            of = np.cumsum(codes.sum(axis=1)[near], axis=1)[:, last]
        counts = np.cumsum(hits, axis=1, dtype=np.int32)[:, last]
        q[part] = np.divide(counts, of, out=np.full(counts.shape, 1 / K), where=of > 0)
    return q


def _frequencies(codes: AnyArray, nearest: IntArray, n_classes: int) -> FloatArray:
    """Return how often each class is among the labels of the neighbours of each row."""
    n, k = nearest.shape
    q = np.empty((n, n_classes))
    step = max(1, _BLOCK_NUMBERS // (k * (1 if codes.ndim == 1 else n_classes)))
    for start in range(0, n, step):
        near = nearest[start : start + step]
        if codes.ndim == 1:
            cell = codes[near] + n_classes * np.arange(len(near))[:, None]
            counts = np.bincount(cell.ravel(), minlength=len(near) * n_classes)
            counts = counts.reshape(len(near), n_classes)
        else:
            counts = codes[near].sum(axis=1)
        total = counts.sum(axis=1, keepdims=True)
        # Rows whose neighbours have no label at all: nothing is known of them.
        q[start : start + step] = np.divide(
            counts, total, out=np.full(counts.shape, 1 / n_classes), where=total > 0
        )
    return q
