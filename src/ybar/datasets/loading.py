"""Load a data set by its name, or a file of the user: training and test rows with their classes."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from ..utils.checks import shown
from ..utils.extras import require
from ..utils.files import first_line, reading
from ..utils.memory import byte_limit, check_size
from ..utils.typing import AnyArray, IntArray
from .cifar import NAMES as CIFAR
from .cifar import load_cifar
from .download import fetch
from .reading import listed, read_idx, read_npz_arrays, read_parquet
from .registry import REGISTRY, STEMS, UNVERIFIED, Source, user_files

_TABLES = (".csv", ".parquet")
_SPLIT_KEYS = ("X_train", "y_train", "X_test", "y_test")


def load(
    name: str | os.PathLike[str],
    *,
    target: str | None = None,
    test_size: float = 0.25,
    random_state: int | np.random.RandomState | None = 0,
    mirror: str | None = None,
    max_bytes: int | None = None,
) -> Bunch:
    """Load a data set by its name, or a file or folder of the user by its path.

    Parameters
    ----------
    name : str or path
        - ``"digits"``, which comes with scikit-learn;
        - ``"mnist"``, ``"fashion-mnist"``, ``"kmnist"``, ``"cifar10"``, or ``"cifar20"``, the 20
          superclasses of CIFAR-100;
        - ``"aclcifar10"``, ``"clcifar10"`` or ``"clcifar20"``: CIFAR with complementary labels of a
          vision-language model (nine per image) or of people (three per image);
        - a path: a folder with the four idx files of MNIST's form (gzipped or not), an ``.npz``
          with ``X_train, y_train, X_test, y_test`` or with ``X, y``, a ``.csv`` or a ``.parquet``.

        A known name wins over a folder of that name; write ``"./mnist"`` for the folder. The files
        of a published set are read from ``$YBAR_DATA/<name>/``, else from the cache, else they are
        downloaded (see `fetch`). CIFAR-10 may also lie in ``$YBAR_DATA/cifar-10-batches-bin/``.
        CLCIFAR's authors publish no sha256, so ybar does not download it: put the Parquet file of
        https://huggingface.co/datasets/ntucllab/clcifar10 into ``$YBAR_DATA/clcifar10/``.
    target : str, optional
        The column with the classes. CSV and Parquet need it.
    test_size : float or int, default=0.25
        The test part, stratified by class, of a source that is not split yet.
    random_state : int, RandomState or None, default=0
        The seed of that split.
    mirror : str, optional
        The base URL to download an image set from, instead of the official one.
    max_bytes : int, optional
        A file that unpacks to more bytes raises `ValueError` before it is unpacked. By default the
        environment variable ``YBAR_MAX_BYTES``, or else an eighth of the memory.

    Returns
    -------
    data : sklearn.utils.Bunch
        ``X_train``, ``y_train``, ``X_test``, ``y_test`` and ``classes``. The y are class indices
        0..K-1 into ``classes``, the names. Images stay uint8 and are rows of pixels: N×784, or
        N×3072 for CIFAR, where each row has 32×32 red, then green, then blue values. Digits are in
        [0, 1]; CSV and Parquet become DataFrames.

        Sets with complementary labels also have ``y_comp``, the labels of the training rows as a
        boolean array (N, K) for `fit`, and ``answers``, the class indices (N, labels per image) in
        the order of the annotators.

    Examples
    --------
    >>> from ybar import datasets
    >>> data = datasets.load("digits")
    >>> data.X_train.shape, data.X_test.shape, len(data.classes)
    ((1347, 64), (450, 64), 10)
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name must be a data set's name or a path; got {shown(name)}")
    path = Path(name)
    suffix = path.suffix.lower()
    if target is not None and suffix not in _TABLES:
        raise ValueError(
            f"target must be left out where name is no .csv or .parquet; got {target!r} with "
            f"{str(name)!r}"
        )
    if isinstance(name, str) and name in CIFAR:
        return load_cifar(name, mirror, max_bytes)
    if isinstance(name, str) and name in REGISTRY:
        files = user_files(name)
        folder = files[0].parent if files else fetch(name, mirror=mirror)
        return _read_folder(folder, REGISTRY[name], max_bytes)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return _split(name, X / 16.0, y, np.arange(10), test_size, random_state)
    if not path.exists():
        missing = FileNotFoundError if suffix or path.name != str(name) else ValueError
        raise missing(
            f"name must be one of {['digits', *REGISTRY, *UNVERIFIED]} or a path that exists; got "
            f"{str(name)!r}"
        )
    if path.is_dir():
        return _read_folder(path, max_bytes=max_bytes)
    if suffix == ".npz":
        with reading(path):
            arrays = read_npz_arrays(path, (_SPLIT_KEYS, ("X", "y")), max_bytes)
        if len(arrays) == len(_SPLIT_KEYS):
            return _encode_parts(path, arrays.values())
        with reading(path):
            y, classes = _encode(arrays["y"], arrays["X"])
        return _split(name, arrays["X"], y, classes, test_size, random_state)
    if suffix in _TABLES:
        return _split(name, *_read_table(path, target, max_bytes), test_size, random_state)
    raise ValueError(
        "name must be a folder of idx files, an .npz, a .csv or a .parquet; "
        f"got {str(name)!r}. read_idx reads one idx file alone"
    )


