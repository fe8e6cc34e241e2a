"""The workers of a sweep: replaced when they die, gone when the sweep ends."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import dask
import numpy as np
import pytest

from sweep_helpers import PLAN, UNRULY, Here, jobs_of, scores
from ybar.distributed.workers import WorkerError
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.runs import cluster as clusters
from ybar.experiments.runs import sweep as sweeps
from ybar.experiments.runs.cluster import Cluster
from ybar.experiments.runs.ledger import Ledger
from ybar.experiments.runs.sweep import sweep

distributed = pytest.importorskip("distributed")

pytest.importorskip("torch")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_give_the_same_bits_as_this_process_though_one_is_killed(
    unruly, jobs, ledger, tmp_path
):
    some = [*unruly("dies_once"), *(job for job in jobs if job.trial == 0)]
    with closing(Cluster(None, 2)) as workers:
        sweep(some, ledger, workers)
    assert (tmp_path / "mark").exists()  # a worker was killed
    with Ledger(tmp_path / "here.sqlite") as other:
        sweep(some, other, Here())
        assert scores(other) == scores(ledger)
        for a, b in zip(other.entries(curves=True), ledger.entries(curves=True), strict=True):
            assert a.cause is b.cause is None
            for name in a.curves.keys() - {"seconds"}:
                np.testing.assert_array_equal(a.curves[name], b.curves[name])


def pids(workers):
    """The processes of the workers that are alive."""
    nannies = workers.local.workers.values()
    processes = [nanny.process for nanny in nannies if nanny.process is not None]
    return [pid for process in processes if process.is_alive() and (pid := process.pid)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_sweep_survives_the_loss_of_ten_workers(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "_ATTEMPTS", 11)  # pieces of a job round differently
    jobs = jobs_of(PLAN.replace("epochs = 4", "epochs = 300").replace("trials = 2", "trials = 5"))
    begun, ended, killed = threading.Event(), threading.Event(), []

    def kill():
        rng = random.Random(0)
        begun.wait()
        while len(killed) < 10 and not ended.wait(rng.uniform(1, 4)):
            alive = pids(workers)
            if alive:
                os.kill(rng.choice(alive), signal.SIGKILL)
                killed.append(alive)

    with closing(Cluster(None, 2)) as workers:
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            sweep(jobs, ledger, workers, lambda *_: begun.set())
        finally:
            begun.set()
            ended.set()
            killer.join()
    assert len(killed) == 10
    assert set(ledger.hashes().values()) == {True}
    with Ledger(tmp_path / "here.sqlite") as other:
        sweep(jobs, other, Here())
        assert scores(other) == scores(ledger)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_that_kills_its_worker_is_recorded_and_the_others_finish(unruly, ledger):
    (job,) = unruly("dies", "dies_once", rates=[1e-2])
    with closing(Cluster(None, 2)) as workers:
        sweep(plan_jobs.split(job, 1), ledger, workers)
    ended = {(e.config["method"], e.cause is None) for e in ledger.entries()}
    assert ended == {("cpe-f", True), ("scl-nl", True), ("dies_once", True), ("dies", False)}
    (cause,) = {e.cause for e in ledger.entries() if e.cause is not None}
    assert "the worker died 3 times" in cause


def test_the_progress_of_a_job_is_reported_while_it_runs(ledger):
    job = jobs_of(PLAN.replace("epochs = 4", "epochs = 300"))[-1]
    reported = []
    with closing(Cluster(None, 1)) as workers:
        sweep([job], ledger, workers, lambda job, share, outcomes: reported.append(share))
    assert len(reported) > 1
    assert all(0 < share < 1 for share in reported[:-1])
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


def test_what_ends_beside_an_error_of_the_machine_is_recorded(jobs, ledger, monkeypatch):
    bad, good = replace(jobs[0], data_sha256="f" * 64), jobs[1]
    wait = distributed.wait

    def wait_for_both(futures, **_):
        return wait(futures, timeout=60)

    with closing(Cluster(None, 2)) as workers:
        while workers.n_free() < 2:
            pass
        monkeypatch.setattr(distributed, "wait", wait_for_both)
        with pytest.raises(WorkerError, match="f" * 64):
            sweep([bad, good], ledger, workers)
    assert set(ledger.hashes()) == set(plan_jobs.hashes(good))


def test_a_module_that_workers_lack_or_have_otherwise_stops_the_sweep(unruly, ledger, tmp_path):
    (job,) = unruly("well", rates=[1e-2])
    with closing(Cluster(None, 1)) as workers:
        (tmp_path / "unruly.py").write_text(UNRULY + "\n# changed\n")
        with pytest.raises(WorkerError, match=r"unruly:well.*sha256"):
            sweep([job], ledger, workers)
    with closing(Cluster(None, 1)) as workers:
        (tmp_path / "unruly.py").unlink()
        with pytest.raises(WorkerError, match="No module named 'unruly'"):
            sweep([job], ledger, workers)
    assert ledger.hashes() == {}


def test_a_scheduler_that_does_not_answer_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 0.5)
    with (
        pytest.raises(WorkerError, match=r"tcp://127\.0\.0\.1:9"),
        closing(Cluster("tcp://127.0.0.1:9", 1)),
    ):
        pass


def test_a_port_that_accepts_and_stays_silent_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 0.5)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        address = f"tcp://127.0.0.1:{port.getsockname()[1]}"
        with pytest.raises(WorkerError, match=re.escape(address)) as silent:
            Cluster(address, 1)
    assert "\n" not in str(silent.value)


@pytest.fixture
def remote():
    """A scheduler in a process of its own, and its address."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--no-dashboard", "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True
    )
    try:
        said = iter(process.stderr.readline, "")
        yield (
            process,
            next(re.search(r"tcp://[\d.]+:\d+", line)[0] for line in said if "at:" in line),
        )
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_scheduler_that_freezes_stops_the_sweep(remote, jobs, ledger, monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS_TO_ANSWER", 1.0)
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 3.0)
    process, address = remote
    start = time.monotonic()
    with closing(Cluster(address, 1)) as workers:
        workers.submit(jobs[0])
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(WorkerError, match="scheduler of the cluster was lost"):
            sweep(jobs, ledger, workers)
    assert time.monotonic() - start < 30


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux")
def test_workers_start_with_everything_imported_also_those_that_replace_others():
    def look():
        return os.getpid(), {"torch", "sklearn", clusters.__name__} <= sys.modules.keys()

    with closing(Cluster(None, 1)) as workers:
        first, there = workers._client.submit(look, pure=False).result()
        assert there
        os.kill(first, signal.SIGKILL)
        while pids(workers) in ([], [first]) or not workers.n_free():
            time.sleep(0.05)
        second, there = workers._client.submit(look, pure=False).result()
        assert (second != first, there) == (True, True)


