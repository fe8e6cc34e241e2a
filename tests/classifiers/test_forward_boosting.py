"""Trees that learn p through T: the likelihood's gradient, its limits, all kinds of evidence."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
from scipy.special import logsumexp, softmax

import ybar
from ybar import CPEBoostingClassifierCV, labels, metrics, transition
from ybar.classifiers.base import Checked
from ybar.classifiers.boosting_targets import Likelihood
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import run

K = 4
ALL_ROWS = {"bagging_fraction": 1.0, "feature_fraction": 1.0}
QUICK = {"learning_rates": [0.1], "n_estimators": [10, 30], "random_state": 0}


def target_of(evidence, weights=None):
    codes = evidence.informative[:, None]
    T = transition.uniform(len(evidence.classes))
    return Likelihood(Checked(codes, weights, evidence.classes, T, evidence))


def total_loss(scores, e, weights):
    """-Σ_i w_i log Σ_y p_i[y] e_i[y], as the docstring has it."""
    p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return -(weights * np.log((p * e).sum(axis=1))).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_the_likelihood_and_the_curvature_bounds_its_second(weighted):
    rng = np.random.default_rng(0)
    e, scores = rng.random((6, K)), rng.normal(size=(6, K))
    e[0, 1] = e[1, :3] = 0
    weights = rng.random(6) + 0.5 if weighted else np.ones(6)
    target = target_of(labels.Evidence(e), weights if weighted else None)
    slope, curvature = target.gradient(np.arange(6))(scores, None)
    weights = weights / weights.mean()
    step = 1e-4
    for row in range(6):
        for y in range(K):
            up, down = scores.copy(), scores.copy()
            up[row, y] += step
            down[row, y] -= step
            above, here, below = (total_loss(s, e, weights) for s in (up, scores, down))
            assert slope[row, y] == pytest.approx((above - below) / (2 * step), abs=1e-7)
            second = (above - 2 * here + below) / step**2
            bound = curvature[row, y] / (target.information * K / (K - 1))
            assert second <= bound + 1e-5
    assert np.isfinite(slope).all()


def test_it_is_finite_at_scores_of_ten_thousand():
    e = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]])
    slope, curvature = target_of(labels.Evidence(e)).gradient(np.arange(2))(scores, None)
    np.testing.assert_allclose(slope, [[1, 0, -1], [-1, 0.5, 0.5]])
    assert np.isfinite(curvature).all()


def test_information_is_that_of_ordinary_labels_in_units_of_theirs():
    y = np.arange(1000) % K
    ordinary = target_of(labels.Evidence.ordinary(y, classes=K))
    assert ordinary.information == pytest.approx(1)
    y_comp = labels.draw(y, transition.uniform(K), random_state=0)
    uniform = target_of(labels.Evidence.complementary(y_comp, classes=K))
    assert uniform.information == pytest.approx(1 / (K - 1) ** 2)
    # The expected squared gradient at p = 1/K, over that of ordinary labels.
    T = transition.strong(10, random_state=0)
    many = labels.draw(np.arange(200_000) % 10, T, random_state=0)
    q = T.mean(axis=0)
    posterior = T / T.sum(axis=0)  # of each label, at p = 1/K
    expected = q @ ((posterior - 0.1) ** 2).sum(axis=0) * 10 / 9
    found = target_of(labels.Evidence.complementary(many, T)).information
    assert found == pytest.approx(expected, rel=0.01)
    nothing = labels.Evidence.complementary(many, np.full((10, 10), 0.1))
    codes = Checked(many, None, nothing.classes, np.full((10, 10), 0.1), None)
    assert Likelihood(codes).information == pytest.approx(0, abs=1e-12)


def test_leaves_are_as_large_as_labels_say_little(digits):
    y_comp = labels.draw(np.arange(200_000) % 10, transition.uniform(10), random_state=0)
    target = target_of(labels.Evidence.complementary(y_comp, classes=10))
    assert target.defaults(200_000, 64)["min_data_in_leaf"] == 20 * 81
    few = target_of(labels.Evidence.complementary(y_comp[:1000], classes=10))
    assert few.defaults(1000, 64)["min_data_in_leaf"] == 100
    assert few.defaults(1000, 64)["bagging_fraction"] == 0.5
    assert few.defaults(150, 64)["bagging_fraction"] == 1  # too few for half of them to be split
    known = target_of(labels.Evidence.ordinary(y_comp, classes=10))
    assert known.defaults(200_000, 64) == {}  # LightGBM's own
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    clf = CPEBoostingClassifierCV([0.1], [5], method="cpe-f", random_state=0)
    for said in ("min_data_in_leaf: 121", "bagging_fraction: 0.5", "feature_fraction: 0.2"):
        assert f"[{said}]" in clf.fit(digits.X_train, y_comp).model_
    for name in ("min_data_in_leaf", "min_child_samples"):
        clf.set_params(lightgbm_params={name: 30})
        assert "[min_data_in_leaf: 30]" in clf.fit(digits.X_train, y_comp).model_


def test_of_ordinary_labels_it_is_lightgbms_multiclass(digits):
    X, y = digits.X_train.astype(float), digits.y_train
    split = [(np.arange(1000), np.arange(1000, len(X)))]
    clf = CPEBoostingClassifierCV([0.1], [5, 15], method="cpe-f", cv=split, random_state=0)
    clf.fit(X, labels.Evidence.ordinary(y, classes=10))
    params = {
        "objective": "multiclass",
        "num_class": 10,
        "boost_from_average": False,
        "learning_rate": 0.1,
        "verbosity": -1,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
    }
    own = lightgbm.train(params, lightgbm.Dataset(X, y), clf.best_params_["n_estimators"])
    np.testing.assert_allclose(
        clf.predict_proba(digits.X_test), own.predict(digits.X_test), atol=1e-4
    )


def test_the_path_is_the_scel_of_the_labels_held_out(digits_strong, strong_T):
    X, y_comp, _, _ = digits_strong
    split = [(np.arange(1000), np.arange(1000, len(X)))]
    clf = CPEBoostingClassifierCV(
        [0.05],
        [5, 20],
        method="cpe-f",
        transition=strong_T,
        cv=split,
        random_state=0,
        lightgbm_params=ALL_ROWS,
    ).fit(X, y_comp)
    for count, found, error in zip(
        [5, 20], clf.cv_results_["scel"], clf.cv_results_["scel_std_error"], strict=True
    ):
        alone = CPEBoostingClassifierCV(
            [0.05], [count], method="cpe-f", transition=strong_T, lightgbm_params=ALL_ROWS
        )
        target = Likelihood(alone._check_fit(X, y_comp))
        booster = lightgbm.Booster(
            alone._params(lightgbm, target, target.defaults(1000, 64), 1000, 0)
            | {"learning_rate": 0.05},
            lightgbm.Dataset(X[:1000].astype(np.float32), np.zeros(1000)),
        )
        for _ in range(count):
            booster.update(fobj=target.gradient(np.arange(1000)))
        q = softmax(booster.predict(X[1000:]), axis=1) @ strong_T
        mean, std_error = metrics.scel(y_comp[1000:], q, return_std_error=True)
        assert (found, error) == (pytest.approx(mean, rel=1e-6), pytest.approx(std_error, rel=1e-6))


def test_its_probabilities_are_its_own(digits_strong, strong_T, tmp_path):
    X, y_comp, X_test, y_test = digits_strong
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", transition=strong_T).fit(X, y_comp)
    p = clf.predict_proba(X_test)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(clf.predict_complementary_proba(X_test), p @ strong_T)
    assert clf.estimates_ == "p"
    assert np.mean(clf.predict(X_test) == y_test) > 0.65
    clf.set_params(decoder="max")
    np.testing.assert_array_equal(clf.predict(X_test), p.argmax(axis=1))
    ybar.save(clf, tmp_path / "model.ybar")
    np.testing.assert_array_equal(ybar.load(tmp_path / "model.ybar").predict_proba(X_test), p)


def test_it_learns_where_q_is_flat(digits):
    """Under uniform T, where one label says least, q is hard to learn and p is not."""
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    right = {}
    for method in ("cpe-i", "cpe-f"):
        clf = CPEBoostingClassifierCV(
            [0.025, 0.1], range(5, 101, 5), method=method, random_state=0,
        ).fit(digits.X_train, y_comp)  # fmt: skip
        right[method] = np.mean(clf.predict(digits.X_test) == digits.y_test)
    assert right["cpe-f"] > right["cpe-i"] + 0.05


def test_several_labels_of_a_row_are_taken_together(digits):
    X, y = digits.X_train, digits.y_train
    several = np.zeros((len(y), 10), dtype=bool)
    for seed in range(4):
        several[np.arange(len(y)), labels.draw(y, transition.uniform(10), random_state=seed)] = True
    together = CPEBoostingClassifierCV(**QUICK, method="cpe-f").fit(X, several)
    sets = labels.Evidence.excluded(several)  # the same likelihoods, up to a factor
    as_sets = CPEBoostingClassifierCV(**QUICK, method="cpe-f").set_params(n_estimators=[30])
    np.testing.assert_allclose(
        together.set_params(n_estimators=[30]).fit(X, several).predict_proba(digits.X_test),
        as_sets.fit(X, sets).predict_proba(digits.X_test),
        atol=1e-6,
    )


def test_true_labels_for_some_rows_help(digits, strong_T):
    X, y = digits.X_train, digits.y_train
    gains = []
    for seed in range(5):
        y_comp = labels.draw(y, strong_T, random_state=seed)
        mixed = labels.Evidence.concatenate(
            [
                labels.Evidence.ordinary(y[:150], classes=10),
                labels.Evidence.complementary(y_comp[150:], strong_T),
            ]
        )
        clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", transition=strong_T)
        without, with_ = (
            np.mean(clf.fit(X, given).predict(digits.X_test) == digits.y_test)
            for given in (y_comp, mixed)
        )
        gains.append(with_ - without)
    assert np.mean(gains) > 0
    assert clf.score(digits.X_test, labels.Evidence.ordinary(digits.y_test, classes=10)) > -1


def test_rows_without_a_label_or_weight_change_nothing_but_what_is_held_out(blobs):
    X, _, y_comp = blobs
    several = np.eye(3, dtype=bool)[y_comp]
    several[::3] = False
    weights = np.where(np.arange(len(X)) % 3 == 1, 0.0, 2.0)
    split = [(np.arange(600), np.arange(600, 900))]
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", cv=split)
    clf.fit(X, several, weights)
    used = np.arange(600, 900)[2::3]
    clf.set_params(n_estimators=[10]).fit(X, several, weights)
    target = Likelihood(clf._check_fit(X, several, weights))
    assert target.samples(np.arange(6))[0].tolist() == [2, 5]
    slope, _ = target.gradient(np.array([2]))(np.zeros((1, 3)), None)
    assert slope[0] == pytest.approx(1 / 3 - (~several[2]) / 2)  # weights of mean 1
    found = target.losses(np.zeros((300, 3)), np.arange(600, 900))
    np.testing.assert_array_equal(found.rows[1::2], used)
    np.testing.assert_allclose(found.values, np.log(3))


def test_bad_input_gets_one_line_that_says_what_and_why(digits_strong, strong_T):
    X, y_comp, _, _ = digits_strong
    with pytest.raises(ValueError, match=r"method must be 'cpe-i' .* or 'cpe-f' .*; got 'fwd'"):
        CPEBoostingClassifierCV(method="fwd").fit(X, y_comp)
    with pytest.raises(ValueError, match=r"method must be .*; got \['cpe-f'\]"):
        CPEBoostingClassifierCV(method=["cpe-f"]).fit(X, y_comp)
    known = labels.Evidence.ordinary(y_comp, classes=10)
    with pytest.raises(
        ValueError, match=r"Use method='cpe-f' of ComplementaryNetClassifier or CPEB"
    ):
        CPEBoostingClassifierCV().fit(X, known)
    both = np.zeros((len(X), 10), dtype=bool)
    both[:, :2] = True
    pairs = np.kron(np.eye(5), [[0, 1], [1, 0]])  # each class rules out one other, always
    with pytest.raises(
        ValueError, match=r"y must hold only labels that transition allows; .*row 0 "
    ):
        CPEBoostingClassifierCV(method="cpe-f", transition=pairs, classes=range(10)).fit(X, both)


def test_a_plan_runs_it_as_the_classifier_does(digits):
    text = """
        datasets = ["digits"]
        settings = ["strong"]
        trials = 1
        [[base]]
        name = "trees"
        kind = "gbdt"
        method = "cpe-f"
        learning_rates = [0.1]
        n_estimators = [10, 30]
        min_data_in_leaf = 50
        feature_fraction = 0.4
        bagging_fraction = 0.5
        """
    parsed = plan_file.parse(text)
    dataset = parsed.parts[0].datasets[0]
    (job,) = plan_jobs.jobs(parsed, {dataset: run_data.facts(dataset)})
    (outcome,) = run.run(job)
    trial = run.draw(digits, job.setting, plan_jobs.seed_of("digits", "strong", 0), 0.1)
    clf = CPEBoostingClassifierCV(
        **QUICK,
        method="cpe-f",
        decoder="max",
        transition=trial.T,
        classes=range(10),
        cv=[(trial.training, trial.held_out)],
        lightgbm_params={
            "max_bin": 255,
            "min_data_in_leaf": 50,
            "feature_fraction": 0.4,
            "bagging_fraction": 0.5,
            "bagging_freq": 1,
        },
    ).fit(digits.X_train, trial.y_comp)
    right = 100 * np.mean(clf.predict(digits.X_test) == digits.y_test)
    assert outcome.scores["last.accuracy_max"] == pytest.approx(right)
    assert outcome.scores["last.accuracy_likelihood"] == pytest.approx(right)
    assert outcome.scores["last.scel"] == pytest.approx(-clf.best_score_)
    assert right > 60


def few_rows():
    X = np.random.default_rng(0).normal(size=(30, 2))
    return X, np.arange(30) % 3, None


def constant():
    return np.ones((600, 2)), np.arange(600) % 3, None


def rare():
    X = np.random.default_rng(0).random((1000, 3)) < 0.01
    return X.astype(float), np.arange(1000) % 10, None


def small_training_part():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    return X, np.arange(1000) % 10, [(np.arange(180), np.arange(180, 1000))]


@pytest.mark.parametrize("make", [few_rows, constant, rare, small_training_part])
def test_where_no_split_is_worth_it_all_classes_are_alike(make):
    X, y_comp, cv = make()
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", cv=cv).fit(X, y_comp)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    if make is not small_training_part:
        np.testing.assert_allclose(p, 1 / p.shape[1], atol=0.05)


def test_weights_count_by_their_ratios(digits):
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    weights = np.random.default_rng(0).random(len(y_comp)) + 0.5
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f")
    one, other = (
        clf.fit(digits.X_train, y_comp, scale * weights).predict_proba(digits.X_test)
        for scale in (1, 1e-6)
    )
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert np.mean(one.argmax(axis=1) == digits.y_test) > 0.3


def test_evidence_is_decoded_by_the_largest_p():
    """Two classes with one row of T could not be told apart by decoding q."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1200)
    X = np.eye(3)[y] * 4 + rng.normal(size=(1200, 3))
    T = np.array([[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])
    known = labels.Evidence.ordinary(y[:600], classes=3)
    not_these = labels.Evidence.complementary(labels.draw(y[600:], T, random_state=0), T)
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f")
    clf.fit(X, labels.Evidence.concatenate([known, not_these]))
    assert clf.decoder_ == "max"
    assert np.mean(clf.predict(X) == y) > 0.95
    assert clf.fit(X, labels.draw(y, T, random_state=0)).decoder_ == "l1"


def test_held_out_losses_stay_in_log_space():
    codes, T = np.array([0, 1, 2] * 4), transition.uniform(3)
    target = Likelihood(Checked(codes, None, np.arange(3), T, None))
    found = target.losses(np.array([[800.0, 0, 0]]), np.array([0]))
    assert found.values == pytest.approx([800])


def test_a_class_that_is_never_a_label_is_no_trouble():
    T = np.array([[0, 1, 0], [0.9, 0.1, 0], [0.5, 0.5, 0]])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    X = np.eye(3)[y] * 4 + rng.normal(size=(900, 3))
    y_comp = labels.draw(y, T, random_state=0)
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", transition=T, classes=range(3))
    p = clf.fit(X, y_comp).predict_proba(X)
    assert np.isfinite(p).all()
    with pytest.raises(ValueError, match="y must hold only labels that transition allows"):
        clf.fit(X, np.where(np.arange(900) == 7, 2, y_comp))
    clf.fit(X, np.where(np.arange(900) == 7, 2, y_comp), np.where(np.arange(900) == 7, 0.0, 1.0))
