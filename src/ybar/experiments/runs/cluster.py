"""The workers of a sweep: a Dask cluster, started here or at an address of the user's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import forkserver, resource_tracker
from typing import Any

from ...utils.errors import FailureError
from ...utils.extras import require
from ..plan.jobs import Job
from . import run
from .outcome import Outcome
from .sweep import Died, Result

_STARTS = 3
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_CONNECT = 5.0
_SECONDS_TO_ANSWER = 15.0
_SECONDS_TO_COME_BACK = 15.0
_SECONDS_WITHOUT_WORKERS = 90.0
_PROGRESS = "ybar-progress"
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no other
_WHAT = "a sweep"
# Forks of one process that has imported everything start fast. On systems other than Linux,
# system libraries do not survive a fork.
_FORKS = sys.platform == "linux"
_IMPORTED_ONCE = ["distributed.nanny", __name__, "ybar.neural.fitting"]  # the last imports torch
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_SETTINGS = {
    # Dask does not repeat a job whose worker died: the sweep does, and counts the attempts.
    "distributed.scheduler.allowed-failures": 0,
    # The profiler samples a worker a hundred times per second, which takes a tenth of its time.
    "distributed.worker.profile.enabled": False,
    # Dask's defaults make workers return memory that they need again at once.
    "distributed.nanny.pre-spawn-environ": _THREADS,
    "distributed.worker.multiprocessing-method": "forkserver" if _FORKS else "spawn",
}


class ExecutionError(FailureError):
    """No job can be run; the message says why and what to do."""


class Cluster:
    """The workers of a Dask cluster; each of their threads runs one job.

    Parameters
    ----------
    address : str or None
        The address of a scheduler. None starts worker processes on this machine, which end with
        `close`, or when this process ends for any reason.
    n : int
        How many worker processes to start.
    """

    def __init__(self, address: str | None, n: int) -> None:
        self._distributed: Any = require("distributed", "dask", _WHAT)
        self._jobs: dict[Any, Job] = {}
        self._shares: dict[str, float] = {}
        self._broken = ""
        self._alone_since: float | None = None
        self._warned = False
        self._patience = None if address is None else _SECONDS_TO_ANSWER
        self.local: Any = None
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as started:
            if address is None:
                started.enter_context(_settings_of_workers())
                self.local = _start_local(self._distributed, n)
                started.callback(self.local.close)
            self._client = self._connect(address)
            started.callback(self._leave)
            self._closing = started.pop_all()

    def _connect(self, address: str | None) -> Any:
        try:
            if address is not None:
                asyncio.run(_ask_who(self._distributed, address))
            client = self._distributed.Client(self.local or address, timeout=_SECONDS_TO_CONNECT)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error) or f"no answer within {_SECONDS_TO_CONNECT:.0f} s"
            raise ExecutionError(
                f"dask must be the address of a running scheduler; nothing answered at "
                f"{address} ({reason}). Start one with: dask scheduler"
            ) from error
        client.subscribe_topic(_PROGRESS, self._note_progress)
        return client

    def n_free(self) -> int:
        """Return how many more jobs the workers can start now."""
        n_threads = self._count_threads()
        # A job that waits behind another one on a worker would die with it.
        return 0 if self._broken else n_threads - len(self._jobs)

    def _count_threads(self) -> int:
        """Count the workers' threads. Without any, warn; after longer, stop a local cluster."""
        with self._answering():
            ncores = self._client.scheduler.ncores
            n_threads = sum(self._client.sync(ncores, callback_timeout=self._patience).values())
        if n_threads or self._alone_since is None:
            self._alone_since, self._warned = time.monotonic(), False
        alone = time.monotonic() - self._alone_since
        if alone > _SECONDS_TO_COME_BACK and not self._warned:
            self._warned = True
            warnings.warn("the cluster has no workers; waiting until one connects", stacklevel=4)
        if self.local and alone > _SECONDS_WITHOUT_WORKERS:
            raise ExecutionError(
                "the local cluster lost all its workers and did not replace them. Run the same "
                "command again to continue"
            )
        return int(n_threads)

    def submit(self, job: Job) -> None:
        """Start a job."""
        source = run.versions()["source"]
        self._jobs[self._client.submit(_run, job, source, pure=False)] = job

    def wait(self, progress: Callable[[Job, float], Any]) -> list[Result]:
        """Wait a moment, report the progress of running jobs, and return the jobs that ended."""
        self._count_threads()
        with self._answering(), contextlib.suppress(TimeoutError):
            self._distributed.wait(
                list(self._jobs), timeout=_SECONDS_BETWEEN_LOOKS, return_when="FIRST_COMPLETED"
            )
        ended: list[Result] = []
        for future, job in list(self._jobs.items()):
            share = self._shares.pop(future.key, None)
            if future.done():
                del self._jobs[future]
                result = self._result(future)
                ended += [] if result is None else [(job, result)]
            elif share is not None:
                progress(job, share)
        if self._broken and not ended:  # first record the jobs that ended
            raise ExecutionError(self._broken)
        return ended

    def _result(self, future: Any) -> list[Outcome] | Died | None:
        """Return the result of a job; None for an error that stops the sweep."""
        if future.status == "finished":
            with self._answering():
                outcomes: list[Outcome] = future.result(timeout=self._patience)
            return outcomes
        error = future.exception() if future.status == "error" else None
        if isinstance(error, self._distributed.KilledWorker):
            return Died("its process ended (often because memory ran out)")
        self._broken = (
            f"a worker could not run a job ({error or future.status}). Install the same version of "
            "ybar with the same extras, and the same data, on all workers"
        )
        return None

    def _note_progress(self, event: tuple[float, dict[str, Any]]) -> None:
        """Record the progress of a job; called in the thread of the client."""
        _, message = event
        self._shares[message["key"]] = message["share"]

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Raise one clear error if the scheduler does not answer."""
        try:
            yield
        except Exception as error:
            raise ExecutionError(
                f"the scheduler of the cluster was lost ({type(error).__name__}). Restart the "
                "scheduler, then run the same command again to continue"
            ) from error

    def _leave(self) -> None:
        """Cancel what is running, and end the worker processes that were started here."""
        if self.local is not None:
            _kill_workers(self.local)
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._jobs))
        with contextlib.suppress(Exception):
            self._client.close(timeout=_SECONDS_TO_CONNECT)

    def close(self) -> None:
        """End the sweep's jobs and its processes, and restore the environment."""
        self._closing.close()


