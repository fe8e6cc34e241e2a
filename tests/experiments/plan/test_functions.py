"""Functions that a plan names: found as their file is now, known by version or by the file."""

import sys

import pytest

from ybar.experiments.plan.functions import Code, find_function, identify

SOURCE = "def loss(*_):\n    return {}\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes the file of a module that can be imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda text: (tmp_path / "my_losses.py").write_text(text)
    sys.modules.pop("my_losses", None)


def test_a_function_without_a_version_is_known_by_its_file(module):
    module(SOURCE.format(1))
    before = identify("my_losses:loss")
    assert before.version is None
    assert len(before.sha256) == 64
    module(SOURCE.format(2))
    assert identify("my_losses:loss") != before
    assert find_function("my_losses:loss")() == 2
    with pytest.raises(ImportError, match=before.sha256):
        find_function("my_losses:loss", before)


def test_a_function_with_a_version_keeps_its_identity_while_its_file_changes(module):
    module(SOURCE.format(1) + "loss.version = 3\n")
    before = identify("my_losses:loss")
    assert before == Code(version=3)
    module("# Better explained.\n" + SOURCE.format(1) + "loss.version = 3\n")
    assert identify("my_losses:loss") == before
    assert find_function("my_losses:loss", before)() == 1
    module(SOURCE.format(2) + "loss.version = 4\n")
    with pytest.raises(ImportError, match=r"version 3.*version 4"):
        find_function("my_losses:loss", before)


@pytest.mark.parametrize("version", ["True", "'2'", "1.5", "None"])
def test_a_version_is_an_integer(module, version):
    module(SOURCE.format(1) + f"loss.version = {version}\n")
    assert identify("my_losses:loss").version is None
