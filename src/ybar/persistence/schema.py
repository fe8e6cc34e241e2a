"""The tree of a model file: read from its JSON, with its depth, references and members checked.

skops creates one object per node, and a node with the ``__id__`` of an earlier one stands for that
object. skops writes such a node in full, so the JSON is as long as the tree that it describes. A
forged file could refer to one id from many places, so that a small file becomes an endless tree, or
replace the value of an id after its check. Therefore nodes with the same id must be equal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .container import read_array, read_sparse_shape

MOST_DEPTH = 100  # nodes; a search over pipelines of ensembles has about 20
_PROTOCOL = 2  # the protocol of skops since 0.10; older nodes have other contents
_SCHEMA = "schema.json"

# The paths of the nodes below a node in its JSON. "*" is each item of a list or each value of a
# dictionary.
_CHILDREN: Mapping[str, tuple[str, ...]] = {
    "DictNode": ("content/*", "key_types"),
    "DefaultDictNode": ("content/main", "content/default_factory"),
    "ListNode": ("content/*",),
    "SetNode": ("content/*",),
    "TupleNode": ("content/*",),
    "MaskedArrayNode": ("content/data", "content/mask"),
    "DTypeNode": ("content",),
    "RandomStateNode": ("content",),
    "RandomGeneratorNode": ("content/bit_generator", "content/seed_seq"),
    "MethodNode": ("content/obj",),
    "PartialNode": ("content/func", "content/args", "content/kwds", "content/namespace"),
    "OperatorFuncNode": ("attrs",),
    "ConstructorFromReduceNode": ("content",),
    "ObjectNode": ("content",),
    "LossNode": ("__reduce__/args", "content"),
    "TreeNode": ("__reduce__/args", "content"),
    "NdArrayNode": (),  # ("content/*", "shape") if its items are objects
    "SparseMatrixNode": (),
    "BytesNode": (),
    "BytearrayNode": (),
    "FunctionNode": (),
    "TypeNode": (),
    "SliceNode": (),
    "JsonNode": (),
}
_WITH_MEMBER = ("SparseMatrixNode", "BytesNode", "BytearrayNode")


@dataclass(slots=True)
class Node:
    """An object of the file: the loader of skops, the name of the type, and the nodes below."""

    loader: str
    name: str
    state: Mapping[str, Any]
    children: dict[str, Node] = field(default_factory=dict)
    value: Any = None  # a scalar, an array, or the shape of a sparse matrix
    digest: bytes = b""

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it."""
        below = [self]
        while below:
            node = below.pop()
            yield node
            below.extend(node.children.values())

    def items(self) -> dict[str, Node]:
        """Return the items of a list, or the values of a dictionary by their keys."""
        prefix = "content/"
        return {
            key.removeprefix(prefix): child
            for key, child in self.children.items()
            if key.startswith(prefix)
        }

    def length(self) -> int:
        """Return the number of items of a list or an array."""
        return len(self.value) if self.value is not None else len(self.items())

    def attributes(self) -> dict[str, Node]:
        """Return the attributes of an object."""
        content = self.children.get("content")
        return content.items() if content is not None and content.loader == "DictNode" else {}


def read_tree(members: Mapping[str, bytes]) -> Node:
    """Return the tree of a model file, given its members."""
    state = json.loads(members[_SCHEMA])
    protocol = state.get("protocol")
    if type(protocol) is not int or protocol < _PROTOCOL:
        raise ValueError(f"its protocol must be {_PROTOCOL} or more; got {protocol!r}")
    return _Reader(members).read(state, 0)


class _Reader:
    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.members = members
        self.digests: dict[int, bytes] = {}  # of the nodes by their id
        self.readers: dict[str, int] = {}  # the id of the node that reads a member

    def read(self, state: Any, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise ValueError(f"it is nested more than {MOST_DEPTH} deep")
        loader = state["__loader__"]
        if loader not in _CHILDREN:
            raise ValueError(f"it holds a node {str(loader)[:40]!r} that save does not write")
        node = Node(loader, f"{_text(state, '__module__')}.{_text(state, '__class__')}", state)
        paths: tuple[str, ...] = _CHILDREN[loader]
        if loader == "NdArrayNode" and state["type"] == "json":
            paths = ("content/*", "shape")
        elif loader == "NdArrayNode":
            node.value = read_array(self.member(state))
        elif loader == "SparseMatrixNode":
            node.value = read_sparse_shape(self.member(state))
        elif loader == "JsonNode":
            node.value = _scalar(_text(state, "content"))
        for path in paths:
            for key, child in _below(state, path):
                node.children[key] = self.read(child, depth + 1)
        self.check_identity(node)
        return node

    def member(self, state: Mapping[str, Any]) -> bytes:
        """Return the bytes of the member that a node names; no other object may name it."""
        name, identity = _text(state, "file"), _identity(state)
        if identity is None or self.readers.setdefault(name, identity) != identity:
            raise ValueError(f"two objects read the member {name}")
        return self.members[name]

    def check_identity(self, node: Node) -> None:
        known = {"__id__", "file", "content", "key_types", "shape", "__reduce__", "attrs"}
        own = {key: value for key, value in node.state.items() if key not in known}
        if node.loader in ("JsonNode", "SliceNode"):
            own["content"] = node.state["content"]
        elif node.loader == "MethodNode":
            own["content"] = node.state["content"]["func"]
        sha256 = hashlib.sha256(json.dumps(own, sort_keys=True).encode())
        if node.value is not None and node.loader == "NdArrayNode":
            sha256.update(self.member(node.state))
        elif node.loader in _WITH_MEMBER:
            sha256.update(hashlib.sha256(self.member(node.state)).digest())
        for key, child in node.children.items():
            sha256.update(b"%d %s" % (len(key), key.encode("utf-8", "surrogatepass")))
            sha256.update(child.digest)
        node.digest = sha256.digest()
        identity = _identity(node.state)
        if identity is not None and self.digests.setdefault(identity, node.digest) != node.digest:
            raise ValueError("two different objects have the same id")


def _identity(state: Mapping[str, Any]) -> int | None:
    identity = state.get("__id__")
    if identity is not None and (type(identity) is not int or identity <= 0):
        raise ValueError(f"an id must be a positive integer; got {str(identity)[:40]}")
    return identity


def _text(state: Mapping[str, Any], key: str) -> str:
    if not isinstance(text := state[key], str):
        raise ValueError(f"{key} must be a text; got {type(text).__name__}")
    return text


def _scalar(text: str) -> Any:
    value = json.loads(text)
    if isinstance(value, (list, dict)):
        raise ValueError("a plain value holds a list or a dictionary")
    return value


def _below(state: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the nodes at a path of a node's JSON."""
    *parents, last = path.split("/")
    for parent in parents:
        state = state[parent]
    if last != "*":
        if state.get(last) is not None:
            yield path, state[last]
        return
    for key in state if isinstance(state, dict) else range(len(state)):
        yield f"{'/'.join(parents)}/{key}", state[key]
