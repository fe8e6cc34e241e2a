"""README and results: what is printed is what runs, and what was measured."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ybar

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
IN_PAGES = {
    page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}
# Each snippet as a program of its own; one interpreter a page, since importing takes longest.
RUN_ALL = """
import contextlib, io, sys
for number, snippet in enumerate(eval(sys.stdin.read())):
    said = io.StringIO()
    print("snippet", number, file=sys.stderr)
    with contextlib.redirect_stdout(said):
        exec(compile(snippet, f"snippet {number}", "exec"), {"__name__": "__main__"})
    assert said.getvalue().strip(), "it prints nothing"
"""


@pytest.mark.parametrize("page", [page for page, snippets in IN_PAGES.items() if snippets])
def test_every_snippet_of_the_readme_and_the_docs_runs_as_printed(page, tmp_path):
    command = [sys.executable, "-W", "error", "-c", RUN_ALL]
    given = repr(IN_PAGES[page])
    done = subprocess.run(command, input=given, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_first_snippet_has_at_most_ten_lines_and_learns():
    assert (
        len(IN_PAGES["README.md"][0].strip().splitlines()) <= 11
    )  # ten and the blank one after the imports
    done = subprocess.run(
        [sys.executable, "-c", IN_PAGES["README.md"][0]], capture_output=True, text=True
    )
    accuracy, scel = map(
        float, re.search(r"accuracy ([\d.]+), SCEL ([\d.]+)", done.stdout).groups()
    )
    assert accuracy > 0.85
    assert scel < 2.1


def test_the_tables_of_the_readme_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    tables = importlib.import_module("fill_tables")
    assert tables.pages()
    for page in tables.pages():
        text = page.read_text()
        assert tables.filled(text) == text


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages(ybar.__path__, "ybar.")])
def test_the_examples_in_the_docstrings_are_right(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    public = getattr(importlib.import_module(name), "__all__", [])
    is_package = hasattr(importlib.import_module(name), "__path__")  # shows what its modules hold
    inner = name.startswith(("ybar.experiments.", "ybar.cli"))
    assert result.attempted > 0 or not public or is_package or inner


def test_the_convolutional_example_learns():
    command = [sys.executable, str(ROOT / "examples" / "cnn.py"), "--data", "digits"]
    done = subprocess.run([*command, "--epochs", "120"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"accuracy ([\d.]+)", done.stdout)[1]) > 0.8
