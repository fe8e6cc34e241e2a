"""``ybar report``: pages about models and experiments."""

from pathlib import Path

from animals import run, table
from ybar.experiments.runs.ledger import Ledger


def test_a_page_shows_a_model_with_and_without_new_data(fitted, folder):
    place, account = fitted
    done = run("report", place / "model.ybar")
    assert done.exit_code == 0, done.stderr
    assert account["method"] in (folder / "report.html").read_text()
    labels_ = ["--true", "label", "--label", "not"]
    done = run("report", place / "model.ybar", place / "test.csv", *labels_, "-o", "new.html")
    assert done.exit_code == 0, done.stderr
    page = (folder / "new.html").read_text()
    assert "rows with a true label" in page
    assert page.count("data:image/svg+xml") == 2
    assert f"{account['method']} ←" in page
    assert f"{account['scel_of_the_best_constant_guess']:.4f}" in page
    for share in account["predicted_shares"] + account["shares_implied_by_the_labels"]:
        assert f"{100 * share:.1f}%" in page
    texts = table(200, 1)["text"]
    assert sum(text in page for text in texts) >= 10
    assert "Scores on new rows" in page


def test_a_page_does_not_call_rows_new_that_the_model_was_fitted_to(fitted, folder):
    place, _ = fitted
    done = run("report", place / "model.ybar", place / "answers.csv", "--label", "not")
    assert done.exit_code == 0, done.stderr
    page = (folder / "report.html").read_text()
    assert "600 of the 600 rows" in page
    assert "Scores on new rows" not in page


def test_a_page_shows_the_runs_of_a_ledger(folder):
    source = Path(__file__).resolve().parents[2] / "results" / "paper" / "runs.csv"
    done = run("report", source, "-o", "paper.html")
    assert done.exit_code == 0, done.stderr
    assert "CPE-KNN" in (folder / "paper.html").read_text()


def test_a_ledger_may_have_any_name(folder):
    with Ledger(folder / "runs.db"):
        pass
    done = run("report", "runs.db", "-o", "paper.html")
    assert done.exit_code == 0, done.stderr
    assert "0 of the" in (folder / "paper.html").read_text()


def test_a_page_quotes_no_accuracy_if_the_labels_refute_the_matrix(biased):
    fit = ["fit", "biased.csv", "--label", "not", "--method", "logistic"]
    assert run(*fit).exit_code == 0
    done = run("report", "model.ybar", "new.csv", "--label", "not")
    assert done.exit_code == 0, done.stderr
    page = (biased / "report.html").read_text().lower()
    assert "expected accuracy" not in page
    assert "accuracy estimated from" not in page
    assert page.count("estimate:column") == 2
