"""The command line: thin. What it does is done elsewhere; here are options, errors and manners."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ._extras import require

if TYPE_CHECKING:
    import typer
else:
    typer = require("typer", "cli", "the command line")

app = typer.Typer(
    name="ybar",
    help="Learn ordinary classifiers from complementary labels: labels that say what an example is "
    "not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

FAILED, USAGE, INTERRUPTED = 1, 2, 130


def _examples(*lines: str) -> str:
    """Return examples that end a command's help, each on a line of its own."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Epochs(StrEnum):
    """Which epoch of a run counts."""

    last = "last"
    best = "best"


@app.callback()
def _ybar() -> None:
    """Learn ordinary classifiers from complementary labels."""


@app.command(
    epilog=_examples(
        "ybar reproduce digits                    a small plan, a minute",
        "ybar reproduce --dry-run                 what all of the paper takes",
        "ybar reproduce --base knn --trial 0      a part of it",
        "ybar reproduce my.toml --dask tcp://scheduler:8786",
        "ybar reproduce --no-run --merge other.sqlite --export runs.csv",
    )
)
def reproduce(
    plan: Annotated[
        str,
        typer.Argument(help="A plan: a TOML file, or one that comes with ybar (paper, digits)."),
    ] = "paper",
    ledger: Annotated[
        Path | None,
        typer.Option(help="The SQLite file that holds all runs.  [default: PLAN.sqlite]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for tables, figures and the page.  [default: PLAN-results]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes.  [default: all cores]")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Run on this Dask scheduler (tcp://…), or on one started here: local."),
    ] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="Only these data sets.")] = None,
    setting: Annotated[list[str] | None, typer.Option(help="Only these settings.")] = None,
    base: Annotated[list[str] | None, typer.Option(help="Only these bases.")] = None,
    trial: Annotated[list[int] | None, typer.Option(help="Only these trials, from 0.")] = None,
    epoch: Annotated[Epochs, typer.Option(help="Which epoch the tables take.")] = Epochs.last,
    merge: Annotated[
        list[Path] | None,
        typer.Option(help="First take in the runs of another ledger (.sqlite, .csv, .parquet)."),
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(help="Then write all runs to this file (.csv, or .parquet with curves)."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what has failed.")
    ] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Run nothing: tables from what there is.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run, and how long it takes.")
    ] = False,
) -> None:
    """Run the paper's experiments, or your own plan, and build the tables, figures and a page.

    Runs that are in the ledger are not run again: interrupt it as you like, the same command goes
    on where it stopped.
    """
    with _in_one_line():
        from .experiments import reproduce as how

        how.reproduce(
            plan,
            how.Options(
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
            ),
        )


@contextlib.contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn a user's mistake, or a machine's, into one line and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, TypeError) as error:
        _say(error)
        raise typer.Exit(USAGE) from None
    except (OSError, ImportError, RuntimeError, MemoryError) as error:
        _say(error)
        raise typer.Exit(FAILED) from None


def _say(error: BaseException) -> None:
    from .experiments.text import plain

    print(f"ybar: {plain(' '.join(str(error).split()))}", file=sys.stderr)


def main() -> None:
    """Run the command line."""
    app()
