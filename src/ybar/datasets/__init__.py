"""Load data: the image sets of the field, scikit-learn's digits, and your own files.

`load` returns training and test rows, their classes and the names of the classes, for every kind of
source. `stream` reads files that are larger than memory, for networks. External data are not
trusted: `fetch` checks the size and the sha256 of each download before it moves the file into
place, sizes are checked before memory is allocated, and nothing is unpickled.
"""

from ..neural.streaming import stream
from .download import fetch
from .loading import load
from .reading import read_idx
from .registry import REGISTRY, UNVERIFIED, damage, find

__all__ = ["REGISTRY", "UNVERIFIED", "damage", "fetch", "find", "load", "read_idx", "stream"]
