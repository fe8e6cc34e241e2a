"""The workers of a sweep: a Dask cluster, started here or at an address of the user's."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ...distributed import local
from ...distributed.workers import WorkerError
from ...utils.extras import require
from ..plan.jobs import Job
from . import run
from .entry import Entry
from .sweep import Died, Result

_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_CONNECT = 5.0
_SECONDS_TO_ANSWER = 15.0
_SECONDS_TO_COME_BACK = 15.0
_SECONDS_WITHOUT_WORKERS = 90.0
_PROGRESS = "ybar-progress"
_WHAT = "a sweep"
_IMPORTED_ONCE = ["distributed.nanny", __name__, "ybar.neural.fitting"]  # the last imports torch
# Dask does not repeat a job whose worker died: the sweep does, and counts the attempts.
_SETTINGS = {"distributed.scheduler.allowed-failures": 0}


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
                started.enter_context(local.restored_environment())
                local.start_fork_server(_IMPORTED_ONCE)  # it imports while this process does
            self._distributed: Any = require("distributed", "dask", _WHAT)
            if address is None:
                started.enter_context(local.settings(_SETTINGS))
                self.local = local.start(n, _IMPORTED_ONCE)
                started.callback(self.local.close)
            self._client = self._connect(address)
            started.callback(self._leave)
            self._closing = started.pop_all()

    def _connect(self, address: str | None) -> Any:
        client = local.connect(self.local if address is None else address)
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
            raise WorkerError(
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
            raise WorkerError(self._broken)
        return ended

    def _result(self, future: Any) -> list[Entry] | Died | None:
        """Return the result of a job; None for an error that stops the sweep."""
        if future.status == "finished":
            with self._answering():
                entries: list[Entry] = future.result(timeout=self._patience)
            return entries
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
            raise WorkerError(
                f"the scheduler of the cluster was lost ({type(error).__name__}). Restart the "
                "scheduler, then run the same command again to continue"
            ) from error

    def _leave(self) -> None:
        """Cancel what is running, and end the worker processes that were started here."""
        if self.local is not None:
            local.kill_workers(self.local)
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._jobs))
        with contextlib.suppress(Exception):
            self._client.close(timeout=_SECONDS_TO_CONNECT)

    def close(self) -> None:
        """End the sweep's jobs and its processes, and restore the environment."""
        self._closing.close()


def _run(job: Job, source: str) -> list[Entry]:
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
