"""Forged model files with the right sum are refused in one line, before anything is created."""

import copy
import hashlib
import io
import json
import re
import time
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

import ybar
from ybar.metrics import scorers

BASES = {
    "forest": RandomForestClassifier(n_estimators=2, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=2),
    "hist": HistGradientBoostingClassifier(max_iter=2),
    "kd": KNeighborsClassifier(algorithm="kd_tree", leaf_size=5),
    "svc": SVC(probability=True),
    "onehot": make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
}


@pytest.fixture
def saved(tmp_path):
    """Save a classifier with a base, or a classifier, fitted to 60 rows of 4 features."""

    def save(name):
        rng = np.random.default_rng(0)
        X, y = rng.random((60, 4)).round(1), rng.integers(0, 3, 60)
        if name == "text":
            X = [" ".join(rng.choice(list("abcdef"), 6)) for _ in range(60)]
            base = make_pipeline(CountVectorizer(token_pattern="."), LogisticRegression())
        elif name == "sparse":
            X, base = sparse.csr_matrix(X * (X > 0.5)), KNeighborsClassifier()
        else:
            base = BASES.get(name)
        ours = {
            "boosting": ybar.CPEBoostingClassifierCV([0.1], [5]),
            "neighbours": ybar.CPEKNeighborsClassifierCV(),
        }
        model = ours.get(name, ybar.CPEClassifier(base))
        ybar.save(model.fit(X, y), tmp_path / "m.ybar")
        return tmp_path / "m.ybar"

    return save


def members(path):
    payload = path.read_bytes().partition(b"\n")[2]
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def seal(path, parts, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    path.write_bytes(sealed(buffer.getvalue()))


def sealed(payload):
    head = f"ybar-model 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n"
    return head.encode() + payload


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def nodes(value):
    if isinstance(value, dict):
        if "__loader__" in value:
            yield value
        for below in value.values():
            yield from nodes(below)
    elif isinstance(value, list):
        for below in value:
            yield from nodes(below)


def forge(path, change):
    """Change the JSON and the members of a file; `change` gets the nodes, by their type, too."""
    parts = members(path)
    schema = json.loads(parts["schema.json"])
    change(schema, parts)
    parts["schema.json"] = json.dumps(schema).encode()
    seal(path, parts)


def refused(path, says):
    before = time.process_time()
    with pytest.raises(ValueError, match=says) as caught:
        ybar.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert time.process_time() - before < 10


def a_list(content, number):
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": content,
        "__id__": number,
    }


def an_array(number):
    return {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "z.npy",
        "__id__": number,
    }


# --- Sizes and references ----------------------------------------------------------------------


def with_root(path, root, **parts):
    schema = {**root, "protocol": 2, "_skops_version": "0.16.0"}
    seal(path, {"schema.json": json.dumps(schema).encode(), **parts})
    return path


def test_lists_that_refer_to_one_another_end_at_once(tmp_path):
    node = a_list([], 1)
    for number in range(2, 30):
        node = a_list([node, {"__id__": number - 1}], number)
    refused(with_root(tmp_path / "m.ybar", node), "cannot be read")
    node = a_list([], 1)
    for number in range(2, 30):
        node = a_list([node, a_list([], number - 1)], number)
    refused(with_root(tmp_path / "m.ybar", node), "two different objects have the same id")


@pytest.mark.parametrize("number", [lambda i: i, lambda i: 0, lambda i: None])
def test_one_array_of_many_objects_is_refused(tmp_path, number):
    root = a_list([an_array(number(i)) for i in range(1, 21)], 99)
    path = with_root(tmp_path / "m.ybar", root, **{"z.npy": npy(np.zeros(10**6))})
    refused(path, "two objects read the member|must be a positive integer")


def test_compressed_members_are_refused(saved):
    path = saved("default")
    seal(path, members(path), zipfile.ZIP_DEFLATED)
    refused(path, "compressed")


def test_members_that_share_their_bytes_are_refused(saved):
    """A zip can list the bytes of one member under many names."""
    path = saved("default")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("0", bytes(10**5))
        for number in range(1, 50):
            entry = copy.copy(archive.filelist[0])
            entry.filename = str(number)
            archive.filelist.append(entry)
            archive.NameToInfo[entry.filename] = entry
    path.write_bytes(sealed(buffer.getvalue()))
    refused(path, "bytes")


def test_a_deep_file_is_refused(tmp_path):
    node = a_list([], 1)
    for number in range(2, 150):
        node = a_list([node], number)
    refused(with_root(tmp_path / "m.ybar", node), "nested more than")


