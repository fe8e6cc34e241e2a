"""``ybar fit``: from complementary labels to a model file."""

import json
import os
import re
import signal
import tempfile
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

import ybar
from animals import CLASSES, accuracy, run, table
from ybar import calibration, datasets, labels, transition
from ybar.tables import candidates, columns, deadline, scoring, verdict
from ybar.tables.fitting import UNINFORMATIVE
from ybar.tables.labels import ComplementaryLabels, read_labels
from ybar.tables.training import TrainingTable
from ybar.transition.reading import read_matrix


def test_a_table_with_every_kind_of_column_is_learned_from_complementary_labels(fitted):
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


def test_auto_compares_candidates_selects_by_scel_and_prints_a_table(folder, monkeypatch):
    monkeypatch.setattr(candidates, "AUTO", ("logistic", "knn", "forest", "boosting"))
    done = run("fit", "answers.csv", "--label", "not")
    assert done.exit_code == 0, done.stderr
    for word in (
        "logistic",
        "knn",
        "forest",
        "boosting",
        "the best constant guess",
        "Expected accuracy",
    ):
        assert word in done.stdout
    assert "'id'" in done.stderr
    account = ybar.load("model.ybar").account_
    tried = {each["method"]: each["scel"] for each in account["tried"]}
    assert account["method"] == min(tried, key=tried.get)
    assert account["scel"] == min(tried.values()) < account["scel_of_the_best_constant_guess"]


@pytest.mark.parametrize("method", ["kmeans", "knn", "forest", "boosting", "cpe-f", "scl-nl"])
def test_every_kind_of_method_fits_is_saved_and_predicts(folder, method):
    done = run("fit", "answers.csv", "--label", "not", "--method", method, "--time-limit", 20)
    assert done.exit_code == 0, done.stderr
    assert accuracy(ybar.load("model.ybar"), table(200, 1)) > 0.75


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
        run("fit", "few.csv", *shared, "--transition", "T.csv", "--leave-out", "label").stdout
    )
    np.testing.assert_allclose(exact["transition"]["T"], T)
    estimated = run("fit", "few.csv", *shared, "--transition", "estimate:label")
    assert estimated.exit_code == 0, estimated.stderr
    found = json.loads(estimated.stdout)
    np.testing.assert_allclose(found["transition"]["T"], T, atol=0.2)
    assert "60 rows with a true label" in found["transition"]["source"]
    assert "label" not in found["columns"]["categories"]
    assert accuracy(ybar.load("model.ybar"), table(200, 1)) > 0.85


def test_labels_without_information_are_reported(folder):
    frame = table().drop(columns="label")
    frame["not"] = np.random.default_rng(5).choice(CLASSES, len(frame))
    frame.to_csv("noise.csv", index=False)
    done = run("fit", "noise.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0
    assert UNINFORMATIVE in done.stdout
    assert "Expected accuracy" not in done.stdout
    account = ybar.load("model.ybar").account_
    assert not account["informative"]
    assert account["informative_p_value"] > verdict.LEVEL
    assert account["expected_accuracy"] is account["expected_accuracy_interval"] is None


def test_a_class_that_is_never_ruled_out_is_reported(folder):
    frame = table().drop(columns="label")
    frame[frame["not"] != "dog"].to_csv("two.csv", index=False)
    arguments = ["--label", "not", "--method", "logistic", "--classes", "bird,cat,dog"]
    done = run("fit", "two.csv", *arguments)
    assert done.exit_code == 0, done.stderr
    assert "dog" in after_the_selection(done)
    assert "Expected accuracy" not in done.stdout
    account = ybar.load("model.ybar").account_
    assert account["expected_accuracy"] is account["tried"][0]["error_rate"] is None
    assert not account["transition"]["refuted"]
    for command in ("evaluate", "report"):
        frame[frame["not"] != "dog"].iloc[::-1].assign(length=1.5).to_csv("more.csv", index=False)
        judged = run(command, "model.ybar", "more.csv", "--label", "not")
        assert judged.exit_code == 0, judged.stderr
        assert "Expected accuracy" not in judged.stdout
    # Labels of dog, in the data of fit or of evaluate, are enough.
    judged = run("evaluate", "model.ybar", "test.csv", "--label", "not", "--json")
    assert "dog" not in " ".join(json.loads(judged.stdout)["transition"]["reasons"])
    assert "dog" not in after_the_selection(run("fit", "answers.csv", *arguments))


def after_the_selection(done):
    return done.stdout.split("Selected")[1]


def numbers_only():
    return table().drop(columns=["label", "text", "colour", "id"]).fillna(0.0)


@pytest.fixture(scope="module")
def scel_of_numbers():
    """The SCEL of logistic regression on the table itself, which no file held."""
    frame = numbers_only()
    y_comp = read_labels(frame, ["not"], None)
    features = columns.classify(frame, ["not"])
    data = TrainingTable(frame, features, y_comp, transition.uniform(3), "uniform")
    training, held_out = candidates.split(y_comp.mask, 0)
    build = partial(candidates.build, table=data)
    (result,) = candidates.evaluate_all(["logistic"], data, build, training, held_out)
    q = result.losses
    assert result.scel == scoring.mean_and_std_error(q, y_comp.mask[held_out])[0]
    assert result.settings in candidates.SETTINGS["logistic"]
    return result.scel


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "npz", "stdin"])
def test_every_file_format_gives_the_same_model(folder, kind, scel_of_numbers):
    frame = numbers_only()
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
    done = run("fit", source, "--label", "not", "--method", "logistic", "--json", stdin=stdin)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["scel"] == pytest.approx(scel_of_numbers, rel=1e-6)


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
    done = run("fit", "photos", *arguments, "--image-size", 8)
    assert done.exit_code == 0, done.stderr
    judge = ["evaluate", "model.ybar", "photos", "--true", "true", "--json"]
    for size in ([], ["--image-size", 8]):
        assert json.loads(run(*judge, *size).stdout)["accuracy"] > 0.85
    done = run(*judge, "--image-size", 12)
    assert done.exit_code == 2
    assert all(part in done.stderr for part in ("--image-size", "8", "got 12"))


