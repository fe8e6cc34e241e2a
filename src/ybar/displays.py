"""Plot a transition matrix, how single examples are decoded, and confusion matrices.

A confusion matrix needs no true labels: complementary labels and T give an unbiased estimate of it.
Everything can be read without colour; names of classes are drawn as they are, never as formulas.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from . import _checks, decode, labels, metrics, transition
from ._distances import pairwise
from ._encode import check_classes, look_up
from ._extras import require
from ._typing import AnyArray, FloatArray, IntArray
from .experiments.text import plain
from .neural import TrainingCurveDisplay

__all__ = ["ConfusionDisplay", "DecoderDisplay", "TrainingCurveDisplay", "TransitionDisplay"]

# Okabe and Ito's colours, which the colour-blind tell apart; greys differ in lightness too.
_CHOSEN, _TRUE, _OTHER = "#0072B2", "#D55E00", "0.82"
_MOST_LETTERS = 24
_MOST_WRITTEN = 12  # classes; a matrix of more is a picture only
_MOST_NAMED = 30  # bars
_MOST_EXAMPLES = 20
_SMALLEST_FONT = 4.5
_LETTER = 0.62  # width of a letter, in font sizes
# A name such as "$x$" is neither a formula nor TeX.
_AS_IT_IS: dict[str, Any] = {"parse_math": False, "usetex": False}
_MEASURES = {
    "l1": "L1 distance to rows of T",
    "l2": "L2 distance to rows of T",
    "max": "p, by the inverse of T",
    "likelihood": "p, by likelihood",
}


class TransitionDisplay:
    """A heat map of T: a row for each true class, a column for each complementary label.

    Make one with `from_matrix`, `from_estimator` or `from_labels`. Up to 12 classes the
    probabilities are written in the cells, if they fit; the diagonal, wrong labels, is framed.

    Parameters
    ----------
    T : array-like of shape (K, K)
    classes : array-like of shape (K,), optional
        Names of the classes in the order of the rows of T; by default 0..K-1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text of shape (K, K), or None
    diagonal_ : matplotlib LineCollection
        The frames of the diagonal.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ybar import transition
    >>> from ybar.displays import TransitionDisplay
    >>> ax = Figure().subplots()
    >>> display = TransitionDisplay.from_matrix(transition.uniform(3), ax=ax)
    >>> display.text_[0, 1].get_text()
    '0.50'
    """

    ax_: Any
    figure_: Any
    im_: Any
    text_: AnyArray | None
    diagonal_: Any

    def __init__(self, T: ArrayLike, classes: ArrayLike | None = None) -> None:
        self.T = T
        self.classes = classes

    @classmethod
    def from_matrix(cls, T: ArrayLike, *, classes: ArrayLike | None = None, ax: Any = None) -> Self:
        """Plot a transition matrix.

        Parameters
        ----------
        T : array-like of shape (K, K)
        classes : array-like of shape (K,), optional
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        TransitionDisplay
        """
        return cls(T, classes).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, *, ax: Any = None) -> Self:
        """Plot ``transition_`` of a fitted classifier.

        Parameters
        ----------
        classifier : a fitted classifier of ybar, or a pipeline or search that ends in one
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        TransitionDisplay
        """
        fitted, _ = _last_step(classifier)
        return cls(fitted.transition_, fitted.classes_).plot(ax)

    @classmethod
    def from_labels(
        cls,
        y_true: ArrayLike,
        y_comp: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Plot the T that `ybar.transition.estimate` finds in rows with both kinds of label.

        Parameters
        ----------
        y_true : array-like of shape (N,)
            Ordinary labels.
        y_comp : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels.
        classes : array-like of shape (K,), optional
            All classes; by default those that occur, sorted.
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        TransitionDisplay
        """
        T = transition.estimate(y_true, y_comp, classes=classes)
        if classes is None:
            classes = labels.encode(y_comp)[1]
            if np.ndim(y_comp) == 1:
                classes = np.union1d(classes, labels.encode(y_true)[1])
        return cls(T, classes).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.
        """
        T = transition.check(self.T)
        names = _drawn(_names(self.classes, len(T)))
        ax = _matrix_axes(names, type(self).__name__) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        self.im_ = _heat_map(ax, T, names, "P(complementary label | true class)")
        ax.set_ylabel("true class")
        ax.set_xlabel("complementary label")
        self.diagonal_ = _frame_diagonal(ax, len(T))
        self.text_ = _write(ax, self.im_, np.vectorize(_probability, otypes=[object])(T))
        return self


class DecoderDisplay:
    """Why the decoder takes the class it takes, for one example or a few.

    Make one with `from_estimator` or `from_probabilities`. Each example has two panels: on the
    left q, with the row of T of the decoded class (and of the true one, where it differs) as
    markers; on the right what the decoder compares, the distance of q to every row of T or the p
    of every class, with the winner dark.

    Parameters
    ----------
    q : array-like of shape (K,) or (N, K)
        Complementary probabilities of at most 20 examples.
    T : array-like of shape (K, K)
    decoder : {"l1", "l2", "max", "likelihood"} or callable
        See `ybar.decode.decode`.
    p : array-like of shape (N, K), optional
        A network's own class probabilities, which decide instead of the decoder.
    classes : array-like of shape (K,), optional
        Names of the classes in the order of the rows of T; by default 0..K-1.
    y_true : array-like of shape (N,), optional
        True classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The place of all panels.
    axes_ : ndarray of matplotlib Axes of shape (N, 2)
        The panels.
    figure_ : matplotlib Figure
    scores_ : ndarray of shape (N, K)
        What the decoder compares: distances, the smallest of which wins, or p, the largest.
    decoded_ : ndarray of shape (N,)
        The class of each example.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ybar import transition
    >>> from ybar.displays import DecoderDisplay
    >>> ax = Figure().subplots()
    >>> q, names = [0.5, 0.1, 0.4], ["ant", "bee", "cat"]
    >>> display = DecoderDisplay.from_probabilities(q, transition.uniform(3), "l1", names, ax=ax)
    >>> print(*display.decoded_, display.scores_.round(1))
    bee [[1.  0.2 0.8]]
    """

    ax_: Any
    axes_: AnyArray
    figure_: Any
    scores_: FloatArray
    decoded_: AnyArray

    def __init__(
        self,
        q: ArrayLike,
        T: ArrayLike,
        *,
        decoder: decode.Method = "l1",
        p: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
    ) -> None:
        self.q = q
        self.T = T
        self.decoder = decoder
        self.p = p
        self.classes = classes
        self.y_true = y_true

    @classmethod
    def from_estimator(
        cls, classifier: Any, X: Any, *, y_true: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """Plot how a fitted classifier decodes a few rows.

        Parameters
        ----------
        classifier : a fitted classifier of ybar, or a pipeline or search that ends in one
        X : array-like of shape (N, n_features)
            At most 20 rows.
        y_true : array-like of shape (N,), optional
            Their true classes.
        ax : matplotlib Axes, optional
            Whose place the panels take; by default a new figure.

        Returns
        -------
        DecoderDisplay
        """
        fitted, X = _last_step(classifier, X)
        q = fitted.predict_complementary_proba(X)
        decoder = fitted.decoder_ if fitted.decoder is None else fitted.decoder
        own = decoder == "max" and getattr(fitted, "estimates_", "q") == "p"
        return cls(
            q,
            fitted.transition_,
            decoder=decoder,
            p=fitted.predict_proba(X) if own else None,
            classes=fitted.classes_,
            y_true=y_true,
        ).plot(ax)

    @classmethod
    def from_probabilities(
        cls,
        q: ArrayLike,
        T: ArrayLike,
        decoder: decode.Method = "l1",
        classes: ArrayLike | None = None,
        *,
        y_true: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot how complementary probabilities are decoded.

        Parameters
        ----------
        q : array-like of shape (K,) or (N, K)
        T : array-like of shape (K, K)
        decoder : {"l1", "l2", "max", "likelihood"} or callable
        classes : array-like of shape (K,), optional
        y_true : array-like of shape (N,), optional
        ax : matplotlib Axes, optional
            Whose place the panels take; by default a new figure.

        Returns
        -------
        DecoderDisplay
        """
        return cls(q, T, decoder=decoder, classes=classes, y_true=y_true).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Whose place the panels take; by default a new figure.
        """
        T = transition.check(self.T)
        decode.check_method(self.decoder, name="decoder")
        classes = _names(self.classes, len(T))
        q = _few(self.q, len(T), "q")
        decision = self._decide(q, T)
        true = self._true(len(q), classes)
        names = _drawn(classes)
        self.scores_, self.decoded_ = decision.scores, classes[decision.decoded]
        if ax is None:
            bars = 0.2 * min(max(len(T), 5), _MOST_NAMED)
            ax = _new_axes(7.5 + 0.05 * _longest(names), len(q) * (bars + 0.9), type(self).__name__)
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError(
                "ax must be in a grid, since two panels an example take its place; got one from "
                "add_axes. Make it with subplots"
            )
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        self.axes_ = place.subgridspec(len(q), 2).subplots(sharey="row", squeeze=False)
        for i, (left, right) in enumerate(self.axes_):
            k = int(decision.decoded[i])
            other = None if true is None or true[i] == k else int(true[i])
            left.set_title(_verdict(names, k, true, other), loc="left", fontsize=10, **_AS_IT_IS)
            _bars_of_q(left, q[i], T, k, other)
            _bars_of_scores(right, self.scores_[i], k, other)
            ticks = _ticks(len(T), _MOST_NAMED)
            left.set_yticks(ticks, [names[t] for t in ticks], fontsize=8, **_AS_IT_IS)
            left.set_ylim(len(T) - 0.4, -0.6)  # the first class on top
            for panel in (left, right):
                panel.tick_params(axis="x", labelsize=8)
                panel.tick_params(axis="y", length=0)
            right.tick_params(labelleft=False)
        left, right = self.axes_[-1]
        circles = true is not None and (true != decision.decoded).any()
        key = "bars: q\ndiamonds: T, decoded class"
        left.set_xlabel(f"{key}\ncircles: T, true class" if circles else key, fontsize=8)
        wins = "smallest wins" if decision.smallest_wins else "largest wins"
        right.set_xlabel(f"{decision.measure}\n({wins})", fontsize=8, **_AS_IT_IS)
        return self

    def _decide(self, q: FloatArray, T: FloatArray) -> _Decision:
        if self.p is not None:
            p = _few(self.p, len(T), "p")
            _same_length("p", len(p), "q", len(q))
            return _Decision(p, p.argmax(axis=1), False, "p, the network's own")
        if self.decoder == "max":
            p = q @ decode.inverse(T, stacklevel=5)
            # As `decode` does, so that ties go the same way.
            decoded = q.argmin(axis=1) if transition.is_uniform(T) else p.argmax(axis=1)
            return _Decision(p, decoded, False, _MEASURES["max"])
        decoded = decode.decode(q, T, self.decoder)
        if self.decoder == "likelihood":
            p = decode.class_probabilities(q, T)
            return _Decision(p, decoded, False, _MEASURES["likelihood"])
        if isinstance(self.decoder, str):
            measure = _MEASURES[self.decoder]
        else:
            name = getattr(self.decoder, "__name__", type(self.decoder).__name__)
            measure = f"{_drawn([name])[0]} of q and rows of T"
        return _Decision(pairwise(q, T, self.decoder, name="decoder"), decoded, True, measure)

    def _true(self, n: int, classes: AnyArray) -> IntArray | None:
        if self.y_true is None:
            return None
        single: Any = [self.y_true] if np.isscalar(self.y_true) else self.y_true
        true = _codes(single, classes, "y_true")
        _same_length("y_true", len(true), "q", n)
        return true


class _Decision(NamedTuple):
    scores: FloatArray
    decoded: IntArray
    smallest_wins: bool
    measure: str


class ConfusionDisplay:
    """The confusion matrix, with true labels or without: the share of (true, predicted) pairs.

    Make one with `from_true` or `from_estimator` where true labels are known, and with
    `from_complementary` or `from_estimator_complementary` where only complementary ones are.
    Shares are of all rows, in per cent, and sum to 100; they are written in the cells up to 12
    classes, if they fit.

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
    not fitted to these labels. It is linear in the labels, hence its standard errors are exact up
    to the plug-in of the shares; they are over rows, which are independent. Its sum off the
    diagonal is `ybar.metrics.ure_zero_one`. Entries near 0 can be negative by chance: they are
    shown as they are, since clipping them would bias all sums.

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

    ax_: Any
    figure_: Any
    im_: Any
    text_: AnyArray | None
    negative_: Any

    def __init__(
        self,
        matrix: ArrayLike,
        *,
        std_error: ArrayLike | None = None,
        error_std_error: float | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        self.matrix = matrix
        self.std_error = std_error
        self.error_std_error = error_std_error
        self.classes = classes

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
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        names = _all_classes(y_true, y_pred) if classes is None else check_classes(classes)
        true, predicted = _codes(y_true, names, "y_true"), _codes(y_pred, names, "y_pred")
        _same_length("y_true", len(true), "y_pred", len(predicted))
        # A true label is a complementary one under T = I.
        found = _joint(np.arange(len(true)), true, predicted, np.eye(len(names)))
        return cls(found.shares, error_std_error=found.error_std_error, classes=names).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, X: Any, y_true: ArrayLike, *, ax: Any = None) -> Self:
        """Plot the confusion matrix of a fitted classifier, with true labels.

        Parameters
        ----------
        classifier : any fitted classifier
        X : array-like of shape (N, n_features)
        y_true : array-like of shape (N,)
            True classes.
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        if not hasattr(classifier, "predict") or not is_classifier(classifier):
            raise TypeError(f"classifier must be a fitted one; got {_checks.shown(classifier)}")
        if not hasattr(classifier, "classes_"):
            raise _not_fitted(classifier)
        return cls.from_true(y_true, classifier.predict(X), classifier.classes_, ax=ax)

    @classmethod
    def from_complementary(
        cls,
        y_comp: ArrayLike,
        y_pred: ArrayLike,
        T: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Plot the confusion matrix that complementary labels and predictions imply under T.

        Parameters
        ----------
        y_comp : array-like of shape (N,), or boolean array of shape (N, K)
            Complementary labels that the predictions were not fitted to. Several labels a row
            must each follow T, and be no more for some classes than for others.
        y_pred : array-like of shape (N,)
            Predicted classes.
        T : array-like of shape (K, K)
            A singular T is replaced by its pseudo-inverse, with a warning: no longer unbiased.
        classes : array-like of shape (K,), optional
            Names of the classes in the order of the rows of T; by default 0..K-1, or the columns
            of a boolean data frame.
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        return cls._estimated(y_comp, y_pred, T, classes).plot(ax)

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
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        fitted, _ = _last_step(classifier)
        T, classes = fitted.transition_, fitted.classes_
        return cls._estimated(y_comp, classifier.predict(X), T, classes).plot(ax)

    @classmethod
    def _estimated(
        cls, y_comp: ArrayLike, y_pred: ArrayLike, T: ArrayLike, classes: ArrayLike | None
    ) -> Self:
        array = transition.check(T)
        if classes is None and getattr(y_comp, "shape", ())[1:] == (len(array),):
            classes = _checks.frame_names(y_comp, "columns")
        names = _names(classes, len(array))
        codes, _ = labels.encode(y_comp, names, name="y_comp")
        predicted = _codes(y_pred, names, "y_pred")
        _same_length("y_comp", len(codes), "y_pred", len(predicted))
        rows, k = labels.pairs(codes, len(names))
        found = _joint(rows, k, predicted, decode.inverse(array, stacklevel=4))
        return cls(
            found.shares,
            std_error=found.std_error,
            error_std_error=found.error_std_error,
            classes=names,
        )

    @property
    def error_rate(self) -> float:
        """The sum off the diagonal."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        return float(matrix.sum() - matrix.trace())

    def plot(self, ax: Any = None) -> Self:
        """Plot, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to plot; by default a new figure.
        """
        matrix, errors = self._check()
        n_classes = len(matrix)
        names = _drawn(_names(self.classes, n_classes))
        ax = _matrix_axes(names, type(self).__name__) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        self.im_ = _heat_map(ax, 100 * matrix, names, "share (%)")
        ax.set_ylabel("true class")
        ax.set_xlabel("predicted class")
        negative = matrix < -1e-12  # not by rounding
        ax.set_title(self._heading(errors, bool(negative.any())), fontsize=10)
        texts = np.vectorize(_per_cent, otypes=[object])(matrix)
        if errors is not None and not np.isnan(errors).any():
            texts = texts + "\n±" + np.vectorize(_per_cent, otypes=[object])(errors)
        self.text_, self.negative_ = _write(ax, self.im_, texts), None
        if self.text_ is None and negative.any():
            y, x = np.nonzero(negative)
            size = 0.5 * _cell_size(ax, n_classes)
            self.negative_ = ax.scatter(x, y, size**2, marker="_", color="0.5", lw=0.6)
        return self

    def _heading(self, errors: FloatArray | None, negative: bool) -> str:
        heading = f"error rate {_per_cent(self.error_rate)}"
        if self.error_std_error is not None and not math.isnan(self.error_std_error):
            heading += f" ± {_per_cent(self.error_std_error)}"
        heading += " %"
        if errors is None:
            return heading
        most = "" if np.isnan(errors).any() else f", in cells {_per_cent(errors.max())} at most"
        chance = ";\nbelow 0: by chance" if negative else ""
        return f"{heading}, by complementary labels\n(± standard error{most}{chance})"

    def _check(self) -> tuple[FloatArray, FloatArray | None]:
        rule = "matrix must be a K×K array of finite numbers, K at least 2"
        matrix = _checks.array_of_numbers(self.matrix, rule).astype(np.float64)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
        if not square or not np.isfinite(matrix).all():
            came = _checks.shown(self.matrix) if square else f"shape {matrix.shape}"
            raise ValueError(f"{rule}; got {came}")
        if self.std_error is None:
            return matrix, None
        errors = _checks.array_of_numbers(self.std_error, "std_error must be a K×K array")
        if errors.shape != matrix.shape:
            raise ValueError(
                f"std_error must have the shape of matrix, {matrix.shape}; got {errors.shape}"
            )
        return matrix, errors.astype(np.float64)


