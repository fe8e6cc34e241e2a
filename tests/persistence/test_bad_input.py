"""Files and models that cannot be saved or loaded raise one line that names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sklearn.exceptions import NotFittedError

import ybar
from bad_input import TooNarrow, X, Y, assert_one_clear_line, cpe, fitted


def saved(name="model.ybar"):
    """Save a fitted classifier in the case's folder and return the path of the file."""
    ybar.save(fitted("cpe"), name)
    return Path(name)


def load_changed(change):
    """Load a saved file after its bytes have been changed."""
    path = saved()
    path.write_bytes(change(path.read_bytes()))
    return ybar.load(path)


def load_longer(size):
    """Load a saved file after zeros that take no room on the disk were appended."""
    path = saved()
    os.truncate(path, size)
    return ybar.load(path)


def load_foreign_type():
    with pytest.warns(UserWarning, match="trusted="):
        ybar.save(cpe(TooNarrow()).fit(X, Y), "model.ybar")
    return ybar.load("model.ybar")


# Each: the call, the type of its error, and what the error must show.
CASES = [
    pytest.param(
        lambda: ybar.save(cpe(), "model.ybar"),
        NotFittedError,
        ["model", "CPEClassifier"],
        id="save-unfitted",
    ),
    pytest.param(
        lambda: ybar.save({"weights": [1, 2]}, "model.ybar"),
        TypeError,
        ["model", "dict"],
        id="save-not-an-estimator",
    ),
    pytest.param(
        lambda: ybar.save(fitted("cpe"), "models/today/model.ybar"),
        FileNotFoundError,
        ["path", "models/today"],
        id="save-into-missing-folder",
    ),
    pytest.param(
        lambda: ybar.save(fitted("cpe"), "."),
        IsADirectoryError,
        ["path", "folder"],
        id="save-onto-a-folder",
    ),
    pytest.param(
        lambda: ybar.save(fitted("cpe"), None),
        TypeError,
        ["path", "None"],
        id="save-path-none",
    ),
    pytest.param(
        lambda: ybar.save(cpe(decoder=lambda q, t: abs(q - t).sum(-1)).fit(X, Y), "model.ybar"),
        ValueError,
        ["model", "<lambda>"],
        id="save-what-could-never-be-loaded",
    ),
    pytest.param(
        lambda: ybar.load("model.ybar"),
        FileNotFoundError,
        ["path", "ybar.save", "model.ybar"],
        id="load-missing",
    ),
    pytest.param(
        lambda: ybar.load("."),
        FileNotFoundError,
        ["path", "not a file", "ybar.save"],
        id="load-a-folder",
    ),
    pytest.param(
        lambda: (os.mkfifo("pipe"), ybar.load("pipe")),
        FileNotFoundError,
        ["path", "pipe", "ybar.save"],
        id="load-a-pipe",
    ),
    pytest.param(
        lambda: load_longer(10**11),
        ValueError,
        ["model.ybar", "length"],
        id="load-longer-than-memory",
    ),
    pytest.param(
        lambda: ybar.load(None),
        TypeError,
        ["path", "None"],
        id="load-path-none",
    ),
    pytest.param(
        lambda: load_changed(lambda data: b"a,b\n1,2\n"),
        ValueError,
        ["model.ybar", "ybar.save"],
        id="load-foreign-file",
    ),
    pytest.param(
        lambda: load_changed(lambda data: b""),
        ValueError,
        ["model.ybar", "ybar.save"],
        id="load-empty-file",
    ),
    pytest.param(
        lambda: load_changed(lambda data: data[:-100]),
        ValueError,
        ["model.ybar", "sha256"],
        id="load-truncated",
    ),
    pytest.param(
        lambda: load_changed(lambda data: data[:-100] + bytes(100)),
        ValueError,
        ["model.ybar", "sha256"],
        id="load-mutated",
    ),
    pytest.param(
        lambda: load_changed(lambda data: data.replace(b"ybar-model 1 ", b"ybar-model 99 ", 1)),
        ValueError,
        ["model.ybar", "format 99", "1"],
        id="load-newer-format",
    ),
    pytest.param(
        load_foreign_type,
        ValueError,
        ["model.ybar", "TooNarrow", "trusted="],
        id="load-untrusted-type",
    ),
    pytest.param(
        lambda: ybar.load(saved(), trusted=None),
        TypeError,
        ["trusted", "None"],
        id="load-trusted-none",
    ),
    pytest.param(
        lambda: ybar.load(saved(), trusted="lightgbm.sklearn.LGBMClassifier"),
        TypeError,
        ["trusted", "'lightgbm.sklearn.LGBMClassifier'", "trusted="],
        id="load-trusted-a-string",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_clear_line(call, error, *shows)
