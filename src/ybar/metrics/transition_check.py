"""Test whether held-out complementary labels refute a transition matrix."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from .. import decode, labels, transition
from ..transition.checking import check_for_labels
from ..utils import checks
from ..utils.encoding import check_classes, check_indices
from ..utils.typing import FloatArray
from .losses import (
    Losses,
    Size,
    counted,
    effective_size,
    mean_and_error,
    scel_losses,
    ure_losses,
)

_LEVEL = 0.01
_ABSENT = 1e-4  # the largest part of a class in a mixture that counts as none
_ROWS_PER_CLASS = 10  # of a group whose degrees of freedom depend on its mixture


class TransitionTest(NamedTuple):
    """The test of one consequence of T, with its p-value."""

    name: str
    """"label shares", "floor", "free q", "error rate" or "predicted classes"."""
    p_value: float
    """Probability, if T is right, of labels that contradict T at least as much."""
    observed: float
    """The estimate from the labels."""
    allowed: float
    """The limit that T allows, on the side of `observed`."""
    reason: str
    """The contradiction as a sentence, with its numbers."""


class TransitionCheck(NamedTuple):
    """Whether complementary labels refute T; see `check_transition`."""

    tests: tuple[TransitionTest, ...]
    level: float

    @property
    def p_value(self) -> float:
        """The smallest p-value of the tests, corrected for their number (Bonferroni)."""
        return min(1.0, len(self.tests) * min(test.p_value for test in self.tests))

    @property
    def refuted(self) -> bool:
        """Whether `p_value` is below `level`."""
        return self.p_value < self.level

    @property
    def reasons(self) -> list[str]:
        """Why T is refuted: a sentence for each test that refutes it, the clearest first."""
        limit = self.level / len(self.tests)
        refuting = sorted(
            (test for test in self.tests if test.p_value < limit), key=lambda test: test.p_value
        )
        return [test.reason for test in refuting]

    def __str__(self) -> str:
        """Return the result as one line, and a line for each reason."""
        if not self.refuted:
            return f"the labels do not refute T (p = {self.p_value:.2g}, {len(self.tests)} tests)"
        return "\n".join([f"the labels refute T (p = {self.p_value:.2g}):", *self.reasons])


def check_transition(
    y_comp: ArrayLike,
    T: ArrayLike,
    *,
    q: ArrayLike | None = None,
    p: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = _LEVEL,
) -> TransitionCheck:
    r"""Test whether complementary labels refute T, for any distribution of the classes.

    Estimates without true labels (error rates, confusion matrices) are valid only if the labels
    were drawn from T. Complementary labels alone can show that they were not, because T has these
    consequences for every class prior:

    - **label shares**: the share of label k lies between ``min_y T[y, k]`` and ``max_y T[y, k]``;
    - **floor**: no q has an expected SCEL below the least entropy of a row of T;
    - **free q**: the best q is a mixture of rows of T, so a q that was learned without T is not
      better than its projection ``p T``, with ``p = decode.class_probabilities(q, T)``;
    - **error rate**: the error rate of any prediction, which URE estimates, is between 0 and 1;
    - **predicted classes**: among the rows with one prediction, the shares of the labels are a
      mixture of rows of T.

    A matrix that passes can still be wrong: the labels may agree with it by coincidence. For
    example, labels with uniform noise λ agree with the uniform T without noise: they also follow
    it, with the class probabilities ``(1-λ) p + λ/K``.

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
        Held-out complementary labels, which neither `q` nor `y_pred` was fitted to.
    T : array-like of shape (K, K)
        The transition matrix to test.
    q : array-like of shape (N, K), optional
        Complementary probabilities of a model that does not know T, such as
        ``CPEClassifier(...).predict_complementary_proba``. Needed for "floor" and "free q".
    p : array-like of shape (N, K), optional
        ``decode.class_probabilities(q, T)``, if you have computed it.
    y_pred : array-like of shape (N,), optional
        Predicted class indices. Needed for "error rate" and "predicted classes".
    classes : array-like of shape (K,), optional
        Names of the classes, for the reasons.
    sample_weight : array-like of shape (N,), optional
    level : float
        T counts as refuted if the corrected p-value is below `level`. At most about this share of
        correct matrices is refuted by mistake.

    Returns
    -------
    TransitionCheck
        ``refuted``, ``p_value``, ``reasons`` and the single ``tests``. Print it.

    Notes
    -----
    "label shares" is an exact binomial test if rows have one label and no weights. Otherwise it is
    a t-test with errors over rows, and with Satterthwaite's degrees of freedom if weights are
    unequal. Its p-value is corrected for the 2K limits that are tested. "predicted classes" is a
    likelihood-ratio test, whose degrees of freedom are the number of classes without a part in the
    best mixtures; for groups of few rows, its moments are those of sparse counts.
    The others are one-sided t-tests with the standard error over rows; a probability of exactly 0
    counts as 1/(n+1) among n labels, as for `scel_scorer`.

    Examples
    --------
    >>> from ybar import labels, metrics, transition
    >>> y = [0, 1, 2, 3] * 100
    >>> T = transition.strong(4, random_state=0)
    >>> y_comp = labels.draw(y, T, random_state=0)
    >>> metrics.check_transition(y_comp, T).refuted
    False
    >>> print(metrics.check_transition(y_comp * 0, T, classes=["a", "b", "c", "d"]))
    the labels refute T (p = 9.7e-248):
    100.0% of the labels are 'a'; T allows at most 24.0%, whatever the classes of the rows
    """
    level = checks.number(level, "level", "a number from 0 to 1", 0, 1)
    if classes is None:
        array = check_for_labels(T, y_comp)
        names = np.arange(len(array))
    else:
        names = check_classes(classes)
        array = transition.check(T, classes=names)
    tests = [_label_shares(y_comp, array, names.tolist(), sample_weight)]
    if q is not None:
        tests += _of_probabilities(y_comp, array, q, p, sample_weight)
    if y_pred is not None:
        tests += _error_rate(y_comp, array, y_pred, sample_weight)
        tests.append(_predicted_classes(y_comp, array, y_pred, names.tolist(), sample_weight))
    return TransitionCheck(tuple(tests), level)


def _label_shares(
    y_comp: ArrayLike, T: FloatArray, names: list[Any], sample_weight: ArrayLike | None
) -> TransitionTest:
    """Test the share of each label against the least and the largest entry of its column."""
    rows, k = labels.pairs(y_comp, len(T))
    n = len(np.asarray(y_comp))
    low, high = T.min(axis=0), T.max(axis=0)
    if sample_weight is None and np.ndim(y_comp) == 1:
        count = np.bincount(k, minlength=len(T))
        share = count / len(k)
        above = stats.binom.sf(count - 1, len(k), high)
        below = stats.binom.cdf(count, len(k), low)
    else:
        used = counted(rows, n, sample_weight)
        is_label = [Losses((k[used] == y).astype(np.float64), rows[used], n) for y in range(len(T))]
        size = effective_size(is_label[0], sample_weight)
        pairs = [mean_and_error(*losses, sample_weight) for losses in is_label]
        share, error = np.array(pairs).T
        above = _upper_tail(share - high, error, size, 1.0)
        below = _upper_tail(low - share, error, size, 1.0)
    p_values = np.minimum(above, below)
    at = int(np.argmin(p_values))
    is_above = above[at] <= below[at]
    border = float(high[at] if is_above else low[at])
    reason = (
        f"{100 * share[at]:.1f}% of the labels are {checks.shown(names[at])}; T allows at "
        f"{'most' if is_above else 'least'} {100 * border:.1f}%, whatever the classes of the rows"
    )
    p_value = min(1.0, 2 * len(T) * float(p_values[at]))
    return TransitionTest("label shares", p_value, float(share[at]), border, reason)


def _upper_tail(difference: ArrayLike, error: ArrayLike, size: Size, largest: float) -> FloatArray:
    """Return the one-sided p-value of a difference above 0 (Student's t).

    The error is computed with one more row, which differs by `largest`, the range of the values.
    Otherwise rows without a rare event, such as a label of probability 0.0001, would have an error
    of almost 0 and refute every T that allows the event.
    """
    if math.isnan(size.df):
        return np.ones(np.shape(difference))
    one_more = largest / size.effective
    inflated = np.hypot(np.nan_to_num(np.asarray(error, np.float64), nan=np.inf), one_more)
    t = np.asarray(difference) / inflated
    return np.asarray(special.stdtr(size.df, -t))


def _of_probabilities(
    y_comp: ArrayLike,
    T: FloatArray,
    q: ArrayLike,
    p: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> list[TransitionTest]:
    """Test SCEL of q against the least entropy of a row of T, and against SCEL of p T."""
    free = scel_losses(y_comp, q, None, sample_weight)
    scel, error = mean_and_error(*free, sample_weight)
    size = effective_size(free, sample_weight)
    largest = float(np.log(len(free.rows) + 1))  # the loss of a probability of 0
    floor = float(special.entr(T).sum(axis=1).min())
    too_low = TransitionTest(
        "floor",
        float(_upper_tail(floor - scel, error, size, largest)),
        scel,
        floor,
        f"SCEL of a model that does not know T is {scel:.4f}; T allows no model below {floor:.4f}",
    )
    if p is None:
        p = decode.class_probabilities(q, T)
    p = decode.check_probabilities(p, len(T), name="p")
    projected = scel_losses(y_comp, p @ T, None, sample_weight)
    paired = Losses(projected.values - free.values, free.rows, free.n)
    loss, loss_error = mean_and_error(*paired, sample_weight)
    worse = TransitionTest(
        "free q",
        float(_upper_tail(loss, loss_error, size, largest)),
        scel,
        scel + loss,
        f"SCEL of a model that does not know T is {scel:.4f}; made to agree with T it is "
        f"{scel + loss:.4f}, higher by {loss:.4f} ± {loss_error:.4f}",
    )
    return [too_low, worse]


def _error_rate(
    y_comp: ArrayLike, T: FloatArray, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> list[TransitionTest]:
    """Test URE against 0 and 1; a singular T has no URE."""
    if transition.is_singular(T):
        return []
    (losses,) = ure_losses(y_comp, T, sample_weight, stacklevel=3, y_pred=y_pred)
    rate, error = mean_and_error(*losses, sample_weight)
    size = effective_size(losses, sample_weight)
    border = 0.0 if rate < 0.5 else 1.0
    largest = float(np.ptp(np.linalg.inv(T)))
    tail = _upper_tail(abs(rate - 0.5) - 0.5, error, size, largest)
    p_value = min(1.0, 2 * float(tail))
    reason = (
        f"the error rate would be {100 * rate:.1f}% ± {100 * error:.1f}% under T; it cannot be "
        f"{'below 0' if border == 0 else 'above 100'}%"
    )
    return [TransitionTest("error rate", p_value, rate, border, reason)]


def _predicted_classes(
    y_comp: ArrayLike,
    T: FloatArray,
    y_pred: ArrayLike,
    names: list[Any],
    sample_weight: ArrayLike | None,
) -> TransitionTest:
    """Test the label shares within each predicted class against the mixtures of rows of T.

    This is a likelihood-ratio test; the labels of a row count as one. The mixtures are a polytope,
    and its face that holds the best mixture determines its distribution: see `_moments`.
    """
    rows, k = labels.pairs(y_comp, len(T))
    predicted = check_indices(y_pred, len(T), "y_pred")
    n = len(predicted)
    checks.same_length("y_comp", len(np.asarray(y_comp)), "y_pred", n)
    weights = np.ones(n) if sample_weight is None else checks.check_weights(sample_weight, n)
    of_row = np.where(np.bincount(rows, minlength=n) > 0, weights, 0.0)
    of_label = (weights / np.maximum(np.bincount(rows, minlength=n), 1))[rows]
    groups = np.flatnonzero(np.bincount(predicted, weights=of_row, minlength=len(T)) > 0)
    sums = np.zeros(T.shape)
    np.add.at(sums, (predicted[rows], k), of_label)
    totals = sums[groups].sum(axis=1)
    effective = totals**2 / np.bincount(predicted, weights=of_row**2, minlength=len(T))[groups]
    shares = sums[groups] / totals[:, None]
    p = decode.class_probabilities(shares, T)
    mixtures = p @ T
    ratios = 2 * effective * special.rel_entr(shares, mixtures).sum(axis=1)
    mean, variance = _moments(p, mixtures, effective, singular=transition.is_singular(T))
    scale = 2 * mean / variance if variance else 0.0  # χ² has twice its mean as variance
    p_value = float(stats.chi2.sf(scale * ratios.sum(), scale * mean)) if scale else 1.0
    worst = int(np.argmax(ratios))
    at = int(np.argmax(np.abs(shares[worst] - mixtures[worst])))
    share, allowed = float(shares[worst, at]), float(mixtures[worst, at])
    reason = (
        f"of the labels of rows predicted as {checks.shown(names[groups[worst]])}, "
        f"{100 * share:.1f}% are {checks.shown(names[at])}; the mix of classes that explains these "
        f"labels best under T has {100 * allowed:.1f}%"
    )
    return TransitionTest("predicted classes", p_value, share, allowed, reason)


def _moments(
    p: FloatArray, mixtures: FloatArray, n_rows: FloatArray, *, singular: bool
) -> tuple[float, float]:
    """Return mean and variance of the distance from the groups' shares to the mixtures p T.

    Shares vary around their best mixture in the directions that leave its face of the polytope: in
    large samples, given the face, the likelihood ratio exceeds the quantiles of χ² with so many
    degrees of freedom at most as often as they say (Mohamad et al. 2020, "Adaptive critical value
    for constrained likelihood ratio testing"). For an invertible T these are the classes without a
    part in the mixture.

    Small groups, and a singular T, get the moments for shares without limits, which are those of
    χ² with K-1 degrees of freedom, or larger if a label is expected about once or twice per group
    (Koehler and Larntz 1980, "An empirical investigation of goodness-of-fit statistics for sparse
    multinomials").
    """
    n_classes = p.shape[1]
    adaptive = (n_rows >= _ROWS_PER_CLASS * n_classes) & (not singular)
    freedom = float((p[adaptive] <= _ABSENT).sum())
    n = n_rows[~adaptive]
    moments = _poisson_deviance(n[:, None] * mixtures[~adaptive]).sum(axis=2)
    mean, variance, covariance, curvature = moments
    # Labels have the moments of Poisson variables, given that these add up to n.
    free_mean = (mean - _poisson_deviance(n)[0] - curvature / (2 * n)).sum()
    free_variance = (variance - covariance**2 / n).sum()
    return freedom + max(0.0, float(free_mean)), 2 * freedom + max(0.0, float(free_variance))


def _poisson_deviance(expected: FloatArray) -> FloatArray:
    """Return moments of d = 2 (x log(x/e) - x + e), where x is a Poisson variable of mean e.

    They are the mean m(e), the variance, the covariance with x, and e² m''(e).
    """
    log_e, moments = _poisson_deviances()
    at = np.log(np.clip(expected, np.exp(log_e[0]), None))
    return np.array([np.interp(at, log_e, moment) for moment in moments])


@functools.cache
def _poisson_deviances() -> tuple[FloatArray, FloatArray]:
    log_e = np.linspace(np.log(1e-9), np.log(1e3), 600)
    e, x = np.exp(log_e)[:, None], np.arange(2000.0)
    shares = stats.poisson.pmf(x, e)
    deviances = 2 * (special.xlogy(x, x / e) - x + e)
    mean = (shares * deviances).sum(axis=1)
    centred = shares * (deviances - mean[:, None])
    slope = np.gradient(mean, log_e)
    moments = [
        mean,
        (centred * deviances).sum(axis=1),
        (centred * x).sum(axis=1),
        np.gradient(slope, log_e) - slope,
    ]
    return log_e, np.array(moments)
