"""The application that holds all commands.

Modules of commands import what is slow (NumPy, scikit-learn, pandas, rich) inside their functions,
so that ``ybar --help`` answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..utils.extras import require
from .errors import report_errors

if TYPE_CHECKING:
    import typer
    from typer.core import TyperGroup
else:
    typer = require("typer", "cli", "the command line")
    TyperGroup = require("typer.core", "cli", "the command line").TyperGroup

__all__ = ["app", "examples", "typer"]


_ORDER = (
    *("demo", "fit", "predict", "evaluate", "simulate", "transition", "data", "reproduce"),
    "report",
)


class _Commands(TyperGroup):
    """The commands of ybar, each of which reports errors in one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with report_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with report_errors():
            return super().invoke(ctx)


app = typer.Typer(
    name="ybar",
    cls=_Commands,
    help="Train ordinary classifiers from complementary labels: labels that name a class which the "
    "example does not belong to.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from .. import __version__

        typer.echo(f"ybar {__version__}")
        raise typer.Exit


@app.callback(epilog="For examples of a command, run: ybar COMMAND --help")
def _ybar(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help, one per line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
