"""SCEL, URE and their standard errors, and the scorers in scikit-learn's searches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ybar import CPEClassifier, labels, metrics, transition

quick = settings(deadline=None, max_examples=40)
SEEDS = st.integers(0, 2**32 - 1)


def invertible(n, rng):
    while True:
        T = rng.dirichlet(np.ones(n), n)
        if np.linalg.cond(T) < 1e3:
            return T


def random_mask(rows, n, rng):
    """Return 0 to K-1 labels a row, with one at least somewhere."""
    mask = rng.random((rows, n)) < 0.4
    mask[mask.all(axis=1), 0] = False
    mask[0] = np.arange(n) == 1
    return mask


# --- SCEL ----------------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 8), rows=st.integers(1, 30))
def test_scel_is_the_mean_of_minus_log_q_of_the_label(seed, n, rows):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(n), rows)
    y = rng.integers(0, n, rows)
    expected = sum(-math.log(q[i, y[i]]) for i in range(rows)) / rows
    assert math.isclose(metrics.scel(y, q), expected, rel_tol=1e-12)
    assert math.isclose(metrics.scel(y.tolist(), q.tolist()), expected, rel_tol=1e-12)


@quick
@given(seed=SEEDS, n=st.integers(2, 8), rows=st.integers(2, 30))
def test_scel_is_scikit_learns_log_loss_with_or_without_weights(seed, n, rows):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(n), rows) * 0.99 + 0.01 / n
    q /= q.sum(axis=1, keepdims=True)
    y, weights = rng.integers(0, n, rows), rng.random(rows) + 0.01
    assert math.isclose(metrics.scel(y, q), log_loss(y, q, labels=range(n)), rel_tol=1e-9)
    assert math.isclose(
        metrics.scel(y, q, sample_weight=weights),
        log_loss(y, q, labels=range(n), sample_weight=weights),
        rel_tol=1e-9,
    )


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(1, 15))
def test_scel_counts_every_label_of_a_boolean_row_once(seed, n, rows):
    rng = np.random.default_rng(seed)
    q, mask = rng.dirichlet(np.ones(n), rows), random_mask(rows, n, rng)
    losses = [-math.log(q[i, k]) for i in range(rows) for k in range(n) if mask[i, k]]
    assert math.isclose(metrics.scel(mask, q), sum(losses) / len(losses), rel_tol=1e-12)


def test_scel_is_infinite_where_a_label_had_no_chance_and_finite_if_zero_counts_as_something():
    q = np.array([[0.0, 1.0], [0.5, 0.5]])
    assert metrics.scel([0, 1], q) == math.inf
    mean, error = metrics.scel([0, 1], q, return_std_error=True)
    assert mean == math.inf
    assert math.isnan(error)
    expected = (-math.log(1e-3) - math.log(0.5)) / 2
    assert math.isclose(metrics.scel([0, 1], q, zero_as=1e-3), expected)
    # Such a row of weight 0 does not count.
    assert math.isclose(metrics.scel([0, 1], q, sample_weight=[0, 2]), math.log(2))
    # A zero that no label met does not count either, nor does any other probability change.
    assert math.isclose(metrics.scel([1, 1], q, zero_as=1e-3), math.log(2) / 2)
    tiny = np.array([[1e-12, 1 - 1e-12], [0.5, 0.5]])
    expected = (-math.log(1e-12) - math.log(0.5)) / 2
    assert math.isclose(metrics.scel([0, 1], tiny, zero_as=1e-3), expected)


@pytest.mark.parametrize("zero_as", [-0.1, 1.5, math.nan, "0"])
def test_zero_counts_as_a_probability_or_not_at_all(zero_as):
    with pytest.raises(ValueError, match="zero_as must be a probability"):
        metrics.scel([0], [[0.5, 0.5]], zero_as=zero_as)


# --- URE -----------------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(1, 20), several=st.booleans())
def test_ure_is_the_mean_of_the_inverse_rows_over_the_wrong_classes(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    inverse = np.linalg.inv(T)
    y_pred = rng.integers(0, n, rows)
    y_comp = random_mask(rows, n, rng) if several else rng.integers(0, n, rows)
    pairs = (
        [(i, k) for i in range(rows) for k in range(n) if y_comp[i, k]]
        if several
        else list(enumerate(y_comp))
    )
    total = sum(inverse[ybar, k] for i, ybar in pairs for k in range(n) if k != y_pred[i])
    found = metrics.ure_zero_one(y_comp, y_pred, T)
    assert math.isclose(found, total / len(pairs), rel_tol=1e-8, abs_tol=1e-8)


@quick
@given(
    n=st.integers(2, 12),
    data=st.data(),
    rows=st.integers(1, 20),
)
def test_ure_under_uniform_T_is_K_minus_one_times_the_share_of_predicted_labels(n, data, rows):
    column = st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows)
    y_comp, y_pred = data.draw(column), data.draw(column)
    share = sum(a == b for a, b in zip(y_comp, y_pred, strict=True)) / rows
    found = metrics.ure_zero_one(y_comp, y_pred, transition.uniform(n))
    assert math.isclose(found, (n - 1) * share, rel_tol=1e-9, abs_tol=1e-9)


def test_ure_with_a_singular_T_warns_and_uses_the_pseudo_inverse():
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    with pytest.warns(UserWarning, match="singular, so its pseudo-inverse is used") as record:
        found = metrics.ure_zero_one([0, 1, 2, 2], [0, 1, 2, 0], T)
    assert record[0].filename == __file__
    pseudo = np.linalg.pinv(T)
    rows = zip([0, 1, 2, 2], [0, 1, 2, 0], strict=True)
    expected = sum(pseudo[c, k] for c, y in rows for k in range(3) if k != y) / 4
    assert math.isclose(found, expected, abs_tol=1e-12)


# --- standard errors -----------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 6), rows=st.integers(2, 40))
def test_with_one_label_a_row_the_standard_error_is_that_of_a_mean(seed, n, rows):
    rng = np.random.default_rng(seed)
    q, y, y_pred = (
        rng.dirichlet(np.ones(n), rows),
        rng.integers(0, n, rows),
        rng.integers(0, n, rows),
    )
    losses = np.array([-math.log(q[i, y[i]]) for i in range(rows)])
    mean, error = metrics.scel(y, q, return_std_error=True)
    assert math.isclose(mean, losses.mean(), rel_tol=1e-12)
    assert math.isclose(error, losses.std(ddof=1) / math.sqrt(rows), rel_tol=1e-9, abs_tol=1e-15)
    T = invertible(n, rng)
    inverse = np.linalg.inv(T)
    losses = np.array(
        [sum(inverse[y[i], k] for k in range(n) if k != y_pred[i]) for i in range(rows)]
    )
    mean, error = metrics.ure_zero_one(y, y_pred, T, return_std_error=True)
    assert math.isclose(mean, losses.mean(), rel_tol=1e-8, abs_tol=1e-8)
    assert math.isclose(error, losses.std(ddof=1) / math.sqrt(rows), rel_tol=1e-7, abs_tol=1e-8)


def test_a_single_row_has_no_standard_error():
    for y in ([1], np.array([[True, False, True]])):
        mean, error = metrics.scel(y, [[0.2, 0.3, 0.5]], return_std_error=True)
        assert math.isfinite(mean)
        assert math.isnan(error)


def test_the_standard_error_is_calibrated_where_rows_have_several_labels():
    """Labels of a row share its model's mistake: the naive error over labels is far too small."""
    rng = np.random.default_rng(0)
    n, rows, trials = 6, 150, 1500
    means, errors, naive = [], [], []
    for _ in range(trials):
        good = rng.random(rows) < 0.5
        flat = np.full((rows, n), 1 / n)
        peaked = np.full((rows, n), 0.004)
        peaked[:, 0] = 1 - 0.004 * (n - 1)
        q = np.where(good[:, None], flat, peaked)
        mask = np.zeros((rows, n), dtype=bool)
        for k in range(1, n):
            mask[:, k] = rng.random(rows) < 0.7
        mask[rng.random(rows) < 0.1] = False
        mean, error = metrics.scel(mask, q, return_std_error=True)
        losses = -np.log(q[mask])
        means.append(mean)
        errors.append(error)
        naive.append(losses.std(ddof=1) / math.sqrt(len(losses)))
    spread = np.std(means, ddof=1)
    allowed = 5 / math.sqrt(2 * trials)  # relative standard error of a standard deviation: 1/√(2n)
    assert abs(np.mean(errors) / spread - 1) < allowed
    assert abs(np.mean(naive) / spread - 1) > 3 * allowed
    centre = np.mean(means)
    covered = np.mean(np.abs(np.array(means) - centre) < 1.96 * np.array(errors))
    assert abs(covered - 0.95) < 5 * math.sqrt(0.95 * 0.05 / trials)


