"""Carry out jobs, on processes of this machine or on a Dask cluster, and record what comes.

Workers only compute. One process, the caller's, claims runs and writes the ledger, so that a
worker that dies can harm nothing but the job it was at, which is then given to another.
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, Protocol

from ...utils.extras import require
from ..plan import jobs as plan_jobs
from ..plan.jobs import Job
from . import run
from .ledger import Entry, Ledger
from .outcome import Outcome

_ATTEMPTS = 3
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_FOR_OTHERS = 1.0
_SECONDS_TO_ANSWER = 5.0
_SECONDS_TO_COME_BACK = 15.0
_SECONDS_WITHOUT_WORKERS = 90.0
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Tell = Callable[[Job, float, "list[Outcome] | None"], Any]


class ExecutionError(RuntimeError):
    """Jobs cannot be carried out at all; the message says why and what to do."""


class Died(NamedTuple):
    """What is left of a worker."""

    reason: str


Result = tuple[Job, list[Outcome] | Died]


class Pool(Protocol):
    """What a sweep must know of those who do the work."""

    def free(self) -> int:
        """Return how many more jobs it would take now."""

    def submit(self, job: Job) -> None:
        """Have a job run."""

    def finished(self, tell: Callable[[Job, float], Any]) -> list[Result]:
        """Wait a moment and return what has come to an end; tell of the others' progress."""

    def close(self) -> None:
        """Give up what is under way and let all go."""


