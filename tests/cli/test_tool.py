"""The command line on users' files: from "not this" answers to a model, and every mistake said."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ybar
from ybar import datasets, labels, transition

pytest.importorskip("typer")
pytest.importorskip("torch")
from typer.testing import CliRunner
from ybar.tool import demo

from ybar.cli import app
from ybar.experiments.runs.ledger import Ledger
from ybar.tables import candidates, columns, files
from ybar.tables import labels as complementary
from ybar.transition.reading import MatrixError, read_matrix

CLASSES = ["bird", "cat", "dog"]


def ybar_(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


def table(n=600, seed=0, T=None):
    """Rows that numbers, categories, texts and gaps tell the class of, and answers about it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    T = transition.uniform(3) if T is None else T
    words = [["sings", "flies", "nests"], ["purrs", "sleeps", "climbs"], ["barks", "runs", "digs"]]
    length = y + rng.normal(0, 0.4, n)
    length[rng.random(n) < 0.1] = np.nan
    colour = np.array(["red", "grey", "brown"])[np.where(rng.random(n) < 0.8, y, rng.integers(3))]
    frame = pd.DataFrame(
        {
            "id": [f"animal {i}" for i in range(n)],
            "length": length,
            "noise": rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.05, None, colour),
            "text": [
                "it " + " ".join(rng.choice(words[c] + ["is", "seen"], 4)) + " here" for c in y
            ],
            "constant": 1,
            "label": np.array(CLASSES)[y],
        }
    )
    frame["not"] = np.array(CLASSES)[labels.draw(y, T, random_state=seed)]
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = table()
    whole.drop(columns="label").to_csv("answers.csv", index=False)
    table(200, 1).to_csv("test.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model by logistic regression, and the account of it."""
    place = tmp_path_factory.mktemp("fitted")
    table().drop(columns="label").to_csv(place / "answers.csv", index=False)
    table(200, 1).to_csv(place / "test.csv", index=False)
    arguments = ["--label", "not", "--method", "logistic", "--model", place / "model.ybar"]
    done = ybar_("fit", place / "answers.csv", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return place, json.loads(done.stdout)


def accuracy(model, frame):
    return np.mean(model.predict(frame) == frame["label"].to_numpy())


# --- fit -----------------------------------------------------------------------------------------


def test_a_table_of_every_kind_of_column_is_learned_from_what_its_rows_are_not(fitted):
    place, account = fitted
    model = ybar.load(place / "model.ybar")
    assert accuracy(model, table(200, 1)) > 0.9
    assert account["classes"] == CLASSES
    assert account["columns"]["numbers"] == ["length", "noise"]
    assert account["columns"]["categories"] == ["colour"]
    assert account["columns"]["texts"] == ["text"]
    assert set(account["left_out"]) == {"id", "constant"}
    assert account["method"] == "logistic"
    assert account["informative"]
    true = accuracy(model, table(200, 1))
    assert abs(account["expected_accuracy"] - true) < 4 * account["expected_accuracy_std_error"]
    assert model.account_ | {"model": account["model"]} == account


def test_auto_tries_candidates_chooses_by_scel_and_shows_the_table(folder, monkeypatch):
    monkeypatch.setattr(candidates, "AUTO", ("logistic", "knn", "boosting"))
    done = ybar_("fit", "answers.csv", "--label", "not")
    assert done.exit_code == 0, done.stderr
    for word in ("logistic", "knn", "boosting", "the best constant guess", "Expected accuracy"):
        assert word in done.stdout
    assert "column 'id' is left out" in done.stderr
    account = ybar.load("model.ybar").account_
    tried = {each["method"]: each["scel"] for each in account["tried"]}
    assert account["method"] == min(tried, key=tried.get)
    assert account["scel"] == min(tried.values()) < account["scel_of_the_best_constant_guess"]


@pytest.mark.parametrize("method", ["knn", "boosting", "cpe-f", "scl-nl"])
def test_every_kind_of_method_fits_predicts_and_is_loaded_again(folder, method):
    done = ybar_("fit", "answers.csv", "--label", "not", "--method", method, "--time-limit", 20)
    assert done.exit_code == 0, done.stderr
    assert accuracy(ybar.load("model.ybar"), table(200, 1)) > 0.75


def test_several_labels_a_row_in_columns_or_cells_are_the_same(folder):
    frame = table()
    second = labels.draw(
        frame["label"].map(CLASSES.index).to_numpy(), transition.uniform(3), random_state=9
    )
    frame["also"] = np.array(CLASSES)[second]
    frame["both"] = frame["not"] + " | " + frame["also"]
    frame.loc[3, ["also", "both"]] = [None, frame.loc[3, "not"]]
    one = complementary.read_labels(frame, ["not", "also"], None)
    other = complementary.read_labels(frame, ["both"], None)
    np.testing.assert_array_equal(one.mask, other.mask)
    frame["listed"] = [[a, b] if b else [a] for a, b in frame[["not", "also"]].values]
    frame.loc[5, "listed"] = None
    frame[["listed", "not"]].to_parquet("listed.parquet")
    listed = complementary.read_labels(files.read("listed.parquet"), ["listed"], None)
    np.testing.assert_array_equal(listed.mask[6:], one.mask[6:])
    assert not listed.mask[5].any()
    assert one.mask.sum(axis=1).max() == 2
    frame.drop(columns=["label", "not", "also"]).to_csv("both.csv", index=False)
    done = ybar_("fit", "both.csv", "--label", "both", "--method", "logistic", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["labels"] == one.mask.sum()


def test_a_matrix_from_a_file_or_from_a_few_true_labels_is_used(folder):
    T = np.array([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]])
    frame = table(T=T)
    frame.loc[60:, "label"] = None
    frame.to_csv("few.csv", index=False)
    order = [2, 0, 1]  # named in another order than the classes are in
    names = [CLASSES[i] for i in order]
    pd.DataFrame(T[np.ix_(order, order)], index=names, columns=names).to_csv("T.csv")
    shared = ["--label", "not", "--method", "logistic", "--json"]
    exact = json.loads(
        ybar_("fit", "few.csv", *shared, "--transition", "T.csv", "--leave-out", "label").stdout
    )
    np.testing.assert_allclose(exact["transition"]["T"], T)
    estimated = ybar_("fit", "few.csv", *shared, "--transition", "estimate:label")
    assert estimated.exit_code == 0, estimated.stderr
    found = json.loads(estimated.stdout)
    np.testing.assert_allclose(found["transition"]["T"], T, atol=0.2)
    assert "60 rows with a true label" in found["transition"]["source"]
    assert "label" not in found["columns"]["categories"]
    assert accuracy(ybar.load("model.ybar"), table(200, 1)) > 0.85


def test_labels_that_say_nothing_are_said_to_say_nothing(folder):
    frame = table().drop(columns="label")
    frame["not"] = np.random.default_rng(5).choice(CLASSES, len(frame))
    frame.to_csv("noise.csv", index=False)
    done = ybar_("fit", "noise.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0
    assert "too little information to learn from" in done.stdout


def test_a_class_that_is_never_ruled_out_is_said_to_spoil_the_model(folder):
    frame = table().drop(columns="label")
    frame[frame["not"] != "dog"].to_csv("two.csv", index=False)
    arguments = ["--label", "not", "--method", "logistic", "--classes", "bird,cat,dog"]
    done = ybar_("fit", "two.csv", *arguments)
    assert done.exit_code == 0, done.stderr
    assert "dog is never among the complementary labels" in done.stdout
    assert "never among" not in ybar_("fit", "answers.csv", *arguments).stdout


def test_standard_errors_are_over_rows_not_labels():
    losses = np.repeat(np.random.default_rng(0).random(50), 2)
    twice, once = np.ones((50, 2), dtype=bool), np.eye(2, dtype=bool)[[0] * 50]
    same = candidates.mean_and_error(losses, twice)
    np.testing.assert_allclose(same, candidates.mean_and_error(losses[::2], once))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "npz", "stdin"])
def test_every_kind_of_file_gives_the_same_model(folder, kind):
    frame = table().drop(columns=["label", "text", "colour", "id"]).fillna(0.0)
    source, stdin = f"data.{kind}", None
    if kind.startswith("csv"):
        frame.to_csv(source, index=False)
    elif kind == "tsv":
        frame.to_csv(source, index=False, sep="\t")
    elif kind == "parquet":
        frame.to_parquet(source)
    elif kind == "npz":
        np.savez(source, **{n: frame[n].to_numpy().astype("U4" if n == "not" else float)
                            for n in frame})  # fmt: skip
    else:
        source, stdin = "-", frame.to_csv(index=False)
    done = ybar_("fit", source, "--label", "not", "--method", "logistic", "--json", stdin=stdin)
    assert done.exit_code == 0, done.stderr
    told = candidates.Told(
        columns.find(frame, ["not"]),
        complementary.read_labels(frame, ["not"], None),
        transition.uniform(3),
    )
    (tried,) = candidates.try_all(["logistic"], frame, told)
    assert json.loads(done.stdout)["scel"] == pytest.approx(tried.scel, rel=1e-6)


def test_a_folder_of_images_is_learned(folder):
    image = pytest.importorskip("PIL.Image")
    d = datasets.load("digits")
    keep = d.y_train < 3
    X, y = d.X_train[keep][:240], d.y_train[keep][:240]
    y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    os.makedirs("photos/set")
    names = []
    for i, x in enumerate(X):
        names.append(f"set/{i:03}.png")
        image.fromarray((255 * x).astype(np.uint8).reshape(8, 8)).save(f"photos/{names[-1]}")
    pd.DataFrame({"file": names, "not": y_comp, "true": y}).to_csv("photos/labels.csv", index=False)
    arguments = ["--label", "not", "--leave-out", "true", "--method", "logistic"]
    done = ybar_("fit", "photos", *arguments, "--image-size", 8)
    assert done.exit_code == 0, done.stderr
    judge = ["evaluate", "model.ybar", "photos", "--true", "true", "--json"]
    for size in ([], ["--image-size", 8]):
        assert json.loads(ybar_(*judge, *size).stdout)["accuracy"] > 0.85
    done = ybar_(*judge, "--image-size", 12)
    assert done.exit_code == 2
    assert (
        "--image-size must be that of the images the model was fitted to, 8; got 12" in done.stderr
    )


@pytest.mark.parametrize("method", ["logistic", "knn", "boosting"])
def test_rows_to_predict_may_have_gaps_where_those_to_learn_from_had_none(folder, method):
    frame = table()[["noise", "length", "not"]].fillna(0.5)
    frame.to_csv("full.csv", index=False)
    done = ybar_("fit", "full.csv", "--label", "not", "--method", method)
    assert done.exit_code == 0, done.stderr
    done = ybar_("predict", "model.ybar", "-", stdin="noise,length\n,2\n0.1,\n")
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


def test_classes_called_na_and_numbers_keep_their_names(folder):
    frame = pd.DataFrame({"x": np.arange(60.0), "not": ["NA", "10", "9"] * 20})
    frame.to_csv("na.csv", index=False)
    done = ybar_("fit", "na.csv", "--label", "not", "--method", "logistic", "--json")
    assert json.loads(done.stdout)["classes"] == ["9", "10", "NA"]


def test_names_are_kept_as_they_are_written_whatever_else_is_in_the_file(folder):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    rows = [
        f"{['01', '02', 'x9'][c]},{rng.integers(9)},0{k + 1}"
        for c, k in zip(y, y_comp, strict=True)
    ]
    Path("codes.csv").write_text("\n".join(["zip,n,not", *rows]))
    done = ybar_(
        "fit", "codes.csv", "--label", "not", "--classes", "01,02,03", "--method", "logistic"
    )
    assert done.exit_code == 0, done.output
    alone = "zip,n,id\n01,1,0070\n02,2,\n"
    for given in (alone, alone + "x9,3,123456789\n"):
        Path("new.csv").write_text(given)
        out = ybar_("predict", "model.ybar", "new.csv", "--keep", "zip", "--keep", "id").stdout
        assert out.splitlines()[:3] == ["zip,id,predicted", "01,0070,01", "02,,02"]
    assert out.splitlines()[3] == "x9,123456789,03"
    out = ybar_("simulate", "new.csv", "--target", "zip", "-o", "-").stdout
    assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [
        ["1", "0070"],
        ["2", ""],
        ["3", "123456789"],
    ]


def test_the_same_seed_gives_the_same_model(folder):
    accounts = []
    for _ in range(2):
        done = ybar_("fit", "answers.csv", "--label", "not", "--method", "knn", "--json")
        account = json.loads(done.stdout)
        for tried in account["tried"]:
            tried.pop("seconds")
        accounts.append(account)
    assert accounts[0] == accounts[1]


# --- predict, evaluate, simulate -----------------------------------------------------------------


def test_predictions_are_the_models_in_every_form(fitted, tmp_path):
    place, _ = fitted
    model, frame = ybar.load(place / "model.ybar"), table(200, 1)
    out = tmp_path / "out.csv"
    arguments = ["predict", place / "model.ybar", place / "test.csv", "--proba", "--keep", "id"]
    done = ybar_(*arguments, "-o", out)
    assert done.exit_code == 0, done.stderr
    assert "200 rows written" in done.stderr
    written = pd.read_csv(out)
    assert list(written.columns) == ["id", "predicted", *(f"p_{name}" for name in CLASSES)]
    assert (written["predicted"] == model.predict(frame)).all()
    p = written[[f"p_{name}" for name in CLASSES]].to_numpy()
    np.testing.assert_allclose(p, model.predict_proba(frame), atol=1e-5)
    shown = ybar_(*arguments)
    assert shown.stdout == out.read_text()
    lines = ybar_(*arguments, "--json").stdout.splitlines()
    assert json.loads(lines[7])["predicted"] == written["predicted"][7]
    piped = ybar_("predict", place / "model.ybar", "-", stdin=(place / "test.csv").read_text())
    assert piped.stdout.split() == ["predicted", *written["predicted"]]


def test_rows_are_predicted_some_at_a_time(fitted, monkeypatch):
    place, _ = fitted
    whole = ybar_("predict", place / "model.ybar", place / "test.csv").stdout
    monkeypatch.setattr(files.chunks, "__kwdefaults__", {**files.chunks.__kwdefaults__, "rows": 33})
    assert ybar_("predict", place / "model.ybar", place / "test.csv").stdout == whole


def test_a_model_is_judged_by_true_and_by_complementary_labels(fitted):
    place, _ = fitted
    arguments = ["evaluate", place / "model.ybar", place / "test.csv", "--true", "label"]
    done = ybar_(*arguments, "--label", "not", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    model = ybar.load(place / "model.ybar")
    assert found["accuracy"] == pytest.approx(accuracy(model, table(200, 1)))
    assert np.trace(found["confusion"]) == round(200 * found["accuracy"])
    sure = 4 * found["expected_accuracy_std_error"]
    assert abs(found["expected_accuracy"] - found["accuracy"]) < sure
    assert found["scel"] < found["scel_of_the_best_constant_guess"]
    text = ybar_(*arguments, "--label", "not").stdout
    for word in ("Accuracy", "SCEL", "without true labels", "bird"):
        assert word in text


def test_simulated_labels_follow_the_matrix(folder):
    n = 30_000
    frame = pd.DataFrame({"x": np.arange(n), "label": np.array(CLASSES * (n // 3))})
    frame.to_csv("true.csv", index=False)
    arguments = ["--target", "label", "--transition", "strong", "--write-transition", "T.csv"]
    done = ybar_("simulate", "true.csv", *arguments, "--noise", 0.3, "--keep-true", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    T = read_matrix("T.csv")
    assert T.classes == CLASSES
    drawn = pd.read_csv("out.csv")
    counts = pd.crosstab(drawn["label"], drawn["not_label"], normalize="index")
    np.testing.assert_allclose(counts, 0.7 * T.T + 0.1, atol=0.015)
    done = ybar_("simulate", "true.csv", "--target", "label", "--labels", 3)
    cells = pd.read_csv(io.StringIO(done.stdout))
    assert "label" not in cells
    assert cells["not_label"].str.contains("|", regex=False).any()


# --- transition and data -------------------------------------------------------------------------


def test_transition_matrices_are_described_drawn_compared_made_and_estimated(folder):
    assert "gamma" in ybar_("transition", "describe", "uniform:10").stdout
    assert json.loads(ybar_("transition", "describe", "strong:4", "--json").stdout)["singular"] in (
        True,
        False,
    )
    done = ybar_("transition", "make", "strong:3:7", "--classes", "a,b,c", "-o", "T.csv")
    assert done.exit_code == 0, done.stderr
    assert read_matrix("T.csv").classes == ["a", "b", "c"]
    np.testing.assert_allclose(read_matrix("T.csv").T, transition.strong(3, 7))
    assert "0.87" in ybar_("transition", "draw", "T.csv").stdout
    compared = json.loads(ybar_("transition", "compare", "T.csv", "uniform:3", "--json").stdout)
    expected = transition.epsilon(transition.strong(3, 7), transition.uniform(3))
    assert compared["largest difference of a row (epsilon, L1)"] == pytest.approx(expected)
    done = ybar_("transition", "estimate", "test.csv", "--true", "label", "--label", "not")
    assert done.stdout.startswith(",bird,cat,dog\n")


def test_a_matrix_may_come_from_standard_input():
    made = ybar_("transition", "make", "strong:3", "--noise", "0.1").stdout
    assert ybar_("transition", "describe", "-", stdin=made).exit_code == 0
    done = ybar_("transition", "describe", "-", stdin="a,b\n")
    assert done.exit_code == 2
    assert done.stderr.startswith("ybar: standard input must hold a transition matrix")


def test_names_that_look_like_markup_are_shown_as_they_are(folder):
    Path("T.csv").write_text(",[/b],[red]a\n[/b],0,1\n[red]a,1,0\n")
    done = ybar_("transition", "draw", "T.csv")
    assert done.exit_code == 0, done.output
    assert "[/b]" in done.stdout
    assert "[red]a" in done.stdout


def test_bytes_are_names(folder):
    np.savez("a.npz", x=np.arange(3.0), label=np.array(["é".encode(), b"a", b"b"]))
    found = complementary.read_labels(files.read("a.npz"), ["label"], None)
    assert found.classes == ["a", "b", "é"]


def test_a_line_of_names_may_be_longer_than_what_is_looked_at(folder):
    names = [f"column {i}" for i in range(7_000)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    assert list(files.read("wide.csv").columns) == names


def test_standard_input_is_looked_at_as_files_are():
    done = ybar_("fit", "-", "--label", "not", stdin="x;not\n1;a\n2;b\n")
    assert done.exit_code == 2
    assert "standard input has no ',' in its first line, but ';'" in done.stderr


def test_every_command_that_reads_a_table_takes_its_form(folder, fitted):
    frame = table(200)
    frame["not"] += "/" + frame["not"]
    frame.to_csv("form.csv", index=False, sep=";")
    form = ["--delimiter", ";", "--separator", "/"]
    done = ybar_("transition", "estimate", "form.csv", "--true", "label", "--label", "not", *form)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(",bird,cat,dog\n")
    model = fitted[0] / "model.ybar"
    done = ybar_("report", model, "form.csv", "--label", "not", *form, "-o", "page.html")
    assert done.exit_code == 0, done.stderr
    assert "SCEL" in Path("page.html").read_text("utf-8")


def test_columns_of_no_use_are_told_by_their_reason(folder):
    frame = table(200).assign(**{f"zero{i}": 0 for i in range(9)})
    frame.drop(columns="label").to_csv("zeros.csv", index=False)
    done = ybar_("fit", "zeros.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0, done.stderr
    assert "note: 10 columns are left out ('constant', 'zero0', " in done.stderr
    assert done.stderr.count("always the same") == 1


def test_a_tab_may_be_written_out(folder):
    frame = table()[["length", "noise", "not"]]
    frame.to_csv("tabbed.csv", index=False, sep="\t")
    said = ybar_("fit", "tabbed.csv", "--label", "not", "--method", "logistic")
    assert said.exit_code == 2
    advice = re.search(r"--delimiter '(.*?)'", said.stderr)[1]
    for delimiter in (advice, "tab"):
        done = ybar_(
            "fit", "tabbed.csv", "--label", "not", "--method", "logistic", "--delimiter", delimiter
        )
        assert done.exit_code == 0, done.stderr


def test_data_sets_are_listed_and_verified(monkeypatch, tmp_path):
    monkeypatch.setenv("YBAR_CACHE", str(tmp_path))
    monkeypatch.delenv("YBAR_DATA", raising=False)
    assert "digits" in ybar_("data", "list").stdout
    done = ybar_("data", "verify", "kmnist")
    assert (done.exit_code, "not here: ybar data fetch kmnist" in done.stdout) == (1, True)
    for file in datasets.REGISTRY["kmnist"].files:
        (tmp_path / "kmnist").mkdir(exist_ok=True)
        (tmp_path / "kmnist" / file).write_bytes(b"x")
    done = ybar_("data", "verify", "kmnist", "--json")
    assert (done.exit_code, "has 1 bytes instead of" in done.stdout) == (1, True)


# --- demo and report -----------------------------------------------------------------------------


def test_the_demo_prints_a_table_and_writes_a_page(folder, monkeypatch):
    monkeypatch.setattr(demo, "_EPOCHS", 25)
    done = ybar_("demo", "--output", "page")
    assert done.exit_code == 0, done.stderr
    for name in ("uniform T", "strong T", "logistic regression", "boosting", *demo._NETWORKS):
        assert name in done.stdout
    page = (folder / "page" / "index.html").read_text()
    assert page.count("data:image/svg+xml") == 4
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert "network, CPE-T" in page


def test_a_page_tells_of_a_model_with_and_without_new_data(fitted, folder):
    place, account = fitted
    done = ybar_("report", place / "model.ybar")
    assert done.exit_code == 0, done.stderr
    assert account["method"] in (folder / "report.html").read_text()
    labels_ = ["--true", "label", "--label", "not"]
    done = ybar_("report", place / "model.ybar", place / "test.csv", *labels_, "-o", "new.html")
    assert done.exit_code == 0, done.stderr
    page = (folder / "new.html").read_text()
    assert "On new data" in page
    assert page.count("data:image/svg+xml") == 2


def test_a_page_tells_of_a_ledger(folder):
    source = Path(__file__).resolve().parents[2] / "results" / "paper" / "runs.csv"
    done = ybar_("report", source, "-o", "paper.html")
    assert done.exit_code == 0, done.stderr
    assert "CPE-KNN" in (folder / "paper.html").read_text()


def test_a_ledger_is_known_by_what_it_is_not_by_its_name(folder):
    with Ledger(folder / "runs.db"):
        pass
    done = ybar_("report", "runs.db", "-o", "paper.html")
    assert done.exit_code == 0, done.stderr
    assert "0 of the" in (folder / "paper.html").read_text()


# --- mistakes ------------------------------------------------------------------------------------


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
WRONG = {
    "no command": (["nonsense"], 2, "No such command"),
    "no data": (["fit"], 2, "DATA"),
    "no label": (["fit", "answers.csv"], 2, "--label"),
    "missing file": (["fit", "none.csv", "--label", "not"], 2, "none.csv does not exist"),
    "unknown column": (["fit", "answers.csv", "--label", "nto"], 2, "--label must be a column"),
    "unknown option": ([*FIT, "--colour", "red"], 2, "No such option"),
    "unknown method": ([*FIT, "--method", "forest"], 2, "--method must be one of"),
    "unknown decoder": ([*FIT, "--decoder", "l3"], 2, "--decoder must be l1"),
    "one class named": ([*FIT, "--classes", "bird"], 2, "at least 2 classes"),
    "a class twice": ([*FIT, "--classes", "bird,cat,dog,cat"], 2, "'cat' is there twice"),
    "label outside classes": ([*FIT, "--classes", "bird,cat"], 2, "got 'dog' in row"),
    "unknown matrix": ([*FIT, "--transition", "unifrom"], 2, "--transition must be 'uniform'"),
    "matrix that does not sum": ([*FIT, "--transition", "T_sum.csv"], 2, "sum to 1"),
    "matrix of words": ([*FIT, "--transition", "T_words.csv"], 2, "alike"),
    "matrix of other classes": ([*FIT, "--transition", "T_names.csv"], 2, "among the classes"),
    "matrix of another size": ([*FIT, "--transition", "T_size.csv"], 2, "a row for each of the 3"),
    "uneven matrix": ([*FIT, "--transition", "T_uneven.csv"], 2, "transition matrix"),
    "no such true column": ([*FIT, "--transition", "estimate:truth"], 2, "must be a column"),
    "empty file": (["fit", "empty.csv", "--label", "not"], 2, "is empty"),
    "no rows": (["fit", "header.csv", "--label", "not"], 2, "has no rows"),
    "binary": (["fit", "binary.csv", "--label", "not"], 2, "is not text"),
    "another encoding": (["fit", "latin.csv", "--label", "not"], 2, "cannot be read"),
    "wrong delimiter": (["fit", "semicolon.csv", "--label", "not"], 2, "--delimiter ';'"),
    "ragged": (["fit", "ragged.csv", "--label", "not"], 2, "cannot be read"),
    "all ruled out": (["fit", "all_out.csv", "--label", "not"], 2, "row 3 rules out all 3 classes"),
    "a model to standard output": ([*FIT, "--model", "-"], 2, "--model must be a file"),
    "a name twice": (["fit", "twice.csv", "--label", "not"], 2, "'not' is there twice"),
    "a name too few": (["fit", "short.csv", "--label", "not"], 2, "cannot be read"),
    "a mark and nothing": (["fit", "bom.csv", "--label", "not"], 2, "is empty"),
    "a name that predict writes": (
        ["predict", MODEL, "predicted.csv", "--keep", "predicted"],
        2,
        "--keep must not be a column that predict writes",
    ),
    "only one class": (["fit", "one_class.csv", "--label", "not"], 2, "at least 2 classes"),
    "no labels": (["fit", "no_labels.csv", "--label", "not"], 2, "at least 2 classes"),
    "no features": (["fit", "no_features.csv", "--label", "not"], 2, "a column to learn from"),
    "too few rows": (
        ["fit", "few.csv", "--label", "not", "--method", "logistic"],
        2,
        "two different",
    ),
    "infinite": (["fit", "infinite.csv", "--label", "not"], 2, "column 'x' must hold finite"),
    "bad parquet": (["fit", "bad.parquet", "--label", "not"], 2, "bad.parquet cannot be read"),
    "bad npz": (["fit", "bad.npz", "--label", "not"], 2, "bad.npz"),
    "unknown kind": (["fit", "sheet.xlsx", "--label", "not"], 2, "its name ends in '.xlsx'"),
    "folder without images": (["fit", "nothing", "--label", "not"], 2, "has no images"),
    "model in no folder": ([*FIT, "--model", "no/m.ybar"], 2, "--model must lie in a folder"),
    "model where none may be": ([*FIT, "--model", "/proc/m.ybar"], 1, "/proc"),
    "negative time": ([*FIT, "--time-limit", "-1"], 2, "--time-limit"),
    "left out column": ([*FIT, "--leave-out", "nothing"], 2, "--leave-out must be a column"),
    "no model": (["predict", "none.ybar", "test.csv"], 2, "MODEL must be a file that ybar fit"),
    "damaged model": (["predict", "damaged.ybar", "test.csv"], 2, "is damaged"),
    "newer model": (["predict", "newer.ybar", "test.csv"], 2, "Upgrade"),
    "no model at all": (["predict", "text.ybar", "test.csv"], 2, "not a model file"),
    "other columns": (["predict", MODEL, "semicolon.csv", "--delimiter", ";"], 2, "is missing"),
    "words for numbers": (["predict", MODEL, "words.csv"], 2, "must hold numbers"),
    "unknown keep": (["predict", MODEL, "test.csv", "--keep", "no"], 2, "--keep must be"),
    "output in no folder": (
        ["predict", MODEL, "test.csv", "-o", "no/o.csv"],
        2,
        "--output must lie",
    ),
    "evaluate by nothing": (["evaluate", MODEL, "test.csv"], 2, "evaluate needs labels"),
    "evaluate by no column": (["evaluate", MODEL, "test.csv", "--true", "x"], 2, "--true must be"),
    "unknown true class": (["evaluate", MODEL, "test.csv", "--true", "id"], 2, "classes of the"),
    "simulate by no column": (["simulate", "test.csv", "--target", "x"], 2, "--target must be"),
    "simulate gaps": (["simulate", "test.csv", "--target", "colour"], 2, "in every row"),
    "noise above 1": (["simulate", "test.csv", "--target", "label", "--noise", "2"], 2, "--noise"),
    "no labels drawn": (
        ["simulate", "test.csv", "--target", "label", "--labels", "0"],
        2,
        "least 1",
    ),
    "taken name": (["simulate", "test.csv", "--target", "label", "--column", "not"], 2, "already"),
    "no matrix": (["transition", "describe", "none.csv"], 2, "T must be the path"),
    "no size": (["transition", "describe", "strong"], 2, "number of classes"),
    "one class of T": (["transition", "describe", "uniform:1"], 2, "1"),
    "two sizes": (["transition", "compare", "uniform:3", "uniform:4"], 2, "as many classes"),
    "picture of no kind": (["transition", "draw", "uniform:3", "-o", "a.doc"], 2, ".png"),
    "report of nothing": (["report", "none.ybar"], 2, "does not exist"),
    "report of no ledger": (["report", "none.sqlite"], 2, "none.sqlite does not"),
    "report without its data": (["report", MODEL, "--true", "y"], 2, "name the file too"),
    "a folder for a model": ([*FIT, "--model", "nothing"], 2, "--model must be a file"),
    "a file for a folder": (["demo", "-o", "few.csv"], 2, "--output must be a folder"),
    "no separator": ([*FIT, "--separator", ""], 2, "--separator must be"),
    "a separator in a class": (
        ["simulate", "test.csv", "--target", "label", "--separator", "i"],
        2,
        "--separator must not occur in a class; 'bird'",
    ),
    "other classes to judge by": (
        ["evaluate", MODEL, "few.csv", "--label", "not"],
        2,
        "The model knows no others",
    ),
    "classes in another encoding": ([*FIT, "--classes", "latin.csv"], 2, "UTF-8"),
    "too much of T": (["transition", "describe", "strong:3:0:junk"], 2, "strong:3:0:junk"),
    "a seed of uniform": (["transition", "describe", "uniform:3:0"], 2, "uniform:K with"),
    "infinite to predict": (["predict", MODEL, "words_infinite.csv"], 2, "column 'length' must"),
    "wrong delimiter, gzipped": (["fit", "s.csv.gz", "--label", "not"], 2, "--delimiter ';'"),
    "a name twice, gzipped": (["fit", "t.csv.gz", "--label", "not"], 2, "'not' is there twice"),
    "no gzip": (["fit", "bad.csv.gz", "--label", "not"], 2, "bad.csv.gz cannot be read"),
    "no time": ([*FIT, "--time-limit", "0"], 2, "--time-limit"),
    "unknown data set": (["data", "verify", "minst"], 2, "Did you mean mnist?"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_line_with_its_exit_code_and_leaves_nothing(folder, fitted, what):
    arguments, code, said = WRONG[what]
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "nothing").mkdir()
    table(5).assign(length="long").to_csv("words.csv", index=False)
    table(5).assign(length=np.inf).to_csv("words_infinite.csv", index=False)
    before = sorted(os.listdir(folder))
    arguments = [str(fitted[0] / "model.ybar") if a == MODEL else a for a in arguments]
    done = ybar_(*arguments)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    assert said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    if code == 1 or done.stderr.startswith("ybar:"):
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
    done = ybar_(*FIT)
    assert (done.exit_code, "No space left" in done.stderr) == (1, True)
    assert (folder / "model.ybar").read_bytes() == before
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


def test_links_and_pipes_are_written_to_and_not_replaced(folder, fitted):
    Path("new.csv").write_text("length,noise,colour,text\n1,2,red,it sings here\n")
    Path("kept.csv").write_text("old")
    Path("link.csv").symlink_to("kept.csv")
    model = fitted[0] / "model.ybar"
    assert ybar_("predict", model, "new.csv", "-o", "link.csv").exit_code == 0
    assert Path("link.csv").is_symlink()
    assert Path("kept.csv").read_text().startswith("predicted\n")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
    assert ybar_("predict", model, "new.csv", "-o", "pipe").exit_code == 0
    assert reader.communicate(timeout=60)[0].startswith("predicted\n")
    assert Path("pipe").is_fifo()


def test_output_that_nobody_reads_on_is_no_error(fitted):
    place, _ = fitted
    code = "from ybar.__main__ import main; main()"
    command = f"{sys.executable} -c '{code}' predict {place}/model.ybar {place}/test.csv | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "predicted\n"
    assert done.stderr == ""


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", ["NA", "n/a", "?", "-", "NaN"])
def test_words_for_gaps_among_numbers_are_gaps(folder, gap):
    frame = table()
    for name in ("empty", "words"):
        frame.drop(columns="label").to_csv(
            f"{name}.csv", index=False, na_rep=gap if name == "words" else ""
        )
    assert (pd.read_csv("words.csv", keep_default_na=False)["length"] == gap).any()
    for name in ("empty", "words"):
        arguments = ["--method", "logistic", "--leave-out", "colour", "--model", f"{name}.ybar"]
        assert ybar_("fit", f"{name}.csv", "--label", "not", *arguments).exit_code == 0
    predicted = [
        ybar_("predict", model, data, "--proba").stdout
        for model, data in [("empty.ybar", "empty.csv"), ("words.ybar", "words.csv")]
    ]
    assert predicted[0] == predicted[1]
    gaps = pd.read_csv("empty.csv").head(3).assign(length=gap)
    gaps.to_csv("gaps.csv", index=False)
    assert ybar_("predict", "words.ybar", "gaps.csv").exit_code == 0


def test_columns_are_told_apart():
    found = columns.find(table(), ["not", "label"])
    assert found.numbers == ["length", "noise"]
    assert found.categories == ["colour"]
    assert found.texts == ["text"]
    times = pd.DataFrame({"t": pd.date_range("2020", periods=3), "x": [1, 2, 3]})
    assert columns.find(times, []).left_out == {"t": "a time; make numbers of it first"}


def test_numbers_that_gaps_have_made_floats_are_the_names_they_were():
    column = pd.Series([1, None, 3])
    assert complementary.as_names(column) == ["1", None, "3"]
    assert complementary.as_names(pd.Series([1.5, 2.0])) == ["1.5", "2.0"]


def test_a_matrix_may_have_names_on_any_side(tmp_path):
    for text in ("0,1\n1,0\n", "a,b\n0,1\n1,0\n", ",a,b\na,0,1\nb,1,0\n", "a,0,1\nb,1,0\n"):
        (tmp_path / "T.csv").write_text(text)
        found = read_matrix(tmp_path / "T.csv")
        np.testing.assert_array_equal(found.T, [[0, 1], [1, 0]])
        assert found.classes in (None, ["a", "b"])
    (tmp_path / "T.csv").write_text(",a,b\nb,0,1\na,1,0\n")
    with pytest.raises(MatrixError, match="names its rows and columns alike"):
        read_matrix(tmp_path / "T.csv")
    (tmp_path / "T.csv").write_text(",0.87,0.13\n0.87,0,0.13\n0.87,0.13,0\n")
    with pytest.raises(MatrixError, match="fill in the first cell"):
        read_matrix(tmp_path / "T.csv")
