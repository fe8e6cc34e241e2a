"""``ybar transition``: transition matrices."""

import json
from pathlib import Path

import numpy as np
import pytest

from animals import run, table
from ybar import transition
from ybar.transition.reading import read_matrix


def test_transition_matrices_are_described_drawn_compared_made_and_estimated(folder):
    assert "gamma" in run("transition", "describe", "uniform:10").stdout
    assert json.loads(run("transition", "describe", "strong:4", "--json").stdout)["singular"] in (
        True,
        False,
    )
    done = run("transition", "make", "strong:3:7", "--classes", "a,b,c", "-o", "T.csv")
    assert done.exit_code == 0, done.stderr
    assert read_matrix("T.csv").classes == ["a", "b", "c"]
    np.testing.assert_allclose(read_matrix("T.csv").T, transition.strong(3, 7))
    assert "0.87" in run("transition", "draw", "T.csv").stdout
    compared = json.loads(run("transition", "compare", "T.csv", "uniform:3", "--json").stdout)
    expected = transition.epsilon(transition.strong(3, 7), transition.uniform(3))
    assert compared["largest difference of a row (epsilon, L1)"] == pytest.approx(expected)
    done = run("transition", "estimate", "test.csv", "--true", "label", "--label", "not")
    assert done.stdout.startswith(",bird,cat,dog\n")


def test_a_matrix_may_come_from_standard_input():
    made = run("transition", "make", "strong:3", "--noise", "0.1").stdout
    assert run("transition", "describe", "-", stdin=made).exit_code == 0
    done = run("transition", "describe", "-", stdin="a,b\n")
    assert done.exit_code == 2
    assert "standard input" in done.stderr


def test_names_that_look_like_markup_are_printed_literally(folder):
    Path("T.csv").write_text(",[/b],[red]a\n[/b],0,1\n[red]a,1,0\n")
    done = run("transition", "draw", "T.csv")
    assert done.exit_code == 0, done.output
    assert "[/b]" in done.stdout
    assert "[red]a" in done.stdout


def test_every_command_that_reads_a_table_has_options_for_its_format(folder, fitted):
    frame = table(200)
    frame["not"] += "/" + frame["not"]
    frame.to_csv("form.csv", index=False, sep=";")
    form = ["--delimiter", ";", "--separator", "/"]
    done = run("transition", "estimate", "form.csv", "--true", "label", "--label", "not", *form)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(",bird,cat,dog\n")
    model = fitted[0] / "model.ybar"
    done = run("report", model, "form.csv", "--label", "not", *form, "-o", "page.html")
    assert done.exit_code == 0, done.stderr
    assert "SCEL" in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_matrix_is_drawn_to_a_file(folder, kind):
    done = run("transition", "draw", "strong:12", "-o", f"T.{kind}")
    assert done.exit_code == 0, done.stderr
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert Path(f"T.{kind}").read_bytes().startswith(starts[kind])


def test_matrices_with_the_same_names_are_compared_in_one_order(folder):
    Path("T.csv").write_text(",a,b\na,0.2,0.8\nb,1,0\n")
    Path("other.csv").write_text(",b,a\nb,0,1\na,0.8,0.2\n")
    compared = json.loads(run("transition", "compare", "T.csv", "other.csv", "--json").stdout)
    assert compared["largest difference of an entry"] == 0
    plain = run("transition", "compare", "uniform:2", "other.csv").stdout
    assert "largest difference of an entry: 0.2" in plain


def test_the_row_of_a_class_without_a_true_label_is_a_guess_and_that_is_said(folder):
    frame = table(200)
    frame.loc[frame["label"] == "dog", "label"] = None
    frame.to_csv("few.csv", index=False)
    done = run("transition", "estimate", "few.csv", "--true", "label", "--label", "not")
    assert done.exit_code == 0
    assert "dog" in done.stderr
