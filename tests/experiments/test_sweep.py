"""Sweeps: whatever happens to a run, a worker or the sweep, all else ends up recorded, once."""

import collections
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.model import Dataset
from ybar.experiments.runs import run
from ybar.experiments.runs import sweep as execute
from ybar.experiments.runs.ledger import Ledger
from ybar.experiments.runs.sweep import Died

pytest.importorskip("torch")

PLAN = """
trials = 2
datasets = ["digits"]
settings = ["uniform", "strong", "noise-0.2"]
[[base]]
name = "knn"
kind = "knn"
n_neighbors = [10, 40]
[[base]]
name = "linear"
kind = "network"
methods = ["scl-nl", "ure-ga", "fwd", "cpe-i", "cpe-f", "cpe-t"]
learning_rates = [1e-2, 1e-3]
epochs = 4
"""

# Losses of a user that go wrong; a module, so that workers can import it.
UNRULY = """
import os, signal, time
import torch

def _loss(logits, y_comp, log_T):
    at_label = y_comp.expand(*logits.shape[:-1])[..., None]
    return -torch.log1p(-logits.softmax(-1).gather(-1, at_label)[..., 0])

def well(*given):
    return _loss(*given)

def raises(*given):
    raise RuntimeError("a user's mistake")

def not_finite(*given):
    return _loss(*given) * float("nan")

def out_of_memory(*given):
    raise MemoryError("no more")

def dies(*given):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_once(*given):
    if not os.path.exists(os.environ["YBAR_TEST_MARK"]):
        open(os.environ["YBAR_TEST_MARK"], "w").close()
        dies()
    return _loss(*given)
"""


def jobs_of(text, folder=None):
    read = plan_file.parse(text, "p.toml", folder)
    facts = {d: run.facts(d) for part in read.parts for d in part.datasets}
    return plan_jobs.jobs(read, facts)


@pytest.fixture(scope="module")
def jobs():
    return jobs_of(PLAN)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "runs.sqlite") as opened:
        yield opened


class Here:
    """A pool of this very process, that can be told which jobs' workers die, and how often."""

    def __init__(self, deaths=(), width=1):
        self.deaths, self.width = collections.Counter(deaths), width
        self.waiting, self.ran = [], []

    def free(self):
        return self.width - len(self.waiting)

    def submit(self, job):
        self.waiting.append(job)

    def finished(self, tell):
        job = self.waiting.pop(0)
        tell(job, 0.5)
        if any(self.deaths[t] > 0 for t in job.trainings):
            self.deaths.subtract(job.trainings)
            return [(job, Died("ended by SIGKILL"))]
        self.ran.append(job)
        return [(job, run.run(job))]

    def close(self):
        pass


class Forbidden(Here):
    def submit(self, job):
        raise AssertionError("this was done already")


def figures(ledger):
    return {entry.hash: entry.figures for entry in ledger.entries()}


def test_a_sweep_records_every_run_once_and_asking_again_costs_nothing(jobs, ledger):
    told = []
    execute.sweep(jobs, ledger, Here(), lambda job, share, outcomes: told.append(outcomes))
    names = [name for job in jobs for name in plan_jobs.hashes(job)]
    assert sorted(ledger.hashes()) == sorted(set(names))
    assert sum(len(outcomes) for outcomes in told if outcomes) == len(names)
    assert all(entry.cause is None for entry in ledger.entries())
    execute.sweep(jobs, ledger, Forbidden())


def test_processes_give_the_same_bits_as_this_process(jobs, ledger, tmp_path):
    some = [job for job in jobs if job.trial == 0]
    with execute.processes(2) as pool:
        execute.sweep(some, ledger, pool)
    with Ledger(tmp_path / "here.sqlite") as other:
        execute.sweep(some, other, Here())
        assert figures(other) == figures(ledger)
        for a, b in zip(other.entries(curves=True), ledger.entries(curves=True), strict=True):
            for name in a.curves:
                if name != "seconds":
                    np.testing.assert_array_equal(a.curves[name], b.curves[name])


