"""Plots in the manner of scikit-learn: ``SomethingDisplay.from_estimator(...)`` and ``.plot(ax=)``.

- `TransitionDisplay`: a transition matrix as a heat map.
- `DecoderDisplay`: why single examples are decoded to their classes.
- `ConfusionDisplay`: a confusion matrix. It needs no true labels: complementary labels and T yield
  an unbiased estimate.
- `TrainingCurveDisplay`: the loss and the held-out criterion of each epoch of a network.

All plots can be read without colour, and class names are drawn as they are, never as formulas.
"""

from .confusion import ConfusionDisplay
from .decoder import DecoderDisplay
from .training import TrainingCurveDisplay
from .transition import TransitionDisplay

__all__ = ["ConfusionDisplay", "DecoderDisplay", "TrainingCurveDisplay", "TransitionDisplay"]
