"""README and docs: snippets run, tables are those of `results/`, links lead somewhere."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ybar
from ybar.experiments.plan import reading

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = [page for page in PAGES if page.name != "commands.md"]  # which each build generates
SNIPPETS = {
    page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) for page in WRITTEN
}
# Each snippet as a program of its own; one interpreter per page, since importing takes longest.
RUN_ALL = """
import contextlib, io, sys
for number, snippet in enumerate(eval(sys.stdin.read())):
    printed = io.StringIO()
    print("snippet", number, file=sys.stderr)
    with contextlib.redirect_stdout(printed):
        exec(compile(snippet, f"snippet {number}", "exec"), {"__name__": "__main__"})
    assert printed.getvalue().strip(), "it prints nothing"
"""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)|\{download\}`[^`<]*<([^>]*)>`")
GENERATED = ("commands.md", "api/", "gallery/")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and Sphinx make them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page, snippets in SNIPPETS.items() if snippets])
def test_every_snippet_of_the_readme_and_the_docs_runs_as_printed(page, tmp_path):
    command = [sys.executable, "-W", "error", "-c", RUN_ALL]
    snippets = repr(SNIPPETS[page])
    done = subprocess.run(command, input=snippets, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_first_snippet_has_at_most_ten_lines():
    first = SNIPPETS["README.md"][0]
    assert len([line for line in first.splitlines() if line]) <= 10


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "index.md"], ids=lambda page: page.name)
def test_the_output_of_the_first_snippet_is_on_the_page(page):
    command = [sys.executable, "-c", SNIPPETS[page.name][0]]
    printed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    assert printed
    assert printed in page.read_text()


def test_the_readme_has_at_most_150_lines():
    assert len(README.read_text().splitlines()) <= 150


def test_the_tables_of_the_readme_and_the_docs_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    tables = importlib.import_module("fill_tables")
    assert len(tables.PLACE.findall(README.read_text())) == 1
    assert len(tables.pages()) >= 8
    for page in WRITTEN:
        text = page.read_text()
        assert text.count("<!-- results/") == len(tables.PLACE.findall(text)), page.name
        assert tables.filled(text) == text, page.name


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for path, anchor, download in LINK.findall(page.read_text()):
        name = path or download
        if name.startswith(GENERATED):
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


def test_every_page_of_the_docs_is_in_the_table_of_contents():
    listed = "\n".join(
        re.findall(r"```\{toctree\}(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.DOTALL)
    ).split()
    pages = {page.stem for page in WRITTEN if page not in (README, ROOT / "docs" / "index.md")}
    assert pages <= set(listed)


def test_the_plan_of_the_docs_can_be_read(tmp_path, monkeypatch):
    (plan,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "sweeps.md").read_text(), re.DOTALL)
    (tmp_path / "plan.toml").write_text(plan)
    (tmp_path / "mine.csv").write_text("a,class\n" + "0,x\n1,y\n2,z\n" * 20)
    (tmp_path / "T.csv").write_text("0,.5,.5\n.5,0,.5\n.5,.5,0\n")
    loss = "def loss(logits, y_comp, log_T):\n    return logits.sum(-1)\n"
    (tmp_path / "my_losses.py").write_text(loss)
    monkeypatch.syspath_prepend(str(tmp_path))
    (part,) = reading.read(tmp_path / "plan.toml").parts
    assert [method.name for method in part.methods] == ["cpe-f", "cpe-n", "mine"]
    assert [setting.name for setting in part.settings] == ["strong", "people", "noise-0.3"]


def test_every_public_module_has_a_page_in_the_api_reference():
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text())
    (api,) = (
        ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "API"
    )
    modules = {f"ybar.{name}" for name in ybar.__all__ if inspect.ismodule(getattr(ybar, name))}
    assert modules | {"ybar.classifiers", "ybar.neural"} <= {module for _, module in api.values()}
    listed = re.findall(r"^api/([\w-]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(api)


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages(ybar.__path__, "ybar.")])
def test_the_examples_in_the_docstrings_are_right(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    public = getattr(importlib.import_module(name), "__all__", [])
    is_package = hasattr(importlib.import_module(name), "__path__")  # shows what its modules hold
    inner = name.startswith(("ybar.experiments.", "ybar.cli", "ybar.utils."))
    assert result.attempted > 0 or not public or is_package or inner
