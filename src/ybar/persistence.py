"""Save and load fitted classifiers without pickle, by way of skops.

A file is one line of text, ``ybar-model <format> <bytes> <sha256>``, followed by the output of
skops: a zip of JSON and plain arrays. The sha256 is checked before anything is read, and only
objects of listed types are created from the file.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .classifiers.base import plain_parameters
from .utils.checks import shown
from .utils.extras import require
from .utils.files import as_path, target_file, write_whole

__all__ = ["load", "save"]

_MAGIC = b"ybar-model"
_FORMAT = 1
_LONGEST_HEADER = 200

# Types in our classifiers and in scikit-learn's usual base estimators that skops does not trust by
# itself: containers of numbers and settings, none of which runs code from the file.
_TRUSTED = (
    "builtins.range",
    "numpy.dtype",
    "numpy.random.bit_generator.SeedSequence",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance32",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.ShuffleSplit",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._kd_tree.KDTree32",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "ybar.classifiers.boosting.CPEBoostingClassifierCV",
    "ybar.classifiers.cpe.CPEClassifier",
    "ybar.classifiers.kmeans.CPEKMeansClassifierCV",
    "ybar.metrics.scorers.SCELScorer",
    "ybar.metrics.scorers.UREScorer",
    "ybar.classifiers.neighbors.CPEKNeighborsClassifierCV",
    "ybar.neural.networks.cnn.small_cnn",
    "ybar.neural.classifier.ComplementaryNetClassifier",
    "ybar.neural.search.ComplementaryNetClassifierCV",
    "ybar.tables.model.TableClassifier",
)


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a file.

    Parameters
    ----------
    model : fitted classifier, or a pipeline or search that holds one
    path : str or path
        An existing file is replaced only when the new one is complete.

    Examples
    --------
    >>> import tempfile, ybar
    >>> clf = ybar.CPEClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ybar.save(clf, f"{folder}/model.ybar")
    ...     ybar.load(f"{folder}/model.ybar").classes_
    array(['a', 'b', 'c'], dtype='<U1')
    """
    io = require("skops.io", "persistence", "ybar.save")
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"model must be a fitted classifier of ybar or scikit-learn; got {type(model).__name__}"
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(
            f"model must be fitted before it is saved; this {type(model).__name__} is not. Call "
            "fit first"
        ) from None
    target = target_file(path)
    try:
        with plain_parameters():
            payload = io.dumps(model)
    except Exception as err:
        raise ValueError(
            f"model must hold only plain settings and arrays to be saved; got other objects "
            f"({type(err).__name__}: {err}). Generators as cv=, for example, cannot be saved"
        ) from err
    unknown = sorted(set(io.get_untrusted_types(data=payload)) - set(_TRUSTED))
    nameless = [name for name in unknown if "<" in name]
    if nameless:
        raise ValueError(
            "model must hold only functions and classes that can be imported; got "
            f"{', '.join(nameless)}. Define them at the top level of a module"
        )
    if unknown:
        warnings.warn(
            f"to load this model, pass the types it holds: ybar.load(path, trusted={unknown})",
            UserWarning,
            stacklevel=2,
        )
    write_whole(target, _header(payload), payload)


def _header(payload: bytes) -> bytes:
    sha256 = hashlib.sha256(payload).hexdigest()
    return b"%s %d %d %s\n" % (_MAGIC, _FORMAT, len(payload), sha256.encode())


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a classifier that `save` wrote.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str
        Names of further types that the file may hold, such as
        ``"lightgbm.sklearn.LGBMClassifier"``, only for files whose origin you trust. The types of
        ybar and of scikit-learn's usual classifiers need not be named.

    Returns
    -------
    The fitted classifier; its predictions are the same to the last bit.

    Raises
    ------
    ValueError
        If the file is not a model of ybar, is damaged, comes from a newer ybar, or holds types that
        are not trusted. No code from the file has been run.

    Notes
    -----
    The sha256 protects against damage, the list of types against foreign code. Neither protects
    against wrong numbers: a malicious file can hold a model that misleads, or trees that crash.
    """
    io = require("skops.io", "persistence", "ybar.load")
    source = as_path(path)
    if isinstance(trusted, str) or not isinstance(trusted, Iterable):
        raise TypeError(
            "trusted must be a list of type names; got "
            f"{shown(trusted)}. Write trusted=[...], a name for each"
        )
    payload = _payload(source)
    try:
        types = set(io.get_untrusted_types(data=payload))
    except Exception as err:
        raise _unreadable(source, err) from err
    unknown = sorted(types - set(_TRUSTED) - set(trusted))
    if unknown:
        raise ValueError(
            f"{source} holds types that are not trusted: {', '.join(unknown)}. If you trust "
            f"its origin, name them: ybar.load(path, trusted={unknown})"
        )
    try:
        model = io.loads(payload, trusted=[*_TRUSTED, *trusted])
    except Exception as err:
        raise _unreadable(source, err) from err
    if not isinstance(model, BaseEstimator):
        raise ValueError(
            f"{source} holds a {type(model).__name__}, not a classifier. Pass the path of a file "
            "that ybar.save wrote"
        )
    return model


def _unreadable(source: Path, err: Exception) -> ValueError:
    return ValueError(
        f"{source} cannot be read with the packages installed here "
        f"({type(err).__name__}: {err}). Install the versions it was saved with, or save it again"
    )


def _payload(source: Path) -> bytes:
    """Return the output of skops in a file, after checking its length and sha256."""
    if not source.is_file():
        what = "is a folder" if source.is_dir() else "does not exist"
        raise FileNotFoundError(
            f"path must be a model file that ybar.save wrote; {source} {what}. Check the path"
        )
    with source.open("rb") as file:
        header = file.readline(_LONGEST_HEADER)
        words = header.split()
        if len(words) < 2 or words[0] != _MAGIC or not words[1].isdigit():
            raise ValueError(
                f"{source} is not a model file of ybar. Pass the path of a file that ybar.save "
                "wrote"
            )
        if int(words[1]) > _FORMAT:
            raise ValueError(
                f"{source} has format {int(words[1])}, this ybar reads up to {_FORMAT}. Upgrade: "
                "pip install -U ybar"
            )
        payload = file.read()
    if header != _header(payload):
        raise ValueError(
            f"{source} is damaged: its length or sha256 differs from its first line. Copy it "
            "again or save the model again"
        )
    return payload