def _split(
    name: object,
    X: Any,
    y: IntArray,
    classes: AnyArray,
    test_size: float,
    random_state: int | np.random.RandomState | None,
) -> Bunch:
    """Return training and test rows, split by class."""
    try:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=test_size, random_state=random_state, stratify=y
        )
    except ValueError as error:
        raise ValueError(
            f"{name} cannot be split by class with test_size={test_size!r}: {first_line(error)}; "
            "choose another test_size, or drop the classes with a single row"
        ) from error
    return Bunch(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, classes=classes)


def _read_folder(folder: Path, source: Source | None = None, max_bytes: int | None = None) -> Bunch:
    """Read the four idx files of a folder; `source` is the published set in it, if any."""
    files = [_find_idx(folder, stem) for stem in STEMS]
    data = _encode_parts(folder, [read_idx(file, max_bytes=max_bytes) for file in files])
    data.X_train, data.X_test = (X.reshape(len(X), -1) for X in (data.X_train, data.X_test))
    if source is not None:  # every class occurs in a published set, so its labels are the indices
        data.classes = np.array(source.classes)
    return data


def _find_idx(folder: Path, stem: str) -> Path:
    for suffix in (".gz", ""):  # .gz first: in a verified folder it is the file that was verified
        if (path := folder / f"{stem}{suffix}").is_file():
            return path
    raise FileNotFoundError(
        f"{folder} has no {stem} or {stem}.gz; a folder of idx files needs all of {STEMS}"
    )


def _read_table(
    path: Path, target: str | None, max_bytes: int | None
) -> tuple[Any, IntArray, AnyArray]:
    pandas = require("pandas", "data", "datasets.load")
    with reading(path):
        check_size(path.stat().st_size, byte_limit(max_bytes))
        if path.suffix.lower() == ".csv":
            frame = pandas.read_csv(path, low_memory=False)  # one type per column, however long
        else:
            frame = read_parquet(path, max_bytes)
    if target not in frame.columns:
        raise ValueError(f"target must be a column of {path}: {listed(frame)}; got {target!r}")
    with reading(path):
        labels = frame.pop(target)
        if missing := int(labels.isna().sum()):
            raise ValueError(f"its column {target!r} has {missing} missing values")
        return (frame, *_encode(labels.to_numpy(), frame))


def _encode(labels: AnyArray, X: Any) -> tuple[IntArray, AnyArray]:
    """Return class indices and the names of the classes, after checking that labels fit X."""
    if X.ndim < 2 or labels.ndim != 1 or len(X) != len(labels) or not len(labels):
        raise ValueError(
            "it needs rows of at least one feature dimension and one class for each row; "
            f"got the shapes {X.shape} and {labels.shape}"
        )
    if labels.dtype == object and all(isinstance(label, str) for label in labels):
        labels = labels.astype(np.str_)
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise ValueError(f"classes must be numbers or strings, none missing; got {labels.dtype}")
    classes, y = np.unique(labels, return_inverse=True)
    return y.astype(np.intp), classes


def _encode_parts(path: Path, arrays: Iterable[AnyArray]) -> Bunch:
    """Check four arrays that are already training and test rows, and encode their classes."""
    X_train, y_train, X_test, y_test = arrays
    with reading(path):
        _, train_classes = _encode(y_train, X_train)
        _, test_classes = _encode(y_test, X_test)
        text = [part.dtype.kind == "U" for part in (y_train, y_test)]
        if X_train.shape[1:] != X_test.shape[1:] or text[0] != text[1]:
            raise ValueError(
                f"its parts differ: X {X_train.shape[1:]}, y {y_train.dtype} to train, "
                f"X {X_test.shape[1:]}, y {y_test.dtype} to test"
            )
    classes = np.union1d(train_classes, test_classes)
    y_train, y_test = np.searchsorted(classes, y_train), np.searchsorted(classes, y_test)
    return Bunch(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, classes=classes)
