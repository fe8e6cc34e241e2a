"""Nearest neighbours from complementary labels; one search evaluates every k."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ..decode import Method
from ..labels.observed import Observed
from ..metrics.likelihood import log_losses
from ..metrics.losses import Losses
from ..utils import checks
from ..utils.random import as_generator
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray, Seed
from . import hold_out
from .base import ComplementaryClassifier
from .candidates import check_candidates, check_select, select_by_scel
from .reduction import as_float, check_components, fit_pca, reduced

__all__ = ["CPEKNeighborsClassifierCV"]

_BLOCK_NUMBERS = 1 << 24  # entries of the largest temporary array


class CPEKNeighborsClassifierCV(ComplementaryClassifier):
    """The paper's CPE-KNN: q are label frequencies among the k nearest rows; SCEL selects k.

    PCA reduces the features. One search for the largest k then yields the held-out SCEL of every
    k, because the k nearest rows are the first k of that search. The final model uses the best k
    and all rows.

    Parameters
    ----------
    n_neighbors : list of int, optional
        Candidates for k; by default 10, 20, …, 250, as far as there are rows.
    n_components : int or None
        Dimensions after PCA. No PCA if None, or if there are no more features than that.
    transition, decoder, classes :
        As in `CPEClassifier`.
    validation_fraction : float
        Share of the rows that is held out, at random, to select k.
    cv : int, splitter or iterable of (train, validation) indices, optional
        Splits to use in place of `validation_fraction`; an int is a number of shuffled folds. The
        SCEL is the mean over the held-out labels of all splits.
    select : {"best", "one-std-error"}
        "one-std-error" selects the largest k whose SCEL is within one standard error of the
        lowest; see `ybar.metrics.one_standard_error`.
    random_state : int, Generator, RandomState or None
        Determines the held-out rows, and PCA if it is randomised.
    n_jobs : int or None
        Threads of the neighbour search, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    n_neighbors_ : int
        The k that SCEL selected.
    cv_results_ : dict
        Results per candidate: ``param_n_neighbors``, ``scel``, ``scel_std_error`` and
        scikit-learn's ``params``, ``mean_test_score``, ``rank_test_score``.
    best_params_, best_index_, best_score_ : as in ``GridSearchCV``
    pca_ : fitted PCA, or None
    neighbors_ : fitted NearestNeighbors
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    y holds complementary labels, so do not search with ``scoring="accuracy"``: see the notes of
    `CPEClassifier`.

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
        self._store_parameters(locals())

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Select k by SCEL on held-out complementary labels, then store all rows.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels: the classes that each row is said not to have.
        """
        with self._all_or_nothing():
            X = self._validate(X, ensure_min_samples=2)
            observed = self._observe_fit(X, y)
            checks.n_jobs(self.n_jobs)
            check_select(self.select)
            check_components(self.n_components)
            generator = as_generator(self.random_state)
            parts = hold_out.splits(observed, self.cv, self.validation_fraction, generator)
            candidates = self._candidates(min(len(train) for train, _ in parts))
            seed = int(generator.integers(2**31))
            numbers = as_float(X)
            joined = Losses.joined(
                self._path_of_losses(numbers, observed, train, validation, candidates, seed)
                for train, validation in parts
            )
            path = [joined._replace(values=values) for values in joined.values.T]
            complexity = [-k for k in candidates]
            best = select_by_scel(self, "n_neighbors", candidates, path, complexity)
            self.n_neighbors_ = candidates[best]
            self.pca_, self.neighbors_ = self._index(numbers, seed)
            self.classes_, self.transition_ = observed.classes, observed.T
            self._code, self._label_table = observed.code.copy(), observed.label_table
        return self

    def _path_of_losses(
        self,
        X: AnyArray,
        observed: Observed,
        train: IntArray,
        validation: IntArray,
        candidates: list[int],
        seed: int,
    ) -> Losses:
        """Return the losses of the labels of the validation rows, a column per candidate."""
        pca, neighbors = self._index(X[train], seed)
        nearest = self._search(pca, neighbors, X[validation], max(candidates))
        rows, k = observed.subset(validation).single_labels()
        q = _path_of_q(observed.code[train], observed.label_table, nearest, rows, k, candidates)
        return Losses(log_losses(q, 1 / (len(k) + 1)), validation[rows], len(X))

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q: the label frequencies among the k nearest rows."""
        check_is_fitted(self, "neighbors_")
        numbers = as_float(self._validate(X, reset=False))
        nearest = self._search(self.pca_, self.neighbors_, numbers, self.n_neighbors_)
        return _frequencies(self._code, self._label_table, nearest)

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
        pca = fit_pca(X, self.n_components, seed)
        return pca, NearestNeighbors(n_jobs=self.n_jobs).fit(reduced(X, pca))

    def _search(
        self, pca: PCA | None, neighbors: NearestNeighbors, X: AnyArray, k: int
    ) -> IntArray:
        return np.asarray(neighbors.kneighbors(reduced(X, pca), k, return_distance=False))


def _path_of_q(
    code: IntArray,
    label_table: BoolArray,
    nearest: IntArray,
    rows: IntArray,
    k: IntArray,
    candidates: list[int],
) -> FloatArray:
    """Return q[row, k] of each single label for every candidate number of neighbours."""
    last = np.asarray(candidates) - 1
    n_labels = label_table.sum(axis=1)
    q = np.empty((len(rows), len(candidates)))
    step = max(1, _BLOCK_NUMBERS // nearest.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        near = code[nearest[rows[part]]]
        hits = label_table[near, k[part, None]]
        counts = np.cumsum(hits, axis=1, dtype=np.int32)[:, last]
        total = np.cumsum(n_labels[near], axis=1)[:, last]
        q[part] = _shares(counts, total, label_table.shape[1])
    return q


def _frequencies(code: IntArray, label_table: BoolArray, nearest: IntArray) -> FloatArray:
    """Return the share of each class among the labels of the neighbours of each row."""
    n, k = nearest.shape
    q = np.empty((n, label_table.shape[1]))
    table = csr_matrix(label_table, dtype=np.int64)
    step = max(1, _BLOCK_NUMBERS // k)
    for start in range(0, n, step):
        near = code[nearest[start : start + step]]
        ends = np.arange(0, near.size + 1, k)
        patterns = csr_matrix(
            (np.ones(near.size, dtype=np.int64), near.ravel(), ends),
            shape=(len(near), len(label_table)),
        )
        counts = (patterns @ table).toarray()
        total = counts.sum(axis=1, keepdims=True)
        q[start : start + step] = _shares(counts, total, label_table.shape[1])
    return q


def _shares(counts: AnyArray, total: AnyArray, n_classes: int) -> FloatArray:
    """Return counts / total, or 1/K if no neighbour has a label."""
    unknown = np.full(counts.shape, 1 / n_classes)
    return np.asarray(np.divide(counts, total, out=unknown, where=total > 0))
