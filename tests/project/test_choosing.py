"""The results on choosing models by held-out complementary labels."""

from __future__ import annotations

import csv
import importlib
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from ybar.experiments.plan import reading as plan_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def choosing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("choosing")


def test_the_choices_in_the_results_are_those_of_the_runs(choosing):
    found = choosing.choices(choosing.read())
    with (ROOT / "results" / "choosing.csv").open() as file:
        assert list(csv.reader(file)) == list(choosing.lines(found))
    assert (ROOT / "results" / "choosing.md").read_text() == choosing.markdown(found)


def test_scel_chooses_within_half_a_point_among_networks_in_16_of_18_columns(choosing):
    """With best epochs among the candidates. Of last epochs alone it does not: see the docs."""
    found = choosing.choices(choosing.read())
    for decoder in choosing.DECODERS:
        by_column = choosing.gaps(found, "linear CPE, last and best epoch", decoder, "scel")
        assert len(by_column) == 18
        assert sum(round(gap, 6) <= choosing.CLOSE for gap in by_column.values()) >= 16


def test_a_trial_counts_when_all_its_runs_are_there(choosing):
    def entry(trial, method, rate):
        names = {"dataset": "mnist", "setting": "weak", "trial": trial, "base": "linear"}
        return SimpleNamespace(config={**names, "method": method, "learning_rate": rate})

    whole = [entry(0, method, rate) for method in ("cpe-f", "cpe-t", "dm") for rate in (0.1, 0.2)]
    half = [entry(1, "cpe-f", rate) for rate in (0.1, 0.2)] + [entry(1, "cpe-t", 0.1)]
    others = [entry(2, "dm", rate) for rate in (0.1, 0.2)]
    plan = plan_file.parse(
        """
        datasets = ["mnist"]
        settings = ["weak"]
        [[base]]
        name = "linear"
        kind = "network"
        methods = ["dm", "fwd", "cpe-f", "cpe-t"]
        learning_rates = [0.1, 0.2]
        """
    )
    assert list(choosing.complete([*half, *others], plan)) == []
    found = list(choosing.complete([*half, *whole, *others], plan))
    assert found == [(choosing.Trial("mnist", "weak", 0), entry) for entry in whole]


def test_choices_take_the_lowest_loss_and_are_held_against_the_best(choosing):
    def candidate(name, scel, accuracy, ure=math.nan, base="linear"):
        both = {"l1": ure, "p": ure}
        return choosing.Candidate(
            name, base, "cpe-f", "last", scel, scel, both, {"l1": accuracy, "p": accuracy}
        )

    trials = {
        choosing.Trial("mnist", "weak", trial): [
            candidate("a", 2.2, 90 + trial, 0.3),
            candidate("b", 2.1, 89.0, 0.1),
            candidate("c", 2.3, 70.0),
        ]
        for trial in range(2)
    }
    trials[choosing.Trial("mnist", "strong", 0)] = [candidate("alone", 2.0, 80.0)]
    found = choosing.choices(trials)
    chosen = {(c.judge, c.chosen.name, c.best.name) for c in found}
    assert chosen == {("scel", "b", "a"), ("scel_p", "b", "a"), ("ure", "b", "a")}
    gaps = choosing.gaps(found, "linear CPE", "l1", "scel")
    assert gaps == {("mnist", "weak"): 1.5}
    assert choosing.counted(gaps) == "0 of 1; 1.5, 1.5"
    assert choosing.trials_of([*trials, *trials]) == "1–2"
    assert choosing.trials_of([*trials][:2]) == "2"