def test_what_is_recorded_with_a_run_tells_where_it_comes_from(jobs, ledger):
    execute.sweep(jobs[:1] + jobs[-1:], ledger, Here())
    knn, *networks = sorted(ledger.entries(curves=True), key=lambda e: e.config["kind"] != "knn")
    for entry in (knn, *networks):
        assert {"ybar", "python", "numpy", "scikit-learn", "torch", "source"} <= set(entry.versions)
        assert entry.config["data_sha256"] == run.sha256(run.load(Dataset("digits")))
        assert entry.seconds > 0
        assert entry.finished.endswith("+00:00")
        text = repr(entry)
        assert os.getcwd() not in text
        assert os.uname().nodename not in text
    assert list(knn.curves["n_neighbors"]) == [10, 40]
    for entry in networks:
        assert {len(values) for values in entry.curves.values()} == {4}


def test_runs_that_are_missing_from_a_job_are_all_that_is_run(jobs, ledger):
    job = jobs[-1]
    entries = [execute.entry_of(job, outcome) for outcome in run.run(job)]
    ledger.record(entries[:-3])
    pool = Here()
    execute.sweep([job], ledger, pool)
    assert [ran.trainings for ran in pool.ran] == [job.trainings[-3:]]
    for entry in ledger.entries():
        alike = next(e for e in entries if e.hash == entry.hash)
        assert entry.figures["last.scel"] == pytest.approx(alike.figures["last.scel"], rel=1e-4)


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_job_whose_worker_died_is_tried_again(jobs, ledger, deaths):
    job = jobs[-1]
    pool = Here({job.trainings[0]: deaths})
    execute.sweep([job], ledger, pool)
    assert pool.ran == [job]
    assert set(ledger.hashes().values()) == {True}


def test_a_run_that_kills_its_worker_each_time_is_recorded_and_the_others_finish(jobs, ledger):
    job = jobs[-1]
    bad = job.trainings[4]
    execute.sweep([job], ledger, Here({bad: 10**6}))
    assert len(ledger.hashes()) == len(job.trainings)
    (failed,) = [entry for entry in ledger.entries() if entry.cause is not None]
    assert failed.config["method"] == bad.method
    assert failed.config["learning_rate"] == bad.learning_rate
    assert failed.cause == "the worker died 3 times: ended by SIGKILL"


class OneProcess(Here):
    """A worker with several threads: one job that ends it takes the others along."""

    def __init__(self, killer):
        super().__init__(width=2)
        self.killer = killer

    def finished(self, tell):
        if self.killer in self.waiting:
            died, self.waiting = self.waiting, []
            return [(job, Died("the cluster lost the workers it ran on")) for job in died]
        return super().finished(tell)


@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_run_that_ends_its_worker_does_not_take_its_neighbours_along(jobs, ledger, at):
    one_by_one = plan_jobs.split(jobs[-1], 1)[:5]
    execute.sweep(one_by_one, ledger, OneProcess(one_by_one[at]))
    (failed,) = [entry for entry in ledger.entries() if entry.cause is not None]
    assert failed.hash == plan_jobs.hashes(one_by_one[at])[0]
    assert len(ledger.hashes()) == len(one_by_one)


def test_what_ends_beside_an_error_of_the_machine_is_recorded(jobs, ledger, monkeypatch):
    bad, good = replace(jobs[0], data_sha256="f" * 64), jobs[1]

    def wait(connections, _):
        """Have both speak at once: that they are ready, then how it ended."""
        if len(connections) < 2:
            return []
        while not all(connection.poll(0.1) for connection in connections):
            pass
        return connections

    with execute.processes(2) as pool:
        monkeypatch.setattr(execute, "wait", wait)
        with pytest.raises(execute.ExecutionError, match="must be the one planned with"):
            execute.sweep([bad, good], ledger, pool)
    assert set(ledger.hashes()) == set(plan_jobs.hashes(good))


def test_another_ybar_on_a_worker_is_refused(jobs):
    own = run.versions()["source"]
    assert run.run(jobs[0], source=own)[0].cause is None
    with pytest.raises(ImportError, match=rf"planned with.* abc…; this worker has {own}…"):
        run.run(jobs[0], source="abc")


