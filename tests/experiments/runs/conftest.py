"""A ledger in a temporary folder."""

from __future__ import annotations

import pytest

from ybar.experiments.runs.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "runs.sqlite") as opened:
        yield opened
