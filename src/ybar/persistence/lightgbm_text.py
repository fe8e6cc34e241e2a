"""Check the text of a LightGBM model, because LightGBM reads it without checks."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ..utils.typing import IntArray
from .container import check_within

_WHOLE = "[0-9]{1,10}"  # not "\\d", which matches digits that LightGBM reads as 0
_NUMBER = r"[-+]?([0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?|nan|inf)"  # LightGBM aborts at other words
_MOST_FIELDS = 23  # LightGBM does not read further fields of a tree
_CATEGORICAL = 1  # the bit of decision_type that marks a split by categories
_END = b"end of trees"
_PER_SPLIT = ["split_gain", "threshold", "internal_value", "internal_weight", "internal_count"]
_PER_LEAF = ["leaf_value", "leaf_weight", "leaf_count", "leaf_const"]


def check_text(text: str) -> None:
    """Raise `ValueError` unless a text holds trees whose indices and lengths fit together."""
    content = text.encode()
    if not content.startswith(b"tree\n") or b"\0" in content or b"\r" in content:
        raise ValueError("a LightGBM model must be lines of text of which the first is 'tree'")
    start, end = content.find(b"\nTree="), content.find(_END)
    if start < 0 or end < start:
        raise ValueError("a LightGBM model must have trees")
    start += 1
    header = _fields(content[:start])
    features = _whole(header, "max_feature_idx", 0) + 1
    if len(_words(header, "feature_names")) != features:
        raise ValueError("feature_names of a LightGBM model must have one name per feature")
    sizes = _integers(header, "tree_sizes")
    check_within(sizes, 1, len(content), "tree_sizes")
    if sizes.sum() != end - start:
        raise ValueError("tree_sizes of a LightGBM model must be the lengths of its trees")
    _check_classes(header, len(sizes))
    stops = start + np.cumsum(sizes)
    for number, stop in enumerate(stops):
        block = content[stop - sizes[number] : stop]
        if not block.startswith(b"Tree=%d\n" % number):
            raise ValueError("tree_sizes of a LightGBM model must be the lengths of its trees")
        if any(b"=" not in line for line in block.rstrip(b"\n").split(b"\n")):
            raise ValueError("each line of a tree must have the form name=values")
        _check_tree(_fields(block), features)


def _fields(block: bytes) -> dict[str, str]:
    """Return the fields of a block, which LightGBM must split at the same places.

    It skips "=" at the start of a line.
    """
    lines = block.decode().rstrip("\n").split("\n")
    fields = dict(line.partition("=")[::2] for line in lines)
    if len(fields) < len(lines):
        raise ValueError("a LightGBM model names a field twice")
    if wrong := [name for name in fields if not re.fullmatch("[A-Za-z_]+", name)]:
        raise ValueError(f"a field of a LightGBM model must have a name; got {wrong[0][:40]!r}")
    return fields


def _whole(fields: Mapping[str, str], name: str, low: int) -> int:
    text = fields.get(name, "")
    if not re.fullmatch(_WHOLE, text) or not low <= int(text) < 2**31:
        raise ValueError(f"{name} of a LightGBM model must be at least {low}; got {text[:40]!r}")
    return int(text)


def _integers(fields: Mapping[str, str], name: str) -> IntArray:
    words = _words(fields, name)
    if not all(re.fullmatch(f"-?{_WHOLE}", word) for word in words):
        raise ValueError(f"{name} of a LightGBM model must be integers")
    return np.array([int(word) for word in words], np.int64)


def _words(fields: Mapping[str, str], name: str) -> list[str]:
    return [word for word in fields.get(name, "").split(" ") if word]


def _check_classes(header: Mapping[str, str], trees: int) -> None:
    classes = _whole(header, "num_class", 1)
    per_iteration = _whole(header, "num_tree_per_iteration", 1)
    if classes != per_iteration or trees % per_iteration or trees < per_iteration:
        raise ValueError(
            f"a LightGBM model of {classes} classes has {trees} trees, {per_iteration} at a time"
        )
    objective = _words(header, "objective")
    named = [word for word in objective if "num_class" in word]
    needed = bool(objective) and objective[0].startswith("multiclass")
    if named != [f"num_class:{classes}"] and (named or needed):
        raise ValueError(f"objective of a LightGBM model must have num_class:{classes}")


def _check_tree(fields: Mapping[str, str], features: int) -> None:
    if len(fields) > _MOST_FIELDS:
        raise ValueError(f"a tree must have at most {_MOST_FIELDS} fields; got {len(fields)}")
    for name in fields:
        if wrong := [word for word in _words(fields, name) if not re.fullmatch(_NUMBER, word)]:
            raise ValueError(f"{name} of a tree must be numbers; got {wrong[0][:40]!r}")
    leaves, categories = _whole(fields, "num_leaves", 1), _whole(fields, "num_cat", 0)
    splits = leaves - 1
    lengths = {**dict.fromkeys(_PER_SPLIT, splits), **dict.fromkeys(_PER_LEAF, leaves)}
    for name, length in lengths.items():
        # A tree of a single leaf may omit fields.
        needed = name == "leaf_value" or (name == "threshold" and splits)
        words = _words(fields, name)
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
    words = [word for word, by in zip(_words(fields, "threshold"), used, strict=True) if by]
    check_within(_integers({"threshold": " ".join(words)}, "threshold"), 0, categories, "threshold")


def _check_linear(fields: Mapping[str, str], leaves: int, features: int) -> None:
    counts, used = _integers(fields, "num_features"), _integers(fields, "leaf_features")
    check_within(counts, 0, features + 1, "num_features")
    check_within(used, 0, features, "leaf_features")
    coefficients = _words(fields, "leaf_coeff")
    if len(counts) != leaves or counts.sum() != len(used) or len(used) != len(coefficients):
        raise ValueError("the linear models of a tree must have one coefficient per feature")
    if len(_words(fields, "leaf_const")) != leaves:
        raise ValueError("the linear models of a tree must have one constant per leaf")
