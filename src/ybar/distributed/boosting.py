"""Boosted trees on Dask collections: the learning rate and the number of trees by SCEL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.boosting_targets import TARGETS
from ..classifiers.candidates import record_search
from ..classifiers.hold_out import check_fraction
from ..decode import Method
from ..utils import checks
from ..utils.extras import require
from ..utils.random import as_generator
from ..utils.typing import AnyArray, Seed
from . import training
from .base import DaskClassifier
from .binning import on_features
from .blocks import Blocks, blocks_of
from .crew import Crew
from .facts import facts_of
from .sums import Sums
from .workers import current_client

_UNSUITABLE = (
    *("bin_construct_sample_cnt", "categorical_feature", "forcedbins_filename", "linear_tree"),
    *("zero_as_missing", *training.BINS),
)


class DaskCPEBoostingClassifierCV(DaskClassifier):
    """Boosted trees (LightGBM) fitted to Dask collections; SCEL selects rate and number of trees.

    The same reduction as `ybar.CPEBoostingClassifierCV`, for data that no single machine holds.
    Each worker keeps its partitions as one byte per value, and LightGBM's own network adds up their
    histograms. A random share of the rows of every partition is held out. One fit per learning rate
    yields the held-out SCEL of every number of trees; the best pair is then fitted to all rows.

    Parameters
    ----------
    learning_rates : list of float, optional
        Candidates; by default 0.01, 0.025, 0.05 and 0.1. All are evaluated to the end.
    n_estimators : list of int, optional
        Candidates for the number of boosting rounds; by default 5, 10, …, 500.
    method : {"cpe-i", "cpe-f"}
        What the trees estimate: q ("cpe-i") or p ("cpe-f"), with T as part of the loss. "cpe-f"
        accepts all kinds of `ybar.labels.Evidence`.
    transition : "uniform" or array-like of shape (K, K)
    decoder : {"l1", "l2", "max", "likelihood"} or callable, optional
        By default "l1", or "max" if y is evidence of other kinds than complementary labels.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. By default those that occur in any partition,
        which costs one more pass over y.
    validation_fraction : float
        Share of the rows of each partition that is held out.
    lightgbm_params : dict, optional
        Further parameters of LightGBM.
    random_state : int, Generator, RandomState or None
    client : distributed.Client, optional
        By default the active client.

    Attributes
    ----------
    classes_, transition_, seen_classes_, estimates_, decoder_ :
        As in `ybar.CPEBoostingClassifierCV`.
    cv_results_, best_params_, best_index_, best_score_ :
        As in ``GridSearchCV``.
    model_ : str
        The fitted booster in LightGBM's text form.
    n_features_in_ : int
    feature_names_in_ : ndarray
        If X is a data frame.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from ybar import datasets, distributed, labels, transition
    >>> d = datasets.load("digits")
    >>> X = da.from_array(d.X_train, chunks=(400, -1))
    >>> y_comp = labels.draw(d.y_train, transition.uniform(10), random_state=0)
    >>> clf = distributed.DaskCPEBoostingClassifierCV([0.1], [10, 20], random_state=0)
    >>> with Client(processes=False, dashboard_address=":0", n_workers=1) as client:
    ...     clf = clf.fit(X, da.from_array(y_comp, chunks=400))
    >>> bool((clf.to_local().predict(d.X_test) == d.y_test).mean() > 0.3)
    True
    """

    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    model_: str

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
        lightgbm_params: dict[str, Any] | None = None,
        random_state: Seed = None,
        client: Any = None,
    ) -> None:
        self.learning_rates = learning_rates
        self.n_estimators = n_estimators
        self.method = method
        self.transition = transition
        self.decoder = decoder
        self.classes = classes
        self.validation_fraction = validation_fraction
        self.lightgbm_params = lightgbm_params
        self.random_state = random_state
        self.client = client

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select a candidate by SCEL on held-out rows, then fit it to all rows.

        Parameters
        ----------
        X : Dask array or data frame of shape (N, n_features)
            May hold NaN, a missing value.
        y : Dask array or series of shape (N,), boolean Dask array of shape (N, K), or Evidence
            Complementary labels. With "cpe-f" also `ybar.labels.Evidence`, or a list with the
            evidence of each partition of X, possibly delayed.
        sample_weight : Dask array or series of shape (N,), optional

        Returns
        -------
        self
        """
        lightgbm = require("lightgbm", "boosting", "DaskCPEBoostingClassifierCV")
        local = self._unfitted()
        local._check_method()
        rates, counts = local._candidates()
        check_fraction(self.validation_fraction)
        _check_parameters(self.lightgbm_params)
        client = current_client(self.client)
        seeds = as_generator(self.random_state).integers(2**31, size=2).tolist()
        blocks = blocks_of(X, y, sample_weight)
        facts = facts_of(client, blocks, self.classes, seeds[0]).read_by(local)
        goal = training.Goal(TARGETS[local.method](facts.words.table), facts.mean_weight)
        n_training = round((1 - self.validation_fraction) * facts.n_usable)
        shape = (facts.n_rows, len(facts.edges))
        params = local._params(lightgbm, goal.target, n_training, shape, seeds[1])
        scheme = training.Scheme(
            facts.edges, facts.missing, facts.words, self.validation_fraction, seeds[0]
        )
        crew = Crew(client, blocks, facts.lengths, scheme, goal, params | training.BINS)
        _record(local, rates, counts, crew.held_out_losses(rates, counts))
        best = local.best_params_
        (text,) = crew.train([best["learning_rate"]], best["n_estimators"], everything=True)
        local.model_ = on_features(text, facts.edges, facts.names)
        local.classes_, local.transition_ = facts.words.observed.classes, facts.words.observed.T
        local.seen_classes_, local.estimates_ = goal.target.seen, goal.target.estimates
        local.decoder_ = "l1" if facts.words.observed.by_label else "max"
        local.n_features_in_ = len(facts.edges)
        if facts.named:
            local.feature_names_in_ = np.array(facts.named, dtype=object)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(_fitted(local))
        return self

    def to_local(self) -> CPEBoostingClassifierCV:
        """Return the fitted model as a `ybar.CPEBoostingClassifierCV`, which needs no Dask.

        `ybar.save` writes it to an ordinary model file.
        """
        check_is_fitted(self, "model_")
        local = self._unfitted()
        local.__dict__.update(_fitted(self))
        return local

    def _unfitted(self) -> CPEBoostingClassifierCV:
        parameters = self.get_params(deep=False)
        del parameters["client"]
        return CPEBoostingClassifierCV(**parameters)

    def _output_blocks(self, X: Any) -> Blocks:
        delayed = require("dask", "dask", "ybar.distributed").delayed
        blocks = blocks_of(X)
        model = delayed(self.to_local().set_params(n_jobs=1), pure=False, traverse=False)
        return replace(blocks, X=blocks.map(_outputs, model))


