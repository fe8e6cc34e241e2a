"""The workers of a sweep: a Dask cluster, started here or at an address of the user's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from typing import Any

from ...utils.errors import FailureError
from ...utils.extras import require
from ..plan.jobs import Job
from . import run
from .outcome import Outcome
from .sweep import Died, Result

_STARTS = 3
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_ANSWER = 5.0
_SECONDS_TO_COME_BACK = 15.0
_SECONDS_WITHOUT_WORKERS = 90.0
_PROGRESS = "ybar-progress"
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no other
_WHAT = "a sweep"
_SETTINGS = {
    # A job whose worker died comes back to the sweep, which counts.
    "distributed.scheduler.allowed-failures": 0,
    # The profiler looks a hundred times per second what a worker does, for a tenth of its time.
    "distributed.worker.profile.enabled": False,
    # Dask's own also make workers return memory at every chance, to ask for it again at once.
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    ),
}


class ExecutionError(FailureError):
    """Jobs cannot be run at all; the message says why and what to do."""


class Cluster:
    """The workers of a Dask cluster; each of their threads runs one job.

    Parameters
    ----------
    address : str or None
        The address of a scheduler. None: start worker processes on this machine. They end with
        `close`, or with this process, however it ends.
    n : int
        How many worker processes to start.
    """

    def __init__(self, address: str | None, n: int) -> None:
        self._distributed: Any = require("distributed", "dask", _WHAT)
        before = dict(os.environ)
        self.local = _start_local(self._distributed, n) if address is None else None
        # Dask leaves what it sets for its workers in this process too: `close` undoes that.
        self._environment = {
            name: before.get(name) for name in os.environ if os.environ[name] != before.get(name)
        }
        try:
            self._client = self._distributed.Client(
                self.local or address, timeout=_SECONDS_TO_ANSWER
            )
        except (OSError, ValueError, ImportError) as error:
            raise ExecutionError(
                f"dask must be the address of a scheduler that runs; nothing answered at "
                f"{address} ({error}). Start one with: dask scheduler"
            ) from error
        self._client.subscribe_topic(_PROGRESS, self._note_progress)
        self._jobs: dict[Any, Job] = {}
        self._shares: dict[str, float] = {}
        self._broken = ""
        self._alone_since: float | None = None
        self._warned = False

    def n_free(self) -> int:
        """Return how many more jobs the workers can start now."""
        n_threads = int(sum(self._ask(self._client.ncores).values()))
        self._check_alone(n_threads)
        # A job that waits behind another one on a worker would die with it.
        return 0 if self._broken else n_threads - len(self._jobs)

    def _check_alone(self, n_threads: int) -> None:
        """Warn when there have been no workers for a while; later, stop a local cluster."""
        if n_threads or self._alone_since is None:
            self._alone_since, self._warned = time.monotonic(), False
        alone = time.monotonic() - self._alone_since
        if alone > _SECONDS_TO_COME_BACK and not self._warned:
            self._warned = True
            warnings.warn("the cluster has no workers; waiting for some", stacklevel=4)
        if self.local and alone > _SECONDS_WITHOUT_WORKERS:
            raise ExecutionError(
                "the local cluster lost all its workers and started no others. The same command "
                "continues"
            )

    def submit(self, job: Job) -> None:
        """Start a job."""
        source = run.versions()["source"]
        self._jobs[self._client.submit(_run, job, source, pure=False)] = job

    def wait(self, progress: Callable[[Job, float], Any]) -> list[Result]:
        """Wait a moment, report the progress of running jobs, and return the jobs that ended."""
        self._check_alone(int(sum(self._ask(self._client.ncores).values())))
        with contextlib.suppress(TimeoutError):
            self._ask(
                self._distributed.wait,
                list(self._jobs),
                timeout=_SECONDS_BETWEEN_LOOKS,
                return_when="FIRST_COMPLETED",
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
        if self._broken and not ended:  # what has ended well is recorded first
            raise ExecutionError(self._broken)
        return ended

    def _result(self, future: Any) -> list[Outcome] | Died | None:
        """Return what came of a job; None for an error that stops the sweep."""
        if future.status == "finished":
            outcomes: list[Outcome] = future.result()
            return outcomes
        error = self._ask(future.exception) if future.status == "error" else None
        if isinstance(error, self._distributed.KilledWorker):
            return Died("its process ended by itself (often a sign that memory ran out)")
        self._broken = (
            f"a worker could not run a job ({error or future.status}). All workers need the same "
            "ybar, with its extras, and the same data"
        )
        return None

    def _note_progress(self, event: tuple[float, dict[str, Any]]) -> None:
        """Note the share of a job that is done; in the thread of the client."""
        _, message = event
        self._shares[message["key"]] = message["share"]

    def _ask(self, question: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Ask the scheduler something."""
        try:
            return question(*args, **kwargs)
        except TimeoutError:
            raise
        except Exception as error:
            raise ExecutionError(
                f"the scheduler of the cluster was lost ({type(error).__name__}). The same "
                "command continues once it is there again"
            ) from error

    def close(self) -> None:
        """Cancel what is running, and end the processes that were started here."""
        if self.local is not None:
            _kill_workers(self.local)
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._jobs))
        with contextlib.suppress(Exception):
            self._client.close()
        if self.local is not None:
            self.local.close()
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_local(distributed: Any, n: int) -> Any:
    """Start processes of one thread each; a process that is killed while it starts is replaced."""
    dask: Any = require("dask", "dask", _WHAT)
    for attempt in range(_STARTS):
        try:
            with dask.config.set(_SETTINGS), _blocked_interrupts():
                return distributed.LocalCluster(
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
                    f"the worker processes ended {_STARTS} times before they took a job "
                    f"({error}). What they printed is above"
                ) from error
    raise AssertionError


def _kill_workers(local: Any) -> None:
    """End the processes at once: they only compute, and leave nothing in disorder."""

    async def kill() -> None:
        nannies = list(local.workers.values())
        processes = [nanny.pid for nanny in nannies if nanny.pid]
        closed = asyncio.gather(*(nanny.close() for nanny in nannies))
        await asyncio.sleep(0)  # from here on the nannies replace no worker
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, _KILL)
        await closed

    with contextlib.suppress(Exception):  # `LocalCluster.close` tries again
        local.sync(kill)


@contextlib.contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Let threads and processes that start in here ignore Ctrl-C, which a terminal sends to all.

    The thread that Dask starts here starts the workers, also those that replace others.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    # It would start with the first worker, and unblock interrupts for that one.
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
