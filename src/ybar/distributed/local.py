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
# Forks of one process that has imported everything start at once. Elsewhere than on Linux, the
# system's libraries do not survive a fork.
_FORKS = sys.platform == "linux"
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_SETTINGS = {
    # The profiler looks a hundred times per second what a worker does, for a tenth of its time.
    "distributed.worker.profile.enabled": False,
    # Dask's own also make workers return memory at every chance, to ask for it again at once.
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
            stack.enter_context(settings_of_workers())
            imported = ["ybar.distributed.boosting", "ybar.tables.model"]
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
            f"dask must be the address of a scheduler that runs; nothing answered at "
            f"{target} ({reason}). Start one with: dask scheduler"
        ) from error


async def _ask_who(distributed: Any, address: str) -> None:
    """Ask a scheduler who it is: `Client` would wait for ever for a port that says nothing."""
    async with asyncio.timeout(_SECONDS_TO_CONNECT), distributed.rpc(address) as scheduler:
        await scheduler.identity()


@contextlib.contextmanager
def settings_of_workers(more: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Set what Dask starts workers with, and restore the environment, which Dask changes too."""
    require("distributed", "dask", _WHAT)  # sets its own defaults, which must not be set later
    dask: Any = require("dask", "dask", _WHAT)
    before = dict(os.environ)
    try:
        with dask.config.set({**_SETTINGS, **(more or {})}):
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
            with _blocked_interrupts():
                if _FORKS:
                    _start_fork_server(distributed, imported)
                return distributed.LocalCluster(
                    env=dict(os.environ),  # as it is now, not as the fork server found it
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
                    f"the worker processes ended {_STARTS} times before they took a job "
                    f"({error}). What they printed is above"
                ) from error
    raise AssertionError


def _start_fork_server(distributed: Any, imported: Sequence[str]) -> None:
    """Start the process that workers are forked from; it goes on to import what jobs need."""
    os.environ.update(_THREADS)
    context = distributed.utils.get_mp_context()  # sets a list of its own when first called
    context.set_forkserver_preload(["distributed.nanny", *imported])
    forkserver.ensure_running()


def kill_workers(local: Any) -> None:
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
