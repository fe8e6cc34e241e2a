"""A ledger in a temporary folder, and jobs for it."""

from __future__ import annotations

import sys

import pytest

from sweep_helpers import PLAN, UNRULY, jobs_of, unruly_plan
from ybar.experiments.runs.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "runs.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def jobs():
    return jobs_of(PLAN)


@pytest.fixture
def unruly(tmp_path, monkeypatch):
    """Jobs with losses of a user that fail, beside two that do not."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("YBAR_TEST_MARK", str(tmp_path / "mark"))
    (tmp_path / "unruly.py").write_text(UNRULY)
    sys.modules.pop("unruly", None)
    yield lambda *names, **how: jobs_of(unruly_plan(*names, **how), tmp_path)
    sys.modules.pop("unruly", None)
