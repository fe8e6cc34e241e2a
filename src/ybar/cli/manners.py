"""What all commands share: errors in one line, exit codes, JSON, progress only on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from ..utils.extras import require

if TYPE_CHECKING:
    import typer
else:
    typer = require("typer", "cli", "the command line")

__all__ = ["app", "console", "examples", "one_line", "progress", "say", "show_json", "typer"]

FAILED, USAGE, INTERRUPTED = 1, 2, 130
_WRONG_PATHS = (FileNotFoundError, IsADirectoryError, NotADirectoryError)

app = typer.Typer(
    name="ybar",
    help="Learn ordinary classifiers from complementary labels: labels that say what an example is "
    "not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"ybar {__version__}")
        raise typer.Exit


@app.callback(epilog="Each command has examples in its own help: ybar COMMAND --help")
def _ybar(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def examples(*lines: str) -> str:
    """Return examples that end a command's help, each on a line of its own."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """Turn a user's mistake, or a machine's, into one line and an exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read our output has had enough; nothing more must be flushed to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(FAILED) from None
        except (typer.Exit, typer.Abort):
            raise
        except (ValueError, TypeError, *_WRONG_PATHS) as error:
            say(str(error))
            raise typer.Exit(USAGE) from None
        except (OSError, ImportError, RuntimeError) as error:
            say(str(error))
            raise typer.Exit(FAILED) from None
        except MemoryError as error:
            say(f"memory ran out ({error})" if str(error) else "memory ran out")
            raise typer.Exit(FAILED) from None


def say(text: str) -> None:
    """Say something to the user, aside from the output proper."""
    from ..utils.text import plain

    print(f"ybar: {plain(' '.join(text.split()))}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"note: {message}")


def show_json(content: Any) -> None:
    """Print what a machine is to read: numbers that are none are null."""
    print(json.dumps(_finite(content), ensure_ascii=False, indent=2, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    if isinstance(content, float) and content - content != 0:  # infinite or not a number
        return None
    return content


def console(*, stderr: bool = False) -> Any:
    """Return rich's console; colours and bars are for terminals, and not for NO_COLOR."""
    return require("rich.console", "cli", "the command line").Console(stderr=stderr)


@contextlib.contextmanager
def progress(description: str, total: int | None) -> Iterator[Any]:
    """Show a bar on a terminal, nothing in a pipe; gives a function of (done, text)."""
    bars = require("rich.progress", "cli", "the command line")
    out = console(stderr=True)
    with bars.Progress(
        "{task.description}",
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    ) as bar:
        task = bar.add_task(description, total=total)

        def update(done: int, text: str | None = None) -> None:
            bar.update(task, completed=done, description=text or description)

        yield update