def test_the_standard_error_of_the_weighted_mean_is_calibrated():
    rng = np.random.default_rng(1)
    n, rows, trials = 4, 200, 1500
    T = transition.weak(n, 0)
    found = []
    for _ in range(trials):
        y_comp = labels.draw(rng.integers(0, n, rows), T, rng)
        q = rng.dirichlet(np.ones(n), rows) * 0.9 + 0.025
        weights = rng.exponential(size=rows)
        found.append(metrics.scel(y_comp, q, sample_weight=weights, return_std_error=True))
    means, errors = np.array(found).T
    assert abs(errors.mean() / means.std(ddof=1) - 1) < 5 / math.sqrt(2 * trials)


# --- weights -------------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 5), rows=st.integers(2, 12), several=st.booleans())
def test_a_weight_is_as_many_repetitions_of_the_row(seed, n, rows, several):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    q = rng.dirichlet(np.ones(n), rows)
    y, y_pred = rng.integers(0, n, rows), rng.integers(0, n, rows)
    y_comp = random_mask(rows, n, rng) if several else rng.integers(0, n, rows)
    weights = rng.integers(0, 4, rows)
    weights[0] = 2
    again = np.repeat(np.arange(rows), weights)
    for weighted, repeated in [
        (
            metrics.scel(y_comp, q, sample_weight=weights),
            metrics.scel(y_comp[again], q[again]),
        ),
        (
            metrics.ure_zero_one(y_comp, y_pred, T, sample_weight=weights),
            metrics.ure_zero_one(y_comp[again], y_pred[again], T),
        ),
        (
            metrics.complementary_estimation_loss(y, q, T, sample_weight=weights),
            metrics.complementary_estimation_loss(y[again], q[again], T),
        ),
    ]:
        assert math.isclose(weighted, repeated, rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(
        metrics.scel(y_comp, q, sample_weight=weights * 0.37),
        metrics.scel(y_comp, q, sample_weight=weights),
        rel_tol=1e-12,
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "one number for each of the 2 rows"),
        ([1.0, -1.0], "not negative"),
        ([0.0, 0.0], "not all zero"),
        ([1.0, np.nan], "finite"),
        (["a", "b"], "must be numbers"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        metrics.scel([0, 1], [[0.5, 0.5], [0.5, 0.5]], sample_weight=weights)


def test_numbers_of_rows_that_differ_are_refused():
    q = [[0.5, 0.5], [0.5, 0.5]]
    T = transition.uniform(2)
    with pytest.raises(ValueError, match="y_comp and q must have the same number of rows"):
        metrics.scel([0], q)
    with pytest.raises(ValueError, match="y_comp and y_pred must have the same number of rows"):
        metrics.ure_zero_one([0], [0, 1], T)
    with pytest.raises(ValueError, match="y_true and q must have the same number of rows"):
        metrics.complementary_estimation_loss([0], q, T)
    with pytest.raises(ValueError, match="y_true and q must have the same number of rows"):
        metrics.error_bound([0], q, T)


# --- the complementary estimation loss -----------------------------------------------------------


def kl_by_loops(q, t):
    total = 0.0
    for a, b in zip(q, t, strict=True):
        if b > 0:
            total += b * (math.log(b) - math.log(a)) if a > 0 else math.inf
    return total


LOSSES = {
    "kl": ("kl", kl_by_loops),
    "l1": ("l1", lambda q, t: sum(abs(a - b) for a, b in zip(q, t, strict=True))),
    "l2": ("l2", lambda q, t: math.sqrt(sum((a - b) ** 2 for a, b in zip(q, t, strict=True)))),
    "chebyshev": ("chebyshev", lambda q, t: max(abs(a - b) for a, b in zip(q, t, strict=True))),
    "callable": (
        lambda q, t: (q - t) @ np.arange(len(t)) ** 2.0,  # q comes first
        lambda q, t: sum((a - b) * k**2 for k, (a, b) in enumerate(zip(q, t, strict=True))),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=30)
@given(data=st.data(), n=st.integers(2, 5), rows=st.integers(1, 6))
def test_the_estimation_loss_is_the_mean_loss_against_the_row_of_the_true_class(
    name, data, n, rows
):
    def distribution():
        weights = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any))
        return np.array(weights, dtype=float) / sum(weights)

    q = np.array([distribution() for _ in range(rows)])
    T = np.array([distribution() for _ in range(n)])
    y = data.draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows))
    loss, plain = LOSSES[name]
    expected = sum(plain(q[i], T[y[i]]) for i in range(rows)) / rows
    found = metrics.complementary_estimation_loss(y, q, T, loss=loss)
    if math.isinf(expected):
        assert found == math.inf
    else:
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


