"""Time limits: the share of each candidate, and the end of what does not end by itself."""

import importlib
import math
import signal
import sys
import threading
import time

import pytest

from ybar.tables import deadline

needs_timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")


def wait(seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def wait_as_a_meta_estimator():
    try:
        wait()
    except Exception:
        pytest.fail("the deadline was taken for an error of an estimator")


def test_a_candidate_may_use_the_time_of_the_last_fit_while_none_is_fitted(monkeypatch):
    monkeypatch.setattr(deadline.time, "monotonic", lambda: 50.0)
    assert deadline.share(100.0, 1, nothing_fitted=True) < deadline.latest(100.0) < 100
    assert deadline.latest(math.inf) == math.inf


def run_until(moment, work):
    with deadline.ends_at(moment):
        work()


@needs_timers
@pytest.mark.parametrize("work", [wait, wait_as_a_meta_estimator])
def test_a_block_ends_at_its_deadline_and_leaves_no_timer(work):
    before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0] > 0
    started = time.monotonic()
    with pytest.raises(deadline.TimeIsUpError):
        run_until(started + 0.2, work)
    assert time.monotonic() - started < 20
    run_until(time.monotonic() + 0.05, lambda: None)
    wait(0.1)
    after = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert after == before


@needs_timers
def test_an_import_is_not_interrupted(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.4)\nready = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def work():
        importlib.import_module("slow_to_import")
        wait()

    with pytest.raises(deadline.TimeIsUpError):
        run_until(time.monotonic() + 0.1, work)
    assert sys.modules.pop("slow_to_import").ready


def test_without_timers_or_without_a_limit_a_block_runs_to_its_end():
    ran = []

    def work():
        with deadline.ends_at(time.monotonic()):
            ran.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with deadline.ends_at(math.inf):
        ran.append(2)
    assert ran == [1, 2]


@pytest.mark.parametrize("n", [1, 2, 8])
def test_candidates_that_use_their_whole_share_leave_time_for_the_last_fit(n, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    for fitted in (False, True):
        now[0], longest = 0.0, 0.0
        for n_left in range(n, 0, -1):
            end = deadline.share(100.0, n_left, nothing_fitted=not fitted)
            longest, now[0] = max(longest, end - now[0]), end
        assert (100 - now[0]) >= deadline.REFIT * (longest if fitted else end - now[0]) - 1e-9
