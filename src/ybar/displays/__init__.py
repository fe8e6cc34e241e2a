"""Plot a transition matrix, how single examples are decoded, and confusion matrices.

A confusion matrix needs no true labels: complementary labels and T give an unbiased estimate of it.
Everything can be read without colour; names of classes are drawn as they are, never as formulas.
"""

from .confusion import ConfusionDisplay
from .decoder import DecoderDisplay
from .training import TrainingCurveDisplay
from .transition import TransitionDisplay

__all__ = ["ConfusionDisplay", "DecoderDisplay", "TrainingCurveDisplay", "TransitionDisplay"]