# --- scorers -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy_blobs():
    X, y = make_blobs(240, n_features=4, centers=4, cluster_std=2.0, random_state=0)
    names = np.array(["dog", "ant", "cow", "bee"])
    T = transition.with_uniform_noise(transition.weak(4, 0), 0.1)
    return X, y, names, T, labels.draw(y, T, random_state=0)


def folds(X):
    return list(KFold(4, shuffle=True, random_state=0).split(X))


def scel_by_loops(q, y):
    """As the scorer has it: a label that was given 0 counts as one in n + 1."""
    n = len(y)
    return sum(-math.log(q[i, y[i]] if q[i, y[i]] > 0 else 1 / (n + 1)) for i in range(n)) / n


def ure_by_loops(y_pred, y, T):
    inverse = np.linalg.inv(T)
    n = len(T)
    wrong = ((c, k) for c, p in zip(y, y_pred, strict=True) for k in range(n) if k != p)
    return sum(inverse[c, k] for c, k in wrong) / len(y)


def test_cross_val_score_gives_minus_scel_and_minus_ure_of_each_fold(noisy_blobs):
    X, _, names, T, codes = noisy_blobs
    y = names[codes]
    # Columns of q come in the order of `classes`, not in sorted order.
    clf = CPEClassifier(KNeighborsClassifier(15), transition=T, classes=names)
    scel_scores, ure_scores = [], []
    for train, test in folds(X):
        base = KNeighborsClassifier(15).fit(X[train], codes[train])
        q = base.predict_proba(X[test])
        scel_scores.append(-scel_by_loops(q, codes[test]))
        y_pred = [min(range(4), key=lambda k, r=r: np.abs(r - T[k]).sum()) for r in q]
        ure_scores.append(-ure_by_loops(y_pred, codes[test], T))
    found = cross_validate(
        clf,
        X,
        y,
        cv=folds(X),
        scoring={"scel": metrics.scel_scorer, "ure": metrics.ure_scorer},
    )
    np.testing.assert_allclose(found["test_scel"], scel_scores, rtol=1e-9)
    np.testing.assert_allclose(found["test_ure"], ure_scores, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        cross_val_score(clf, X, y, cv=folds(X), scoring=metrics.scel_scorer), scel_scores
    )
    np.testing.assert_allclose(cross_val_score(clf, X, y, cv=folds(X)), scel_scores)


