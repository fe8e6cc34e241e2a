"""The page: escaped, self-contained, the same bytes each time, and fit to be read anywhere."""

from __future__ import annotations

import errno
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

import browser
from ybar import report
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import model as planning
from ybar.experiments.plan.model import METHODS, Dataset, Method, Network, Part, Plan, Setting
from ybar.experiments.results import page as summary
from ybar.experiments.results import tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.runs.ledger import Entry
from ybar.report import (
    Cell,
    Code,
    Column,
    Definitions,
    Grid,
    Group,
    KeyFigures,
    Page,
    Picture,
    Section,
    Text,
)

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SHA256 = "0123456789abcdef" * 4
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"></svg>'
PNG = b"\x89PNG\r\n\x1a\n" + b"rest"

# As they come, and as they must be shown.
HOSTILE = [
    "<script>window.hacked=1</script>",
    "</title><script>window.hacked=1</script>",
    "</style><script>window.hacked=1</script>",
    "</pre></details><script>window.hacked=1</script>",
    "</td></tr></table><iframe src=javascript:window.hacked=1>",
    "<img src=x onerror=window.hacked=1>",
    "\"><img src=x onerror='window.hacked=1'>",
    "' onmouseover='window.hacked=1",
    '" onfocus="window.hacked=1" autofocus="',
    "<svg/onload=window.hacked=1>",
    "<svg><animate onbegin=window.hacked=1 attributeName=x dur=1s>",
    "<math><mtext><script>window.hacked=1</script></mtext></math>",
    "<body onload=window.hacked=1>",
    "<a href=javascript:window.hacked=1>click</a>",
    "<base href=https://example.org/>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<style>*{display:none}</style>",
    "<form action=https://example.org/><input autofocus onfocus=window.hacked=1>",
    "<object data=https://example.org/x></object>",
    "<embed src=https://example.org/x>",
    "<video><source onerror=window.hacked=1></video>",
    "<!-- comment",
    "--><script>window.hacked=1</script>",
    "]]><script>window.hacked=1</script>",
    "{{ 7 * 7 }}{% raw %}",
    "${window.hacked=1}",
    "&lt;b&gt; &amp; &#60;script&#62;",
    "javascript:window.hacked=1",
    "`onerror=window.hacked=1`",
    "plain \\u0041 and \\x41",
    "a" * 300,
    "\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "\u6570\u636e\u3000\U0001f600 caf\u00e9",
]
UNSEEN = {
    "\u202egnp.exe": r"\u202egnp.exe",
    "a\u2066b\u2069": r"a\u2066b\u2069",
    "\x1b[31mred\x07": r"\x1b[31mred\x07",
    "nul\x00\x7f\x9b": r"nul\x00\x7f\x9b",
    "one\rtwo\u2028three\u0085": r"one\rtwo\u2028three\x85",
    "zero\u200bwidth\ufeff": r"zero\u200bwidth\ufeff",
    "half \ud800 a pair": r"half \ud800 a pair",
    "\U000e0041tag": r"\U000e0041tag",
}
SHOWN = {name: name for name in HOSTILE} | UNSEEN


class Parsed(HTMLParser):
    """The elements, attributes and text of a page; its tags must be balanced."""

    VOID = ("meta", "link", "img")

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = Counter(), [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self):
        return "\n".join(self.texts)


def page_of(name, shown_in=SVG):
    """Return a page that has the name wherever a text can be."""
    grid = Grid(
        [Column(name, words=True), Column(name)],
        [[name, Cell(name, name, "differs")], Group(name), [Cell(name, name), name]],
        name,
        [name],
    )
    blocks = [
        Text([name]),
        KeyFigures([(name, name)]),
        Definitions([(name, name)]),
        grid,
        Code(name, name),
        Picture(shown_in, name, name, name),
    ]
    return Page(name, name, [Section(name, blocks)], name)


def plan_of(names, trials=1):
    """Return a plan in which each name is that of a base, data set, setting and method."""
    parts = [
        Part(
            Network(name),
            (Dataset(name, path="/home/alice/secret.csv"),),
            (Setting(name, "uniform"),),
            trials,
            (Method(name, name),),
            (1e-3,),
        )
        for name in names
    ]
    return Plan("mine", tuple(parts))


