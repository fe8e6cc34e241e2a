"""The workers of a Dask cluster: that they can run ybar, and what happens if one is lost."""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlparse

from ..utils.errors import FailureError
from ..utils.extras import require

Result = TypeVar("Result")
_SECONDS_BETWEEN_LOOKS = 0.3
_SECONDS_TO_END = 10.0
_SECONDS_TO_COME_BACK = 120.0
_SECONDS_TO_START = 30.0
_ATTEMPTS = 4


class WorkerError(FailureError):
    """Workers that cannot do the work; the message says why and what to do."""


class LostWorkerError(WorkerError):
    """A worker ended while it was needed."""


def current_client(client: Any = None) -> Any:
    """Return the client of the caller, or the active one; its workers must run this ybar."""
    distributed: Any = require("distributed", "dask", "ybar.distributed")
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise WorkerError(
                "fit needs a Dask client, but there is none: call "
                "client = distributed.Client() before, for workers on this machine"
            ) from error
    check_workers(client)
    return client


def check_workers(client: Any) -> None:
    """Raise an error if there are no workers, or workers with another ybar."""
    with _answering():
        if not client.ncores():
            with contextlib.suppress(TimeoutError):
                client.wait_for_workers(1, timeout=_SECONDS_TO_START)
        if not client.ncores():
            raise WorkerError(
                f"the cluster at {client.scheduler.address} has no workers: start some with "
                f"dask worker {client.scheduler.address}"
            )
        versions = client.run(ybar_version, on_error="return")
    ours = ybar_version()
    for address, version in versions.items():
        lost = isinstance(version, OSError)  # while it was asked
        if not lost and version != ours:
            theirs = version if isinstance(version, str) else "none that can be imported"
            raise WorkerError(
                f"all workers must have ybar {ours}, as this process has; the worker at {address} "
                f"has {theirs}. Install the same version there: pip install ybar=={ours}"
            )


def ybar_version() -> str:
    """Return the version of ybar in this process."""
    return str(importlib.import_module(__name__.partition(".")[0]).__version__)


def one_per_process(client: Any) -> list[str]:
    """Return a worker of each process; LightGBM has one network per process."""
    with _answering():
        processes = client.run(os.getpid, on_error="ignore")
    first = {(host_of(worker), process): worker for worker, process in sorted(processes.items())}
    return sorted(first.values())


def host_of(address: str) -> str:
    """Return the host in the address of a worker."""
    return urlparse(address).hostname or "127.0.0.1"


def attempts(work: Callable[[], Result], client: Any) -> Result:
    """Return what some work returns; it is done again if a worker is lost meanwhile."""
    for attempt in range(_ATTEMPTS):
        n_workers = len(client.ncores())
        try:
            return work()
        except LostWorkerError as error:
            if attempt + 1 == _ATTEMPTS:
                raise WorkerError(f"{error}, and so {_ATTEMPTS} times. {_REMEDY}") from error
            _wait_for_workers(client, n_workers)
    raise AssertionError


_REMEDY = "Often memory ran out: use more workers, smaller partitions or more memory per worker"


def computed(client: Any, parts: Sequence[Any]) -> list[Any]:
    """Return the results of delayed tasks."""
    return gathered(client, client.compute(list(parts)))


def waited(client: Any, futures: Sequence[Any]) -> None:
    """Wait until futures are computed, and raise their errors."""
    distributed: Any = require("distributed", "dask", "ybar.distributed")
    with _answering(), client.as_current():
        distributed.wait(list(futures))
    failed = [future for future in futures if future.status != "finished"]
    if failed:
        gathered(client, failed[:1])


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures that any worker can compute again."""
    distributed: Any = require("distributed", "dask", "ybar.distributed")
    with _answering():
        try:
            return list(client.gather(list(futures)))
        except distributed.KilledWorker as error:
            raise WorkerError(f"workers ended while they read a partition. {_REMEDY}") from error


def as_completed(
    client: Any, function: Callable[..., Any], tasks: dict[str, tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield the results of tasks as they end; tasks of lost workers run again on others.

    Parameters
    ----------
    tasks : dict
        What each task is about, for errors, with its arguments.
    """
    distributed: Any = require("distributed", "dask", "ybar.distributed")
    names = {
        client.submit(function, *arguments, pure=False): name for name, arguments in tasks.items()
    }
    with client.as_current(), _answering():
        for future in distributed.as_completed(list(names)):
            try:
                yield future.result()
            except distributed.KilledWorker as error:
                raise WorkerError(f"{names[future]}: workers ended at it. {_REMEDY}") from error


