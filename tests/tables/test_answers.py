"""Yes-or-no answers to the question "is it an a?", from a table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("typer")
pytest.importorskip("torch")

import ybar
from animals import CLASSES, run, table
from ybar import datasets, transition
from ybar.tables import answers, scoring
from ybar.tables.answers import read_answers
from ybar.tables.files import DataError

ASKED = ["bird", "cat", "dog", "bird", None, "cat"]
ANSWER = ["yes", "No", "TRUE", "0", None, None]
MASK = [
    [False, True, True],
    [False, True, False],
    [True, True, False],
    [True, False, False],
    [False, False, False],
    [False, False, False],
]


def read(answer=ANSWER, classes=None):
    frame = pd.DataFrame({"q": ASKED, "a": answer})
    return read_answers(frame, "q", "a", classes)


def test_yes_rules_out_all_other_classes_and_no_rules_out_one():
    y = read()
    assert y.classes == CLASSES
    np.testing.assert_array_equal(y.mask, MASK)
    np.testing.assert_array_equal(np.asarray(y.as_y()), 1.0 - np.array(MASK))
    assert y.asked.tolist() == [0, 1, 2, 0, -1, -1]
    assert y.units.shape == (6, 1)


@pytest.mark.parametrize("kind", [bool, int, float])
def test_answers_may_be_booleans_or_numbers(kind):
    replies = pd.Series([True, False, True, False, True, True]).astype(kind)
    frame = pd.DataFrame({"q": CLASSES * 2, "a": replies})
    y = read_answers(frame, "q", "a", None)
    assert y.mask.sum(axis=1).tolist() == [2, 1, 2, 1, 2, 2]


@pytest.mark.parametrize(
    ("answer", "classes", "parts"),
    [
        (["maybe", *ANSWER[1:]], None, ("--answer", "'maybe'", "row 1")),
        (ANSWER, ["cat", "dog"], ("--asked", "'bird'", "row 1", "--classes")),
        ([None] * 6, None, ("a must", "empty")),
        (ANSWER, ["cat"], ("2 classes", "'cat'")),
    ],
)
def test_answers_that_cannot_be_used_are_named(answer, classes, parts):
    with pytest.raises(DataError) as raised:
        read(answer, classes)
    assert all(part in str(raised.value) for part in parts)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "--label"),
        (["--asked", "q"], "--answer"),
        (["--answer", "a"], "--asked"),
        (["--label", "not", "--asked", "q", "--answer", "a"], "--label"),
        (["--asked", "q", "--answer", "a", "--transition", "T.csv"], "--transition"),
        (["--asked", "q", "--answer", "nothing"], "'nothing'"),
        (["--asked", "q", "--answer", "a", "--method", "knn"], "'knn'"),
    ],
)
def test_options_of_answers_that_do_not_fit_together_are_one_line(
    tmp_path, monkeypatch, arguments, part
):
    monkeypatch.chdir(tmp_path)
    frame = table(60)
    frame["q"], frame["a"] = frame["not"], "no"
    frame.to_csv("clicks.csv", index=False)
    done = run("fit", "clicks.csv", *arguments)
    assert done.exit_code == 2, (done.stderr, done.exception)
    assert part in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not Path("model.ybar").exists()


def test_the_losses_of_answers_are_those_of_the_classes_they_leave_possible():
    y = read()
    p = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    expected = [p[0, 0], 1 - p[1, 1], p[2, 2], 1 - p[3, 0]]
    np.testing.assert_allclose(scoring.answer_losses(p, y), -np.log(expected))


def test_the_constant_guess_has_the_largest_likelihood():
    rng = np.random.default_rng(0)
    share = np.array([0.6, 0.3, 0.1])
    true, asked = rng.choice(3, 4000, p=share), rng.integers(3, size=4000)
    frame = pd.DataFrame({"q": np.array(CLASSES)[asked], "a": true == asked})
    y = read_answers(frame, "q", "a", None)
    loss = scoring.constant_losses(y, y, transition.uniform(3)).mean()
    assert loss < scoring.answer_losses(np.tile(share, (4000, 1)), y).mean()
    for other in np.random.default_rng(1).dirichlet(np.ones(3), 50):
        assert loss < scoring.answer_losses(np.tile(other, (4000, 1)), y).mean() + 1e-4


def test_the_bounds_of_the_accuracy_hold_whatever_is_asked():
    rng = np.random.default_rng(0)
    true, asked, predicted = rng.integers(3, size=(3, 500))
    frame = pd.DataFrame({"q": np.array(CLASSES)[asked], "a": true == asked})
    y = read_answers(frame, "q", "a", None)
    result = answers.summary(predicted, y)["answers"]
    low, high = result["accuracy_bounds"]
    assert low == np.mean((true == asked) & (predicted == true))
    assert low <= np.mean(predicted == true) <= high < 1


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Digits with the suggestion of a weak model, and whether a user accepted it."""
    folder = tmp_path_factory.mktemp("clicks")
    d = datasets.load("digits")
    weak = LogisticRegression(max_iter=1000).fit(d.X_train[:30], d.y_train[:30])
    frame = pd.DataFrame(d.X_train).add_prefix("x")
    frame["suggested"] = weak.predict(d.X_train)
    frame["accepted"] = np.where(frame["suggested"] == d.y_train, "yes", "no")
    frame.to_csv(folder / "clicks.csv", index=False)
    rejected = frame[frame["accepted"] == "no"].drop(columns="accepted")
    rejected.to_csv(folder / "rejected.csv", index=False)
    pd.DataFrame(d.X_test).add_prefix("x").assign(y=d.y_test).to_csv(
        folder / "test.csv", index=False
    )
    return folder, np.mean(weak.predict(d.X_test) == d.y_test)


def accuracy(folder, *arguments):
    model = folder / "model.ybar"
    shared = ["--method", "cpe-f", "--classes", "0,1,2,3,4,5,6,7,8,9", "--model", model, "--json"]
    done = run("fit", *arguments, *shared)
    assert done.exit_code == 0, done.stderr
    judged = run("evaluate", model, folder / "test.csv", "--true", "y", "--json")
    return json.loads(judged.stdout)["accuracy"], json.loads(done.stdout)


def test_answers_teach_what_rejected_suggestions_alone_cannot(clicks):
    """A suggestion depends on the example, so that no T describes the rejected ones."""
    folder, weak = clicks
    rejected, _ = accuracy(folder, folder / "rejected.csv", "--label", "suggested")
    both, account = accuracy(
        folder, folder / "clicks.csv", "--asked", "suggested", "--answer", "accepted"
    )
    assert rejected < weak < both
    assert both > 0.85 > 0.5 > rejected
    low, high = account["answers"]["accuracy_bounds"]
    assert low < both < high
    assert account["expected_accuracy"] is None
    assert ybar.load(folder / "model.ybar").account_["labels"] == 1347


def test_answers_are_explained_in_the_report_and_in_the_text(clicks):
    folder, _ = clicks
    columns = ["--asked", "suggested", "--answer", "accepted"]
    model = folder / "boosted.ybar"
    done = run("fit", folder / "clicks.csv", *columns, "--method", "boosting", "--model", model)
    assert done.exit_code == 0, done.stderr
    counts = pd.read_csv(folder / "clicks.csv").groupby("suggested")["accepted"]
    yes, n = counts.apply(lambda column: (column == "yes").sum()), counts.size()
    assert f"0: {yes[0]}/{n[0]}, 1: {yes[1]}/{n[1]}," in done.stdout
    assert "URE" not in done.stdout.split("Selected")[1]
    page = folder / "page.html"
    assert run("report", model, "-o", page).exit_code == 0