@pytest.fixture
def unruly(tmp_path, monkeypatch):
    """A plan with methods that go wrong in every way, beside two that do not."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("YBAR_TEST_MARK", str(tmp_path / "mark"))
    (tmp_path / "unruly.py").write_text(UNRULY)
    sys.modules.pop("unruly", None)

    def make(*names, rates=(1e-2, 1e-3)):
        methods = "".join(
            f'[[method]]\nname = "{name}"\nloss = "unruly:{name}"\n' for name in names
        )
        text = f"""
        trials = 1
        datasets = ["digits"]
        settings = ["strong"]
        {methods}
        [[base]]
        name = "linear"
        kind = "network"
        methods = {["cpe-f", *names, "scl-nl"]!r}
        learning_rates = {list(rates)!r}
        epochs = 3
        """
        (tmp_path / "again.toml").write_text(textwrap.dedent(text))
        return jobs_of(textwrap.dedent(text), tmp_path)

    yield make
    sys.modules.pop("unruly", None)


def test_a_run_that_raises_or_is_not_finite_is_recorded_with_its_cause(unruly, ledger):
    jobs = unruly("raises", "not_finite", "out_of_memory", "well")
    execute.sweep(jobs, ledger, Here())
    causes = {(e.config["method"], e.cause) for e in ledger.entries()}
    assert causes == {
        ("cpe-f", None),
        ("scl-nl", None),
        ("well", None),
        ("raises", "RuntimeError: a user's mistake"),
        ("not_finite", "the loss was not finite at epoch 1, batch 1"),
        ("out_of_memory", "MemoryError: no more"),
    }
    assert len(ledger.entries()) == 12
    (traceback, *_) = [e.traceback for e in ledger.entries() if e.config["method"] == "raises"]
    assert "unruly.py:" in traceback
    assert "in raises" in traceback
    assert str(ledger.path.parent) not in traceback


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_that_are_killed_are_replaced(unruly, ledger):
    (job,) = unruly("dies", "dies_once", rates=[1e-2])
    with execute.processes(2) as pool:
        execute.sweep(plan_jobs.split(job, 1), ledger, pool)
    found = {(e.config["method"], e.cause is None) for e in ledger.entries()}
    assert found == {("cpe-f", True), ("scl-nl", True), ("dies_once", True), ("dies", False)}
    (cause,) = {e.cause for e in ledger.entries() if e.cause is not None}
    assert "the worker died 3 times: ended by SIGKILL" in cause
    assert len(ledger.hashes()) == 4


def test_runs_of_another_sweep_are_left_to_it_and_taken_over_when_it_dies(jobs, ledger):
    job = jobs[-1]
    other = Ledger(ledger.path)
    other.claim(plan_jobs.hashes(job))
    pool = Here()
    looked = []
    sleep = time.sleep

    def other_dies(seconds):
        looked.append(seconds)
        assert pool.ran == []
        other.close()
        sleep(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute.time, "sleep", other_dies)
        execute.sweep([job], ledger, pool)
    assert len(looked) == 1
    assert len(ledger.hashes()) == len(job.trainings)


def test_two_sweeps_on_one_ledger_share_the_work(tmp_path):
    (tmp_path / "p.toml").write_text(PLAN)
    code = textwrap.dedent("""
        import sys
        from ybar.experiments.plan import jobs as plan_jobs, reading as plan_file
        from ybar.experiments.runs import run, sweep as execute
        from ybar.experiments.runs.ledger import Ledger
        if __name__ == "__main__":
            read = plan_file.read(sys.argv[1])
            facts = {d: run.facts(d) for part in read.parts for d in part.datasets}
            done = []
            with Ledger(sys.argv[2]) as ledger, execute.processes(1) as pool:
                jobs = plan_jobs.jobs(read, facts)
                execute.sweep(jobs, ledger, pool, lambda *a: done.append(a[2]))
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


def test_processes_end_with_the_pool_and_environment_is_as_before(jobs):
    before = dict(os.environ)
    with execute.processes(1) as pool:
        pool.submit(jobs[0])
        (worker,) = pool.workers
        assert worker.process.is_alive()
    assert not worker.process.is_alive()
    assert dict(os.environ) == before


