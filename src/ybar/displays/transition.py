"""A transition matrix as a heat map."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import labels, transition
from ..utils.typing import AnyArray
from .drawing import (
    as_probability,
    drawn_names,
    frame_diagonal,
    heat_map,
    matrix_axes,
    write_values,
)
from .inputs import class_names, last_step


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
        fitted, _ = last_step(classifier)
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
        names = drawn_names(class_names(self.classes, len(T)))
        ax = matrix_axes(names, type(self).__name__) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        self.im_ = heat_map(ax, T, names, "P(complementary label | true class)")
        ax.set_ylabel("true class")
        ax.set_xlabel("complementary label")
        self.diagonal_ = frame_diagonal(ax, len(T))
        self.text_ = write_values(ax, self.im_, np.vectorize(as_probability, otypes=[object])(T))
        return self
