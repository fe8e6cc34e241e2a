"""``ybar reproduce``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from . import completion
from .app import app, examples, typer


class Epochs(StrEnum):
    """Which epoch of a run counts."""

    last = "last"
    best = "best"


@app.command(
    epilog=examples(
        "ybar reproduce digits                    a small plan, a minute",
        "ybar reproduce --dry-run                 how long the whole paper takes",
        "ybar reproduce --base knn --trial 0      a part of the paper",
        "ybar reproduce my.toml --dask tcp://scheduler:8786",
        "ybar reproduce --no-run --merge other.sqlite --export runs.csv",
    )
)
def reproduce(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A TOML file, or a plan of ybar: paper, leaderboard, field, digits.",
            autocompletion=completion.plans,
        ),
    ] = "paper",
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The SQLite file that holds all runs.  [default: PLAN.sqlite]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for tables, figures and the page.  [default: PLAN-results]",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Local workers.  [default: one per core]"),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Run on the workers of this Dask scheduler (tcp://…)."
        ),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only these data sets.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these settings (ways to draw labels)."),
    ] = None,
    base: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only these bases (kinds of model).")
    ] = None,
    trial: Annotated[
        list[int] | None, typer.Option(metavar="NUMBER", help="Only these trials, from 0.")
    ] = None,
    epoch: Annotated[Epochs, typer.Option(help="Which epoch the tables show.")] = Epochs.last,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Add the runs of another ledger first (.sqlite, .csv, .parquet)."
        ),
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the plan's runs to this file (.csv, or .parquet with all curves).",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat the runs that failed.")
    ] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Only build the tables from the ledger.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print what would be run, and for how long."),
    ] = False,
) -> None:
    """Run the paper's experiments, or your own plan, and build the tables, figures and a page.

    Runs that are in the ledger are not run again. You can interrupt the command at any time; the
    same command continues where it stopped.
    """
    from ..experiments import reproduce as experiments  # start-up time

    experiments.reproduce(
        plan,
        ledger=ledger,
        output=output,
        n_jobs=jobs or os.cpu_count() or 1,
        dask=dask,
        datasets=dataset,
        settings=setting,
        bases=base,
        trials=trial,
        epoch=epoch.value,
        merge=merge or [],
        export=export or [],
        retry_failed=retry_failed,
        run=not no_run,
        dry_run=dry_run,
    )
