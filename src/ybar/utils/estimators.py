"""Look inside scikit-learn's pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .checks import shown


def last_step(estimator: Any, X: Any = None, *, name: str = "estimator") -> tuple[Any, Any]:
    """Return the fitted classifier of ybar inside pipelines and searches, and X as it sees X.

    Parameters
    ----------
    estimator : classifier of ybar, or a pipeline or search that ends in one
    X : array-like, optional
        Rows as the outermost pipeline sees them.
    name : str
        What the caller's argument is called, for errors.

    Raises
    ------
    TypeError
        If no classifier of ybar is inside.
    NotFittedError
        If the classifier, or a search around it, is not fitted.
    """
    transformers, inner = [], estimator
    while not hasattr(inner, "predict_complementary_proba"):
        if isinstance(inner, Pipeline):
            transformers.append(inner[:-1])
            inner = inner[-1]
        elif hasattr(inner, "refit") or hasattr(inner, "best_estimator_"):
            check_is_fitted(inner, "best_estimator_")
            inner = inner.best_estimator_
        else:
            raise TypeError(
                f"{name} must be a classifier of ybar, or a pipeline or search that ends in one; "
                f"got {shown(inner)}. Wrap it: CPEClassifier(estimator)"
            )
    check_is_fitted(inner, "classes_")
    for steps in transformers:
        X = steps.transform(X) if X is not None and len(steps) else X
    return inner, X
