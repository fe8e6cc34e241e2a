"""`ComplementaryNetClassifier`: linear models and networks, by every method of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import labels, transition
from ..classifiers.base import weighted
from ..decode import Method as Decoder
from ..labels.observed import Observed
from ..metrics.losses import mean_and_error
from ..utils import checks
from ..utils.encoding import check_classes
from ..utils.extras import require
from ..utils.random import as_generator
from ..utils.typing import AnyArray, IntArray, Seed
from . import samples, settings
from .base import NetBase, warn
from .methods import Method
from .reporting import Callback
from .streaming import Stream

if TYPE_CHECKING:
    from .fitting import Start
    from .population import Record

__all__ = ["ComplementaryNetClassifier"]

_FIRST_RATE, _FASTER_RATES = 1e-3, (3e-3, 1e-2)
_N_STD_ERRORS = 3.0
# Of the rows that a class has if all are equally frequent.
_FEWEST_ROWS, _RARE = 50, 0.05
_FEWEST_STEPS = 1000  # after fewer, a network has learned little anyway


class ComplementaryNetClassifier(NetBase):
    """Learn a linear model or a network from complementary labels, by one of twenty methods.

    Adam trains on mini-batches. A tenth of the rows is held out with its complementary labels, and
    the epoch with the lowest SCEL on them is kept. The defaults were chosen for accuracy without
    tuning; `paper` returns the paper's settings.

    Parameters
    ----------
    method : str or callable
        "ure", "ure-nn", "ure-ga", "fwd", "scl-nl", "scl-exp", "dm", "dm-unweighted", "cpe-i",
        "cpe-f", "cpe-t", "cpe-n", "op", "op-w", "mcl-log", "mcl-exp", "mcl-mae", "proden", "pc",
        "scarce", a name passed to `ybar.neural.methods.register`, or a callable of
        (logits, y_comp, log_T) that returns the loss of each row.
    hidden_layer_sizes : tuple of int
        Units of each hidden layer (ReLU); ``()`` is the linear model.
    transition : "uniform" or array-like of shape (K, K)
        ``T[y, k] = P(ȳ = k given y)``, its rows and columns in the order of ``classes_``.
    decoder : {None, "l1", "l2", "max", "likelihood"} or callable
        None is the method's default: "l1" for "cpe-i", "cpe-f" and "cpe-t", and "max", the class
        with the largest p, for the others. With `transition_trust`, and where y is evidence of
        several kinds, the default is "max" too.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T; by default the sorted values of y. Required if
        some class never occurs as a complementary label.
    network : callable, optional
        Builds a ``torch.nn.Module`` that maps a float32 batch to logits (N, K), in place of
        `hidden_layer_sizes` and the two dropouts. X may then have more than two dimensions.
    learning_rate : float, optional
        Of Adam. By default 1e-3. If the network then hardly ever predicts some class for X (with at
        least 50 rows per class, after 1,000 steps), it is trained again with 3e-3, and if need be
        with 1e-2. The criterion selects one of the trainings.
    weight_decay : float
        The L2 penalty of Adam, as in PyTorch.
    batch_size : int
    max_epochs : int, optional
        By default 40; for small data as many epochs as 2,000 steps need, up to 400.
    dropout, input_dropout : float
        Fractions of hidden units and of features that are dropped at random in training.
    weight_averaging : float
        Decay of a running mean of the weights. The mean is evaluated and kept; 0 disables it.
    transition_trust : float
        For "cpe-t". With a positive value, T is re-estimated on the held-out labels after every
        epoch; `transition` plus the estimated noise acts as a prior worth this many labels per
        class. With 0, as in the paper, gradients learn T, starting from `transition`.
    validation_fraction : float
        Share of rows held out; 0 requires ``select="last"``.
    select : {"best", "last"}
        Which epoch is kept.
    criterion : {"scel", "ure"}
        The validation loss, on the held-out complementary labels.
    patience : int, optional
        Stop after this many epochs without improvement.
    device : {"auto", "cpu", "cuda", "mps"}
        "auto" is CUDA if available, else the CPU. "mps" has not been tested.
    random_state : int, Generator, RandomState or None
        The same seed and number of threads give the same bits on a CPU.
    n_threads : int
        Threads that one training uses. Several round sums differently from one. More threads than
        idle cores slow the training down, because each step waits for the last of them.
    warm_start : bool
        Whether `fit` continues from the weights of the last fit.
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
        The state of `network`, in place of ``coefs_`` and ``intercepts_``.
    history_ : dict of ndarray
        Per epoch: ``loss`` (training), ``scel`` and ``ure`` (held out, with standard errors, under
        ``label_transition_``), ``seconds``. Standard errors of ``ure`` include that of an estimated
        T. They are NaN before T is estimated, and if the interval of λ reaches 1.
        `ybar.displays.TrainingCurveDisplay` plots it.
    best_epoch_, n_epochs_ : int
        The epoch kept, from 1, and the number of epochs trained.
    learning_rate_ : float
        The learning rate of the training that is kept; not set by `partial_fit`.
    learned_transition_ : ndarray of shape (K, K)
        T as "cpe-t" and "cpe-n" learned it; `transition` for the others.
    label_transition_ : ndarray of shape (K, K)
        The T that labels are assumed to follow: ``learned_transition_`` if it was estimated on
        held-out labels ("cpe-n", and "cpe-t" with `transition_trust`), otherwise `transition`.
    noise_, noise_interval_ : float, tuple of float
        Of "cpe-n": the noise level λ and its 95% interval, estimated on the held-out labels. The
        network trains with this λ after 1,000 steps, or after half of its steps if there are fewer
        than 2,000; only later epochs can be the best one. Without held-out rows, gradients learn λ,
        and there is no interval.
    transition_profile_ : TransitionProfile or None
        What is unknown of an estimated ``label_transition_``, for `ybar.metrics.ure_zero_one`.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    uint8 X is assumed to be images and scaled to [0, 1] as it is read. Other numbers are not
    scaled: put a ``StandardScaler`` in front. Arrays may be memory maps: batches are read when they
    are needed, and X is never copied as a whole.

    y holds complementary labels, so metrics of scikit-learn that compare predictions with y are
    wrong: with ``GridSearchCV(scoring="accuracy")``, the better the model, the lower the score.
    Leave `scoring` out, or pass `ybar.metrics.scel_scorer`. ybar warns if cross-validation scores
    predicted classes in this way.

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

    learning_rate: float | None
    learning_rate_: float
    transition_trust: float
    warm_start: bool
    _stream: list[AnyArray]
    _stream_kind: list[Any]

    def __init__(
        self,
        method: Any = "cpe-f",
        hidden_layer_sizes: Sequence[int] = (500,),
        *,
        transition: ArrayLike = "uniform",
        decoder: Decoder | None = None,
        classes: ArrayLike | None = None,
        network: Callable[[], Any] | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 1e-4,
        batch_size: int = 256,
        max_epochs: int | None = None,
        dropout: float = 0.5,
        input_dropout: float = 0.2,
        weight_averaging: float = 0.999,
        transition_trust: float = 0.0,
        validation_fraction: float = 0.1,
        select: str = "best",
        criterion: str = "scel",
        patience: int | None = None,
        device: str = "auto",
        random_state: Seed = None,
        n_threads: int = 1,
        warm_start: bool = False,
        verbose: bool = False,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self._store_parameters(locals())

    @classmethod
    def paper(cls, method: Any = "cpe-f", **params: Any) -> Self:
        """Return a classifier with the paper's settings; `params` override them.

        They are 300 epochs of Adam with weight decay 1e-4, no dropout, no averaging, and the last
        epoch. `ComplementaryNetClassifierCV.paper` also selects the learning rate, by SCEL for
        CPE and by URE for the other methods.
        """
        return cls(method, **settings.paper(method, params))

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on complementary labels.

        Parameters
        ----------
        X : array-like of shape (N, n_features), memory map, torch Dataset, or stream
            If a dataset's items are tuples, their first entry is used. With `network`, arrays may
            have more than two dimensions. `ybar.datasets.stream` reads files larger than memory.
        y : array-like of shape (N,), boolean array of shape (N, K), Evidence, or a column's name
            Complementary labels: classes that the rows are said not to be. Several labels of a row
            are assumed independent: "cpe-f", "fwd", "cpe-n" and "cpe-t" learn from their joint
            likelihood, "mcl-log", "mcl-exp", "mcl-mae" and "proden" from the set of all labels of
            the row, and the other methods from each label separately. The first four also accept
            `ybar.labels.Evidence`: ordinary labels, sets and more. If X is a stream, there is one
            label per row, and y may be the name of their column.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            rate, trust = self._rate_and_trust()
            warm = bool(self.warm_start) and hasattr(self, "classes_")
            generator = as_generator(self.random_state)
            first_state = generator.bit_generator.state
            observed, (record,) = self._train(
                X, y, sample_weight, [(rate, trust)], generator=generator, warm=warm
            )
            self._keep(observed, record)
            in_memory = not isinstance(X, Stream)
            search = self.learning_rate is None and self.validation_fraction > 0 and not warm
            for faster in _FASTER_RATES if search and in_memory else ():
                if not self._ended_by_itself(record) or not len(self._lost_classes(X)):
                    break
                generator.bit_generator.state = first_state  # the same rows are held out
                _, (other,) = self._train(
                    X, y, sample_weight, [(faster, trust)], generator=generator
                )
                if other.failed is None and other.kept(self.criterion) < record.kept(
                    self.criterion
                ):
                    record = other
                    self._keep(observed, record)
            self.learning_rate_ = record.run.learning_rate
            if observed.by_label and in_memory:
                _warn_of_lost_classes(self._lost_classes(X), observed)
            for name in ("_stream", "_stream_kind"):
                self.__dict__.pop(name, None)
        return self

    def _ended_by_itself(self, record: Record) -> bool:
        """Return whether no callback, interruption or failure ended the training."""
        waited = record.n_epochs - record.lowest_epoch
        return not record.done or (self.patience is not None and waited >= self.patience)

    def _lost_classes(self, X: Any) -> IntArray:
        """Return the classes that are hardly ever predicted for X, if training was long enough."""
        reading, K = self._reading(), len(self.classes_)
        parts = [reading.classes(part, self.learned_transition_) for part in self._logits(X)]
        counts = np.bincount(np.concatenate(parts), minlength=K)
        of_equal_shares = counts.sum() / K
        n_steps = self.n_epochs_ * counts.sum() / self.batch_size
        if of_equal_shares < _FEWEST_ROWS or n_steps < _FEWEST_STEPS:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(counts < _RARE * of_equal_shares)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train one epoch on more rows, continuing where the last call ended.

        Adam's moments and the mean of the weights continue too. No row is held out: evaluate with
        `score` on rows before you train on them. After `fit`, training continues from the fitted
        weights. Callbacks are not called, and there is no progress bar.

        Parameters
        ----------
        X : as in `fit`, one row or more
        y : as in `fit`
        classes : array-like of shape (K,), optional
            All classes; required at the first call unless the parameter ``classes`` names them.
        sample_weight : array-like of shape (N,), optional
            By default every row has weight 1.

        Returns
        -------
        self
        """
        require("torch", "torch", type(self).__name__)
        from . import fitting, population  # these import torch

        with self._all_or_nothing():
            rate, trust = self._rate_and_trust()
            method = self._check_settings([trust])
            if isinstance(X, Stream):
                raise TypeError("X must be rows in memory for partial_fit; got a stream. Use fit")
            begun = hasattr(self, "classes_")
            X = self._rows_of(X, reset=not begun)
            observed = self._check_part(X, y, classes, sample_weight)
            samples.check(observed, method, begun=begun)
            entropy = int(as_generator(self.random_state).integers(2**63))
            generator = np.random.default_rng([entropy, getattr(self, "n_epochs_", 0)])
            masks, first = (int(v) for v in generator.integers(2**63, size=2))
            recipe = replace(self._recipe(len(X)), max_epochs=1)
            training = samples.collect(observed, np.arange(len(X)), method)
            kind = [method.learns or "", recipe.weight_averaging > 0]
            (record,) = fitting.fit_runs(
                [self._run(observed, method, first, rate, trust)],
                population.Data(X, training, None, observed.T),
                self._architecture(observed, settings.device(self.device)),
                recipe,
                population.Selection("last"),
                order_seed=generator,
                mask_seed=masks,
                start=self._stream_start(observed, method, kind) if begun else None,
                keep_state=True,
            )
            if training.weight is not None and record.failed is None:
                record.history["loss"][-1] /= float(training.weight.mean())
            self._keep(observed, record)
            self._stream, self._stream_kind = record.state, kind
        return self

    def _stream_start(self, observed: Observed, method: Method, kind: list[Any]) -> Start:
        """Return the state at the end of the last call of `fit` or `partial_fit`."""
        state = self._stream if getattr(self, "_stream_kind", None) == kind else None
        history = {name: values.tolist() for name, values in self.history_.items()}
        return replace(self._start(observed, method), state=state, history=history)

    def _rate_and_trust(self) -> tuple[float, float]:
        allowed = "a finite number of at least 0"
        return (
            _FIRST_RATE
            if self.learning_rate is None
            else checks.number(self.learning_rate, "learning_rate", "a number above 0", 5e-324),
            checks.number(self.transition_trust, "transition_trust", allowed, 0),
        )

    def _check_part(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Observed:
        """Check the arguments of partial_fit, which may have few rows but only known classes."""
        known = self.classes_ if hasattr(self, "classes_") else self.classes
        if classes is not None:
            named = check_classes(classes)
            if known is not None and not np.array_equal(named, np.asarray(known)):
                raise ValueError(
                    "classes must be the same at every call of partial_fit, and those of the "
                    f"parameter classes; got {checks.shown(named.tolist())} after "
                    f"{checks.shown(np.asarray(known).tolist())}"
                )
            known = named
        if known is None and isinstance(y, labels.Evidence):
            known = y.classes
        if known is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit, or as the parameter "
                "classes: the first rows need not rule out every class; got None"
            )
        observed = self._observe(y, known)
        checks.same_length("X", len(X), "y", len(observed))
        observed = weighted(observed, sample_weight)
        observed = self._with_transition(observed)
        if isinstance(y, labels.Evidence) and hasattr(self, "transition_"):
            if y.transition is not None and not np.allclose(observed.T, self.transition_, 0, 1e-9):
                raise ValueError(
                    "y must hold complementary labels drawn from the T of the calls before; "
                    "got another T. Join evidence under several T with Evidence.concatenate, and "
                    "fit to all of it"
                )
            observed = observed.with_transition(self.transition_)
        return observed


def _warn_of_lost_classes(lost: IntArray, observed: Observed) -> None:
    """Warn of classes that are hardly ever predicted, although the labels show that they occur.

    The share of class k is the mean of (T⁻¹)[ȳ, k] over the labels, without bias.
    """
    T = observed.T
    if not len(lost) or transition.is_singular(T):
        return
    rows, labelled = observed.single_labels()
    values = np.asarray(np.linalg.inv(T), dtype=np.float64)[labelled]
    for k in lost:
        share, std_error = mean_and_error(values[:, k], rows, len(observed), observed.weights)
        if share > max(_N_STD_ERRORS * std_error, 2 * _RARE / len(T)):
            warn(
                f"class {checks.shown(observed.classes[k])} is hardly ever predicted for X, "
                f"although the labels imply a share of {100 * share:.0f}% ± {100 * std_error:.0f}. "
                "Scale X (StandardScaler), try another learning_rate or method, or collect more "
                "labels"
            )
