"""What a plan comes to: its jobs, and the names of its runs."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import model as plan
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.jobs import Training
from ybar.experiments.plan.model import METHODS, Dataset, Facts, Network, Setting
from ybar.experiments.plan.reading import parse

ROOT = Path(__file__).resolve().parents[3]

GRID = 'datasets = ["digits"]\nsettings = ["strong"]\n'

TREES = "[[base]]\nname = 'trees'\nkind = 'gbdt'\n"

BASE = '[[base]]\nname = "linear"\nkind = "network"\nmethods = ["cpe-f"]\nlearning_rates = [1e-3]\n'

IMAGES = Facts("0" * 64, 60_000, 784, tuple("0123456789"))


def facts_of(a_plan):
    return {dataset: IMAGES for part in a_plan.parts for dataset in part.datasets}


def test_methods_that_share_a_training_are_trained_once():
    (part,) = parse(GRID + BASE.replace('["cpe-f"]', '["scl-nl", "fwd", "cpe-f", "ure-ga"]')).parts
    uniform, strong = Setting("uniform", "uniform"), Setting("strong", "strong")
    rate = 1e-3
    assert plan_jobs.trainings(part, uniform) == [Training("cpe-f", rate), Training("ure-ga", rate)]
    assert plan_jobs.trainings(part, strong) == [
        Training("scl-nl", rate),
        Training("cpe-f", rate),
        Training("ure-ga", rate, assumed="uniform"),
    ]
    told = replace(part, uniform_risk=False)
    assert plan_jobs.trainings(told, strong)[-1] == Training("ure-ga", rate)


def test_the_count_of_trainings_of_the_paper_naive_and_shared():
    paper = plan_file.read("paper")
    jobs = plan_jobs.jobs(paper, facts_of(paper))
    # 7 rows a network base, decoders (MLP), two validation tables for both; 5 rates; 90 trials.
    assert plan_jobs.count_naive(paper.parts) == 90 * (2 * 5 * (7 + 4) + 5 * 2 + 2)
    # 6 distinct trainings, 5 where T is uniform.
    per_base = 75 * 6 * 5 + 15 * 5 * 5
    assert sum(len(job.trainings) for job in jobs) == 2 * per_base + 2 * 90
    linear = [job for job in jobs if job.base.name == "linear"]
    assert len(linear) == 90  # a population each
    assert len({name for job in jobs for name in plan_jobs.hashes(job)}) == 2 * per_base + 180


def test_tables_fill_evenly_trial_by_trial():
    paper = plan_file.read("paper")
    for name in ("knn", "linear", "gbdt", "mlp"):
        trials = [j.trial for j in plan_jobs.jobs(paper, facts_of(paper)) if j.base.name == name]
        assert trials == sorted(trials)


def test_a_run_is_named_by_all_it_depends_on_and_by_nothing_else():
    (part,) = parse(GRID + BASE).parts
    job = plan_jobs.jobs(plan.Plan("p", (part,)), {Dataset("digits"): IMAGES})[0]
    (name,) = plan_jobs.hashes(job)
    others = [
        replace(job, data_sha256="1" * 64),
        replace(job, setting=Setting("strong", "strong", 0.1)),
        replace(job, setting=Setting("stronger", "strong")),
        replace(job, trial=1),
        replace(job, base=replace(job.base, epochs=299)),
        replace(job, base=replace(job.base, hidden_layer_sizes=(5,))),
        replace(job, validation_fraction=0.2),
        replace(job, trainings=(replace(job.trainings[0], learning_rate=2e-3),)),
        replace(job, trainings=(replace(job.trainings[0], assumed="uniform"),)),
    ]
    assert len({name, *(plan_jobs.hashes(other)[0] for other in others)}) == 1 + len(others)
    (trees,) = parse(GRID + TREES).parts
    job_of_trees = plan_jobs.jobs(plan.Plan("p", (trees,)), {Dataset("digits"): IMAGES})[0]
    bases = [
        trees.base,
        *(
            replace(trees.base, **change)
            for change in (
                {"method": "cpe-f"},
                {"min_data_in_leaf": 21},
                {"feature_fraction": 0.5},
                {"bagging_fraction": 0.5},
            )
        ),
    ]
    names = {plan_jobs.hashes(replace(job_of_trees, base=base))[0] for base in bases}
    assert len(names) == len(bases)
    assert "method" not in plan_jobs.config(job_of_trees, job_of_trees.trainings[0])["how"]
    moved = replace(job, dataset=Dataset("digits", "/elsewhere/digits.npz", scale=False))
    assert plan_jobs.hashes(moved) == [name]
    config = plan_jobs.config(job, job.trainings[0])
    assert plan_jobs.hash_of(json.loads(json.dumps(config))) == name


def test_noise_that_is_told_makes_no_uniform_matrix_uniform():
    # SCL is Fwd plus a constant, and the risk the uniform one, only where T is uniform.
    setting = Setting("u", "uniform", 0.3)
    methods = tuple(METHODS[name] for name in ("scl-nl", "ure-ga"))
    for told_noise, expected in [(False, ("cpe-f", "given")), (True, ("scl-nl", "uniform"))]:
        base = Network("n", told_noise=told_noise)
        part = plan.Part(base, (Dataset("digits"),), (setting,), 1, methods)
        scl, ure = (plan_jobs.training_of(part, method, setting) for method in methods)
        assert (scl.method, ure.assumed) == expected


def test_rows_have_the_labels_decoders_and_criteria_of_the_paper():
    rows = {
        "ure-ga": ("URE-GA", "max", "ure"),
        "scl-nl": ("SCL", "max", "ure"),
        "dm": ("DM", "max", "ure"),
        "fwd": ("Fwd", "max", "ure"),
        "cpe-i": ("CPE-I", "l1", "scel"),
        "cpe-f": ("CPE-F", "l1", "scel"),
        "cpe-t": ("CPE-T", "l1", "scel"),
    }
    for name, row in rows.items():
        method = plan.METHODS[name]
        assert (method.label, method.decoder, method.criterion) == row


CHOICES = ROOT / "studies" / "choices"
COMMITTED = {
    "paper/runs.csv": "paper",
    "leaderboard/runs.csv": "leaderboard",
    "choices/runs.csv": CHOICES / "choices.toml",
    "choices/transition_layer.csv": CHOICES / "transition_layer.toml",
}


def recorded(export):
    """The configurations of the committed runs of an export, by their names."""
    with (ROOT / "results" / export).open(newline="") as file:
        return {row["hash"]: json.loads(row["config"]) for row in csv.DictReader(file)}


@pytest.mark.parametrize("export", COMMITTED)
def test_committed_runs_have_the_configurations_and_names_of_their_plans(export, monkeypatch):
    monkeypatch.syspath_prepend(str(CHOICES))
    a_plan = plan_file.read(COMMITTED[export])
    committed = recorded(export)
    known = {c["dataset"]: c["data_sha256"] for c in committed.values()}
    facts = {
        d: IMAGES._replace(sha256=known[d.name]) for part in a_plan.parts for d in part.datasets
    }
    planned = {
        plan_jobs.hash_of(config): json.loads(json.dumps(config))
        for job in plan_jobs.jobs(a_plan, facts)
        for config in (plan_jobs.config(job, training) for training in job.trainings)
    }
    assert committed.items() <= planned.items()


def test_how_t_is_trained_is_part_of_the_names_of_methods_that_train_it():
    paper = plan_file.read("paper")
    (linear,) = (part for part in paper.parts if part.base.name == "linear")
    names = {}
    for way in ("own", "weights"):
        part = replace(
            linear,
            base=replace(linear.base, transition_optimiser=way),
            methods=(*linear.methods, METHODS["cpe-n"]),
        )
        jobs = plan_jobs.jobs(replace(paper, parts=(part,)), facts_of(paper))
        names[way] = {
            (t.method, job.setting, job.dataset, job.trial, t.learning_rate): name
            for job in jobs
            for t, name in zip(job.trainings, plan_jobs.hashes(job), strict=True)
        }
    assert names["own"].keys() == names["weights"].keys()
    renamed = {run[0] for run, name in names["own"].items() if names["weights"][run] != name}
    assert renamed == {"cpe-t", "cpe-n"}


def test_the_study_of_the_transition_layer_is_the_paper_s_plan_in_all_but_that():
    study, paper = plan_file.read(CHOICES / "transition_layer.toml"), plan_file.read("paper")

    def as_the_paper(job):
        return replace(job, base=replace(job.base, transition_optimiser="weights"))

    def names(jobs):
        return {name for job in jobs for name in plan_jobs.hashes(job)}

    jobs, ours = plan_jobs.jobs(study, facts_of(study)), plan_jobs.jobs(paper, facts_of(paper))
    assert len(names(jobs)) == 2 * 18 * 5 * 5
    assert not names(jobs) & names(ours)
    assert names(map(as_the_paper, jobs)) < names(ours)


def test_jobs_of_many_runs_come_first_in_each_trial():
    paper = plan_file.read("paper")
    sizes = {}
    for job in plan_jobs.jobs(paper, facts_of(paper)):
        if job.base.name == "linear":
            sizes.setdefault(job.trial, []).append(len(job.trainings))
    assert [*sizes] == list(range(5))
    assert all(each == sorted(each, reverse=True) and len(set(each)) > 1 for each in sizes.values())