def entries_of(plan, **changes):
    """Return an entry for every run of a plan."""
    facts = {
        d: planning.Facts(SHA256, 9, 9, tuple("abc")) for part in plan.parts for d in part.datasets
    }
    found = []
    for job in plan_jobs.jobs(plan, facts):
        for training in job.trainings:
            config = plan_jobs.config(job, training)
            scores = {
                f"last.{name}": 50.0 + job.trial
                for name in ("scel", "ure_max", "accuracy_max", "accuracy_l1")
            }
            entry = Entry(
                plan_jobs.hash_of(config),
                config,
                scores=scores,
                seconds=60.0,
                finished=f"2026-01-01T0{job.trial}:00:00+00:00",
                versions={"ybar": "0.1.0"},
            )
            found.append(replace(entry, **changes))
    return found


def summarise(plan, entries, figures=(), change=lambda table: table):
    made = [change(table) for table in tables.build(Runs(entries, plan))]
    return summary.page(Runs(entries, plan), made, figures, tables.agreement(made), NOW)


def figure():
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 3))
    drawn.subplots().plot([1, 2, 3], label="SCEL")
    return drawn


def with_paper(table):
    """Put a figure of the paper beside every cell: the first row agrees, the others differ."""
    rows = [
        (label, tuple(replace(cell, paper=(50.0 if i == 0 else 90.0, 1.0)) for cell in cells))
        for i, (label, cells) in enumerate(table.rows)
    ]
    return replace(table, rows=tuple(rows))


SMALL = Plan(
    "small",
    (
        Part(
            Network("flat"),
            (Dataset("digits"), Dataset("letters")),
            (Setting("uniform", "uniform"), Setting("noise-0.2", "strong", 0.2)),
            2,
            tuple(METHODS[name] for name in ("cpe-f", "fwd", "dm")),
            (1e-3, 1e-4),
        ),
    ),
)


@pytest.mark.parametrize("name", SHOWN, ids=range(len(SHOWN)))
def test_a_hostile_text_is_shown_and_nothing_else(name):
    html = report.render(page_of(name))
    found, harmless = Parsed(html), Parsed(report.render(page_of("name")))
    assert found.tags == harmless.tags
    assert [key for key, _ in found.attributes] == [key for key, _ in harmless.attributes]
    said = [value for key, value in found.attributes if key in ("alt", "aria-label")]
    assert said == ["Contents", *[SHOWN[name]] * 3]
    assert found.texts.count(SHOWN[name]) == harmless.texts.count("name") > 15
    html.encode()


def test_there_are_enough_hostile_texts():
    assert len(SHOWN) >= 30


def test_a_page_asks_for_nothing_and_runs_nothing():
    html = report.render(summarise(SMALL, entries_of(SMALL), [("A", "curves", figure())]))
    found = Parsed(html)
    assert not {"script", "iframe", "object", "embed", "form"} & set(found.tags)
    assert not any(key.startswith("on") for key, _ in found.attributes)
    addresses = [value for key, value in found.attributes if key in ("href", "src")]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in html
    assert "url(" not in html
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    assert f'http-equiv="Content-Security-Policy" content="{policy}' in html


def test_links_of_the_contents_lead_somewhere_and_ids_are_unique():
    found = Parsed(report.render(summarise(SMALL, entries_of(SMALL), [("A", "b", figure())])))
    ids = [value for key, value in found.attributes if key == "id"]
    links = [value for key, value in found.attributes if key == "href" and value[0] == "#"]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)
    assert len(links) >= 9


def test_the_same_input_gives_the_same_bytes():
    pages = [
        report.render(summarise(SMALL, entries_of(SMALL), [("A", "b", figure())])) for _ in range(2)
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("data", "kind"), [(PNG, "png"), (SVG, "svg+xml"), (b"\n<?xml version='1.0'?>", "svg+xml")]
)
def test_pictures_are_in_the_page(data, kind):
    assert Picture(data, "seen").source.startswith(f"data:image/{kind};base64,")


def test_what_is_no_picture_is_refused():
    with pytest.raises(ValueError, match=r"data must be a PNG or SVG file; got .* b'GIF89a"):
        report.render(page_of("name", b"GIF89a..."))


