"""The model of a table: its features, what makes numbers of them, and the classifier."""

from __future__ import annotations

import math
import re
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..utils.typing import AnyArray, FloatArray
from . import files
from .columns import Columns, as_features, transformer
from .files import DataError


class TableClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of ybar on the columns of a table.

    Parameters
    ----------
    classifier : estimator
        A classifier of ybar that is not fitted yet.
    kind : {"sparse", "dense", "trees"}
        What numbers it wants; see `columns.transformer`.

    Attributes
    ----------
    pipeline_ : Pipeline
    classes_ : ndarray of shape (K,)
    columns_ : dict
        The features by kind.
    account_ : dict
        What was known of it when it was fitted, in plain values.
    """

    def __init__(self, classifier: Any = None, kind: str = "dense") -> None:
        self.classifier = classifier
        self.kind = kind

    def fit(self, frame: Any, y: AnyArray, columns: Columns) -> Self:
        """Learn from complementary labels of the rows of a table."""
        pipeline = Pipeline(
            [("numbers", transformer(columns, self.kind, frame)), ("classifier", self.classifier)]
        )
        self.pipeline_ = pipeline.fit(as_features(frame, columns), y)
        self.classes_ = pipeline.classes_
        self.columns_ = {name: list(values) for name, values in columns._asdict().items()}
        self.account_: dict[str, Any] = {}
        return self

    @property
    def transition_(self) -> FloatArray:
        """The transition matrix it was told."""
        return np.asarray(self.pipeline_[-1].transition_)

    @property
    def label_transition_(self) -> FloatArray:
        """The transition matrix that labels are assumed to follow, passed in or estimated."""
        return np.asarray(self.pipeline_[-1].label_transition_)

    @property
    def as_text(self) -> list[str]:
        """Columns that must be read as they are written, since the model knows them so."""
        return [*self.columns_["categories"], *self.columns_["texts"]]

    def image_size(self, given: int | None) -> int:
        """Return the side of the images it was fitted to; another one given is refused."""
        names = [name for part in self.columns_.values() for name in part]
        own = math.isqrt(sum(re.fullmatch(r"pixel\d+", name) is not None for name in names))
        if given is not None and own and given != own:
            raise DataError(
                f"--image-size must be that of the images the model was fitted to, {own}; got "
                f"{given}. Leave it out"
            )
        return own or given or files.IMAGE_SIZE

    def _features(self, frame: Any) -> Any:
        check_is_fitted(self)
        named = {name: self.columns_[name] for name in Columns._fields if name != "left_out"}
        return as_features(frame, Columns(**named, left_out={}))

    def predict(self, frame: Any) -> AnyArray:
        """Return ordinary classes."""
        return np.asarray(self.pipeline_.predict(self._features(frame)))

    def predict_proba(self, frame: Any) -> FloatArray:
        """Return the probabilities of the ordinary classes."""
        return np.asarray(self.pipeline_.predict_proba(self._features(frame)))

    def predict_complementary_proba(self, frame: Any) -> FloatArray:
        """Return q: the probability of each class as a complementary label."""
        numbers = self.pipeline_[:-1].transform(self._features(frame))
        return np.asarray(self.pipeline_[-1].predict_complementary_proba(numbers))
