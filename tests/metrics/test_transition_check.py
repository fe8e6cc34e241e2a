"""`metrics.check_transition`: a correct T passes, whatever the classes; a wrong one does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ybar import CPEClassifier, decode, labels, metrics, transition

NAMES = ["label shares", "floor", "free q", "error rate", "predicted classes"]


def sample(T, n, rng, prior=None):
    """Return X, complementary labels drawn from T, and the true classes."""
    n_classes = len(T)
    y = rng.choice(n_classes, size=n, p=prior)
    centres = 4 * np.eye(n_classes)
    return centres[y] + rng.normal(size=(n, n_classes)), labels.draw(y, T, rng), y


def check_on_held_out(X, y_comp, T, **options):
    """Fit a model that does not know T to one half, and check T on the other."""
    half = len(X) // 2
    clf = CPEClassifier(transition=T, classes=range(len(T))).fit(X[:half], y_comp[:half])
    return metrics.check_transition(
        y_comp[half:],
        T,
        q=clf.predict_complementary_proba(X[half:]),
        y_pred=clf.predict(X[half:]),
        **options,
    )


@pytest.fixture(scope="module")
def biased():
    """Answers under a strong T, which a user takes for uniform."""
    T = transition.strong(6, random_state=0)
    X, y_comp, _ = sample(T, 2000, np.random.default_rng(0), prior=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    return X, y_comp, T


def test_biased_answers_refute_a_uniform_T_and_not_their_own(biased):
    X, y_comp, T = biased
    wrong = check_on_held_out(X, y_comp, transition.uniform(6))
    assert wrong.refuted
    assert wrong.p_value < 1e-10
    assert [test.name for test in wrong.tests] == NAMES
    assert {"floor", "free q"} <= {t.name for t in wrong.tests if t.p_value < 1e-6}
    assert len(wrong.reasons) == len(str(wrong).splitlines()) - 1 >= 2
    right = check_on_held_out(X, y_comp, T)
    assert not right.refuted
    assert right.reasons == []
    assert len(str(right).splitlines()) == 1


def test_shares_alone_refute_a_T_that_allows_them_for_no_prior(biased):
    _, y_comp, _ = biased
    share = np.bincount(y_comp).max() / len(y_comp)
    assert share > 0.2  # of labels under a uniform T of six classes none has more
    (test,) = metrics.check_transition(y_comp, transition.uniform(6)).tests
    assert test.observed == pytest.approx(share)
    assert test.allowed == pytest.approx(0.2)
    largest = np.bincount(y_comp).max()
    single = stats.binomtest(largest, len(y_comp), 0.2, alternative="greater").pvalue
    assert test.p_value == pytest.approx(min(1, 12 * single))


@pytest.mark.parametrize("prior", [None, [1, 0, 0, 0], [0.5, 0.5, 0, 0]])
@pytest.mark.parametrize("form", ["one", "weighted", "several"])
def test_a_correct_T_is_refuted_no_more_often_than_the_level_says(prior, form):
    rng = np.random.default_rng(7)
    refuted = 0
    for repeat in range(400):
        T = transition.strong(4, repeat)
        y = rng.choice(4, size=60, p=prior)
        y_comp = labels.draw(y, T, rng)
        options = {}
        if form == "weighted":
            options["sample_weight"] = rng.gamma(1.0, size=60)
        if form == "several":  # two different labels per row: T stays what it is if it is uniform
            T = transition.uniform(4)
            y_comp = np.argsort(rng.random((60, 4)) + 9 * np.eye(4)[y], axis=1).argsort(axis=1) < 2
        refuted += metrics.check_transition(y_comp, T, level=0.05, **options).refuted
    assert refuted / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("kind", ["uniform", "strong", "noisy"])
@pytest.mark.parametrize("n", [40, 400])
def test_a_model_of_its_own_labels_does_not_refute_a_correct_T(kind, n):
    rng = np.random.default_rng(1)
    refuted = 0
    for repeat in range(100):
        T = transition.uniform(3) if kind == "uniform" else transition.strong(3, repeat)
        T = transition.with_uniform_noise(T, 0.3) if kind == "noisy" else T
        X, y_comp, _ = sample(T, n, rng)
        if len(np.unique(y_comp[: n // 2])) < 3:
            continue
        refuted += check_on_held_out(X, y_comp, T, level=0.05).refuted
    assert refuted <= 5 + 2 * np.sqrt(5)


def test_each_test_is_the_t_test_that_it_claims_to_be(biased):
    _, y_comp, _ = biased
    rng = np.random.default_rng(2)
    T = transition.biased(6, (0.6, 0.3, 0.1), 5)
    n = len(y_comp)
    q, y_pred = rng.dirichlet(np.ones(6), size=n), rng.integers(6, size=n)
    tests = {t.name: t for t in metrics.check_transition(y_comp, T, q=q, y_pred=y_pred).tests}

    def p_value(values, border):
        difference = border - values.mean()
        error = np.hypot(values.std(ddof=1) / np.sqrt(n), difference / n)
        return stats.t.sf(difference / error, n - 1)

    rows = np.arange(n)
    losses = -np.log(q[rows, y_comp])
    entropies = [-sum(t * np.log(t) for t in row if t > 0) for row in T]
    assert tests["floor"].p_value == pytest.approx(p_value(losses, min(entropies)))
    projected = -np.log((decode.class_probabilities(q, T) @ T)[rows, y_comp])
    assert tests["free q"].p_value == pytest.approx(p_value(losses - projected, 0.0))
    inverse = np.linalg.inv(T)
    ure = inverse[y_comp].sum(axis=1) - inverse[y_comp, y_pred]
    outside = p_value(ure, 0.0) if ure.mean() < 0.5 else p_value(-ure, -1.0)
    assert tests["error rate"].p_value == pytest.approx(min(1, 2 * outside))
    assert tests["error rate"].observed == pytest.approx(ure.mean())


def test_predicted_classes_is_a_likelihood_ratio_test_against_mixtures_of_rows():
    rng = np.random.default_rng(0)
    T = transition.strong(4, 0)
    y_comp, y_pred = rng.integers(4, size=300), rng.integers(3, size=300)  # no row is predicted 3
    test = metrics.check_transition(y_comp, T, y_pred=y_pred).tests[-1]
    ratio = freedom = 0.0
    for group in range(3):
        share = np.bincount(y_comp[y_pred == group], minlength=4) / (y_pred == group).sum()
        (p,) = decode.class_probabilities([share], T)
        mixture = p @ T
        freedom += (p < 1e-6).sum()
        ratio += (
            2
            * (y_pred == group).sum()
            * sum(s * np.log(s / m) for s, m in zip(share, mixture, strict=True) if s > 0)
        )
    assert test.name == "predicted classes"
    assert 0 < freedom < 3 * 3
    assert test.p_value == pytest.approx(stats.chi2.sf(ratio, freedom), rel=1e-9, abs=0)


@pytest.mark.parametrize("rows_per_class", [8, 100])
def test_right_predictions_refute_a_correct_T_as_often_as_the_p_value_says(rows_per_class):
    rng = np.random.default_rng(3)
    T = transition.with_uniform_noise(transition.strong(4, 0), 0.3)
    y = np.repeat(np.arange(4), rows_per_class)
    p_values = np.array(
        [
            metrics.check_transition(labels.draw(y, T, rng), T, y_pred=y).tests[-1].p_value
            for _ in range(400)
        ]
    )
    refuted = np.mean(p_values < 0.05)
    assert refuted <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert refuted > (0.02 if rows_per_class == 100 else -1)  # few rows: no more often is enough


@pytest.mark.parametrize("n_rows", [1000, 4000])
def test_right_predictions_of_many_classes_refute_no_correct_T(n_rows):
    """Each predicted class has each label about once or twice, for which χ² is too small."""
    T = transition.uniform(50)
    for seed in range(5):
        y = np.random.default_rng(seed).integers(50, size=n_rows)
        y_comp = labels.draw(y, T, random_state=seed)
        assert metrics.check_transition(y_comp, T, y_pred=y).tests[-1].p_value > 0.01


def test_a_weak_T_refutes_a_uniform_one_with_a_thousand_predictions():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=1000)
    y_pred = np.where(rng.random(1000) < 0.9, y, rng.integers(6, size=1000))
    refuted = [
        metrics.check_transition(
            labels.draw(y, transition.weak(6, seed), rng), transition.uniform(6), y_pred=y_pred
        ).refuted
        for seed in range(40)
    ]
    assert np.mean(refuted) > 0.85


@pytest.mark.parametrize("form", ["one", "weighted", "several"])
def test_predictions_refute_a_T_whose_label_shares_are_right(form):
    """A weak T with even classes has even shares of labels, like the uniform one."""
    rng = np.random.default_rng(0)
    T = np.stack([np.roll([0, 0.35, 0.3, 0.2, 0.15], y) for y in range(5)])
    y = rng.integers(5, size=2000)
    y_comp, weights = labels.draw(y, T, rng), rng.gamma(1.0, size=2000)
    if form == "several":
        y_comp = np.eye(5, dtype=bool)[y_comp] | np.eye(5, dtype=bool)[labels.draw(y, T, rng)]
    options = {"y_pred": np.where(rng.random(2000) < 0.8, y, rng.integers(5, size=2000))}
    if form == "weighted":
        options["sample_weight"] = weights
    wrong = metrics.check_transition(y_comp, transition.uniform(5), **options)
    assert wrong.refuted
    assert wrong.reasons[0] == wrong.tests[-1].reason
    if form != "several":  # two labels that differ do not follow T exactly
        assert not metrics.check_transition(y_comp, T, **options).refuted


def test_a_label_that_T_makes_impossible_refutes_it_at_once():
    T = [[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]]
    assert not metrics.check_transition([0, 1] * 50, T).refuted
    check = metrics.check_transition([0, 1] * 50 + [2], T, classes=["a", "b", "c"])
    assert check.p_value == 0
    assert "'c'" in check.reasons[0]


def test_a_few_rows_prove_nothing():
    T = transition.uniform(3)
    q = np.full((3, 3), 1e-9)
    q[:, 0] = 1 - 2e-9
    assert not metrics.check_transition([0, 0, 0], T, q=q, y_pred=[1, 1, 1]).refuted


def test_the_order_of_the_classes_does_not_matter(biased):
    X, y_comp, T = biased
    order = np.random.default_rng(0).permutation(6)
    q = np.random.default_rng(1).dirichlet(np.ones(6), size=len(X))
    p_values = [t.p_value for t in metrics.check_transition(y_comp, T, q=q).tests]
    renamed = metrics.check_transition(
        np.argsort(order)[y_comp], T[np.ix_(order, order)], q=q[:, order]
    )
    assert [t.p_value for t in renamed.tests] == pytest.approx(p_values)


def test_a_singular_T_is_checked_without_its_error_rate():
    T = [[0, 0.5, 0.25, 0.25], [0.5, 0, 0.25, 0.25], [0.25, 0.25, 0, 0.5], [0.25, 0.25, 0.5, 0]]
    check = metrics.check_transition([0, 1, 2, 3], T, y_pred=[0, 1, 2, 3])
    assert [test.name for test in check.tests] == ["label shares", "predicted classes"]


@pytest.mark.parametrize(
    ("options", "name", "shown"),
    [
        ({"classes": ["a", "b"]}, "classes", "2"),
        ({"level": 2}, "level", "2"),
        ({"q": [[0.5, 0.5]]}, "q", "2"),
        ({"y_pred": [0, 1]}, "y_pred", "2"),
        ({"sample_weight": [1, 1]}, "sample_weight", "(2,)"),
    ],
)
def test_bad_input_is_named_and_shown(options, name, shown):
    with pytest.raises(ValueError, match=name) as caught:
        metrics.check_transition([0, 1, 2], transition.uniform(3), **options)
    assert shown in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_perfect_model_does_not_refute_a_matrix_with_very_little_noise():
    y = np.arange(120) % 3
    T = transition.with_uniform_noise(transition.uniform(3), 1e-4)
    y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    q = transition.uniform(3)[y]
    assert not metrics.check_transition(y_comp, T, q=q, y_pred=y).refuted
    assert not metrics.check_transition(np.eye(3, dtype=bool)[y_comp], T, q=q, y_pred=y).refuted


def test_class_probabilities_that_are_known_are_not_computed_again():
    T = transition.strong(4, 0)
    rng = np.random.default_rng(0)
    q, y_comp = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    p = decode.class_probabilities(q, T)
    alone = metrics.check_transition(y_comp, T, q=q)
    assert metrics.check_transition(y_comp, T, q=q, p=p).tests == alone.tests
    other = metrics.check_transition(y_comp, T, q=q, p=np.full((50, 4), 0.25))
    assert other.tests[-1].p_value != alone.tests[-1].p_value
    with pytest.raises(ValueError, match=r"p must .*sum to 1"):
        metrics.check_transition(y_comp, T, q=q, p=2 * p)
