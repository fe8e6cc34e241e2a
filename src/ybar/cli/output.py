"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..utils.extras import require


def say(text: str) -> None:
    """Print one line about the run on standard error."""
    from ..utils.text import plain

    print(f"ybar: {plain(' '.join(text.split()))}", file=sys.stderr)


def note(text: str) -> None:
    """Print a remark, such as a warning, on standard error."""
    say(f"note: {text}")


def show_json(content: Any) -> None:
    """Print a value as JSON; NaN and infinity become null."""
    print(json.dumps(_without_nan(content), ensure_ascii=False, indent=2, allow_nan=False))


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _without_nan(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_without_nan(value) for value in content]
    if isinstance(content, float) and content - content != 0:
        return None
    return content


def show_lines(lines: Iterable[str]) -> None:
    """Print lines as they are, without colours and without breaking them."""
    out = console()
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def console(*, stderr: bool = False) -> Any:
    """Return rich's console; it uses colours on a terminal only, and not if NO_COLOR is set."""
    return require("rich.console", "cli", "the command line").Console(stderr=stderr)


@contextlib.contextmanager
def progress(description: str, total: int | None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on a terminal, and nothing in a pipe.

    Yields ``update(done, text=description)``.
    """
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

        def update(done: int, text: str = description) -> None:
            bar.update(task, completed=done, description=text)

        yield update
