"""Sweeps for tests: a small plan, losses that fail, and workers in this process."""

from __future__ import annotations

import collections
import textwrap

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading
from ybar.experiments.runs import data, run
from ybar.experiments.runs.sweep import Died

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
    read = reading.parse(text, "p.toml", folder)
    facts = {d: data.facts(d) for part in read.parts for d in part.datasets}
    return plan_jobs.jobs(read, facts)


def unruly_plan(*names, rates=(1e-2, 1e-3)):
    """A plan with losses of `UNRULY` beside two that do not fail."""
    methods = "".join(f'[[method]]\nname = "{name}"\nloss = "unruly:{name}"\n' for name in names)
    return textwrap.dedent(f"""
        trials = 1
        datasets = ["digits"]
        settings = ["strong"]
        {{}}
        [[base]]
        name = "linear"
        kind = "network"
        methods = {["cpe-f", *names, "scl-nl"]!r}
        learning_rates = {list(rates)!r}
        epochs = 3
        """).format(methods)


class Here:
    """Workers in this process; `deaths` says how often each training kills its worker."""

    def __init__(self, deaths=(), width=1):
        self.deaths, self.width = collections.Counter(deaths), width
        self.waiting, self.ran = [], []

    def n_free(self):
        return self.width - len(self.waiting)

    def submit(self, job):
        self.waiting.append(job)

    def wait(self, progress):
        job = self.waiting.pop(0)
        progress(job, 0.5)
        if any(self.deaths[t] > 0 for t in job.trainings):
            self.deaths.subtract(job.trainings)
            return [(job, Died("ended by SIGKILL"))]
        self.ran.append(job)
        return [(job, run.run(job))]


def scores(ledger):
    """What each run of a ledger recorded, by its name."""
    return {entry.hash: entry.scores for entry in ledger.entries()}
