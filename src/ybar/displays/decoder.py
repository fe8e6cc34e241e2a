"""Plot why a decoder chooses a class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import decode, transition
from ..utils import checks
from ..utils.distances import pairwise
from ..utils.estimators import last_step
from ..utils.typing import AnyArray, FloatArray, IntArray
from .drawing import AS_IT_IS, drawn_names, longest_line, new_axes, tick_places
from .inputs import class_names, codes_of, one_or_few

# Okabe and Ito's colours, safe for colour-blind readers; they differ in lightness too.
_CHOSEN, _TRUE, _OTHER = "#0072B2", "#D55E00", "0.82"
_MOST_NAMED = 30  # bars
_MEASURES = {
    "l1": "L1 distance to rows of T\n(smallest wins)",
    "l2": "L2 distance to rows of T\n(smallest wins)",
    "max": "p, by the inverse of T\n(largest wins)",
    "likelihood": "p, by likelihood\n(largest wins)",
}


@dataclass(eq=False, repr=False)
class DecoderDisplay:
    """Why the decoder chooses the class of one or a few examples.

    Create one with `from_estimator` or `from_probabilities`. Its panels replace the axes `ax`; by
    default they are in a new figure. Each example has two panels. The left panel shows q as bars,
    and as markers the row of T of the decoded class (and of the true class, if it differs). The
    right panel shows what the decoder compares: the distance of q to every row of T, or the p of
    every class, with the decoded class dark.

    Parameters
    ----------
    q : array-like of shape (K,) or (N, K)
        Complementary probabilities of at most 20 examples.
    T : array-like of shape (K, K)
    decoder : {"l1", "l2", "max", "likelihood"} or callable
        See `ybar.decode.decode`.
    p : array-like of shape (N, K), optional
        The class probabilities of a network, which are decoded instead of q.
    classes : array-like of shape (K,), optional
        Names of the classes in the order of the rows of T; by default 0..K-1.
    y_true : array-like of shape (N,), optional
        True classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that the panels replace.
    axes_ : ndarray of matplotlib Axes of shape (N, 2)
        The panels.
    figure_ : matplotlib Figure
    scores_ : ndarray of shape (N, K)
        What the decoder compares: distances (the smallest is decoded) or p (the largest is).
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

    q: ArrayLike
    T: ArrayLike
    _: KW_ONLY
    decoder: decode.Method = "l1"
    p: ArrayLike | None = None
    classes: ArrayLike | None = None
    y_true: ArrayLike | None = None
    ax_: Any = field(init=False)
    axes_: AnyArray = field(init=False)
    figure_: Any = field(init=False)
    scores_: FloatArray = field(init=False)
    decoded_: AnyArray = field(init=False)

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
        """
        fitted, X = last_step(classifier, X, name="classifier")
        q = fitted.predict_complementary_proba(X)
        decoder = fitted.decoder_ if fitted.decoder is None else fitted.decoder
        decodes_p = decoder == "max" and getattr(fitted, "estimates_", "q") == "p"
        return cls(
            q,
            fitted.transition_,
            decoder=decoder,
            p=fitted.predict_proba(X) if decodes_p else None,
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
        """Plot how complementary probabilities are decoded; parameters as of the class."""
        return cls(q, T, decoder=decoder, classes=classes, y_true=y_true).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot in place of `ax`, by default in a new figure, and return the display."""
        T = transition.check(self.T)
        decode.check_method(self.decoder, name="decoder")
        classes = class_names(self.classes, len(T))
        checks.check_names(self.T, classes, "T")
        q = one_or_few(self.q, len(T), "q")
        decision = self._decide(q, T)
        true = self._true(len(q), classes)
        names = drawn_names(classes)
        self.scores_, self.decoded_ = decision.scores, classes[decision.decoded]
        if ax is None:
            bars = 0.2 * min(max(len(T), 5), _MOST_NAMED)
            size = (7.5 + 0.05 * longest_line(names), len(q) * (bars + 0.9))
            ax = new_axes(type(self).__name__, size)
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError(
                "ax must be in a grid, since two panels per example replace it; got one from "
                "add_axes. Create it with subplots"
            )
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        self.axes_ = place.subgridspec(len(q), 2).subplots(sharey="row", squeeze=False)
        for i, (left, right) in enumerate(self.axes_):
            k = int(decision.decoded[i])
            other = None if true is None or true[i] == k else int(true[i])
            ending = ", which is true" if other is None else f", true: {names[other]}"
            title = f"decoded: {names[k]}{'' if true is None else ending}"
            left.set_title(title, loc="left", fontsize=10, **AS_IT_IS)
            _bars_of_q(left, q[i], T, k, other)
            _bars_of_scores(right, self.scores_[i], k, other)
            ticks = tick_places(len(T), _MOST_NAMED)
            left.set_yticks(ticks, [names[t] for t in ticks], fontsize=8, **AS_IT_IS)
            left.set_ylim(len(T) - 0.4, -0.6)  # the first class on top
            for panel in (left, right):
                panel.tick_params(axis="x", labelsize=8)
                panel.tick_params(axis="y", length=0)
            right.tick_params(labelleft=False)
        left, right = self.axes_[-1]
        circles = true is not None and (true != decision.decoded).any()
        key = "bars: q\ndiamonds: T, decoded class"
        left.set_xlabel(f"{key}\ncircles: T, true class" if circles else key, fontsize=8)
        right.set_xlabel(decision.measure, fontsize=8, **AS_IT_IS)
        return self

    def _decide(self, q: FloatArray, T: FloatArray) -> _Decision:
        if self.p is not None:
            p = one_or_few(self.p, len(T), "p")
            checks.same_length("p", len(p), "q", len(q))
            return _Decision(p, p.argmax(axis=1), "p, the network's own\n(largest wins)")
        if self.decoder == "max":
            p = q @ decode.inverse(T, stacklevel=5)
            # As in `decode`, so that ties are resolved in the same way.
            decoded = q.argmin(axis=1) if transition.is_uniform(T) else p.argmax(axis=1)
            return _Decision(p, decoded, _MEASURES["max"])
        decoded = decode.decode(q, T, self.decoder)
        if self.decoder == "likelihood":
            p = decode.class_probabilities(q, T)
            return _Decision(p, decoded, _MEASURES["likelihood"])
        if isinstance(self.decoder, str):
            measure = _MEASURES[self.decoder]
        else:
            name = getattr(self.decoder, "__name__", type(self.decoder).__name__)
            measure = f"{drawn_names([name])[0]} of q and rows of T\n(smallest wins)"
        return _Decision(pairwise(q, T, self.decoder, name="decoder"), decoded, measure)

    def _true(self, n: int, classes: AnyArray) -> IntArray | None:
        if self.y_true is None:
            return None
        single: Any = [self.y_true] if np.isscalar(self.y_true) else self.y_true
        true = codes_of(single, classes, "y_true")
        checks.same_length("y_true", len(true), "q", n)
        return true


class _Decision(NamedTuple):
    scores: FloatArray
    decoded: IntArray
    measure: str


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