def lose_workers(jobs, ledger, tmp_path, kills):
    """Sweep on a cluster while one worker after the other is killed; compare with this process."""
    distributed = pytest.importorskip("distributed")
    ended = threading.Event()
    killed = []

    def kill():
        rng = random.Random(0)
        while len(killed) < kills and not ended.wait(rng.uniform(1, 4)):
            workers = [w.process for w in pool.local.workers.values() if w.process is not None]
            alive = [worker.pid for worker in workers if worker.is_alive()]
            if alive:
                os.kill(rng.choice(alive), signal.SIGKILL)
                killed.append(alive)

    with execute.cluster(None, 2) as pool:
        assert isinstance(pool.local, distributed.LocalCluster)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            execute.sweep(jobs, ledger, pool)
        finally:
            ended.set()
            killer.join()
    names = {name for job in jobs for name in plan_jobs.hashes(job)}
    assert ledger.hashes() == dict.fromkeys(names, True)
    with Ledger(tmp_path / "here.sqlite") as other:
        execute.sweep(jobs, other, Here())
        assert figures(other) == figures(ledger)
    return len(killed)


def test_a_cluster_runs_the_same_bits_and_survives_the_loss_of_a_worker(jobs, ledger, tmp_path):
    assert lose_workers(jobs, ledger, tmp_path, kills=1) == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_cluster_survives_the_loss_of_ten_workers(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "_ATTEMPTS", 11)  # the parts of a job round otherwise
    longer = jobs_of(PLAN.replace("epochs = 4", "epochs = 300").replace("trials = 2", "trials = 5"))
    assert lose_workers(longer, ledger, tmp_path, kills=10) == 10


