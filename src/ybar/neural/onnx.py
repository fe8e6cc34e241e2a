"""Write a fitted network as an ONNX file: from rows of X to classes, including the decoder."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from .. import decode, transition
from ..utils import checks
from ..utils.extras import require
from ..utils.files import target_file, write_whole
from ..utils.typing import AnyArray, FloatArray
from .base import NetBase
from .evaluate import Reading

__all__ = ["to_onnx"]

# onnxruntime 1.14 (2023) and later read this opset; the IR version was released with it.
_OPSET, _IR_VERSION = 18, 8
_DECODERS = ("l1", "l2", "max")
_DTYPES = ("float32", "uint8")


def to_onnx(
    classifier: NetBase,
    path: str | os.PathLike[str],
    *,
    example: ArrayLike | None = None,
    dtype: str = "float32",
) -> None:
    """Write a fitted network as an ONNX file, completely or not at all.

    The graph reads ``X`` of shape (N, n_features) for any N. It returns ``class_index`` (int64, the
    prediction as an index into ``classes_``), ``complementary_probabilities`` (q) and, if the
    method estimates p, ``probabilities`` (p), both float32.

    Parameters
    ----------
    classifier : fitted ComplementaryNetClassifier
        Its decoder must be "l1", "l2" or "max".
    path : str or path
        An existing file is replaced once the new one is complete.
    example : array-like of shape (N, ...), optional
        One or more rows of X, for their shape. Required if the classifier has a `network`.
    dtype : {"float32", "uint8"}
        Of ``X``. uint8 is scaled to [0, 1] in the graph, as the classifier does.

    Notes
    -----
    The metadata of the model hold the names of the classes, as JSON under ``classes``. The graph
    decodes in float64, as `predict` does, so the two differ only if classes tie to within
    rounding. The "l1" decoder holds N×K×K numbers: with many classes, pass few
    rows at a time.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, onnxruntime
    >>> from ybar import datasets, labels, transition
    >>> from ybar.neural import ComplementaryNetClassifier
    >>> from ybar.neural.onnx import to_onnx
    >>> d = datasets.load("digits")
    >>> y_comp = labels.draw(d.y_train, transition.uniform(10), random_state=0)
    >>> clf = ComplementaryNetClassifier(hidden_layer_sizes=(), max_epochs=5, random_state=0)
    >>> clf = clf.fit(d.X_train, y_comp)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(clf, f"{folder}/model.onnx")
    ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    >>> (index,) = session.run(["class_index"], {"X": d.X_test.astype(np.float32)})
    >>> bool((clf.classes_[index] == clf.predict(d.X_test)).all())
    True
    """
    onnx = require("onnx", "onnx", "to_onnx")
    reading = _check(classifier, dtype)
    target = target_file(path)
    graph = _Graph(onnx)
    if hasattr(classifier, "network_state_"):
        rows = _example(example)
        shape = rows.shape[1:]
        _add_module(graph, classifier, rows, dtype)
    else:
        shape = (classifier.n_features_in_,)
        _add_dense(graph, classifier, dtype)
    _add_reading(graph, reading, classifier.learned_transition_)
    model = graph.model(("N", *shape), dtype, len(classifier.classes_))
    names = json.dumps(classifier.classes_.tolist(), default=str, ensure_ascii=False)
    onnx.helper.set_model_props(model, {"classes": names})
    onnx.checker.check_model(model)
    write_whole(target, model.SerializeToString())


def _check(classifier: Any, dtype: Any) -> Reading:
    """Raise if the classifier cannot be exported; return how its logits become classes."""
    if not isinstance(classifier, NetBase):
        raise TypeError(
            "classifier must be a fitted ComplementaryNetClassifier; got "
            f"{checks.shown(classifier)}. Of a pipeline pass the last step"
        )
    if not hasattr(classifier, "classes_"):
        raise NotFittedError(
            f"classifier must be fitted before it is exported; this {type(classifier).__name__} "
            "is not. Call fit first"
        )
    if dtype not in _DTYPES:
        raise ValueError(f"dtype must be 'float32' or 'uint8'; got {checks.shown(dtype)}")
    reading = classifier._reading()
    if not isinstance(reading.decoder, str) or reading.decoder not in _DECODERS:
        raise ValueError(
            "decoder must be 'l1', 'l2' or 'max' to be exported; got "
            f"{checks.shown(reading.decoder)}. Choose one with set_params(decoder=...); there is "
            "no need to fit again"
        )
    return reading


def _example(example: ArrayLike | None) -> AnyArray:
    rule = "example must be an array of one or more rows of the X that fit was passed"
    if example is None:
        raise ValueError(f"{rule}, because the classifier has network=; got None. Pass X[:1]")
    rows = checks.array_of_numbers(example, rule)
    if rows.ndim < 2 or rows.size == 0:
        raise ValueError(f"{rule}; got shape {rows.shape}. Pass X[:1]")
    return rows


class _Graph:
    """An ONNX graph that is being built, from lines such as ``"h = Relu (z)"``."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.functions: list[Any] = []
        self.opsets = [onnx.helper.make_opsetid("", _OPSET)]
        self.ir_version = _IR_VERSION
        self.outputs: list[str] = []

    def add(self, *lines: str, **constants: AnyArray) -> None:
        """Add a node for each line, and the arrays that they read by name."""
        self.nodes += map(self.onnx.parser.parse_node, lines)
        for name, array in constants.items():
            contiguous = np.ascontiguousarray(array)
            self.constants.append(self.onnx.numpy_helper.from_array(contiguous, name))

    def cast(self, value: str, output: str, dtype: str) -> str:
        """Add a node that casts, and return the name of its output."""
        self.add(f"{output} = Cast <to = {self.kind(dtype)}> ({value})")
        return output

    def kind(self, dtype: str) -> int:
        """Return the number that ONNX uses for a numpy type."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def model(self, shape: Sequence[Any], dtype: str, n_classes: int) -> Any:
        """Return the model: X of that shape and type in, `outputs` out."""
        helper = self.onnx.helper
        value = helper.make_tensor_value_info
        outputs = [value("class_index", self.kind("int64"), ["N"])]
        outputs += [value(name, self.kind("float32"), ["N", n_classes]) for name in self.outputs]
        x = value("X", self.kind(dtype), list(shape))
        graph = helper.make_graph(self.nodes, "ybar", [x], outputs, self.constants)
        return helper.make_model(
            graph,
            opset_imports=self.opsets,
            functions=self.functions,
            ir_version=self.ir_version,
            producer_name="ybar",
        )


def _add_input(graph: _Graph, dtype: str) -> str:
    if dtype == "float32":
        return "X"
    floats = graph.cast("X", "ybar_floats", "float32")
    graph.add(f"ybar_input = Mul ({floats}, ybar_scale)", ybar_scale=np.array(1 / 255, np.float32))
    return "ybar_input"


def _add_dense(graph: _Graph, classifier: NetBase, dtype: str) -> None:
    h = _add_input(graph, dtype)
    last = len(classifier.coefs_) - 1
    for layer, arrays in enumerate(zip(classifier.coefs_, classifier.intercepts_, strict=True)):
        z = "ybar_logits" if layer == last else f"ybar_z{layer}"
        names = f"ybar_coefs{layer}", f"ybar_intercepts{layer}"
        graph.add(f"{z} = Gemm ({h}, {', '.join(names)})", **dict(zip(names, arrays, strict=True)))
        h = f"ybar_h{layer}"
        if layer < last:
            graph.add(f"{h} = Relu ({z})")


def _add_module(graph: _Graph, classifier: NetBase, rows: AnyArray, dtype: str) -> None:
    """Add torch's export of the module."""
    torch = require("torch", "torch", "to_onnx of a network")
    require("onnxscript", "onnx", "to_onnx of a network")
    from .networks import Module  # imports torch

    model = Module(classifier.network, 0, torch.device("cpu"))
    model.set_weights(0, classifier.network_state_)
    # At least two rows: with one, torch treats N as the constant 1.
    x = torch.zeros((2, *rows.shape[1:]))
    try:
        model.forward(x)
    except (RuntimeError, TypeError, ValueError, IndexError) as err:
        raise ValueError(
            f"example must have rows that network accepts; got shape {rows.shape} "
            f"({_first_line(err)}). Pass X[:1] of the X that fit was passed"
        ) from err
    try:
        with _quiet_export():
            program = torch.onnx.export(
                model.module,
                (x,),
                dynamo=True,
                verbose=False,
                opset_version=_OPSET,
                input_names=["ybar_rows"],
                output_names=["ybar_logits"],
                dynamic_shapes=({0: torch.export.Dim("N")},),
            )
    except (torch.onnx.OnnxExporterError, RuntimeError) as err:
        raise ValueError(
            "network must be a module that torch.onnx.export accepts, with any number of rows; got "
            f"one that it rejects ({_first_line(err.__cause__ or err)}). Call torch.onnx.export "
            "on it for the whole report"
        ) from err
    body = program.model_proto
    for node in body.graph.node:
        del node.metadata_props[:]  # torch's metadata contain paths of this machine
    graph.add(f"ybar_rows = Identity ({_add_input(graph, dtype)})")
    graph.nodes.extend(body.graph.node)
    graph.constants.extend(body.graph.initializer)
    graph.functions.extend(body.functions)
    graph.opsets, graph.ir_version = list(body.opset_import), int(body.ir_version)


