"""The model of a table: the transformers of its columns and a classifier, as one estimator."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import decode, persistence, transition
from ..labels import Evidence
from ..metrics import TransitionProfile
from ..utils.errors import input_errors
from ..utils.extras import require
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from . import files, scoring
from .columns import Columns, as_features, transformer
from .files import DataError

_SHARE_OF_DISTINCT_ROWS = 0.5  # with fewer, new rows are equal to training rows by chance


class TableClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of ybar on the columns of a table.

    Parameters
    ----------
    classifier : estimator
        A classifier of ybar that is not fitted.
    kind : {"sparse", "dense", "trees"}
        The form of its input; see `columns.transformer`.

    Attributes
    ----------
    pipeline_ : Pipeline
    classes_ : ndarray of shape (K,)
    columns_ : dict
        The features by kind.
    row_hashes_ : ndarray of uint32
        A hash of each row that the model was fitted to, in ascending order; empty if most rows of
        the table are alike.
    account_ : dict
        What ``ybar fit`` knew about the model: see `fitting.Selection.summary`.
    """

    def __init__(self, classifier: Any = None, kind: str = "dense") -> None:
        self.classifier = classifier
        self.kind = kind

    def fit(self, frame: Any, y: AnyArray | Evidence, columns: Columns) -> Self:
        """Fit to the complementary labels, or other evidence, of the rows of a table."""
        features = as_features(frame, columns)
        with input_errors():  # such as a column of texts without a word
            numbers = transformer(columns, self.kind, frame)
            X = numbers.fit_transform(features)
        self.classifier.fit(X, y)
        self.pipeline_ = Pipeline([("numbers", numbers), ("classifier", self.classifier)])
        self.classes_ = self.classifier.classes_
        self.columns_ = {name: list(values) for name, values in columns._asdict().items()}
        hashes = np.unique(_row_hashes(features, columns))
        distinct = len(hashes) >= _SHARE_OF_DISTINCT_ROWS * len(features)
        self.row_hashes_ = hashes if distinct else hashes[:0]
        self.account_: dict[str, Any] = {}
        return self

    @property
    def transition_(self) -> FloatArray:
        """The transition matrix that the classifier was fitted with."""
        return np.asarray(self.pipeline_[-1].transition_)

    @property
    def label_transition_(self) -> FloatArray:
        """The transition matrix that labels are assumed to follow, passed in or estimated."""
        return np.asarray(self.pipeline_[-1].label_transition_)

    @property
    def transition_profile_(self) -> TransitionProfile | None:
        """What is unknown of `label_transition_`; None unless it was estimated."""
        return getattr(self.pipeline_[-1], "transition_profile_", None)

    @property
    def estimates_q(self) -> bool:
        """Whether the classifier learns q without T, rather than p, from which T makes q."""
        return getattr(self.pipeline_[-1], "estimates_", "q") == "q"

    @property
    def as_text(self) -> list[str]:
        """Columns that must be read as text, as in training."""
        return [*self.columns_["categories"], *self.columns_["texts"]]

    def image_size(self, requested: int | None) -> int:
        """Return the side of the training images, which must be the requested one, if any."""
        names = [name for part in self.columns_.values() for name in part]
        fitted = math.isqrt(sum(re.fullmatch(r"pixel\d+", name) is not None for name in names))
        if requested is not None and fitted and requested != fitted:
            raise DataError(
                f"--image-size must be the size of the training images, {fitted}; got {requested}. "
                "Leave the option out"
            )
        return fitted or requested or files.IMAGE_SIZE

    @property
    def _columns(self) -> Columns:
        check_is_fitted(self)
        return Columns(**self.columns_ | {"left_out": {}})  # type: ignore[arg-type]

    def _features(self, frame: Any) -> Any:
        return as_features(frame, self._columns)

    def recognised(self, frame: Any) -> BoolArray:
        """Return whether each row equals a row that the model was fitted to, as far as is known.

        A new row is recognised by mistake with a probability below n / 2³², for n training rows.
        """
        return np.isin(_row_hashes(self._features(frame), self._columns), self.row_hashes_)

    def predict(self, frame: Any) -> AnyArray:
        """Return ordinary classes."""
        return np.asarray(self.pipeline_.predict(self._features(frame)))

    def predict_proba(self, frame: Any) -> FloatArray:
        """Return the probabilities of the ordinary classes."""
        return np.asarray(self.pipeline_.predict_proba(self._features(frame)))

    def predictions(self, frame: Any) -> tuple[FloatArray, IntArray, FloatArray | None]:
        """Return p, the predicted class indices and, if the classifier learned q without T, q.

        A classifier that learned q is evaluated once, and its p are computed once.
        """
        if not self.estimates_q:
            return self.predict_proba(frame), scoring.predicted_indices(self, frame), None
        q = self.predict_complementary_proba(frame)
        classifier = self.pipeline_[-1]
        T, decoder = classifier.transition_, classifier.decoder
        if decoder is None:
            decoder = classifier.decoder_
        p = decode.class_probabilities(q, T)
        if decoder == "likelihood" and not transition.is_uniform(T):
            return p, p.argmax(axis=1), q
        return p, decode.decode(q, T, decoder), q

    def predict_complementary_proba(self, frame: Any) -> FloatArray:
        """Return q: the probability of each class as a complementary label."""
        numbers = self.pipeline_[:-1].transform(self._features(frame))
        return np.asarray(self.pipeline_[-1].predict_complementary_proba(numbers))


def _row_hashes(features: Any, columns: Columns) -> AnyArray:
    """Return a hash of each row that does not depend on the types of its columns."""
    pandas = require("pandas", "data", "reading a table")
    numbers = dict.fromkeys(columns.numbers, "float64")
    texts = dict.fromkeys([*columns.categories, *columns.texts], object)
    rows = features.astype({**numbers, **texts})
    rows[columns.numbers] += 0.0  # -0.0 is 0.0
    hashes = pandas.util.hash_pandas_object(rows, index=False).to_numpy()
    return np.asarray((hashes >> np.uint64(32)).astype(np.uint32))


def load(path: str) -> TableClassifier:
    """Return a model that ``ybar fit`` wrote."""
    source = Path(path)
    if not source.is_file():
        problem = "is a folder" if source.is_dir() else "does not exist"
        raise DataError(
            f"MODEL must be a file that ybar fit wrote; {path} {problem}. Check the path"
        )
    with input_errors():
        model = persistence.load(source)
    if not isinstance(model, TableClassifier):
        raise DataError(
            f"MODEL must be a file that ybar fit wrote; {path} holds a {type(model).__name__}. "
            "Load it in Python with ybar.load"
        )
    return model
