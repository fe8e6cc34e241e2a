"""Pages in a browser: they fit any width, ask for nothing and run nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

import browser
from animals import run, table
from pages import PNG, SHOWN, figure
from summary_pages import SMALL, entries_of, plan_of, summarise, with_paper
from ybar import report

ELEMENTS = """[...document.querySelectorAll('*')].map(
  e => [e.tagName, ...[...e.attributes].map(a => a.name)].join(' ')).sort()"""


@pytest.fixture(scope="module")
def chromium():
    pytest.importorskip("playwright", reason="Playwright is not installed: pip install ybar[dev]")
    if browser.find() is None:
        pytest.skip(f"no Chromium: set YBAR_CHROMIUM, or install one of {browser.NAMES}")
    with browser.launch() as opened:
        yield opened


def failing(plan):
    """Return the entries of a plan in which each run failed because of its own name."""
    return [
        replace(
            entry,
            cause=entry.config["dataset"],
            traceback=entry.config["dataset"],
            scores={},
            versions={entry.config["dataset"]: entry.config["dataset"]},
        )
        for entry in entries_of(plan)
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_reads_well_in_a_browser(chromium, tmp_path, dark):
    entries = entries_of(SMALL)
    entries[0] = replace(entries[0], cause="ValueError: no", traceback="x" * 500, scores={})
    drawn = [("Curves", "a line", figure())]
    report.write(summarise(SMALL, entries, drawn, with_paper), tmp_path / "page.html")
    for width in (375, 1280):
        with browser.open_page(chromium, tmp_path / "page.html", width, dark=dark) as tab:
            assert tab.facts() == {
                "messages": [],
                "requests": [],
                "scroll_width": width,
                "broken_images": [],
            }
            assert tab.page.evaluate("document.images.length") == 1
            shade = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (shade == "rgb(255, 255, 255)") != dark
            assert tab.page.screenshot().startswith(PNG[:8])


@pytest.fixture(scope="module")
def model_page(tmp_path_factory):
    """The page of a model with an evaluation."""
    folder = tmp_path_factory.mktemp("model")
    table().to_csv(folder / "answers.csv", index=False)
    label, model = ["--label", "not"], folder / "model.ybar"
    fit = run("fit", folder / "answers.csv", *label, "--method", "logistic", "--model", model)
    assert fit.exit_code == 0, fit.stderr
    data = [folder / "answers.csv", *label, "--true", "label"]
    done = run("report", model, *data, "-o", folder / "page.html")
    assert done.exit_code == 0, done.stderr
    return folder / "page.html"


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_of_a_model_reads_well_in_a_browser(chromium, model_page, width):
    with browser.open_page(chromium, model_page, width) as tab:
        facts = tab.facts()
        assert facts.pop("scroll_width") == width
        assert not any(facts.values()), facts
        assert tab.page.evaluate("document.images.length") == 2


def test_hostile_names_do_nothing_in_a_browser(chromium, tmp_path):
    # Lone surrogates are in no file and no ledger, both being UTF-8.
    names = [
        name for name in SHOWN if name.isascii() or name.encode(errors="ignore").decode() == name
    ]
    plan, harmless = plan_of(names), plan_of([f"name {i}" for i in range(len(names))])
    elements = []
    for each in (harmless, plan):
        report.write(summarise(each, failing(each)), tmp_path / "page.html")
        with browser.open_page(chromium, tmp_path / "page.html", 375) as tab:
            facts = tab.facts()
            assert facts["messages"] == facts["requests"] == []
            assert facts["scroll_width"] == 375
            elements.append(tab.page.evaluate(ELEMENTS))
            assert tab.page.evaluate("window.hacked === undefined")
            text = tab.page.evaluate("document.body.textContent")
    assert elements[0] == elements[1]
    assert not any(" on" in element for element in elements[1])
    for name in names:
        assert text.count(SHOWN[name]) >= 8, name


def test_the_browser_sees_what_is_wrong(chromium, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<div style='width: 2000px'>wide</div><img alt=gone src=data:image/png,x>"
        "<img alt=outside src=http://127.0.0.1:9/x.png>"
        "<script>console.error('said'); throw Error('thrown')</script>"
    )
    with browser.open_page(chromium, bad, 375) as tab:
        facts = tab.facts()
    assert facts["scroll_width"] > 375
    assert facts["broken_images"] == ["gone", "outside"]
    assert facts["requests"] == ["http://127.0.0.1:9/x.png"]
    said = "\n".join(facts["messages"])
    assert all(text in said for text in ("error: said", "exception: Error: thrown", "net::ERR"))
