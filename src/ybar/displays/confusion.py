"""Plot confusion matrices, with true labels or without."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .. import decode, labels, transition
from ..metrics.losses import mean_and_error, small_sample_factor
from ..metrics.transition_profile import UNIDENTIFIED, TransitionProfile
from ..utils import checks
from ..utils.encoding import check_classes
from ..utils.estimators import last_step
from ..utils.typing import FloatArray, IntArray
from .drawing import MatrixDisplay, as_per_cent, cell_size, write_values
from .inputs import all_classes, class_names, codes_of


@dataclass(eq=False, repr=False)
class ConfusionDisplay(MatrixDisplay):
    """The confusion matrix, with true labels or without: the share of (true, predicted) pairs.

    Create one with `from_true` or `from_estimator` if true labels are known, or with
    `from_complementary` or `from_estimator_complementary` if only complementary labels are. They
    plot on the axes `ax`, by default in a new figure. Cells are shares of all rows in per cent and
    sum to 100. For up to 12 classes the shares are written in the cells if they fit.

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        ``matrix[y, j]`` is the share, from 0 to 1, with true class y and predicted class j.
    std_error : array-like of shape (K, K), optional
        Standard errors of estimated shares.
    error_std_error : float, optional
        Standard error of the error rate.
    classes : array-like of shape (K,), optional
        Names of the classes in the order of the rows; by default 0..K-1.

    Attributes
    ----------
    error_rate : float
        The sum off the diagonal.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text of shape (K, K), or None
    negative_ : matplotlib PathCollection or None
        Minus signs in negative cells without text.

    Notes
    -----
    Complementary labels and predictions give ``J̄[k, j]``, the share of (ȳ = k, ŷ = j), whose
    expectation is ``Σ_y T[y, k] P(y, ŷ = j)``. So ``(T⁻¹)ᵀ J̄`` is an unbiased estimate of the
    joint distribution of true and predicted classes, if T is the true one and the predictions were
    not fitted to these labels. It is linear in the labels, so its standard errors are exact except
    that they use the estimated shares. They are computed over rows, which are independent. The sum
    off the diagonal is `ybar.metrics.ure_zero_one`. Entries near 0 can be negative by chance; they
    are not clipped, because that would bias all sums.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ybar import transition
    >>> from ybar.displays import ConfusionDisplay
    >>> ax = Figure().subplots()
    >>> T = transition.uniform(3)
    >>> y_comp, y_pred = [1, 2, 0, 2, 0, 1], [0, 0, 1, 1, 2, 0]
    >>> display = ConfusionDisplay.from_complementary(y_comp, y_pred, T, ax=ax)
    >>> (100 * display.matrix).round(1)
    array([[ 50. ,   0. , -16.7],
           [-16.7,  33.3,  16.7],
           [ 16.7,   0. ,  16.7]])
    """

    matrix: ArrayLike
    _: KW_ONLY
    std_error: ArrayLike | None = None
    error_std_error: float | None = None
    classes: ArrayLike | None = None
    negative_: Any = field(init=False)

    @classmethod
    def from_true(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Plot the confusion matrix of true and predicted classes.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (N,)
        classes : array-like of shape (K,), optional
            All classes; by default those that occur, sorted.
        """
        names = all_classes(y_true, y_pred) if classes is None else check_classes(classes)
        true, predicted = codes_of(y_true, names, "y_true"), codes_of(y_pred, names, "y_pred")
        checks.same_length("y_true", len(true), "y_pred", len(predicted))
        # A true label is a complementary one under T = I.
        joint = _joint(np.arange(len(true)), true, predicted, np.eye(len(names)))
        return cls(joint.matrix, error_std_error=joint.error_std_error, classes=names).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, X: Any, y_true: ArrayLike, *, ax: Any = None) -> Self:
        """Plot the confusion matrix of a fitted classifier, with true labels.

        Parameters
        ----------
        classifier : any fitted classifier
        X : array-like of shape (N, n_features)
        y_true : array-like of shape (N,)
            True classes.
        """
        if not hasattr(classifier, "predict") or not is_classifier(classifier):
            raise TypeError(
                f"classifier must be a fitted classifier; got {checks.shown(classifier)}"
            )
        check_is_fitted(classifier, "classes_")
        return cls.from_true(y_true, classifier.predict(X), classifier.classes_, ax=ax)

    @classmethod
    def from_complementary(
        cls,
        y_comp: ArrayLike,
        y_pred: ArrayLike,
        T: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        profile: TransitionProfile | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the confusion matrix that complementary labels and predictions imply under T.

        Parameters
        ----------
        y_comp : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels that the predictions were not fitted to. If rows have several
            labels, each must follow T, and their number must not depend on the class.
        y_pred : array-like of shape (N,)
            Predicted classes.
        T : array-like of shape (K, K)
            If T is singular, its pseudo-inverse is used, with a warning: the estimate is biased.
        classes : array-like of shape (K,), optional
            Names of the classes in the order of the rows of T; by default 0..K-1, or the columns
            of a boolean data frame.
        profile : TransitionProfile, optional
            The uncertainty of an estimated T: the ``transition_profile_`` of a network. The
            standard errors then include that of T. There are none if the labels that T was
            estimated on may be independent of the class.
        """
        return cls._estimated(y_comp, y_pred, T, classes, profile).plot(ax)

    @classmethod
    def from_estimator_complementary(
        cls, classifier: Any, X: Any, y_comp: ArrayLike, *, ax: Any = None
    ) -> Self:
        """Plot the confusion matrix of a fitted classifier, without true labels.

        Parameters
        ----------
        classifier : a fitted classifier of ybar, or a pipeline or search that ends in one
        X : array-like of shape (N, n_features)
            Rows that it was not fitted to.
        y_comp : array-like of shape (N,), or boolean array of shape (N, K)
            Their complementary labels, as for `from_complementary`.
        """
        fitted, _ = last_step(classifier, name="classifier")
        T, profile = fitted.label_transition_, getattr(fitted, "transition_profile_", None)
        predicted = classifier.predict(X)
        return cls._estimated(y_comp, predicted, T, fitted.classes_, profile).plot(ax)

    @classmethod
    def _estimated(
        cls,
        y_comp: ArrayLike,
        y_pred: ArrayLike,
        T: ArrayLike,
        classes: ArrayLike | None,
        profile: TransitionProfile | None = None,
    ) -> Self:
        array = transition.check(T)
        if classes is None and getattr(y_comp, "shape", ())[1:] == (len(array),):
            classes = checks.frame_names(y_comp, "columns")
        names = class_names(classes, len(array))
        checks.check_names(T, names, "T")
        codes, _ = labels.encode(y_comp, names, name="y_comp")
        predicted = codes_of(y_pred, names, "y_pred")
        checks.same_length("y_comp", len(codes), "y_pred", len(predicted))
        rows, k = labels.pairs(codes, len(names))
        joint = _joint(rows, k, predicted, decode.inverse(array, stacklevel=4))
        if profile is not None:
            joint = _with_unknown_transition(joint, rows, k, predicted, profile)
        return cls(classes=names, **joint._asdict())

    @property
    def error_rate(self) -> float:
        """The sum off the diagonal."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        return float(matrix.sum() - matrix.trace())

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, by default on a new figure, and return the display."""
        matrix, errors = self._check()
        ax = self._draw(ax, 100 * matrix, self.classes, "share (%)", "predicted class")
        negative = matrix < -1e-12  # not by rounding
        ax.set_title(self._heading(errors, bool(negative.any())), fontsize=10)
        texts = np.vectorize(as_per_cent, otypes=[object])(matrix)
        if errors is not None and not np.isnan(errors).any():
            texts = texts + "\n±" + np.vectorize(as_per_cent, otypes=[object])(errors)
        self.text_, self.negative_ = write_values(ax, self.im_, texts), None
        if self.text_ is None and negative.any():
            y, x = np.nonzero(negative)
            size = 0.5 * cell_size(ax, len(matrix))
            self.negative_ = ax.scatter(x, y, size**2, marker="_", color="0.5", lw=0.6)
        return self

    def _heading(self, errors: FloatArray | None, negative: bool) -> str:
        heading, unit = f"error rate {as_per_cent(self.error_rate)}", " %"
        if self.error_std_error is not None and not math.isnan(self.error_std_error):
            heading += f" ± {as_per_cent(self.error_std_error)}"
            unit += " (± standard error)" if errors is None else ""
        heading += unit
        if errors is None:
            return heading
        if np.isnan(errors).all():
            return f"{heading}, by complementary labels\n(no standard error)"
        most = "" if np.isnan(errors).any() else f", in cells {as_per_cent(errors.max())} at most"
        chance = ";\nbelow 0: by chance" if negative else ""
        return f"{heading}, by complementary labels\n(± standard error{most}{chance})"

    def _check(self) -> tuple[FloatArray, FloatArray | None]:
        rule = "matrix must be a K×K array of finite numbers, K at least 2"
        matrix = checks.array_of_numbers(self.matrix, rule).astype(np.float64)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
        if not square or not np.isfinite(matrix).all():
            came = checks.shown(self.matrix) if square else f"shape {matrix.shape}"
            raise ValueError(f"{rule}; got {came}")
        if self.std_error is None:
            return matrix, None
        errors = checks.array_of_numbers(self.std_error, "std_error must be a K×K array")
        if errors.shape != matrix.shape:
            raise ValueError(
                f"std_error must have the shape of matrix, {matrix.shape}; got {errors.shape}"
            )
        return matrix, errors.astype(np.float64)


class _Joint(NamedTuple):
    matrix: FloatArray
    std_error: FloatArray
    error_std_error: float


def _joint(rows: IntArray, k: IntArray, predicted: IntArray, inverse: FloatArray) -> _Joint:
    """Return (T⁻¹)ᵀ J̄ from labels k at those rows, and the standard errors over rows.

    Entry (y, j) is a mean over labels of ``(T⁻¹)[ȳ, y]·1[ŷ = j]``, a ratio of sums over rows;
    linearised as in `metrics.mean_and_error`. With c labels in a row and a the sum of their rows of
    T⁻¹, the squared deviations sum to Σ a² - 2 P Σ a c + P² Σ c², the first two over ŷ = j.
    """
    n, n_classes = len(predicted), len(inverse)
    observed = csr_array((np.ones(len(k)), (rows, k)), shape=(n, n_classes))
    count = np.bincount(rows, minlength=n).astype(np.float64)
    total = count.sum()
    shares, squares, products = (np.zeros((n_classes, n_classes)) for _ in range(3))
    for j in np.unique(predicted):
        here = np.flatnonzero(predicted == j)
        a = observed[here] @ inverse
        shares[:, j] = a.sum(axis=0) / total
        squares[:, j] = (a * a).sum(axis=0)
        products[:, j] = count[here] @ a
    variance = squares - 2 * shares * products + shares**2 * (count @ count)
    scale = math.sqrt(small_sample_factor(count)) / total
    losses = inverse.sum(axis=1)[k] - inverse[k, predicted[rows]]
    _, error = mean_and_error(losses, rows, n, None)
    return _Joint(shares, scale * np.sqrt(np.maximum(variance, 0.0)), error)


def _with_unknown_transition(
    joint: _Joint, rows: IntArray, k: IntArray, predicted: IntArray, profile: TransitionProfile
) -> _Joint:
    """Return the same shares, with standard errors that contain that of T."""
    if not profile.identified:
        warnings.warn(UNIDENTIFIED, UserWarning, stacklevel=4)

    def estimate(T: FloatArray) -> tuple[FloatArray, FloatArray]:
        shares, errors, error = _joint(rows, k, predicted, np.asarray(np.linalg.pinv(T)))
        rate = shares.sum() - shares.trace()
        return np.append(shares, rate), np.append(errors, error) ** 2

    rate = joint.matrix.sum() - joint.matrix.trace()
    errors = profile.std_error(np.append(joint.matrix, rate), estimate)
    return _Joint(joint.matrix, errors[:-1].reshape(joint.matrix.shape), float(errors[-1]))