class _Joint(NamedTuple):
    shares: FloatArray
    std_error: FloatArray
    error_std_error: float


def _joint(rows: IntArray, k: IntArray, predicted: IntArray, inverse: FloatArray) -> _Joint:
    """Return (T⁻¹)ᵀ J̄ from labels k at those rows, and the standard errors over rows.

    Entry (y, j) is a mean over labels of ``(T⁻¹)[ȳ, y]·1[ŷ = j]``, a ratio of sums over rows;
    linearised as in `metrics.mean_and_error`. With c labels in a row and a the sum of their rows of
    T⁻¹, the squared deviations sum to Σ a² - 2 P Σ a c + P² Σ c², the first two over ŷ = j.
    """
    n, n_classes = len(predicted), len(inverse)
    given = csr_array((np.ones(len(k)), (rows, k)), shape=(n, n_classes))
    count = np.bincount(rows, minlength=n).astype(np.float64)
    total = count.sum()
    shares, squares, products = (np.zeros((n_classes, n_classes)) for _ in range(3))
    for j in np.unique(predicted):
        here = np.flatnonzero(predicted == j)
        a = given[here] @ inverse
        shares[:, j] = a.sum(axis=0) / total
        squares[:, j] = (a * a).sum(axis=0)
        products[:, j] = count[here] @ a
    m = int(np.count_nonzero(count))
    variance = squares - 2 * shares * products + shares**2 * (count @ count)
    scale = math.sqrt(m / (m - 1)) / total if m > 1 else math.nan
    losses = inverse.sum(axis=1)[k] - inverse[k, predicted[rows]]
    _, error = metrics.mean_and_error(losses, rows, n, None)
    return _Joint(shares, scale * np.sqrt(np.maximum(variance, 0.0)), error)


