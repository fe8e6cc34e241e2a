"""Plot a transition matrix as a heat map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import labels, transition
from ..utils.estimators import last_step
from .drawing import MatrixDisplay, as_probability, frame_diagonal, write_values


@dataclass(eq=False, repr=False)
class TransitionDisplay(MatrixDisplay):
    """A heat map of T: a row for each true class, a column for each complementary label.

    Create one with `from_matrix`, `from_estimator` or `from_labels`. They plot on the axes `ax`, by
    default in a new figure. For up to 12 classes the probabilities are written in the cells if they
    fit. The diagonal (wrong labels) is framed.

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

    T: ArrayLike
    classes: ArrayLike | None = None
    diagonal_: Any = field(init=False)

    @classmethod
    def from_matrix(cls, T: ArrayLike, *, classes: ArrayLike | None = None, ax: Any = None) -> Self:
        """Plot a transition matrix; the parameters are those of the class."""
        return cls(T, classes).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, *, ax: Any = None) -> Self:
        """Plot ``transition_`` of a fitted classifier.

        Parameters
        ----------
        classifier : a fitted classifier of ybar, or a pipeline or search that ends in one
        """
        fitted, _ = last_step(classifier, name="classifier")
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
        """Plot the T that `ybar.transition.estimate` estimates from rows with both kinds of label.

        The parameters are those of `ybar.transition.estimate`.
        """
        T = transition.estimate(y_true, y_comp, classes=classes)
        if classes is None:
            classes = labels.encode(y_comp)[1]
            if np.ndim(y_comp) == 1:
                classes = np.union1d(classes, labels.encode(y_true)[1])
        return cls(T, classes).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, by default on a new figure, and return the display."""
        T = transition.check(self.T)
        shade = "P(complementary label | true class)"
        ax = self._draw(ax, T, self.classes, shade, "complementary label")
        self.diagonal_ = frame_diagonal(ax, len(T))
        self.text_ = write_values(ax, self.im_, np.vectorize(as_probability, otypes=[object])(T))
        return self
