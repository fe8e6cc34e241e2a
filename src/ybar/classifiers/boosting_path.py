"""The held-out losses of every number of trees, from one fit per learning rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..metrics.losses import Losses, mean_and_error
from ..utils.typing import AnyArray, FloatArray, IntArray
from .boosting_targets import Gradient, Labels, Likelihood
from .hold_out import Split

_WINDOW = 5  # candidates over which the decrease of the validation loss is measured


class Samples(NamedTuple):
    """The training data of boosters, binned by LightGBM, and the gradient if LightGBM has none."""

    binned: Any
    gradient: Gradient | None


class Trainer(NamedTuple):
    """Makes and fits boosters of LightGBM on parts of the rows of X."""

    lightgbm: Any
    params: dict[str, Any]
    X: AnyArray
    target: Labels | Likelihood

    def samples(self, part: IntArray) -> Samples:
        """Return the training data of boosters for these rows."""
        rows, label = self.target.samples(part)
        weight = None if self.target.weights is None else self.target.weights[rows]
        binned = self.lightgbm.Dataset(self.X[rows], label, weight=weight, params=self.params)
        return Samples(binned.construct(), self.target.gradient(rows))

    def held_out(self, samples: Samples, part: IntArray) -> Any:
        """Return the features of held-out rows, binned as the samples are."""
        dataset = self.lightgbm.Dataset(
            self.X[part], np.zeros(len(part)), reference=samples.binned, params=self.params
        )
        return dataset.construct()

    def booster(self, samples: Samples, learning_rate: float) -> Any:
        """Return a booster without trees."""
        params = {**self.params, "learning_rate": learning_rate}
        booster = self.lightgbm.Booster(params, samples.binned)
        if samples.gradient is not None:
            # The objective is "none" already. `update` sets it again, which LightGBM refuses
            # if no feature can be split.
            booster.reset_parameter = lambda _: booster
        return booster

    def fit(self, learning_rate: float, n_estimators: int) -> str:
        """Return a booster, fitted to all rows of positive weight, in LightGBM's text form."""
        samples = self.samples(self.target.observed.weighted_rows)
        booster = self.booster(samples, learning_rate)
        for _ in range(n_estimators):
            booster.update(fobj=samples.gradient)
        return str(booster.model_to_string())


class Paths(NamedTuple):
    """Held-out losses of all candidates, of shape (learning rates, numbers of trees)."""

    scel: FloatArray
    std_error: FloatArray
    best: list[Losses]
    """The losses along the path of the best learning rate, if they were kept."""


def search(
    trainer: Trainer,
    parts: list[Split],
    rates: list[float],
    counts: list[int],
    *,
    early_stopping: bool,
    keep_losses: bool,
    advance: Callable[[int], None],
    stop: Callable[..., bool],
) -> Paths:
    """Return the SCEL of every candidate; NaN where a learning rate stopped early.

    Parameters
    ----------
    trainer : Trainer
    parts : list of (training, validation) row indices
    rates, counts : list
        Candidate learning rates, and ascending numbers of trees.
    early_stopping : bool
        Whether a rate stops once it seems unable to win.
    keep_losses : bool
        Whether to keep the losses of each label along the best path.
    advance : callable
        Called with the number of boosting rounds that are done.
    stop : callable
        Called after each candidate; if it returns True, the search ends.
    """
    trains = [trainer.samples(train) for train, _ in parts]
    held_out = [
        trainer.held_out(train, part) for train, (_, part) in zip(trains, parts, strict=True)
    ]
    paths = Paths(
        np.full((len(rates), len(counts)), np.nan), np.full((len(rates), len(counts)), np.nan), []
    )
    scel, std_error, _ = paths
    # High rates first: they converge fast, so lower rates can be compared with them early.
    for i in np.argsort(rates)[::-1]:
        boosters = [
            trainer.booster(train, rates[i]).add_valid(rows, "validation")
            for train, rows in zip(trains, held_out, strict=True)
        ]
        path = []
        for j, losses in enumerate(_path(trainer, boosters, trains, parts, counts, advance)):
            scel[i, j], std_error[i, j] = mean_and_error(*losses, trainer.target.observed.weights)
            if keep_losses:
                path.append(losses)
            lost = early_stopping and seems_unable_to_win(scel[i], j, counts, np.nanmin(scel))
            if lost or stop():
                advance(counts[-1] - counts[j])
                break
        if np.nanargmin(scel) // len(counts) == i:
            paths = paths._replace(best=path)
        if stop():
            break
    return paths


def _path(
    trainer: Trainer,
    boosters: list[Any],
    trains: list[Samples],
    parts: list[Split],
    counts: list[int],
    advance: Callable[[int], None],
) -> Iterator[Losses]:
    """Yield the held-out losses at each number of trees."""
    done = 0
    for count in counts:
        for _ in range(count - done):
            for booster, train in zip(boosters, trains, strict=True):
                booster.update(fobj=train.gradient)
            advance(1)
        done = count
        yield Losses.joined(
            trainer.target.losses(_held_out_outputs(booster), part)
            for booster, (_, part) in zip(boosters, parts, strict=True)
        )


def _held_out_outputs(booster: Any) -> AnyArray:
    """Return the booster's outputs for the held-out rows, which it keeps up to date."""
    outputs: list[AnyArray] = []

    def keep(values: AnyArray, _: Any) -> tuple[str, float, bool]:
        outputs.append(values.reshape(len(values), -1))
        return "kept", 0.0, False

    booster.eval_valid(keep)
    return outputs[0]


def seems_unable_to_win(scel: FloatArray, j: int, counts: list[int], best: float) -> bool:
    """Return whether a path would end above the best SCEL if it keeps its current decrease.

    SCEL is noisy, and a path can decrease faster later, so a path can win in spite of True.
    """
    start = j - _WINDOW
    if start < 0:
        return False
    decrease = max(0.0, (scel[start] - scel[j]) / (counts[j] - counts[start]))
    return bool(scel[j] - decrease * (counts[-1] - counts[j]) > best)
