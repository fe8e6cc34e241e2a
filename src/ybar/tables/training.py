"""Read the training data of a table: features, complementary labels and the transition matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..transition import uniform
from ..transition.reading import read_matrix
from ..utils.typing import FloatArray
from . import columns, files, matrices
from .columns import Columns
from .labels import ComplementaryLabels, as_names, check_columns, parse_classes, read_labels


class TrainingTable(NamedTuple):
    """The training data of a table."""

    frame: Any
    columns: Columns
    y_comp: ComplementaryLabels
    T: FloatArray
    T_source: str
    """Where T comes from, for the user."""
    T_note: str | None = None
    """A warning about T, for the user."""


def read(
    data: str,
    *,
    label: Sequence[str],
    classes: str | None = None,
    transition: str = "uniform",
    leave_out: Sequence[str] = (),
    separator: str = "|",
    delimiter: str | None = None,
    image_size: int = files.IMAGE_SIZE,
) -> TrainingTable:
    """Return the training data of a table; the parameters are the options of ``ybar fit``."""
    true = transition.removeprefix(matrices.ESTIMATE)
    not_features = [true] if transition.startswith(matrices.ESTIMATE) else []
    matrix = None
    if transition != "uniform" and not not_features:
        matrix = read_matrix(
            transition,
            name="--transition",
            words=["uniform"],
            also=", or estimate:COLUMN with a column of true labels",
        )
    frame = files.read(
        data, delimiter=delimiter, image_size=image_size, as_text=[*label, *not_features]
    )
    check_columns(frame, not_features, "--transition estimate:")
    check_columns(frame, leave_out, "--leave-out")
    names = parse_classes(classes)
    if names is None and matrix is not None:
        names = matrix.classes
    other_classes = as_names(frame[true]) if not_features else []
    y_comp = read_labels(frame, label, names, separator, other_classes=other_classes)
    if "pixel0" in frame:  # a folder of images
        not_features += [name for name in ("file", "folder") if name in frame]
    features = columns.classify(frame, [*label, *not_features, *leave_out])
    note = None
    if matrix is not None:
        T = read_matrix(matrix, y_comp.classes, name=transition).T
        source = f"from {Path(transition).name}"
        if matrix.classes is None:
            order = "the order of --classes" if classes else "sorted order"
            note = matrices.assumed_order(transition, y_comp.classes, order)
    elif transition == "uniform":
        T, source = uniform(len(y_comp.classes)), "uniform"
    else:
        T, source = matrices.estimate(frame, true, y_comp, "--transition estimate:")
    return TrainingTable(frame, features, y_comp, T, source, note)