def test_grid_search_takes_the_candidate_of_the_smallest_scel(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    grid = [1, 5, 40, 120]
    mean = {
        k: np.mean(
            [
                scel_by_loops(KNeighborsClassifier(k).fit(X[a], y[a]).predict_proba(X[b]), y[b])
                for a, b in folds(X)
            ]
        )
        for k in grid
    }
    search = GridSearchCV(
        CPEClassifier(KNeighborsClassifier(), transition=T),
        {"estimator__n_neighbors": grid},
        scoring=metrics.scel_scorer,
        cv=folds(X),
    ).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], [-mean[k] for k in grid], rtol=1e-9
    )
    assert search.best_params_ == {"estimator__n_neighbors": min(mean, key=mean.get)}
    assert search.best_params_["estimator__n_neighbors"] > 1


@pytest.mark.parametrize("name", ["scel_scorer", "ure_scorer"])
def test_a_halving_search_over_a_pipeline_takes_the_scorers(noisy_blobs, name):
    X, _, names, T, codes = noisy_blobs
    search = HalvingGridSearchCV(
        make_pipeline(StandardScaler(), CPEClassifier(transition=T, classes=names)),
        {
            "cpeclassifier__estimator": [LogisticRegression(C=C) for C in (1e-6, 1.0)],
            "cpeclassifier__decoder": ["l1", "l2"],
        },
        scoring=getattr(metrics, name),
        min_resources=60,
        factor=3,
        cv=3,
        random_state=0,
    ).fit(X, names[codes])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.cv_results_["mean_test_score"].std() > 0
    assert search.best_score_ == pytest.approx(
        max(
            score
            for score, n in zip(
                search.cv_results_["mean_test_score"],
                search.cv_results_["n_resources"],
                strict=True,
            )
            if n == max(search.cv_results_["n_resources"])
        )
    )
    assert set(search.predict(X)) <= set(names)


