"""Features as one byte per value, and trees on such bytes as trees on the features themselves.

All partitions share the bins, which are computed once from a sample of all rows. A worker then
holds one byte per value in place of four or eight, and LightGBM reads them block by block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..utils.typing import AnyArray, BoolArray, FloatArray

MISSING = 255  # the code of NaN
_MOST_BINS = 255
_SAMPLED_ROWS = 200_000  # as many as LightGBM bins features by


def sample(X: AnyArray, n_parts: int, generator: np.random.Generator) -> AnyArray:
    """Return some rows of a partition at random."""
    n = min(len(X), max(_SAMPLED_ROWS // n_parts, 1))
    rows = generator.choice(len(X), n, replace=False)
    return X[np.sort(rows)]


def joined(samples: Sequence[AnyArray], lengths: Sequence[int]) -> AnyArray:
    """Return rows of all partitions, from each in proportion to its length."""
    density = min(len(rows) / n for rows, n in zip(samples, lengths, strict=True) if n)
    kept = [rows[: max(1, round(density * n))] for rows, n in zip(samples, lengths, strict=True)]
    return np.concatenate(kept)


def edges_of(rows: AnyArray, most_bins: int = _MOST_BINS) -> list[FloatArray]:
    """Return the upper edges of the bins of each feature, in ascending order, the last left out."""
    return [_edges(column[~np.isnan(column)], most_bins) for column in rows.T.astype(np.float64)]


def _edges(values: FloatArray, most_bins: int) -> FloatArray:
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if len(distinct) <= most_bins:
        return np.asarray((distinct[:-1] + distinct[1:]) / 2)
    shares = np.arange(1, most_bins) / most_bins
    return np.unique(np.quantile(values, shares, method="lower"))


def every_code(edges: Sequence[FloatArray], missing: BoolArray) -> AnyArray:
    """Return rows that hold all codes of each feature, with that of NaN if `missing`.

    LightGBM derives its bins from them. They are then the codes on every worker, whichever values
    its own rows have.
    """
    codes = np.minimum(np.arange(MISSING + 1)[:, None], [len(each) for each in edges])
    codes[-1, missing] = MISSING
    return codes.astype(np.uint8)


def binned(X: AnyArray, edges: Sequence[FloatArray]) -> AnyArray:
    """Return the bin of each value: the number of edges below it."""
    codes = np.empty(X.shape, np.uint8)
    for j, of_feature in enumerate(edges):
        column = X[:, j]
        codes[:, j] = np.searchsorted(of_feature, column.astype(np.float64))
        if column.dtype.kind == "f":
            codes[np.isnan(column), j] = MISSING
    return codes


def unbinned(codes: AnyArray) -> FloatArray:
    """Return codes as numbers for LightGBM, NaN for missing values."""
    values = codes.astype(np.float64)
    values[codes == MISSING] = np.nan
    return values


def on_features(text: str, edges: Sequence[FloatArray], names: Sequence[str]) -> str:
    """Return a model of LightGBM on codes as the same model on features.

    A code is at most c exactly if its feature is at most edge c, so that both models predict the
    same to the last bit.
    """
    head, *rest = text.split("\nTree=")
    *trees, last = rest
    last, end_mark, end = last.partition("end of trees")
    blocks = [f"Tree={_on_features(tree, edges)}\n" for tree in trees]
    blocks.append(f"Tree={_on_features(last, edges)}")
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    lines = {"tree_sizes": sizes, "feature_names": " ".join(names)}
    head = "\n".join(_replaced(line, lines) for line in head.split("\n"))
    return f"{head}\n{''.join(blocks)}{end_mark}{end}"


def _on_features(tree: str, edges: Sequence[FloatArray]) -> str:
    fields = dict(line.partition("=")[::2] for line in tree.split("\n") if "=" in line)
    if not fields.get("threshold"):
        return tree
    features = [int(word) for word in fields["split_feature"].split()]
    codes = [float(word) for word in fields["threshold"].split()]
    thresholds = [
        _threshold(code, edges[feature]) for feature, code in zip(features, codes, strict=True)
    ]
    lines = {"threshold": " ".join(map(repr, thresholds))}
    return "\n".join(_replaced(line, lines) for line in tree.split("\n"))


def _threshold(code: float, edges: FloatArray) -> float:
    # All values that are not missing lie left of a split behind the last bin.
    return float(edges[int(code)]) if code < len(edges) else math.inf


def _replaced(line: str, lines: dict[str, str]) -> str:
    name, equals, _ = line.partition("=")
    return f"{name}={lines[name]}" if equals and name in lines else line
