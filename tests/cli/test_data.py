"""``ybar data``: data sets on this machine."""

import json

from animals import run
from ybar import datasets


def test_data_sets_are_listed_and_verified(monkeypatch, tmp_path):
    monkeypatch.setenv("YBAR_CACHE", str(tmp_path))
    monkeypatch.delenv("YBAR_DATA", raising=False)
    assert "digits" in run("data", "list").stdout
    done = run("data", "verify", "kmnist")
    assert (done.exit_code, "ybar data fetch kmnist" in done.stdout) == (1, True)
    for file in datasets.REGISTRY["kmnist"].files:
        (tmp_path / "kmnist").mkdir(exist_ok=True)
        (tmp_path / "kmnist" / file).write_bytes(b"x")
    done = run("data", "verify", "kmnist", "--json")
    assert (done.exit_code, "has 1 bytes instead of" in done.stdout) == (1, True)


def test_data_sets_are_listed_as_json(monkeypatch, tmp_path):
    monkeypatch.setenv("YBAR_CACHE", str(tmp_path))
    monkeypatch.delenv("YBAR_DATA", raising=False)
    rows = json.loads(run("data", "list", "--json").stdout)
    assert [row["name"] for row in rows] == [
        "digits",
        *datasets.REGISTRY,
        *datasets.UNVERIFIED,
    ]
    assert {row["name"] for row in rows if row["classes"] != 10} == {"cifar20", "clcifar20"}


def test_data_sets_without_a_known_sum_are_not_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("YBAR_DATA", str(tmp_path))
    done = run("data", "fetch", "clcifar10")
    assert done.exit_code != 0
    assert datasets.UNVERIFIED["clcifar10"] in done.stderr
    (tmp_path / "clcifar10").mkdir()
    (tmp_path / "clcifar10" / "train.parquet").write_bytes(b"PAR1")
    done = run("data", "verify", "clcifar10", "--json")
    assert (done.exit_code, "no sha256" in done.stdout) == (1, True)


def test_fetched_data_sets_are_reported_with_their_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "fetch", lambda name, mirror: tmp_path / name)
    done = run("data", "fetch", "kmnist", "mnist")
    assert done.exit_code == 0
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["kmnist", "mnist"]
