"""The parameters of LightGBM: those of the user, checked, plus fixed ones and defaults."""

from __future__ import annotations

import difflib
from types import NoneType
from typing import Any

from joblib import effective_n_jobs

from ..utils import checks

_ROWS_FOR_THREADS = 10_000


def merged(
    lightgbm: Any, user_params: Any, fixed: dict[str, Any], defaults: dict[str, Any]
) -> dict[str, Any]:
    """Return all parameters: `fixed` ones, those of the user, and `defaults` for the rest.

    Parameters
    ----------
    user_params : dict or None
        The argument ``lightgbm_params``.
    fixed : dict
        Parameters that the user must not set.
    defaults : dict
        Parameters that the user may set, by any of LightGBM's names for them.
    """
    if not isinstance(user_params, (dict, NoneType)):
        raise ValueError(f"lightgbm_params must be a dict; got {checks.shown(user_params)}")
    chosen = dict(user_params or {})
    # LightGBM ignores misspelt names, and its list of names is private: this is our only use of a
    # private function of LightGBM.
    aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    _check_names(chosen, {*fixed, "learning_rate", "num_iterations"}, aliases)
    rest = {
        name: value
        for name, value in defaults.items()
        if not chosen.keys() & {name, *aliases.get(name, ())}
    }
    params = rest | chosen
    if not params.keys() & {"force_row_wise", "force_col_wise"}:
        # Without one of the two, results depend on the number of threads. Column-wise is faster if
        # trees see few of them.
        few = params.get("feature_fraction", 1.0) < 0.5
        params["force_col_wise" if few else "force_row_wise"] = True
    return {**fixed, **params}


def _check_names(chosen: dict[str, Any], fixed: set[str], aliases: dict[str, list[str]]) -> None:
    known = {name for main, others in aliases.items() for name in (main, *others)}
    reserved = fixed | {name for main in fixed for name in aliases.get(main, ())}
    for name in chosen:
        if name in reserved:
            raise ValueError(
                f"lightgbm_params must not set {name!r}, which the classifier sets itself; "
                "use its own parameters (learning_rates, n_estimators, random_state, n_jobs)"
            )
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            raise ValueError(
                f"lightgbm_params must name parameters of LightGBM; got {name!r}"
                + (f". Did you mean {near[0]!r}?" if near else "")
            )


def n_threads(n_jobs: int | None, n_rows: int) -> int:
    """Return the number of threads; None means one for few rows, otherwise all cores."""
    if n_jobs is None:
        return 1 if n_rows < _ROWS_FOR_THREADS else int(effective_n_jobs(-1))
    return int(effective_n_jobs(n_jobs))
