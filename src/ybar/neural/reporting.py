"""Progress of a training: the progress bar, and callbacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..utils.extras import require

if TYPE_CHECKING:
    from .population import Record

Callback: TypeAlias = Callable[[dict[str, Any]], Any]


@contextlib.contextmanager
def reports(
    callbacks: list[Callback], *, verbose: bool, n_runs: int, max_epochs: int
) -> Iterator[Callable[[Record], bool]]:
    """Yield a function to call after each epoch of a run; it returns whether to end the run."""
    with _progress(verbose, n_runs * max_epochs) as advance:

        def report(record: Record) -> bool:
            advance(record, max_epochs)
            answers = [call(_values(record)) for call in callbacks]
            return any(isinstance(a, (bool, np.bool_)) and bool(a) for a in answers)

        yield report


def _values(record: Record) -> dict[str, Any]:
    return {
        "epoch": record.n_epochs,
        "learning_rate": record.run.learning_rate,
        "best_epoch": record.kept_epoch,
        **{name: values[-1] for name, values in record.history.items()},
    }


@contextlib.contextmanager
def _progress(verbose: bool, total: int) -> Iterator[Callable[[Record, int], None]]:
    if not verbose:
        yield lambda *_: None
        return
    progress = require("rich.progress", "cli", "verbose=True")
    columns = progress.Progress.get_default_columns()
    with progress.Progress(*columns, progress.TextColumn("{task.fields[news]}")) as bar:
        task = bar.add_task("epochs", total=total, news="")

        def advance(record: Record, max_epochs: int) -> None:
            loss, scel = (record.history[name][-1] for name in ("loss", "scel"))
            of_run = f"rate {record.run.learning_rate:g}, epoch {record.n_epochs}"
            skipped = max_epochs - record.n_epochs if record.done else 0
            news = f"{of_run}: loss {loss:.4f}, SCEL {scel:.4f}"
            bar.update(task, advance=1 + skipped, news=news)

        yield advance
