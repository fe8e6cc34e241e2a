"""``ybar predict``: the classes of new rows."""

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ybar
from animals import CLASSES, run, table
from ybar import labels, transition
from ybar.tables import files


@pytest.mark.parametrize("method", ["logistic", "knn", "boosting"])
def test_new_rows_may_have_missing_values_in_columns_that_were_complete(folder, method):
    frame = table()[["noise", "length", "not"]].fillna(0.5)
    frame.to_csv("full.csv", index=False)
    done = run("fit", "full.csv", "--label", "not", "--method", method)
    assert done.exit_code == 0, done.stderr
    done = run("predict", "model.ybar", "-", stdin="noise,length\n,2\n0.1,\n")
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


def test_names_keep_their_spelling_whatever_else_is_in_the_file(folder):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    rows = [
        f"{['01', '02', 'x9'][c]},{rng.integers(9)},0{k + 1}"
        for c, k in zip(y, y_comp, strict=True)
    ]
    Path("codes.csv").write_text("\n".join(["zip,n,not", *rows]))
    done = run(
        "fit", "codes.csv", "--label", "not", "--classes", "01,02,03", "--method", "logistic"
    )
    assert done.exit_code == 0, done.output
    alone = "zip,n,id\n01,1,0070\n02,2,\n"
    for given in (alone, alone + "x9,3,123456789\n"):
        Path("new.csv").write_text(given)
        out = run("predict", "model.ybar", "new.csv", "--keep", "zip", "--keep", "id").stdout
        assert out.splitlines()[:3] == ["zip,id,predicted", "01,0070,01", "02,,02"]
    assert out.splitlines()[3] == "x9,123456789,03"
    out = run("simulate", "new.csv", "--target", "zip", "-o", "-").stdout
    assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [
        ["1", "0070"],
        ["2", ""],
        ["3", "123456789"],
    ]


def test_predictions_are_those_of_the_model_in_every_format(fitted, tmp_path):
    place, _ = fitted
    model, frame = ybar.load(place / "model.ybar"), table(200, 1)
    out = tmp_path / "out.csv"
    arguments = ["predict", place / "model.ybar", place / "test.csv", "--proba", "--keep", "id"]
    done = run(*arguments, "-o", out)
    assert done.exit_code == 0, done.stderr
    assert "200 rows written" in done.stderr
    written = pd.read_csv(out)
    assert list(written.columns) == ["id", "predicted", *(f"p_{name}" for name in CLASSES)]
    assert (written["predicted"] == model.predict(frame)).all()
    p = written[[f"p_{name}" for name in CLASSES]].to_numpy()
    np.testing.assert_allclose(p, model.predict_proba(frame), atol=1e-5)
    shown = run(*arguments)
    assert shown.stdout == out.read_text()
    lines = run(*arguments, "--json").stdout.splitlines()
    assert json.loads(lines[7])["predicted"] == written["predicted"][7]
    piped = run("predict", place / "model.ybar", "-", stdin=(place / "test.csv").read_text())
    assert piped.stdout.split() == ["predicted", *written["predicted"]]


def test_rows_are_predicted_in_parts(fitted, monkeypatch):
    place, _ = fitted
    whole = run("predict", place / "model.ybar", place / "test.csv").stdout
    monkeypatch.setattr(files.chunks, "__kwdefaults__", {**files.chunks.__kwdefaults__, "rows": 33})
    assert run("predict", place / "model.ybar", place / "test.csv").stdout == whole


def test_links_and_pipes_are_written_to_and_not_replaced(folder, fitted):
    Path("new.csv").write_text("length,noise,colour,text\n1,2,red,it sings here\n")
    Path("kept.csv").write_text("old")
    Path("link.csv").symlink_to("kept.csv")
    model = fitted[0] / "model.ybar"
    assert run("predict", model, "new.csv", "-o", "link.csv").exit_code == 0
    assert Path("link.csv").is_symlink()
    assert Path("kept.csv").read_text().startswith("predicted\n")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
    assert run("predict", model, "new.csv", "-o", "pipe").exit_code == 0
    assert reader.communicate(timeout=60)[0].startswith("predicted\n")
    assert Path("pipe").is_fifo()


def test_a_reader_that_closes_the_pipe_is_not_an_error(fitted):
    place, _ = fitted
    code = "from ybar.__main__ import main; main()"
    command = f"{sys.executable} -c '{code}' predict {place}/model.ybar {place}/test.csv | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "predicted\n"
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["p.tsv", "p.csv.gz", "p.parquet"])
def test_the_name_of_the_output_decides_its_format(fitted, tmp_path, name):
    place, _ = fitted
    arguments = ["predict", place / "model.ybar", place / "test.csv", "--proba", "--keep", "id"]
    assert run(*arguments, "-o", tmp_path / "p.csv").exit_code == 0
    assert run(*arguments, "-o", tmp_path / name).exit_code == 0
    expected = files.read(str(tmp_path / "p.csv"))
    pd.testing.assert_frame_equal(files.read(str(tmp_path / name)), expected)
    assert (tmp_path / name).read_bytes() != (tmp_path / "p.csv").read_bytes()


@pytest.mark.parametrize(
    ("name", "json"), [("p.xlsx", False), ("p.jsonl", False), ("p.csv", True), ("p.parquet", True)]
)
def test_an_output_whose_name_says_another_format_is_refused(fitted, tmp_path, name, json):
    place, _ = fitted
    arguments = ["predict", place / "model.ybar", place / "test.csv", "-o", tmp_path / name]
    done = run(*arguments, *["--json"] * json)
    assert done.exit_code == 2
    assert "--output" in done.stderr
    assert repr(name) in done.stderr
    assert not list(tmp_path.iterdir())


def test_lines_of_json_may_be_compressed(fitted, tmp_path):
    place, _ = fitted
    arguments = ["predict", place / "model.ybar", place / "test.csv", "--json"]
    assert run(*arguments, "-o", tmp_path / "p.jsonl.gz").exit_code == 0
    text = gzip.decompress((tmp_path / "p.jsonl.gz").read_bytes()).decode()
    assert text == run(*arguments).stdout


def test_no_predicted_class_is_a_formula_for_a_spreadsheet(folder):
    frame = table().drop(columns=["label", "id"])
    frame["not"] = frame["not"].map({"bird": "=1+1", "cat": "@cat", "dog": "-7"})
    frame["own"] = "=2+2"
    frame.to_csv("hostile.csv", index=False)
    done = run("fit", "hostile.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0, done.stderr
    arguments = ["predict", "model.ybar", "hostile.csv", "--proba", "--keep", "own"]
    rows = list(csv.DictReader(run(*arguments).stdout.splitlines()))
    assert list(rows[0]) == ["own", "predicted", "p_-7", "p_=1+1", "p_@cat"]
    assert {row["own"] for row in rows} == {"'=2+2"}
    assert {row["predicted"] for row in rows} == {"'=1+1", "'@cat", "-7"}
    exact = [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]
    assert {row["predicted"] for row in exact} == {"=1+1", "@cat", "-7"}
    assert {row["own"] for row in exact} == {"=2+2"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line(fitted):
    place, _ = fitted
    command = [sys.executable, "-m", "ybar", "predict", place / "model.ybar", place / "test.csv"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "standard output" in line
    assert "full" in line