def test_two_sweeps_on_one_ledger_share_the_work(tmp_path):
    (tmp_path / "p.toml").write_text(PLAN)
    code = textwrap.dedent("""
        import sys
        from contextlib import closing
        from ybar.experiments.plan import jobs as plan_jobs, reading
        from ybar.experiments.runs import cluster, data, sweep
        from ybar.experiments.runs.ledger import Ledger
        if __name__ == "__main__":
            read = reading.read(sys.argv[1])
            facts = {d: data.facts(d) for part in read.parts for d in part.datasets}
            done = []
            with Ledger(sys.argv[2]) as ledger, closing(cluster.Cluster(None, 1)) as workers:
                jobs = plan_jobs.jobs(read, facts)
                sweep.sweep(jobs, ledger, workers, lambda *a: done.append(a[2]))
            print(sum(len(outcomes) for outcomes in done if outcomes))
    """)
    (tmp_path / "sweep.py").write_text(code)
    command = [sys.executable, "sweep.py", "p.toml", "runs.sqlite"]
    sweeps = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    counts = [int(sweep.communicate(timeout=200)[0]) for sweep in sweeps]
    with Ledger(tmp_path / "runs.sqlite") as ledger:
        names = {name for job in jobs_of(PLAN) for name in plan_jobs.hashes(job)}
        assert set(ledger.hashes()) == names
        assert sum(counts) == len(names)  # none twice
        check = ledger._connection.execute("PRAGMA integrity_check").fetchone()
        assert check == ("ok",)
    assert sorted(os.listdir(tmp_path)) == ["p.toml", "runs.sqlite", "sweep.py"]


def test_workers_end_with_the_sweep_and_the_environment_is_as_before(jobs, monkeypatch):
    for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "PYTHONHASHSEED", "__DASK_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    with closing(Cluster(None, 1)) as workers:
        workers.submit(jobs[0])
        (pid,) = pids(workers)
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert dict(os.environ) == before


PRELOAD = """
import os, pathlib, signal
mark = pathlib.Path(os.environ["YBAR_TEST_MARK"])
if {always} or not mark.exists():
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed_at_start(tmp_path, monkeypatch):
    """Kills the workers as they start: the first of them, or all."""
    monkeypatch.setenv("YBAR_TEST_MARK", str(tmp_path / "mark"))

    def preload(*, always):
        (tmp_path / "preload.py").write_text(PRELOAD.format(always=always))
        return dask.config.set({"distributed.worker.preload": [str(tmp_path / "preload.py")]})

    return preload


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_worker_that_is_killed_while_it_starts_is_replaced(killed_at_start, tmp_path):
    with killed_at_start(always=False), closing(Cluster(None, 1)) as workers:
        assert (tmp_path / "mark").exists()
        assert len(pids(workers)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_that_are_always_killed_as_they_start_stop_the_sweep(killed_at_start, monkeypatch):
    monkeypatch.setattr(clusters.local, "_STARTS", 2)
    with killed_at_start(always=True), pytest.raises(WorkerError), closing(Cluster(None, 1)):
        pass


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at processes in /proc")
def test_no_worker_hears_ctrl_c_nor_one_that_replaces_another():
    def hears(pid):
        text = Path(f"/proc/{pid}/status").read_text()
        masks = (int(re.search(rf"{name}:\s*(\w+)", text)[1], 16) for name in ("SigBlk", "SigIgn"))
        return not any(mask & (1 << (signal.SIGINT - 1)) for mask in masks)

    with closing(Cluster(None, 2)) as workers:
        first, second = pids(workers)
        assert not hears(first)
        assert not hears(second)
        os.kill(first, signal.SIGKILL)
        while first in (alive := pids(workers)) or len(alive) < 2:
            time.sleep(0.05)
        assert not any(hears(pid) for pid in alive)


def test_a_local_cluster_listens_on_the_loopback_interface_only():
    with closing(Cluster(None, 1)) as workers:
        addresses = {address for _, address, *_ in listening(workers.local.scheduler)}
    assert addresses == {"127.0.0.1"}


def listening(scheduler):
    """Return (kind, address, port) of every server socket of a scheduler."""
    web = [socket.getsockname() for socket in scheduler.http_server._sockets.values()]
    return [("http", *name) for name in web] + [
        ("rpc", *address.removeprefix("tcp://").split(":")) for address in [scheduler.address]
    ]