@contextlib.contextmanager
def _quiet_export() -> Iterator[None]:
    """Hide the exporter's warnings about its internals and about missing torchvision."""
    registry = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registry.level
    registry.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r".*isinstance\(treespec, LeafSpec\)", FutureWarning)
            yield
    finally:
        registry.setLevel(level)


def _first_line(err: BaseException) -> str:
    lines = [line for line in str(err).splitlines() if line.strip()]
    return f"{type(err).__name__}: {lines[0].strip()}" if lines else type(err).__name__


def _add_reading(graph: _Graph, reading: Reading, own_T: FloatArray) -> None:
    """Add what `Reading` computes from the logits: q, p if the method has it, and the class."""
    graph.outputs.append("complementary_probabilities")
    logits = graph.cast("ybar_logits", "ybar_logits64", "float64")
    if reading.estimates == "q":
        graph.add(f"ybar_q = Softmax <axis = 1> ({logits})")
    else:
        graph.add(f"ybar_p = Softmax <axis = 1> ({logits})")
        graph.add("ybar_q = MatMul (ybar_p, ybar_own_T)", ybar_own_T=own_T)
        graph.outputs.append(graph.cast("ybar_p", "probabilities", "float32"))
    graph.cast("ybar_q", "complementary_probabilities", "float32")
    if reading.decoder == "max" and reading.estimates == "p":
        best = "ArgMax <axis = 1, keepdims = 0> (ybar_logits)"
    else:
        best = f"{_add_scores(graph, reading)} <axis = 1, keepdims = 0> (ybar_scores)"
    graph.add(f"class_index = {best}")


