"""Names that users give, made harmless where they are shown: each function for one place.

Data sets, settings, methods and classes are named in files that may come from anyone. None of
these names may move a cursor, run a formula, open a file or break a table.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

__all__ = ["file_name", "from_spreadsheet", "latex", "markdown", "plain", "spreadsheet"]

# Control, format (bidi overrides, zero-width), surrogate, private, unassigned; line, paragraph.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

_MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_{}[]~$#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
)

_LATEX = {c: f"\\{c}" for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    # After the end of a row these would be read as its options.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "–": "--",
    "±": r"$\pm$",
    "≠": r"$\neq$",
    "†": r"\dag{}",
    "×": r"$\times$",
    "λ": r"$\lambda$",
}
# Letters that every engine sets in LaTeX's own fonts.
_LATEX_LETTERS = frozenset(map(chr, range(0xC0, 0x100))) - set("ÐðÞþ×÷")

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")

_LONGEST_FILE_NAME = 80
_DEVICES = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)


def plain(s: str, keep: str = "") -> str:
    r"""Return text for a terminal: what cannot be seen, or moves what can, is spelt out.

    `keep` holds characters that may stay.

    Examples
    --------
    >>> from ybar.utils import text as text
    >>> print(text.plain("\x1b[31mred\u202e"))
    \x1b[31mred\u202e
    """
    return "".join(
        c.encode("unicode_escape").decode()
        if unicodedata.category(c) in _UNSEEN and c not in keep
        else c
        for c in s
    )


def markdown(s: str) -> str:
    r"""Return text for a line or a table's cell of Markdown.

    Examples
    --------
    >>> from ybar.utils import text as text
    >>> print(text.markdown("a|b <c>"))
    a&#124;b &lt;c&gt;
    """
    escaped = plain(s).translate(_MARKDOWN).replace("://", "&#58;//")
    return re.sub(r"(www)\.", r"\1\\.", escaped, flags=re.IGNORECASE)


def latex(s: str) -> str:
    r"""Return text for LaTeX; letters that its fonts may lack are named by their code point.

    Examples
    --------
    >>> from ybar.utils import text as text
    >>> print(text.latex(r"50% \input{x} 日"))
    50\% \textbackslash{}input\{x\} U+65E5
    """
    return "".join(map(_latex_letter, plain(s)))


def _latex_letter(c: str) -> str:
    if c in _LATEX:
        return _LATEX[c]
    return c if c.isascii() or c in _LATEX_LETTERS else f"U+{ord(c):04X}"


def spreadsheet(s: str) -> str:
    """Return text for a cell of a CSV file, which no spreadsheet takes for a formula.

    Examples
    --------
    >>> from ybar.utils import text as text
    >>> text.spreadsheet("=1+1")
    "'=1+1"
    """
    return f"'{s}" if _FORMULA.match(s) else s


def from_spreadsheet(s: str) -> str:
    """Return the text of which `spreadsheet` made a cell.

    Examples
    --------
    >>> from ybar.utils import text as text
    >>> text.from_spreadsheet("'=1+1")
    '=1+1'
    """
    return s[1:] if s.startswith("'") and _FORMULA.match(s) else s


def file_name(s: str) -> str:
    """Return a name for a file, without its suffix, on any system.

    A text that is none as it is gets a mark of its own, so that two never share a file.

    Examples
    --------
    >>> from ybar.utils import text as text
    >>> text.file_name("linear-clean")
    'linear-clean'
    >>> text.file_name("../../etc/passwd")
    'etc_passwd-3754d6cb'
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", s).strip("_-")[:_LONGEST_FILE_NAME]
    if safe and safe == s and not _DEVICES.fullmatch(safe):
        return safe
    digest = hashlib.sha256(s.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{safe}-{digest}" if safe else digest
