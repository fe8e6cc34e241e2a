"""The committed results: studies and runs give these tables, and the docs' claims hold in them."""

from __future__ import annotations

import csv
import importlib
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ybar.experiments.plan import reading as plan_file

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"


def study(name):
    """Import a program that makes results, from the folder where it is."""
    (script,) = (path for path in ROOT.glob(f"*/{name}.py") if path.parent.name != "examples")
    if str(script.parent) not in sys.path:
        sys.path.insert(0, str(script.parent))
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def choosing():
    return study("choosing")


@pytest.fixture(scope="module")
def summary():
    return study("summary")


def test_the_committed_summaries_are_those_of_the_committed_results(summary):
    for name, text in summary.pages().items():
        assert (RESULTS / name).read_text() == text, name


def test_the_committed_anchors_are_those_of_the_committed_results(summary):
    assert (RESULTS / "anchors.md").read_text() == study("anchors").anchors()


def test_deviations_are_shown_wherever_there_are_two_trials_or_more(summary):
    cells = summary.cells_of_the_paper()
    for name, file in (("main", "main_table.md"), ("decoders", "decoder_table.md")):
        of_table = {(c["dataset"], c["setting"], c["row"]): c for c in cells if c["table"] == name}
        header, _, *rows = summary.rows_of((RESULTS / file).read_text())
        for dataset, setting, *entries in rows:
            for label, text in zip(header[2:], entries, strict=True):
                cell = of_table[dataset, setting, label]
                assert ("±" in text.partition(";")[0]) is (int(cell["n"]) >= 2)
    assert summary.accuracy("75.04", "0.71") == "75.0 ± 0.7"
    assert summary.accuracy("75.04", "") == "75.0"


def test_the_summary_counts_cells_once_and_by_both_criteria(summary):
    def cell(differs, beyond, repeats="false", std="1.0"):
        return {"n": "5", "of": "5", "paper_std": std, "differs": differs} | {
            "beyond_errors": beyond,
            "repeats": repeats,
        }

    cells = [
        cell("false", "false"),
        cell("false", "true", std="2.1"),
        cell("true", "true"),
        cell("true", "true", repeats="true"),
        cell("", "") | {"n": "0"},
    ]
    assert summary.agreement("all", cells) == (
        *("all", "3 of 4", "5 of 5", "2 of 3 (67%)", "1 of 3 (33%)", "1"),
    )


# --- what the docs claim -------------------------------------------------------------------------


def rows_of(name, n_columns, summary):
    """Return the rows of the table with so many columns, as lists of cells."""
    rows = [row for row in summary.rows_of((RESULTS / name).read_text()) if len(row) == n_columns]
    return rows[2:]  # without the header and the line below it


def number(cell):
    return float(re.search(r"[-+]?\d+\.?\d*", cell)[0])


def test_the_recipe_is_ahead_of_the_papers_best_in_every_column(summary):
    rows = rows_of("leaderboard.md", 8, summary)
    assert len(rows) == 18
    for _, _, papers_best, ours, *_ in rows:
        assert number(ours) > number(papers_best)


def test_cpe_n_is_within_a_third_of_a_point_of_a_network_that_knows_the_noise(summary):
    rows = rows_of("noise.md", 6, summary)
    assert len(rows) == 18
    assert all(abs(number(difference)) <= 0.3 for *_, difference in rows)


def test_the_trust_chosen_by_scel_is_within_a_point_of_the_true_t(summary):
    rows = rows_of("trust.md", 10, summary)
    assert len(rows) == 8
    assert all(number(chosen) >= number(true) - 1 for *_, chosen, true in rows)


def test_anchors_are_ahead_of_a_uniform_t_and_near_the_true_one(summary):
    rows = rows_of("estimating.md", 10, summary)
    assert len(rows) == 8
    for _, T, _, *cells in rows:
        # Each cell is "error of T, accuracy".
        uniform, _, _, anchors, _, _, true = (number(cell.partition(",")[2]) for cell in cells)
        assert anchors > uniform
        assert true - anchors < (0.4 if T in ("weak", "strong") else 10.5)


def test_temperatures_help_neighbours_in_five_of_six_rows(summary):
    rows = [row for row in rows_of("calibration.md", 8, summary) if "knn" in row]
    helped = [number(tempered) < number(before) for *_, before, tempered in rows]
    assert (sum(helped), len(helped)) == (5, 6)


# --- intervals and tests -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coverage():
    return study("interval_coverage")


def simulated(coverage, part):
    """Yield case, rows, measure, share and standard error of each line."""
    for row in study("lines").read(coverage.FILE):
        if row["part"] == part:
            shares = float(row["share"]), float(row["std_error"])
            yield row["case"], int(row["n"]), row["measure"], *shares


def test_the_committed_tables_of_coverage_are_those_of_the_committed_simulations(coverage):
    for part, text in coverage.tables().items():
        assert (RESULTS / f"coverage_{part}.md").read_text() == text, part


def test_intervals_of_T_hold_at_least_as_often_as_they_say(coverage):
    shares = [(share, error) for _, _, measure, share, error in simulated(coverage, "intervals")
              if measure in coverage.INTERVALS]  # fmt: skip
    assert len(shares) == 4 * 3 * 2
    assert all(share + 3 * error >= 0.95 for share, error in shares)


def test_weighted_means_and_their_comparison_hold_what_they_say(coverage):
    cases = list(simulated(coverage, "weights"))
    of = {name: [(s, e) for _, _, measure, s, e in cases if measure == name]
          for name in coverage.MEANS}  # fmt: skip
    assert len(of["t interval"]) == 6 * 4
    assert all(share + 3 * error >= 0.95 for share, error in of["t interval"])
    assert all(share - 3 * error <= 0.05 for share, error in of["compare, p < 0.05"])
    weighted = [(s, e) for case, _, measure, s, e in cases
                if case != "none" and measure == coverage.MEANS[0]]  # fmt: skip
    assert weighted
    assert all(share + 3 * error >= 0.93 and share - 3 * error <= 0.97 for share, error in weighted)


def test_a_correct_T_is_refuted_no_more_often_than_the_level_says(coverage):
    alarms = [(float(measure.rpartition(" ")[2]), share, error)
              for case, _, measure, share, error in simulated(coverage, "tests")
              if "assumed" not in case]  # fmt: skip
    assert len(alarms) == 3 * 2 * 4 * 6
    assert all(share - 3 * max(error, 1 / 400) <= level for level, share, error in alarms)


def test_labels_of_a_strong_T_refute_a_uniform_one_with_a_thousand_rows(coverage):
    powers = [share for case, n, measure, share, _ in simulated(coverage, "tests")
              if case.startswith("strong, uniform assumed") and n >= 1000
              and measure == "all tests, level 0.01"]  # fmt: skip
    assert len(powers) == 2
    assert min(powers) > 0.95


# --- calibration ---------------------------------------------------------------------------------


def test_neighbours_are_calibrated_twice_as_well_as_by_either_short_cut():
    benchmark = study("calibration")
    rows = study("lines").read(benchmark.FILE)
    assert (ROOT / "results" / "calibration.md").read_text() == benchmark.table(rows)
    of_neighbours = [row for row in rows if row["model"] == "knn"]
    assert len(of_neighbours) == len(benchmark.COLUMNS)
    for row in of_neighbours:
        for way in ("predict_proba", "tempered"):
            assert float(row[way]) <= min(float(row["inverse"]), float(row["distance"])) / 2


# --- choices by SCEL and URE ----------------------------------------------------------------------


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