def test_a_scheduler_that_does_not_answer_is_one_clear_error(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(execute, "_SECONDS_TO_ANSWER", 0.5)
    with (
        pytest.raises(execute.ExecutionError, match=r"nothing answered at tcp://127\.0\.0\.1:9"),
        execute.cluster("tcp://127.0.0.1:9", 1),
    ):
        pass


def test_data_that_are_not_those_planned_with_are_refused(jobs, ledger):
    job = replace(jobs[0], data_sha256="f" * 64)
    with (
        execute.processes(1) as pool,
        pytest.raises(execute.ExecutionError, match="must be the one planned with"),
    ):
        execute.sweep([job], ledger, pool)
    assert ledger.hashes() == {}


def test_a_module_that_workers_lack_or_have_otherwise_stops_the_sweep(unruly, ledger, tmp_path):
    (job,) = unruly("well", rates=[1e-2])
    (tmp_path / "unruly.py").write_text(UNRULY + "\n# changed\n")
    with (
        execute.processes(1) as pool,
        pytest.raises(execute.ExecutionError, match="must come from the file planned with"),
    ):
        execute.sweep([job], ledger, pool)
    (tmp_path / "unruly.py").unlink()
    with (
        execute.processes(1) as pool,
        pytest.raises(execute.ExecutionError, match="No module named 'unruly'"),
    ):
        execute.sweep([job], ledger, pool)
    assert ledger.hashes() == {}


def test_a_network_that_was_changed_is_neither_run_nor_recorded_as_the_one_planned(
    tmp_path, ledger, monkeypatch
):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "my_network_of_test_execute.py"
    source = "import torch\ndef build():\n    return torch.nn.Linear({})\n"
    file.write_text(source.format("64, 10"))
    text = PLAN[PLAN.index('[[base]]\nname = "linear"') :].replace("epochs = 4", "epochs = 1")
    text = f'trials = 1\ndatasets = ["digits"]\nsettings = ["strong"]\n{text}'
    module = f'module = "{file.stem}:build"\n'
    first, second, *_ = jobs_of(text + module, tmp_path)

    class Editor(Here):
        def finished(self, tell):
            ended = super().finished(tell)
            file.write_text(source.format("64, 10, bias=False"))
            return ended

    planned = set(plan_jobs.hashes(first))
    execute.sweep([first], ledger, Editor())  # edited while it ran
    assert set(ledger.hashes()) == planned
    assert all(ledger.hashes().values())
    with pytest.raises(ImportError, match="must come from the file planned with"):
        run.run(second)
    changed, *_ = jobs_of(text + module, tmp_path)
    assert not planned & set(plan_jobs.hashes(changed))
    assert run.run(changed)[0].cause is None


def test_a_sweep_without_workers_waits_for_some(jobs, ledger, monkeypatch):
    waited = []
    monkeypatch.setattr(execute.time, "sleep", waited.append)

    class Deserted(Here):
        def free(self):
            return 0 if len(waited) < 5 else super().free()

    execute.sweep(jobs[:1], ledger, Deserted())
    assert waited == [execute._SECONDS_BETWEEN_LOOKS] * 5
    assert len(ledger.hashes()) == len(jobs[0].trainings)


def test_a_loss_that_was_changed_is_imported_anew(unruly, tmp_path):
    (job,) = unruly("well", rates=[1e-2])
    assert all(outcome.cause is None for outcome in run.run(job))
    (tmp_path / "unruly.py").write_text("def well(*given):\n    raise RuntimeError('new')\n")
    (changed,) = jobs_of((tmp_path / "again.toml").read_text(), tmp_path)
    causes = {outcome.training.method: outcome.cause for outcome in run.run(changed)}
    assert causes["well"] == "RuntimeError: new"
    assert plan_jobs.hashes(changed) != plan_jobs.hashes(job)


def test_a_worker_that_cannot_start_stops_the_sweep(jobs, ledger, monkeypatch):
    monkeypatch.setattr(execute, "_work", _cannot_start)
    with (
        execute.processes(1) as pool,
        pytest.raises(execute.ExecutionError, match="before it took a job"),
    ):
        execute.sweep(jobs[:1], ledger, pool)
    assert ledger.hashes() == {}


def _cannot_start(connection):
    os._exit(3)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_worker_that_is_killed_while_it_starts_is_replaced(jobs, ledger, monkeypatch, tmp_path):
    monkeypatch.setenv("YBAR_TEST_KILLED", str(tmp_path / "once"))
    monkeypatch.setattr(execute, "_work", _killed_once)
    with execute.processes(1) as pool:
        execute.sweep(jobs[:1], ledger, pool)
    assert len(ledger.hashes()) == len(jobs[0].trainings)
    assert all(entry.cause is None for entry in ledger.entries())


def _killed_once(connection):
    mark = Path(os.environ["YBAR_TEST_KILLED"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    execute._work(connection)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_that_are_always_killed_as_they_start_stop_the_sweep(jobs, ledger, monkeypatch):
    monkeypatch.setattr(execute, "_work", _always_killed)
    monkeypatch.setattr(execute, "_ATTEMPTS", 2)
    with (
        execute.processes(1) as pool,
        pytest.raises(execute.ExecutionError, match=r"ended by SIGKILL .* before it took a job"),
    ):
        execute.sweep(jobs[:1], ledger, pool)
    assert ledger.hashes() == {}


def _always_killed(connection):
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_first_worker_is_as_deaf_to_ctrl_c_as_the_others(jobs):
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("looks at processes in /proc")
    with execute.processes(2) as pool:
        for job in jobs[:2]:
            pool.submit(job)
        for worker in pool.workers:
            text = Path(f"/proc/{worker.process.pid}/status").read_text()
            blocked = int(re.search(r"SigBlk:\s*(\w+)", text).group(1), 16)
            ignored = int(re.search(r"SigIgn:\s*(\w+)", text).group(1), 16)
            assert (blocked | ignored) & (1 << (signal.SIGINT - 1))


@pytest.mark.slow
def test_a_run_that_kills_its_worker_on_a_cluster_is_recorded(unruly, ledger, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(execute, "_SECONDS_TO_COME_BACK", 60.0)  # a busy machine starts slowly
    jobs = unruly("dies", rates=[1e-2])
    with execute.cluster(None, 1) as pool:
        execute.sweep(jobs, ledger, pool)
    causes = {e.config["method"]: e.cause for e in ledger.entries()}
    assert causes["cpe-f"] is causes["scl-nl"] is None
    assert "the worker died 3 times" in causes["dies"]