def _add_scores(graph: _Graph, reading: Reading) -> str:
    """Add the scores that `decode` compares, and return the comparison."""
    T = reading.T
    if transition.is_uniform(T):
        graph.add("ybar_scores = Identity (ybar_q)")
    elif reading.decoder == "max":
        inverse = decode.inverse(T, stacklevel=5)
        graph.add("ybar_scores = MatMul (ybar_q, ybar_inverse)", ybar_inverse=inverse)
        return "ArgMax"
    elif reading.decoder == "l2":  # ‖q - t‖² minus ‖q‖², which is the same for every class
        graph.add(
            "ybar_products = MatMul (ybar_q, ybar_minus_2T)",
            "ybar_scores = Add (ybar_products, ybar_squares)",
            ybar_minus_2T=-2 * T.T,
            ybar_squares=(T * T).sum(axis=1),
        )
    else:
        graph.add(
            "ybar_rows_of_q = Unsqueeze (ybar_q, ybar_middle)",
            "ybar_differences = Sub (ybar_rows_of_q, ybar_T)",
            "ybar_absolute = Abs (ybar_differences)",
            "ybar_scores = ReduceSum <keepdims = 0> (ybar_absolute, ybar_last)",
            ybar_middle=np.array([1]),
            ybar_last=np.array([2]),
            ybar_T=T,
        )
    return "ArgMin"