def _outputs(X: Any, _: Any, __: Any, model: CPEBoostingClassifierCV) -> AnyArray:
    """Return the probabilities that the trees estimate for a partition."""
    return model._outputs(X) if len(X) else np.empty((0, len(model.classes_)))


def _fitted(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def _record(
    local: CPEBoostingClassifierCV,
    rates: list[float],
    counts: list[int],
    sums: list[list[Sums]],
) -> None:
    """Select the pair of the lowest SCEL."""
    if not sums[0][0].rows:
        raise ValueError(
            "validation_fraction must leave labelled rows of some weight to validate on; got none. "
            "Choose another, or label more rows"
        )
    scores = np.array([[each.mean_and_error() for each in path] for path in sums])
    scel, std_error = scores[..., 0].ravel(), scores[..., 1].ravel()
    grid = [{"learning_rate": rate, "n_estimators": n} for rate in rates for n in counts]
    record_search(local, grid, scel, std_error, int(np.argmin(scel)))


def _check_parameters(lightgbm_params: Any) -> None:
    """Refuse what needs the features themselves, of which workers keep bins only."""
    for name in _UNSUITABLE:
        if isinstance(lightgbm_params, dict) and name in lightgbm_params:
            raise ValueError(
                f"lightgbm_params must not set {name!r} on a cluster, where trees read bins of the "
                f"features; got {checks.shown(lightgbm_params[name])}. Leave it out"
            )
