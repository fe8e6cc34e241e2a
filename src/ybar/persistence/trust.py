"""Which types a model file may create, and which of them it may call.

skops rejects names that are not trusted, but accepts a trusted name at any place of the file. For
example, it calls the name at the place of the type of a dictionary's keys. Here each kind of node
may only name types of that kind, so no function is called while a file loads.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from .schema import Node

FUNCTIONS = ("ybar.neural.networks.cnn.small_cnn", "ybar.neural.networks.resnet.resnet18")

# Types in our classifiers and in scikit-learn's usual base estimators that skops does not trust by
# default: containers of numbers and settings, which run no code from the file.
TYPES = (
    "builtins.range",
    "numpy.dtype",
    "numpy.random.bit_generator.SeedSequence",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList",  # of scikit-learn 1.6
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance32",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.ShuffleSplit",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._kd_tree.KDTree32",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "ybar.classifiers.boosting.CPEBoostingClassifierCV",
    "ybar.classifiers.cpe.CPEClassifier",
    "ybar.classifiers.kmeans.CPEKMeansClassifierCV",
    "ybar.classifiers.neighbors.CPEKNeighborsClassifierCV",
    "ybar.metrics.scorers.SCELScorer",
    "ybar.metrics.scorers.UREScorer",
    "ybar.neural.classifier.ComplementaryNetClassifier",
    "ybar.neural.search.ComplementaryNetClassifierCV",
    "ybar.tables.model.TableClassifier",
)
TRUSTED = (*TYPES, *FUNCTIONS)

# Parts of scikit-learn whose learned arrays are either checked (`native`), or used only by numpy
# and scipy, which check indices. skops trusts all estimators; here, others must be named.
_CHECKED = (
    "sklearn._loss.",
    "sklearn.calibration.",
    "sklearn.compose.",
    "sklearn.decomposition._pca.",
    "sklearn.decomposition._truncated_svd.",
    "sklearn.discriminant_analysis.",
    "sklearn.dummy.",
    "sklearn.ensemble._bagging.",
    "sklearn.ensemble._forest.",
    "sklearn.ensemble._gb.",
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.ensemble._stacking.",
    "sklearn.ensemble._voting.",
    "sklearn.ensemble._weight_boosting.",
    "sklearn.feature_extraction.text.",
    "sklearn.feature_selection.",
    "sklearn.impute._base.",
    "sklearn.kernel_approximation.",
    "sklearn.linear_model.",
    "sklearn.metrics._scorer.",
    "sklearn.model_selection.",
    "sklearn.multiclass.",
    "sklearn.naive_bayes.",
    "sklearn.neighbors._classification.",
    "sklearn.neighbors._unsupervised.",
    "sklearn.neighbors._nearest_centroid.",
    "sklearn.neural_network._multilayer_perceptron.",
    "sklearn.pipeline.",
    "sklearn.preprocessing.",
    "sklearn.random_projection.",
    "sklearn.svm._classes.",
    "sklearn.tree._classes.",
)

_KEYS = frozenset(
    ["builtins.str", "builtins.int", "builtins.float", "builtins.bool"]
    + [f"numpy.{t.__name__}" for t in np.sctypeDict.values() if issubclass(t, np.number | np.str_)]
    + ["numpy.bool", "numpy.bool_"]
)
_ARRAYS = _KEYS - {"builtins.str", "builtins.int", "builtins.float", "builtins.bool"} | {
    "numpy.ndarray",
    "numpy.bytes_",
}
_FACTORIES = frozenset(
    f"builtins.{name}" for name in ("dict", "list", "set", "int", "float", "str", "tuple")
) | {"collections.OrderedDict"}
_OPERATORS = frozenset(f"operator.{name}" for name in ("attrgetter", "itemgetter", "methodcaller"))
_STATES = ("DictNode", "TupleNode")
# "_loss" is the name of the compiled module in scikit-learn before 1.9.
_LOSSES = ("sklearn._loss._loss.", "_loss.", "sklearn.linear_model._sgd_fast.")

# The names that certain nodes may hold.
_NAMES: Mapping[str, Callable[[str], bool]] = {
    "NdArrayNode": _ARRAYS.__contains__,
    "RandomStateNode": "numpy.random.mtrand.RandomState".__eq__,
    "RandomGeneratorNode": "numpy.random._generator.Generator".__eq__,
    "LossNode": lambda name: name.startswith(_LOSSES),
    "TreeNode": "sklearn.tree._tree.Tree".__eq__,
    "OperatorFuncNode": _OPERATORS.__contains__,
}
_BASES: Mapping[str, type | tuple[type, ...]] = {
    "DictNode": dict,
    "ListNode": list,
    "TupleNode": tuple,
    "SetNode": (set, frozenset),
    "ObjectNode": object,
    "ConstructorFromReduceNode": object,
}


def untrusted(tree: Node, unknown_to_skops: Iterable[str], trusted: Iterable[str]) -> list[str]:
    """Return the sorted names in a file that neither ybar nor the user trusts."""
    unchecked = {
        node.name
        for node in tree.walk()
        if node.loader == "ObjectNode"
        and node.name.startswith("sklearn.")
        and not node.name.startswith(_CHECKED)
    }
    return sorted((unchecked | set(unknown_to_skops)) - set(TRUSTED) - set(trusted))


def check_calls(tree: Node, trusted: Iterable[str]) -> None:
    """Raise `ValueError` if loading would call a function or create a type of the wrong kind.

    All names of the file must be trusted already, since types that subclass a container are
    imported here.
    """
    named = frozenset(trusted)
    for node in tree.walk():
        if (allowed := _NAMES.get(node.loader)) and not allowed(node.name):
            raise ValueError(f"a {node.loader} cannot be a {node.name}")
        if base := _BASES.get(node.loader):
            _check_class(node, base)
        if node.loader == "ObjectNode":
            _check_state(node)
        if node.loader == "DictNode":
            _check_keys(node)
        elif node.loader == "DefaultDictNode":
            _check_factory(node.children.get("content/default_factory"))
        elif node.loader == "ConstructorFromReduceNode" and node.name not in named:
            _check_range(node)


def _check_class(node: Node, base: type | tuple[type, ...]) -> None:
    module, _, name = node.name.rpartition(".")
    found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(f"a {node.loader} cannot be a {node.name}")


def _check_state(node: Node) -> None:
    """Check the attributes of an object, since other collections would update it as well."""
    content = node.children.get("content")
    if content is None or _is_null(content):
        return
    kinds = ("DictNode",) if node.name.startswith(("ybar.", *_CHECKED)) else _STATES
    if content.loader not in kinds:
        raise ValueError(f"the attributes of a {node.name} cannot be a {content.loader}")


def _is_null(node: Node) -> bool:
    return node.loader == "JsonNode" and node.value is None


def _check_keys(node: Node) -> None:
    types = node.children["key_types"]
    names = [child.name for child in types.items().values()]
    if types.name != "builtins.list" or len(names) != len(node.items()):
        raise ValueError("a dictionary needs a type for each of its keys")
    for child in types.items().values():
        if child.loader != "TypeNode" or child.name not in _KEYS:
            raise ValueError(f"the keys of a dictionary cannot be {child.name}")


def _check_factory(factory: Node | None) -> None:
    if factory is None or _is_null(factory):
        return
    if factory.loader != "TypeNode" or factory.name not in _FACTORIES:
        raise ValueError(f"the values of a dictionary cannot be made by {factory.name}")


def _check_range(node: Node) -> None:
    """Check the length of a range, which the size of the file does not limit."""
    limits = node.children["content"].items() if node.name == "builtins.range" else {}
    values = [child.value for child in limits.values()]
    if len(values) != 3 or any(type(value) is not int for value in values) or not values[2]:
        raise ValueError(f"a {node.loader} cannot be a {node.name}")
    if len(range(*values)) > 10**6:
        raise ValueError(f"a range has {len(range(*values))} items; the limit is {10**6}")
