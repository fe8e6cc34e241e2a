"""The samples that networks train on: per label or per row, with their weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ybar import transition
from ybar.labels.observed import Observed, observe_codes
from ybar.neural import methods, samples

K = 4


@pytest.fixture
def observed() -> Observed:
    masks = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]], bool)
    labels = replace(observe_codes(masks, K), weights=np.array([1.0, 5, 0, 2]))
    return labels.with_transition(transition.uniform(K))


def test_a_method_that_uses_labels_separately_has_a_sample_per_label(observed):
    rows, k, weight, patterns = samples.collect(observed, np.arange(4), methods.find("scl-nl"))
    assert patterns is None
    assert rows.tolist() == [0, 0, 2, 3, 3]
    assert k.tolist() == [0, 1, 2, 0, 3]
    assert weight.tolist() == [1, 1, 0, 2, 2]


def test_a_likelihood_has_a_sample_per_labelled_row_and_only_the_patterns_of_its_part(observed):
    rows, code, weight, patterns = samples.collect(observed, np.array([1, 3]), methods.find("fwd"))
    assert rows.tolist() == [3]
    assert patterns.counts[code].tolist() == [[1, 0, 0, 1]]
    assert len(patterns.counts) == 2  # one of them is that of the row without labels
    assert weight.tolist() == [2]


def test_single_labels_need_no_patterns_even_if_the_part_lacks_a_class():
    labels = observe_codes([0, 1, 2, 3, 0], K).with_transition(transition.uniform(K))
    rows, k, weight, patterns = samples.collect(labels, np.array([1, 4]), methods.find("cpe-f"))
    assert (rows.tolist(), k.tolist(), weight, patterns) == ([1, 4], [1, 0], None, None)


def test_normalised_weights_are_one_on_average_and_weightless_rows_are_left_out(observed):
    rows, _, weight, _ = samples.normalised(observed, np.arange(4))
    assert rows.tolist() == [0, 0, 3, 3]
    assert weight == pytest.approx(np.array([1, 1, 2, 2]) / 1.5)