def run_together(
    client: Any, function: Callable[..., Any], tasks: dict[str, tuple[Any, ...]]
) -> list[Any]:
    """Return the results of one task on each of the named workers, which wait for one another.

    Parameters
    ----------
    tasks : dict
        The address of each worker with the arguments of its task.

    Raises
    ------
    LostWorkerError
        If one of the workers ends. The tasks of the others have ended then, too: a worker that
        still waits is started anew.
    """
    distributed: Any = require("distributed", "dask", "ybar.distributed")
    with _answering():
        futures = {
            worker: client.submit(
                function, *args, workers=[worker], allow_other_workers=False, pure=False, retries=0
            )
            for worker, args in tasks.items()
        }
        try:
            while not all(future.done() for future in futures.values()):
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                failed = any(future.status == "error" for future in futures.values())
                lost = futures.keys() - client.ncores().keys()
                if failed or lost:
                    _end(client, futures)
                    lost = futures.keys() - client.ncores().keys()
                    break
            errors = [f.exception() for f in futures.values() if f.status == "error"]
            lost = lost if not all(f.status == "finished" for f in futures.values()) else set()
            broken = [error for error in errors if _is_of_the_network(error)]
            if lost or (errors and len(broken) == len(errors)):
                who = ", ".join(sorted(lost)) or "one of them"
                raise LostWorkerError(f"a worker was lost during fit ({who})")
            for error in errors:
                if isinstance(error, distributed.KilledWorker):
                    raise LostWorkerError("a worker was lost during fit") from error
                if not _is_of_the_network(error):
                    raise error
            return [future.result() for future in futures.values()]
        finally:
            client.cancel(list(futures.values()), force=True)


def _is_of_the_network(error: Any) -> bool:
    """Return whether LightGBM lost another worker."""
    text = str(error).lower()
    return any(word in text for word in ("socket", "connect", "bind", "network"))


def _end(client: Any, futures: dict[str, Any]) -> None:
    """Wait until the tasks of workers end, and start those anew that wait for one that is lost."""
    deadline = time.monotonic() + _SECONDS_TO_END
    while time.monotonic() < deadline:
        here = client.ncores()
        if all(f.done() for worker, f in futures.items() if worker in here):
            return
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    here = client.ncores()
    stuck = [worker for worker, f in futures.items() if worker in here and not f.done()]
    with contextlib.suppress(ValueError, TimeoutError):  # workers without a nanny
        client.restart_workers(stuck, timeout=_SECONDS_TO_COME_BACK, raise_for_error=False)


def _wait_for_workers(client: Any, n: int) -> None:
    """Wait for the workers that replace lost ones: a moment, but longer if none is left."""
    start = time.monotonic()
    while (n_left := len(client.ncores())) < n:
        if time.monotonic() > start + (_SECONDS_TO_END if n_left else _SECONDS_TO_COME_BACK):
            break
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    check_workers(client)


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Turn the loss of the scheduler into one line."""
    comm: Any = require("distributed.comm", "dask", "ybar.distributed")
    try:
        yield
    except (comm.CommClosedError, TimeoutError) as error:
        raise WorkerError(
            f"the scheduler of the Dask cluster does not answer ({type(error).__name__}). Start "
            "it again, and repeat the command"
        ) from error


def watched(client: Any, work: Callable[[], Result]) -> Result:
    """Return what some work of another library returns, which would wait for lost workers."""
    before = set(client.ncores())

    def with_client() -> Result:
        with client.as_current():
            return work()

    executor = ThreadPoolExecutor(1)
    future = executor.submit(with_client)
    executor.shutdown(wait=False)
    while not future.done():
        concurrent.futures.wait([future], timeout=_SECONDS_BETWEEN_LOOKS)
        with _answering():
            lost = before - set(client.ncores())
        if lost and not future.done():
            raise WorkerError(
                f"a worker was lost during fit ({', '.join(sorted(lost))}), and the estimator does "
                f"not go on without it. Fit again. {_REMEDY}"
            )
    return future.result()
