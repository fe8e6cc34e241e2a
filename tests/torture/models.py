"""Models whose bytes are damaged, and models that were forged and have the right sum again."""

import copy
import hashlib
import io
import json
import re
import zipfile

import child
import numpy as np

NAMED = (
    "collections.OrderedDict",
    "collections.defaultdict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
)
NAMES = (
    ("ybar.metrics.scorers", "scel_scorer"),
    ("ybar.metrics.scorers", "ure_scorer"),
    ("ybar.neural.networks.cnn", "small_cnn"),
    ("os", "system"),
    ("builtins", "eval"),
    ("builtins", "range"),
    ("numpy", "void"),
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.svm._classes", "SVC"),
)
LOADERS = (
    *("DictNode", "DefaultDictNode", "ListNode", "SetNode", "TupleNode", "FunctionNode"),
    *("TypeNode", "ObjectNode", "LossNode", "TreeNode", "ConstructorFromReduceNode"),
    *("MethodNode", "PartialNode", "OperatorFuncNode", "CachedNode", "NdArrayNode", "BytesNode"),
    *("JsonNode", "RandomStateNode", "RandomGeneratorNode", "SparseMatrixNode"),
)
NUMBERS = (0, 1, -1, 2, 7, 255, 2**15, 2**31 - 1, 2**31, -(2**31), 10**9, 10**12, 2**63, 1e308)
WORDS = ("abc", "", "nan", "-inf", "\u0661", "1\xa02")  # 20 with the numbers
LINES = ("", "x", "x=1")  # of a LightGBM text
WITH_TEXT = ("boosting", "lgbm")
ROWS, FEATURES = 200, 6


def fitted():
    """Return classifiers of every kind that has arrays of its own, and the rows to predict."""
    from lightgbm import LGBMClassifier
    from scipy import sparse
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC, LinearSVC

    from ybar import (
        ComplementaryNetClassifier,
        ComplementaryNetClassifierCV,
        CPEBoostingClassifierCV,
        CPEClassifier,
        CPEKNeighborsClassifierCV,
        metrics,
    )

    rng = np.random.default_rng(0)
    X = np.round(rng.random((ROWS, FEATURES)), 2)
    y = rng.integers(0, 3, ROWS)
    words = np.array(["not", "this", "class", "but", "that", "other", "one"])
    texts = np.array([" ".join(rng.choice(words, 5)) for _ in range(ROWS)], object)
    bases = {
        "forest": RandomForestClassifier(n_estimators=3, random_state=0),
        "extra": ExtraTreesClassifier(n_estimators=3, random_state=0),
        "hist": HistGradientBoostingClassifier(max_iter=3, categorical_features=[0]),
        "gb": GradientBoostingClassifier(n_estimators=2, random_state=0),
        "ada": AdaBoostClassifier(n_estimators=2, random_state=0),
        "bagging": BaggingClassifier(n_estimators=2, random_state=0),
        "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
        "ball": KNeighborsClassifier(algorithm="ball_tree", leaf_size=10),
        "kd": KNeighborsClassifier(algorithm="kd_tree", leaf_size=10),
        "brute": KNeighborsClassifier(algorithm="brute"),
        "mlp": MLPClassifier((4,), max_iter=2, random_state=0),
        "svc": SVC(probability=True, random_state=0),
        "sgd": make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
        "onehot": make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
        "lgbm": LGBMClassifier(n_estimators=3, verbosity=-1, n_jobs=1),
    }
    yield from ((name, CPEClassifier(base).fit(X, y), X) for name, base in bases.items())
    text = make_pipeline(TfidfVectorizer(), LogisticRegression())
    yield "text", CPEClassifier(text).fit(texts, y), texts
    S = sparse.csr_matrix(X * (X > 0.5))
    yield "sparse", CPEClassifier(KNeighborsClassifier()).fit(S, y), S
    ours = {
        "default": CPEClassifier(),
        "knn": CPEKNeighborsClassifierCV(n_components=4, random_state=0),
        "boosting": CPEBoostingClassifierCV([0.1], [5, 10], random_state=0),
        "network": ComplementaryNetClassifier("cpe-n", (8,), max_epochs=2, random_state=0),
        "networks": ComplementaryNetClassifierCV(
            "cpe-i", (), learning_rates=[0.01, 0.001], max_epochs=2, random_state=0
        ),
        "grid": GridSearchCV(
            CPEClassifier(), {"decoder": ["l1", "max"]}, scoring=metrics.scel_scorer, cv=2
        ),
    }
    yield from ((name, model.fit(X, y), X) for name, model in ours.items())


