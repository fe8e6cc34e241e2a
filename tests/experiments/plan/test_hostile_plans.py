"""Plans that would run code, never end or fill the memory are stopped by one line."""

from __future__ import annotations

import sys
import time

import pytest

from ybar.experiments import reproduce as command
from ybar.experiments.plan import reading
from ybar.experiments.plan.functions import Code, find_function, identify
from ybar.experiments.plan.reading import PlanError, parse

PLAN = """
trials = {trials}
datasets = ["digits"]
settings = ["{setting}"]
{table}
[[base]]
name = "linear"
kind = "network"
methods = ["{method}"]
learning_rates = [1e-2, 1e-3]
epochs = 2
"""
METHOD = '[[method]]\nname = "mine"\nloss = "{}:loss"'


def plan(trials=1, setting="strong", method="cpe-f", table=""):
    return PLAN.format(trials=trials, setting=setting, method=method, table=table)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with a plan and the module of its loss, which notes that it was imported."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    text = plan(method="mine", table=METHOD.format("hostile_losses"))
    (tmp_path / "mine.toml").write_text(text)

    def write(code):
        (tmp_path / "hostile_losses.py").write_text(code)
        return tmp_path

    yield write
    sys.modules.pop("hostile_losses", None)


MARKS = "open('mark', 'w').close()\ndef loss(*_): ...\n"


def test_a_dry_run_imports_nothing_of_the_users_and_counts_all_the_same(mine, capsys):
    folder = mine(MARKS)
    command.reproduce("mine.toml", dry_run=True)
    assert "To run: 2" in capsys.readouterr().out
    assert not (folder / "mark").exists()
    reading.read("mine.toml")
    assert (folder / "mark").exists()


@pytest.mark.parametrize("version", ["loss.version = 3\n", "loss.version = True\n", ""])
def test_code_that_is_only_read_is_named_as_code_that_is_imported(mine, monkeypatch, version):
    monkeypatch.syspath_prepend(str(mine(MARKS + version)))
    read = identify("hostile_losses:loss")
    assert "hostile_losses" not in sys.modules
    find_function("hostile_losses:loss")
    assert identify("hostile_losses:loss") == read
    assert (read == Code(version=3)) is ("3" in version)


def test_a_dry_run_misses_a_module_that_is_not_there(mine):
    (mine(MARKS) / "hostile_losses.py").unlink()
    with pytest.raises(PlanError, match=r"method\[0\]\.loss.*hostile_losses"):
        reading.read("mine.toml", imports=False)


@pytest.mark.parametrize("how", ["raise SystemExit", "import sys; sys.exit(0)", "1 / 0"])
def test_a_module_that_ends_python_is_an_error_of_the_plan(mine, how):
    mine(how)
    with pytest.raises(PlanError, match=r"method\[0\]\.loss"):
        reading.read("mine.toml")


@pytest.mark.parametrize(
    "value", ["[" * 50_000 + "]" * 50_000, "{a = " * 50_000 + "1" + "}" * 50_000]
)
def test_a_plan_that_is_nested_deeply_is_one_line(value):
    with pytest.raises(PlanError, match=r"^deep\.toml: .*nested") as caught:
        parse(f"title = {value}", "deep.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("trials", [10**9, 10**6])
def test_runs_are_counted_before_there_are_any(trials):
    start = time.process_time()
    with pytest.raises(PlanError, match=f"{2 * trials:,}"):
        parse(plan(trials=trials))
    assert time.process_time() - start < 1


@pytest.mark.skipif(sys.platform == "win32", reason="devices of POSIX")
@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('[[setting]]\nname = "s"\ntransition = "/dev/zero"', "setting"),
        ('[[dataset]]\nname = "d"\npath = "/dev/zero"', "dataset"),
    ],
)
def test_devices_are_not_read(table, key):
    with pytest.raises(PlanError, match=rf"{key}\[0\].*/dev/zero"):
        parse(plan(table=table))


@pytest.mark.skipif(sys.platform == "win32", reason="devices of POSIX")
def test_a_device_is_no_plan():
    with pytest.raises(PlanError, match="/dev/zero"):
        reading.read("/dev/zero")
