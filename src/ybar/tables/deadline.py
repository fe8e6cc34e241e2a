"""Time limits: the share of each candidate, and the end of a fit that does not end by itself."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

# A candidate is fitted to four fifths of the rows. If it is selected, it is fitted again to all
# rows. The second fit takes longer by this factor, which includes a margin for a busy machine.
REFIT = 1.4

_MOST_OF_THE_TIME = 0.8
_AFTER_AN_IMPORT = 0.05  # seconds until the next attempt


class TimeIsUpError(BaseException):
    """The time of a fit is over.

    It is not an `Exception`: otherwise an estimator could catch it.
    """


def share(end: float, n_left: int, *, nothing_fitted: bool) -> float:
    """Return when the next of `n_left` candidates should end, so that a fit to all rows has time.

    Candidates share the time equally, and time that one does not use goes to the next ones. Until
    one candidate is fitted, the next one may use all time except that of its own fit to all rows.
    """
    now = time.monotonic()
    return now + max(0.0, end - now) / ((1 if nothing_fitted else n_left) + REFIT)


def latest(end: float) -> float:
    """Return when a candidate must end if no other has been fitted.

    It may also use the time of the fit to all rows: a model of four fifths of the rows is better
    than none.
    """
    now = time.monotonic()
    return now + _MOST_OF_THE_TIME * (end - now)


@contextlib.contextmanager
def ends_at(moment: float) -> Iterator[None]:
    """Raise `TimeIsUpError` inside the block at a time of `time.monotonic`.

    The error arrives between two instructions of Python. A long call of a compiled library, or the
    import of a module, ends first.
    Where there are no timers (on Windows, and outside of the main thread) nothing is raised.
    """
    if moment == math.inf or not _has_timers():
        yield
        return
    started = time.monotonic()

    def raise_error(_: int, frame: FrameType | None) -> None:
        if _imports(frame):  # a module that was imported halfway cannot be used
            signal.setitimer(signal.ITIMER_REAL, _AFTER_AN_IMPORT)
            return
        raise TimeIsUpError

    handler = signal.signal(signal.SIGALRM, raise_error)
    remaining, interval = 0.0, 0.0
    try:
        remaining, interval = signal.setitimer(signal.ITIMER_REAL, max(1e-6, moment - started))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:  # restore the timer that ran before
            left = max(1e-6, remaining - (time.monotonic() - started))
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _has_timers() -> bool:
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and hasattr(signal, "setitimer")
