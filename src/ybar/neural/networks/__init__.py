"""The networks that the loop trains: stacks of dense ones, any torch module, two for images.

`Dense` and `Module` both have ``forward(x, train)``, which returns logits of shape (runs, rows, K),
``backward(gradient)``, which writes the gradients of ``parameters``, and ``weights(run)`` with
``set_weights``. `small_cnn` and `resnet18` build modules for images. This package imports torch.
"""

from .cnn import small_cnn
from .dense import Dense
from .images import Augment, Images
from .module import Module
from .resnet import resnet18

__all__ = ["Augment", "Dense", "Images", "Module", "resnet18", "small_cnn"]
