"""Clusters from complementary labels: pool the labels of each cluster, then estimate its p."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .. import decode
from ..labels.observed import Observed
from ..metrics.likelihood import log_losses
from ..metrics.losses import Losses
from ..utils.random import as_generator
from ..utils.typing import AnyArray, FloatArray, IntArray, Seed
from . import hold_out
from .base import ComplementaryClassifier
from .candidates import check_candidates, check_select, select_by_scel
from .reduction import as_float, check_components, fit_pca, reduced

__all__ = ["CPEKMeansClassifierCV"]

_N_FOLDS = 5
_LABELS_PER_CLUSTER = 20  # on average, among the default candidates
_ROWS_PER_CELL = 10
_MOST_CLUSTERS = 512
_MOST_STEPS = 100  # of K-means


class CPEKMeansClassifierCV(ComplementaryClassifier):
    """Clusters that pool complementary labels; SCEL selects the number of clusters.

    Useful if there are many classes and few labels per row: one label out of 50 classes says
    almost nothing about its row, but the labels of a whole cluster show which class is named less
    often than T predicts.

    K-means divides all rows, labelled or not, into small cells, which Ward's method merges step by
    step. For each candidate number of clusters, K-means starts from the merged cells. In each
    cluster, p maximises the likelihood of the pooled labels under T. The counts
    of each cluster include one additional label, spread as T expects it for equally likely classes,
    so that no possible label has probability 0.
    Clusters do not depend on labels, so folds hold out labels only.

    Distances decide what a cluster is: scale the features first, for example with
    ``StandardScaler`` in a pipeline, unless they share a unit, as pixels do.

    Parameters
    ----------
    cluster_counts : list of int, optional
        Candidates for the number of clusters; by default 1 (the same p for all rows), K/2, 3K/4,
        K, 3K/2, 2K, …, as long as clusters have 20 labels on average, and at most 512.
    n_components : int or None
        Dimensions after PCA. No PCA if None, or if there are no more features than that.
    transition, classes :
        As in `CPEClassifier`.
    decoder : {"l1", "l2", "max", "likelihood"} or callable
        See `ybar.decode.decode`; "max" is the argmax of p.
    cv : int, splitter or iterable of (train, validation) indices, optional
        Splits that hold out labels to select the number of clusters; an int is a number of
        shuffled folds, by default 5. The SCEL is the mean over the held-out labels of all splits.
    select : {"best", "one-std-error"}
        "one-std-error" selects the fewest clusters whose SCEL is within one standard error of the
        lowest; see `ybar.metrics.one_standard_error`.
    random_state : int, Generator, RandomState or None
        Determines the folds, the start of K-means, and PCA if it is randomised.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    n_clusters_ : int
        The number of clusters that SCEL selected.
    cv_results_ : dict
        Results per candidate: ``param_n_clusters``, ``scel``, ``scel_std_error`` and
        scikit-learn's ``params``, ``mean_test_score``, ``rank_test_score``.
    best_params_, best_index_, best_score_ : as in ``GridSearchCV``
    pca_ : fitted PCA, or None
    cluster_centers_ : ndarray of shape (n_clusters_, n_components)
        A row belongs to the cluster with the nearest centre.
    cluster_proba_ : ndarray of shape (n_clusters_, K)
        The ordinary-class probabilities of each cluster.
    estimates_ : "p"
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    y holds complementary labels, so do not search with ``scoring="accuracy"``: see the notes of
    `CPEClassifier`.

    Examples
    --------
    >>> from ybar import CPEKMeansClassifierCV, datasets, labels, transition
    >>> d = datasets.load("digits")
    >>> y_comp = labels.draw(d.y_train, transition.uniform(10), random_state=0)
    >>> clf = CPEKMeansClassifierCV(random_state=0).fit(d.X_train, y_comp)
    >>> bool((clf.predict(d.X_test) == d.y_test).mean() > 0.75)
    True
    """

    estimates_ = "p"
    n_clusters_: int
    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    pca_: PCA | None
    cluster_centers_: AnyArray
    cluster_proba_: FloatArray

    def __init__(
        self,
        cluster_counts: ArrayLike | None = None,
        *,
        n_components: int | None = 32,
        transition: ArrayLike = "uniform",
        decoder: decode.Method = "l1",
        classes: ArrayLike | None = None,
        cv: Any = None,
        select: str = "best",
        random_state: Seed = None,
    ) -> None:
        self._store_parameters(locals())

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Select the number of clusters by SCEL on held-out labels, then pool all labels.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels: the classes that each row is said not to have. Rows without a
            label, which only a boolean array can have, still shape the clusters.
        """
        with self._all_or_nothing():
            X = self._validate(X, ensure_min_samples=2)
            observed = self._observe_fit(X, y)
            check_select(self.select)
            check_components(self.n_components)
            generator = as_generator(self.random_state)
            folds = min(_N_FOLDS, len(observed)) if self.cv is None else self.cv
            parts = hold_out.splits(observed, folds, 0.1, generator)
            candidates = self._candidates(observed)
            seed = int(generator.integers(2**31))
            numbers = as_float(X)
            self.pca_ = fit_pca(numbers, self.n_components, seed)
            clusterings = _cluster(reduced(numbers, self.pca_), candidates, seed)
            path = [_losses(each.labels_, observed, parts) for each in clusterings]
            best = select_by_scel(self, "n_clusters", candidates, path)
            self.n_clusters_ = candidates[best]
            self.cluster_centers_ = clusterings[best].cluster_centers_
            rows, k = observed.single_labels()
            cluster = clusterings[best].labels_[rows]
            counts = _counts(cluster, k, self.n_clusters_, observed.T)
            self.cluster_proba_ = decode.class_probabilities(_shares(counts), observed.T)
            self.classes_, self.transition_ = observed.classes, observed.T
        return self

    def _candidates(self, observed: Observed) -> list[int]:
        n_rows, K = observed.shape
        if self.cluster_counts is not None:
            candidates = check_candidates(self.cluster_counts, "cluster_counts")
            if max(candidates) > n_rows:
                raise ValueError(
                    f"cluster_counts must not exceed the {n_rows} rows of X; got "
                    f"{max(candidates)}. Leave out larger values"
                )
            return candidates
        n_labels = len(observed.single_labels()[0])
        most = min(n_labels // _LABELS_PER_CLUSTER, n_rows, _MOST_CLUSTERS)
        multiples = {int(K * 2.0**j * m) for j in range(-1, 10) for m in (1, 1.5)}
        return [1, *sorted(c for c in multiples if 1 < c <= most)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the ordinary-class probabilities of the cluster of each row of X."""
        check_is_fitted(self, "cluster_proba_")
        numbers = reduced(as_float(self._validate(X, reset=False)), self.pca_)
        cluster = pairwise_distances_argmin(numbers, self.cluster_centers_)
        return np.asarray(self.cluster_proba_[cluster])

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q = p T, with the p of the cluster of each row of X."""
        return self.predict_proba(X) @ self.transition_


def _cluster(X: AnyArray, candidates: list[int], seed: int) -> list[KMeans]:
    """Return K-means for each number of clusters, started from merged cells.

    It runs on one thread: on several, sums depend on the order in which they finish.
    """
    n_cells = min(len(X), max(2, *candidates, min(len(X) // _ROWS_PER_CELL, _MOST_CLUSTERS)))
    with threadpool_limits(1), warnings.catch_warnings():
        # Rows that are equal can leave fewer clusters than asked for.
        warnings.simplefilter("ignore", ConvergenceWarning)
        cells = KMeans(n_cells, n_init=1, max_iter=_MOST_STEPS, random_state=seed).fit(X)
        sizes = np.maximum(np.bincount(cells.labels_, minlength=n_cells), 1)
        # cut_tree(tree, n_clusters) puts the partition into single cells in a wrong column.
        partitions = cut_tree(linkage(cells.cluster_centers_, "ward")).T
        return [
            KMeans(
                n_clusters,
                init=_means(cells.cluster_centers_, sizes, partitions[n_cells - n_clusters]),
                n_init=1,
                max_iter=_MOST_STEPS,
            ).fit(X)
            for n_clusters in candidates
        ]


def _means(centers: AnyArray, sizes: IntArray, cluster: IntArray) -> AnyArray:
    """Return the mean of each cluster of cells, from the centres and sizes of the cells."""
    weights = np.where(cluster == np.arange(cluster.max() + 1)[:, None], sizes, 0)
    return np.asarray(weights @ centers / weights.sum(axis=1, keepdims=True))


def _losses(cluster: IntArray, observed: Observed, parts: list[hold_out.Split]) -> Losses:
    """Return the losses of the held-out labels, from the p of the labels left in each cluster."""
    n_clusters, n_rows = int(cluster.max()) + 1, len(observed)
    joined = []
    for train, validation in parts:
        rows, k = observed.subset(train).single_labels()
        counts = _counts(cluster[train][rows], k, n_clusters, observed.T)
        q = decode.class_probabilities(_shares(counts), observed.T) @ observed.T
        rows, k = observed.subset(validation).single_labels()
        values = log_losses(q[cluster[validation][rows], k], 1 / (len(k) + 1))
        joined.append(Losses(values, validation[rows], n_rows))
    return Losses.joined(joined)


def _counts(cluster: IntArray, k: IntArray, n_clusters: int, T: FloatArray) -> FloatArray:
    """Return the number of labels of each class in each cluster, plus one of all classes alike."""
    K = len(T)
    counts = np.bincount(cluster * K + k, minlength=n_clusters * K).reshape(n_clusters, K)
    return np.asarray(counts + T.mean(axis=0))


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
