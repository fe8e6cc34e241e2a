"""``ybar reproduce``: one command from a plan to the tables, however often it is interrupted."""

import csv
import html.parser
import io
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import experiments_helpers as helpers
from hostile_names import HOSTILE
from ybar import transition
from ybar.experiments.plan import model as plans
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.results import outputs, render
from ybar.experiments.results.choose import Runs
from ybar.experiments.runs import cluster, transfer
from ybar.experiments.runs import data as run_data
from ybar.transition import reading

pytest.importorskip("torch")
pytest.importorskip("typer")
rich = pytest.importorskip("rich.console")

PLAN = """
trials = 2
datasets = ["digits"]
settings = ["strong", "noise-0.2"]
[[base]]
name = "knn"
kind = "knn"
n_neighbors = [10, 40]
[[base]]
name = "linear"
kind = "network"
methods = ["scl-nl", "fwd", "cpe-f", "cpe-t"]
learning_rates = [1e-2, 1e-3]
epochs = 3
"""
N_RUNS = 2 * 2 * (1 + 3 * 2)
TABLES = ("tables.md", "tables.tex", "tables.csv")


def ybar(*arguments, cwd, **kwargs):
    command = [sys.executable, "-c", "from ybar.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def ran(*arguments, cwd):
    process = ybar(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=250)
    return process.returncode, out, err


@pytest.fixture
def ran_here(capsys, monkeypatch):
    """As `ran`, in this process: most of the time of a short command is that of its imports."""
    from ybar import cli

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def ran_here(*arguments, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["ybar", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, *capsys.readouterr()

    return ran_here


def rows(path):
    """Return the names of the runs of a ledger that is sound."""
    if not path.exists():
        return []
    connection = sqlite3.connect(path, timeout=60)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT name FROM sqlite_master").fetchone():
            return []
        return [name for (name,) in connection.execute("SELECT hash FROM run")]
    finally:
        connection.close()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """A folder in which the plan was run without a break."""
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "mine.toml").write_text(PLAN)
    code, out, err = ran("reproduce", "mine.toml", "--jobs", 2, cwd=folder)
    assert code == 0, err
    return folder, out


def test_one_command_gives_the_tables_the_figures_and_the_page(unbroken):
    folder, out = unbroken
    assert len(rows(folder / "mine.sqlite")) == N_RUNS
    assert sorted(os.listdir(folder)) == ["mine-results", "mine.sqlite", "mine.toml"]
    results = folder / "mine-results"
    assert sorted(os.listdir(results)) == sorted([*TABLES, "figures", "report.html"])
    assert "accuracy-by-noise.png" in os.listdir(results / "figures")
    assert "loss-linear-digits.png" in os.listdir(results / "figures")
    for label in ("SCL", "Fwd", "CPE-F", "CPE-T", "CPE-KNN", "(2/2)", "report.html"):
        assert label in out
    assert "CPE-KNN" in (results / "report.html").read_text()


def test_asking_again_runs_nothing_and_writes_the_same_tables(unbroken):
    folder, _ = unbroken
    results = folder / "mine-results"
    before = {name: (results / name).read_bytes() for name in TABLES}
    ledger = (folder / "mine.sqlite").read_bytes()
    code, _, err = ran("reproduce", "mine.toml", cwd=folder)
    assert code == 0, err
    assert {name: (results / name).read_bytes() for name in TABLES} == before
    assert (folder / "mine.sqlite").read_bytes() == ledger


def test_dry_run_counts_and_writes_nothing(unbroken, folder, ran_here):
    code, out, _ = ran_here("reproduce", "mine.toml", "--dry-run", cwd=folder)
    assert code == 0
    assert f"{2 * 2 * (1 + 4 * 2)} runs" in out
    assert f"{N_RUNS} trainings, as 8 jobs" in out
    assert f"In the ledger: 0. To run: {N_RUNS}, about" in out
    assert os.listdir(folder) == ["mine.toml"]
    done = unbroken[0] / "mine.sqlite"
    _, out, _ = ran_here("reproduce", "mine.toml", "--dry-run", "--ledger", done, cwd=folder)
    assert f"In the ledger: {N_RUNS}. To run: 0" in out


def test_the_order_of_a_matrix_without_names_is_reported(folder, ran_here):
    T = transition.uniform(10)
    names = [str(i) for i in range(10)]
    np.savetxt(folder / "unnamed.csv", T, delimiter=",")
    (folder / "named.csv").write_text(reading.as_csv(T, names))
    matrix = '\n[[setting]]\nname = "own"\ntransition = "{}.csv"\n'
    plan = PLAN.replace('"noise-0.2"', '"own"')
    for name in ("unnamed", "named"):
        (folder / f"{name}.toml").write_text(plan + matrix.format(name))
        code, _, err = ran_here("reproduce", f"{name}.toml", "--dry-run", cwd=folder)
        assert code == 0, err
        assert ("'own'" in err and ", ".join(names) in err) == (name == "unnamed")


def test_dry_run_downloads_nothing(folder, monkeypatch):
    monkeypatch.delenv("YBAR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody answers
    code, out, err = ran("reproduce", "paper", "--dry-run", cwd=folder)
    assert code == 0, err
    assert "The whole plan paper: 6480 runs" in out
    assert os.listdir(folder) == ["mine.toml"]


@pytest.mark.skipif("YBAR_DATA" not in os.environ, reason="YBAR_DATA is not set")
@pytest.mark.parametrize("name", run_data.PUBLISHED)
def test_what_is_known_of_published_data_holds(name):
    assert run_data.facts(plans.Dataset(name)) == run_data.PUBLISHED[name]


def test_a_part_is_run_and_the_tables_say_what_is_missing(folder):
    arguments = ["--base", "knn", "--setting", "strong", "--trial", 1, "--epoch", "best"]
    code, out, err = ran("reproduce", "mine.toml", *arguments, cwd=folder)
    assert code == 0, err
    assert len(rows(folder / "mine.sqlite")) == 1
    assert "(1/2)" in out
    assert "CPE-F" not in out  # nothing of that table was run


def test_ledgers_are_exported_and_merged(unbroken, folder, ran_here):
    done, _ = unbroken
    exports = ["--export", folder / "runs.csv", "--export", folder / "runs.parquet"]
    code, _, err = ran_here("reproduce", "mine.toml", "--no-run", *exports, cwd=done)
    assert code == 0, err
    for name in ("runs.csv", "runs.parquet"):
        arguments = [
            "--no-run",
            "--merge",
            name,
            "--ledger",
            f"{name}.sqlite",
            "--output",
            name[5:],
        ]
        code, _, err = ran_here("reproduce", "mine.toml", *arguments, cwd=folder)
        assert code == 0, err
        assert f"{name}: {N_RUNS} new runs, 0 known" in err
        for table in TABLES:
            merged = (folder / name[5:] / table).read_bytes()
            assert merged == (done / "mine-results" / table).read_bytes()
        drawn = os.listdir(folder / name[5:] / "figures")
        assert sorted(drawn) == sorted(os.listdir(done / "mine-results" / "figures"))
        assert any(figure.startswith("loss-") for figure in drawn)


def test_a_run_that_failed_is_marked_and_said(unbroken, folder, ran_here):
    with sqlite3.connect(unbroken[0] / "mine.sqlite") as source:
        copy = sqlite3.connect(folder / "mine.sqlite")
        source.backup(copy)
    copy.execute(
        "UPDATE run SET cause = 'it broke', figures = '{}' WHERE learning_rate = 0.01 AND "
        "method = 'cpe-f' AND setting = 'strong'"
    )
    copy.commit()
    copy.close()
    code, out, err = ran_here("reproduce", "mine.toml", "--no-run", cwd=folder)
    assert code == 0, err
    assert out.count("(2/2†)") == 4  # Fwd and CPE-F, and the comparison for Fwd
    assert "2 runs have failed" in out
    results = folder / "mine-results"
    assert "(2/2†)" in (results / "tables.md").read_text()
    assert r"(2/2\dag{})" in (results / "tables.tex").read_text()
    assert ",2\n" in (results / "tables.csv").read_text()
    assert "2 runs failed" in (results / "report.html").read_text()


def test_dry_run_counts_what_will_be_merged_and_what_is_tried_again(unbroken, folder, ran_here):
    with sqlite3.connect(unbroken[0] / "mine.sqlite") as source:
        copy = sqlite3.connect(folder / "other.sqlite")
        source.backup(copy)
    copy.execute("UPDATE run SET cause = 'it broke', figures = '{}' WHERE base = 'knn'")
    copy.commit()
    copy.close()
    asked = ["reproduce", "mine.toml", "--dry-run", "--merge", "other.sqlite"]
    _, out, _ = ran_here(*asked, cwd=folder)
    assert f"In the ledger: {N_RUNS}. To run: 0" in out
    _, out, _ = ran_here(*asked, "--retry-failed", cwd=folder)
    assert f"In the ledger: {N_RUNS - 4}. To run: 4" in out
    assert not (folder / "mine.sqlite").exists()


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


def test_a_cell_of_which_all_runs_failed_is_marked_too(unbroken, folder, ran_here):
    with sqlite3.connect(unbroken[0] / "mine.sqlite") as source:
        copy = sqlite3.connect(folder / "mine.sqlite")
        source.backup(copy)
    copy.execute(
        "UPDATE run SET cause = 'it broke', figures = '{}' WHERE method = 'cpe-f' AND "
        "setting = 'strong'"
    )
    copy.commit()
    copy.close()
    code, out, err = ran_here("reproduce", "mine.toml", "--no-run", cwd=folder)
    assert code == 0, err
    assert "(0/2†)" in out
    text = (folder / "mine-results" / "tables.csv").read_text()
    lines = list(csv.DictReader(io.StringIO(text)))
    failed = {int(line["failed_runs"]) for line in lines if line["row"] == "CPE-F"}
    assert len(failed) == 2
    assert min(failed) == 0 < max(failed)


def test_data_that_changed_leave_the_runs_of_before_readable(unbroken, folder, ran_here):
    with sqlite3.connect(unbroken[0] / "mine.sqlite") as source:
        copy = sqlite3.connect(folder / "mine.sqlite")
        source.backup(copy)
    config = json.loads(copy.execute("SELECT config FROM run LIMIT 1").fetchone()[0])
    copy.execute(
        "INSERT INTO run SELECT hash || 'old', "
        + ", ".join(
            "'2020-01-01T00:00:00+00:00'"
            if name == "finished"
            else f"replace(config, '{config['data_sha256']}', 'an old one')"
            if name == "config"
            else name
            for _, name, *_ in copy.execute("PRAGMA table_info(run)").fetchall()
            if name != "hash"
        )
        + " FROM run"
    )
    copy.commit()
    copy.close()
    code, _, err = ran_here("reproduce", "mine.toml", "--no-run", cwd=folder)
    assert code == 0, err
    for name in ("tables.md", "tables.csv"):
        now, before = (
            (where / "mine-results" / name).read_bytes() for where in (folder, unbroken[0])
        )
        assert now == before


def survive(folder, unbroken, kills, seed):
    """Kill a sweep at random instants, look at the ledger each time, then let it end."""
    rng = random.Random(seed)
    ledger = folder / "mine.sqlite"
    known: set[str] = set()
    for _ in range(kills):
        sweep = ybar("reproduce", "mine.toml", "--jobs", 2, cwd=folder, start_new_session=True)
        try:
            sweep.wait(timeout=rng.uniform(0.2, 12))
        except subprocess.TimeoutExpired:
            sweep.send_signal(signal.SIGKILL)
        sweep.communicate()
        found = rows(ledger)
        assert len(found) == len(set(found))
        assert known <= set(found)  # what was recorded stays
        known = set(found)
        if len(known) == N_RUNS:  # begin anew: there are instants left to try
            ledger.unlink()
            known = set()
    code, _, err = ran("reproduce", "mine.toml", "--jobs", 2, cwd=folder)
    assert code == 0, err
    assert len(rows(ledger)) == N_RUNS
    for table in TABLES:
        expected = (unbroken[0] / "mine-results" / table).read_bytes()
        assert (folder / "mine-results" / table).read_bytes() == expected
    left = {name for name in os.listdir(folder) if name.endswith(".lock")}
    assert left == set()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_sweep_that_is_killed_goes_on_where_it_was(folder, unbroken):
    survive(folder, unbroken, kills=2, seed=3)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_sweep_survives_fifty_kills(folder, unbroken):
    survive(folder, unbroken, kills=50, seed=1)


def children(pid):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [int(line) for line in listed.stdout.split()]


@pytest.mark.usefixtures("interrupts_heard")
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ctrl_c_and_death_leave_no_process_and_no_claim(folder, how):
    (folder / "mine.toml").write_text(PLAN.replace("epochs = 3", "epochs = 100000"))
    sweep = ybar("reproduce", "mine.toml", "--jobs", 2, cwd=folder, start_new_session=True)
    try:
        for _ in range(600):  # until both workers are at work
            time.sleep(0.1)
            if len(rows(folder / "mine.sqlite")) >= 4 and len(children(sweep.pid)) >= 2:
                break
        workers = children(sweep.pid)
        assert len(workers) >= 2
        if how == signal.SIGINT:
            os.killpg(sweep.pid, how)  # as a terminal does: to all
        else:
            sweep.send_signal(how)
        _, err = sweep.communicate(timeout=60)
    finally:
        sweep.kill()  # one that did not hear would go on for days
    if how != signal.SIGKILL:
        assert sweep.returncode == 130
        assert "Interrupted: 4 runs were recorded" in err
        assert "Traceback" not in err
        assert not [name for name in os.listdir(folder) if name.endswith(".lock")]
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert len(rows(folder / "mine.sqlite")) == 4


WRONG = {
    "no ledger to read": (["mine.toml", "--ledger", "typo.sqlite"], 2, "a ledger that exists"),
    "nothing to retry": (["mine.toml", "--retry-failed"], 2, "Leave one out"),
    "no such plan": (
        ["nowhere.toml"],
        2,
        "plan must be a TOML file or one of digits, leaderboard, paper",
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
        "--setting, --base must together name runs of the plan",
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
    monkeypatch.setattr(cluster, "_SECONDS_TO_ANSWER", 0.5)
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


def test_help_has_examples(capsys, monkeypatch):
    from ybar import cli

    monkeypatch.setattr(sys, "argv", ["ybar", "reproduce", "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for word in (*plan_file.packaged(), "ybar reproduce digits", "--dry-run", "--merge", "--dask"):
        assert word in out


def test_the_plans_that_come_with_ybar_can_be_read():
    assert plan_file.packaged() == ["digits", "leaderboard", "paper"]
    for name in plan_file.packaged():
        assert plan_file.read(name).name == name


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
