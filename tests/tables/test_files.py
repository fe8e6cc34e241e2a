"""Files of a user."""

from pathlib import Path

from ybar.tables import files


def test_the_line_of_names_may_be_longer_than_the_part_that_is_inspected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"column {i}" for i in range(7_000)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    assert list(files.read("wide.csv").columns) == names
