"""Names of a plan cannot do harm wherever they are shown."""

import csv
import html.parser
import io
import re
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

import experiments_helpers as helpers
from hostile_names import HOSTILE
from reproduce_helpers import ran
from ybar.experiments.plan import model as plans
from ybar.experiments.results import outputs, render
from ybar.experiments.results.choose import Runs
from ybar.experiments.runs import transfer

pytest.importorskip("torch")
pytest.importorskip("typer")
rich = pytest.importorskip("rich.console")


# Those that a TOML file can hold.
NAMES = [n for n in HOSTILE if n.strip() and n.encode("utf-8", "ignore").decode() == n]


class Elements(html.parser.HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_hostile_names_are_harmless_wherever_they_are_shown(tmp_path):
    assert len(set(NAMES)) >= 30
    part = plans.Part(
        plans.Network("<script>alert(1)</script>"),
        tuple(plans.Dataset(name) for name in NAMES),
        tuple(plans.Setting(name, "strong") for name in NAMES[:3]),
        1,
        tuple(plans.Method(name, name, loss="math:sin") for name in NAMES[3:6]),
        (1e-3,),
    )
    by_method = replace(
        part,
        base=plans.Network("=1+1|x"),
        datasets=part.datasets[:2],
        methods=tuple(plans.Method(name, name, loss="math:sin") for name in NAMES),
    )
    plan = plans.Plan(NAMES[0], (part, by_method))
    facts = helpers.facts_of(plan)
    entries = helpers.made_up(plan, facts)
    failed = [replace(e, cause=c, scores={}) for e, c in zip(entries, NAMES, strict=False)]
    outputs.check_folder(tmp_path)
    written = outputs.write(Runs(failed + entries[len(failed) :], plan, facts), tmp_path)
    transfer.export(entries, tmp_path / "runs.csv")

    for path in tmp_path.rglob("*"):
        assert path.name.isascii()
        assert path.name.isprintable()
    elements = Elements((tmp_path / "report.html").read_text()).found
    tags = {tag for tag, _ in elements}
    assert tags.isdisjoint({"script", "iframe", "object", "embed", "form", "base", "svg"})
    for tag, attributes in elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert all(
            attributes.get(name, "#").startswith(("#", "data:")) for name in ("src", "href")
        ), tag
    for name in ("tables.csv", "runs.csv"):
        with (tmp_path / name).open(newline="") as file:
            for cell in (cell for row in csv.reader(file) for cell in row):
                number = re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)
                assert number or not cell.startswith(tuple("=+-@\t\r＝＋－＠"))
    shown = io.StringIO()
    console = rich.Console(file=shown, width=100)
    for table in written.tables:
        console.print(render.terminal(table))
    for c in shown.getvalue() + written.text:
        assert c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp")


def test_classes_with_hostile_names_are_learned_like_others(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.array(NAMES), 20)
    np.savez(tmp_path / "mine.npz", X=rng.random((len(y), 3)), y=y)
    text = """
        trials = 1
        settings = ["uniform"]
        [[dataset]]
        name = "mine"
        path = "mine.npz"
        [[base]]
        name = "knn"
        kind = "knn"
        n_neighbors = [10]
        """
    (tmp_path / "mine.toml").write_text(text)
    code, out, err = ran("reproduce", "mine.toml", "--jobs", 1, cwd=tmp_path)
    assert (code, "(1/1)" in out) == (0, True), err
