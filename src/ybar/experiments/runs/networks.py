"""Run a job of networks: train its runs as one population and record every epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from ... import transition
from ...neural import methods
from ...utils.extras import require
from ...utils.typing import AnyArray, FloatArray, IntArray
from ..plan.functions import find_function
from ..plan.jobs import Job, Training
from ..plan.model import Network
from .outcome import Outcome, Progress, Trial

if TYPE_CHECKING:
    from ...neural.evaluate import Outputs
    from ...neural.population import Data, Measure, Record


def networks(job: Job, data: Bunch, trial: Trial, progress: Progress) -> list[Outcome]:
    """Return the outcome of each training, with the values of every epoch."""
    require("torch", "torch", "a plan with networks")
    # These import torch.
    from ...neural import fitting, loop, population
    from ...neural.objective import Run

    base = job.base
    assert isinstance(base, Network)  # noqa: S101
    T, y_comp = labels_of(job, data, trial)
    build = None if base.module is None else find_function(base.module, job.module_code)
    chosen = [method_of(training, len(T)) for training in job.trainings]
    decoders = [decoders_of(method) for method in chosen]
    records = fitting.fit_runs(
        [
            Run(method, float(training.learning_rate or 0), seed=job.trial)
            for method, training in zip(chosen, job.trainings, strict=True)
        ],
        _data(data, trial, T, y_comp, decoders),
        fitting.Architecture(
            [data.X_train.shape[1], *base.hidden_layer_sizes, len(T)],
            build,
            base.dropout,
            base.input_dropout,
        ),
        loop.Recipe(
            base.epochs,
            base.batch_size,
            base.weight_decay,
            base.weight_averaging,
            base.transition_optimiser == "weights",
        ),
        population.Selection("last"),
        order_seed=job.trial,
        mask_seed=job.trial,
        report=_report(len(chosen), base.epochs, progress),
    )
    return [
        _outcome(training, record) for training, record in zip(job.trainings, records, strict=True)
    ]


def labels_of(job: Job, data: Bunch, trial: Trial) -> tuple[FloatArray, AnyArray]:
    """Return the T that training is passed, and the label of each training row."""
    base = job.base
    assert isinstance(base, Network)  # noqa: S101
    if base.true_labels:  # a label that is drawn from the unit matrix is the class itself
        return np.eye(len(trial.T)), np.asarray(data.y_train, dtype=np.intp)
    if base.told_noise:
        return transition.with_uniform_noise(trial.T, job.setting.noise), trial.y_comp
    return trial.T, trial.y_comp


def method_of(training: Training, n_classes: int) -> methods.Method:
    """Return the method that a training minimises."""
    if training.loss is not None:
        return methods.Method(
            find_function(training.loss, training.code),
            estimates=training.estimates,  # type: ignore[arg-type]
            decoder=training.decoder,
        )
    method = methods.find(training.method)
    if training.assumed == "uniform":
        return methods.assuming(method, transition.uniform(n_classes))
    return method


def decoders_of(method: methods.Method) -> list[str]:
    """Return the decoders whose predictions a network's run records."""
    return sorted({"l1", "max", method.decoder}) if method.models_labels else ["max"]


def _data(
    data: Bunch, trial: Trial, T: FloatArray, y_comp: AnyArray, decoders: list[list[str]]
) -> Data:
    """Return the rows and labels, with the values that each epoch records for each decoder."""
    from ...neural.evaluate import ure_losses
    from ...neural.population import Data  # imports torch
    from ...neural.samples import Samples

    k = y_comp[trial.held_out]
    matrices = {"ure": T, "ure_uniform": transition.uniform(len(T))}
    inverses = {
        name: np.asarray(np.linalg.pinv(matrix), np.float64) for name, matrix in matrices.items()
    }

    def accuracy(predicted: IntArray) -> dict[str, float]:
        return {"accuracy": 100 * float(np.mean(predicted == data.y_test))}

    def risks(predicted: IntArray) -> dict[str, float]:
        return {
            name: float(ure_losses(predicted, k, inverse).mean())
            for name, inverse in inverses.items()
        }

    return Data(
        data.X_train,
        Samples(trial.training, y_comp[trial.training]),
        Samples(trial.held_out, k),
        T,
        ((data.X_test, _by_decoder(accuracy, decoders)),),
        _by_decoder(risks, decoders),
    )


def _by_decoder(
    values: Callable[[IntArray], Mapping[str, float]], decoders: list[list[str]]
) -> Measure:
    """Return a measure of the predictions of each decoder of a run: ``<value>_<decoder>``."""

    def measure(outputs: Outputs, record: Record) -> dict[str, float]:
        return {
            f"{name}_{decoder}": value
            for decoder in decoders[record.index]
            for name, value in values(outputs.classes(decoder)).items()
        }

    return measure


def _report(n_runs: int, epochs: int, progress: Progress) -> Callable[[Record], Any]:
    """Return a report of the share of all epochs that are done, once per epoch."""
    done = [0] * n_runs

    def report(record: Record) -> None:
        news = record.n_epochs > max(done)
        done[record.index] = epochs if record.done else record.n_epochs
        if news:
            progress(sum(done) / (epochs * n_runs))

    return report


def _outcome(training: Training, record: Record) -> Outcome:
    curves = record.curves()
    for name in ("ure", "ure_std_error"):  # recorded for each decoder
        curves.pop(name, None)
    outcome = Outcome(training, curves=curves)
    if record.failed is not None:
        epoch, batch = record.failed
        outcome.cause = f"the loss was not finite at epoch {epoch}, batch {batch}"
    else:
        outcome.scores = scores(curves, record.comparable_from)
    return outcome


def scores(curves: dict[str, AnyArray], comparable_from: int = 1) -> dict[str, float]:
    """Return all values at the last epoch, and at the lowest of each validation loss.

    Their names are ``last.<curve>`` and ``best-<criterion>.<curve>``, such as
    ``best-scel.accuracy_l1``, and ``best-<criterion>.epoch``. Epochs before `comparable_from` do
    not count as best, because T was different.
    """
    criteria = [name for name in curves if name == "scel" or name.startswith("ure_")]
    places = {"last": len(curves["scel"]) - 1}
    start = min(comparable_from, len(curves["scel"])) - 1
    places |= {f"best-{name}": start + int(np.nanargmin(curves[name][start:])) for name in criteria}
    values: dict[str, float] = {}
    for place, at in places.items():
        values[f"{place}.epoch"] = at + 1
        for name, curve in curves.items():
            if name != "seconds":
                values[f"{place}.{name}"] = float(curve[at])
    return values
