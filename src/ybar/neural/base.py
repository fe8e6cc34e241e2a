"""Base class of the network classifiers: checks, training, fitted attributes, predictions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from ..classifiers import hold_out
from ..classifiers.base import check_several_classes
from ..labels.observed import Observed
from ..utils import checks
from ..utils.extras import require
from ..utils.random import as_generator
from ..utils.typing import AnyArray, FloatArray, Seed
from . import methods, samples, settings, streamed, streaming
from .predicting import NetPredictions
from .reporting import reports
from .samples import Parts

if TYPE_CHECKING:
    from .fitting import Architecture, Start
    from .loop import Recipe
    from .objective import Run
    from .population import Record

# An epoch of few rows has few steps, so small data need more epochs.
_LEAST_STEPS, _MOST_EPOCHS = 2000, 400


class NetBase(NetPredictions):
    """The parts that the classifier and its search share."""

    _allows_decoder_none = True
    _accepts_evidence = True

    method: Any
    hidden_layer_sizes: Any
    batch_size: int
    max_epochs: int | None
    weight_decay: float
    dropout: float
    input_dropout: float
    weight_averaging: float
    validation_fraction: float
    select: str
    criterion: str
    patience: int | None
    random_state: Seed
    n_threads: int = 1
    verbose: bool
    callbacks: Any

    noise_: float
    noise_interval_: tuple[float, ...]
    history_: dict[str, FloatArray]
    best_epoch_: int
    n_epochs_: int

    def _train(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        candidates: Sequence[tuple[float, float]],
        n_jobs: int = 1,
        generator: np.random.Generator | None = None,
        warm: bool = False,
    ) -> tuple[Observed, list[Record]]:
        """Train one run per (learning rate, trust in T) on the same rows; return the records."""
        require("torch", "torch", type(self).__name__)
        from . import fitting, population  # these import torch

        method = self._check_settings([trust for _, trust in candidates])
        device = settings.device(self.device)
        generator = as_generator(self.random_state if generator is None else generator)
        if not warm:
            self.__dict__.pop("_held_out", None)
        read = self._read_stream if isinstance(X, streaming.Stream) else self._read
        observed, X, parts = read(X, y, sample_weight, method, generator)
        training, validation, jointly = parts
        start = self._start(observed, method) if warm else None
        order, masks, first = (int(v) for v in generator.integers(2**63, size=3))
        runs = [self._run(observed, method, first, *candidate) for candidate in candidates]
        recipe = self._recipe(len(training.rows))
        selection = population.Selection(self.select, self.criterion, self.patience)
        if validation is None:
            selection = population.Selection("last")
        with reports(
            list(self.callbacks or ()),
            verbose=self.verbose,
            n_runs=len(runs),
            max_epochs=recipe.max_epochs,
        ) as report:
            try:
                records = fitting.fit_runs(
                    runs,
                    population.Data(X, training, validation, observed.T, jointly=jointly),
                    self._architecture(observed, device),
                    recipe,
                    selection,
                    order_seed=order,
                    mask_seed=masks,
                    n_jobs=n_jobs,
                    report=report,
                    start=start,
                )
            except fitting.Interrupted as interrupted:
                records = self._after_interrupt(interrupted.records, recipe.max_epochs)
        return observed, records

    def _read(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        method: methods.Method,
        generator: np.random.Generator,
    ) -> tuple[Observed, Any, Parts]:
        """Return y in the internal form, X checked, and the samples of each part."""
        X = self._rows_of(X, reset=True, at_least=2)
        observed = self._observe_fit(X, y, sample_weight)
        samples.check(observed, method, self.criterion)
        return observed, X, self._split(observed, method, generator)

    def _read_stream(
        self,
        X: streaming.Stream,
        y: Any,
        sample_weight: ArrayLike | None,
        method: methods.Method,
        generator: np.random.Generator,
    ) -> tuple[Observed, Any, Parts]:
        """Return the same of a stream; the internal form holds each label that occurs once."""
        codes, classes = streamed.codes_of(X, y, sample_weight, self.classes)
        X = self._rows_of(X.features_beside(y if isinstance(y, str) else None), reset=True)
        seen = np.unique(codes)
        observed = self._observe(classes[seen], classes)
        check_several_classes(observed)
        observed = self._with_transition(observed)
        samples.check(observed, method, self.criterion)
        self._check_held_out()
        return observed, *streamed.split(
            X, codes, observed, method, self.validation_fraction, generator
        )

    def _check_settings(self, trusts: Sequence[float]) -> methods.Method:
        """Check the parameters that need no data, and return the method."""
        method = methods.find(self.method)
        settings.check(self)
        name = "transition_trusts" if hasattr(self, "transition_trusts") else "transition_trust"
        settings.check_trusts(trusts, method, name)
        return method

    def _after_interrupt(self, records: list[Record], max_epochs: int) -> list[Record]:
        """Return the records of an interrupted training with a warning; raise if there are none."""
        if not any(record.weights for record in records):
            raise KeyboardInterrupt from None
        epoch = max(record.n_epochs for record in records)
        for record in records:
            record.done = True
        hint = ". Fit again with warm_start=True to continue" if hasattr(self, "warm_start") else ""
        warn(f"interrupted after epoch {epoch} of {max_epochs}: the best so far is kept{hint}")
        return records

    def _start(self, observed: Observed, method: methods.Method) -> Start:
        """Return the weights that the last fit ended with, if the network is still the same."""
        from .fitting import Start  # imports torch

        same_classes = np.array_equal(self.classes_, observed.classes)
        shapes = [c.shape for c in getattr(self, "coefs_", [])]
        expected = [] if self.network is not None else list(pairwise(self._sizes(observed)))
        if not same_classes or shapes != expected:
            raise ValueError(
                "warm_start and partial_fit must continue with the same network, features and "
                f"classes as the last fit: layers {shapes} and classes "
                f"{checks.shown(self.classes_.tolist())}; got layers {expected} and classes "
                f"{checks.shown(observed.classes.tolist())}. Fit a clone instead"
            )
        same_T = self._transition_state["learns"] == method.learns
        return Start(self._weights(), self._transition_state["parameters"] if same_T else None)

    def _split(
        self, observed: Observed, method: methods.Method, generator: np.random.Generator
    ) -> Parts:
        """Return training and validation samples, and those to estimate T on if they differ.

        Rows that the last fit held out stay held out after a warm start: the network has learned
        the labels of all others.
        """
        self._check_held_out()
        if self.validation_fraction == 0:
            return samples.normalised(observed, np.arange(len(observed)), method), None, None
        earlier = getattr(self, "_held_out", None)
        ((training, validation),) = hold_out.splits(
            observed, None, self.validation_fraction, generator, earlier
        )
        self._held_out = np.isin(np.arange(len(observed)), validation)
        return (
            samples.normalised(observed, training, method),
            samples.normalised(observed, validation),
            samples.normalised(observed, validation, method) if method.learns else None,
        )

    def _check_held_out(self) -> None:
        """Check that rows are held out if the best epoch or the patience depends on them."""
        if self.validation_fraction == 0 and (self.select == "best" or self.patience is not None):
            raise ValueError(
                "validation_fraction must be above 0 to select the best epoch or to use "
                "patience; got 0. Hold some rows out, or set select='last' and patience=None"
            )

    def _recipe(self, n_samples: int) -> Recipe:
        from .loop import Recipe  # imports torch

        steps = math.ceil(n_samples / self.batch_size)
        epochs = min(max(40, math.ceil(_LEAST_STEPS / steps)), _MOST_EPOCHS)
        return Recipe(
            max_epochs=epochs if self.max_epochs is None else self.max_epochs,
            batch_size=self.batch_size,
            weight_decay=self.weight_decay,
            weight_averaging=self.weight_averaging,
            n_threads=self.n_threads,
        )

    def _sizes(self, observed: Observed) -> list[int]:
        """Return the numbers of features, of units in each hidden layer, and of classes."""
        return [self.n_features_in_, *map(int, self.hidden_layer_sizes), len(observed.classes)]

    def _architecture(self, observed: Observed, device: Any) -> Architecture:
        from .fitting import Architecture  # imports torch

        return Architecture(
            self._sizes(observed), self.network, self.dropout, self.input_dropout, device
        )

    def _run(
        self, observed: Observed, method: methods.Method, seed: int, rate: float, trust: float
    ) -> Run:
        from .objective import Run  # imports torch

        run = Run(method, rate, seed, trust)
        decoder = self._default_decoder(observed, run) if self.decoder is None else self.decoder
        return replace(run, decoder=decoder)

    def _default_decoder(self, observed: Observed, run: Run) -> Any:
        """Return the decoder of ``decoder=None``.

        It is argmax p if y is evidence of several kinds, or if T was estimated: the other decoders
        use the T that `fit` was passed.
        """
        if run.learns_held_out or not observed.by_label:
            return "max"
        return run.method.decoder

    def _keep(self, observed: Observed, record: Record) -> None:
        """Set the fitted attributes from the record of the selected run."""
        if record.failed is not None:
            epoch, batch = record.failed
            text = (
                f"the loss is no longer finite (NaN or infinity) at epoch {epoch}, batch {batch}. "
                "Try a lower learning_rate, scale X (StandardScaler), or another method"
            )
            if not record.weights:
                raise FloatingPointError(text)
            warn(f"{text}. The best weights so far, of epoch {record.kept_epoch}, are kept")
        method = record.run.method
        self.classes_, self.transition_ = observed.classes, observed.T
        self.estimates_ = method.estimates
        self.decoder_ = self._default_decoder(observed, record.run)
        self._set_weights(record.weights)
        self._keep_transition(record)
        self.history_ = record.curves()
        self.best_epoch_ = record.kept_epoch
        self.n_epochs_ = record.n_epochs

    def _keep_transition(self, record: Record) -> None:
        """Set the attributes of the learned T."""
        for name in ("noise_", "noise_interval_"):
            self.__dict__.pop(name, None)
        learns, learned = record.run.method.learns, record.learned
        estimate = None if learned is None else learned.estimate
        self.learned_transition_ = self.transition_ if learned is None else learned.matrix
        self._transition_state = {
            "learns": learns,
            "parameters": None if learned is None else learned.parameters,
            "estimated": estimate is not None,
            "profile": None if learned is None else learned.profile(record.run.trust),
        }
        if learns == "noise" and learned is not None:
            self.noise_ = learned.noise_level
            if estimate is not None:
                self.noise_interval_ = estimate.noise_interval

    def _set_weights(self, arrays: Sequence[AnyArray]) -> None:
        for name in ("coefs_", "intercepts_", "network_state_"):
            self.__dict__.pop(name, None)
        if self.network is not None:
            self.network_state_ = list(arrays)
        else:
            self.coefs_ = [np.ascontiguousarray(weight.T) for weight in arrays[::2]]
            self.intercepts_ = list(arrays[1::2])

    def _weights(self) -> list[AnyArray]:
        if self.network is not None:
            return self.network_state_
        pairs = zip(self.coefs_, self.intercepts_, strict=True)
        return [a for weight, bias in pairs for a in (np.ascontiguousarray(weight.T), bias)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = self.network is not None
        return tags


def warn(text: str) -> None:
    """Warn that training did not go well."""
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
