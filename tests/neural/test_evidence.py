"""Networks learn from evidence: the likelihood of all that was observed is what they minimise."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evidence_helpers import K, judged, mixed, net
from neural_helpers import objective_of
from ybar import (
    metrics,
    transition,
)
from ybar.labels import Evidence
from ybar.neural import methods
from ybar.neural.objective import Run
from ybar.neural.transition_layer import PARAMETRISATIONS


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


@pytest.fixture
def mask():
    mask = np.random.default_rng(0).random((60, K)) < 0.4
    mask[mask.all(axis=1), 0] = False
    return mask


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
    objective.observe(codes, weight, evidence.patterns)
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
        patterns = evidence.patterns
    objective = objective_of([Run(methods.find(method))], T)
    codes = torch.from_numpy(evidence.codes)
    objective.observe(codes, None, patterns)
    objective(logits, codes, None)
    own = objective.transition.parameters[0].clone().requires_grad_()
    learns = PARAMETRISATIONS[methods.find(method).learns]
    matrix = learns.log_matrix(own[None], torch.as_tensor(log_T, dtype=torch.float32))[0].exp()
    counts = torch.from_numpy(evidence.patterns.counts).float()[codes]
    rest = torch.from_numpy(np.exp(evidence.patterns.log_rest)).float()[codes]
    e = rest * (matrix[None] ** counts[:, None, :]).prod(-1)
    total = reference(logits[0], e).sum()
    total.backward()
    np.testing.assert_allclose(
        objective.transition.parameters[0].grad, own.grad / len(codes), atol=1e-5
    )
    np.testing.assert_allclose(objective.pop_losses(), [[total.item()]], rtol=1e-5)


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


def test_a_search_over_methods_finds_the_noise_from_evidence_too():
    X, evidence, as_labels, *_ = judged(0.4)
    for y in (evidence, as_labels):
        search = GridSearchCV(
            net(), {"method": ["cpe-f", "cpe-n"]}, scoring=metrics.scel_scorer, cv=3
        ).fit(X, y)
        assert search.best_params_ == {"method": "cpe-n"}


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
