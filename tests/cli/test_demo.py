"""``ybar demo``: a comparison of methods."""

import re

from animals import run
from ybar.cli import demo_models


def test_the_demo_prints_a_table_and_writes_a_page(folder, monkeypatch):
    monkeypatch.setattr(demo_models, "_EPOCHS", 3)
    done = run("demo", "--output", "page")
    assert done.exit_code == 0, done.stderr
    models = ("logistic regression", "boosting", *demo_models._NETWORKS)
    for name in ("uniform T", "strong T", *models):
        assert name in done.stdout
    page = (folder / "page" / "index.html").read_text()
    assert page.count("data:image/svg+xml") == 4
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert "network, CPE-T" in page
