"""Plot how a network was trained: the loss and the held-out criterion of each epoch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..neural import methods
from ..neural.base import NetBase
from ..utils import checks
from ..utils.extras import require
from ..utils.typing import FloatArray
from .drawing import new_axes

__all__ = ["TrainingCurveDisplay"]

History: TypeAlias = Mapping[str, Any]

_CRITERIA = ("scel", "ure")
_LOSS = "training loss"
_OTHER_STYLES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)), (0, (1, 3)))


@dataclass(eq=False, repr=False)
class TrainingCurveDisplay:
    """The training loss and the held-out criterion of each epoch.

    Create one with `from_estimator` or `from_history`, which plot on the axes `ax`, by default in a
    new figure.

    Parameters
    ----------
    history : dict of array-like
        Per epoch: ``loss``, and ``scel`` or ``ure``, with ``scel_std_error`` or ``ure_std_error``
        for a band of one standard error.
    best_epoch : int, optional
        The epoch kept, from 1.
    criterion : {"scel", "ure"}
        If it is NaN or missing, as without validation, only the loss is plotted.
    same_scale : bool
        Whether the loss shares the axis of the criterion, or has a second axis on the right.
    histories : dict of histories, optional
        Histories by learning rate. The criterion of each is plotted, and the line of `history`, the
        one selected, is thicker.

    Attributes
    ----------
    ax_ : matplotlib Axes
    loss_ax_ : matplotlib Axes or None
        The axes of the loss: ``ax_``, or a second axis on its right; None if it is not plotted.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The criterion and the loss; of several learning rates, a line for each.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ybar.displays import TrainingCurveDisplay
    >>> history = {"loss": [2.3, 1.9, 1.7], "scel": [2.2, 2.0, 2.1]}
    >>> display = TrainingCurveDisplay.from_history(history, best_epoch=2)
    >>> [line.get_label() for line in display.lines_]
    ['SCEL (held out)', 'training loss']
    """

    history: History
    _: KW_ONLY
    best_epoch: int | None = None
    criterion: str = "scel"
    same_scale: bool = False
    histories: Mapping[float, History] | None = None
    ax_: Any = field(init=False)
    loss_ax_: Any = field(init=False)
    figure_: Any = field(init=False)
    lines_: list[Any] = field(init=False)

    @classmethod
    def from_estimator(
        cls, classifier: NetBase, *, criterion: str = "scel", ax: Any = None
    ) -> Self:
        """Plot the history of a fitted network, or those of a search over learning rates.

        Parameters
        ----------
        classifier : fitted ComplementaryNetClassifier
        criterion : {"scel", "ure"}
        """
        if not isinstance(classifier, NetBase):
            raise TypeError(
                "classifier must be a fitted ComplementaryNetClassifier; got "
                f"{checks.shown(classifier)}. Of a pipeline pass the last step"
            )
        check_is_fitted(classifier, "history_")
        return cls(
            classifier.history_,
            best_epoch=classifier.best_epoch_,
            criterion=criterion,
            same_scale=criterion == "scel" and methods.find(classifier.method).loss_is_scel,
            histories=getattr(classifier, "histories_", None),
        ).plot(ax)

    @classmethod
    def from_history(
        cls,
        history: History,
        best_epoch: int | None = None,
        *,
        criterion: str = "scel",
        same_scale: bool = False,
        ax: Any = None,
    ) -> Self:
        """Plot a history such as ``history_`` of a fitted network; parameters as of the class."""
        display = cls(history, best_epoch=best_epoch, criterion=criterion, same_scale=same_scale)
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, by default on a new figure, and return the display."""
        self._check()
        ax = new_axes(type(self).__name__) if ax is None else ax
        ticker = require("matplotlib.ticker", "report", "TrainingCurveDisplay")
        self.ax_, self.figure_, self.loss_ax_, self.lines_ = ax, ax.figure, None, []
        self._bands: list[Any] = []
        if self.histories:
            self._plot_rates(self.histories)
        else:
            self._plot_one()
        handles = [*self.lines_, *self._bands]
        if self.best_epoch:
            label = f"epoch kept: {self.best_epoch}"
            handles.append(ax.axvline(self.best_epoch, color="0.3", lw=0.8, ls=":", label=label))
        ax.set_xlabel("epoch")
        ax.xaxis.set_major_locator(ticker.MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        self._legend(handles)
        return self

    def _check(self) -> None:
        if self.criterion not in _CRITERIA:
            raise ValueError(
                f"criterion must be 'scel' or 'ure'; got {checks.shown(self.criterion)}"
            )
        if not isinstance(self.history, Mapping) or "loss" not in self.history:
            raise ValueError(
                "history must be a dict with a number for each epoch under 'loss'; got "
                f"{checks.shown(self.history)}. Pass history_ of a fitted network"
            )

    def _legend(self, handles: list[Any]) -> None:
        # The legend gets room above the curves: among them it would hide curves of the other axis.
        room = 0.04 + 0.07 * math.ceil(len(handles) / 2)
        for ax in {self.ax_, self.loss_ax_ or self.ax_}:
            bottom, top = ax.get_ylim()
            ax.set_ylim(bottom, top + room * (top - bottom))
        self.ax_.legend(handles=handles, loc="upper center", ncols=2, framealpha=1)

    def _plot_one(self) -> None:
        ax = self.ax_
        if not _has(self.history, self.criterion):
            self.loss_ax_ = ax
            self._line(ax, self.history, "loss", _LOSS, ls="--", color="tab:orange")
            ax.set_ylabel(_LOSS)
            return
        self._line(ax, self.history, self.criterion, self._name(), ls="-", color="tab:blue")
        self._band(self.lines_[0])
        ax.set_ylabel(self._name())
        if self.same_scale:
            self.loss_ax_ = ax
            ax.set_ylabel("SCEL")
        else:
            self.loss_ax_ = ax.twinx()
            self.loss_ax_.set_ylabel(f"{_LOSS} (dashed)")
            # The criterion and the legend stay above the curve of the loss.
            ax.set_zorder(self.loss_ax_.get_zorder() + 1)
            ax.patch.set_visible(False)
        self._line(self.loss_ax_, self.history, "loss", _LOSS, ls="--", color="tab:orange")

    def _plot_rates(self, histories: Mapping[float, History]) -> None:
        measured = any(_has(history, self.criterion) for history in histories.values())
        what = self.criterion if measured else "loss"
        styles = itertools.cycle(_OTHER_STYLES)
        for rate, history in histories.items():
            if "loss" not in history:  # it failed in its first epoch
                continue
            kept = np.array_equal(history["loss"], self.history["loss"])
            look = {"ls": "-", "lw": 2.5} if kept else {"ls": next(styles), "lw": 1.0}
            line = self._line(self.ax_, history, what, f"learning rate {rate:g}", **look)
            if kept and measured:
                self._band(line)
        self.ax_.set_ylabel(self._name() if measured else _LOSS)

    def _line(self, ax: Any, history: History, what: str, label: str, **look: Any) -> Any:
        values = _values(history, what)
        # A line through one point would not be seen.
        marker = "o" if len(values) == 1 else None
        (line,) = ax.plot(np.arange(1, len(values) + 1), values, label=label, marker=marker, **look)
        self.lines_.append(line)
        return line

    def _band(self, line: Any) -> None:
        if not _has(self.history, f"{self.criterion}_std_error"):
            return
        values = _values(self.history, self.criterion)
        error = _values(self.history, f"{self.criterion}_std_error")
        look = {"color": line.get_color(), "alpha": 0.15, "lw": 0, "label": "± standard error"}
        epochs = np.arange(1, len(values) + 1)
        self._bands.append(self.ax_.fill_between(epochs, values - error, values + error, **look))

    def _name(self) -> str:
        return f"{self.criterion.upper()} (held out)"


def _values(history: History, what: str) -> FloatArray:
    return np.asarray(history[what], dtype=np.float64)


def _has(history: History, what: str) -> bool:
    return what in history and not np.isnan(_values(history, what)).all()
