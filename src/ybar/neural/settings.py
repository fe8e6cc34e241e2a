"""Checks of the parameters of the network classifiers, and the paper's settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import decode
from ..utils import checks
from ..utils.extras import require
from . import methods


def check(classifier: Any) -> None:
    """Raise if a parameter is invalid, before any work is done."""
    for name in ("dropout", "input_dropout", "weight_averaging"):
        value = checks.number(getattr(classifier, name), name, "a number from 0 to below 1", 0, 1)
        if value == 1:
            raise ValueError(f"{name} must be a number from 0 to below 1; got 1")
    checks.number(classifier.weight_decay, "weight_decay", "a number of at least 0", 0)
    for name in ("batch_size", "n_threads", "max_epochs", "patience"):
        optional = name in ("max_epochs", "patience")
        if not optional or getattr(classifier, name) is not None:
            checks.whole_number(getattr(classifier, name), name, 1)
    for name, allowed in (("select", ("best", "last")), ("criterion", ("scel", "ure"))):
        if getattr(classifier, name) not in allowed:
            raise ValueError(
                f"{name} must be {allowed[0]!r} or {allowed[1]!r}; got "
                f"{checks.shown(getattr(classifier, name))}"
            )
    if classifier.decoder is not None:
        decode.check_method(classifier.decoder, name="decoder")
    if classifier.network is not None and not callable(classifier.network):
        raise ValueError(
            "network must be a callable that builds a torch.nn.Module with an output for each "
            f"class; got {checks.shown(classifier.network)}. Write network=lambda: ..., or pass a "
            "function or a class"
        )
    callbacks = [] if classifier.callbacks is None else classifier.callbacks
    if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
        raise ValueError(
            "callbacks must be a list of callables, each called with a dict after each epoch; "
            f"got {checks.shown(classifier.callbacks)}"
        )
    sizes = classifier.hidden_layer_sizes
    sizes = list(sizes) if isinstance(sizes, (list, tuple, np.ndarray)) else [None]
    for size in sizes:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(
                "hidden_layer_sizes must be a tuple of whole numbers of at least 1, () for a "
                f"linear model; got {checks.shown(classifier.hidden_layer_sizes)}"
            )
    if not isinstance(classifier.verbose, (bool, np.bool_)):
        raise ValueError(f"verbose must be True or False; got {checks.shown(classifier.verbose)}")


def check_trusts(trusts: Sequence[float], method: Any, name: str) -> None:
    """Raise if a method other than "cpe-t" has trust in T: only "cpe-t" has a prior for T."""
    if any(trusts) and method.learns != "free":
        raise ValueError(
            f"{name} must be 0 unless method='cpe-t', the only method that learns all of T; got "
            f"{max(trusts):g}. Leave it out, or use method='cpe-t'"
        )


def device(name: Any) -> Any:
    """Return the torch device of that name; 'auto' is CUDA if available, else the CPU.

    'auto' never selects 'mps', which has not been tested.
    """
    torch = require("torch", "torch", "ComplementaryNetClassifier")
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if name == "auto":
        name = "cuda" if available["cuda"] else "cpu"
    if not isinstance(name, str) or name not in available:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps'; got {checks.shown(name)}")
    if not available[name]:
        devices = ", ".join(repr(kind) for kind, is_available in available.items() if is_available)
        raise ValueError(
            f"device must be one that this machine has ({devices}); got {name!r}. Use device='auto'"
        )
    return torch.device(name)


def paper(method: Any, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the paper's settings, without the learning rate, updated by `overrides`."""
    settings = {
        "weight_decay": 1e-4,
        "batch_size": 256,
        "max_epochs": 300,
        "dropout": 0.0,
        "input_dropout": 0.0,
        "weight_averaging": 0.0,
        "select": "last",
        "criterion": methods.find(method).criterion,
    }
    return settings | overrides
