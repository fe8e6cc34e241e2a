"""The uncertainty of an estimated T, and its effect on estimates under that T."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.stats import chi2

from ..utils.typing import AnyArray, FloatArray

# The likelihood-ratio statistic of a single number stays below this in 95% of all cases.
QUANTILE = float(chi2.ppf(0.95, 1))
_SMALL = 1e-3
UNIDENTIFIED = (
    "no standard error: what is unknown of T is not known, or the 95% interval of the noise level "
    "reaches 1, so that the labels may be independent of the class. Hold out more labels"
)

Estimate: TypeAlias = Callable[[FloatArray], tuple[AnyArray | float, AnyArray | float]]
"""Maps a T to estimates under it, and to their sampling variances if it is the true T."""


class TransitionProfile(NamedTuple):
    """The uncertainty of an estimated T: the matrices that held-out labels do not reject.

    `ComplementaryNetClassifier` has it as ``transition_profile_`` if it estimated T on held-out
    labels ("cpe-n", and "cpe-t" with `transition_trust`). Pass it to `ybar.metrics.ure_zero_one`.
    In simulations, 95% intervals under "cpe-n" hold as often as they say; those under "cpe-t" may
    hold less often, down to 84% of the trials in one case (``results/error_bars.md``).

    Attributes
    ----------
    matrices : ndarray of shape (M, K, K)
        T at noise levels λ from one end of the 95% interval of λ to the other.
    statistic : ndarray of shape (M,)
        W(λ), the likelihood-ratio statistic of each: at most 3.84.
    directions : ndarray of shape (R, K, K)
        The uncertainty of T besides λ: its covariance at a fixed λ is Σ_r d_r d_rᵀ. Empty if only
        λ was estimated.
    identified : bool
        Whether the interval of λ ends below 1. Otherwise the labels may be independent of the
        class, and estimates under T have no interval.
    """

    matrices: FloatArray
    statistic: FloatArray
    directions: FloatArray
    identified: bool

    @classmethod
    def unknown(cls, T: FloatArray) -> TransitionProfile:
        """Return the profile of a T with unknown errors: no estimate has an interval."""
        return cls(T[None], np.zeros(1), np.empty((0, *T.shape)), False)

    def interval(self, estimate: Estimate) -> tuple[AnyArray, AnyArray]:
        """Return 95% intervals of estimates on labels that T was not estimated on.

        `estimate` maps T to the estimates and their sampling variances. The interval is the union
        over all λ that the labels do not reject. It includes the variance along `directions`. Both
        ends are NaN unless λ is identified.
        """
        if not self.identified:
            nothing = np.full(np.shape(estimate(self.matrices[0])[0]), math.nan)
            return nothing, nothing
        pairs = [estimate(T) for T in self.matrices]
        values, variances = (np.array(each) for each in zip(*pairs, strict=True))
        errors = self.errors_along(lambda T: estimate(T)[0])
        spread = np.sum(errors**2, axis=0)
        return profile_interval(self.statistic, values, variances + spread)

    def std_error(self, value: AnyArray | float, estimate: Estimate) -> AnyArray:
        """Return the s for which value ± 1.96 s just contains the 95% `interval`."""
        return std_error_of(value, self.interval(estimate))

    def errors_along(self, value: Callable[[FloatArray], AnyArray | float]) -> AnyArray:
        """Return how much a function of T changes along each direction, to first order."""
        T = self.matrices[int(np.argmin(self.statistic))]
        start = value(T)
        moved = np.maximum(T + _SMALL * self.directions, 0)
        moved /= moved.sum(axis=2, keepdims=True)
        changes = [(value(each) - start) / _SMALL for each in moved]
        return np.array(changes).reshape(-1, *np.shape(start))


def profile_interval(
    statistic: AnyArray, values: AnyArray, variances: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return the 95% interval of an estimate R(λ) that depends on an unknown number λ.

    R is in the interval if W(λ) + (R(λ) - R)² / V(λ) is at most 3.84 for some λ. The interval is
    therefore the union over λ of ``R(λ) ± √((3.84 - W(λ)) V(λ))``. In large samples this is the
    delta method: ± 1.96 √(V + R'(λ)² / I) with the information I of λ. In small ones it keeps the
    asymmetry of λ's own interval.

    Parameters
    ----------
    statistic : ndarray of shape (M,)
        W: the likelihood-ratio statistic of each λ, at most 3.84.
    values, variances : ndarray of shape (M, ...)
        R and V: estimates at each λ, and their variances given λ.
    """
    rest = np.maximum(QUANTILE - np.asarray(statistic), 0)
    rest = rest.reshape(-1, *[1] * (np.ndim(values) - 1))
    half = np.sqrt(rest * np.maximum(variances, 0))
    return (values - half).min(axis=0), (values + half).max(axis=0)


def std_error_of(value: AnyArray | float, interval: tuple[AnyArray, AnyArray]) -> AnyArray:
    """Return the smallest s for which value ± 1.96 s contains a 95% interval; NaN without one."""
    low, high = interval
    return np.asarray(np.maximum(high - value, value - low) / math.sqrt(QUANTILE))
