"""Runs for the tests of ledgers."""

from dataclasses import replace

import numpy as np

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan.jobs import Job, Training
from ybar.experiments.plan.model import Dataset, Network, Setting
from ybar.experiments.runs.entry import Entry


def entry(rate=1e-3, dataset="digits", **changes):
    training = Training("cpe-f", rate)
    job = Job(Dataset(dataset), "0" * 64, Setting("s", "strong"), 0, Network("l"), 0.1, (training,))
    config = plan_jobs.config(job, training)
    made = Entry(
        plan_jobs.hash_of(config),
        config,
        scores={"last.scel": 2.25, "last.accuracy_l1": 75.43},
        curves={"scel": np.array([2.5, np.nan, 2.25])},
        seconds=1.5,
        finished="2026-01-01T00:00:00+00:00",
        versions={"ybar": "0", "python": "3"},
    )
    return replace(made, **changes)


def same(a, b, *, curves=True):
    assert replace(a, curves={}, config={}) == replace(b, curves={}, config={})
    assert plan_jobs.hash_of(a.config) == plan_jobs.hash_of(b.config)
    if curves:
        assert a.curves.keys() == b.curves.keys()
        for name, values in a.curves.items():
            np.testing.assert_array_equal(values, np.float32(b.curves[name]))
