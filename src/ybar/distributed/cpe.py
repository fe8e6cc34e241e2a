"""The reduction around any classifier that is fitted to Dask collections."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import decode
from ..classifiers.base import ComplementaryClassifier, check_several_classes
from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.cpe import CPEClassifier
from ..utils import checks
from ..utils.extras import require
from ..utils.typing import AnyArray, IntArray
from .base import DaskClassifier
from .blocks import Blocks, as_weights, blocks_of
from .observing import Vocabulary, all_classes, distinct_in, vocabulary
from .workers import computed, current_client, watched


class DaskCPEClassifier(DaskClassifier):
    """Learn an ordinary classifier from complementary labels with any classifier on Dask.

    The estimator learns P(ȳ given x) on the workers of a Dask cluster, as if the complementary
    labels were ordinary ones; T decodes its probabilities block by block.

    Parameters
    ----------
    estimator : classifier that is fitted to Dask collections, optional
        ``lightgbm.dask.DaskLGBMClassifier`` (the default), ``xgboost.dask.DaskXGBClassifier``, or
        any estimator with ``fit(X, y)`` and a lazy ``predict_proba(X)``. Its labels are
        0..m-1, the same on all workers.
    transition : "uniform" or array-like of shape (K, K)
    decoder : {"l1", "l2", "max", "likelihood"} or callable
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. By default those that occur in any partition.
    client : distributed.Client, optional
        By default the active client.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    seen_classes_ : ndarray
        Indices into ``classes_`` of the classes that occur in y.
    estimator_ : the fitted estimator

    Notes
    -----
    ``DaskLGBMClassifier`` reads the classes of each worker from the rows on that worker, so a class
    that is missing on one of them would end or stop the fit. ybar fits a ``DaskLGBMRegressor`` with
    the same parameters and LightGBM's multi-class loss instead.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from ybar import datasets, distributed, labels, transition
    >>> d = datasets.load("digits")
    >>> X = da.from_array(d.X_train, chunks=(400, -1))
    >>> y_comp = labels.draw(d.y_train, transition.uniform(10), random_state=0)
    >>> one = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    >>> with Client(dashboard_address=":0", **one) as client:
    ...     clf = distributed.DaskCPEClassifier().fit(X, da.from_array(y_comp, chunks=400))
    Finding random open ports for workers
    >>> clf.predict(X)  # lazy
    dask.array<concatenate, shape=(1347,), dtype=int64, chunksize=(400,), chunktype=numpy.ndarray>
    """

    estimator_: Any
    seen_classes_: IntArray
    estimates_ = "q"

    def __init__(
        self,
        estimator: Any = None,
        *,
        transition: ArrayLike = "uniform",
        decoder: decode.Method = "l1",
        classes: ArrayLike | None = None,
        client: Any = None,
    ) -> None:
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to complementary labels.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)
        y : Dask array or series of shape (N,), or boolean Dask array of shape (N, K)
            Complementary labels. Each of several labels counts as a sample.
        sample_weight : Dask array or series of shape (N,), optional
            Only if the estimator supports sample weights.

        Returns
        -------
        self
        """
        decode.check_method(self.decoder, name="decoder")
        local = CPEClassifier(transition=self.transition, classes=self.classes)
        base = self._base()
        client = current_client(self.client)
        blocks = blocks_of(X, y, sample_weight)
        names = all_classes(client, blocks, self.classes)
        labels = replace(blocks, X=[None] * len(blocks))
        words = vocabulary(computed(client, labels.map(distinct_in, names)), names)
        observed = local._accept(words.observed, self.classes)
        if not observed.usable.any():
            raise ValueError("y must hold a label in some row of a weight above 0; got none")
        check_several_classes(observed)
        observed = local._with_transition(observed)
        words = replace(words, observed=observed)
        seen = np.flatnonzero(observed.label_table[observed.code[observed.usable]].any(axis=0))
        rows, targets, weights = _samples(blocks, X, words, seen)
        metadata = {} if sample_weight is None else {"sample_weight": weights}
        base = _with_all_classes(base, len(seen))
        with warnings.catch_warnings():
            # LightGBM uses the threads of the workers, and says so at every fit.
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
            fitted = watched(client, lambda: base.fit(rows, targets, **metadata))
        self.estimator_, self.seen_classes_ = fitted, seen
        self.classes_, self.transition_ = observed.classes, observed.T
        self.__dict__.pop("feature_names_in_", None)
        if not hasattr(X, "chunks"):
            self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        return self

    def to_local(self) -> ComplementaryClassifier:
        """Return the fitted model as an ordinary classifier, which needs no Dask.

        Trees of LightGBM become a `ybar.CPEBoostingClassifierCV`, others a `ybar.CPEClassifier`
        around the estimator's own local form.
        """
        check_is_fitted(self, "estimator_")
        local: ComplementaryClassifier | None = _local(self.estimator_, self._shared())
        if local is None:
            raise TypeError(
                f"estimator must have a local form, as those of LightGBM and XGBoost have; "
                f"{type(self.estimator_).__name__} has none"
            )
        for name in ("classes_", "transition_", "seen_classes_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(local, name, getattr(self, name))
        return local

    def _shared(self) -> dict[str, Any]:
        return {"transition": self.transition, "decoder": self.decoder, "classes": self.classes}

    def _base(self) -> Any:
        if self.estimator is None:
            lightgbm: Any = require("lightgbm.dask", "boosting", "DaskCPEClassifier()")
            return lightgbm.DaskLGBMClassifier(verbosity=-1)
        for name in ("fit", "predict_proba"):
            if isinstance(self.estimator, type) or not hasattr(self.estimator, name):
                raise TypeError(
                    f"estimator must have fit and predict_proba for Dask collections; got "
                    f"{checks.shown(self.estimator)}. Pass one such as DaskLGBMClassifier()"
                )
        return clone(self.estimator)

    def _output_blocks(self, X: Any) -> Blocks:
        delayed = require("dask", "dask", "ybar.distributed").delayed
        blocks = blocks_of(X)
        if _local(self.estimator_, self._shared()) is not None:
            model = delayed(self.to_local(), pure=False, traverse=False)
            return replace(blocks, X=blocks.map(_local_outputs, model))
        outputs = blocks_of(self.estimator_.predict_proba(X), names=("predict_proba(X)", "y"))
        parts = outputs.map(_outputs, self.seen_classes_, len(self.classes_))
        return replace(blocks, X=parts)


class Samples(NamedTuple):
    """The samples of one partition: a row of X for each label of a weight above 0."""

    X: Any
    y: IntArray
    weights: Any


def _samples_of(X: Any, y: Any, weights: Any, words: Vocabulary, seen: IntArray) -> Samples:
    w = as_weights(weights, len(X))
    rows, label = words.read(y, w).single_labels() if len(X) else (np.zeros(0, int),) * 2
    if w is not None:
        rows, label = rows[w[rows] > 0], label[w[rows] > 0]
    taken = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return Samples(taken, np.searchsorted(seen, label), None if w is None else w[rows])


def _samples(blocks: Blocks, X: Any, words: Vocabulary, seen: IntArray) -> tuple[Any, Any, Any]:
    """Return X, codes of labels and weights as collections, with a row for each label."""
    da = require("dask.array", "dask", "ybar.distributed")
    parts = blocks.map(_samples_of, words, seen)

    def array(values: list[Any], *columns: int, dtype: Any) -> Any:
        arrays = [da.from_delayed(v, shape=(np.nan, *columns), dtype=dtype) for v in values]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    codes = array([part[1] for part in parts], dtype=np.intp)
    weights = array([part[2] for part in parts], dtype=np.float64)
    if hasattr(X, "chunks"):
        return array([part[0] for part in parts], X.shape[1], dtype=X.dtype), codes, weights
    dd = require("dask.dataframe", "dask", "ybar.distributed")
    return dd.from_delayed([part[0] for part in parts], meta=X._meta), codes, weights


def _with_all_classes(base: Any, n_classes: int) -> Any:
    """Return the estimator to fit, which knows the number of classes on each worker."""
    if type(base).__name__ != "DaskLGBMClassifier":
        return base
    lightgbm: Any = require("lightgbm.dask", "boosting", "DaskCPEClassifier()")
    parameters = base.get_params(deep=False) | {"objective": "multiclass", "metric": "None"}
    parameters.pop("class_weight", None)
    return lightgbm.DaskLGBMRegressor(**parameters, num_class=n_classes)


def _local(fitted: Any, shared: dict[str, Any]) -> Any:
    """Return a classifier around the local form of a fitted estimator; None if it has none."""
    if type(fitted).__name__ == "DaskLGBMRegressor":
        rate, n = float(fitted.learning_rate), int(fitted.n_estimators)
        local: Any = CPEBoostingClassifierCV([rate], [n], **shared)
        local.model_ = fitted.booster_.model_to_string()
        local.estimates_, local.decoder_ = "q", "l1"
        local.n_features_in_ = fitted.n_features_in_
        return local
    if type(fitted).__name__ == "DaskXGBClassifier":
        xgboost: Any = require("xgboost", "dask", "DaskXGBClassifier")
        estimator = xgboost.XGBClassifier()
        estimator.load_model(fitted.get_booster().save_raw("json"))
        local = CPEClassifier(estimator, **shared)
        local.estimator_ = estimator
        return local
    return None


def _local_outputs(X: Any, _: Any, __: Any, model: Any) -> AnyArray:
    if not len(X):
        return np.empty((0, len(model.classes_)))
    return np.asarray(model.predict_complementary_proba(X))


def _outputs(q: AnyArray, _: Any, __: Any, seen: IntArray, n_classes: int) -> AnyArray:
    """Return q with a column for each class; it is 0 for classes that never occur in y."""
    outputs = np.zeros((len(q), n_classes))
    outputs[:, seen] = q
    return outputs