def prepare(folder):
    import warnings

    import joblib

    import ybar

    warnings.simplefilter("ignore")
    for name, model, X in fitted():
        ybar.save(model, folder / f"{name}.ybar")
        joblib.dump((X, model.predict_proba(X)), folder / f"{name}.joblib")


def damaged(folder, number):
    """Change bytes, or cut the file."""
    rng = np.random.default_rng([1, number])
    name, content = _chosen(folder, number)
    content = bytearray(content)
    if number % 5 == 0:
        content = content[: rng.integers(len(content))]
    else:
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            content[place] ^= 1 << int(rng.integers(8))
    outcome = _judged(folder, name, bytes(content))
    return ("silent", name) if outcome[0] in ("other", "raised") else outcome


def forged(folder, number):
    """Change what is in the file, and make its sum right again."""
    rng = np.random.default_rng([2, number])
    forge = FORGERIES[number // len(list(folder.glob("*.ybar"))) % len(FORGERIES)]
    name, content = _chosen(folder, number, WITH_TEXT if forge is tree_text else ("*",))
    payload = content[content.index(b"\n") + 1 :]
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    changed = forge(rng, parts)
    kind, note = _judged(folder, name, _sealed(_zipped(parts) if changed is None else changed))
    return kind, f"{name}, {forge.__name__}: {note}"


def _chosen(folder, number, names=("*",)):
    paths = sorted(path for name in names for path in folder.glob(f"{name}.ybar"))
    path = paths[number % len(paths)]
    return path.stem, path.read_bytes()


def _zipped(parts, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _sealed(payload):
    sha256 = hashlib.sha256(payload).hexdigest()
    return f"ybar-model 1 {len(payload)} {sha256}\n".encode() + payload


def _judged(folder, name, content):
    import joblib

    import ybar
    from ybar.metrics import scorers

    X, expected = joblib.load(folder / f"{name}.joblib")
    path = folder / f"attack-{name}.model"
    path.write_bytes(content)
    for function in ("scel_scorer", "ure_scorer"):
        setattr(scorers, function, child.canary)
    child.watch()
    try:
        model = ybar.load(path, trusted=NAMED)
    except ValueError as error:
        one_line = "\n" not in str(error) and path.name in str(error)
        return ("refused" if one_line else "traceback"), str(error)
    try:
        answer = np.asarray(model.predict_proba(X))
    except MemoryError:
        raise
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}"
    return ("right" if np.array_equal(answer, expected) else "other"), ""


# Forgeries: each gets the members of the zip and changes them, or returns other bytes.


def _schema(parts):
    return json.loads(parts["schema.json"])


def _nodes(value):
    if isinstance(value, dict):
        if "__loader__" in value:
            yield value
        for below in value.values():
            yield from _nodes(below)
    elif isinstance(value, list):
        for below in value:
            yield from _nodes(below)


def _in_schema(change):
    def forge(rng, parts):
        schema = _schema(parts)
        nodes = list(_nodes(schema))
        for _ in range(rng.integers(1, 3)):
            change(rng, nodes, nodes[rng.integers(len(nodes))])
        parts["schema.json"] = json.dumps(schema).encode()

    forge.__name__ = change.__name__.strip("_")
    return forge


def _scalar(rng, nodes, node):
    plain = [each for each in nodes if each["__loader__"] == "JsonNode"]
    values = [*NUMBERS, None, True, "x", "", "callable", "auto", [1], {"a": 1}]
    plain[rng.integers(len(plain))]["content"] = json.dumps(values[rng.integers(len(values))])


def _whole_number(rng, nodes, node):
    plain = [
        each
        for each in nodes
        if each["__loader__"] == "JsonNode" and each["content"].lstrip("-").isdigit()
    ]
    for each in plain:
        if rng.random() < 2 / len(plain):
            each["content"] = json.dumps(NUMBERS[rng.integers(len(NUMBERS))])


def _named(rng, nodes, node):
    other = nodes[rng.integers(len(nodes))]
    names = [*NAMES, (other["__module__"], other["__class__"])]
    node["__module__"], node["__class__"] = names[rng.integers(len(names))]


def _called(rng, nodes, node):
    module, name = NAMES[rng.integers(3)]
    loader = LOADERS[rng.integers(len(LOADERS))]
    node.update(__module__=module, __class__=name, __loader__=loader)


def _keyed(rng, nodes, node):
    dictionaries = [each for each in nodes if each["__loader__"] == "DictNode" and each["content"]]
    if dictionaries:
        chosen = dictionaries[rng.integers(len(dictionaries))]
        module, name = NAMES[rng.integers(len(NAMES))]
        chosen["key_types"]["content"][0].update(__module__=module, __class__=name)


def _loader(rng, nodes, node):
    node["__loader__"] = LOADERS[rng.integers(len(LOADERS))]


def _shared(rng, nodes, node):
    node["__id__"] = nodes[rng.integers(len(nodes))].get("__id__")


def _copied(rng, nodes, node):
    other = copy.deepcopy(nodes[rng.integers(len(nodes))])
    node.clear()
    node.update(other)


def _dropped(rng, nodes, node):
    content = node.get("content")
    if isinstance(content, (dict, list)) and content:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        del content[keys[rng.integers(len(keys))]]
    else:
        node.pop("content", None)


def _members(parts, ending=".npy"):
    return [name for name in parts if name.endswith(ending)]


def array_values(rng, parts):
    """Put extreme numbers into some arrays."""
    for name in _members(parts):
        array = np.load(io.BytesIO(parts[name]))
        if array.size and rng.random() < max(0.1, 2 / len(_members(parts))):
            array = array.copy()
            fields = array.dtype.names or [None]
            target = array if fields[0] is None else array[fields[rng.integers(len(fields))]]
            flat = target.reshape(-1) if target.flags.c_contiguous else target
            for _ in range(rng.integers(1, 4)):
                with np.errstate(all="ignore"):
                    value = np.float64(NUMBERS[rng.integers(len(NUMBERS))])
                    flat[rng.integers(len(flat))] = value.astype(flat.dtype)
            parts[name] = _npy(target.reshape(array.shape) if fields[0] is None else array)


def array_shapes(rng, parts):
    """Cut, repeat, reshape or convert some arrays."""
    names = _members(parts)
    for name in rng.choice(names, min(len(names), 2), replace=False):
        array = np.load(io.BytesIO(parts[name]))
        changes = (
            lambda a: a[: len(a) // 2] if a.ndim else a.reshape(1),
            lambda a: np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
            lambda a: a.reshape(-1),
            lambda a: a.astype(np.int32) if a.dtype.kind in "iuf" else a[:0],
            lambda a: a.astype(a.dtype.newbyteorder()),
            lambda a: a.T,
        )
        with np.errstate(all="ignore"):
            parts[name] = _npy(changes[rng.integers(len(changes))](array))


def array_swap(rng, parts):
    """Exchange two arrays."""
    names = _members(parts)
    one, two = rng.choice(names, 2)
    parts[one], parts[two] = parts[two], parts[one]


def array_header(rng, parts):
    """Declare other sizes than there are."""
    name = rng.choice(_members(parts))
    content, big = parts[name], rng.choice([b"(9999999999,)", b"(1000000,1000000,)", b"(0,10**9)"])
    start = content.find(b"(", 40)
    end = content.find(b")", start) + 1
    header = content[:start] + big + content[end:]
    parts[name] = header[:128].ljust(128) + content[128:]


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def tree_text(rng, parts):
    """Change words or lines of a LightGBM text, whose lengths fit again in two of three files."""
    schema = _schema(parts)
    node = next(node for node in _nodes(schema) if str(node.get("content"))[:5] == '"tree')
    lines = json.loads(node["content"]).split("\n")
    for _ in range(rng.integers(1, 3)):
        i = int(rng.integers(lines.index("end of trees")))
        key, _, value = lines[i].partition("=")
        words = value.split(" ")
        words[rng.integers(len(words))] = str((*NUMBERS, *WORDS)[rng.integers(20)])
        changed = f"{key}={' '.join(words)}"
        before = (*LINES, f"={changed}", f"{changed}\r", lines[i])[rng.integers(6)]
        lines[i : i + 1] = ([changed], [changed], [], [before, lines[i]])[rng.integers(4)]
    text = "\n".join(lines)
    if rng.random() < 0.67:
        header, *trees = re.split(r"(?m)^(?=Tree=)", text.partition("end of trees")[0])
        sizes = " ".join(str(len(tree.encode())) for tree in trees)
        text = text.replace(header, re.sub("tree_sizes=.*", f"tree_sizes={sizes}", header))
    node["content"] = json.dumps(text)
    parts["schema.json"] = json.dumps(schema).encode()


def payload_bytes(rng, parts):
    """Flip bytes of the zip."""
    content = bytearray(_zipped(parts))
    for place in rng.integers(0, len(content), rng.integers(1, 20)):
        content[place] = rng.integers(256)
    return bytes(content)


def _node(loader, **entries):
    return {"__loader__": loader, "__module__": "builtins", "__class__": "list", **entries}


def bomb(rng, parts):
    """Make a small file that asks for endless time or memory."""
    zeros = _npy(np.zeros(2 * 10**7, np.uint8))
    array = {**_node("NdArrayNode", type="numpy", file="z.npy"), "__class__": "ndarray"}
    array["__module__"] = "numpy"
    kind = int(rng.integers(5))
    if kind == 0:  # lists that refer to one another
        node = _node("ListNode", content=[], __id__=1)
        for number in range(2, 40):
            below = [node, {"__id__": number - 1}, {"__id__": number - 1}]
            node = _node("ListNode", content=below, __id__=number)
    elif kind == 1:  # one deflated array, referred to many times
        node = _node("ListNode", content=[{**array, "__id__": n} for n in range(1, 60)], __id__=99)
    elif kind == 2:
        node = _node("ListNode", content=[], __id__=1)
        for number in range(2, 5000):
            node = _node("ListNode", content=[node], __id__=number)
    elif kind == 3:
        node = _node("ConstructorFromReduceNode", __id__=1)
        steps = [0, 10**12, 1]
        limits = [_node("JsonNode", content=json.dumps(n), __id__=n + 5) for n in steps]
        node.update({"__class__": "range"}, content=_node("TupleNode", content=limits, __id__=2))
        node["content"]["__class__"] = "tuple"
    else:
        node = _node("ListNode", content=[{**array, "__id__": 0}] * 60, __id__=99)
    state = {**_schema(parts), "content": node} if rng.random() < 0.5 else node
    state = {**state, "protocol": 2, "_skops_version": "0.16.0"}
    return _zipped({"schema.json": _dumps(state), "z.npy": zeros}, zipfile.ZIP_DEFLATED)


def _dumps(state):
    """Return JSON, however deep: json itself gives up after a thousand levels."""
    import sys

    sys.setrecursionlimit(100_000)
    return json.dumps(state).encode()


FORGERIES = (
    array_values,
    _in_schema(_scalar),
    tree_text,
    _in_schema(_named),
    array_values,
    _in_schema(_whole_number),
    tree_text,
    _in_schema(_called),
    array_shapes,
    _in_schema(_loader),
    _in_schema(_keyed),
    _in_schema(_shared),
    array_values,
    _in_schema(_copied),
    tree_text,
    _in_schema(_dropped),
    array_swap,
    array_header,
    payload_bytes,
    bomb,
)
