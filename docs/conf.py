"""Settings of the documentation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import ybar
from ybar.cli import app

project = "ybar"
author = "The ybar developers"
version = release = ybar.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_show_copyright = False
html_title = f"ybar {release}"
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "code"
napoleon_use_ivar = True  # attributes are described, not targets: several classes have a name


def _helps(command: Any, name: str, parent: Any = None) -> Iterator[str]:
    """Yield a section with the help of each command below this one."""
    context = type(command).context_class(command, info_name=name, parent=parent)
    context.terminal_width = 98
    within = getattr(command, "commands", {})
    if not within:
        text = command.get_help(context).strip()
        yield f"## `{context.command_path}`\n\n```text\n{text}\n```\n"
    for each, child in within.items():
        yield from _helps(child, each, context)


# Written anew by every build: it cannot fall behind the commands.
Path(__file__).with_name("commands.md").write_text(
    "\n".join(["# All commands\n", *_helps(typer.main.get_command(app), "ybar")]), "utf-8"
)
