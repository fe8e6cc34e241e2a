"""Look at a page with headless Chromium, driven by Playwright.

python tests/browser.py page.html shot.png 375 [dark]
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 120_000  # milliseconds; the first start on a busy machine is slow

_FACTS = """({
  scroll_width: document.documentElement.scrollWidth,
  broken_images: [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.alt),
})"""


def find() -> str | None:
    """Return the path of Chromium: that of YBAR_CHROMIUM, or the first that is installed."""
    chosen = os.environ.get("YBAR_CHROMIUM")
    return next(filter(None, map(shutil.which, [chosen] if chosen else NAMES)), None)


@contextlib.contextmanager
def launch() -> Iterator[Any]:
    """Start Chromium and close it at the end; yields Playwright's browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find(), args=list(FLAGS), timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Tab:
    """An open page.

    Attributes
    ----------
    page : Playwright page
    messages : list of str
        Console messages, errors of the page, and violations of its policy.
    requests : list of str
        Requested addresses, except the page itself and data: addresses.
    """

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Return what should be empty, or as wide as the window."""
        return {
            "messages": self.messages,
            "requests": self.requests,
            **self.page.evaluate(_FACTS),
        }


@contextlib.contextmanager
def open_page(
    browser: Any, path: str | os.PathLike[str], width: int = 1280, *, dark: bool = False
) -> Iterator[Tab]:
    """Open a page in a window of this width; yields the tab when the page is loaded."""
    url = Path(path).resolve().as_uri()
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        is_mobile=width < 600,
    )
    try:
        tab = Tab(context.new_page())
        tab.page.set_default_timeout(PATIENCE)
        tab.page.on("console", lambda said: tab.messages.append(f"{said.type}: {said.text}"))
        tab.page.on(
            "pageerror",
            lambda error: tab.messages.append(f"exception: {error.name}: {error.message}"),
        )

        def record(request: Any) -> None:
            if request.url != url and not request.url.startswith("data:"):
                tab.requests.append(request.url)

        tab.page.on("request", record)
        tab.page.goto(url, wait_until="load", timeout=PATIENCE)
        yield tab
    finally:
        context.close()


def main(page: str, image: str, width: str, *flags: str) -> None:
    """Write an image of a whole page."""
    with launch() as browser, open_page(browser, page, int(width), dark="dark" in flags) as tab:
        tab.page.screenshot(path=image, full_page=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