@pytest.mark.parametrize("word", ["NA", "None", "n/a", "NaN"])
def test_words_for_missing_values_are_not_classes_unless_they_are_named(folder, word):
    frame = pd.DataFrame({"x": np.arange(60.0), "not": [word, "10", "9"] * 20})
    frame.to_csv("na.csv", index=False)
    arguments = ["fit", "na.csv", "--label", "not", "--method", "logistic", "--json"]
    done = run(*arguments)
    assert json.loads(done.stdout)["classes"] == ["9", "10"]
    assert json.loads(done.stdout)["labels"] == 40
    assert all(part in done.stderr for part in ("not", repr(word), "20", "--classes"))
    done = run(*arguments, "--classes", f"9,10,{word}")
    assert json.loads(done.stdout)["classes"] == ["9", "10", word]
    assert json.loads(done.stdout)["labels_per_class"] == [20, 20, 20]
    assert repr(word) not in done.stderr


def test_classes_that_differ_in_case_only_are_reported(folder):
    frame = pd.DataFrame({"x": np.arange(60.0), "not": ["Billing", "billing", "sales"] * 20})
    frame.to_csv("case.csv", index=False)
    done = run("fit", "case.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0, done.stderr
    assert "'Billing' and 'billing'" in done.stderr
    assert "'sales'" not in done.stderr
    assert "Billing: 20, billing: 20, sales: 20" in done.stdout


def test_the_same_seed_gives_the_same_model(folder):
    accounts = []
    for _ in range(2):
        done = run("fit", "answers.csv", "--label", "not", "--method", "knn", "--json")
        account = json.loads(done.stdout)
        for tried in account["tried"]:
            tried.pop("seconds")
        accounts.append(account)
    assert accounts[0] == accounts[1]


def test_standard_input_is_checked_as_files_are():
    done = run("fit", "-", "--label", "not", stdin="x;not\n1;a\n2;b\n")
    assert done.exit_code == 2
    assert all(part in done.stderr for part in ("standard input", "','", "--delimiter ';'"))


def test_columns_that_are_left_out_are_listed_by_reason(folder):
    frame = table(200).assign(**{f"zero{i}": 0 for i in range(9)})
    frame.drop(columns="label").to_csv("zeros.csv", index=False)
    done = run("fit", "zeros.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "'constant'" in line]
    assert "10 columns" in line
    assert "'zero0'" in line


def test_a_tab_as_delimiter_may_be_written_in_two_ways(folder):
    frame = table()[["length", "noise", "not"]]
    frame.to_csv("tabbed.csv", index=False, sep="\t")
    said = run("fit", "tabbed.csv", "--label", "not", "--method", "logistic")
    assert said.exit_code == 2
    advice = re.search(r"--delimiter '(.*?)'", said.stderr)[1]
    for delimiter in (advice, "tab"):
        done = run(
            "fit", "tabbed.csv", "--label", "not", "--method", "logistic", "--delimiter", delimiter
        )
        assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("gap", ["NA", "n/a", "?", "-", "NaN"])
def test_words_for_missing_values_among_numbers_are_missing_values(folder, gap):
    frame = table()
    for name in ("empty", "words"):
        frame.drop(columns="label").to_csv(
            f"{name}.csv", index=False, na_rep=gap if name == "words" else ""
        )
    assert (pd.read_csv("words.csv", keep_default_na=False)["length"] == gap).any()
    for name in ("empty", "words"):
        arguments = ["--method", "logistic", "--leave-out", "colour", "--model", f"{name}.ybar"]
        assert run("fit", f"{name}.csv", "--label", "not", *arguments).exit_code == 0
    predicted = [
        run("predict", model, data, "--proba").stdout
        for model, data in [("empty.ybar", "empty.csv"), ("words.ybar", "words.csv")]
    ]
    assert predicted[0] == predicted[1]
    gaps = pd.read_csv("empty.csv").head(3).assign(length=gap)
    gaps.to_csv("gaps.csv", index=False)
    assert run("predict", "words.ybar", "gaps.csv").exit_code == 0


def test_after_the_time_limit_no_candidate_starts(folder, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(candidates, "AUTO", ("logistic", "knn"))
    done = run("fit", "answers.csv", "--label", "not", "--time-limit", 1e-9, "--json")
    assert done.exit_code == 1
    assert not list(folder.glob("ybar-bug-*"))
    assert not os.path.exists("model.ybar")


def test_boosting_ends_its_search_in_time(folder, monkeypatch):
    stops = iter([False, True])
    monkeypatch.setattr(candidates, "_stop_at", lambda *_: [lambda *_: next(stops, True)])
    done = run("fit", "answers.csv", "--label", "not", "--method", "boosting", "--json")
    assert done.exit_code == 0, done.stderr
    model = ybar.load("model.ybar")
    assert model.account_["settings"]["n_estimators"] <= 20
    assert accuracy(model, table(200, 1)) > 0.75


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_candidate_that_takes_too_long_is_dropped(folder, monkeypatch):
    monkeypatch.setattr(candidates, "AUTO", ("logistic", "knn"))

    def share(end, n_left, **_):
        return end if n_left == 2 else time.monotonic() + 0.3

    monkeypatch.setattr(deadline, "share", share)
    fit, wait = candidates.TableClassifier.fit, threading.Event().wait

    def slow(self, *arguments):
        if "KNeighbors" in type(self.classifier).__name__:
            wait(100)
        return fit(self, *arguments)

    monkeypatch.setattr(candidates.TableClassifier, "fit", slow)
    done = run("fit", "answers.csv", "--label", "not", "--time-limit", 1000, "--json")
    assert done.exit_code == 0, done.stderr
    logistic, knn = json.loads(done.stdout)["tried"]
    assert logistic["failed"] is None
    assert "stopped" in knn["failed"]
    assert knn["seconds"] < 90


def test_without_time_to_fit_it_to_all_rows_the_scored_model_is_saved(folder, monkeypatch):
    monkeypatch.setattr(candidates, "fit_to_all", lambda *_: None)
    done = run("fit", "answers.csv", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0, done.stderr
    assert "--time-limit" in done.stdout
    model = ybar.load("model.ybar")
    assert model.account_["rows_of_the_saved_model"] == len(model.row_hashes_) == 480
    assert accuracy(model, table(200, 1)) > 0.9


def test_there_is_time_to_fit_to_all_rows_only_if_the_scored_fit_was_short(folder):
    result = candidates.CandidateResult("knn", seconds=100.0)
    end = time.monotonic() + 50
    assert candidates.fit_to_all(result, None, None, end) is None


def test_the_selected_model_is_not_the_most_confident_one():
    """Two models order the classes alike; one is far too confident, the other predicts better."""
    rng, T = np.random.default_rng(0), transition.uniform(4)
    y = rng.integers(4, size=3000)
    mask = np.eye(4, dtype=bool)[labels.draw(y, T, random_state=0)]

    def p(right, scale):
        scores = np.eye(4)[np.where(rng.random(3000) < right, y, rng.integers(4, size=3000))]
        scores = np.exp(scale * scores)
        return scores / scores.sum(axis=1, keepdims=True)

    y_comp = ComplementaryLabels(mask, list("abcd"))

    def scel(p, temperature):
        return scoring.losses_of(calibration.temper(p, temperature), T, y_comp).mean()

    better, worse = p(0.8, 0.5), p(0.7, 3.0)
    assert scel(better, 1.0) > scel(worse, 1.0)
    tempered = [scel(each, scoring.temperature(each, T, y_comp)) for each in (better, worse)]
    assert tempered[0] < tempered[1]


def test_without_an_invertible_matrix_no_accuracy_is_estimated(folder):
    half = np.full((3, 3), 1 / 3)
    half[0] = [0, 0.5, 0.5]
    pd.DataFrame(half, index=CLASSES, columns=CLASSES).to_csv("T.csv")
    arguments = ["--label", "not", "--method", "logistic", "--transition", "T.csv"]
    done = run("fit", "answers.csv", *arguments)
    assert done.exit_code == 0, done.stderr
    account = ybar.load("model.ybar").account_
    assert account["expected_accuracy"] is account["tried"][0]["error_rate"] is None
    assert "cat" in after_the_selection(done)
    assert "dog" in after_the_selection(done)
    for command in ("evaluate", "report"):
        judged = run(command, "model.ybar", "test.csv", "--label", "not")
        assert judged.exit_code == 0, judged.stderr
        assert not re.search(r"(?i)accuracy:? +\d", judged.stdout)


@pytest.mark.parametrize("method", ["logistic", "knn", "cpe-f", "cpe-n"])
def test_no_accuracy_is_quoted_if_the_labels_refute_the_matrix(biased, method):
    arguments = ["fit", "biased.csv", "--label", "not", "--method", method]
    account = json.loads(run(*arguments, "--json").stdout)
    assert account["transition"]["refuted"]
    assert account["transition"]["p_value"] < account["transition"]["level"]
    assert account["transition"]["reasons"]
    assert account["transition"]["noise_learned"] == (method == "cpe-n")
    assert account["expected_accuracy"] is account["expected_accuracy_interval"] is None
    assert account["tried"][0]["error_rate"] is None
    text = run(*arguments).stdout
    assert "Expected accuracy" not in text
    for word in (account["transition"]["reasons"][0], "estimate:COLUMN", "--true"):
        assert word in text
    assert ("--method cpe-n" in text) == (method != "cpe-n")


def test_every_candidate_is_without_accuracy_if_its_matrix_is_refuted(biased, monkeypatch):
    monkeypatch.setattr(candidates, "AUTO", ("logistic", "knn", "cpe-n"))
    account = json.loads(run("fit", "biased.csv", "--label", "not", "--json").stdout)
    assert [each["error_rate"] for each in account["tried"]] == [None] * 3
    assert any("does not know T" in reason for reason in account["transition"]["reasons"])


def test_an_accuracy_is_quoted_under_the_true_matrix(biased):
    arguments = ["fit", "biased.csv", "--label", "not", "--method", "knn", "--transition", "T.csv"]
    done = run(*arguments, "--json")
    account = json.loads(done.stdout)
    assert not account["transition"]["refuted"]
    low, high = account["expected_accuracy_interval"]
    assert 0 <= low <= account["expected_accuracy"] <= high <= 1


def test_a_matrix_without_names_is_read_in_an_order_that_is_reported(biased):
    T = read_matrix("T.csv")
    np.savetxt("unnamed.csv", T.T, delimiter=",")
    for order in ("a,b,c,d,e,f", "f,e,d,c,b,a"):
        arguments = ["--label", "not", "--method", "logistic", "--transition", "unnamed.csv"]
        done = run("fit", "biased.csv", *arguments, "--classes", order)
        assert order.replace(",", ", ") in done.stderr
        assert "unnamed.csv" in done.stderr
    assert "d, c, b" in run("evaluate", "model.ybar", "biased.csv", "--label", "not").stderr
    done = run("fit", "biased.csv", *arguments)
    assert "a, b, c" in done.stderr
    named = run("fit", "biased.csv", *arguments[:-1], "T.csv")
    assert named.exit_code == 0
    assert "a, b, c" not in named.stderr


def test_classes_are_printed_with_their_number_of_labels(biased):
    arguments = ["fit", "biased.csv", "--label", "not", "--method", "logistic"]
    counts = pd.read_csv("biased.csv")["not"].value_counts().sort_index()
    done = run(*arguments)
    assert ", ".join(f"{name}: {n}" for name, n in counts.items()) in done.stdout
    account = json.loads(run(*arguments, "--json").stdout)
    assert account["labels_per_class"] == counts.tolist()
    many = ",".join(["a,b,c,d,e,f", *(f"z{i}" for i in range(30))])
    text = run(*arguments, "--classes", many).stdout
    assert "z13: 0, and 16 more" in text


def test_the_rows_of_the_scores_and_of_the_saved_model_are_printed(fitted, folder):
    _, account = fitted
    rows = [account[name] for name in ("rows_of_the_compared_models", "held_out_rows", "rows")]
    assert rows == [480, 120, 600]
    text = run("fit", "answers.csv", "--label", "not", "--method", "logistic").stdout
    assert all(str(n) in text.split("Selected")[0] for n in rows)
