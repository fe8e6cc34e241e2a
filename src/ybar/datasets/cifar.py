"""CIFAR's images, and the complementary labels of people and of models for them."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..utils.checks import array_of_numbers, shown
from ..utils.extras import require
from ..utils.files import reading
from ..utils.memory import byte_limit, check_size
from ..utils.typing import AnyArray, IntArray
from .download import fetch, missing_unverified
from .reading import read_npz_arrays, read_parquet
from .registry import REGISTRY, UNVERIFIED, unverified_file, user_files

_SIDE = 32
_N_PIXELS = 3 * _SIDE * _SIDE
_IMAGES = {"aclcifar10": "cifar10", "clcifar10": "cifar10", "clcifar20": "cifar20"}
# The files of training and of test rows; the bytes of labels before the pixels of each image. Of
# CIFAR-100's two labels the first is the superclass.
_PARTS: Mapping[str, tuple[Sequence[str], Sequence[str], int]] = {
    "cifar10": ([f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"], 1),
    "cifar20": (["train.bin"], ["test.bin"], 2),
}
NAMES = (*_PARTS, *_IMAGES)


def load_cifar(name: str, mirror: str | None, max_bytes: int | None) -> Bunch:
    """Return images with their classes, and complementary labels if the set has some."""
    if name in _PARTS:
        return _images(name, mirror, max_bytes)
    if name in UNVERIFIED:
        file = unverified_file(name)
        if file is None:
            raise FileNotFoundError(missing_unverified(name))
        with reading(file):
            X, y, answers = _read_clcifar(file, len(REGISTRY[_IMAGES[name]].classes), max_bytes)
        data = _images(_IMAGES[name], mirror, max_bytes) | {"X_train": X, "y_train": y}
    else:
        data = _images(_IMAGES[name], mirror, max_bytes)
        (file,) = _files(name, mirror)
        with reading(file):
            answers = _read_answers(file, data.classes.tolist(), max_bytes)
    y_comp = np.zeros((len(answers), len(data["classes"])), dtype=bool)
    np.put_along_axis(y_comp, answers, values=True, axis=1)
    return Bunch(**data, y_comp=y_comp, answers=answers)


def _files(name: str, mirror: str | None) -> list[Path]:
    """Return the files of a set, verified, after a download if they are not on this machine."""
    files = user_files(name)
    if files is None:
        folder = fetch(name, mirror=mirror)
        files = [folder / file for file in REGISTRY[name].files]
    return files


def _images(name: str, mirror: str | None, max_bytes: int | None) -> Bunch:
    files = _files(name, mirror)
    train, test, n_labels = _PARTS[name]
    limit = byte_limit(max_bytes)
    if len(files) == 1:
        with reading(files[0]):
            batches = dict(_unpack(files[0], [*train, *test], limit))
    else:
        batches = {file.name: file.read_bytes() for file in files}
    data = Bunch(classes=np.array(REGISTRY[name].classes))
    for part, members in (("train", train), ("test", test)):
        with reading(files[0]):
            data[f"X_{part}"], data[f"y_{part}"] = _records(
                [batches[member] for member in members], n_labels, len(data.classes)
            )
    return data


def _unpack(path: Path, members: Sequence[str], limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield the batch files of an archive, by their names without folders."""
    missing, size = set(members), 0
    with tarfile.open(path, "r:gz") as archive:
        for entry in archive:
            member = entry.name.rpartition("/")[2]
            if not entry.isfile() or member not in missing:
                continue
            size += entry.size
            check_size(size, limit)
            opened = archive.extractfile(entry)
            assert opened is not None  # noqa: S101 - a regular file
            yield member, opened.read()
            missing.remove(member)
    if missing:
        raise ValueError(f"it must hold the files {list(members)}; got no {min(missing)}")


def _records(batches: Sequence[bytes], n_labels: int, n_classes: int) -> tuple[AnyArray, IntArray]:
    """Return the pixels and the first label of each record."""
    n_bytes = n_labels + _N_PIXELS
    for batch in batches:
        if len(batch) % n_bytes or not batch:
            raise ValueError(
                f"a batch must hold records of {n_bytes} bytes; got {len(batch)} bytes"
            )
    n = sum(map(len, batches)) // n_bytes
    X, y = np.empty((n, _N_PIXELS), np.uint8), np.empty(n, np.intp)
    first = 0
    for batch in batches:
        records = np.frombuffer(batch, np.uint8).reshape(-1, n_bytes)
        rows = slice(first, first := first + len(records))
        X[rows], y[rows] = records[:, n_labels:], records[:, 0]
    if y.max() >= n_classes:
        raise ValueError(f"a label must be a class from 0 to {n_classes - 1}; got {y.max()}")
    return X, y


def _read_answers(path: Path, classes: Sequence[str], max_bytes: int | None) -> IntArray:
    """Return the class indices that each image is said not to be, one column per answer."""
    if path.suffix == ".npz":
        answers = read_npz_arrays(path, (("cl_labels",),), max_bytes)["cl_labels"]
        return answers.astype(np.intp)
    index = {name: i for i, name in enumerate(classes)}
    rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    return np.array([[index[name] for name in row[1:]] for row in rows], dtype=np.intp)


def _read_clcifar(
    path: Path, n_classes: int, max_bytes: int | None
) -> tuple[AnyArray, IntArray, IntArray]:
    """Return the images, the classes and the answers of a Parquet file of CLCIFAR."""
    frame = read_parquet(path, max_bytes)
    names = ["images", "ord_labels", "cl_labels"]
    if missing := [name for name in names if name not in frame]:
        raise ValueError(f"it must have the columns {names}; got no {missing[0]!r}")
    check_size(len(frame) * _N_PIXELS, byte_limit(max_bytes))
    classes = _class_indices(frame["ord_labels"], n_classes, "one per image")
    answers = _class_indices(frame["cl_labels"], n_classes, "equally many per image", n_axes=2)
    X = np.empty((len(frame), _N_PIXELS), np.uint8)
    for row, image in enumerate(frame["images"]):
        X[row] = _pixels(image["bytes"], row)
    return X, classes, answers


def _class_indices(column: Any, n_classes: int, many: str, n_axes: int = 1) -> IntArray:
    rule = f"its {column.name} must be classes from 0 to {n_classes - 1}, {many}"
    labels = array_of_numbers(column.tolist(), rule)
    if labels.ndim != n_axes:
        raise ValueError(f"{rule}; got {shown(column.iloc[0])}")
    wrong = labels[~((labels >= 0) & (labels < n_classes) & (labels % 1 == 0))]
    if wrong.size:
        raise ValueError(f"{rule}; got {wrong[0]:g}")
    return labels.astype(np.intp)


def _pixels(encoded: bytes, row: int) -> Any:
    """Return the pixels of a PNG image in CIFAR's order: red, then green, then blue."""
    pillow = require("PIL.Image", "data", "reading images")
    try:
        opened = pillow.open(io.BytesIO(encoded), formats=["PNG"])
    except pillow.UnidentifiedImageError:
        start = shown(encoded[:8])
        raise ValueError(f"its images must be PNG; image {row} got {start} at its start") from None
    with opened as image:
        if image.size != (_SIDE, _SIDE):
            raise ValueError(f"its images must have (32, 32) pixels; got {image.size}, image {row}")
        return np.asarray(image.convert("RGB")).transpose(2, 0, 1).ravel()
