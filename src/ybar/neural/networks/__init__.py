"""The networks that the loop trains: stacks of dense ones, any torch module, a convolutional one.

`Dense` and `Module` both have ``forward(x, train)``, which returns logits of shape (runs, rows, K),
``backward(gradient)``, which writes the gradients of ``parameters``, and ``weights(run)`` with
``set_weights``. This package imports torch.
"""

from .cnn import Shift, small_cnn
from .dense import Dense
from .module import Module

__all__ = ["Dense", "Module", "Shift", "small_cnn"]
