"""The paper's plan with made-up runs, and a small plan."""

from __future__ import annotations

import pytest

from experiments_helpers import (
    made_up,
    small_plan,
)
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.results import tables
from ybar.experiments.results.choose import Runs


@pytest.fixture(scope="session")
def paper():
    return plan_file.read("paper")


@pytest.fixture(scope="session")
def paper_entries(paper):
    return made_up(paper)


@pytest.fixture(scope="session")
def full(paper, paper_entries):
    return tables.build(Runs(paper_entries, paper))


@pytest.fixture(scope="session")
def small():
    plan = small_plan()
    return plan, made_up(plan)
