"""Boosted trees from complementary labels; one fit per learning rate evaluates every size."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..decode import Method
from ..utils import checks
from ..utils.extras import require
from ..utils.random import as_generator
from ..utils.typing import FloatArray, IntArray, Seed
from . import hold_out
from .base import ComplementaryClassifier
from .boosting_params import merged, n_threads
from .boosting_path import Trainer, search
from .boosting_targets import TARGETS, Labels, Likelihood
from .candidates import check_candidates, check_select, record_search, simplest
from .reduction import as_float

__all__ = ["CPEBoostingClassifierCV"]


class CPEBoostingClassifierCV(ComplementaryClassifier):
    """Boosted trees (LightGBM); SCEL selects the learning rate and the number of trees.

    By default this is the paper's CPE-GBDT: trees estimate q, which T decodes. With
    ``method="cpe-f"`` trees estimate p, and T is part of the loss -log (Tᵀp)[ȳ], as for networks.

    One fit per learning rate yields the held-out SCEL of every number of trees on the way; the
    features are binned once for all rates. A rate stops early if its loss would
    end above the best SCEL so far, were it to decrease as fast as over the last 5 candidates.
    This is a heuristic: held-out losses are noisy, so the rule can stop the rate that would have
    won, and the selected pair can differ from that of the full search. ``early_stopping=False``
    evaluates all pairs. The best pair is then fitted to all rows.

    Parameters
    ----------
    learning_rates : list of float, optional
        Candidates; by default 0.01, 0.025, 0.05 and 0.1.
    n_estimators : list of int, optional
        Candidates for the number of boosting rounds, each of which adds a tree per class; by
        default 5, 10, …, 500.
    method : {"cpe-i", "cpe-f"}
        What the trees estimate: q ("cpe-i") or p ("cpe-f"). "cpe-f" accepts all kinds of
        `ybar.labels.Evidence`, and uses the joint likelihood of several labels of a row. If a
        complementary label carries little information, "cpe-f" also changes LightGBM's defaults.
        A leaf then needs the information of 20 ordinary labels, but at most a tenth of all rows.
        Each tree sees half of the rows, if they are enough to split, and a fifth of the features,
        at least four. `lightgbm_params` overrides these defaults
        (``min_data_in_leaf``, ``bagging_fraction``, ``feature_fraction``).
    transition, classes :
        As in `CPEClassifier`.
    decoder : {"l1", "l2", "max", "likelihood"} or callable, optional
        See `ybar.decode.decode`; with "cpe-f", "max" is the argmax of the p that trees estimate.
        By default "l1", or "max" if y is evidence of other kinds than complementary labels.
    validation_fraction : float
        Share of the rows that is held out, at random, to select the candidate.
    cv : int, splitter or iterable of (train, validation) indices, optional
        Splits to use in place of `validation_fraction`; an int is a number of shuffled folds. The
        SCEL is the mean over the held-out labels of all splits.
    select : {"best", "one-std-error"}
        "best" selects the pair with the lowest SCEL. "one-std-error" keeps the learning rate of
        that pair and selects the fewest trees whose SCEL is within one standard error of the
        lowest; see `ybar.metrics.one_standard_error`.
    early_stopping : bool
        Whether a learning rate stops once it seems unable to win. With False, the search is exact
        and takes several times as long.
    lightgbm_params : dict, optional
        Further parameters of LightGBM, such as ``{"num_leaves": 15, "max_bin": 63}``.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Threads, -1 for all cores. None means all cores from 10,000 rows on, and one thread for
        fewer rows, where several are slower. The result does not depend on it.
    verbose : bool
        Whether to show a progress bar (with rich).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    transition_ : ndarray of shape (K, K)
    cv_results_ : dict
        Results per candidate: ``param_learning_rate``, ``param_n_estimators``, ``scel``,
        ``scel_std_error`` (NaN after a learning rate has stopped early) and scikit-learn's
        ``params``, ``mean_test_score``, ``rank_test_score``.
    best_params_, best_index_, best_score_ : as in ``GridSearchCV``
    model_ : str
        The fitted booster in LightGBM's text form.
    estimates_ : {"q", "p"}
        What the trees estimate.
    decoder_ : {"l1", "max"}
        The decoder that ``decoder=None`` stands for.
    seen_classes_ : ndarray
        Indices into ``classes_`` of the outputs of the booster: with "cpe-i" the classes that
        occur in y, with "cpe-f" all classes.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    y holds complementary labels, so do not search with ``scoring="accuracy"``: see the notes of
    `CPEClassifier`.

    Examples
    --------
    >>> from ybar import CPEBoostingClassifierCV, datasets, labels, transition
    >>> d = datasets.load("digits")
    >>> T = transition.strong(10, random_state=0)
    >>> y_comp = labels.draw(d.y_train, T, random_state=0)
    >>> clf = CPEBoostingClassifierCV(
    ...     learning_rates=[0.1], n_estimators=[10, 20, 30], transition=T, random_state=0
    ... ).fit(d.X_train, y_comp)
    >>> bool((clf.predict(d.X_test) == d.y_test).mean() > 0.7)
    True
    """

    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    model_: str
    seen_classes_: IntArray
    estimates_: str
    _allows_decoder_none = True
    _stop: Callable[..., bool] = staticmethod(lambda: False)  # whether the search must end

    def __init__(
        self,
        learning_rates: ArrayLike | None = None,
        n_estimators: ArrayLike | None = None,
        *,
        method: str = "cpe-i",
        transition: ArrayLike = "uniform",
        decoder: Method | None = None,
        classes: ArrayLike | None = None,
        validation_fraction: float = 0.1,
        cv: Any = None,
        select: str = "best",
        early_stopping: bool = True,
        lightgbm_params: dict[str, Any] | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select a candidate by SCEL on held-out complementary labels, then fit it to all rows.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
            May hold NaN, which LightGBM treats as missing.
        y : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels: the classes that each row is said not to have. With "cpe-f"
            also `ybar.labels.Evidence`.
        sample_weight : array-like of shape (N,), optional
        """
        lightgbm = require("lightgbm", "boosting", "CPEBoostingClassifierCV")
        with self._all_or_nothing():
            self._check_method()
            X = self._validate(X, ensure_min_samples=2, ensure_all_finite="allow-nan")
            observed = self._observe_fit(X, y, sample_weight)
            checks.n_jobs(self.n_jobs)
            check_select(self.select)
            for name in ("early_stopping", "verbose"):
                checks.boolean(getattr(self, name), name)
            generator = as_generator(self.random_state)
            parts = hold_out.splits(observed, self.cv, self.validation_fraction, generator)
            target = TARGETS[self.method](observed)
            seed = int(generator.integers(2**31))
            n_samples = min(len(target.samples(train)[0]) for train, _ in parts)
            params = self._params(lightgbm, target, n_samples, X.shape, seed)
            try:
                self._search(Trainer(lightgbm, params, as_float(X), target), parts)
            except lightgbm.basic.LightGBMError as err:
                reason = " ".join(str(err).split())
                raise ValueError(
                    "lightgbm_params must be what LightGBM can use with this data; got "
                    f"{checks.shown(self.lightgbm_params)}. LightGBM says: {reason}"
                ) from err
            self.classes_, self.transition_ = observed.classes, observed.T
            self.seen_classes_, self.estimates_ = target.seen, target.estimates
            self.decoder_ = "l1" if observed.by_label else "max"
        return self

    def _check_method(self) -> None:
        if not isinstance(self.method, str) or self.method not in TARGETS:
            raise ValueError(
                "method must be 'cpe-i' (trees estimate q, as in the paper) or 'cpe-f' (trees "
                f"estimate p); got {checks.shown(self.method)}"
            )

    def _params(
        self,
        lightgbm: Any,
        target: Labels | Likelihood,
        n_samples: int,
        shape: tuple[int, ...],
        seed: int,
    ) -> dict[str, Any]:
        fixed = {
            "objective": target.objective,
            "num_class": len(target.seen),
            "metric": "None",
            "verbosity": -1,
            "seed": seed,
            "deterministic": True,
            "num_threads": n_threads(self.n_jobs, shape[0]),
        }
        defaults = target.defaults(n_samples, shape[1])
        return merged(lightgbm, self.lightgbm_params, fixed, defaults)

    def _search(self, trainer: Trainer, parts: list[hold_out.Split]) -> None:
        rates, counts = self._candidates()
        simple = self.select == "one-std-error"
        with _progress(self.verbose, len(rates) * counts[-1]) as advance:
            paths = search(
                trainer,
                parts,
                rates,
                counts,
                early_stopping=self.early_stopping,
                keep_losses=simple,
                advance=advance,
                stop=self._stop,
            )
        grid = [{"learning_rate": rate, "n_estimators": n} for rate in rates for n in counts]
        best = int(np.nanargmin(paths.scel))
        if simple:
            evaluated = counts[: len(paths.best)]
            fewest = simplest(paths.best, evaluated, trainer.target.observed.weights)
            best += fewest - best % len(counts)
        record_search(self, grid, paths.scel.ravel(), paths.std_error.ravel(), best)
        self.model_ = trainer.fit(**self.best_params_)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return ordinary-class probabilities: with "cpe-f", those that the trees estimate.

        With "cpe-i" the trees estimate q only, and p is computed from q by
        `ybar.decode.class_probabilities`.
        """
        check_is_fitted(self, "model_")
        return self._outputs(X) if self.estimates_ == "p" else super().predict_proba(X)

    def predict_complementary_proba(self, X: Any) -> FloatArray:
        """Return q; with "cpe-i" it is 0 for classes that never occurred in y."""
        check_is_fitted(self, "model_")
        outputs = self._outputs(X)
        return outputs @ self.transition_ if self.estimates_ == "p" else outputs

    def _outputs(self, X: Any) -> FloatArray:
        """Return the probabilities that the trees estimate: p or q."""
        numbers = as_float(self._validate(X, reset=False, ensure_all_finite="allow-nan"))
        threads = n_threads(self.n_jobs, len(numbers))
        values = _booster(self.model_).predict(numbers, num_threads=threads)
        outputs = np.zeros((len(numbers), len(self.classes_)))
        outputs[:, self.seen_classes_] = (
            values if self.estimates_ == "q" else softmax(values, axis=1)
        )
        return outputs

    @property
    def _accepts_evidence(self) -> bool:
        return bool(self.method == "cpe-f")

    def _candidates(self) -> tuple[list[float], list[int]]:
        rates, counts = self.learning_rates, self.n_estimators
        rates = (0.01, 0.025, 0.05, 0.1) if rates is None else rates
        counts = range(5, 501, 5) if counts is None else counts
        return (
            check_candidates(rates, "learning_rates", float),
            sorted(set(check_candidates(counts, "n_estimators"))),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@functools.lru_cache(maxsize=4)
def _booster(text: str) -> Any:
    """Return the booster from its text form; reading a large one takes longer than using it."""
    lightgbm = require("lightgbm", "boosting", "CPEBoostingClassifierCV")
    return lightgbm.Booster(model_str=text)


@contextlib.contextmanager
def _progress(show: bool, total: int) -> Iterator[Callable[[int], None]]:
    if not show:
        yield lambda _: None
        return
    progress = require("rich.progress", "cli", "verbose=True")
    with progress.Progress() as bar:
        task = bar.add_task("boosting rounds", total=total)
        yield lambda rounds: bar.advance(task, rounds)
