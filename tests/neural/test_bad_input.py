"""Bad parameters of networks raise one line with the parameter and its value."""

from __future__ import annotations

import numpy as np
import pytest

from bad_input import X, Y, assert_one_clear_line, net, net_cv

# By parameter: a bad value, and what the error must show.
NET_RULES = {
    "method": [
        ("cpe-x", ["method", "'ure'", "'ure-nn'", "'cpe-n'", "'cpe-x'"]),
        (None, ["method", "None"]),
        (3, ["method", "3"]),
    ],
    "hidden_layer_sizes": [
        (500, ["hidden_layer_sizes", "500"]),
        ((0,), ["hidden_layer_sizes", "(0,)"]),
        ((2.5,), ["hidden_layer_sizes", "(2.5,)"]),
        ("big", ["hidden_layer_sizes", "'big'"]),
    ],
    "weight_decay": [(-1, ["weight_decay", "-1"])],
    "batch_size": [
        (0, ["batch_size", "0"]),
        (2.5, ["batch_size", "2.5"]),
    ],
    "max_epochs": [(0, ["max_epochs", "0"])],
    "patience": [(-1, ["patience", "-1"])],
    "dropout": [
        (1, ["dropout", "1"]),
        (-0.1, ["dropout", "-0.1"]),
    ],
    "input_dropout": [(np.nan, ["input_dropout", "nan"])],
    "weight_averaging": [(1.5, ["weight_averaging", "1.5"])],
    "validation_fraction": [
        (0, ["validation_fraction", "0"]),
        (1.0, ["validation_fraction", "1.0"]),
    ],
    "select": [("first", ["select", "'best'", "'last'", "'first'"])],
    "criterion": [("accuracy", ["criterion", "'scel'", "'ure'", "'accuracy'"])],
    "device": [
        ("cuda", ["device", "'cpu'", "'cuda'", "'auto'", "device="]),
        ("tpu", ["device", "'auto'", "'cpu'", "'cuda'", "'mps'", "'tpu'"]),
        (0, ["device", "'auto'", "'cpu'", "'cuda'", "'mps'", "0"]),
    ],
    "network": [("cnn", ["network", "'cnn'"])],
    "callbacks": [(print, ["callbacks", "<built-in"])],
    "verbose": [(2, ["verbose", "2"])],
    "decoder": [("l3", ["decoder", "'l1'", "'l2'", "'max'", "'l3'"])],
}

# Each: the call, the type of its error, and what the error must show.
CASES = [
    *(
        pytest.param(
            lambda make=make, name=name, value=value: make(**{name: value}).fit(X, Y),
            ValueError,
            says,
            id=f"{kind}-{name}-{value}",
        )
        for name, cases in NET_RULES.items()
        for value, says in cases
        for kind, make in (("net", net), ("net-cv", net_cv))
    ),
    *(
        pytest.param(
            lambda value=value: net(learning_rate=value).fit(X, Y),
            ValueError,
            ["learning_rate", "0", repr(value)],
            id=f"net-learning-rate-{value}",
        )
        for value in (0, -1, "fast", True)
    ),
    pytest.param(
        lambda: net(n_threads=0).fit(X, Y), ValueError, ["n_threads", "0"], id="net-n-threads-zero"
    ),
    pytest.param(
        lambda: net_cv(learning_rates=0.1).fit(X, Y),
        ValueError,
        ["learning_rates", "0.1", "[0.1]"],
        id="net-cv-learning-rates-not-a-list",
    ),
    pytest.param(
        lambda: net_cv(n_jobs=0).fit(X, Y),
        ValueError,
        ["n_jobs", "0"],
        id="net-cv-n-jobs-zero",
    ),
    pytest.param(
        lambda: net(transition=[[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]]).fit(X, Y),
        ValueError,
        ["y", "2", "0"],
        id="net-label-that-never-occurs",
    ),
    pytest.param(
        lambda: net().fit(np.zeros((60, 2, 2)), Y),
        ValueError,
        ["dim 3"],
        id="net-images-without-a-network",
    ),
    pytest.param(
        lambda: net(learning_rate=1e38, method="ure").fit(X, Y),
        FloatingPointError,
        ["epoch 1", "batch 1", "learning_rate"],
        id="net-loss-not-finite",
    ),
]


@pytest.mark.parametrize(("call", "error", "shows"), CASES)
def test_bad_input_gets_one_clear_line(call, error, shows):
    assert_one_clear_line(call, error, *shows)