@pytest.mark.parametrize("nested", [False, True])
def test_inside_a_pipeline_the_classifier_is_judged_on_what_its_steps_give_it(noisy_blobs, nested):
    X, _, _, T, y = noisy_blobs
    classifier = CPEClassifier(LogisticRegression(), transition=T)
    last = Pipeline([("keep", VarianceThreshold()), ("cpe", classifier)]) if nested else classifier
    model = make_pipeline(StandardScaler(), SelectKBest(k=3), last).fit(X, y)
    seen = model[:-1].transform(X)
    base = LogisticRegression().fit(seen, y)
    expected = -scel_by_loops(base.predict_proba(seen), y)
    assert math.isclose(metrics.scel_scorer(model, X, y), expected, rel_tol=1e-6)
    expected = -ure_by_loops(model.predict(X), y, T)
    assert math.isclose(metrics.ure_scorer(model, X, y), expected, rel_tol=1e-7)


def test_the_scorers_find_the_classifier_inside_a_search(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    model = make_pipeline(StandardScaler(), CPEClassifier(transition=T))
    search = GridSearchCV(
        model,
        {"cpeclassifier__decoder": ["l1", "max"]},
        scoring=metrics.ure_scorer,
        cv=3,
    ).fit(X, y)
    for scorer in (metrics.scel_scorer, metrics.ure_scorer):
        assert scorer(search, X, y) == scorer(search.best_estimator_, X, y)
        assert math.isfinite(scorer(search, X, y))


def test_the_scorers_take_several_labels_a_row(noisy_blobs):
    X, _, names, T, y = noisy_blobs
    second = labels.draw(noisy_blobs[1], T, random_state=1)
    mask = np.zeros((len(y), 4), dtype=bool)
    mask[np.arange(len(y)), y] = mask[np.arange(len(y)), second] = True
    model = CPEClassifier(transition=T, classes=names)
    scores = cross_val_score(model, X, mask, cv=folds(X), scoring=metrics.scel_scorer)
    for score, (train, test) in zip(scores, folds(X), strict=True):
        q = model.fit(X[train], mask[train]).predict_complementary_proba(X[test])
        losses = [
            -math.log(q[i, k]) for i in range(len(test)) for k in range(4) if mask[test][i, k]
        ]
        assert math.isclose(score, -sum(losses) / len(losses), rel_tol=1e-9)
    scores = cross_val_score(model, X, mask, cv=folds(X), scoring=metrics.ure_scorer)
    assert np.isfinite(scores).all()


def test_the_scorers_take_weights_as_repetitions(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    model = CPEClassifier(transition=T).fit(X, y)
    weights = np.arange(len(y)) % 3
    again = np.repeat(np.arange(len(y)), weights)
    for scorer in (metrics.scel_scorer, metrics.ure_scorer):
        assert math.isclose(
            scorer(model, X, y, sample_weight=weights), scorer(model, X[again], y[again])
        )


def test_a_label_without_a_chance_costs_the_scorer_log_n_plus_one_not_infinity(noisy_blobs):
    X, _, _, T, y = noisy_blobs
    model = CPEClassifier(KNeighborsClassifier(1), transition=T).fit(X[:120], y[:120])
    q = model.predict_complementary_proba(X[120:])
    assert (q[np.arange(120), y[120:]] == 0).any()
    assert metrics.scel(y[120:], q) == math.inf
    expected = -scel_by_loops(q, y[120:])
    assert math.isclose(metrics.scel_scorer(model, X[120:], y[120:]), expected, rel_tol=1e-9)


def test_a_classifier_without_complementary_probabilities_is_told_what_to_do(noisy_blobs):
    X, _, _, _, y = noisy_blobs
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(TypeError, match=r"Wrap it: CPEClassifier\(estimator\)"):
            metrics.scel_scorer(model.fit(X, y), X, y)
