"""The user's parameters of LightGBM."""

from __future__ import annotations

from ybar import (
    CPEBoostingClassifierCV,
)


def test_lightgbms_own_parameters_reach_it(digits_strong):
    X, y_comp, _, _ = digits_strong
    clf = CPEBoostingClassifierCV(
        [0.1], [5], lightgbm_params={"num_leaves": 3, "max_bin": 15}, random_state=0
    ).fit(X, y_comp)
    assert "num_leaves=3\n" in clf.model_
    assert "[max_bin: 15]" in clf.model_
