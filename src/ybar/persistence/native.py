"""Checks of the numbers that compiled code uses as indices, lengths or addresses.

scikit-learn's trees, gradient-boosting predictors, nearest-neighbour trees, libsvm and numpy's
generators trust their learned arrays: an index outside an array reads foreign memory or ends the
process. Every child of a tree must come after its parent, so a prediction cannot run in circles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..utils.typing import AnyArray
from .container import check_within
from .lightgbm_text import check_text
from .schema import Node

_MOST_THREADS = 1024
_MT19937_WORDS = 624
_POOL_SIZE = 4
_BITSET_WORDS = 8
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "SFC64")
_TREE_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


def check_numbers(tree: Node) -> None:
    """Raise `ValueError` if a model holds numbers that would crash compiled code."""
    for node in tree.walk():
        if node.loader in _BY_LOADER:
            _BY_LOADER[node.loader](node)
        if node.loader == "ObjectNode" and node.name in _BY_NAME:
            _BY_NAME[node.name](node)


def _whole(node: Node | None, name: str, low: int, high: int) -> int:
    value = None if node is None else node.value
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        value = value.item()
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}; got {value!r:.40}")
    return value


def _array(node: Node | None, name: str, dimensions: int, kinds: str = "iuf") -> AnyArray:
    value = None if node is None else node.value
    if node is None or node.name != "numpy.ndarray" or not isinstance(value, np.ndarray):
        raise ValueError(f"{name} must be an array")
    if value.ndim != dimensions or value.dtype.kind not in kinds:
        raise ValueError(
            f"{name} must have {dimensions} dimensions; got {value.ndim} of type {value.dtype}"
        )
    return value


def _columns(nodes: AnyArray, names: tuple[str, ...]) -> list[AnyArray]:
    if not nodes.dtype.names or set(names) - set(nodes.dtype.names):
        raise ValueError(f"the nodes of a tree must have {names}")
    return [nodes[name] for name in names]


def _check_children(parents: AnyArray, count: int, *children: AnyArray) -> None:
    """Check that each child comes after its parent, and belongs to no other."""
    seen = np.concatenate([child[parents].astype(np.int64) for child in children])
    check_within(seen, 1, count, "children of a tree")
    if (seen <= np.tile(np.flatnonzero(parents), len(children))).any():
        raise ValueError("a tree has a child before its parent")
    if len(np.unique(seen)) < len(seen):
        raise ValueError("a tree has a child of two parents")


def _depth(left: AnyArray, right: AnyArray) -> int:
    """Return the depth of a tree whose children come after their parents."""
    depth = np.zeros(len(left), np.intp)
    for parent in np.flatnonzero(left > 0):
        depth[left[parent]] = depth[right[parent]] = depth[parent] + 1
    return int(depth.max(initial=0))


# scikit-learn's decision trees


def _check_tree(node: Node) -> None:
    arguments = list(node.children["__reduce__/args"].items().values())
    if node.children["__reduce__/args"].name != "builtins.tuple" or len(arguments) != 3:
        raise ValueError("a tree needs the numbers of its features, classes and outputs")
    features = _whole(arguments[0], "n_features", 0, 2**31 - 1)
    outputs = _array(arguments[1], "n_classes", 1, "iu")
    _whole(arguments[2], "n_outputs", len(outputs), len(outputs))
    state = node.attributes()
    nodes = _array(state.get("nodes"), "nodes", 1, "V")
    values = _array(state.get("values"), "values", 3, "f")
    check_within(outputs, 1, max(values.size, 1) + 1, "n_classes of a tree")
    if values.shape != (len(nodes), len(outputs), outputs.max(initial=0)) or not values.size:
        raise ValueError(f"the values of a tree have the shape {values.shape}")
    left, right, feature = _columns(nodes, ("left_child", "right_child", "feature"))
    inner = left != -1
    _check_children(inner, len(nodes), left, right)
    check_within(feature[inner], 0, features, "features of a tree")
    _whole(state.get("node_count"), "node_count", len(nodes), len(nodes))
    _whole(state.get("max_depth"), "max_depth", _depth(left, right), len(nodes))


def _tree_features(estimator: Node) -> int:
    """Return the number of features of a fitted decision tree, which it must check itself."""
    state = estimator.attributes()
    tree = state.get("tree_")
    if tree is None or tree.loader != "TreeNode":
        raise ValueError(f"a {estimator.name} must hold a fitted tree")
    features = next(iter(tree.children["__reduce__/args"].items().values())).value
    return _whole(state.get("n_features_in_"), "n_features_in_", features, features)


def _check_tree_estimator(node: Node) -> None:
    if "tree_" in node.attributes():
        _tree_features(node)


def _members(node: Node | None) -> list[Node]:
    return [] if node is None else list(node.items().values())


def _check_forest(node: Node) -> None:
    state = node.attributes()
    _check_ensemble(state, _members(state.get("estimators_")))


def _check_ensemble(state: Mapping[str, Node], trees: list[Node]) -> None:
    """Check that an ensemble and its trees count the same features: only the ensemble checks X."""
    for tree in trees:
        features = _tree_features(tree)
        _whole(state.get("n_features_in_"), "n_features_in_", features, features)


def _check_gradient_boosting(node: Node) -> None:
    state = node.attributes()
    if "estimators_" not in state:
        return
    classes = state["classes_"].length()
    width = 1 if classes == 2 else classes
    _whole(state.get("n_trees_per_iteration_"), "n_trees_per_iteration_", width, width)
    rows = _members(state["estimators_"])
    if any(row.loader != "ListNode" or len(_members(row)) != width for row in rows):
        raise ValueError("each iteration of gradient boosting must have one tree per class")
    trees = [tree for row in rows for tree in _members(row)]
    _check_ensemble(state, trees)
    for tree in trees:
        arguments = list(tree.attributes()["tree_"].children["__reduce__/args"].items().values())
        if arguments[1].value.tolist() != [1]:
            raise ValueError("a tree of gradient boosting must have one output")
    init = state.get("init_")
    if init is None or init.value == "zero":
        return
    prior = init.attributes().get("class_prior_")
    if init.name == "sklearn.dummy.DummyClassifier" and len(_array(prior, "prior", 1)) != classes:
        raise ValueError("the first estimate of gradient boosting must have one prior per class")


# Histogram gradient boosting


def _check_predictor(node: Node) -> None:
    state = node.attributes()
    nodes = _array(state.get("nodes"), "nodes", 1, "V")
    names = ("left", "right", "is_leaf", "is_categorical", "bitset_idx")
    left, right, leaf, categorical, bitset = _columns(nodes, names)
    if not len(nodes):
        raise ValueError("a tree must have nodes")
    _check_children(leaf == 0, len(nodes), left, right)
    used = bitset[(leaf == 0) & (categorical != 0)]
    for name in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        bitsets = _array(state.get(name), name, 2, "u")
        check_within(used, 0, len(bitsets), "bitset_idx")
        if bitsets.shape[1] != _BITSET_WORDS:
            raise ValueError(f"{name} must have {_BITSET_WORDS} columns; got {bitsets.shape[1]}")


def _check_hist_gradient_boosting(node: Node) -> None:
    state = node.attributes()
    if "_predictors" not in state:
        return
    binning = state["_bin_mapper"].attributes()
    categorical = _array(binning.get("is_categorical_"), "is_categorical_", 1, "biu")
    features = len(categorical)
    _whole(state.get("n_features_in_"), "n_features_in_", 0, 2**31 - 1)
    preprocessor = state.get("_preprocessor")
    if preprocessor is None or preprocessor.loader == "JsonNode":
        _whole(state.get("n_features_in_"), "n_features_in_", features, features)
    if len(_members(binning.get("bin_thresholds_"))) != features:
        raise ValueError("bin_thresholds_ must have one item per feature")
    classes = state["classes_"].length()
    width = 1 if classes == 2 else classes
    _whole(state.get("n_trees_per_iteration_"), "n_trees_per_iteration_", width, width)
    for iteration in _members(state["_predictors"]):
        if len(_members(iteration)) != width:
            raise ValueError("an iteration must have one tree per class")
        for predictor in _members(iteration):
            _check_features(predictor, categorical)


def _check_features(predictor: Node, categorical: AnyArray) -> None:
    nodes = predictor.attributes()["nodes"].value if predictor.name == _TREE_PREDICTOR else None
    if nodes is None:
        raise ValueError(f"a predictor cannot be a {predictor.name}")
    inner = nodes[nodes["is_leaf"] == 0]
    check_within(inner["feature_idx"], 0, len(categorical), "feature_idx")
    by_category = inner[inner["is_categorical"] != 0]
    if not categorical[by_category["feature_idx"]].all():
        raise ValueError("a tree splits by the categories of a feature that has none")


# Nearest neighbours


def _check_neighbour_tree(node: Node) -> None:
    parts = list(node.children["content"].items().values())
    if node.children["content"].name != "builtins.tuple" or len(parts) != 13:
        raise ValueError("a tree of neighbours must have 13 parts")
    data, order = _array(parts[0], "data", 2, "f"), _array(parts[1], "idx_array", 1, "iu")
    nodes, bounds = _array(parts[2], "node_data", 1, "V"), _array(parts[3], "node_bounds", 3, "f")
    rows, features = data.shape
    count = _whole(parts[6], "n_nodes", 1, len(nodes))
    levels = _whole(parts[5], "n_levels", 1, 62)
    if count != len(nodes) or count != 2**levels - 1 or rows < 1 or features < 1:
        raise ValueError(f"a tree of {levels} levels has {count} nodes, {rows} rows")
    if bounds.shape[0] != 1 + ("_kd_tree" in node.name) or bounds.shape[1:] != (count, features):
        raise ValueError(f"node_bounds of a tree have the shape {bounds.shape}")
    if len(order) != rows or len(np.unique(order)) != rows:
        raise ValueError("idx_array must name each row once")
    check_within(order, 0, rows, "idx_array")
    start, end, leaf = _columns(nodes, ("idx_start", "idx_end", "is_leaf"))
    check_within(start, 0, rows + 1, "idx_start")
    check_within(end, 0, rows + 1, "idx_end")
    inner = np.flatnonzero(leaf == 0)
    if (start > end).any() or (2 * inner + 2 >= count).any():
        raise ValueError("a tree of neighbours has a node without its rows or its children")
    for part, name in zip((4, 7, 8, 9, 10), ("leaf_size", "", "", "", ""), strict=True):
        _whole(parts[part], name or "a counter", 0, 2**62)
    if not parts[11].name.startswith("sklearn.metrics._dist_metrics."):
        raise ValueError(f"a distance cannot be a {parts[11].name}")
    if isinstance(parts[12].value, np.ndarray):
        if parts[12].value.shape != (rows,):
            raise ValueError("sample_weight must have one entry per row")
    elif parts[12].loader != "JsonNode" or parts[12].value is not None:
        raise ValueError("sample_weight must be an array or null")


def _check_neighbours(node: Node) -> None:
    """Check the rows that a search returns, which index the classes of a classifier."""
    state = node.attributes()
    if "_fit_X" not in state:
        return
    rows = _whole(state.get("n_samples_fit_"), "n_samples_fit_", 1, 2**62)
    features = _whole(state.get("n_features_in_"), "n_features_in_", 1, 2**31 - 1)
    data, tree = state["_fit_X"], state.get("_tree")
    sparse = data.loader == "SparseMatrixNode"
    if (data.value if sparse else _array(data, "_fit_X", 2).shape) != (rows, features):
        raise ValueError(f"_fit_X must have {rows} rows of {features} features")
    if tree is not None and tree.loader == "ObjectNode":
        searched = _members(tree.children["content"])[0].value
        if not isinstance(searched, np.ndarray) or searched.shape != (rows, features):
            raise ValueError(f"the searched tree must have {rows} rows of {features} features")
    classes, labels = state.get("classes_"), state.get("_y")
    if classes is not None and labels is not None and classes.loader == "NdArrayNode":
        check_within(_array(labels, "_y", 1, "iu"), 0, classes.length(), "_y")
        if len(labels.value) != rows:
            raise ValueError(f"_y must have {rows} entries")


def _check_labels(node: Node) -> None:
    """Check the labels of the rows, which index a sparse matrix of patterns."""
    state = node.attributes()
    table = _array(state.get("_label_table"), "_label_table", 2, "b")
    check_within(_array(state.get("_code"), "_code", 1, "iu"), 0, len(table), "_code")


# libsvm


def _check_svm(node: Node) -> None:
    state = node.attributes()
    if "support_vectors_" not in state:
        return
    per_class = _array(state.get("_n_support"), "_n_support", 1, "iu")
    support = _array(state.get("support_"), "support_", 1, "iu")
    vectors = state["support_vectors_"]
    dual = _array(state.get("_dual_coef_"), "_dual_coef_", 2, "f")
    classes = len(per_class)
    check_within(per_class, 0, len(support) + 1, "_n_support")
    pairs = classes * (classes - 1) // 2
    intercept = _array(state.get("_intercept_"), "_intercept_", 1, "f")
    features = _whole(state.get("n_features_in_"), "n_features_in_", 1, 2**31 - 1)
    expected = (len(support), features)
    if classes < 2 or per_class.sum() != len(support) or len(intercept) != pairs:
        raise ValueError("the support vectors of an SVM do not fit its classes")
    if _array(vectors, "support_vectors_", 2, "f").shape != expected:
        raise ValueError(f"support_vectors_ must have the shape {expected}")
    if dual.shape != (classes - 1, len(support)):
        raise ValueError(f"_dual_coef_ must have the shape {(classes - 1, len(support))}")
    for name in ("_probA", "_probB"):
        if len(_array(state.get(name), name, 1, "f")) not in (0, pairs):
            raise ValueError(f"{name} must have {pairs} entries or none")
    kernel = state.get("kernel")
    if kernel is None or kernel.value not in ("linear", "poly", "rbf", "sigmoid"):
        raise ValueError("an SVM must have one of libsvm's kernels")


# Encoders, whose numbers become the indices of a sparse matrix


def _check_one_hot(node: Node) -> None:
    state = node.attributes()
    if "categories_" not in state:
        return
    widths = [_whole(n, "_n_features_outs", 0, 2**31) for n in _members(state["_n_features_outs"])]
    categories = [values.length() for values in _members(state["categories_"])]
    mappings = _members(state.get("_default_to_infrequent_mappings"))
    for i, mapping in enumerate(mappings[: len(categories)]):
        if mapping.value is not None:
            values = _array(mapping, "a mapping of categories", 1, "iu")
            check_within(values, 0, categories[i], "a mapping of categories")
            if len(values) != categories[i]:
                raise ValueError("a mapping must have one entry per category")
            categories[i] = int(values.max(initial=0)) + 1
    dropped = [count - width for count, width in zip(categories, widths, strict=True)]
    if set(dropped) - {0, 1}:
        raise ValueError("_n_features_outs must be the numbers of categories")


def _check_vocabulary(node: Node) -> None:
    terms = node.attributes().get("vocabulary_")
    for index in _members(terms):
        _whole(index, "vocabulary_", 0, len(_members(terms)) - 1)


# Generators, LightGBM, and settings of every object


def _check_random_state(node: Node) -> None:
    content = node.children["content"].items()
    if content["bit_generator"].value != "MT19937":
        raise ValueError("a RandomState must be an MT19937")
    state = content["state"].items()
    if _array(state["key"], "key", 1, "iu").shape != (_MT19937_WORDS,):
        raise ValueError(f"the key of a generator must have {_MT19937_WORDS} words")
    _whole(state["pos"], "pos", 0, _MT19937_WORDS)


def _check_generator(node: Node) -> None:
    kind = node.children["content/bit_generator"].items()["bit_generator"].value
    if kind not in _BIT_GENERATORS:
        raise ValueError(f"a generator must be one of {_BIT_GENERATORS}; got {kind!r:.40}")
    _whole(node.children["content/seed_seq"].items().get("pool_size"), "pool_size", _POOL_SIZE, 64)


def _check_object(node: Node) -> None:
    """Check the numbers of threads and classes of any object, because they allocate memory."""
    state = node.attributes()
    if "n_jobs" in state and state["n_jobs"].value is not None:
        _whole(state["n_jobs"], "n_jobs", -_MOST_THREADS, _MOST_THREADS)
    if {"n_classes_", "classes_"} <= state.keys() and state["classes_"].loader == "NdArrayNode":
        _whole(state["n_classes_"], "n_classes_", *[state["classes_"].length()] * 2)


def _check_text_of(name: str, *names: str) -> Callable[[Node], None]:
    def check(node: Node) -> None:
        state = node.attributes()
        texts = [state[key].value for key in (name, *names) if key in state]
        if len(texts) != 1 or not isinstance(texts[0], str):
            raise ValueError(f"a {node.name} must hold the text of one model")
        check_text(texts[0])

    return check


_BY_LOADER: Mapping[str, Callable[[Node], None]] = {
    "TreeNode": _check_tree,
    "RandomStateNode": _check_random_state,
    "RandomGeneratorNode": _check_generator,
    "ObjectNode": _check_object,
}
_BY_NAME: Mapping[str, Callable[[Node], Any]] = {
    **{
        f"sklearn.tree._classes.{name}": _check_tree_estimator
        for name in (
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
            "ExtraTreeClassifier",
            "ExtraTreeRegressor",
        )
    },
    **{
        f"sklearn.ensemble._forest.{name}": _check_forest
        for name in (
            "RandomForestClassifier",
            "RandomForestRegressor",
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
            "RandomTreesEmbedding",
        )
    },
    "sklearn.ensemble._gb.GradientBoostingClassifier": _check_gradient_boosting,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": (
        _check_hist_gradient_boosting
    ),
    _TREE_PREDICTOR: _check_predictor,
    **{
        f"sklearn.neighbors.{name}": _check_neighbour_tree
        for name in ("_kd_tree.KDTree", "_kd_tree.KDTree32", "_ball_tree.BallTree")
    },
    **{
        f"sklearn.neighbors.{name}": _check_neighbours
        for name in (
            "_classification.KNeighborsClassifier",
            "_classification.RadiusNeighborsClassifier",
            "_unsupervised.NearestNeighbors",
        )
    },
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_one_hot,
    "sklearn.feature_extraction.text.CountVectorizer": _check_vocabulary,
    "sklearn.feature_extraction.text.TfidfVectorizer": _check_vocabulary,
    "sklearn.svm._classes.SVC": _check_svm,
    "sklearn.svm._classes.NuSVC": _check_svm,
    "lightgbm.basic.Booster": _check_text_of("_handle", "handle"),
    "ybar.classifiers.boosting.CPEBoostingClassifierCV": _check_text_of("model_"),
    "ybar.classifiers.neighbors.CPEKNeighborsClassifierCV": _check_labels,
}
