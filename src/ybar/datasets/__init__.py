"""Load data: the image sets of the field, scikit-learn's digits, and your own files.

`stream` reads files that are larger than memory, for networks.

`load` returns training and test rows, their classes and the names of the classes, whatever the
source is. Data from outside are not trusted: `fetch` checks the size and the sha256 of each
download before it moves the file into place, sizes are checked before memory is spent, and nothing
is unpickled.
"""

from ..neural.streaming import stream
from .download import fetch
from .loading import load
from .reading import read_idx
from .registry import REGISTRY, UNVERIFIED, damage, find

__all__ = ["REGISTRY", "UNVERIFIED", "damage", "fetch", "find", "load", "read_idx", "stream"]
