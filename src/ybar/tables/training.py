"""Read the training data of a table: features, complementary labels and the transition matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..transition import uniform
from ..transition.reading import Matrix, assumed_order, read_matrix
from ..utils.checks import shown
from ..utils.typing import FloatArray
from . import answers, columns, files, matrices
from .columns import Columns
from .files import DataError
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
    label: Sequence[str] = (),
    asked: str | None = None,
    answer: str | None = None,
    classes: str | None = None,
    transition: str = "uniform",
    leave_out: Sequence[str] = (),
    separator: str = "|",
    delimiter: str | None = None,
    image_size: int = files.IMAGE_SIZE,
) -> TrainingTable:
    """Return the training data of a table; the parameters are the options of ``ybar fit``."""
    _check_options(label, asked, answer, transition)
    matrix, true = parse_transition(transition)
    true_column = [] if true is None else [true]
    not_features = [*label, *true_column, *filter(None, (asked, answer))]
    frame = files.read(data, delimiter=delimiter, image_size=image_size, as_text=not_features)
    check_columns(frame, true_column, "--transition estimate:")
    check_columns(frame, leave_out, "--leave-out")
    names = parse_classes(classes)
    if names is None and matrix is not None:
        names = matrix.classes
    if asked is not None and answer is not None:
        y_comp = answers.read_answers(frame, asked, answer, names)
    else:
        other_classes = [] if true is None else as_names(frame[true], frozenset(names or ()))
        y_comp = read_labels(frame, label, names, separator, other_classes=other_classes)
    if "pixel0" in frame:  # a folder of images
        not_features += [name for name in ("file", "folder") if name in frame]
    features = columns.classify(frame, [*not_features, *leave_out])
    note = None
    if matrix is not None:
        T = read_matrix(matrix, y_comp.classes, name=transition).T
        source = f"from {Path(transition).name}"
        if matrix.classes is None:
            order = "the order of --classes" if classes else "sorted order"
            note = assumed_order(transition, y_comp.classes, order)
    elif true is not None:
        T, source = matrices.estimate(frame, true, y_comp, "--transition estimate:")
    else:
        T, source = uniform(len(y_comp.classes)), "uniform" if asked is None else answers.SOURCE
    return TrainingTable(frame, features, y_comp, T, source, note)


def _check_options(
    label: Sequence[str], asked: str | None, answer: str | None, transition: str
) -> None:
    """Raise an error unless there are either columns of labels, or questions with answers."""
    if not label and asked is None and answer is None:
        raise DataError(
            "fit needs labels: --label COLUMN with complementary labels, or --asked COLUMN and "
            "--answer COLUMN with yes-or-no answers; got neither"
        )
    if label and (asked is not None or answer is not None):
        raise DataError(
            "--label must be left out with --asked and --answer; got "
            f"{', '.join(label)}. Fit to one kind of labels"
        )
    if not label and (asked is None or answer is None):
        missing = "--asked" if asked is None else "--answer"
        raise DataError(
            f"--asked and --answer must both be passed; got no {missing}. --asked is the column "
            "of the class in the question, --answer the column of yes or no"
        )
    if not label and transition != "uniform":
        raise DataError(
            f"--transition must be left out with --asked; got {shown(transition)}. Answers need "
            "no transition matrix"
        )


def parse_transition(transition: str) -> tuple[Matrix | None, str | None]:
    """Return the matrix of a file, or the column of true labels to estimate it from, if any."""
    if transition.startswith(matrices.ESTIMATE):
        return None, transition.removeprefix(matrices.ESTIMATE)
    if transition == "uniform":
        return None, None
    also = ", or estimate:COLUMN with a column of true labels"
    return read_matrix(transition, name="--transition", words=["uniform"], also=also), None