def sweep(
    jobs: Iterable[Job],
    ledger: Ledger,
    pool: Pool,
    tell: Tell = lambda *_: None,
) -> None:
    """Run all runs of the jobs that are not in the ledger yet, and record each job as it ends.

    Parameters
    ----------
    jobs : iterable of Job
        In the order in which they are to run.
    ledger : Ledger
    pool : Pool
        See `processes` and `cluster`.
    tell : callable
        Of (job, share that is done, outcomes or None), now and then.

    Notes
    -----
    A job whose worker died is tried again, three times in all; one of several runs then in two
    parts (whose sums round otherwise), one of a single run is recorded as failed. Jobs that have
    their last try are tried one at a time: where jobs share a process, as on a worker with several
    threads, one that ends it takes the others along. Runs that another sweep has claimed are left
    to it, and taken over should it die. Ctrl-C passes through: what was recorded stays.
    """
    known = ledger.hashes()
    todo = collections.deque(job for job in jobs if set(plan_jobs.hashes(job)) - known.keys())
    doubtful: collections.deque[Job] = collections.deque()
    theirs: list[Job] = []
    attempts: collections.Counter[Job] = collections.Counter()
    under_way = 0
    last_try: Job | None = None
    while todo or doubtful or under_way or theirs:
        while (todo or (doubtful and last_try is None)) and pool.free() > 0:
            tries = bool(doubtful) and last_try is None
            mine, others = _claim(ledger, (doubtful if tries else todo).popleft())
            theirs += others
            for job in mine:
                pool.submit(job)
                under_way += 1
                last_try = job if tries else last_try
        if not under_way:
            if todo or doubtful:  # and nobody to do it
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            elif theirs:
                # All that is left is another sweep's: see whether it is done, or dead.
                time.sleep(_SECONDS_FOR_OTHERS)
                todo.extend(theirs)
                theirs = []
            continue
        for job, result in pool.finished(lambda job, share: tell(job, share, None)):
            under_way -= 1
            last_try = None if job == last_try else last_try
            if isinstance(result, Died):
                attempts[job] += 1
                if attempts[job] < _ATTEMPTS:
                    (doubtful if attempts[job] == _ATTEMPTS - 1 else todo).appendleft(job)
                    continue
                if len(job.trainings) > 1:
                    todo.extendleft(plan_jobs.split(job, (len(job.trainings) + 1) // 2))
                    continue
                cause = f"the worker died {_ATTEMPTS} times: {result.reason}"
                result = [Outcome(job.trainings[0], cause, versions=run.versions())]
            ledger.record([entry_of(job, outcome) for outcome in result])
            tell(job, 1.0, result)


def _claim(ledger: Ledger, job: Job) -> tuple[list[Job], list[Job]]:
    """Return what of a job is this sweep's to run, and what is another's."""
    names = plan_jobs.hashes(job)
    claimed = ledger.claim(names)
    found = []
    for chosen in (claimed.mine, claimed.theirs):
        its = tuple(t for t, name in zip(job.trainings, names, strict=True) if name in chosen)
        found.append([replace(job, trainings=its)] if its else [])
    return found[0], found[1]


def entry_of(job: Job, outcome: Outcome) -> Entry:
    """Return the ledger's entry of a run that has come to its end just now."""
    config = plan_jobs.config(job, outcome.training)
    return Entry(
        plan_jobs.hash_of(config),
        config,
        outcome.cause,
        outcome.traceback,
        outcome.figures,
        outcome.curves,
        outcome.seconds,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        outcome.versions,
    )


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    job: Job | None = None
    ready: bool = False


class _Processes:
    """So many processes of this machine, each with one thread; one that dies is replaced."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.workers: list[_Worker] = []
        self.died_at_start = 0
        self.broken = ""

    def free(self) -> int:
        if self.broken:
            return 0
        return self.n - sum(worker.job is not None for worker in self.workers)

    def submit(self, job: Job) -> None:
        idle = [worker for worker in self.workers if worker.job is None]
        worker = idle[0] if idle else self._start()
        worker.job = job
        with contextlib.suppress(BrokenPipeError):  # it died idle: `finished` sees to it
            worker.connection.send((job, run.versions()["source"]))

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, its = context.Pipe()
        process = context.Process(target=_work, args=(its,), daemon=True, name="ybar worker")
        with _environment(_ONE_THREAD), _deaf_to_interrupts():
            process.start()
        its.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def finished(self, tell: Callable[[Job, float], Any]) -> list[Result]:
        found: list[Result] = []
        busy = {w.connection: w for w in self.workers if w.job is not None}
        for connection in wait(list(busy), _SECONDS_BETWEEN_LOOKS):
            worker = busy[connection]  # type: ignore[index]
            job = worker.job
            assert job is not None  # noqa: S101
            try:
                message = worker.connection.recv()
            except (EOFError, OSError):
                self.workers.remove(worker)
                worker.connection.close()
                worker.process.join()
                ended = _how_it_ended(worker.process.exitcode)
                self.died_at_start += not worker.ready
                killed = (worker.process.exitcode or 0) < 0
                if not worker.ready and (not killed or self.died_at_start >= _ATTEMPTS):
                    self.broken = (
                        f"a worker process {ended} before it took a job; what it said is above"
                    )
                else:
                    found.append((job, Died(ended)))
                continue
            worker.ready, self.died_at_start = True, 0
            if isinstance(message, str):
                self.broken = message
            elif isinstance(message, float):
                tell(job, message)
            else:
                worker.job = None
                found.append((job, message))
        if self.broken and not found:  # what has ended well is recorded first
            raise ExecutionError(self.broken)
        return found

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill()  # it only computes: there is nothing to put in order
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()
        self.workers = []


def _work(connection: Connection) -> None:
    """Run jobs as they come, until the connection or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to deal with
    threading.Thread(target=_end_with_parent, daemon=True).start()
    connection.send(0.0)
    while True:
        try:
            job, source = connection.recv()
        except EOFError:
            return
        last = 0.0

        def tell(share: float) -> None:
            nonlocal last
            if time.monotonic() - last > _SECONDS_BETWEEN_LOOKS:
                last = time.monotonic()
                connection.send(float(share))

        try:
            connection.send(run.run(job, tell, source=source))
        except Exception as error:  # of the machine: those of runs are recorded
            connection.send(" ".join(str(error).split()) or type(error).__name__)


def _end_with_parent() -> None:
    """End this process when its parent ends: one that was killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _how_it_ended(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        memory = " (often a sign that memory ran out)" if name == "SIGKILL" else ""
        return f"ended by {name}{memory}"
    return f"ended with exit code {exitcode}"


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Have processes that start in here not hear Ctrl-C, which a terminal sends to all."""
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    # It would start beside the first worker, and have that one hear them again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Cluster:
    """The workers of a Dask cluster, or of one that is started here."""

    def __init__(self, address: str | None, n: int) -> None:
        self.distributed: Any = require("distributed", "dask", "a sweep on Dask")
        self.local = None
        self.lonely_since: float | None = None
        self.said = False
        if address is None:
            dask: Any = require("dask", "dask", "a sweep on Dask")
            settings = {
                # A job whose worker died comes back to us, who count.
                "distributed.scheduler.allowed-failures": 0,
                # It looks a hundred times a second what a worker does, at a tenth of its time.
                "distributed.worker.profile.enabled": False,
                # Dask's own also give memory back at every chance, to ask for it again at once.
                "distributed.nanny.pre-spawn-environ": _ONE_THREAD,
            }
            with dask.config.set(settings), _deaf_to_interrupts():
                self.local = self.distributed.LocalCluster(
                    n_workers=n, threads_per_worker=1, dashboard_address=None
                )
        try:
            self.client = self.distributed.Client(self.local or address, timeout=_SECONDS_TO_ANSWER)
        except (OSError, ValueError, ImportError) as error:
            raise ExecutionError(
                f"dask must be the address of a scheduler that runs; nothing answered at "
                f"{address} ({error}). Start one with: dask scheduler"
            ) from error
        self.jobs: dict[Any, Job] = {}
        self.broken = ""

    def free(self) -> int:
        threads = int(sum(self._asked(self.client.ncores).values()))
        if threads or self.lonely_since is None:
            self.lonely_since, self.said = time.monotonic(), False
        alone = time.monotonic() - self.lonely_since
        if alone > _SECONDS_TO_COME_BACK and not self.said:
            self.said = True
            warnings.warn("the cluster has no workers; waiting for some", stacklevel=2)
        if self.local and alone > _SECONDS_WITHOUT_WORKERS:
            raise ExecutionError(
                "the local cluster lost all its workers and started no others. The same command "
                "goes on"
            )
        # No more than there are threads: a job that waits behind another dies with it.
        return 0 if self.broken else threads - len(self.jobs)

    def _asked(self, question: Callable[..., Any], *given: Any, **how: Any) -> Any:
        """Ask the scheduler something."""
        try:
            return question(*given, **how)
        except TimeoutError:
            raise
        except Exception as error:
            raise ExecutionError(
                f"the scheduler of the cluster was lost ({type(error).__name__}). The same "
                "command goes on once it is there again"
            ) from error

    def submit(self, job: Job) -> None:
        source = run.versions()["source"]
        self.jobs[self.client.submit(run.run, job, source=source, pure=False)] = job

    def finished(self, tell: Callable[[Job, float], Any]) -> list[Result]:  # noqa: ARG002
        self.free()
        with contextlib.suppress(TimeoutError):
            self._asked(
                self.distributed.wait,
                list(self.jobs),
                timeout=_SECONDS_BETWEEN_LOOKS,
                return_when="FIRST_COMPLETED",
            )
        found: list[Result] = []
        for future in [future for future in self.jobs if future.done()]:
            job = self.jobs.pop(future)
            if future.status == "finished":
                found.append((job, future.result()))
                continue
            error = self._asked(future.exception) if future.status == "error" else None
            if not isinstance(error, self.distributed.KilledWorker):
                self.broken = (
                    f"a worker of the cluster could not run a job ({error or future.status}). "
                    "All workers need the same ybar, with its extras, and the same data"
                )
                continue
            found.append((job, Died("the cluster lost the workers it ran on")))
        if self.broken and not found:  # what has ended well is recorded first
            raise ExecutionError(self.broken)
        return found

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self.client.cancel(list(self.jobs))
        with contextlib.suppress(Exception):
            self.client.close()
        if self.local is not None:
            self.local.close()


@contextlib.contextmanager
def processes(n: int) -> Iterator[Pool]:
    """Have so many processes of this machine for a while, each with one thread."""
    pool = _Processes(n)
    try:
        yield pool
    finally:
        pool.close()


@contextlib.contextmanager
def cluster(address: str | None, n: int) -> Iterator[Pool]:
    """Have a Dask cluster for a while: the one at an address, or one of n processes here."""
    pool = _Cluster(address, n)
    try:
        yield pool
    finally:
        pool.close()