async def _ask_who(distributed: Any, address: str) -> None:
    """Check that a scheduler answers: `Client` would wait forever for a silent port."""
    async with asyncio.timeout(_SECONDS_TO_CONNECT), distributed.rpc(address) as scheduler:
        await scheduler.identity()


@contextlib.contextmanager
def _settings_of_workers() -> Iterator[None]:
    """Set the settings of new workers; restore the environment, which Dask changes, at the end."""
    dask: Any = require("dask", "dask", _WHAT)
    before = dict(os.environ)
    try:
        with dask.config.set(_SETTINGS):
            yield
    finally:
        for name in [name for name in os.environ if os.environ[name] != before.get(name)]:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


def _start_local(distributed: Any, n: int) -> Any:
    """Start processes of one thread each; a process that is killed while it starts is replaced."""
    for attempt in range(_STARTS):
        try:
            with _blocked_interrupts():
                if _FORKS:
                    _start_fork_server(distributed)
                return distributed.LocalCluster(
                    env=dict(os.environ),  # the current one, not that of the fork server's start
                    n_workers=n,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=None,
                    silence_logs=logging.CRITICAL,
                )
        except RuntimeError as error:
            if attempt + 1 == _STARTS:
                raise ExecutionError(
                    f"the worker processes ended {_STARTS} times before they started a job "
                    f"({error}). Their output is above"
                ) from error
    raise AssertionError


def _start_fork_server(distributed: Any) -> None:
    """Start the process that workers are forked from, which imports what jobs need."""
    os.environ.update(_THREADS)
    context = distributed.utils.get_mp_context()  # its first call replaces the list
    context.set_forkserver_preload(_IMPORTED_ONCE)
    forkserver.ensure_running()


def _kill_workers(local: Any) -> None:
    """Kill the processes: they only compute, so nothing is left half-done."""

    async def kill() -> None:
        nannies = list(local.workers.values())
        processes = [nanny.pid for nanny in nannies if nanny.pid]
        closed = asyncio.gather(*(nanny.close() for nanny in nannies))
        await asyncio.sleep(0)  # the nannies no longer replace workers
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, _KILL)
        await closed

    with contextlib.suppress(Exception):  # `LocalCluster.close` tries again
        local.sync(kill)


@contextlib.contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Make threads and processes that start inside ignore Ctrl-C, which a terminal sends to all.

    The thread that Dask starts here also starts replacements of workers.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    # Started now: it would otherwise start with the first worker, and unblock its interrupts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(job: Job, source: str) -> list[Outcome]:
    """Run a job on a worker, and send its progress to the sweep."""
    distributed: Any = require("distributed", "dask", _WHAT)
    worker = distributed.get_worker()
    key, last = worker.get_current_task(), 0.0

    def progress(share: float) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_LOOKS:
            last = time.monotonic()
            worker.log_event(_PROGRESS, {"key": key, "share": float(share)})

    return run.run(job, progress, source=source)
