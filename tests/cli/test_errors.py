"""Mistakes of the user, failures and bugs: messages and exit codes."""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from animals import run, table
from ybar import labels, save, transition
from ybar.classifiers.cpe import CPEClassifier
from ybar.cli import data as cli_data
from ybar.experiments.results import outputs
from ybar.experiments.runs.ledger import Ledger
from ybar.tables import candidates, evaluation, files, model, page, scoring

FILES = {
    "empty.csv": b"",
    "header.csv": b"x,not\n",
    "binary.csv": bytes(range(256)) * 20,
    "latin.csv": "x,not\n1,caf\xe9\n2,b\n".encode("latin-1"),
    "semicolon.csv": b"x;not\n1;a\n2;b\n",
    "ragged.csv": b"x,not\n1,a\n2,b,c,d\n",
    "twice.csv": b"x,not,not\n1,a,b\n2,b,c\n",
    "short.csv": b"x,not\n1,2,a\n2,3,b\n3,4,c\n",
    "bom.csv": b"\xef\xbb\xbf",
    "all_out.csv": b"x,not\n1,a\n2,b\n3,a|b|c\n4,c\n",
    "one_class.csv": b"x,not\n1,a\n2,a\n3,a\n",
    "no_labels.csv": b"x,not\n1,\n2,\n3,\n",
    "no_features.csv": b"not\na\nb\nc\n",
    "few.csv": b"x,not\n1,a\n2,b\n",
    "infinite.csv": b"x,not\n1,a\ninf,b\n2,c\n",
    "T_sum.csv": b"0,1\n0.5,0.6\n",
    "T_words.csv": b"a,b\nc,d\n",
    "T_size.csv": b"0,1\n1,0\n",
    "T_names.csv": b",x,y,z\nx,0,.5,.5\ny,.5,0,.5\nz,.5,.5,0\n",
    "T_uneven.csv": b"0,0.5,0.5\n1,0\n",
    "other.csv": b"length,noise,colour,text,not\n1,2,red,it sings here,a\n",
    "predicted.csv": b"length,noise,colour,text,predicted\n1,2,red,it sings here,x\n",
    "bad.parquet": b"PAR1 no",
    "s.csv.gz": gzip.compress(b"x;not\n1;a\n2;b\n"),
    "t.csv.gz": gzip.compress(b"x,not,not\n1,a,b\n2,b,c\n"),
    "bad.csv.gz": b"no gzip",
    "bad.npz": b"no zip",
    "sheet.xlsx": b"x",
    "damaged.ybar": b"ybar-model 1 5 00\nabcde",
    "newer.ybar": b"ybar-model 9 5 00\nabcde",
    "text.ybar": b"hello",
}


FIT = ["fit", "answers.csv", "--label", "not", "--method", "logistic"]


MODEL = "MODEL"


