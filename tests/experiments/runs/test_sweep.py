"""Sweeps: whatever happens to a run, a worker or the sweep, all else is recorded, once."""

import os
import sys
import time

import pytest

from sweep_helpers import PLAN, Here, jobs_of, unruly_plan
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan.model import Dataset
from ybar.experiments.runs import data, run, sweep
from ybar.experiments.runs.ledger import Ledger
from ybar.experiments.runs.sweep import Died

pytest.importorskip("torch")


class Forbidden(Here):
    def submit(self, job):
        raise AssertionError("this was done already")


def test_a_sweep_records_every_run_once_and_asking_again_costs_nothing(jobs, ledger):
    told = []
    sweep.sweep(jobs, ledger, Here(), lambda job, share, outcomes: told.append(outcomes))
    names = [name for job in jobs for name in plan_jobs.hashes(job)]
    assert sorted(ledger.hashes()) == sorted(set(names))
    assert sum(len(outcomes) for outcomes in told if outcomes) == len(names)
    assert all(entry.cause is None for entry in ledger.entries())
    sweep.sweep(jobs, ledger, Forbidden())


def test_what_is_recorded_with_a_run_tells_where_it_comes_from(jobs, ledger):
    sweep.sweep(jobs[:1] + jobs[-1:], ledger, Here())
    knn, *networks = sorted(ledger.entries(curves=True), key=lambda e: e.config["kind"] != "knn")
    for entry in (knn, *networks):
        assert {"ybar", "python", "numpy", "scikit-learn", "torch", "source"} <= set(entry.versions)
        assert entry.config["data_sha256"] == data.sha256(data.load(Dataset("digits")))
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
    entries = run.run(job)
    ledger.record(entries[:-3])
    pool = Here()
    sweep.sweep([job], ledger, pool)
    assert [ran.trainings for ran in pool.ran] == [job.trainings[-3:]]
    for entry in ledger.entries():
        alike = next(e for e in entries if e.hash == entry.hash)
        assert entry.scores["last.scel"] == pytest.approx(alike.scores["last.scel"], rel=1e-4)


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_job_whose_worker_died_is_tried_again(jobs, ledger, deaths):
    job = jobs[-1]
    pool = Here({job.trainings[0]: deaths})
    sweep.sweep([job], ledger, pool)
    assert pool.ran == [job]
    assert set(ledger.hashes().values()) == {True}


def test_a_run_that_kills_its_worker_each_time_is_recorded_and_the_others_finish(jobs, ledger):
    job = jobs[-1]
    bad = job.trainings[4]
    sweep.sweep([job], ledger, Here({bad: 10**6}))
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

    def wait(self, progress):
        if self.killer in self.waiting:
            died, self.waiting = self.waiting, []
            return [(job, Died("the cluster lost the workers it ran on")) for job in died]
        return super().wait(progress)


@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_run_that_ends_its_worker_does_not_take_its_neighbours_along(jobs, ledger, at):
    one_by_one = plan_jobs.split(jobs[-1], 1)[:5]
    sweep.sweep(one_by_one, ledger, OneProcess(one_by_one[at]))
    (failed,) = [entry for entry in ledger.entries() if entry.cause is not None]
    assert failed.hash == plan_jobs.hashes(one_by_one[at])[0]
    assert len(ledger.hashes()) == len(one_by_one)


def test_another_ybar_on_a_worker_is_refused(jobs):
    own = run.versions()["source"]
    assert run.run(jobs[0], source=own)[0].cause is None
    with pytest.raises(ImportError, match=rf"abc.*{own}"):
        run.run(jobs[0], source="abc")


def test_a_run_that_raises_or_is_not_finite_is_recorded_with_its_cause(unruly, ledger):
    jobs = unruly("raises", "not_finite", "out_of_memory", "well")
    sweep.sweep(jobs, ledger, Here())
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
        patch.setattr(sweep.time, "sleep", other_dies)
        sweep.sweep([job], ledger, pool)
    assert len(looked) == 1
    assert len(ledger.hashes()) == len(job.trainings)


def test_a_network_that_was_changed_is_neither_run_nor_recorded_as_the_one_planned(
    tmp_path, ledger, monkeypatch
):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "my_network_of_test_sweep.py"
    source = "import torch\ndef build():\n    return torch.nn.Linear({})\n"
    file.write_text(source.format("64, 10"))
    text = PLAN[PLAN.index('[[base]]\nname = "linear"') :].replace("epochs = 4", "epochs = 1")
    text = f'trials = 1\ndatasets = ["digits"]\nsettings = ["strong"]\n{text}'
    module = f'module = "{file.stem}:build"\n'
    first, second, *_ = jobs_of(text + module, tmp_path)

    class Editor(Here):
        def wait(self, progress):
            ended = super().wait(progress)
            file.write_text(source.format("64, 10, bias=False"))
            return ended

    planned = set(plan_jobs.hashes(first))
    sweep.sweep([first], ledger, Editor())  # edited while it ran
    assert set(ledger.hashes()) == planned
    assert all(ledger.hashes().values())
    with pytest.raises(ImportError, match="my_network_of_test_sweep:build"):
        run.run(second)
    changed, *_ = jobs_of(text + module, tmp_path)
    assert not planned & set(plan_jobs.hashes(changed))
    assert run.run(changed)[0].cause is None


def test_a_sweep_without_workers_waits_for_some(jobs, ledger, monkeypatch):
    waited = []
    monkeypatch.setattr(sweep.time, "sleep", waited.append)

    class Deserted(Here):
        def n_free(self):
            return 0 if len(waited) < 5 else super().n_free()

    sweep.sweep(jobs[:1], ledger, Deserted())
    assert waited == [sweep._SECONDS_BETWEEN_LOOKS] * 5
    assert len(ledger.hashes()) == len(jobs[0].trainings)


def test_a_loss_that_was_changed_is_imported_anew(unruly, tmp_path):
    (job,) = unruly("well", rates=[1e-2])
    assert all(entry.cause is None for entry in run.run(job))
    (tmp_path / "unruly.py").write_text("def well(*given):\n    raise RuntimeError('new')\n")
    (changed,) = jobs_of(unruly_plan("well", rates=[1e-2]), tmp_path)
    causes = {entry.config["method"]: entry.cause for entry in run.run(changed)}
    assert causes["well"] == "RuntimeError: new"
    assert plan_jobs.hashes(changed) != plan_jobs.hashes(job)