def test_a_row_of_another_length_is_refused():
    grid = Grid([Column("a"), Column("b")], [["1"]])
    with pytest.raises(ValueError, match="a cell for each of 2 columns; got 1"):
        report.render(Page("t", "l", [Section("s", [grid])]))


def test_marks_are_said_in_words_and_shown_by_a_sign():
    cells = [Cell("1", mark="agrees"), Cell("2", mark="differs"), Cell("3", mark="missing")]
    grid = Grid([Column(str(i)) for i in range(4)], [["name", *cells]])
    html = report.render(Page("t", "l", [Section("s", [grid])]))
    for cell, sign in zip(cells, "✓≠·", strict=True):
        assert re.search(rf'"true">{sign}</span>{cell.text}<span class="heard"> {cell.mark}<', html)


def schemes():
    html = report.render(Page("t", "l", []))
    blocks = re.findall(r":root \{(.*?)\}", html, re.DOTALL)
    return [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in blocks]


def contrast(one, other):
    """Return the contrast of two colours as WCAG defines it."""
    shades = []
    for colour in (one, other):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        shades.append(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    return (max(shades) + 0.05) / (min(shades) + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_has_contrast(scheme):
    colours = schemes()[scheme]
    pairs = [(text, "page") for text in ("text", "muted", "link", "agrees", "differs")]
    pairs += [("text", "raised"), ("muted", "raised"), ("differs", "differs-page")]
    pairs.append(("muted", "differs-page"))
    for text, behind in pairs:
        assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)


def test_a_page_is_written_whole(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    page = page_of("ȳ")
    report.write(page, target)
    assert target.read_bytes() == report.render(page).encode()
    assert os.listdir(tmp_path) == ["page.html"]


def fail_with(error):
    def fail(*args, **kwargs):
        raise error

    return fail


@pytest.mark.parametrize(
    ("module", "name", "error"),
    [
        (os, "fsync", OSError(errno.ENOSPC, "No space left on device")),
        (os, "replace", OSError(errno.EIO, "Input/output error")),
        (tempfile, "mkstemp", PermissionError(errno.EACCES, "Permission denied")),
        (os, "fsync", KeyboardInterrupt()),
    ],
    ids=["full", "broken", "unwritable", "interrupted"],
)
def test_where_writing_fails_the_old_page_stays_and_nothing_else(
    tmp_path, monkeypatch, module, name, error
):
    target = tmp_path / "page.html"
    target.write_text("old")
    page = page_of("name")
    with monkeypatch.context() as patched:
        patched.setattr(module, name, fail_with(error))
        with pytest.raises(type(error)):
            report.write(page, target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_page_that_cannot_be_made_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="PNG or SVG"):
        report.write(page_of("name", b"no picture"), tmp_path / "page.html")
    assert os.listdir(tmp_path) == []


def test_no_folder_is_made_or_overwritten(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        report.write(page_of("name"), tmp_path / "missing" / "page.html")
    with pytest.raises(IsADirectoryError, match="Add a file name"):
        report.write(page_of("name"), tmp_path)
    assert os.listdir(tmp_path) == []


def test_missing_extras_are_named_with_their_pip_line(monkeypatch):
    for module, call in (
        ("jinja2", lambda: report.render(page_of("name"))),
        ("matplotlib", lambda: report.picture(None, "seen")),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf'{module}.*pip install "ybar\[report\]"'):
            call()


def test_importing_the_report_loads_neither_jinja_nor_matplotlib():
    code = "import ybar.report, sys; sys.exit(bool({'jinja2', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_summary_counts_the_plans_runs_only():
    # CPE-F and Fwd share a training: two of three methods, rates, data sets, settings and trials.
    entries = entries_of(SMALL)
    assert len(entries) == 2 * 2 * 2 * 2 * 2
    strange = replace(entries[0], hash="0", config={**entries[0].config, "trial": 99})
    page = summarise(SMALL, [*entries[:-2], strange])
    figures, text = page.sections[0].blocks
    assert figures.figures == [
        ("30", "of 32 runs recorded"),
        ("0", "runs failed"),
        ("30.0 min", "time of all runs"),
    ]
    assert text.paragraphs == [
        "30 of the 32 runs that the plan asks for are recorded; none failed."
    ]


def test_runs_on_data_as_they_were_are_not_counted():
    entries = entries_of(SMALL)
    before = [
        replace(entry, hash=f"{i}", config={**entry.config, "data_sha256": "old"}, finished="2000")
        for i, entry in enumerate(entries)
    ]
    figures, _ = summarise(SMALL, [*before, *entries]).sections[0].blocks
    assert figures.figures[0] == ("32", "of 32 runs recorded")


def sections(page):
    return {section.title: section.blocks for section in page.sections}


def test_every_cell_says_of_how_many_trials_it_is():
    entries = entries_of(SMALL)
    for grid in sections(summarise(SMALL, entries))["Tables"]:
        assert grid.notes[0] == "(2 of 2) in every cell."
    first, *_ = sections(summarise(SMALL, entries[:4]))["Tables"]
    assert first.columns == [Column(n) for n in ("setting", "CPE-F", "Fwd", "DM")]
    assert first.rows[:2] == [
        Group("digits"),
        ["uniform", *[Cell("50.0", "(1 of 2)")] * 3],
    ]
    assert first.rows[2] == ["noise-0.2", *[Cell("no trial", "(0 of 2)", "missing")] * 3]
    assert not any("every cell" in note for note in first.notes)


def test_cells_that_no_plan_has_are_told_from_those_to_come():
    other = replace(SMALL.parts[0], base=Network("wide", (8,)), settings=(Setting("u", "uniform"),))
    plan = Plan("two", (*SMALL.parts, other))
    grid = next(g for g in sections(summarise(plan, []))["Tables"] if "chooses" in g.title)
    texts = {cell.text for row in grid.rows if not isinstance(row, Group) for cell in row[1:]}
    assert texts == {"not planned", "no trial"}


def test_differences_from_the_paper_are_marked_listed_and_counted():
    page = summarise(SMALL, entries_of(SMALL), change=with_paper)
    first = page.sections[1].blocks[0]
    assert first.rows[1] == [
        "uniform",
        Cell("50.5 ± 0.7", "paper 50.0 ± 1.0", "agrees"),
        *[Cell("50.5 ± 0.7", "paper 90.0 ± 1.0", "differs")] * 2,
    ]
    (listed,) = sections(page)["Where we differ"]
    made = [with_paper(table) for table in tables.build(Runs(entries_of(SMALL), SMALL))]
    differing = tables.agreement(made).differing
    assert len(listed.rows) == len(differing) > 0
    assert listed.rows[0][-4:] == ["50.5", "2 of 2", "90.0 ± 1.0", "−39.5"]
    figures, text = page.sections[0].blocks
    n_cells = sum(1 for table in made for _ in table.cells())
    assert figures.figures[1] == (str(n_cells - len(differing)), f"of {n_cells} cells agree")
    assert f"{len(differing)} differ." in text.paragraphs[0]


def test_full_agreement_is_said_and_nothing_of_a_paper_that_is_not_there():
    def agree(table):
        rows = [
            (label, tuple(replace(c, paper=(50.0, 1.0)) for c in cells))
            for label, cells in table.rows
        ]
        return replace(table, rows=tuple(rows))

    (text,) = sections(summarise(SMALL, entries_of(SMALL), change=agree))["Where we differ"]
    assert text.paragraphs == ["Nowhere: all cells that were run agree with the paper."]
    assert "Where we differ" not in sections(summarise(SMALL, entries_of(SMALL)))


def test_the_cost_is_by_base_with_what_sharing_saves():
    entries = entries_of(SMALL)
    entries[0] = replace(entries[0], seconds=math.nan)
    grid, text = sections(summarise(SMALL, entries))["Cost"]
    assert grid.rows == [["flat", "32", "32", "0", "31.0 min", "58.1 s"]]
    naive = plan_jobs.count_naive(SMALL.parts)
    assert f"would take {naive} trainings" in text.paragraphs[0]
    assert f"32 are enough: {1 - 32 / naive:.0%} fewer" in text.paragraphs[0]


def test_each_failure_is_listed_and_each_traceback_shown_once():
    entries = entries_of(SMALL)
    died = {"cause": "ValueError: no", "traceback": "run.py:1 in run: raise", "scores": {}}
    for i in (3, 4):
        entries[i] = replace(entries[i], **died)
    entries[5] = replace(entries[5], cause="the loss was not finite", scores={})
    grid, code = sections(summarise(SMALL, entries))["Failures"]
    assert [cause for _, cause in grid.rows] == [died["cause"]] * 2 + ["the loss was not finite"]
    assert grid.rows[0][0] == Cell(
        "flat, dm, digits, uniform",
        f"trial 0, learning rate 0.0001\nrun {entries[3].hash[:12]}",
    )
    assert code == Code("ValueError: no (2 runs)", "run.py:1 in run: raise")


def test_no_failure_is_said_plainly():
    assert sections(summarise(SMALL, entries_of(SMALL)))["Failures"] == [Text(["None."])]


def test_provenance_has_all_versions_and_data_and_nothing_of_the_machine():
    plan = plan_of(["a", "b"], trials=2)
    entries = entries_of(plan)
    entries[0] = replace(entries[0], versions={"ybar": "0.0.9", "torch": "2"})
    page = summarise(plan, entries)
    items, versions, data = sections(page)["Provenance"]
    assert dict(items.items) == {
        "plan": "mine",
        "page made": "2026-01-02 03:04 UTC",
        "runs finished": "2026-01-01 00:00 to 2026-01-01 01:00 UTC",
        "held out for validation": "10% of the rows",
    }
    assert versions.rows == [["torch", "2", "1"], ["ybar", "0.0.9", "1"], ["ybar", "0.1.0", "3"]]
    assert data.rows == [["a", SHA256, "2"], ["b", SHA256, "2"]]
    assert "alice" not in report.render(page)


def test_a_plan_of_which_nothing_was_run_has_a_page():
    page = summarise(SMALL, [])
    assert page.sections[0].blocks[0].figures[0] == ("0", "of 32 runs recorded")
    Parsed(report.render(page))


@pytest.fixture(scope="module")
def chromium():
    if browser.find() is None:
        pytest.skip(f"no Chromium: neither YBAR_CHROMIUM nor any of {browser.NAMES} is there")
    with browser.Browser() as opened:
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
        tab = chromium.open(tmp_path / "page.html", width, dark=dark)
        assert tab.facts() == {
            "messages": [],
            "requests": [],
            "scroll_width": width,
            "broken_images": [],
        }
        assert tab.evaluate("document.images.length") == 1
        shade = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (shade == "rgb(255, 255, 255)") != dark
        tab.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").read_bytes().startswith(PNG[:8])


def test_hostile_names_do_nothing_in_a_browser(chromium, tmp_path):
    # Lone surrogates are in no file and no ledger, both being UTF-8.
    names = [
        name for name in SHOWN if name.isascii() or name.encode(errors="ignore").decode() == name
    ]
    plan, harmless = plan_of(names), plan_of([f"name {i}" for i in range(len(names))])
    counted = []
    for each in (harmless, plan):
        report.write(summarise(each, failing(each)), tmp_path / "page.html")
        tab = chromium.open(tmp_path / "page.html", 375)
        facts = tab.facts()
        assert facts["messages"] == facts["requests"] == []
        assert facts["scroll_width"] == 375
        counted.append(
            tab.evaluate(
                "[...document.querySelectorAll('*')].map(e => [e.tagName,"
                " ...[...e.attributes].map(a => a.name)].join(' ')).sort()"
            )
        )
    assert counted[0] == counted[1]
    assert not any(" on" in element for element in counted[1])
    assert tab.evaluate("window.hacked === undefined")
    text = tab.evaluate("document.body.textContent")
    for name in names:
        assert text.count(SHOWN[name]) >= 8, name


def test_the_browser_sees_what_is_wrong(chromium, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<div style='width: 2000px'>wide</div><img alt=gone src=data:image/png,x>"
        "<img alt=outside src=http://127.0.0.1:9/x.png>"
        "<script>console.error('said'); throw Error('thrown')</script>"
    )
    facts = chromium.open(bad, 375).facts()
    assert facts["scroll_width"] > 375
    assert facts["broken_images"] == ["gone", "outside"]
    assert facts["requests"] == ["http://127.0.0.1:9/x.png"]
    said = "\n".join(facts["messages"])
    assert all(text in said for text in ("error: said", "exception: Error: thrown", "net::ERR"))
