"""Look at a page with headless Chromium, over the DevTools protocol and its pipe.

python tests/browser.py page.html shot.png 375 [dark]
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120.0  # seconds; a first start on a busy machine is slow

# Chromium reads commands from its file 3 and answers on 4.
_SHIM = """
import os, sys
commands, answers, *program = sys.argv[1:]
os.dup2(int(commands), 3)
os.dup2(int(answers), 4)
os.execvp(program[0], program)
"""
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
)
_FACTS = """({
  scroll_width: document.documentElement.scrollWidth,
  broken_images: [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.alt),
})"""


def find() -> str | None:
    """Return Chromium's program: that of YBAR_CHROMIUM, or the first that is installed."""
    named = os.environ.get("YBAR_CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else NAMES)), None)


class Tab:
    """An open page.

    Attributes
    ----------
    messages : list of str
        What was written to the console, errors of the page and what its policy forbade.
    requests : list of str
        Addresses asked for, but for the page itself and data: ones.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.messages: list[str] = []
        self.requests: list[str] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression: str) -> Any:
        """Return the value of JavaScript; the page's policy does not bind it."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise ValueError(f"expression must not throw; got {found['exceptionDetails']}")
        return found["result"].get("value")

    def facts(self) -> dict[str, Any]:
        """Return what should be empty or as wide as the window."""
        return {
            "messages": self.messages,
            "requests": self.requests,
            **self.evaluate(_FACTS),
        }

    def screenshot(self, path: str | os.PathLike[str], *, whole: bool = False) -> None:
        """Write a PNG of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: str | os.PathLike[str]) -> None:
        """Write the page as it would be printed."""
        shot = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def seen(self, event: dict[str, Any], page: str) -> None:
        """Note an event, if it is one of ours."""
        params = event.get("params", {})
        match event["method"]:
            case "Runtime.consoleAPICalled":
                said = [str(a.get("value", a.get("description"))) for a in params["args"]]
                self.messages.append(f"{params['type']}: {' '.join(said)}")
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                what = details.get("exception", {}).get("description", details["text"])
                self.messages.append(f"exception: {what}")
            case "Log.entryAdded":
                entry = params["entry"]
                self.messages.append(f"{entry['level']}: {entry['text']}")
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                if url != page and not url.startswith("data:"):
                    self.requests.append(url)


class Browser:
    """Chromium with a profile of its own, ended and cleaned up on leaving the ``with``."""

    def __init__(self, program: str | None = None) -> None:
        self._program = program or find()
        if self._program is None:
            raise FileNotFoundError(f"Chromium must be installed; found none of {NAMES}")

    def __enter__(self) -> Browser:
        self._closing = contextlib.ExitStack()
        with self._closing as stack:
            profile = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="ybar-chromium-", ignore_cleanup_errors=True)
            )
            # Above 9, so that moving one to 3 or 4 cannot overwrite the other.
            ours: list[int] = []
            for end in (*os.pipe(), *os.pipe()):
                ours.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
                os.close(end)
            theirs_in, self._out, self._in, theirs_out = ours
            stack.callback(os.close, self._in)
            stack.callback(os.close, self._out)
            flags = [*_FLAGS, f"--user-data-dir={profile}"]
            if os.geteuid() == 0:
                flags.append("--no-sandbox")
            ends = map(str, (theirs_in, theirs_out))
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SHIM, *ends, self._program, *flags, "about:blank"],
                pass_fds=(theirs_in, theirs_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(self._end)
            os.close(theirs_in)
            os.close(theirs_out)
            self._last, self._unread = 0, b""
            self._tabs: dict[str, tuple[Tab, str]] = {}
            self._loaded: set[str] = set()
            self.call("Browser.getVersion")
            self._closing = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _end(self) -> None:
        with contextlib.suppress(OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            self.call("Browser.close")
            self._process.wait(10)
        # Its helpers are in the group that it leads, and nothing else is.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Return the answer to a command; events on the way are noted."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        unsent = json.dumps(message).encode() + b"\0"
        while unsent:
            unsent = unsent[os.write(self._out, unsent) :]
        for answer in self._incoming():
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
        raise AssertionError("unreachable")

    def _incoming(self) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + PATIENCE
        while True:
            message, end, rest = self._unread.partition(b"\0")
            if not end:
                ready, _, _ = select.select([self._in], [], [], deadline - time.monotonic())
                if not ready:
                    raise TimeoutError(f"Chromium must answer within {PATIENCE:g} seconds")
                read = os.read(self._in, 1 << 20)
                if not read:
                    raise EOFError("Chromium must not end before it is told to")
                self._unread += read
                continue
            self._unread = rest
            found = json.loads(message)
            session = found.get("sessionId")
            if session in self._tabs and "method" in found:
                tab, page = self._tabs[session]
                tab.seen(found, page)
                if found["method"] == "Page.lifecycleEvent" and found["params"]["name"] == "load":
                    self._loaded.add(found["params"]["loaderId"])
            yield found

    def open(
        self,
        path: str | os.PathLike[str],
        width: int = 1280,
        height: int = 900,
        *,
        dark: bool = False,
        scale: float = 1,
    ) -> Tab:
        """Return a page once it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        url = Path(path).resolve().as_uri()
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.call("Emulation.setEmulatedMedia", features=[scheme])
        tab.call("Page.setLifecycleEventsEnabled", enabled=True)
        self._tabs[session] = (tab, url)
        asked = tab.call("Page.navigate", url=url)
        if "errorText" in asked:
            raise FileNotFoundError(f"path must be a page; {url} gives {asked['errorText']}")
        if asked["loaderId"] not in self._loaded:
            next(m for m in self._incoming() if asked["loaderId"] in self._loaded)
        return tab


def screenshot(
    html: str | os.PathLike[str],
    png: str | os.PathLike[str],
    width: int = 1280,
    height: int = 900,
    *,
    dark: bool = False,
) -> None:
    """Write a PNG of what a window of that size shows of a page."""
    with Browser() as browser:
        browser.open(html, width, height, dark=dark).screenshot(png)


def inspect(html: str | os.PathLike[str], width: int = 1280) -> dict[str, Any]:
    """Return the console's messages, outside requests, broken images and the page's width."""
    with Browser() as browser:
        return browser.open(html, width).facts()


if __name__ == "__main__":
    screenshot(*sys.argv[1:3], width=int(sys.argv[3]), dark="dark" in sys.argv[4:])
