"""Whatever form labels have, they are one internal form with the same answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ybar import labels, transition
from ybar.labels import Evidence
from ybar.labels.observed import mean_one, observe, observe_codes

K = 4
NAMES = ["dog", "ant", "cow", "bee"]


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


@pytest.fixture
def mask():
    mask = np.random.default_rng(0).random((60, K)) < 0.4
    mask[mask.all(axis=1), 0] = False
    mask[5] = False
    return mask


def log_e(terms, T):
    return terms.patterns.log_likelihoods(T)[terms.code]


def test_names_and_indices_in_any_form_have_the_same_pairs(mask, T):
    codes = np.random.default_rng(1).integers(0, K, 30)
    for y, given in ((codes, np.array(NAMES)[codes]), (mask, mask)):
        rows, k = labels.pairs(y, K)
        forms = [observe(given, NAMES), observe_codes(y, K)]
        forms.append(observe(Evidence.complementary(y, T)).as_labels())
        for observed in forms:
            assert observed.by_label
            assert observed.shape == (len(y), K)
            np.testing.assert_array_equal(observed.single_labels(), (rows, k))
            terms = observed.separate_terms()
            np.testing.assert_array_equal(terms.rows, rows)
            np.testing.assert_array_equal(log_e(terms, T), np.log(T).T[k])


def test_joint_terms_are_the_likelihood_of_all_labels_of_a_row(mask, T):
    observed = observe(mask)
    terms = observed.joint_terms()
    np.testing.assert_array_equal(terms.rows, np.flatnonzero(mask.any(axis=1)))
    expected = np.array([np.log(T[:, row]).sum(axis=1) for row in mask[terms.rows]])
    np.testing.assert_allclose(log_e(terms, T), expected)
    np.testing.assert_array_equal(
        observed.with_transition(T).log_table[terms.code], log_e(terms, T)
    )


def test_rows_without_a_label_or_weight_are_of_no_use(mask):
    observed = observe(mask)
    np.testing.assert_array_equal(observed.informative, mask.any(axis=1))
    np.testing.assert_array_equal(observed.usable, mask.any(axis=1))
    weights = (np.arange(60) % 2).astype(float)
    usable = replace(observed, weights=weights).usable
    np.testing.assert_array_equal(usable, mask.any(axis=1) & (weights > 0))


@pytest.mark.parametrize("form", ["codes", "mask", "evidence"])
def test_a_subset_has_the_answers_of_its_rows(form, mask, T):
    y = {"codes": np.arange(60) % K, "mask": mask, "evidence": Evidence.excluded(mask)}[form]
    observed = replace(observe(y, range(K)), weights=np.arange(60.0))
    rows = np.array([7, 5, 30, 7])
    part, alone = observed.subset(rows), observe(y[rows], range(K))
    np.testing.assert_array_equal(part.weights, rows)
    np.testing.assert_array_equal(part.informative, alone.informative)
    for one, other in (
        (part.separate_terms(), alone.separate_terms()),
        (part.joint_terms(), alone.joint_terms()),
    ):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(log_e(one, T), log_e(other, T))


def test_evidence_counts_row_by_row(mask, T):
    evidence = Evidence.concatenate(
        [Evidence.complementary(mask, T), Evidence.ordinary([0, 1], classes=K)]
    )
    observed = observe(evidence)
    assert not observed.by_label
    assert observed.as_labels() is None
    terms = observed.separate_terms()
    np.testing.assert_array_equal(terms.rows, np.flatnonzero(evidence.informative))
    np.testing.assert_allclose(np.exp(log_e(terms, T)), np.asarray(evidence)[terms.rows])


def test_an_unknown_transition_is_not_asked_for_in_silence():
    with pytest.raises(RuntimeError, match="not known"):
        _ = observe([0, 1, 2]).T


def test_weights_of_mean_one():
    weights = mean_one(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 1]))
    assert weights[[0, 0, 1]].mean() == pytest.approx(1)
    assert mean_one(None, np.array([0])) is None
