"""Save and load fitted classifiers with skops, without pickle.

A file is one line of text, ``ybar-model <format> <bytes> <sha256>``, followed by the output of
skops: a zip of JSON and plain arrays. `load` checks the whole file before skops sees it: sizes and
references (`container`, `schema`), what may be created and called (`trust`), and the numbers that
native code uses as indices (`native`, `lightgbm_text`). `save` runs the same checks.
"""

from .files import load, save

__all__ = ["load", "save"]
