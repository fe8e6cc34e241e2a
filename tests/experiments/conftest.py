"""A folder with a plan, and one in which the plan was run."""

import sys

import pytest

from reproduce_helpers import PLAN, ran


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


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory):
    """A folder in which the plan was run without a break."""
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "mine.toml").write_text(PLAN)
    code, out, err = ran("reproduce", "mine.toml", "--jobs", 2, cwd=folder)
    assert code == 0, err
    return folder, out
