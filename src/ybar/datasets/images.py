"""Read an image file as a grey square. Images are not trusted."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..utils.extras import require
from ..utils.files import reading
from ..utils.typing import AnyArray

# The content of a file determines its format, not its name. Pillow reads more formats than these,
# and passes some of them to other programs: PostScript to Ghostscript.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")
_MOST_PIXELS = 50_000_000
_EIGHT_BITS = ("1", "L", "LA", "La", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV")
_WHITE = 65535  # in 16 bits


def read_grey(path: Path, size: int, as_error: type[ValueError] = ValueError) -> AnyArray:
    """Return the grey values of an image, scaled to a square.

    Parameters
    ----------
    path : Path
    size : int
        The side of the square in pixels.
    as_error : type
        The exception for a file that is no image, has too many pixels, or has pixels of another
        type than 8 or 16 bits.

    Returns
    -------
    ndarray of uint8, of shape (size, size)
        0 is black and 255 is white, also for images of 16 bits.
    """
    pillow = require("PIL.Image", "data", "reading images")
    with warnings.catch_warnings(), reading(str(path), as_error):
        warnings.simplefilter("ignore", pillow.DecompressionBombWarning)
        with pillow.open(path, formats=_FORMATS) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise as_error(
                    f"{path} must have at most {_MOST_PIXELS:,} pixels; it has "
                    f"{opened.width} x {opened.height}. Make it smaller"
                )
            return np.asarray(_grey(pillow, opened, path, as_error).resize((size, size)))


def _grey(pillow: Any, opened: Any, path: Path, as_error: type[ValueError]) -> Any:
    if opened.mode in _EIGHT_BITS or opened.mode.startswith("RGB"):
        return opened.convert("L")
    # Older versions of Pillow open a PNG of 16 bits as "I".
    if opened.mode.startswith("I;16") or (opened.mode == "I" and opened.format == "PNG"):
        values = np.array(opened, np.float32)
        values *= np.float32(255 / _WHITE)  # in place, as all below: an image may be large
        return pillow.fromarray(np.rint(values, out=values).astype(np.uint8))
    raise as_error(
        f"{path} must have 8 or 16 bits per channel; Pillow calls its pixels {opened.mode!r}. "
        "Save it as an image of 8 bits"
    )
