"""Evidence: each kind of observation against its own formula, alone and in training."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neural_helpers import objective_of
from ybar import (
    ComplementaryNetClassifier,
    CPEClassifier,
    CPEKNeighborsClassifierCV,
    datasets,
    labels,
    metrics,
    transition,
)
from ybar.labels import Evidence
from ybar.neural import methods
from ybar.neural.objective import Run
from ybar.neural.samples import Patterns
from ybar.neural.transition_layer import PARAMETRISATIONS

K = 4
NAMES = ["ant", "bee", "cat", "dog"]


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


@pytest.fixture
def mask():
    mask = np.random.default_rng(0).random((60, K)) < 0.4
    mask[mask.all(axis=1), 0] = False
    return mask


def likelihoods(T, mask):
    """Return Π T[y, k] over the labels of each row, by loops."""
    found = np.ones(mask.shape)
    for row, ruled_out in enumerate(mask):
        for y in range(K):
            for k in np.flatnonzero(ruled_out):
                found[row, y] *= T[y, k]
    return found


def test_one_complementary_label_is_a_column_of_T(T):
    y_comp = [2, 0, 3]
    found = Evidence.complementary(y_comp, T)
    np.testing.assert_allclose(np.asarray(found), T[:, y_comp].T)
    named = Evidence.complementary(np.array(NAMES)[y_comp], T, classes=NAMES)
    np.testing.assert_array_equal(np.asarray(named), np.asarray(found))
    assert named.classes.tolist() == NAMES


def test_several_labels_are_the_product_of_their_columns(T, mask):
    found = Evidence.complementary(mask, T)
    np.testing.assert_allclose(np.asarray(found), likelihoods(T, mask))
    assert len(found.table) < len(found)
    twice = Evidence.complementary([0, 1], T) & Evidence.complementary([0, 2], T)
    np.testing.assert_allclose(np.asarray(twice), [T[:, 0] ** 2, T[:, 1] * T[:, 2]])
    assert twice.labels() is None


def test_a_set_drawn_at_once_excludes_it_and_says_no_more(mask):
    found = Evidence.excluded(mask)
    np.testing.assert_array_equal(np.asarray(found), ~mask)
    # The chance of such a set is 1 / C(K-1, size) for each class outside it, 0 for those in it:
    # the same but for a factor common to the row, as labels one by one are under uniform T.
    drawn = np.asarray(Evidence.complementary(mask, "uniform"))
    np.testing.assert_allclose(drawn / drawn.max(axis=1, keepdims=True), ~mask)


def test_ordinary_labels_sets_answers_and_nothing():
    unit = np.eye(K)
    np.testing.assert_array_equal(
        np.asarray(Evidence.ordinary(["cat", "ant"], classes=NAMES)), unit[[2, 0]]
    )
    sets = np.array([[True, False, True, False], [False, True, True, True]])
    np.testing.assert_array_equal(np.asarray(Evidence.candidates(sets)), sets)
    said = Evidence.answers([1, 1, 3], np.array([True, False, False]), classes=K)
    np.testing.assert_array_equal(np.asarray(said), [unit[1], 1 - unit[1], 1 - unit[3]])
    none = Evidence.nothing(2, classes=K)
    np.testing.assert_array_equal(np.asarray(none), np.ones((2, K)))
    assert not none.informative.any()


def test_annotators_have_each_their_own_T(T):
    other = transition.weak(K, random_state=3)
    found = Evidence.complementary([0, 0, 3], {"a": T, "b": other}, annotator=["a", "b", "a"])
    np.testing.assert_allclose(np.asarray(found), [T[:, 0], other[:, 0], T[:, 3]])
    assert found.transition is None


def test_parts_are_joined_by_rows_and_by_observation(T, mask):
    labelled = Evidence.complementary(mask, T)
    true = Evidence.ordinary([0, 1, 2], classes=K)
    rows = Evidence.concatenate([labelled, true])
    np.testing.assert_allclose(np.asarray(rows), [*likelihoods(T, mask), *np.eye(K)[[0, 1, 2]]])
    np.testing.assert_array_equal(rows.transition, T)
    sets = Evidence.candidates(np.arange(K) < 1 + np.arange(60)[:, None] % K)
    both = labelled & sets
    np.testing.assert_allclose(np.asarray(both), np.asarray(labelled) * np.asarray(sets))
    other = Evidence.complementary([0, 1], transition.uniform(K))
    mixed = Evidence.concatenate([labelled, other])
    assert mixed.transition is None
    np.testing.assert_allclose(np.asarray(mixed), [*np.asarray(labelled), *np.asarray(other)])


def test_many_labels_of_a_row_do_not_underflow(T):
    found = Evidence.complementary([1], T)
    for _ in range(10):
        found = found & found
    assert np.isfinite(found.log_table).all()
    np.testing.assert_allclose(found.log_table[0], 1024 * np.log(T[:, 1]))


def test_rows_can_be_taken_as_scikit_learn_takes_them(T, mask):
    found = Evidence.complementary(mask, T)
    dense = np.asarray(found)
    for rows in ([3, 1], np.array([3, 1]), slice(2, 5), np.arange(60) % 2 == 0):
        np.testing.assert_array_equal(np.asarray(found[rows]), dense[rows])
        np.testing.assert_array_equal(np.asarray(found[rows, ...]), dense[rows])
    assert found[4].shape == (1, K)
    assert found[[]].shape == (0, K)
    assert repr(found).startswith("<Evidence of 60 rows")
    with pytest.raises(IndexError, match="rows only"):
        found[0, 1]


def test_rows_that_were_left_behind_do_not_matter():
    y = np.arange(30) % 3
    parts = [Evidence.ordinary(y, classes=3), Evidence.complementary(y, "uniform", classes=3)]
    both = Evidence.concatenate(parts)
    assert both.labels() is None
    np.testing.assert_array_equal(both[30:].labels(), y)


def test_whole_floats_are_indices_as_well():
    found = Evidence.complementary([0.0, 1.0], transition.strong(3, 0))
    np.testing.assert_array_equal(found.classes, [0, 1, 2])


def test_labels_come_back_where_there_is_nothing_else(T, mask):
    y_comp = np.array([0, 3, 1])
    np.testing.assert_array_equal(Evidence.complementary(y_comp, T).labels(), y_comp)
    np.testing.assert_array_equal(Evidence.complementary(mask, T).labels(), mask)
    assert Evidence.ordinary([0], classes=K).labels() is None
    some = Evidence.concatenate([Evidence.complementary(y_comp, T), Evidence.nothing(1, classes=K)])
    np.testing.assert_array_equal(some.labels(), [*np.eye(K, dtype=bool)[y_comp], [False] * K])


WRONG = {
    "T in another order": (
        lambda: Evidence.complementary(
            ["ant"], pd.DataFrame(transition.uniform(4), NAMES[::-1], NAMES[::-1]), classes=NAMES
        ),
        "T must have its index named and ordered as classes",
    ),
    "T of an annotator in another order": (
        lambda: Evidence.complementary(
            ["ant"],
            {"a": pd.DataFrame(transition.uniform(4), columns=NAMES[::-1])},
            annotator=["a"],
            classes=NAMES,
        ),
        r"T\['a'\] must have its columns named",
    ),
    "sets as lists of names": (
        lambda: Evidence.candidates([["ant"], ["bee", "cat"]], classes=NAMES),
        "sets must be a boolean array",
    ),
    "zero row": (lambda: Evidence([[1, 0.0], [0, 0]]), "row 1 has probability 0 under every class"),
    "negative": (lambda: Evidence([[1, -0.5]]), "must be finite and not negative; got -0.5"),
    "nan": (lambda: Evidence([[1, np.nan]]), "got nan in row 0, column 1"),
    "infinite": (lambda: Evidence([[1, np.inf]]), "got inf"),
    "ragged": (lambda: Evidence([[1, 0], [1]]), "differ in length"),
    "flat": (lambda: Evidence([1, 0]), r"shape \(N, K\)"),
    "names": (lambda: Evidence([[1, 0]], classes=NAMES), "each of the 4 classes"),
    "words": (lambda: Evidence([["a", "b"]]), "not all numbers"),
    "unknown class": (lambda: Evidence.ordinary(["emu"], classes=NAMES), "got 'emu' in row 0"),
    "empty set": (lambda: Evidence.candidates(np.zeros((1, 3), bool)), "row 0 leaves none"),
    "all excluded": (lambda: Evidence.excluded(np.ones((1, 3), bool)), "row 0 leaves none"),
    "sets of numbers": (lambda: Evidence.candidates([[0, 1]]), "boolean array"),
    "sets of too few": (
        lambda: Evidence.candidates(np.ones((1, 3), bool), classes=NAMES),
        "each of the 4 classes",
    ),
    "excluded numbers": (lambda: Evidence.excluded([[0, 1]]), "boolean array"),
    "answers of words": (
        lambda: Evidence.answers([0], ["yes"], classes=3),
        "yes must hold True or False",
    ),
    "answers too few": (
        lambda: Evidence.answers([0, 1], np.array([True]), classes=3),
        "each of the 2 rows",
    ),
    "contradiction": (
        lambda: Evidence.ordinary([0], classes=3) & Evidence.ordinary([1], classes=3),
        "row 0 has probability 0",
    ),
    "lengths": (
        lambda: Evidence.ordinary([0], classes=3) & Evidence.nothing(2, classes=3),
        "1 and 2 rows",
    ),
    "other classes": (
        lambda: Evidence.concatenate(
            [Evidence.nothing(1, classes=3), Evidence.nothing(1, classes=4)]
        ),
        "same classes in the same order",
    ),
    "not evidence": (lambda: Evidence.concatenate([[0, 1]]), "must be an Evidence"),
    "no parts": (lambda: Evidence.concatenate([]), "at least one Evidence"),
    "annotator without T": (
        lambda: Evidence.complementary(
            [0, 1], {"a": transition.uniform(3)}, annotator=["a", "zoe"]
        ),
        r"none for 'zoe' \(row 1\)",
    ),
    "annotators and one T": (
        lambda: Evidence.complementary([0], transition.uniform(3), annotator=["a"]),
        "a dict with a matrix for each annotator",
    ),
    "T of annotators and no annotator": (
        lambda: Evidence.complementary([0], {"a": transition.uniform(3)}),
        "annotator=None",
    ),
    "annotators of other rows": (
        lambda: Evidence.complementary([0, 1], {"a": transition.uniform(3)}, annotator=["a"]),
        "same number of rows; got 2 and 1",
    ),
    "several by annotators": (
        lambda: Evidence.complementary(
            np.eye(3, dtype=bool), {"a": transition.uniform(3)}, annotator=["a"] * 3
        ),
        "one label a row where annotators differ",
    ),
    "labels that cannot be": (
        lambda: Evidence.complementary([0], [[0, 1], [0, 1]]),
        "row 0 has probability 0",
    ),
    "one class": (lambda: Evidence.nothing(1, classes=1), "at least 2"),
    "sets in another order": (
        lambda: Evidence.candidates(
            pd.DataFrame([[True] * 3 + [False]], columns=NAMES[::-1]), classes=NAMES
        ),
        "sets must have its columns named and ordered as classes",
    ),
    "excluded in another order": (
        lambda: Evidence.excluded(
            pd.DataFrame([[True] * 3 + [False]], columns=NAMES[::-1]), classes=NAMES
        ),
        "sets must have its columns named and ordered as classes",
    ),
    "likelihoods in another order": (
        lambda: Evidence(pd.DataFrame([[1, 0, 0, 0.5]], columns=NAMES[::-1]), classes=NAMES),
        "values must have its columns named and ordered as classes",
    ),
    "labels that differ in length": (
        lambda: Evidence.complementary([["cat"], ["ant", "bee"]], classes=NAMES),
        "y_comp must hold one complementary label a row.*differ in length",
    ),
    "answers that differ in length": (
        lambda: Evidence.answers([0, 1], [[True], [True, False]], classes=3),
        "yes must hold True or False.*differ in length",
    ),
    "annotators that differ in length": (
        lambda: Evidence.complementary(
            [0, 1], {"a": transition.uniform(3)}, annotator=[["a"], ["a", "b"]]
        ),
        "annotator must hold one name a row",
    ),
    "one label for all": (
        lambda: Evidence.complementary(["x", "x"]),
        "at least 2 classes; got only 'x'",
    ),
    "None for parts": (
        lambda: Evidence.concatenate(None),
        "parts must be a list of Evidence; got None",
    ),
    "scel of nothing": (
        lambda: metrics.scel(Evidence.nothing(2, classes=2), [[0.5, 0.5]] * 2),
        "y_comp must say something of some row",
    ),
    "annotators in a column": (
        lambda: Evidence.complementary([0], {"a": transition.uniform(3)}, annotator=[["a"]]),
        "annotator must hold one name a row",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_one_clear_line(case):
    make, message = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def reference(logits, e):
    """Return -log Σ_y p[y] e[y] of each row."""
    return -(logits.softmax(-1) * e).sum(-1).log()


def everything(T, mask):
    """Return evidence of every kind, with labels under T."""
    n = len(mask)
    return Evidence.concatenate(
        [
            Evidence.complementary(mask, T),
            Evidence.ordinary(np.arange(n) % K, classes=K),
            Evidence.excluded(mask) & Evidence.complementary(np.arange(n) % K, T),
        ]
    )


def test_training_minimises_the_likelihood_of_all_that_was_observed(T, mask):
    evidence = everything(T, mask)
    logits = torch.randn(1, len(evidence), K, generator=torch.Generator().manual_seed(0))
    weight = torch.rand(len(evidence), generator=torch.Generator().manual_seed(1)) + 0.5
    objective = objective_of([Run(methods.find("cpe-f"))], T)
    codes = torch.from_numpy(evidence.codes)
    with np.errstate(divide="ignore"):
        objective.observe(codes, weight, Patterns(np.log(evidence.rest), evidence.counts))
    gradient = objective(logits, codes, weight)
    z = logits.clone().requires_grad_()
    expected = (reference(z, torch.from_numpy(np.asarray(evidence))) * weight).sum()
    expected.backward()
    np.testing.assert_allclose(gradient, z.grad, atol=1e-5)
    np.testing.assert_allclose(objective.pop_losses(), [[expected.item()]], rtol=1e-5)


@pytest.mark.parametrize("method", ["cpe-n", "cpe-t"])
def test_a_T_that_is_learned_is_learned_from_all_labels(T, mask, method):
    evidence = everything(T, mask)
    logits = torch.randn(1, len(evidence), K, generator=torch.Generator().manual_seed(0))
    with np.errstate(divide="ignore"):
        log_T = np.log(T)
        patterns = Patterns(np.log(evidence.rest), evidence.counts)
    objective = objective_of([Run(methods.find(method))], T)
    codes = torch.from_numpy(evidence.codes)
    objective.observe(codes, None, patterns)
    objective(logits, codes, None)
    own = objective.transition.parameters[0].clone().requires_grad_()
    learns = PARAMETRISATIONS[methods.find(method).learns]
    matrix = learns.log_matrix(own[None], torch.as_tensor(log_T, dtype=torch.float32))[0].exp()
    counts = torch.from_numpy(evidence.counts).float()[codes]
    rest = torch.from_numpy(evidence.rest).float()[codes]
    e = rest * (matrix[None] ** counts[:, None, :]).prod(-1)
    total = reference(logits[0], e).sum()
    total.backward()
    np.testing.assert_allclose(
        objective.transition.parameters[0].grad, own.grad / len(codes), atol=1e-5
    )
    np.testing.assert_allclose(objective.pop_losses(), [[total.item()]], rtol=1e-5)


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def net(**params):
    defaults = {"hidden_layer_sizes": (), "max_epochs": 30, "random_state": 0, "dropout": 0}
    return ComplementaryNetClassifier(**{**defaults, "learning_rate": 1e-2, **params})


def test_evidence_of_labels_alone_is_those_labels_to_the_bit(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    plain = net(transition=T, max_epochs=3).fit(digits.X_train, y_comp)
    wrapped = net(max_epochs=3).fit(digits.X_train, Evidence.complementary(y_comp, T))
    for one, other in zip(plain.coefs_, wrapped.coefs_, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(plain.transition_, wrapped.transition_)
    for make in (
        lambda T: CPEClassifier(LogisticRegression(max_iter=50), transition=T),
        lambda T: CPEKNeighborsClassifierCV([10, 20], transition=T, random_state=0),
    ):
        plain = make(T).fit(digits.X_train / 16, y_comp)
        wrapped = make("uniform").fit(digits.X_train / 16, Evidence.complementary(y_comp, T))
        one, other = (clf.predict_proba(digits.X_test / 16) for clf in (plain, wrapped))
        np.testing.assert_array_equal(one, other)


def test_several_labels_train_as_their_common_likelihood(digits):
    rng = np.random.default_rng(0)
    mask = np.zeros((len(digits.y_train), 10), dtype=bool)
    for row, y in enumerate(digits.y_train):
        others = np.delete(np.arange(10), y)
        mask[row, rng.choice(others, rng.integers(1, 6), replace=False)] = True
    by_mask = net(max_epochs=5, select="last").fit(digits.X_train, mask)
    by_set = net(max_epochs=5, select="last").fit(digits.X_train, Evidence.excluded(mask))
    for one, other in zip(by_mask.coefs_, by_set.coefs_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    p = by_set.predict_proba(digits.X_test[:50])
    sets = Evidence.excluded(mask)[:50]
    expected = -np.mean(np.log((p * np.asarray(sets)).sum(axis=1)))
    assert metrics.scel(sets, p) == pytest.approx(expected)
    assert by_set.score(digits.X_test[:50], sets) == pytest.approx(-expected)


def test_scel_of_complementary_evidence_is_scel(T):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(K), 200)
    y_comp = rng.integers(K, size=200)
    evidence = Evidence.complementary(y_comp, T)
    plain = metrics.scel(y_comp, p @ T, return_std_error=True)
    np.testing.assert_allclose(metrics.scel(evidence, p, return_std_error=True), plain)
    more = Evidence.concatenate([evidence, Evidence.nothing(5, classes=K)])
    with_more = metrics.scel(more, np.concatenate([p, p[:5]]))
    assert with_more == pytest.approx(plain[0])
    with pytest.raises(ValueError, match="each of the 4 classes"):
        metrics.scel(evidence, rng.dirichlet(np.ones(3), 200))


def mixed(digits, T, n_true, seed):
    """Return complementary labels, and for some rows the true one instead."""
    y_comp = labels.draw(digits.y_train, T, random_state=seed)
    known = np.random.default_rng(seed).choice(len(y_comp), n_true, replace=False)
    is_known = np.isin(np.arange(len(y_comp)), known)
    order = np.argsort(is_known, kind="stable")
    evidence = Evidence.concatenate(
        [
            Evidence.complementary(y_comp[~is_known], T),
            Evidence.ordinary(digits.y_train[is_known], classes=10),
        ]
    )
    return evidence[np.argsort(order)]


def test_true_labels_for_some_rows_do_not_hurt_on_average(digits):
    T = transition.uniform(10)
    accuracy = {
        n: np.mean(
            [
                (
                    net(random_state=seed)
                    .fit(digits.X_train, mixed(digits, T, n, seed))
                    .predict(digits.X_test)
                    == digits.y_test
                ).mean()
                for seed in range(10)
            ]
        )
        for n in (0, 50, 200)
    }
    assert accuracy[0] <= accuracy[50] <= accuracy[200]
    assert accuracy[200] > accuracy[0] + 0.02


def test_the_class_of_the_largest_p_is_predicted_and_all_of_scikit_learn_works(digits):
    T = transition.strong(10, random_state=1)
    evidence = mixed(digits, T, 100, 0)
    clf = net(max_epochs=10).fit(digits.X_train, evidence)
    p = clf.predict_proba(digits.X_test)
    np.testing.assert_array_equal(clf.predict(digits.X_test), p.argmax(axis=1))
    np.testing.assert_array_equal(clf.transition_, T)
    assert np.isfinite(clf.history_["scel"]).all()
    assert np.isnan(clf.history_["ure"]).all()
    pipeline = make_pipeline(StandardScaler(), net(max_epochs=2))
    search = GridSearchCV(
        pipeline,
        {"complementarynetclassifier__learning_rate": [1e-2, 1e-3]},
        scoring=metrics.scel_scorer,
        cv=2,
        error_score="raise",
    ).fit(digits.X_train, evidence)
    assert np.isfinite(search.best_score_)
    assert cross_val_score(pipeline, digits.X_train, evidence, cv=2).shape == (2,)


def test_noise_and_streams_take_evidence(digits):
    T = transition.strong(10, random_state=1)
    evidence = mixed(digits, T, 100, 0)
    clf = net(method="cpe-n").fit(digits.X_train, evidence)
    assert clf.noise_ < 0.2
    stream = net(max_epochs=1)
    for start in range(0, 1200, 200):
        rows = slice(start, start + 200)
        stream.partial_fit(digits.X_train[rows], evidence[rows])
    assert stream.predict(digits.X_test).shape == digits.y_test.shape
    weights = np.ones(len(evidence))
    weights[: len(weights) // 2] = 0
    assert net(max_epochs=2).fit(digits.X_train, evidence, sample_weight=weights).n_epochs_ == 2


def test_what_cannot_be_learned_from_is_said(digits):
    X, T = digits.X_train[:300], transition.strong(10, random_state=1)
    evidence = mixed(digits, T, 100, 0)[:300]
    both = {1: T, 2: transition.uniform(10)}
    per_annotator = Evidence.complementary([0] * 300, both, annotator=[1, 2] * 150)
    cases = [
        (CPEClassifier(), evidence, "one T and nothing else for CPEClassifier"),
        (CPEKNeighborsClassifierCV(), evidence, "nothing else for CPEKNeighborsClassifierCV"),
        (net(method="scl-nl"), evidence, "method must be 'cpe-f'"),
        (net(method="cpe-n"), per_annotator, "learn it; got evidence without any"),
        (net(criterion="ure"), evidence, "criterion must be 'scel'"),
        (net(classes=list("abcdefghij")), evidence, "classes must be those of the evidence"),
        (net(transition=transition.uniform(10)), evidence, "transition must be the T of"),
        (net(), Evidence.nothing(300, classes=10), "evidence of nothing"),
        (net(), evidence[:10], "same number of rows"),
        (net(transition="weak"), evidence, "transition must be"),
    ]
    for clf, y, message in cases:
        with pytest.raises(ValueError, match=message):
            clf.fit(X, y)
    half = Evidence.concatenate([evidence[:150], Evidence.nothing(150, classes=10)])
    with pytest.raises(ValueError, match="zero for every row that has a label"):
        net().fit(X, half, sample_weight=~half.informative)
    fitted = net(max_epochs=1).fit(X, evidence)
    for judge in (
        lambda: metrics.ure_scorer(fitted, X, evidence),
        lambda: metrics.compare_error_rates(evidence, [0] * 300, [1] * 300, T),
    ):
        with pytest.raises(ValueError, match="one T and nothing else for URE"):
            judge()
    with pytest.raises(ValueError, match="classes of the classifier"):
        fitted.score(X, Evidence.nothing(300, classes=3))


def test_names_of_data_frames_are_the_classes_and_annotators_keep_their_kind():
    frame = pd.DataFrame([[True, False, False]], columns=["bee", "ant", "cat"])
    for made in (Evidence(frame.astype(float)), Evidence.candidates(frame)):
        assert made.classes.tolist() == ["bee", "ant", "cat"]
        np.testing.assert_array_equal(made, [[1, 0, 0]])
    np.testing.assert_array_equal(Evidence.excluded(frame), [[0, 1, 1]])
    by_kind = {"a": "uniform", 1: np.full((3, 3), 1 / 3)}
    made = Evidence.complementary([0, 0], by_kind, annotator=["a", 1], classes=3)
    np.testing.assert_allclose(made, [[0, 0.5, 0.5], [1 / 3] * 3])


def test_a_single_annotator_is_a_T_like_any_other():
    T = transition.strong(3, random_state=0)
    made = Evidence.complementary([0, 2], {"ann": T}, annotator=["ann", "ann"])
    np.testing.assert_array_equal(made.transition, T)
    np.testing.assert_array_equal(made.labels(), [0, 2])


def test_sets_may_be_booleans_of_pandas():
    frame = pd.DataFrame({"a": [True, False], "b": [True, True]}, dtype="boolean")
    np.testing.assert_array_equal(Evidence.candidates(frame), [[1, 1], [0, 1]])


def test_hundreds_of_labels_are_judged_and_joined_without_underflow():
    n = 200
    mask = np.ones((3, n), dtype=bool)
    mask[np.arange(3), [5, 6, 7]] = False  # 199 labels, each of probability 1/199
    many = Evidence.complementary(mask, transition.uniform(n))
    p = np.full((3, n), 1 / n)
    assert metrics.scel(many, p) == pytest.approx(np.log(n) + 199 * np.log(199))
    other = Evidence.complementary([0], transition.with_uniform_noise(transition.uniform(n), 0.5))
    both = Evidence.concatenate([many, other])
    assert both.informative.all()
    np.testing.assert_array_equal(np.asarray(both)[:3].argmax(axis=1), [5, 6, 7])


def judged(noise):
    """Return rows, their mixed evidence under a T without the noise, and labels alone."""
    rng = np.random.default_rng(0)
    T = transition.strong(K, random_state=0)
    y = rng.integers(K, size=2000)
    X = (np.eye(K)[y] + rng.normal(0, 0.3, (2000, K))).astype(np.float32)
    y_comp = labels.draw(y, transition.with_uniform_noise(T, noise), rng)
    parts = [Evidence.complementary(y_comp[:1900], T), Evidence.ordinary(y[1900:], classes=K)]
    return X, Evidence.concatenate(parts), Evidence.complementary(y_comp, T), y_comp, T


@pytest.mark.parametrize("method", ["cpe-f", "cpe-n", "cpe-t"])
def test_score_judges_evidence_by_the_T_that_was_learned(method):
    X, evidence, as_labels, y_comp, T = judged(0.4)
    clf = net(method=method, transition=T).fit(X, evidence)
    assert clf.score(X, as_labels) == pytest.approx(clf.score(X, y_comp), rel=1e-12)
    learned = clf.learned_transition_
    slow = [-np.log(p @ learned[:, k]) for p, k in zip(clf.predict_proba(X), y_comp, strict=True)]
    true = np.asarray(evidence)[1900:]
    slow[1900:] = -np.log((clf.predict_proba(X)[1900:] * true).sum(axis=1))
    assert clf.score(X, evidence) == pytest.approx(-np.mean(slow), rel=1e-5)


def test_evidence_is_scored_under_the_T_that_it_has():
    X, _, _, y_comp, T = judged(0.0)
    other = transition.strong(K, random_state=7)
    drawn = labels.draw(np.argmax(X, axis=1), other, random_state=0)
    by_other = Evidence.complementary(drawn, other)
    several = Evidence.complementary(
        np.where(np.arange(2000) % 2, y_comp, drawn),
        {"a": T, "b": other},
        annotator=np.where(np.arange(2000) % 2, "a", "b"),
    )
    fitted = [net(transition=T).fit(X, y_comp), net().fit(X, several)]
    fitted += [net(method="cpe-n", transition=T).fit(X, y_comp)]
    fitted += [CPEClassifier(transition=T).fit(X, y_comp)]
    for clf in fitted:
        expected = -metrics.scel(by_other, clf.predict_proba(X))
        assert clf.score(X, by_other) == pytest.approx(expected)
        expected = metrics.ure_zero_one(drawn, clf.predict(X), other)
        assert metrics.ure_scorer(clf, X, by_other) == pytest.approx(-expected)


def test_evidence_of_labels_alone_is_scored_on_the_scale_of_all_evidence():
    X, _, _, _, T = judged(0.0)
    y = np.argmax(X, axis=1)
    mask = np.zeros((2000, K), dtype=bool)
    for seed in range(3):
        mask[np.arange(2000), labels.draw(y, T, random_state=seed)] = True
    several = Evidence.complementary(mask, T)
    clf = net(transition=T).fit(X, several)
    p = clf.predict_proba(X)
    assert clf.score(X, several) == pytest.approx(-metrics.scel(several, p))
    mixed = Evidence.concatenate([several[1:], Evidence.ordinary(y[:1], classes=K)])
    order = np.r_[1:2000, 0]
    assert clf.score(X[order], mixed) == pytest.approx(clf.score(X, several), abs=0.01)
    q_model = CPEClassifier(transition=T).fit(X, mask)  # it has no likelihood of a row
    assert q_model.score(X, several) == pytest.approx(q_model.score(X, mask))


def test_a_search_over_methods_finds_the_noise_from_evidence_too():
    X, evidence, as_labels, *_ = judged(0.4)
    for y in (evidence, as_labels):
        search = GridSearchCV(
            net(), {"method": ["cpe-f", "cpe-n"]}, scoring=metrics.scel_scorer, cv=3
        ).fit(X, y)
        assert search.best_params_ == {"method": "cpe-n"}


def test_error_rates_of_labels_in_evidence_are_those_of_the_labels():
    X, _, as_labels, y_comp, T = judged(0.0)
    clf = net(transition=T, max_epochs=3).fit(X, y_comp)
    assert metrics.ure_scorer(clf, X, as_labels) == metrics.ure_scorer(clf, X, y_comp)
    guess = np.zeros(len(X), dtype=int)
    one, other = (
        metrics.compare_error_rates(y, clf.predict(X), guess, T) for y in (y_comp, as_labels)
    )
    assert one == other


@pytest.mark.parametrize("method", ["cpe-f", "cpe-n", "cpe-t"])
def test_a_stream_keeps_its_T_when_more_rows_say_nothing_of_it(method):
    X, _, as_labels, y_comp, T = judged(0.0)
    clf = net(method=method).partial_fit(X[:1000], as_labels[:1000])
    clf.partial_fit(X[1000:1100], Evidence.ordinary([0] * 100, classes=K))
    np.testing.assert_array_equal(clf.transition_, T)
    other = Evidence.complementary(y_comp[:50], transition.with_uniform_noise(T, 0.3))
    with pytest.raises(ValueError, match="drawn from the T of the calls before"):
        clf.partial_fit(X[:50], other)


def test_labels_that_cannot_occur_together_are_refused(digits):
    T = np.zeros((10, 10))
    T[np.arange(10), (np.arange(10) + 1) % 10] = 1.0
    mask = np.zeros((len(digits.y_train), 10), dtype=bool)
    mask[np.arange(len(mask)), (digits.y_train + 1) % 10] = True
    mask[7, :3] = True
    with pytest.raises(ValueError, match="those of row 7 cannot occur together"):
        net(transition=T).fit(digits.X_train, mask)


def test_evidence_that_is_hardly_a_float_can_be_joined():
    tiny = labels.Evidence([[1e-200, 2e-200]]) & labels.Evidence([[1e-200, 1e-200]])
    np.testing.assert_allclose(np.exp(tiny.log_table[0] - tiny.log_table[0, 1]), [0.5, 1])
    one = transition.uniform(3)
    other = transition.with_uniform_noise(transition.strong(3, random_state=0), 0.9)
    joined = labels.Evidence.complementary([0], one, classes=[0, 1, 2])
    for _ in range(700):
        joined &= labels.Evidence.complementary([1], other, classes=[0, 1, 2])
    expected = np.log(one[1:, 0]) + 700 * np.log(other[1:, 1])
    np.testing.assert_allclose(np.diff(joined.log_table[0, 1:]), np.diff(expected), rtol=1e-9)
