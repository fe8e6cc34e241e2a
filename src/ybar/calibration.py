"""Calibrate class probabilities by a temperature, and measure their calibration.

`fit_temperature` needs complementary labels only; `expected_calibration_error` needs true labels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from . import labels, transition
from .decode import check_probabilities
from .labels.observed import observe_codes
from .metrics.likelihood import log_likelihood, log_softmax
from .metrics.losses import counted, logarithms, mean_and_error
from .utils import checks
from .utils.encoding import check_indices
from .utils.typing import AnyArray, FloatArray

__all__ = ["expected_calibration_error", "fit_temperature", "temper"]

_COLDEST, _HOTTEST = 1 / 20, 20.0


def temper(p: ArrayLike, temperature: float) -> FloatArray:
    """Return p^(1/temperature), normalised per row: more confident below 1, less confident above.

    Parameters
    ----------
    p : array-like of shape (N, K)
        Class probabilities, as ``predict_proba`` returns them. Zeros stay 0.
    temperature : float
        Above 0; 1 changes nothing.

    Examples
    --------
    >>> from ybar import calibration
    >>> calibration.temper([[0.8, 0.2]], 0.5).round(3)
    array([[0.941, 0.059]])
    """
    logs = logarithms(_probabilities(p))
    level = checks.number(temperature, "temperature", "a finite number above 0", 5e-324)
    return np.asarray(softmax((logs - logs.max(axis=1, keepdims=True)) / level, axis=1))


def fit_temperature(
    y_comp: ArrayLike | labels.Evidence,
    p: ArrayLike,
    T: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the temperature that maximises the likelihood of held-out complementary labels.

    It minimises the SCEL of the tempered p; no true label is needed.

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, boolean array of shape (N, K), or Evidence
        Labels of rows that the model was not fitted to.
    p : array-like of shape (N, K)
        Class probabilities of those rows.
    T : array-like of shape (K, K)
        Transition matrix of the labels; evidence names its T.
    sample_weight : array-like of shape (N,), optional

    Returns
    -------
    float
        From 1/20 to 20. If a label has probability 0 at every temperature, 1/(n+1) replaces it
        among n labels, as in `ybar.metrics.scel_scorer`.

    Examples
    --------
    >>> import numpy as np
    >>> from ybar import calibration, labels, transition
    >>> rng = np.random.default_rng(0)
    >>> T = transition.uniform(3)
    >>> p = rng.dirichlet(np.ones(3), 20_000)
    >>> y = (p.cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
    >>> y_comp = labels.draw(y, T, random_state=0)
    >>> too_sure = calibration.temper(p, 0.5)
    >>> bool(1.8 < calibration.fit_temperature(y_comp, too_sure, T) < 2.2)
    True
    """
    probabilities = _probabilities(p)
    n, n_classes = probabilities.shape
    observed = observe_codes(y_comp, n_classes)
    if observed.shape != (n, n_classes):
        raise ValueError(
            "y_comp and p must have the same rows and classes; got shapes "
            f"{observed.shape} and {probabilities.shape}"
        )
    if observed.by_label:
        if T is None:
            raise ValueError("T must be the transition matrix of the labels, K×K; got None")
        observed = observed.with_transition(transition.check(T, classes=observed.classes))
    elif T is not None:
        raise ValueError("T must be left out if y_comp is Evidence, which names its T")
    rows, code, patterns = observed.separate_terms()
    if len(rows) == 0:
        raise ValueError("y_comp must be informative in some row; got evidence of nothing")
    used = counted(rows, n, sample_weight)
    rows, code = rows[used], code[used]
    log_p = logarithms(probabilities)[rows]
    log_e = patterns.log_likelihoods(observed.transition)[code]
    zero_as = -math.log(1 / (len(rows) + 1))

    def scel(log_temperature: float) -> float:
        # In log space: a power of a small p can underflow without being 0.
        tempered = log_softmax(log_p / math.exp(log_temperature))
        losses = -log_likelihood(tempered, log_e)
        losses = np.where(np.isfinite(losses), losses, zero_as)
        return mean_and_error(losses, rows, n, sample_weight)[0]

    ends = math.log(_COLDEST), math.log(_HOTTEST)
    # SCEL can have several local minima: search a grid before descending.
    grid = np.linspace(*ends, 25)
    best = int(np.argmin([scel(place) for place in grid]))
    bounds = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    return math.exp(minimize_scalar(scel, bounds=bounds, method="bounded").x)


def expected_calibration_error(y_true: ArrayLike, p: ArrayLike, *, n_bins: int = 15) -> float:
    """Return the expected calibration error: the mean gap between confidence and accuracy.

    Rows are binned by their largest p, in bins of equal width. The error is the absolute
    difference between the mean of the largest p and the accuracy in each bin, averaged with the
    numbers of rows as weights.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        True class indices.
    p : array-like of shape (N, K)
        Class probabilities.
    n_bins : int

    Examples
    --------
    >>> from ybar import calibration
    >>> p = [[0.9, 0.1], [0.9, 0.1]]
    >>> round(calibration.expected_calibration_error([0, 1], p), 3)
    0.4
    """
    probabilities = _probabilities(p)
    true = check_indices(y_true, probabilities.shape[1], "y_true")
    checks.same_length("y_true", len(true), "p", len(probabilities))
    n_bins = checks.whole_number(n_bins, "n_bins", 1)
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = probabilities.argmax(axis=1) == true
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    gaps = np.bincount(bins, weights=right - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(true))


def _probabilities(p: ArrayLike) -> AnyArray:
    probabilities = check_probabilities(p, name="p")
    if len(probabilities) == 0:
        raise ValueError(f"p must have at least one row; got shape {probabilities.shape}")
    return probabilities
