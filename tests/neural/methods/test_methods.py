"""The registry: facts about methods, how they are found, added and replaced."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from neural_helpers import (
    LEARNING,
    NAMES,
    WHOLE_BATCH,
    each_name,
    evaluated,
    objective_of,
    random_batch,
    softmax,
)
from ybar import (
    transition,
)
from ybar.neural import methods
from ybar.neural.methods import likelihoods
from ybar.neural.objective import Run


def test_the_methods_are_those_of_the_design():
    assert set(methods.METHODS) == set(NAMES)


@each_name
def test_what_a_method_estimates_and_how_it_decodes(name):
    method = methods.METHODS[name]
    assert method.estimates == ("q" if name == "cpe-i" else "p")
    assert method.decoder == ("l1" if name in ("cpe-i", "cpe-f", "cpe-t") else "max")
    assert (method.learns is not None) == (name in LEARNING)
    assert method.whole_batch == (name in WHOLE_BATCH)


def test_every_method_of_ours_has_its_gradient_in_closed_form_and_fwd_shares_that_of_cpe_f():
    for method in methods.METHODS.values():
        assert (method.gradient is None) != (method.likelihood is None)
        assert method.learns is None or method.likelihood is likelihoods.transition_itself
    assert methods.METHODS["fwd"].loss is methods.METHODS["cpe-f"].loss
    assert methods.METHODS["fwd"].likelihood is methods.METHODS["cpe-f"].likelihood


@pytest.fixture
def own_methods(monkeypatch):
    """Methods that a test may add to and take from."""
    monkeypatch.setattr(methods, "METHODS", dict(methods.METHODS))
    return methods.METHODS


def squared(logits, y_comp, log_T):
    p = logits.softmax(-1)
    return p.gather(-1, y_comp.expand(p.shape[:-1])[..., None])[..., 0] ** 2


@each_name
def test_find_gives_the_method_of_a_name(name):
    assert methods.find(name) is methods.METHODS[name]
    assert methods.find(methods.METHODS[name]) is methods.METHODS[name]


@pytest.mark.parametrize("wrong", ["", "FWD", "cpe", "no such method " * 20, None, 3, ["fwd"]])
def test_an_unknown_method_is_told_all_the_known_ones_in_one_line(wrong, own_methods):
    methods.register("of-my-own", squared)
    with pytest.raises(ValueError, match="method must be one of") as caught:
        methods.find(wrong)
    message = str(caught.value)
    assert "\n" not in message
    assert all(repr(name) in message for name in [*NAMES, "of-my-own"])
    assert f"got {repr(wrong)[:40]}" in message


def test_a_callable_is_a_method():
    method = methods.find(squared)
    assert isinstance(method, methods.Method)
    assert method.loss is squared
    assert (method.estimates, method.decoder, method.learns) == ("p", "max", None)
    assert (method.whole_batch, method.gradient) == (False, None)
    assert squared not in [known.loss for known in methods.METHODS.values()]


def test_a_method_can_be_added_and_replaced(own_methods):
    methods.register("squared", squared, estimates="q", decoder="l1")
    method = methods.find("squared")
    assert (method.loss, method.estimates, method.decoder) == (squared, "q", "l1")
    g, y_comp = random_batch(4)
    objective = objective_of([Run(method)], transition.uniform(4))
    loss, gradient = evaluated(
        objective, torch.from_numpy(g).float()[None], torch.from_numpy(y_comp), None
    )
    expected = np.mean([softmax(z)[c] ** 2 for z, c in zip(g, y_comp, strict=True)])
    np.testing.assert_allclose(loss, [expected], rtol=1e-5)
    assert gradient.shape == (1, 30, 4)
    methods.register("squared", likelihoods.forward)
    assert methods.find("squared").loss is likelihoods.forward
    assert set(own_methods) == {*NAMES, "squared"}


@pytest.mark.parametrize(
    ("name", "loss", "expected"),
    [
        ("mine", 3, "a callable of .*; got 3$"),
        ("mine", None, "a callable of .*; got None$"),
        ("mine", "fwd", "a callable of .*; got 'fwd'$"),
        ("", squared, "name must be a string to call the method by; got ''$"),
        (None, squared, "name must be a string to call the method by; got None$"),
        (7, squared, "name must be a string to call the method by; got 7$"),
    ],
)
def test_what_is_no_method_is_not_added(own_methods, name, loss, expected):
    with pytest.raises(ValueError, match=expected):
        methods.register(name, loss)
    assert set(own_methods) == set(NAMES)


def test_a_setting_that_no_method_has_is_refused(own_methods):
    with pytest.raises(TypeError, match="decode_by"):
        methods.register("mine", squared, decode_by="l1")
    assert set(own_methods) == set(NAMES)


def test_facts_about_methods_need_no_torch():
    code = (
        "import sys\n"
        "from ybar.neural import methods\n"
        "assert methods.find('cpe-f').accepts_evidence\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("loss_is_scel", {"fwd", "cpe-i", "cpe-f", "cpe-t", "cpe-n"}),
        ("learns_true_labels", {"fwd", "cpe-i", "cpe-f", "cpe-t", "cpe-n"}),
        ("accepts_evidence", {"fwd", "cpe-f", "cpe-t", "cpe-n"}),
        ("models_labels", {"fwd", "cpe-i", "cpe-f", "cpe-t", "cpe-n"}),
        ("inverts", {"ure", "ure-nn", "ure-ga"}),
    ],
)
def test_facts_hold_for_the_methods_they_are_stated_of(fact, expected):
    assert {name for name, m in methods.METHODS.items() if getattr(m, fact)} == expected


def test_an_unknown_loss_is_evaluated_with_every_decoder_and_invents_no_facts():
    method = methods.find(squared)
    assert method.models_labels
    assert not any([method.loss_is_scel, method.accepts_evidence, method.inverts])
