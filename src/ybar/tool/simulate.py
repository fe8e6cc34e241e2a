"""``ybar simulate``: turn an ordinary table into one with complementary labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import labels, transition
from ..tables import files
from ..tables import labels as complementary
from ..tables.files import DataError
from ..transition.reading import as_csv, read_matrix
from ..utils.checks import shown
from ..utils.files import target_file, write_whole
from ..utils.random import as_generator


@dataclass(frozen=True)
class Request:
    """What ``ybar simulate`` was asked for."""

    data: str
    target: str
    output: str = "-"
    transition: str = "uniform"
    noise: float = 0.0
    labels: int = 1
    column: str = "not_label"
    keep_true: bool = False
    write_transition: str | None = None
    separator: str = "|"
    delimiter: str | None = None
    image_size: int = 28
    seed: int = 0


def simulate(request: Request) -> dict[str, Any]:
    """Write the table with a column of complementary labels, and return what was done."""
    rng = as_generator(request.seed)
    if not 0 <= request.noise <= 1:
        raise DataError(f"--noise must be from 0 to 1; got {request.noise}")
    frame = files.read(
        request.data, delimiter=request.delimiter, image_size=request.image_size, as_text=None
    )
    complementary.need(frame, [request.target], "--target")
    true = complementary.as_names(frame[request.target])
    missing = sum(name is None for name in true)
    if missing:
        raise DataError(
            f"{request.target} must have a class in every row; {missing} of {len(true)} are empty"
        )
    if request.column in frame.columns and request.column != request.target:
        raise DataError(
            f"the data has a column {request.column!r} already; name another with --column"
        )
    classes = sorted({str(name) for name in true}, key=complementary.natural)
    if len(classes) < 2:
        raise DataError(f"{request.target} must hold at least 2 classes; got {shown(classes)}")
    complementary.check_separator(request.separator)
    split = [name for name in classes if request.separator in name]
    if split:
        raise DataError(
            f"--separator must not occur in a class; {shown(split[0])} has {request.separator!r}. "
            "Choose another"
        )
    if request.labels < 1:
        raise DataError(f"--labels must be at least 1; got {request.labels}")
    matrix_target = None
    if request.write_transition is not None:
        matrix_target = target_file(request.write_transition, "--write-transition")
    T = read_matrix(request.transition, classes, random_state=rng, name="--transition").T
    at = {name: i for i, name in enumerate(classes)}
    y = np.array([at[str(name)] for name in true])
    drawn_from = transition.with_uniform_noise(T, request.noise)
    drawn = np.stack([labels.draw(y, drawn_from, rng) for _ in range(request.labels)], axis=1)
    cells = [request.separator.join(classes[k] for k in sorted(set(row))) for row in drawn.tolist()]
    if not request.keep_true:
        frame = frame.drop(columns=request.target)
    frame = frame.assign(**{request.column: cells})
    with files.output(request.output) as out:
        frame.to_csv(out, index=False)
    if matrix_target is not None:
        write_whole(matrix_target, as_csv(T, classes).encode())
    return {
        "rows": len(frame),
        "classes": classes,
        "labels_drawn": int(drawn.size),
        "wrong": float(np.mean(drawn == y[:, None])),
        "T": T.tolist(),
    }
