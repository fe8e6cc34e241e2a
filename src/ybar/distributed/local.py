"""Workers of a Dask cluster in processes on this machine, and the way to any cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import forkserver, resource_tracker
from typing import Any

from ..utils.extras import require
from .workers import WorkerError

_STARTS = 3
_SECONDS_TO_CONNECT = 5.0
_WHAT = "a Dask cluster"
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no other
# Forks of one process that has imported everything start fast. On systems other than Linux,
# system libraries do not survive a fork.
_FORKS = sys.platform == "linux"
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_SETTINGS = {
    # The profiler samples a worker a hundred times per second, which takes a tenth of its time.
    "distributed.worker.profile.enabled": False,
    # Dask's defaults make workers return memory that they need again at once.
    "distributed.nanny.pre-spawn-environ": _THREADS,
    "distributed.worker.multiprocessing-method": "forkserver" if _FORKS else "spawn",
}


@contextlib.contextmanager
def cluster(address: str, n_workers: int | None = None) -> Iterator[Any]:
    """Open a client of the scheduler at an address, or of new workers on this machine.

    Parameters
    ----------
    address : str
        "local" starts workers, which end with the block, or with this process.
    n_workers : int, optional
        How many workers to start; by default one per core.
    """
    with contextlib.ExitStack() as stack:
        target: Any = address
        if address == "local":
            imported = ["distributed.nanny", "ybar.distributed.boosting"]
            stack.enter_context(restored_environment())
            start_fork_server(imported)
            stack.enter_context(settings())
            target = start(n_workers or os.cpu_count() or 1, imported, memory_limit="auto")
            stack.callback(target.close)
            stack.callback(kill_workers, target)
        client = connect(target)
        stack.callback(client.close, timeout=_SECONDS_TO_CONNECT)
        if address == "local":
            client.run(_print_nothing)
        with client.as_current():
            yield client


def _print_nothing() -> None:
    """Let a worker print nothing: LightGBM's network announces itself on standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def connect(target: Any) -> Any:
    """Return a client of a scheduler, by its address, or of a local cluster."""
    distributed: Any = require("distributed", "dask", _WHAT)
    try:
        if isinstance(target, str):
            asyncio.run(_ask_who(distributed, target))
        return distributed.Client(target, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, ImportError) as error:
        reason = str(error) or f"no answer within {_SECONDS_TO_CONNECT:.0f} s"
        raise WorkerError(
            f"dask must be the address of a running scheduler; nothing answered at "
            f"{target} ({reason}). Start one with: dask scheduler"
        ) from error


async def _ask_who(distributed: Any, address: str) -> None:
    """Check that a scheduler answers: `Client` would wait forever for a silent port."""
    async with asyncio.timeout(_SECONDS_TO_CONNECT), distributed.rpc(address) as scheduler:
        await scheduler.identity()


def settings(more: Mapping[str, Any] | None = None) -> contextlib.AbstractContextManager[Any]:
    """Set what Dask starts workers with."""
    require("distributed", "dask", _WHAT)  # sets its defaults first
    dask: Any = require("dask", "dask", _WHAT)
    context: contextlib.AbstractContextManager[Any]
    context = dask.config.set({**_SETTINGS, **(more or {})})
    return context


@contextlib.contextmanager
def restored_environment() -> Iterator[None]:
    """Restore the environment, which Dask changes too."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in [name for name in os.environ if os.environ[name] != before.get(name)]:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


def start(n: int, imported: Sequence[str], memory_limit: str | None = None) -> Any:
    """Start processes of one thread each; a process that is killed while it starts is replaced.

    Parameters
    ----------
    imported : sequence of str
        Modules that the process imports from which workers are forked.
    memory_limit : str, optional
        That of each worker, as Dask writes it.
    """
    distributed: Any = require("distributed", "dask", _WHAT)
    for attempt in range(_STARTS):
        try:
            start_fork_server(imported)
            with _blocked_interrupts():
                return distributed.LocalCluster(
                    env=dict(os.environ),  # the current one, not that of the fork server's start
                    n_workers=n,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=memory_limit,
                    silence_logs=logging.CRITICAL,
                )
        except RuntimeError as error:
            if attempt + 1 == _STARTS:
                raise WorkerError(
                    f"the worker processes ended {_STARTS} times before they started a job "
                    f"({error}). Their output is above"
                ) from error
    raise AssertionError


def start_fork_server(imported: Sequence[str]) -> None:
    """Start the process that workers are forked from; it goes on to import what jobs need."""
    if _FORKS:
        os.environ.update(_THREADS)
        forkserver.set_forkserver_preload(list(imported))
        with _blocked_interrupts():
            forkserver.ensure_running()


def kill_workers(local: Any) -> None:
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
