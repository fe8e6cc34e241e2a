"""Run a job of networks: train its runs as one population and record every epoch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.utils import Bunch

from ... import transition
from ...utils.extras import require
from ...utils.typing import AnyArray, IntArray
from ..plan.functions import find_function
from ..plan.jobs import Job, Training
from ..plan.model import Network
from .outcome import Outcome, Progress, Trial

# Methods whose softmax is p and that know of no T: there is nothing for L1 to decode.
_ORDINARY = ("ure", "ure-nn", "ure-ga", "scl-nl", "scl-exp", "dm", "dm-unweighted")


def networks(job: Job, data: Bunch, trial: Trial, tell: Progress) -> list[Outcome]:
    """Return what came of each training, with the numbers of every epoch."""
    torch = require("torch", "torch", "a plan with networks")
    from ...neural import losses
    from ...neural.evaluate import Outputs, Reading, ure_losses
    from ...neural.models import Dense, Module
    from ...neural.objective import Run
    from ...neural.population import Data, Record, Selection, grow
    from ...neural.train import Recipe, Samples

    base, T, y = job.base, trial.T, trial.y_comp
    assert isinstance(base, Network)  # noqa: S101
    n_classes = len(T)
    if base.told_noise:
        T = transition.with_uniform_noise(T, job.setting.noise)
    if base.true_labels:  # a label that is drawn from the unit matrix is the class itself
        T, y = np.eye(n_classes), np.asarray(data.y_train, dtype=np.intp)
    uniform = transition.uniform(n_classes)
    given, its_uniform = (np.asarray(np.linalg.pinv(m), np.float64) for m in (T, uniform))

    @functools.cache
    def method_of(training: Training) -> losses.Method:
        if training.loss is not None:
            return losses.Method(
                find_function(training.loss, training.code),
                estimates=training.estimates,  # type: ignore[arg-type]
                decoder=training.decoder,
            )
        method = losses.find(training.method)
        return losses.assuming(method, uniform) if training.assumed == "uniform" else method

    methods = [method_of(replace(t, learning_rate=None)) for t in job.trainings]
    runs = [
        Run(method, float(t.learning_rate or 0), seed=i)
        for i, (method, t) in enumerate(zip(methods, job.trainings, strict=True))
    ]
    readings = [Reading(method.estimates, "max", T) for method in methods]
    decoders = [decoders_of(t, m.decoder) for t, m in zip(job.trainings, methods, strict=True)]

    def predictions(outputs: Outputs, record: Record) -> dict[str, IntArray]:
        return {decoder: outputs.classes(decoder) for decoder in decoders[record.run.seed]}

    def on_test(outputs: Outputs, record: Record) -> dict[str, float]:
        found = predictions(outputs, record)
        return {f"accuracy_{d}": 100 * float(np.mean(c == data.y_test)) for d, c in found.items()}

    y_held_out = y[trial.held_out]

    def on_held_out(outputs: Outputs, record: Record) -> dict[str, float]:
        found = {}
        for decoder, classes in predictions(outputs, record).items():
            found[f"ure_{decoder}"] = float(ure_losses(classes, y_held_out, given).mean())
            uniformly = ure_losses(classes, y_held_out, its_uniform)
            found[f"ure_uniform_{decoder}"] = float(uniformly.mean())
        return found

    done = dict.fromkeys(range(len(runs)), 0)

    def count(record: Record, epoch: int) -> None:
        news = epoch > max(done.values())
        done[record.run.seed] = base.epochs if record.done else epoch
        if news:
            tell(sum(done.values()) / (base.epochs * len(runs)))

    sizes = [data.X_train.shape[1], *base.hidden_layer_sizes, n_classes]

    def make(those: Sequence[Run]) -> Dense | Module:
        if base.module is not None:
            build = find_function(base.module, job.module_code)
            return Module(build, job.trial, torch.device("cpu"))
        return Dense(
            sizes,
            [job.trial] * len(those),
            dropout=base.dropout,
            input_dropout=base.input_dropout,
            seed=job.trial,
        )

    records = grow(
        runs,
        readings,
        Data(
            data.X_train,
            Samples(trial.training, y[trial.training]),
            Samples(trial.held_out, y_held_out),
            T,
            ((data.X_test, on_test),),
            on_held_out,
        ),
        Recipe(base.epochs, base.batch_size, base.weight_decay, base.weight_averaging),
        Selection("last", "scel"),
        make=make,
        width=sizes[1] if base.module is None else 2**31,
        seed=job.trial,
        tell=count,
    )
    outcomes = []
    for training, record in zip(job.trainings, records, strict=True):
        curves = {name: np.array(values) for name, values in record.history.items()}
        for name in ("ure", "ure_std_error"):  # recorded for each decoder
            curves.pop(name, None)
        outcome = Outcome(training, curves=curves)
        if record.failed is not None:
            epoch, batch = record.failed
            outcome.cause = f"the loss was not finite at epoch {epoch}, batch {batch}"
        else:
            outcome.scores = figures(curves, record.judged_from)
        outcomes.append(outcome)
    return outcomes


def decoders_of(training: Training, own: str) -> list[str]:
    """Return the decoders whose predictions a network's run records."""
    return ["max"] if training.method in _ORDINARY else sorted({"l1", "max", own})


def figures(curves: dict[str, AnyArray], judged_from: int = 1) -> dict[str, float]:
    """Return all numbers at the last epoch, and at the lowest of each validation loss.

    Their names are ``last.<curve>`` and ``best-<criterion>.<curve>``, such as
    ``best-scel.accuracy_l1``, and ``best-<criterion>.epoch``. Epochs before `judged_from`, which
    had another T, are not among the best.
    """
    criteria = [name for name in curves if name == "scel" or name.startswith("ure_")]
    places = {"last": len(curves["scel"]) - 1}
    start = min(judged_from, len(curves["scel"])) - 1
    places |= {f"best-{name}": start + int(np.nanargmin(curves[name][start:])) for name in criteria}
    found: dict[str, float] = {}
    for place, at in places.items():
        found[f"{place}.epoch"] = at + 1
        for name, values in curves.items():
            if name != "seconds":
                found[f"{place}.{name}"] = float(values[at])
    return found
