"""The reduction: fit any probabilistic classifier to complementary labels and decode it."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin, clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter

from .. import decode
from ..utils import checks
from ..utils.typing import FloatArray, IntArray
from .base import ComplementaryClassifier


def _check_base(estimator: Any) -> None:
    """Check that the base estimator can estimate class probabilities."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator must be an instance, not a class; got {name}. Write {name}()")
    if not hasattr(estimator, "fit") or is_regressor(estimator):
        kind = type(estimator).__name__ if hasattr(estimator, "fit") else checks.shown(estimator)
        raise TypeError(
            f"estimator must be a classifier; got {kind}. Pass one such as LogisticRegression()"
        )
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(_without_probabilities(estimator))


def _without_probabilities(estimator: Any) -> str:
    return (
        f"estimator must have predict_proba; {type(estimator).__name__} has none. Calibrate it: "
        "CPEClassifier(CalibratedClassifierCV(estimator))"
    )


def _has_probabilities(classifier: CPEClassifier) -> bool:
    base = classifier._base()
    if not hasattr(base, "predict_proba"):
        raise AttributeError(_without_probabilities(base))
    return True


class CPEClassifier(MetaEstimatorMixin, ComplementaryClassifier):  # type: ignore[misc]
    """Learn an ordinary classifier from complementary labels with any probabilistic classifier.

    The base estimator learns P(ȳ given x) as if the complementary labels were ordinary ones; the
    transition matrix T then decodes its probabilities into a class (the paper's CPE).

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        Any scikit-learn classifier, pipeline or search; by default
        ``LogisticRegression(max_iter=1000)``. A search needs ``scoring="neg_log_loss"``, which is
        minus SCEL: q must be right for all classes, not only for the most probable label.
    transition : "uniform" or array-like of shape (K, K)
        ``T[y, k] = P(ȳ = k given y)``, its rows and columns in the order of ``classes_``.
    decoder : {"l1", "l2", "max", "likelihood"} or callable
        See `ybar.decode.decode`.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. Needed when some class never occurs as a
        complementary label; by default the sorted values of y.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    estimator_ : the fitted base estimator, whose classes are those that occur in y
    seen_classes_ : ndarray
        Indices into ``classes_`` of the classes that occur in y: the classes of ``estimator_``.
    n_features_in_ : int
        If the base estimator has it.
    feature_names_in_ : ndarray
        If the base estimator has it.

    Notes
    -----
    y holds complementary labels, so metrics of scikit-learn that compare predictions with y are
    wrong: with ``GridSearchCV(scoring="accuracy")``, the better the model, the lower the score.
    Leave `scoring` out, or pass `ybar.metrics.scel_scorer`. ybar warns if cross-validation scores
    predicted classes in this way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ybar import CPEClassifier, labels, transition
    >>> X, y = load_iris(return_X_y=True)
    >>> y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    >>> clf = CPEClassifier().fit(X, y_comp)
    >>> bool((clf.predict(X) == y).mean() > 0.7)
    True
    """

    # Weights always reach this fit; the base estimator receives those that it requests.
    __metadata_request__fit = {"sample_weight": True}  # noqa: RUF012

    estimator_: Any
    seen_classes_: IntArray

    def __init__(
        self,
        estimator: Any = None,
        *,
        transition: ArrayLike = "uniform",
        decoder: decode.Method = "l1",
        classes: ArrayLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.transition = transition
        self.decoder = decoder
        self.classes = classes

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit to complementary labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or any input of the base estimator, N rows
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels: the classes that each row is said not to have. Each of several
            labels counts as a sample.
        sample_weight : array-like of shape (N,), optional
            Only if the base estimator supports sample weights. With scikit-learn's metadata
            routing, the base estimator receives them only if it requests them.
        **fit_params : dict
            Other metadata that the base estimator requests. Requires metadata routing.
        """
        base = self._base()
        _check_base(base)
        sample_weight, metadata = self._route(sample_weight, fit_params)
        observed = self._observe_fit(X, y, sample_weight)
        rows, indices = observed.single_labels()
        weights = observed.weights
        if weights is not None:  # a row of weight 0 counts as absent
            rows, indices = rows[weights[rows] > 0], indices[weights[rows] > 0]
            metadata[_weight_parameter(base)] = weights
        X_fit = X
        if not np.array_equal(rows, np.arange(len(observed))):  # not one label per row
            X_fit = _safe_indexing(X.tocsr() if issparse(X) else X, rows)
            metadata = _check_method_params(X, metadata, indices=rows)
        # Some estimators (XGBoost) insist on labels 0..m-1 without gaps.
        seen, y_fit = np.unique(indices, return_inverse=True)
        fitted = _fit(base, X_fit, y_fit, metadata)
        self.estimator_, self.seen_classes_ = fitted, seen
        self.classes_, self.transition_ = observed.classes, observed.T
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, attribute):
                setattr(self, attribute, getattr(fitted, attribute))
            elif hasattr(self, attribute):
                delattr(self, attribute)
        return self

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q; it is 0 for classes that never occurred in y."""
        check_is_fitted(self, "estimator_")
        proba = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        columns = self.seen_classes_[np.asarray(self.estimator_.classes_, dtype=np.intp)]
        if proba.ndim != 2 or proba.shape[1] != len(columns):
            raise ValueError(
                f"estimator {type(self.estimator_).__name__} must return a column for each of its "
                f"{len(columns)} classes in predict_proba; got shape {proba.shape}"
            )
        q = np.zeros((len(proba), len(self.classes_)))
        q[:, columns] = proba
        return q

    def _base(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        default = LogisticRegression(max_iter=1000)
        return default.set_fit_request(sample_weight=True) if _routing_enabled() else default

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata each method uses, or passes to the base estimator."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._base(), method_mapping=to_fit)

    def _route(
        self, sample_weight: ArrayLike | None, fit_params: dict[str, Any]
    ) -> tuple[ArrayLike | None, dict[str, Any]]:
        """Return the weights and the other metadata that the base estimator is fitted with."""
        if not _routing_enabled():
            _raise_for_params(fit_params, self, "fit")
            return sample_weight, {}
        if sample_weight is not None:
            fit_params = {"sample_weight": sample_weight, **fit_params}
        metadata = dict(process_routing(self, "fit", **fit_params).estimator.fit)
        return metadata.pop("sample_weight", None), metadata

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base())
        tags.input_tags = base.input_tags
        tags.non_deterministic = base.non_deterministic
        return tags


def _fit(base: Any, X: Any, y: IntArray, metadata: dict[str, Any]) -> Any:
    """Return a fitted clone of the base estimator; its errors name it."""
    try:
        return clone(base).fit(X, y, **metadata)
    except Exception as err:
        kind = next((k for k in (ValueError, TypeError) if isinstance(err, k)), RuntimeError)
        reason = " ".join(str(err).split())
        if kind is RuntimeError:
            reason = f"{type(err).__name__}: {reason}"
        raise kind(
            f"estimator {type(base).__name__} could not be fitted to X and the complementary "
            f"labels: {reason}"
        ) from err


def _weight_parameter(estimator: Any) -> str:
    """Return the fit parameter that passes sample weights on to the estimator."""
    if _routing_enabled():
        return "sample_weight"  # the estimator routes it on
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{_weight_parameter(last)}"
    if isinstance(estimator, BaseSearchCV):
        return _weight_parameter(estimator.estimator)
    parameters = inspect.signature(estimator.fit).parameters.values()
    anything = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    if not anything and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight must be left out: estimator {type(estimator).__name__} has no sample "
            "weights in fit. Leave them out or choose an estimator that has"
        )
    return "sample_weight"
