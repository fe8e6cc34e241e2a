"""`ComplementaryNetClassifier`: linear models and networks, by every method of the paper."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import _checks, _path, labels
from .._extras import require
from .._random import as_generator
from .._typing import AnyArray, FloatArray, IntArray, Seed
from ..classifiers import Checked, ComplementaryClassifier
from ..decode import Method as Decoder
from . import evaluate

if TYPE_CHECKING:
    from .population import Record
    from .train import Recipe, Run, Samples

__all__ = ["ComplementaryNetClassifier"]

Callback: TypeAlias = Callable[[dict[str, Any]], Any]

_PREDICTED_AT_ONCE = 4096
# An epoch of few rows is few steps; a default of at least so many lets small data be learned too.
_LEAST_STEPS, _MOST_EPOCHS = 2000, 400


class NetBase(ComplementaryClassifier):
    """What the classifier and its search share: from rows to records, from weights to answers."""

    _has_own_decoder = True

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
        return self._reading().ordinary(self._logits(X))

    def _reading(self) -> evaluate.Reading:
        decoder = self.decoder_ if self.decoder is None else self.decoder
        return evaluate.Reading(self.estimates_, decoder, self.transition_)

    def _logits(self, X: Any) -> AnyArray:
        check_is_fitted(self, "classes_")
        if hasattr(self, "network_state_"):
            return self._module_logits(X)
        X = self._rows_of(X, reset=False)
        found = np.empty((len(X), len(self.classes_)), np.float32)
        for first in range(0, len(X), _PREDICTED_AT_ONCE):
            part = slice(first, first + _PREDICTED_AT_ONCE)
            found[part] = self._dense_logits(_as_floats(X, part))
        return found

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

        X = self._rows_of(X, reset=False)
        model = models.Module(self.network, 0, _device(self.device))
        model.set_weights(0, self.network_state_)
        return population.logits_of(model, Rows(X, model.device), np.arange(len(X)))[0]

    def _rows_of(self, X: Any, reset: bool) -> Any:
        """Return X checked: an array, or a torch dataset as it is."""
        if not _is_dataset(X):
            return self._validate(
                X, reset=reset, ensure_min_samples=2 if reset else 1, allow_nd=self._takes_images()
            )
        if not hasattr(X, "__len__"):
            raise TypeError(
                "X must have a length and rows by index; got an IterableDataset. Pass a Dataset "
                "with __len__ and __getitem__, or feed its parts to partial_fit"
            )
        first = X[0]
        n = int(np.prod(np.shape(first[0] if isinstance(first, (tuple, list)) else first)))
        if reset:
            self.n_features_in_ = n
        elif n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X

    def _takes_images(self) -> bool:
        return self.network is not None

    def _check_params(self) -> None:
        """Refuse settings that make no sense, before any work is done."""
        for name in ("dropout", "input_dropout", "weight_averaging"):
            value = _checks.number(getattr(self, name), name, "a number from 0 to below 1", 0, 1)
            if value == 1:
                raise ValueError(f"{name} must be a number from 0 to below 1; got 1")
        _checks.number(self.weight_decay, "weight_decay", "a number of at least 0", 0)
        _checks.whole_number(self.batch_size, "batch_size", 1)
        for name in ("max_epochs", "patience"):
            if getattr(self, name) is not None:
                _checks.whole_number(getattr(self, name), name, 1)
        for name, allowed in (("select", ("best", "last")), ("criterion", ("scel", "ure"))):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be {allowed[0]!r} or {allowed[1]!r}; got "
                    f"{_checks.shown(getattr(self, name))}"
                )
        if self.network is not None and not callable(self.network):
            raise ValueError(
                "network must be a callable that builds a torch.nn.Module with an output for each "
                f"class; got {_checks.shown(self.network)}. Write network=lambda: ..., or pass a "
                "function or a class"
            )
        callbacks = [] if self.callbacks is None else self.callbacks
        if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
            raise ValueError(
                "callbacks must be a list of callables, each called with a dict after each epoch; "
                f"got {_checks.shown(self.callbacks)}"
            )
        sizes = self.hidden_layer_sizes
        sizes = list(sizes) if isinstance(sizes, (list, tuple, np.ndarray)) else [None]
        for size in sizes:
            if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
                raise ValueError(
                    "hidden_layer_sizes must be a tuple of whole numbers of at least 1, () for a "
                    f"linear model; got {_checks.shown(self.hidden_layer_sizes)}"
                )
        if not isinstance(self.verbose, (bool, np.bool_)):
            raise ValueError(f"verbose must be True or False; got {_checks.shown(self.verbose)}")

    def _train(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        rates: Sequence[float],
        n_jobs: int = 1,
        start: dict[str, Any] | None = None,
    ) -> tuple[Checked, list[Record]]:
        """Train a run for each rate on the same rows, and return their records."""
        require("torch", "torch", type(self).__name__)
        from . import losses, population
        from .train import Run

        method = losses.find(self.method)
        decoder = method.decoder if self.decoder is None else self.decoder
        self._check_params()
        device = _device(self.device)
        X = self._rows_of(X, reset=True)
        checked = self._check_fit(X, y, sample_weight)
        _possible(checked, method)
        generator = as_generator(self.random_state)
        parts = self._parts(checked, generator)
        order, masks, first = (int(v) for v in generator.integers(2**63, size=3))
        data = population.Data(X, *parts, checked.T)
        runs = [Run(method, rate, first) for rate in rates]
        recipe = self._recipe(len(parts[0].rows))
        reading = evaluate.Reading(method.estimates, decoder, checked.T)
        how = population.Selection(self.select, self.criterion, self.patience)
        if parts[1] is None:
            how = population.Selection("last", self.criterion, None)
        with self._progress(len(runs) * recipe.max_epochs) as advance:

            def tell(record: Record, epoch: int) -> bool:
                advance(record, epoch, recipe.max_epochs)
                answers = [call(_news(record, epoch)) for call in self.callbacks or ()]
                return any(answer is True for answer in answers)

            try:
                records = population.grow(
                    runs,
                    [reading] * len(runs),
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
                _warn(
                    f"interrupted after epoch {epochs} of {recipe.max_epochs}: the best so far is "
                    "kept. Fit again with warm_start=True to go on from it"
                )
        return checked, records

    def _parts(
        self, checked: Checked, generator: np.random.Generator
    ) -> tuple[Samples, Samples | None]:
        if self.validation_fraction == 0:
            if self.select == "best" or self.patience is not None:
                raise ValueError(
                    "validation_fraction must be above 0 to select the best epoch or to have "
                    "patience; got 0. Hold some rows out, or set select='last' and patience=None"
                )
            return _samples(checked, np.arange(len(checked.codes))), None
        ((training, validation),) = _path.splits(
            checked.codes, checked.weights, None, self.validation_fraction, generator
        )
        return _samples(checked, training), _samples(checked, validation)

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
            n_features = int(np.prod(np.shape(X)[1:])) if isinstance(X, np.ndarray) else None
            return models.Dense(
                [n_features or self.n_features_in_, *self.hidden_layer_sizes, len(checked.classes)],
                [run.seed for run in runs],
                dropout=self.dropout,
                input_dropout=self.input_dropout,
                seed=masks,
                device=device,
            )
        model = models.Module(self.network, runs[0].seed, device)
        given = model.forward(Rows(X, device).take(np.arange(2))).shape[2]
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
            _warn(f"{text}. The best weights so far, of epoch {record.best_epoch}, are kept")
        method = record.run.method
        self.classes_, self.transition_ = checked.classes, checked.T
        self.estimates_, self.decoder_ = method.estimates, method.decoder
        self._set_weights(record.weights)
        self.learned_transition_ = checked.T
        if method.learns and record.learned is not None and record.transition is not None:
            self.learned_transition_ = record.transition
            self._learned = record.learned
        if method.learns == "noise" and record.learned is not None:
            self.noise_ = float(1 / (1 + np.exp(-record.learned[0])))
        self.history_ = {name: np.array(values) for name, values in record.history.items()}
        self.best_epoch_ = record.best_epoch
        self.n_epochs_ = len(record.history["loss"])

    def _set_weights(self, arrays: Sequence[AnyArray]) -> None:
        for name in ("coefs_", "intercepts_", "network_state_", "_learned", "noise_"):
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
            yield lambda record, epoch, epochs: None
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


class ComplementaryNetClassifier(NetBase):
    """Learn a linear model or a network from complementary labels, by any method of the paper.

    Adam trains on mini-batches; a tenth of the rows, with their complementary labels, is held out,
    and the epoch of the lowest SCEL on it is kept. The defaults were chosen for accuracy without
    tuning; `paper` has the paper's own settings.

    Parameters
    ----------
    method : str or callable
        "ure", "ure-nn", "ure-ga", "fwd", "scl-nl", "scl-exp", "dm", "dm-unweighted", "cpe-i",
        "cpe-f", "cpe-t", "cpe-n", a name given to `ybar.neural.losses.register`, or a callable of
        (logits, y_comp, log_T) that returns the loss of each row.
    hidden_layer_sizes : tuple of int
        Units of each hidden layer (ReLU); ``()`` is the linear model.
    transition : "uniform" or array-like of shape (K, K)
        ``T[y, k] = P(ȳ = k given y)``, its rows and columns in the order of ``classes_``.
    decoder : {None, "l1", "l2", "max", "likelihood"} or callable
        None is the method's own: "l1" for CPE, else "max", the class of the largest p.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. Needed when some class never occurs as a
        complementary label; otherwise the sorted values of y.
    network : callable, optional
        Builds a ``torch.nn.Module`` that turns a float32 batch into logits (N, K), instead of
        `hidden_layer_sizes` and the two dropouts. Then X may have more than two dimensions.
    learning_rate, weight_decay : float
        Of Adam; the decay is its L2 penalty, as in PyTorch.
    batch_size : int
    max_epochs : int, optional
        By default 40, and more for small data: at least 2,000 steps, at most 400 epochs.
    dropout, input_dropout : float
        Shares of hidden units, and of features, dropped at random in training.
    weight_averaging : float
        Decay of a running mean of the weights, which is what is evaluated and kept; 0 for none.
    validation_fraction : float
        Share of rows held out. 0 needs ``select="last"``.
    select : {"best", "last"}
        Which epoch is kept.
    criterion : {"scel", "ure"}
        What "best" means, on the held-out complementary labels.
    patience : int, optional
        Stop after so many epochs without a better one.
    device : {"auto", "cpu", "cuda", "mps"}
    random_state : int, Generator, RandomState or None
        Same seed, same bits, on a CPU: a run uses one thread.
    warm_start : bool
        Whether `fit` goes on from the weights of the last one.
    verbose : bool
        Whether to show a progress bar (with rich).
    callbacks : list of callable, optional
        Each is called after each epoch with a dict of ``epoch``, ``loss``, ``scel``, ``ure``,
        ``seconds``, ``best_epoch``, ``learning_rate``; one that returns True ends the training.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    coefs_, intercepts_ : lists of ndarray
        Weights (inputs, outputs) and biases of each layer. Predicting needs numpy only.
    network_state_ : list of ndarray
        The state of a `network` instead.
    history_ : dict of ndarray
        Per epoch: ``loss`` (training), ``scel`` and ``ure`` (held out, with standard errors),
        ``seconds``. Plot it with `ybar.neural.TrainingCurveDisplay`.
    best_epoch_, n_epochs_ : int
        The epoch kept, from 1, and the number of epochs trained.
    learned_transition_ : ndarray of shape (K, K)
        T as "cpe-t" and "cpe-n" learned it; that given for the others.
    noise_ : float
        The noise level λ that "cpe-n" learned.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    uint8 X is taken for images and scaled to [0, 1] as it is read; other numbers are taken as they
    are, so put a ``StandardScaler`` before. Arrays may be memory maps: batches are read as they
    are needed, and X is never copied whole.

    Examples
    --------
    >>> from ybar import ComplementaryNetClassifier, datasets, labels, transition
    >>> d = datasets.load("digits")
    >>> T = transition.strong(10, random_state=0)
    >>> y_comp = labels.draw(d.y_train, T, random_state=0)
    >>> clf = ComplementaryNetClassifier(
    ...     hidden_layer_sizes=(100,), transition=T, max_epochs=60, random_state=0
    ... ).fit(d.X_train, y_comp)
    >>> bool((clf.predict(d.X_test) == d.y_test).mean() > 0.8)
    True
    """

    def __init__(
        self,
        method: Any = "cpe-f",
        hidden_layer_sizes: Sequence[int] = (500,),
        *,
        transition: ArrayLike = "uniform",
        decoder: Decoder | None = None,
        classes: ArrayLike | None = None,
        network: Callable[[], Any] | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        batch_size: int = 256,
        max_epochs: int | None = None,
        dropout: float = 0.5,
        input_dropout: float = 0.2,
        weight_averaging: float = 0.999,
        validation_fraction: float = 0.1,
        select: str = "best",
        criterion: str = "scel",
        patience: int | None = None,
        device: str = "auto",
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: bool = False,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.method = method
        self.hidden_layer_sizes = hidden_layer_sizes
        self.transition = transition
        self.decoder = decoder
        self.classes = classes
        self.network = network
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.weight_averaging = weight_averaging
        self.validation_fraction = validation_fraction
        self.select = select
        self.criterion = criterion
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks

    @classmethod
    def paper(cls, method: Any = "cpe-f", **params: Any) -> Self:
        """Return a classifier with the paper's settings, but for what is given.

        300 epochs of Adam with weight decay 1e-4, no dropout, no averaging, the last epoch; the
        paper chooses the learning rate (`ComplementaryNetClassifierCV.paper`), by SCEL for CPE
        and by URE for the others.
        """
        return cls(method, **paper_settings(method), **params)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on complementary labels.

        Parameters
        ----------
        X : array-like of shape (N, n_features), memory map, or torch Dataset
            Of a dataset's items that are tuples the first is taken. With `network`, arrays may
            have more than two dimensions.
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels: classes the rows are said not to be. A row with several counts
            once for each.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            _checks.number(self.learning_rate, "learning_rate", "a number above 0", 5e-324)
            start = self._start() if self.warm_start and hasattr(self, "classes_") else None
            checked, (record,) = self._train(
                X, y, sample_weight, [float(self.learning_rate)], start=start
            )
            self._keep(checked, record)
            self.__dict__.pop("_stream", None)
        return self

    def _start(self) -> dict[str, Any]:
        return {"weights": self._weights(), "learned": getattr(self, "_learned", None)}


def paper_settings(method: Any) -> dict[str, Any]:
    """Return what the paper sets, but for the learning rate."""
    by_scel = isinstance(method, str) and method.startswith("cpe")
    return {
        "weight_decay": 1e-4,
        "batch_size": 256,
        "max_epochs": 300,
        "dropout": 0.0,
        "input_dropout": 0.0,
        "weight_averaging": 0.0,
        "select": "last",
        "criterion": "scel" if by_scel else "ure",
    }


def _warn(text: str) -> None:
    warnings.warn(text, ConvergenceWarning, stacklevel=5)


def _is_dataset(X: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.utils.data.Dataset)


def _device(name: str) -> Any:
    torch = require("torch", "torch", "ComplementaryNetClassifier")
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if there[kind])
    if not isinstance(name, str) or name not in there:
        raise ValueError(
            f"device must be 'auto', 'cpu', 'cuda' or 'mps'; got {_checks.shown(name)}"
        )
    if not there[name]:
        found = ", ".join(repr(kind) for kind, is_there in there.items() if is_there)
        raise ValueError(
            f"device must be one that this machine has ({found}); got {name!r}. Use device='auto'"
        )
    return torch.device(name)


def _possible(checked: Checked, method: Any) -> None:
    """Refuse labels that T says never occur: their loss is infinite whatever the network does."""
    if method.estimates == "q" or method.learns:
        return
    _, k = labels.pairs(checked.codes, len(checked.classes))
    never = np.flatnonzero(checked.T.sum(axis=0) == 0)
    wrong = never[np.isin(never, k)]
    if len(wrong):
        raise ValueError(
            f"y must hold only labels that transition allows; {checked.classes[wrong[0]]!r} occurs, "
            "but its column of transition is all 0. Correct transition, or use method='cpe-n'"
        )


def _samples(checked: Checked, part: IntArray) -> Samples:
    from .train import Samples

    row, k = labels.pairs(checked.codes[part], len(checked.classes))
    rows = part[row]
    if checked.weights is None:
        return Samples(rows, k)
    weight = checked.weights[rows]
    used = weight > 0
    return Samples(rows[used], k[used], weight[used] / weight[used].mean())


def _as_floats(X: AnyArray, part: slice) -> AnyArray:
    block = np.asarray(X[part]).astype(np.float32)
    if X.dtype == np.uint8:
        block *= np.float32(1 / 255)
    return block.reshape(len(block), -1)


def _news(record: Record, epoch: int) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "learning_rate": record.run.learning_rate,
        "best_epoch": record.best_epoch,
        **{name: values[-1] for name, values in record.history.items()},
    }