def _last_step(classifier: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the fitted classifier of ours inside pipelines and searches, and X as it sees it."""
    before = []
    inner = classifier
    while not hasattr(inner, "predict_complementary_proba"):
        if isinstance(inner, Pipeline):
            before.append(inner[:-1])
            inner = inner[-1]
        elif hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif isinstance(inner, BaseSearchCV):
            raise _not_fitted(inner)
        else:
            raise TypeError(
                "classifier must be a fitted classifier of ybar, or a pipeline or search that ends "
                f"in one; got {_checks.shown(classifier)}"
            )
    if not hasattr(inner, "transition_"):
        raise _not_fitted(inner)
    for steps in before:
        X = steps.transform(X) if X is not None and len(steps) else X
    return inner, X


def _not_fitted(classifier: Any) -> NotFittedError:
    return NotFittedError(
        f"classifier must be fitted before it is plotted; this {type(classifier).__name__} is not. "
        "Call fit first"
    )


def _names(classes: ArrayLike | None, n_classes: int) -> AnyArray:
    if classes is None:
        return np.arange(n_classes)
    names = check_classes(classes)
    if len(names) != n_classes:
        raise ValueError(
            f"classes must name each of the {n_classes} classes; got {len(names)} names, "
            f"{_checks.shown(names.tolist())}"
        )
    return names


def _codes(values: ArrayLike, names: AnyArray, argument: str) -> IntArray:
    """Return class indices of one class name a row."""
    array = _checks.label_array(values, f"{argument} must hold one class a row")
    if len(array) == 0:
        raise ValueError(f"{argument} must hold at least one class; got none")
    return look_up(_checks.label_column(array, argument), names, argument)


def _all_classes(y_true: ArrayLike, y_pred: ArrayLike) -> AnyArray:
    kinds = []
    for values, argument in ((y_true, "y_true"), (y_pred, "y_pred")):
        array = _checks.label_array(values, f"{argument} must hold one class a row")
        kinds.append(np.unique(_checks.label_column(array, argument)))
    first, second = kinds
    if len(first) and len(second) and len({kind.dtype.kind in "OUT" for kind in kinds}) > 1:
        raise ValueError(
            "y_true and y_pred must hold classes of one kind; got "
            f"{_checks.shown(first[0])} and {_checks.shown(second[0])}"
        )
    names = np.union1d(first, second)
    if len(names) < 2:
        raise ValueError(
            "y_true and y_pred must hold at least 2 classes; got "
            f"{_checks.shown(names.tolist())}. Name all with classes="
        )
    return names


def _few(values: ArrayLike, n_classes: int, argument: str) -> FloatArray:
    array = _checks.array_of_numbers(values, f"{argument} must be a K or N×K array of numbers")
    rows = decode.check_probabilities(np.atleast_2d(array), n_classes, name=argument)
    if not 1 <= len(rows) <= _MOST_EXAMPLES:
        raise ValueError(
            f"{argument} must have 1 to {_MOST_EXAMPLES} rows, two panels each; got {len(rows)}. "
            "Choose a few"
        )
    return rows.astype(np.float64)


def _same_length(name: str, n: int, other: str, n_other: int) -> None:
    if n != n_other:
        raise ValueError(
            f"{name} and {other} must have the same number of rows; got {n} and {n_other}"
        )


def _drawn(names: Iterable[Any]) -> list[str]:
    """Return names as they can be drawn: in one line, not too long, in letters of the font."""
    manager = require("matplotlib.font_manager", "report", "a display")
    fonts = []
    for family in manager.FontProperties().get_family():
        with contextlib.suppress(ValueError):  # a family that is not installed
            one = manager.FontProperties(family=family)
            fonts.append(manager.get_font(manager.findfont(one, fallback_to_default=False)))
    fonts = fonts or [manager.get_font(manager.findfont(manager.FontProperties()))]

    def one_line(name: Any) -> str:
        text = "".join(
            c if any(font.get_char_index(ord(c)) for font in fonts) else f"U+{ord(c):04X}"
            for c in plain(str(name))
        )
        if len(text) <= _MOST_LETTERS:
            return text
        return f"{text[: _MOST_LETTERS - 9]}…{text[-8:]}"  # names often differ at their end

    return [one_line(name) for name in names]


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts))


def _ticks(n: int, most: int) -> IntArray:
    """Return at most `most` places of n, 1, 2, 5, 10, … apart."""
    steps = (s * 10**e for e in itertools.count() for s in (1, 2, 5))
    step = next(s for s in steps if n <= s * most)
    return np.arange(0, n, step)


def _new_axes(width: float, height: float, what: str) -> Any:
    pyplot = require("matplotlib.pyplot", "report", what)
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _matrix_axes(names: list[str], what: str) -> Any:
    side = 2.4 + 0.36 * min(len(names), _MOST_WRITTEN)
    named = 0.07 * _longest(names)
    return _new_axes(side + named + 1.2, side + 0.7 * named + 0.4, what)


def _heat_map(ax: Any, values: FloatArray, names: list[str], what: str) -> Any:
    """Draw a matrix, from 0 up in ever darker blue, with the names of its classes."""
    n = len(values)
    im = ax.imshow(values, cmap="Blues", vmin=0, vmax=max(float(values.max()), 1e-12))
    bar = ax.figure.colorbar(
        im, ax=ax, fraction=0.046, pad=0.03, extend="min" if values.min() < -1e-10 else "neither"
    )
    bar.set_label(what, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    ticks = _ticks(n, _MOST_WRITTEN)
    shown = [names[t] for t in ticks]
    room = _cell_size(ax, n) * n / len(ticks)
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    turn = slanted if 9 * _LETTER * (_longest(shown) + 1) > room else {}
    ax.set_xticks(ticks, shown, fontsize=9, **turn, **_AS_IT_IS)
    ax.set_yticks(ticks, shown, fontsize=9, **_AS_IT_IS)
    return im


def _cell_size(ax: Any, n: int) -> float:
    """Return the width of a cell in points."""
    extent = ax.get_window_extent()
    return float(72 / ax.figure.dpi * min(extent.width, extent.height) / n)


def _frame_diagonal(ax: Any, n: int) -> Any:
    collections = require("matplotlib.collections", "report", "a display")
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    frames = [0.92 * square + i for i in range(n)]
    width = 1.2 if n <= _MOST_WRITTEN else 0.5
    return ax.add_collection(
        collections.LineCollection(frames, colors="black", linewidths=width), autolim=False
    )


def _write(ax: Any, im: Any, texts: AnyArray) -> AnyArray | None:
    """Write a text in each cell, as large as fits; None where it could not be read."""
    n = len(texts)
    if n > _MOST_WRITTEN:
        return None
    ax.figure.figure.draw_without_rendering()  # lays out the figure: the axes have their size
    cell = 0.8 * _cell_size(ax, n)
    lines = [line for text in texts.flat for line in text.split("\n")]
    n_lines = len(lines) // texts.size
    size = min(10.0, cell / (_LETTER * _longest(lines)), cell / (1.3 * n_lines))
    if size < _SMALLEST_FONT:
        return None
    # Relative luminance as the WCAG has it: below 0.18 white is the better contrast.
    luminance = im.to_rgba(im.get_array())[..., :3] ** 2.2 @ (0.2126, 0.7152, 0.0722)
    written = np.empty_like(texts)
    for (y, x), text in np.ndenumerate(texts):
        written[y, x] = ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=size,
            color="white" if luminance[y, x] < 0.18 else "black",
        )
    return written


def _probability(value: float) -> str:
    if value == 0:
        return "0"
    if value < 0.0005:
        return "<.001"
    return f"{value:.2f}" if value >= 0.01 else f"{value:.3f}"


def _per_cent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}"  # no -0.0


def _verdict(names: list[str], decoded: int, true: IntArray | None, other: int | None) -> str:
    if true is None:
        return f"decoded: {names[decoded]}"
    ending = ", which is true" if other is None else f", true: {names[other]}"
    return f"decoded: {names[decoded]}{ending}"


def _bars_of_q(ax: Any, q: FloatArray, T: FloatArray, decoded: int, other: int | None) -> None:
    places = np.arange(len(q))
    ax.barh(places, q, height=0.75, color=_OTHER, edgecolor="0.4", lw=0.6)
    size = 6 if len(q) <= _MOST_NAMED else 3
    ax.plot(T[decoded], places, "D", color=_CHOSEN, ms=size - 1, label="decoded")
    if other is not None:
        look = {"mfc": "none", "mec": _TRUE, "ms": size + 3, "mew": 1.3}
        ax.plot(T[other], places, "o", label="true", **look)
    high = max(q.max(), T[decoded].max(), 0 if other is None else T[other].max())
    ax.set_xlim(-0.04 * high, 1.06 * high)  # markers at 0 stay off the names
    ax.axvline(0, color="0.4", lw=0.6)


def _bars_of_scores(ax: Any, scores: FloatArray, decoded: int, other: int | None) -> None:
    finite = scores[np.isfinite(scores)]
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    end = high + 0.4 * (high - low) or 1.0  # room for the words
    drawn = np.where(np.isfinite(scores), scores, end)  # an infinite distance fills its row
    bars = ax.barh(np.arange(len(scores)), drawn, height=0.75, color=_OTHER, ec="0.4", lw=0.6)
    bars[decoded].set_color(_CHOSEN)
    marked = {decoded: "decoded"}
    if other is not None:
        marked[other] = "true"
        bars[other].set(hatch="////", edgecolor=_TRUE)
    for k, word in marked.items():
        text = f" {scores[k]:.3g} {word}"
        ax.text(np.clip(drawn[k], 0, high), k, text, va="center", fontsize=8)
    ax.axvline(0, color="0.4", lw=0.6)
    ax.set_xlim(1.05 * low, end)
