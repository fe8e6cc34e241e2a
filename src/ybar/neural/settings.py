"""What the parameters of the network classifiers may be, and what the paper sets them to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..utils import checks
from ..utils.extras import require
from . import methods


def check(classifier: Any) -> None:
    """Refuse settings that make no sense, before any work is done."""
    for name in ("dropout", "input_dropout", "weight_averaging"):
        value = checks.number(getattr(classifier, name), name, "a number from 0 to below 1", 0, 1)
        if value == 1:
            raise ValueError(f"{name} must be a number from 0 to below 1; got 1")
    checks.number(classifier.weight_decay, "weight_decay", "a number of at least 0", 0)
    checks.whole_number(classifier.batch_size, "batch_size", 1)
    for name in ("max_epochs", "patience"):
        if getattr(classifier, name) is not None:
            checks.whole_number(getattr(classifier, name), name, 1)
    for name, allowed in (("select", ("best", "last")), ("criterion", ("scel", "ure"))):
        if getattr(classifier, name) not in allowed:
            raise ValueError(
                f"{name} must be {allowed[0]!r} or {allowed[1]!r}; got "
                f"{checks.shown(getattr(classifier, name))}"
            )
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
    """Refuse trust in T where no T is learned that could be pulled back."""
    if any(trusts) and method.learns != "free":
        raise ValueError(
            f"{name} must be 0 but for method='cpe-t', which alone learns all of T; got "
            f"{max(trusts):g}. Leave it out, or use method='cpe-t'"
        )


def device(name: Any) -> Any:
    """Return the torch device of that name; 'auto' is CUDA's where there is one, else the CPU.

    Apple's must be asked for: we have had none to try it on.
    """
    torch = require("torch", "torch", "ComplementaryNetClassifier")
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if name == "auto":
        name = "cuda" if there["cuda"] else "cpu"
    if not isinstance(name, str) or name not in there:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps'; got {checks.shown(name)}")
    if not there[name]:
        found = ", ".join(repr(kind) for kind, is_there in there.items() if is_there)
        raise ValueError(
            f"device must be one that this machine has ({found}); got {name!r}. Use device='auto'"
        )
    return torch.device(name)


def paper(method: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the paper sets, but for the learning rate and what is given."""
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
    return settings | given
