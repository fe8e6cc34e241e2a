"""Pages: escaped, self-contained, the same bytes each time, written completely."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

import pytest

from pages import SHOWN, Parsed, figure, page_of
from summary_pages import SMALL, entries_of, summarise
from ybar import report
from ybar.report import (
    Page,
)
from ybar.utils import files


@pytest.mark.parametrize("name", SHOWN, ids=range(len(SHOWN)))
def test_a_hostile_text_is_shown_and_adds_no_element(name):
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


def test_a_page_makes_no_request_and_runs_no_script():
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


def test_a_page_is_written_completely(tmp_path):
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
        (files, "open", PermissionError(errno.EACCES, "Permission denied")),
        (os, "fsync", KeyboardInterrupt()),
    ],
    ids=["full", "broken", "unwritable", "interrupted"],
)
def test_if_writing_fails_the_old_page_stays_and_no_other_file(
    tmp_path, monkeypatch, module, name, error
):
    target = tmp_path / "page.html"
    target.write_text("old")
    page = page_of("name")
    with monkeypatch.context() as patched:
        patched.setattr(module, name, fail_with(error), raising=False)
        with pytest.raises(type(error)):
            report.write(page, target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_page_with_an_error_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="b'no pictu"):
        report.write(page_of("name", b"no picture"), tmp_path / "page.html")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_neither_made_nor_overwritten(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        report.write(page_of("name"), tmp_path / "missing" / "page.html")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        report.write(page_of("name"), tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_missing_extra_names_its_pip_line(monkeypatch):
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
