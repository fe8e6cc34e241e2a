"""Run jobs on the workers of a cluster, and record each job as it ends.

Workers only compute. The caller's process claims runs and writes the ledger, so a worker that dies
affects only its job, which is then run again.
"""

from __future__ import annotations

import collections
import datetime
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from ..plan.jobs import Job, config, hash_of, hashes, split
from . import run
from .entry import Entry
from .ledger import Ledger
from .outcome import Outcome

_ATTEMPTS = 3
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_FOR_OTHER_SWEEPS = 1.0

Report = Callable[[Job, float, "list[Outcome] | None"], Any]


class Died(NamedTuple):
    """The reason why a worker ended before its job was done."""

    reason: str


Result = tuple[Job, list[Outcome] | Died]


class Workers(Protocol):
    """The interface of workers that a sweep uses; see `cluster.Cluster`."""

    def n_free(self) -> int:
        """Return how many more jobs the workers can start now."""

    def submit(self, job: Job) -> None:
        """Start a job."""

    def wait(self, progress: Callable[[Job, float], Any]) -> list[Result]:
        """Wait a moment, report the progress of running jobs, and return the jobs that ended."""


def sweep(
    jobs: Iterable[Job], ledger: Ledger, workers: Workers, report: Report = lambda *_: None
) -> None:
    """Run all runs of the jobs that are not in the ledger yet, and record each job as it ends.

    Parameters
    ----------
    jobs : iterable of Job
        In the order in which they are to run.
    ledger : Ledger
    workers : Workers
    report : callable
        Called regularly with a job, the share of it that is done, and its outcomes or None.

    Notes
    -----
    A job whose worker died is repeated, up to three attempts. After that, a job of several runs is
    split in two (so sums may round differently), and a job of a single run is recorded as failed.
    Only one job at a time runs its last attempt: if a process with several jobs dies, all of them
    die. Runs that another sweep has claimed are left to that sweep, and run here if it dies.
    Ctrl-C ends the sweep; recorded runs stay.
    """
    queue = _Queue(jobs, ledger)
    while queue.unfinished():
        while queue.ready() and workers.n_free() > 0:
            job = queue.claim_next()
            if job is not None:
                workers.submit(job)
        if not queue.n_running:
            queue.idle()
            continue
        for job, result in workers.wait(lambda job, share: report(job, share, None)):
            outcomes = queue.finish(job, result)
            if outcomes is not None:
                ledger.record([entry_of(job, outcome) for outcome in outcomes])
                report(job, 1.0, outcomes)


class _Queue:
    """The jobs that are still to be run, and how often each has lost its worker."""

    def __init__(self, jobs: Iterable[Job], ledger: Ledger) -> None:
        self.ledger = ledger
        known = ledger.hashes()
        self.waiting = collections.deque(job for job in jobs if set(hashes(job)) - known.keys())
        self.last_attempts: collections.deque[Job] = collections.deque()
        self.of_other_sweeps: list[Job] = []
        self.deaths: collections.Counter[Job] = collections.Counter()
        self.n_running = 0
        self.on_last_attempt: Job | None = None

    def unfinished(self) -> bool:
        return bool(self.waiting or self.last_attempts or self.n_running or self.of_other_sweeps)

    def ready(self) -> bool:
        """Return whether a job may start now."""
        return bool(self.waiting or (self.last_attempts and self.on_last_attempt is None))

    def claim_next(self) -> Job | None:
        """Return the next job, without runs that other sweeps claimed; None if no run is left."""
        last_attempt = bool(self.last_attempts) and self.on_last_attempt is None
        job = (self.last_attempts if last_attempt else self.waiting).popleft()
        names = hashes(job)
        claimed = self.ledger.claim(names)
        theirs = _with_runs(job, names, claimed.theirs)
        if theirs.trainings:
            self.of_other_sweeps.append(theirs)
        mine = _with_runs(job, names, claimed.mine)
        if not mine.trainings:
            return None
        self.n_running += 1
        if last_attempt:
            self.on_last_attempt = mine
        return mine

    def idle(self) -> None:
        """Wait while nothing runs here: for a worker, or for another sweep to end or die."""
        if self.waiting or self.last_attempts:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        elif self.of_other_sweeps:
            time.sleep(_SECONDS_FOR_OTHER_SWEEPS)
            self.waiting.extend(self.of_other_sweeps)
            self.of_other_sweeps = []

    def finish(self, job: Job, result: list[Outcome] | Died) -> list[Outcome] | None:
        """Return the outcomes to record of a job that ended, or None if the job is repeated."""
        self.n_running -= 1
        if job == self.on_last_attempt:
            self.on_last_attempt = None
        if not isinstance(result, Died):
            return result
        self.deaths[job] += 1
        if self.deaths[job] < _ATTEMPTS:
            last = self.deaths[job] == _ATTEMPTS - 1
            (self.last_attempts if last else self.waiting).appendleft(job)
            return None
        if len(job.trainings) > 1:
            self.waiting.extendleft(split(job, (len(job.trainings) + 1) // 2))
            return None
        cause = f"the worker died {_ATTEMPTS} times: {result.reason}"
        return [Outcome(job.trainings[0], cause, versions=run.versions())]


def _with_runs(job: Job, names: list[str], chosen: list[str]) -> Job:
    """Return a job with some of its runs."""
    pairs = zip(job.trainings, names, strict=True)
    return replace(job, trainings=tuple(t for t, name in pairs if name in chosen))


def entry_of(job: Job, outcome: Outcome) -> Entry:
    """Return the ledger's entry of a run that has just ended."""
    configuration = config(job, outcome.training)
    return Entry(
        hash_of(configuration),
        configuration,
        outcome.cause,
        outcome.traceback,
        outcome.scores,
        outcome.curves,
        outcome.seconds,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        outcome.versions,
    )
