"""What the network classifiers share: from rows to records, from weights to answers."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from ..classifiers import hold_out
from ..classifiers.base import Checked, ComplementaryClassifier
from ..utils import checks
from ..utils.extras import require
from ..utils.random import as_generator
from ..utils.typing import AnyArray, FloatArray, Seed
from . import evaluate, observed, settings

if TYPE_CHECKING:
    from .objective import Run
    from .population import Record
    from .train import Recipe, Samples

Callback: TypeAlias = Callable[[dict[str, Any]], Any]

_PREDICTED_AT_ONCE = 2048
# An epoch of few rows is few steps; a default of at least so many lets small data be learned too.
_LEAST_STEPS, _MOST_EPOCHS = 2000, 400


class NetBase(ComplementaryClassifier):
    """What the classifier and its search share: from rows to records, from weights to answers."""

    _has_own_decoder = True
    _takes_evidence = True

    method: Any
    hidden_layer_sizes: Any
    network: Any
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
    device: str
    random_state: Seed
    verbose: bool
    callbacks: Any

    coefs_: list[AnyArray]
    intercepts_: list[AnyArray]
    network_state_: list[AnyArray]
    estimates_: str
    decoder_: Any
    learned_transition_: FloatArray
    noise_: float
    noise_interval_: tuple[float, ...]
    history_: dict[str, FloatArray]
    best_epoch_: int
    n_epochs_: int

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q: the probability of each class as a complementary label.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or what `fit` took

        Returns
        -------
        ndarray of shape (N, K)
        """
        logits = self._logits(X)
        return self._reading().complementary(logits, self.learned_transition_)

    def predict(self, X: Any) -> AnyArray:
        """Return the ordinary class of each row of X.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or what `fit` took

        Returns
        -------
        ndarray of shape (N,)
        """
        logits = self._logits(X)
        return self.classes_[self._reading().classes(logits, self.learned_transition_)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return ordinary-class probabilities: the network's own p, if its method has one.

        ``cpe-i`` estimates q only; its p are those of `ybar.decode.class_probabilities`.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or what `fit` took

        Returns
        -------
        ndarray of shape (N, K)
        """
        logits = self._logits(X)
        return self._reading().ordinary(logits)

    def _reading(self) -> evaluate.Reading:
        decoder = self.decoder_ if self.decoder is None else self.decoder
        return evaluate.Reading(self.estimates_, decoder, self.transition_)

    def _logits(self, X: Any) -> AnyArray:
        check_is_fitted(self, "classes_")
        if hasattr(self, "network_state_"):
            return self._module_logits(X)
        X = self._rows_of(X, reset=False)
        return np.asarray(np.concatenate([self._dense_logits(block) for block in _blocks(X)]))

    def _dense_logits(self, h: AnyArray) -> AnyArray:
        for layer, (weight, bias) in enumerate(zip(self.coefs_, self.intercepts_, strict=True)):
            h = h @ weight + bias
            if layer < len(self.coefs_) - 1:
                np.maximum(h, 0, out=h)
        return h

    def _module_logits(self, X: Any) -> AnyArray:
        require("torch", "torch", type(self).__name__)
        from . import models, population
        from .data import Rows

        if self.network is None:
            raise ValueError(
                "network must be the callable that the classifier was fitted with; got None. Set "
                "it again, or fit anew"
            )
        X = self._rows_of(X, reset=False)
        model = models.Module(self.network, 0, settings.device(self.device))
        model.set_weights(0, self.network_state_)
        logits = population.logits_of(model, Rows(X, model.device), np.arange(len(X)))
        return np.asarray(logits[0])

    def _rows_of(self, X: Any, reset: bool, at_least: int = 1) -> Any:
        """Return X checked: an array, or a torch dataset as it is."""
        if reset:
            self.__dict__.pop("_kind", None)  # items of a torch dataset need not be of one
        if not _is_dataset(X) and (not self._takes_images() or np.ndim(X) < 3):
            X = self._validate(X, reset=reset, ensure_min_samples=at_least)
            self._check_kind(X.dtype, reset)
            return X
        if not _is_dataset(X):
            X = check_array(X, allow_nd=True, ensure_min_samples=at_least)
            self._check_kind(X.dtype, reset)
        if not hasattr(X, "__len__"):
            raise TypeError(
                "X must have a length and rows by index; got an IterableDataset. Pass a Dataset "
                "with __len__ and __getitem__, or feed its parts to partial_fit"
            )
        if len(X) < at_least:
            raise ValueError(
                f"X must have at least {at_least} rows (n_samples); got a dataset of {len(X)}"
            )
        first = X[0]
        n = int(np.prod(np.shape(first[0] if isinstance(first, (tuple, list)) else first)))
        if reset:
            self.n_features_in_ = n
            self.__dict__.pop("feature_names_in_", None)
        elif n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X

    def _check_kind(self, kind: np.dtype[Any], reset: bool) -> None:
        """Refuse other whole numbers after uint8, or uint8 after others: only uint8 is scaled."""
        if reset:
            self._kind = kind.name
        before = np.dtype(getattr(self, "_kind", kind.name))
        whole = before.kind in "iu" and kind.kind in "iu"
        if whole and (before == np.uint8) != (kind == np.uint8):
            raise ValueError(
                f"X must be of dtype {before}, as in fit: uint8 is scaled to [0, 1], other whole "
                f"numbers are taken as they are; got {kind}. Convert it with .astype"
            )

    def _takes_images(self) -> bool:
        return self.network is not None

    def _train(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        candidates: Sequence[tuple[float, float]],
        n_jobs: int = 1,
        go_on: bool = False,
    ) -> tuple[Checked, list[Record]]:
        """Train a run for each (learning rate, trust in T) on the same rows; return the records."""
        require("torch", "torch", type(self).__name__)
        from . import losses, population
        from .objective import Run

        method = losses.find(self.method)
        settings.check(self)
        name = "transition_trusts" if hasattr(self, "transition_trusts") else "transition_trust"
        settings.check_trusts([trust for _, trust in candidates], method, name)
        device = settings.device(self.device)
        X = self._rows_of(X, reset=True, at_least=2)
        checked = self._check_fit(X, y, sample_weight)
        observed.check(checked, method, self.criterion)
        start = self._start(checked, method) if go_on else None
        generator = as_generator(self.random_state)
        parts = self._parts(checked, method, generator)
        order, masks, first = (int(v) for v in generator.integers(2**63, size=3))
        data = population.Data(X, *parts[:2], checked.T, jointly=parts[2])
        runs = [Run(method, rate, first, trust) for rate, trust in candidates]
        recipe = self._recipe(len(parts[0].rows))
        own = [observed.decoder(checked, run) for run in runs]
        decoders = own if self.decoder is None else [self.decoder] * len(runs)
        readings = [evaluate.Reading(method.estimates, each, checked.T) for each in decoders]
        how = population.Selection(self.select, self.criterion, self.patience)
        if parts[1] is None:
            how = population.Selection("last", self.criterion, None)
        with self._progress(len(runs) * recipe.max_epochs) as advance:

            def tell(record: Record, epoch: int) -> bool:
                advance(record, epoch, recipe.max_epochs)
                answers = [call(_news(record, epoch)) for call in self.callbacks or ()]
                return any(isinstance(a, (bool, np.bool_)) and bool(a) for a in answers)

            try:
                records = population.grow(
                    runs,
                    readings,
                    data,
                    recipe,
                    how,
                    make=lambda mine: self._model(X, checked, mine, masks, device),
                    width=self._width(len(checked.classes)),
                    seed=order,
                    n_jobs=n_jobs,
                    tell=tell,
                    start=start,
                )
            except population.Interrupted as interrupted:
                records = interrupted.records
                if not any(record.weights for record in records):
                    raise KeyboardInterrupt from None
                epochs = max(len(record.history["loss"]) for record in records)
                how_to_go_on = ". Fit again with warm_start=True to go on from it"
                _warn(
                    f"interrupted after epoch {epochs} of {recipe.max_epochs}: the best so far is "
                    "kept" + (how_to_go_on if hasattr(self, "warm_start") else "")
                )
        return checked, records

    def _start(self, checked: Checked, method: Any) -> dict[str, Any]:
        """Return the weights that the last fit ended with, if they fit."""
        same_classes = np.array_equal(self.classes_, checked.classes)
        shapes = [c.shape for c in getattr(self, "coefs_", [])]
        expected = [] if self.network is not None else list(pairwise(self._sizes(checked)))
        if not same_classes or shapes != expected:
            raise ValueError(
                "warm_start and partial_fit must go on with the same network, features and "
                f"classes as the last fit: layers {shapes} and classes "
                f"{checks.shown(self.classes_.tolist())}; got layers {expected} and classes "
                f"{checks.shown(checked.classes.tolist())}. Fit a clone instead"
            )
        same_T = getattr(self, "_learns", None) == method.learns
        return {
            "weights": self._weights(),
            "learned": getattr(self, "_learned", None) if same_T else None,
        }

    def _sizes(self, checked: Checked) -> list[int]:
        """Return the number of features, of units of each hidden layer, and of classes."""
        return [self.n_features_in_, *map(int, self.hidden_layer_sizes), len(checked.classes)]

    def _parts(
        self, checked: Checked, method: Any, generator: np.random.Generator
    ) -> tuple[Samples, Samples | None, Samples | None]:
        """Return what is trained on, judged by, and what T is learned from if that is more."""
        if self.validation_fraction == 0:
            if self.select == "best" or self.patience is not None:
                raise ValueError(
                    "validation_fraction must be above 0 to select the best epoch or to have "
                    "patience; got 0. Hold some rows out, or set select='last' and patience=None"
                )
            return observed.samples(checked, np.arange(len(checked.codes)), method), None, None
        ((training, validation),) = hold_out.splits(
            checked.observed, None, self.validation_fraction, generator
        )
        return (
            observed.samples(checked, training, method),
            observed.samples(checked, validation),
            observed.samples(checked, validation, method) if method.learns else None,
        )

    def _recipe(self, n_samples: int) -> Recipe:
        from .train import Recipe

        steps = math.ceil(n_samples / self.batch_size)
        epochs = min(max(40, math.ceil(_LEAST_STEPS / steps)), _MOST_EPOCHS)
        return Recipe(
            max_epochs=epochs if self.max_epochs is None else self.max_epochs,
            batch_size=self.batch_size,
            weight_decay=self.weight_decay,
            weight_averaging=self.weight_averaging,
        )

    def _width(self, n_classes: int) -> int:
        """Return the outputs of the first layer; a module is as wide as a stack can be."""
        if self.network is not None:
            return 2**31
        return int([*self.hidden_layer_sizes, n_classes][0])

    def _model(self, X: Any, checked: Checked, runs: Sequence[Run], masks: int, device: Any) -> Any:
        from . import models
        from .data import Rows

        if self.network is None:
            return models.Dense(
                self._sizes(checked),
                [run.seed for run in runs],
                dropout=self.dropout,
                input_dropout=self.input_dropout,
                seed=masks,
                device=device,
            )
        model = models.Module(self.network, runs[0].seed, device)
        rows = Rows(X, device).take(np.arange(min(2, len(X))))
        try:
            with model.randomness():
                given = model.forward(rows).shape[2]
        except RuntimeError as err:
            reason = " ".join(str(err).split())
            raise ValueError(
                f"network must take batches of the shape of X, {tuple(rows.shape)} for two rows; "
                f"got an error from it: {reason}"
            ) from err
        if given != len(checked.classes):
            raise ValueError(
                f"network must give one output for each of the {len(checked.classes)} classes; "
                f"got {given}"
            )
        return model

    def _keep(self, checked: Checked, record: Record) -> None:
        """Set what is learned from the record of the run to keep."""
        if record.failed is not None:
            epoch, batch = record.failed
            text = (
                f"the loss is no longer finite (NaN or infinity) at epoch {epoch}, batch {batch}. "
                "Try a lower learning_rate, scale X (StandardScaler), or another method"
            )
            if not record.weights:
                raise FloatingPointError(text)
            _warn(f"{text}. The best weights so far, of epoch {record.kept_epoch}, are kept")
        method = record.run.method
        self.classes_, self.transition_ = checked.classes, checked.T
        self.estimates_, self.decoder_ = method.estimates, observed.decoder(checked, record.run)
        self._set_weights(record.weights)
        self.learned_transition_, self._learns = checked.T, method.learns
        if method.learns and record.learned is not None and record.transition is not None:
            self.learned_transition_ = record.transition
            self._learned = record.learned
        self._labels_follow = (  # found on labels held out
            self.transition_ if record.noise is None else self.learned_transition_
        )
        if method.learns == "noise" and record.learned is not None:
            self.noise_ = float(1 / (1 + np.exp(-record.learned[0])))
        if method.learns == "noise" and record.noise is not None:
            self.noise_, self.noise_interval_ = record.noise.estimate, record.noise.interval()
        self.history_ = {name: np.array(values) for name, values in record.history.items()}
        self.best_epoch_ = record.kept_epoch
        self.n_epochs_ = len(record.history["loss"])

    def _set_weights(self, arrays: Sequence[AnyArray]) -> None:
        for name in (
            "coefs_",
            "intercepts_",
            "network_state_",
            "_learned",
            "noise_",
            "noise_interval_",
        ):
            if hasattr(self, name):
                delattr(self, name)
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

    @contextlib.contextmanager
    def _progress(self, total: int) -> Iterator[Callable[[Record, int, int], None]]:
        if not self.verbose:
            yield lambda *_: None
            return
        progress = require("rich.progress", "cli", "verbose=True")
        with progress.Progress(
            *progress.Progress.get_default_columns(), progress.TextColumn("{task.fields[news]}")
        ) as bar:
            task = bar.add_task("epochs", total=total, news="")

            def advance(record: Record, epoch: int, epochs: int) -> None:
                values = {name: record.history[name][-1] for name in ("loss", "scel")}
                rate = f"rate {record.run.learning_rate:g}, epoch {epoch}"
                news = f"{rate}: loss {values['loss']:.4f}, SCEL {values['scel']:.4f}"
                left = 0 if not record.done else epochs - epoch
                bar.update(task, advance=1 + left, news=news)

            yield advance

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = self._takes_images()
        return tags


def _warn(text: str) -> None:
    warnings.warn(text, ConvergenceWarning, stacklevel=4)


def _is_dataset(X: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.utils.data.Dataset)


def _blocks(X: Any) -> Iterator[AnyArray]:
    """Yield rows of X as float32, uint8 scaled, as `Rows` does for training."""
    for first in range(0, len(X), _PREDICTED_AT_ONCE):
        rows = np.arange(first, min(first + _PREDICTED_AT_ONCE, len(X)))
        if isinstance(X, np.ndarray):
            block = X[rows[0] : rows[-1] + 1].astype(np.float32)
            if X.dtype == np.uint8:
                block *= np.float32(1 / 255)
        else:
            from .data import Rows

            block = Rows(X, settings.device("cpu")).take(rows).numpy()
        yield block.reshape(len(block), -1)


def _news(record: Record, epoch: int) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "learning_rate": record.run.learning_rate,
        "best_epoch": record.kept_epoch,
        **{name: values[-1] for name, values in record.history.items()},
    }