SIMULATE = ["simulate", "test.csv", "--target", "label"]
WRONG = {
    "no command": (["nonsense"], 2, "'nonsense'"),
    "no data": (["fit"], 2, "DATA"),
    "no label": (["fit", "answers.csv"], 2, "--label"),
    "missing file": (["fit", "none.csv", "--label", "not"], 2, "none.csv"),
    "unknown column": (["fit", "answers.csv", "--label", "nto"], 2, "--label", "'nto'"),
    "unknown option": ([*FIT, "--colour", "red"], 2, "--colour"),
    "unknown method": ([*FIT, "--method", "oak"], 2, "--method", "'oak'"),
    "unknown decoder": ([*FIT, "--decoder", "l3"], 2, "--decoder", "'l3'"),
    "one class named": ([*FIT, "--classes", "bird"], 2, "--classes", "'bird'"),
    "a class twice": ([*FIT, "--classes", "bird,cat,dog,cat"], 2, "--classes", "'cat'"),
    "label outside classes": ([*FIT, "--classes", "bird,cat"], 2, "'dog' in row", "--classes"),
    "unknown matrix": ([*FIT, "--transition", "unifrom"], 2, "--transition", "'unifrom'"),
    "matrix that does not sum": ([*FIT, "--transition", "T_sum.csv"], 2, "T_sum.csv", "1.1"),
    "matrix of words": ([*FIT, "--transition", "T_words.csv"], 2, "T_words.csv", "'c'"),
    "matrix of other classes": ([*FIT, "--transition", "T_names.csv"], 2, "x, y, z", "'bird'"),
    "matrix of another size": ([*FIT, "--transition", "T_size.csv"], 2, "T_size.csv", "3 classes"),
    "uneven matrix": ([*FIT, "--transition", "T_uneven.csv"], 2, "T_uneven.csv"),
    "no such true column": (
        [*FIT, "--transition", "estimate:truth"],
        *(2, "--transition estimate:", "'truth'"),
    ),
    "empty file": (["fit", "empty.csv", "--label", "not"], 2, "empty.csv"),
    "no rows": (["fit", "header.csv", "--label", "not"], 2, "header.csv"),
    "binary": (["fit", "binary.csv", "--label", "not"], 2, "binary.csv"),
    "another encoding": (["fit", "latin.csv", "--label", "not"], 2, "latin.csv", "utf-8"),
    "wrong delimiter": (["fit", "semicolon.csv", "--label", "not"], 2, "--delimiter ';'"),
    "long delimiter": ([*FIT, "--delimiter", "::"], 2, "--delimiter", "'::'"),
    "ragged": (["fit", "ragged.csv", "--label", "not"], 2, "ragged.csv", "line 3"),
    "all ruled out": (["fit", "all_out.csv", "--label", "not"], 2, "row 3", "3 classes"),
    "a model to standard output": ([*FIT, "--model", "-"], 2, "--model", "got -"),
    "a name twice": (["fit", "twice.csv", "--label", "not"], 2, "twice.csv", "'not'"),
    "a name too few": (["fit", "short.csv", "--label", "not"], 2, "short.csv"),
    "a mark and nothing": (["fit", "bom.csv", "--label", "not"], 2, "bom.csv"),
    "a name that predict writes": (
        ["predict", MODEL, "predicted.csv", "--keep", "predicted"],
        *(2, "--keep", "'predicted'"),
    ),
    "only one class": (["fit", "one_class.csv", "--label", "not"], 2, "2 classes", "'a'"),
    "no labels": (["fit", "no_labels.csv", "--label", "not"], 2, "2 classes", "[]"),
    "no features": (["fit", "no_features.csv", "--label", "not"], 2, "column to learn from"),
    "too few rows": (["fit", "few.csv", "--label", "not"], 2, "2 labelled rows"),
    "infinite": (["fit", "infinite.csv", "--label", "not"], 2, "'x'", "infinite"),
    "bad parquet": (["fit", "bad.parquet", "--label", "not"], 2, "bad.parquet"),
    "bad npz": (["fit", "bad.npz", "--label", "not"], 2, "bad.npz"),
    "unknown kind": (["fit", "sheet.xlsx", "--label", "not"], 2, "sheet.xlsx", "'.xlsx'"),
    "folder without images": (["fit", "nothing", "--label", "not"], 2, "nothing", ".png"),
    "model in no folder": ([*FIT, "--model", "no/m.ybar"], 2, "--model", "no"),
    "model where none may be": ([*FIT, "--model", "/proc/m.ybar"], 1, "/proc"),
    "negative time": ([*FIT, "--time-limit", "-1"], 2, "--time-limit", "-1"),
    "left out column": ([*FIT, "--leave-out", "nothing"], 2, "--leave-out", "'nothing'"),
    "no model": (["predict", "none.ybar", "test.csv"], 2, "MODEL", "none.ybar"),
    "damaged model": (["predict", "damaged.ybar", "test.csv"], 2, "damaged.ybar"),
    "newer model": (["predict", "newer.ybar", "test.csv"], 2, "newer.ybar", "pip install -U"),
    "no model at all": (["predict", "text.ybar", "test.csv"], 2, "text.ybar"),
    "other columns": (["predict", MODEL, "semicolon.csv", "--delimiter", ";"], 2, "'length'"),
    "words for numbers": (["predict", MODEL, "words.csv"], 2, "'length'", "'long'"),
    "unknown keep": (["predict", MODEL, "test.csv", "--keep", "no"], 2, "--keep", "'no'"),
    "output in no folder": (["predict", MODEL, "test.csv", "-o", "no/o.csv"], 2, "--output", "no"),
    "evaluate by nothing": (["evaluate", MODEL, "test.csv"], 2, "--true", "--label"),
    "evaluate by no column": (["evaluate", MODEL, "test.csv", "--true", "x"], 2, "--true", "'x'"),
    "unknown true class": (["evaluate", MODEL, "test.csv", "--true", "id"], 2, "id", "'animal 0'"),
    "simulate by no column": (["simulate", "test.csv", "--target", "x"], 2, "--target", "'x'"),
    "simulate gaps": (["simulate", "test.csv", "--target", "colour"], 2, "colour", "of 200"),
    "noise above 1": ([*SIMULATE, "--noise", "2"], 2, "--noise"),
    "no labels drawn": ([*SIMULATE, "--labels", "0"], 2, "--labels"),
    "taken name": ([*SIMULATE, "--column", "not"], 2, "--column", "'not'"),
    "unknown matrix to draw from": (
        [*SIMULATE, "--transition", "srtong"],
        *(2, "--transition", "'srtong'"),
    ),
    "no matrix": (["transition", "describe", "none.csv"], 2, "T must", "'none.csv'"),
    "no size": (["transition", "describe", "strong"], 2, "T must", "'strong'"),
    "one class of T": (["transition", "describe", "uniform:1"], 2, "got 1"),
    "two sizes": (["transition", "compare", "uniform:3", "uniform:4"], 2, "3 and 4"),
    "picture of no kind": (["transition", "draw", "uniform:3", "-o", "a.doc"], 2, ".png", "a.doc"),
    "matrix of no format": (
        ["transition", "make", "uniform:3", "-o", "T.parquet"],
        *(2, "--output", "'T.parquet'"),
    ),
    "names of another number": (
        ["transition", "make", "uniform:3", "--classes", "a,b"],
        *(2, "--classes", "got 2"),
    ),
    "report of nothing": (["report", "none.ybar"], 2, "none.ybar"),
    "report of no ledger": (["report", "none.sqlite"], 2, "none.sqlite"),
    "report of no plan": (["report", "runs.csv", "--plan", "papre"], 2, "papre"),
    "report without its data": (["report", MODEL, "--true", "y"], 2, "--true", "DATA"),
    "a folder for a model": ([*FIT, "--model", "nothing"], 2, "--model", "nothing"),
    "a file for a folder": (["demo", "-o", "few.csv"], 2, "--output", "few.csv"),
    "no separator": ([*FIT, "--separator", ""], 2, "--separator", "''"),
    "a separator in a class": ([*SIMULATE, "--separator", "i"], 2, "--separator", "'i'", "'bird'"),
    "other classes to evaluate by": (
        ["evaluate", MODEL, "other.csv", "--label", "not"],
        *(2, "bird, cat, dog", "'a'"),
    ),
    "classes in another encoding": ([*FIT, "--classes", "latin.csv"], 2, "--classes", "latin.csv"),
    "too much of T": (["transition", "describe", "strong:3:0:junk"], 2, "T must", ":junk"),
    "a seed of uniform": (["transition", "describe", "uniform:3:0"], 2, "T must", "uniform:3:0"),
    "infinite to predict": (["predict", MODEL, "words_infinite.csv"], 2, "'length'", "infinite"),
    "wrong delimiter, gzipped": (["fit", "s.csv.gz", "--label", "not"], 2, "--delimiter ';'"),
    "a name twice, gzipped": (["fit", "t.csv.gz", "--label", "not"], 2, "t.csv.gz", "'not'"),
    "no gzip": (["fit", "bad.csv.gz", "--label", "not"], 2, "bad.csv.gz"),
    "no time": ([*FIT, "--time-limit", "0"], 2, "--time-limit", "got 0"),
    "unknown data set": (["data", "verify", "minst"], 2, "NAME", "'minst'", "mnist?"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_line_with_its_exit_code_and_leaves_no_files(
    folder, fitted, what, monkeypatch
):
    monkeypatch.setenv("YBAR_CACHE", str(fitted[0] / "cache"))
    monkeypatch.delenv("YBAR_DATA", raising=False)
    arguments, code, *parts = WRONG[what]
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "nothing").mkdir()
    table(5).assign(length="long").to_csv("words.csv", index=False)
    table(5).assign(length=np.inf).to_csv("words_infinite.csv", index=False)
    before = sorted(os.listdir(folder))
    arguments = [str(fitted[0] / "model.ybar") if a == MODEL else a for a in arguments]
    done = run(*arguments)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    for part in parts:
        assert part in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("ybar: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(os.listdir(folder)) == before


def test_there_are_enough_mistakes():
    assert len(WRONG) >= 40


def test_a_full_disk_leaves_the_old_model(folder, fitted, monkeypatch):
    (folder / "model.ybar").write_bytes((fitted[0] / "model.ybar").read_bytes())
    before = (folder / "model.ybar").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = run(*FIT)
    assert done.exit_code == 1
    assert "model.ybar" in done.stderr
    assert "No space left" in done.stderr
    assert (folder / "model.ybar").read_bytes() == before
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


# --- bugs ----------------------------------------------------------------------------------------


@pytest.fixture
def reports(tmp_path_factory, monkeypatch):
    """The folder that tracebacks are written to."""
    place = tmp_path_factory.mktemp("reports")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def fail(error):
    def raise_it(*_, **__):
        raise error

    return raise_it


BUGS = [ValueError("shapes differ"), TypeError("no int"), KeyError("x"), RuntimeError("state")]
BROKEN = {
    "fit": (FIT, scoring, "label_losses"),
    "fit all rows": (FIT, candidates, "fit_to_all"),
    "the form of a table": (FIT, files, "_checked"),
    "features": (FIT, model, "as_features"),
    "predict": (["predict", MODEL, "test.csv"], model.TableClassifier, "predict"),
    "evaluate": (["evaluate", MODEL, "test.csv", "--true", "label"], evaluation, "by_confusion"),
    "simulate": (SIMULATE, labels, "draw"),
    "transition": (["transition", "describe", "uniform:3"], transition, "describe"),
    "data": (["data", "verify"], cli_data, "_verify"),
    "report": (["report", MODEL], page, "build"),
    "reading a ledger's page": (["report", "runs.sqlite"], outputs, "page"),
}


@pytest.mark.parametrize(
    ("where", "error"),
    [*((where, BUGS[0]) for where in BROKEN), *(("transition", error) for error in BUGS[1:])],
    ids=lambda case: case if isinstance(case, str) else type(case).__name__,
)
def test_a_bug_is_reported_as_one_with_its_traceback_in_a_file(
    folder, fitted, reports, monkeypatch, where, error
):
    arguments, module, name = BROKEN[where]
    arguments = [str(fitted[0] / "model.ybar") if a == MODEL else a for a in arguments]
    with Ledger(folder / "runs.sqlite"):
        pass
    monkeypatch.setattr(module, name, fail(error))
    done = run(*arguments)
    assert done.exit_code == 1, done.stderr
    (line,) = done.stderr.strip().splitlines()
    (report,) = reports.iterdir()
    assert str(report) in line
    assert type(error).__name__ in line
    text = report.read_text("utf-8")
    assert "Traceback" in text
    assert "in raise_it" in text


def test_a_traceback_that_cannot_be_written_is_printed(folder, monkeypatch):
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", fail(OSError(28, "full")))
    monkeypatch.setattr(transition, "describe", fail(KeyError("x")))
    done = run("transition", "describe", "uniform:3")
    assert done.exit_code == 1
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("ybar: ")


def test_a_candidate_that_refuses_the_data_does_not_stop_the_others(folder, reports, monkeypatch):
    monkeypatch.setattr(candidates, "AUTO", ("logistic", "knn"))
    monkeypatch.setattr(CPEClassifier, "fit", fail(ValueError("refused")))
    done = run("fit", "answers.csv", "--label", "not", "--json")
    assert done.exit_code == 0, done.stderr
    results = {each["method"]: each["failed"] for each in json.loads(done.stdout)["tried"]}
    assert results == {"logistic": "ValueError: refused", "knn": None}


def test_if_no_candidate_can_be_fitted_that_is_a_failure_with_its_traceback(
    folder, reports, monkeypatch
):
    monkeypatch.setattr(CPEClassifier, "fit", fail(ValueError("refused")))
    done = run(*FIT)
    assert done.exit_code == 1
    (line,) = done.stderr.strip().splitlines()
    (report,) = reports.iterdir()
    assert str(report) in line
    assert "in raise_it" in report.read_text("utf-8")
    assert not Path("model.ybar").exists()


def test_an_interruption_has_its_own_exit_code(folder, monkeypatch):
    monkeypatch.setattr(transition, "describe", fail(KeyboardInterrupt()))
    done = run("transition", "describe", "uniform:3")
    assert (done.exit_code, len(done.stderr.splitlines())) == (130, 1)


def test_a_missing_extra_is_a_failure_and_names_the_pip_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    done = run(*FIT)
    assert done.exit_code == 1
    assert 'pip install "ybar[data]"' in done.stderr


def test_a_broken_import_of_ours_is_a_bug(folder, reports, monkeypatch):
    monkeypatch.setattr(transition, "describe", fail(ImportError("cannot import name 'x'")))
    done = run("transition", "describe", "uniform:3")
    assert done.exit_code == 1
    assert len(list(reports.iterdir())) == 1


def test_help_and_a_missing_command_are_not_mistakes_with_a_traceback(reports):
    assert run("--help").exit_code == 0
    assert "Usage" in run("transition").stderr
    assert not list(reports.iterdir())


def test_the_version_is_printed():
    assert run("--version").stdout.startswith("ybar ")


def test_a_model_that_fit_did_not_write_is_a_mistake(folder):
    save(CPEClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]), "plain.ybar")
    done = run("predict", "plain.ybar", "test.csv")
    assert done.exit_code == 2
    assert all(part in done.stderr for part in ("MODEL", "plain.ybar", "CPEClassifier"))