@pytest.mark.parametrize("shape", [b"(9999999999,)", b"(0, 9999999999)", b"(7,)"])
def test_an_array_has_the_size_it_declares(saved, shape):
    def change(schema, parts):
        name = next(name for name in parts if name.endswith(".npy"))
        content = npy(np.zeros(8))
        start = content[: content.index(b"(8,)")]
        parts[name] = (start + shape + b", }").ljust(127) + b"\n" + content[128:]

    path = saved("default")
    forge(path, change)
    refused(path, "an array declares|cannot be read")


def test_save_stores_all_members(saved):
    path = saved("sparse")
    for content in (path.read_bytes().partition(b"\n")[2], *members(path).values()):
        if content[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


# --- Calls -------------------------------------------------------------------------------------

SCORER = {"__module__": "ybar.metrics.scorers", "__class__": "scel_scorer"}


def key_type(schema, parts):
    chosen = next(n for n in nodes(schema) if n["__loader__"] == "DictNode" and n["content"])
    chosen["key_types"]["content"][0].update(SCORER)


@pytest.mark.parametrize(
    "loader",
    [
        *("DictNode", "ListNode", "LossNode", "ObjectNode", "ConstructorFromReduceNode"),
        *("RandomStateNode", "SetNode", "TupleNode", "NdArrayNode", "key"),
    ],
)
def test_no_function_is_called_while_loading(saved, monkeypatch, loader):
    called = []
    monkeypatch.setattr(scorers, "scel_scorer", lambda *a, **k: called.append(a) or {})

    def change(schema, parts):
        if loader == "key":
            return key_type(schema, parts)
        attributes = schema["content"]["content"]
        null = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        entries = {"__reduce__": {"args": a_list([], 3)}, "content": a_list([], 4)}
        if loader in ("DictNode", "ListNode", "SetNode", "TupleNode"):
            entries = {"content": {} if loader == "DictNode" else []}
            entries["key_types"] = a_list([], 5)
        if loader == "NdArrayNode":
            name = next(name for name in parts if name.endswith(".npy"))
            entries = {"type": "numpy", "file": name}
        attributes["decoder"] = {**null, **SCORER, "__loader__": loader, **entries, "__id__": 2}
        return None

    path = saved("default")
    forge(path, change)
    refused(path, "cannot be|not trusted")
    assert not called


def test_attributes_cannot_come_from_another_collection(saved):
    def change(schema, parts):
        attributes = schema["content"]
        factory = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        factory["content"] = "null"
        schema["content"] = {
            "__class__": "defaultdict",
            "__module__": "collections",
            "__id__": 7,
            "__loader__": "DefaultDictNode",
            "content": {"main": attributes, "default_factory": factory},
        }

    path = saved("default")
    forge(path, change)
    refused(path, "attributes of a ybar.* cannot be a DefaultDictNode")


# --- Indices of compiled code -------------------------------------------------------------------


def attributes(schema, kind, name):
    """Return the attributes of the first object of a kind that has a certain one."""
    found = (n["content"]["content"] for n in nodes(schema) if n["__class__"] == kind)
    return next(c for c in found if (name in c if isinstance(c, dict) else name < len(c)))


def in_array(kind, name, change):
    """Change the array of an attribute of the first node of a kind."""

    def forged(schema, parts):
        content = attributes(schema, kind, name)
        member = content[name]["file"]
        array = np.load(io.BytesIO(parts[member])).copy()
        parts[member] = npy(change(array))

    return forged


def field(name, value, rows=slice(None)):
    def change(array):
        array[name][rows] = value
        return array

    return change


def replaced(value):
    def change(array):
        array[:1] = value
        return array

    return change


INDICES = {
    "feature": ("forest", in_array("Tree", "nodes", field("feature", 4))),
    "child": ("forest", in_array("Tree", "nodes", field("left_child", 10**6, slice(1)))),
    "cycle": ("forest", in_array("Tree", "nodes", field("right_child", 0, slice(1)))),
    "values": ("forest", in_array("Tree", "values", lambda a: a[:, :, :1])),
    "boosted": ("boosted", in_array("Tree", "nodes", field("feature", 2**31))),
    "predictor": ("hist", in_array("TreePredictor", "nodes", field("left", 2**31, slice(1)))),
    "hist-cycle": ("hist", in_array("TreePredictor", "nodes", field("right", 0, slice(1)))),
    "hist-feature": ("hist", in_array("TreePredictor", "nodes", field("feature_idx", 99))),
    "bitset": ("hist", in_array("TreePredictor", "nodes", field("is_categorical", 1))),
    "row": ("kd", in_array("KDTree", 1, replaced(10**9))),
    "leaf": ("kd", in_array("KDTree", 2, field("is_leaf", 0))),
    "class": ("kd", in_array("KNeighborsClassifier", "_y", replaced(10**9))),
    "labels": (
        "neighbours",
        in_array("CPEKNeighborsClassifierCV", "_label_table", lambda a: a[:1]),
    ),
    "support": ("svc", in_array("SVC", "_n_support", replaced(10**6))),
    "dual": ("svc", in_array("SVC", "_dual_coef_", lambda a: a[:, :1])),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # SVC(probability=True)
@pytest.mark.parametrize("name", INDICES)
def test_indices_outside_an_array_are_refused(saved, name):
    base, change = INDICES[name]
    path = saved(base)
    forge(path, change)
    refused(path, "cannot be read with .*ValueError")


@pytest.mark.parametrize(
    ("base", "kind", "name"),
    [
        ("forest", "Tree", None),
        ("onehot", "OneHotEncoder", "_n_features_outs"),
        ("text", "CountVectorizer", "vocabulary_"),
    ],
)
def test_counts_that_do_not_fit_are_refused(saved, base, kind, name):
    def change(schema, parts):
        if kind == "Tree":
            node = next(n for n in nodes(schema) if n["__class__"] == kind)
            node["__reduce__"]["args"]["content"][2]["content"] = "1000000000"
            return
        content = attributes(schema, kind, name)
        items = content[name]["content"]
        chosen = items[0] if isinstance(items, list) else next(iter(items.values()))
        chosen.pop("file", None)
        chosen.update({"__loader__": "JsonNode", "content": "1000000", "__id__": 12345})

    path = saved(base)
    forge(path, change)
    refused(path, "cannot be read with .*ValueError")


def test_the_indices_of_a_sparse_matrix_stay_inside_it(saved):
    def change(schema, parts):
        name = next(name for name in parts if name.endswith(".npz"))
        with zipfile.ZipFile(io.BytesIO(parts[name])) as archive:
            inner = {each: archive.read(each) for each in archive.namelist()}
        inner["indices.npy"] = npy(np.load(io.BytesIO(inner["indices.npy"])) + 10**6)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for each, content in inner.items():
                archive.writestr(each, content)
        parts[name] = buffer.getvalue()

    path = saved("sparse")
    forge(path, change)
    refused(path, "indices of a sparse matrix must be from 0 to 3")


def with_tree_sizes(text):
    """Return the text of a LightGBM model with the lengths that its trees have."""
    header, *trees = re.split(r"(?m)^(?=Tree=)", text.partition("end of trees")[0])
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    return text.replace(header, re.sub("tree_sizes=.*", f"tree_sizes={sizes}", header))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("num_class=3", "num_class=30000", "30000 classes"),
        ("num_class=3", "num_class=3\n=num_class=30000", "must have a name"),
        ("num_class=3", "num_class=3\rnum_class=30000", "lines of text"),
        ("num_class=3", "num_class=3\nnum_class=30000", "twice"),
        ("num_class=3", "num_class=\u0663", "num_class .* at least 1; got '\u0663'"),
        ("num_class:3", "num_class:3000", "num_class:3"),
        ("num_class:3", "num_class:3 :num_class:+3000", "num_class:3"),
        ("max_feature_idx=3", "max_feature_idx=2000000000", "one name per feature"),
        ("tree_sizes=", "tree_sizes=9", "tree_sizes must be from 1"),
        ("num_leaves=", "num_leaves=9", "must have 9.* numbers; got"),
        ("split_feature=", "split_feature=9", "split_feature must be from 0 to 3; got"),
        ("left_child=", "left_child=9 ", "as many children"),
        ("left_child=-1", "left_child=-9", "child of one split"),
        ("left_child=-", "left_child=-\u0661", "left_child of a tree must be numbers"),
        ("left_child=", "\nleft_child=", "name=values"),
        ("left_child=", "x\nleft_child=", "name=values"),
        ("left_child=", "".join(f"{c}=1\n" for c in "abcdefghij") + "left_child=", "23 fields"),
        ("decision_type=2", "decision_type=3", "cat_boundaries"),
        ("num_cat=0", "num_cat=1000000", "cat_boundaries"),
        ("is_linear=0", "is_linear=1", "linear models"),
        ("leaf_value=", "leaf_values=", "leaf_value of a tree must have"),
        ("leaf_value=", "leaf_value=abc ", "leaf_value of a tree must be numbers; got 'abc'"),
        ("tree\n", "", "the first is 'tree'"),
        ("end of trees", "", "must have trees"),
    ],
)
def test_a_forged_lightgbm_text_is_refused(saved, old, new, says):
    def change(schema, parts):
        node = schema["content"]["content"]["model_"]
        text = json.loads(node["content"])
        assert old in text
        forged = text.replace(old, new, 1)
        node["content"] = json.dumps(forged if "sizes" in old else with_tree_sizes(forged))

    path = saved("boosting")
    forge(path, change)
    refused(path, f"cannot be read with .*ValueError.*{says}")
