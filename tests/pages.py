"""Pages with hostile names, and a parser that checks them."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

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


def figure():
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 3))
    drawn.subplots().plot([1, 2, 3], label="SCEL")
    return drawn
