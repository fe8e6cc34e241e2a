"""What ``fit``, ``predict`` and ``evaluate`` do with data in several files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from .app import typer
from .output import progress, say, show_json, show_lines

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="CLUSTER",
        help="Use a Dask cluster: local starts workers on this machine; otherwise the address of a "
        "scheduler. DATA may then be a pattern such as 'answers/*.parquet'.",
    ),
]


@contextlib.contextmanager
def cluster(dask: str) -> Iterator[Any]:
    """Open a client of the cluster that ``--dask`` names."""
    from ..distributed import local
    from ..distributed.workers import check_workers

    with local.cluster(dask) as client:
        check_workers(client)
        yield client


def fit(
    data: str,
    *,
    dask: str | None,
    target: Any,
    model: str,
    json: bool,
    not_allowed: dict[str, bool],
    **options: Any,
) -> None:
    """Fit a model to several files, save it, and print its summary."""
    from .. import persistence
    from ..tables import partitioned, writing
    from ..tables.files import DataError
    from ..tables.parts import parts_of

    if dask is None:
        raise DataError(
            f"DATA must be one file without --dask; got {data}. Add --dask local, or the address "
            "of a scheduler"
        )
    for option, used in not_allowed.items():
        if used:
            raise DataError(
                f"{option} must be left out with --dask, which fits boosted trees to columns of "
                "complementary labels"
            )
    with cluster(dask):
        fitted = partitioned.fit(parts_of(data), **options)
    with writing.writing(model):
        persistence.save(fitted.model, target)
    if json:
        show_json(fitted.summary | {"model": model})
        return
    show_lines([*fitted.explain(), f"Model: {model}"])


def predict(
    model: str,
    data: str,
    *,
    output: str,
    proba: bool,
    keep: Sequence[str],
    delimiter: str | None,
    dask: str | None,
    json: bool,
) -> None:
    """Write the predictions of each file into a folder; those that are there are skipped."""
    from ..tables import part_predictions
    from ..tables.files import DataError
    from ..tables.model import load
    from ..tables.parts import parts_of

    if output == "-" or json:
        raise DataError(
            "--output must be a folder for the predictions of several files, without --json; got "
            f"{output}. Add -o predicted/"
        )
    parts = parts_of(data)
    load(model)
    targets = part_predictions.targets_of(parts, output)
    work = part_predictions.Work(
        model, proba=proba, keep=tuple(keep), delimiter=delimiter, on_cluster=dask is not None
    )
    part_predictions.start(work, output)
    to_do = [part for part in parts if not part_predictions.is_done(part, targets[part])]
    n_rows = 0
    with progress("predicted files", len(to_do)) as update:
        tasks = {part: (part, targets[part], work) for part in to_do}
        for done, n in enumerate(_each(part_predictions.predict_part, tasks, dask), 1):
            n_rows += n
            update(done)
    skipped = len(parts) - len(to_do)
    more = f"; {skipped} files were there already" if skipped else ""
    say(f"{n_rows} rows written to {len(to_do)} files in {output}{more}")


def _each(function: Any, tasks: dict[str, tuple[Any, ...]], dask: str | None) -> Iterator[Any]:
    """Yield what a function returns for each file, here or on the workers of a cluster."""
    from ..distributed.workers import as_completed

    if dask is None:
        for arguments in tasks.values():
            yield function(*arguments)
        return
    with cluster(dask) as client:
        yield from as_completed(client, function, tasks)


def evaluate(
    model: str,
    data: str,
    *,
    true: str | None,
    label: Sequence[str],
    separator: str,
    delimiter: str | None,
    dask: str | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the scores of a model on several files, and what ``ybar fit`` knew about it."""
    from ..tables import part_scores
    from ..tables.model import load
    from ..tables.parts import parts_of

    fitted = load(model)
    parts = parts_of(data)
    work = part_scores.Work(
        model,
        true=true,
        label=tuple(label),
        separator=separator,
        delimiter=delimiter,
        on_cluster=dask is not None,
    )
    part_scores.check(work)
    tasks = {part: (part, i, len(parts), work) for i, part in enumerate(parts)}
    scores = part_scores.scores(fitted, list(_each(part_scores.score_part, tasks, dask)))
    return scores, fitted.account_
