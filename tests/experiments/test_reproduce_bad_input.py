"""Mistakes in a command or a plan are one line, before anything is run."""

import os
import sys

import numpy as np
import pytest

from reproduce_helpers import PLAN, rows
from ybar import transition
from ybar.experiments.runs import cluster
from ybar.transition import reading

pytest.importorskip("torch")
pytest.importorskip("typer")
rich = pytest.importorskip("rich.console")


@pytest.mark.parametrize(("base", "module"), [("linear", "torch"), ("trees", "lightgbm")])
def test_what_a_plan_needs_is_named_before_anything_is_run(
    folder, base, module, capsys, monkeypatch
):
    from ybar import cli

    extra = {"torch": "torch", "lightgbm": "boosting"}[module]
    (folder / "mine.toml").write_text(PLAN + '[[base]]\nname = "trees"\nkind = "gbdt"\n')
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, module, None)
    command = ["ybar", "reproduce", "mine.toml", "--base", "knn", "--base", base]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert f'pip install "ybar[{extra}]"' in capsys.readouterr().err
    assert rows(folder / "mine.sqlite") == []


WRONG = {
    "no ledger to read": (["mine.toml", "--ledger", "typo.sqlite"], 2, "a ledger that exists"),
    "nothing to retry": (["mine.toml", "--retry-failed"], 2, "Leave one out"),
    "no such plan": (
        ["nowhere.toml"],
        2,
        "plan must be a TOML file or one of digits, field, leaderboard, paper",
    ),
    "unknown option": (["--colour", "red"], 2, "No such option"),
    "no jobs": (["mine.toml", "--jobs", "0"], 2, "--jobs"),
    "no number": (["mine.toml", "--jobs", "two"], 2, "--jobs"),
    "unknown base": (["mine.toml", "--base", "forest"], 2, "--base must be one of the plan's"),
    "unknown data set": (["mine.toml", "--dataset", "x"], 2, "--dataset must be one of"),
    "unknown setting": (["mine.toml", "--setting", "x"], 2, "--setting must be one of"),
    "unknown trial": (["mine.toml", "--trial", "2"], 2, "--trial must be one of the plan's: 0, 1"),
    "what no base has": (
        ["apart.toml", "--base", "knn", "--setting", "noise-0.2"],
        2,
        "--setting, --base must select some run",
    ),
    "unknown epoch": (["mine.toml", "--epoch", "first"], 2, "--epoch"),
    "a wrong plan": (
        ["wrong.toml"],
        2,
        "wrong.toml: the plan must have known keys",
    ),
    "a plan that is none": (["data.npz"], 2, "text in UTF-8"),
    "a folder as plan": (["."], 2, "cannot be read"),
    "a ledger that is none": (["mine.toml", "--ledger", "mine.toml"], 1, "no SQLite file"),
    "a ledger in no folder": (["mine.toml", "--ledger", "no/a.sqlite"], 2, "Make it first"),
    "a ledger where none may be": (["mine.toml", "--ledger", "/proc/a.sqlite"], 1, "/proc must be"),
    "an output that is a file": (["mine.toml", "--output", "mine.toml"], 2, "output must be"),
    "an output where none may be": (["mine.toml", "--output", "/proc/x"], 1, "/proc must be"),
    "an export of no kind": (["mine.toml", "--export", "a.xlsx"], 2, ".csv or .parquet"),
    "an export to no folder": (["mine.toml", "--export", "no/a.csv"], 2, "Make it first"),
    "a merge of nothing": (["mine.toml", "--merge", "none.sqlite"], 2, "does not"),
    "a merge of no ledger": (["mine.toml", "--merge", "data.npz"], 1, "no SQLite file"),
    "a merge of no export": (["mine.toml", "--merge", "bad.csv"], 1, "not an export"),
    "no scheduler": (["mine.toml", "--dask", "tcp://127.0.0.1:9"], 1, "nothing answered"),
    "no address": (["mine.toml", "--dask", "nowhere"], 1, "must be the address"),
    "T of other data": (["sizes.toml"], 2, "sizes.toml: transition of setting 's' must"),
    "T of other classes": (["names.toml"], 2, "names.toml: transition of setting 's' must"),
    "too few rows for KNN": (["far.toml"], 2, "far.toml: n_neighbors of base 'knn' must"),
    "data with gaps": (["gaps.toml"], 2, "gaps.toml: dataset 'w' must have finite"),
    "one class": (["one.toml"], 2, "one.toml: dataset 'w' must have at least 2 classes; got 1"),
    "nothing to train on": (["none.toml"], 2, "none.toml: validation_fraction must leave"),
    "data that are words": (
        ["words.toml"],
        2,
        "words.toml: dataset 'w' must have features",
    ),
}


SEEN_WHEN_RUNNING = {
    *("no scheduler", "no address", "a ledger where none may be", "a ledger in no folder"),
    *("T of other data", "data that are words", "data with gaps", "one class"),
    *("nothing to train on", "T of other classes", "too few rows for KNN", "what no base has"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_line_and_leaves_nothing_behind(folder, what, capsys, monkeypatch):
    from ybar import cli

    arguments, code, said = WRONG[what]
    (folder / "wrong.toml").write_text("\ntrails = 2\n")
    (folder / "bad.csv").write_text("a,b\n1,2\n")
    np.savez(folder / "data.npz", X=np.full((40, 2), "x"), y=np.arange(40) % 2)
    (folder / "words.toml").write_text(
        PLAN.replace('datasets = ["digits"]\n', "") + '[[dataset]]\nname = "w"\npath = "data.npz"\n'
    )
    (folder / "sizes.toml").write_text(
        PLAN.replace('settings = ["strong", "noise-0.2"]\n', "")
        + '[[setting]]\nname = "s"\ntransition = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]\n'
    )
    other = transition.uniform(10)
    (folder / "T.csv").write_text(reading.as_csv(other, list("abcdefghij")))
    (folder / "names.toml").write_text(
        PLAN.replace('settings = ["strong", "noise-0.2"]\n', "")
        + '[[setting]]\nname = "s"\ntransition = "T.csv"\n'
    )
    (folder / "apart.toml").write_text(
        PLAN.replace("n_neighbors = [10, 40]", 'n_neighbors = [10]\nsettings = ["strong"]')
    )
    (folder / "far.toml").write_text(PLAN.replace("[10, 40]", "[9999]"))
    for name, X, y in (
        ("gaps", np.full((40, 2), np.nan), np.arange(40) % 2),
        ("one", np.ones((40, 2)), np.zeros(40)),
    ):
        np.savez(folder / f"{name}.npz", X=X, y=y)
        (folder / f"{name}.toml").write_text(
            PLAN.replace('datasets = ["digits"]\n', "")
            + f'[[dataset]]\nname = "w"\npath = "{name}.npz"\n'
        )
    (folder / "none.toml").write_text("validation_fraction = 0.9999\n" + PLAN)
    before = sorted(os.listdir(folder))
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.5)
    monkeypatch.chdir(folder)
    runs = what in SEEN_WHEN_RUNNING
    command = ["ybar", "reproduce", *arguments, *([] if runs else ["--no-run"])]
    monkeypatch.setattr(sys, "argv", command)
    if not runs and what != "no ledger to read":
        (folder / "mine.sqlite").touch()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    left = [name for name in os.listdir(folder) if name not in before]
    # What was good before the mistake was seen may be there, whole: an empty ledger, a folder.
    assert set(left) <= {"mine.sqlite", "mine-results"}
