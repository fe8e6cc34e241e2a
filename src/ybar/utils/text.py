"""Escape names from users' files for the place where they are shown, one function per place.

The names of data sets, settings, methods and classes may come from untrusted files. No name may
move a cursor, run a formula, open a file or break a table.
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
    # At the start of a row these would be read as options of the row before.
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
    r"""Return text for a terminal, with escapes in place of invisible and control characters.

    `keep` holds characters that stay as they are.

    Examples
    --------
    >>> from ybar.utils import text
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
    r"""Return text for a line or a table cell of Markdown."""
    escaped = plain(s).translate(_MARKDOWN).replace("://", "&#58;//")
    return re.sub(r"(www)\.", r"\1\\.", escaped, flags=re.IGNORECASE)


def latex(s: str) -> str:
    r"""Return text for LaTeX, with code points in place of letters that its fonts may lack."""
    return "".join(map(_latex_letter, plain(s)))


def _latex_letter(c: str) -> str:
    if c in _LATEX:
        return _LATEX[c]
    return c if c.isascii() or c in _LATEX_LETTERS else f"U+{ord(c):04X}"


def spreadsheet(s: str) -> str:
    """Return text for a cell of a CSV file that no spreadsheet interprets as a formula."""
    return f"'{s}" if _FORMULA.match(s) else s


def from_spreadsheet(s: str) -> str:
    """Return the text from which `spreadsheet` made a cell."""
    return s[1:] if s.startswith("'") and _FORMULA.match(s) else s


def file_name(s: str) -> str:
    """Return a file name without suffix that is valid on every system.

    A text that is not a valid name itself gets a hash appended, so two texts never share a file.

    Examples
    --------
    >>> from ybar.utils import text
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
