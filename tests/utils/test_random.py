"""A ``random_state`` of any kind becomes one Generator; the global random state is not touched."""

import numpy as np
import pytest

from ybar.utils.random import as_generator


@pytest.mark.parametrize("seed", [0, np.int64(7), np.random.SeedSequence(3)])
def test_the_same_seed_is_the_same_stream(seed):
    assert as_generator(seed).random() == as_generator(seed).random()


def test_a_generator_is_used_as_it_is_and_a_random_state_advances():
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator
    state = np.random.RandomState(0)
    assert as_generator(state).random() != as_generator(state).random()


def test_none_is_a_new_stream_and_the_global_state_stays():
    before = np.random.get_state()[1].copy()
    assert as_generator(None).random() != as_generator(None).random()
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("seed", ["seed", -1, 1.5, True, [1, 2]])
def test_other_values_are_shown(seed):
    with pytest.raises(ValueError, match=r"^random_state ") as caught:
        as_generator(seed)
    assert repr(seed) in str(caught.value)
