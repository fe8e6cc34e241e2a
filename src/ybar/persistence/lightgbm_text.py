"""Check the text of a LightGBM model, because LightGBM reads it without checks."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ..utils.typing import IntArray
from .container import check_within

_MOST_WHOLE_DIGITS = 10
_CATEGORICAL = 1  # the bit of decision_type that marks a split by categories
_END = b"end of trees"
_PER_SPLIT = ["split_gain", "threshold", "internal_value", "internal_weight", "internal_count"]
_PER_LEAF = ["leaf_value", "leaf_weight", "leaf_count", "leaf_const"]


def check_text(text: str) -> None:
    """Raise `ValueError` unless a text holds trees whose indices and lengths fit together."""
    content = text.encode()
    if not content.startswith(b"tree\n") or b"\0" in content:
        raise ValueError("a LightGBM model must be a text that starts with 'tree'")
    start, end = content.find(b"\nTree="), content.find(_END)
    if start < 0 or end < start:
        raise ValueError("a LightGBM model must have trees")
    start += 1
    header = _fields(content[:start])
    features = _whole(header, "max_feature_idx", 0) + 1
    if len(header["feature_names"].split()) != features:
        raise ValueError("feature_names of a LightGBM model must have one name per feature")
    sizes = _integers(header, "tree_sizes")
    check_within(sizes, 1, len(content), "tree_sizes")
    if sizes.sum() != end - start:
        raise ValueError("tree_sizes of a LightGBM model must be the lengths of its trees")
    _check_classes(header, len(sizes))
    stops = start + np.cumsum(sizes)
    for number, stop in enumerate(stops):
        block = content[stop - sizes[number] : stop]
        if not block.startswith(b"Tree=%d\n" % number) or b"\nTree=" in block:
            raise ValueError("tree_sizes of a LightGBM model must be the lengths of its trees")
        _check_tree(_fields(block), features)


def _fields(block: bytes) -> dict[str, str]:
    lines = block.decode().splitlines()
    fields = [line.partition("=")[::2] for line in lines if "=" in line]
    names = [name for name, _ in fields]
    if len(set(names)) < len(names):
        raise ValueError("a LightGBM model names a field twice")
    return dict(fields)


def _whole(fields: Mapping[str, str], name: str, low: int) -> int:
    text = fields.get(name, "")
    if not re.fullmatch(rf"\d{{1,{_MOST_WHOLE_DIGITS}}}", text) or not low <= int(text) < 2**31:
        raise ValueError(f"{name} of a LightGBM model must be at least {low}; got {text[:40]!r}")
    return int(text)


def _integers(fields: Mapping[str, str], name: str) -> IntArray:
    words = fields.get(name, "").split()
    if not all(re.fullmatch(rf"-?\d{{1,{_MOST_WHOLE_DIGITS}}}", word) for word in words):
        raise ValueError(f"{name} of a LightGBM model must be integers")
    return np.array([int(word) for word in words], np.int64)


def _check_classes(header: Mapping[str, str], trees: int) -> None:
    classes = _whole(header, "num_class", 1)
    per_iteration = _whole(header, "num_tree_per_iteration", 1)
    if classes != per_iteration or trees % per_iteration or trees < per_iteration:
        raise ValueError(
            f"a LightGBM model of {classes} classes has {trees} trees, {per_iteration} at a time"
        )
    objective = header.get("objective", "").split()
    named = [int(n) for word in objective for n in re.findall(r"^num_class:(\d{1,10})$", word)]
    needed = bool(objective) and objective[0].startswith("multiclass")
    if named != [classes] and (named or needed):
        raise ValueError(f"objective of a LightGBM model must have num_class:{classes}")


def _check_tree(fields: Mapping[str, str], features: int) -> None:
    leaves, categories = _whole(fields, "num_leaves", 1), _whole(fields, "num_cat", 0)
    splits = leaves - 1
    lengths = {**dict.fromkeys(_PER_SPLIT, splits), **dict.fromkeys(_PER_LEAF, leaves)}
    for name, length in lengths.items():
        # A tree of a single leaf may omit fields.
        needed = name == "leaf_value" or (name == "threshold" and splits)
        words = fields.get(name, "").split()
        if len(words) != length and (needed or words) and not (leaves == 1 and not needed):
            raise ValueError(f"{name} of a tree must have {length} numbers; got {len(words)}")
    if splits:
        _check_splits(fields, splits, features, categories)
    if _whole({"is_linear": fields.get("is_linear", "0")}, "is_linear", 0):
        _check_linear(fields, leaves, features)


def _check_splits(fields: Mapping[str, str], splits: int, features: int, categories: int) -> None:
    names = ("split_feature", "decision_type", "left_child", "right_child")
    feature, decision, left, right = (_integers(fields, name) for name in names)
    if {len(feature), len(decision), len(left), len(right)} != {splits}:
        raise ValueError(f"a tree of {splits} splits must have as many children and features")
    check_within(feature, 0, features, "split_feature")
    children = np.concatenate([left, right])
    # A leaf i is written as -i - 1. All nodes but the root are the child of one parent.
    if not np.array_equal(np.sort(children), np.r_[-splits - 1 : 0, 1:splits]):
        raise ValueError("each node and leaf of a tree must be the child of one split")
    if (children[children > 0] <= np.tile(np.arange(splits), 2)[children > 0]).any():
        raise ValueError("a tree has a child before its parent")
    by_category = (decision & _CATEGORICAL) != 0
    if categories or by_category.any():
        _check_categories(fields, by_category, categories)


def _check_categories(fields: Mapping[str, str], used: IntArray, categories: int) -> None:
    bounds = _integers(fields, "cat_boundaries")
    if len(bounds) != categories + 1 or bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise ValueError("cat_boundaries of a tree must rise from 0, one entry per split")
    if bounds[-1] != len(_integers(fields, "cat_threshold")):
        raise ValueError("cat_threshold of a tree must end where cat_boundaries end")
    words = [word for word, by in zip(fields["threshold"].split(), used, strict=True) if by]
    check_within(_integers({"threshold": " ".join(words)}, "threshold"), 0, categories, "threshold")


def _check_linear(fields: Mapping[str, str], leaves: int, features: int) -> None:
    counts, used = _integers(fields, "num_features"), _integers(fields, "leaf_features")
    check_within(counts, 0, features + 1, "num_features")
    check_within(used, 0, features, "leaf_features")
    coefficients = fields.get("leaf_coeff", "").split()
    if len(counts) != leaves or counts.sum() != len(used) or len(used) != len(coefficients):
        raise ValueError("the linear models of a tree must have one coefficient per feature")
    if len(fields.get("leaf_const", "").split()) != leaves:
        raise ValueError("the linear models of a tree must have one constant per leaf")
