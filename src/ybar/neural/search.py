"""`ComplementaryNetClassifierCV`: select the learning rate by complementary labels alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from ..classifiers.candidates import check_candidates, cv_results
from ..decode import Method as Decoder
from ..utils import checks
from ..utils.typing import FloatArray, Seed
from . import settings
from .base import NetBase
from .reporting import Callback

__all__ = ["ComplementaryNetClassifierCV"]

_PAPER_RATES = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5)


class ComplementaryNetClassifierCV(NetBase):
    """`ComplementaryNetClassifier` with the learning rate chosen on held-out complementary labels.

    All rates train on the same rows as one population: narrow networks side by side in one matrix
    product, wide networks in turns on `n_jobs` threads. The rate with the lowest SCEL (or URE) is
    kept.

    Parameters
    ----------
    learning_rates : list of float, optional
        Candidates; by default the paper's 1e-3, 5e-4, 1e-4, 5e-5 and 1e-5.
    transition_trusts : list of float, optional
        Candidates for ``transition_trust`` of "cpe-t", combined with every rate; by default 0.
    n_jobs : int, optional
        Threads, -1 for all cores; None is one. The result does not depend on it.
    method, hidden_layer_sizes, transition, decoder, classes, network, weight_decay, batch_size, \
max_epochs, dropout, input_dropout, weight_averaging, validation_fraction, select, criterion, \
patience, device, random_state, verbose, callbacks :
        As in `ComplementaryNetClassifier`.

    Attributes
    ----------
    cv_results_ : dict
        ``param_learning_rate``, ``scel``, ``scel_std_error``, ``ure`` and scikit-learn's
        ``params``, ``mean_test_score``, ``rank_test_score`` (these by `criterion`). Values are
        infinite where training failed in its first epoch.
    best_params_, best_index_, best_score_ : as in ``GridSearchCV``
    learning_rate_, transition_trust_ : float
    histories_ : dict
        The history of each rate, with its best trust; ``history_`` is that of the best rate.
    classes_, transition_, coefs_, … : as in `ComplementaryNetClassifier`

    Notes
    -----
    As in `ComplementaryNetClassifier`, scikit-learn's ``scoring="accuracy"`` is wrong here.

    Examples
    --------
    >>> from ybar import ComplementaryNetClassifierCV, datasets, labels, transition
    >>> d = datasets.load("digits")
    >>> T = transition.strong(10, random_state=0)
    >>> y_comp = labels.draw(d.y_train, T, random_state=0)
    >>> clf = ComplementaryNetClassifierCV(
    ...     hidden_layer_sizes=(), learning_rates=[1e-2, 1e-5], transition=T, max_epochs=40,
    ...     random_state=0,
    ... ).fit(d.X_train, y_comp)
    >>> clf.learning_rate_
    0.01
    """

    learning_rates: ArrayLike | None
    transition_trusts: ArrayLike | None
    n_jobs: int | None
    cv_results_: dict[str, Any]
    best_params_: dict[str, float]
    best_index_: int
    best_score_: float
    learning_rate_: float
    transition_trust_: float
    histories_: dict[float, dict[str, FloatArray]]

    def __init__(
        self,
        method: Any = "cpe-f",
        hidden_layer_sizes: Sequence[int] = (500,),
        *,
        learning_rates: ArrayLike | None = None,
        transition_trusts: ArrayLike | None = None,
        transition: ArrayLike = "uniform",
        decoder: Decoder | None = None,
        classes: ArrayLike | None = None,
        network: Callable[[], Any] | None = None,
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
        n_jobs: int | None = None,
        verbose: bool = False,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self._store_parameters(locals())

    @classmethod
    def paper(cls, method: Any = "cpe-f", **params: Any) -> Self:
        """Return a search with the paper's settings and rates; `params` override them."""
        return cls(method, **settings.paper(method, params))

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train with every learning rate and keep the best.

        Parameters
        ----------
        X : array-like of shape (N, n_features), memory map, torch Dataset, or stream
        y : array-like of shape (N,), boolean array of shape (N, K), Evidence, or a column's name
            As in `ComplementaryNetClassifier.fit`.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            rates = _PAPER_RATES if self.learning_rates is None else self.learning_rates
            rates = list(dict.fromkeys(check_candidates(rates, "learning_rates", float)))
            checks.n_jobs(self.n_jobs)
            if self.validation_fraction == 0:
                raise ValueError(
                    "validation_fraction must be above 0 to choose a learning rate; got 0"
                )
            trusts = self._trusts()
            candidates = [(rate, trust) for rate in rates for trust in trusts]
            observed, records = self._train(
                X, y, sample_weight, candidates, int(effective_n_jobs(self.n_jobs))
            )
            measured = {
                name: np.array([record.kept(name) for record in records])
                for name in ("scel", "scel_std_error", "ure")
            }
            grid = [
                {"learning_rate": rate}
                | ({} if self.transition_trusts is None else {"transition_trust": trust})
                for rate, trust in candidates
            ]
            self.cv_results_ = cv_results(
                grid, measured["scel"], measured["scel_std_error"], measured[self.criterion]
            )
            self.cv_results_["ure"] = measured["ure"]
            self.best_index_ = int(np.argmin(measured[self.criterion]))
            self.best_params_ = grid[self.best_index_]
            self.best_score_ = float(-measured[self.criterion][self.best_index_])
            self.learning_rate_, self.transition_trust_ = candidates[self.best_index_]
            self._keep(observed, records[self.best_index_])
            self.histories_ = {}
            for rate in rates:  # with its best trust; cv_results_ has the others
                of_rate = [record for record in records if record.run.learning_rate == rate]
                best = min(of_rate, key=lambda record: record.kept(self.criterion))
                self.histories_[rate] = best.curves()
        return self

    def _trusts(self) -> list[float]:
        if self.transition_trusts is None:
            return [0.0]
        rule = "transition_trusts must be a list of numbers of at least 0"
        trusts = checks.array_of_numbers(self.transition_trusts, rule)
        if trusts.ndim != 1 or not len(trusts) or not (np.isfinite(trusts) & (trusts >= 0)).all():
            raise ValueError(f"{rule}; got {checks.shown(self.transition_trusts)}")
        return list(dict.fromkeys(trusts.astype(np.float64).tolist()))
