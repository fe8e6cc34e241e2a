"""Compare every loss of libcll with ours on the same logits and labels.

python studies/libcll_losses.py LIBCLL, a checkout of github.com/ntucllab/libcll

Writes ``results/libcll_losses.md``. libcll's training steps run as they are; Lightning, which they
only inherit from, is replaced by a plain torch module, and ``cuda()`` by the CPU. The table has the
largest relative difference of the losses of 20 batches. Where libcll computes something else, the
last column is the difference after the same change to ours.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from ybar import transition
from ybar.neural import methods
from ybar.neural.objective import label_shares

HERE = Path(__file__).resolve().parent
K, ROWS, BATCHES, SMALL = 10, 256, 20, 1e-6

Change = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def at(values: torch.Tensor, y_comp: torch.Tensor) -> torch.Tensor:
    return values.gather(1, y_comp[:, None])[:, 0]


def forward_plus(g: torch.Tensor, y_comp: torch.Tensor, T: torch.Tensor) -> torch.Tensor:
    return -at((g.softmax(1) @ T + SMALL).log(), y_comp).mean()


def scl_plus(g: torch.Tensor, y_comp: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return -at((1 - g.softmax(1) + SMALL).log(), y_comp).mean()


def dm_plus(g: torch.Tensor, y_comp: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    r = 1 - g.softmax(1)
    log_s = (r.softmax(1) + SMALL).log()
    return -((1 + at(r, y_comp) / (K - 1)) * at(log_s, y_comp)).mean()


def op_plus(g: torch.Tensor, y_comp: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    s = (-g).softmax(1)
    weight = (1 / s).softmax(1) * g.softmax(1) + SMALL
    return -(at(weight, y_comp) * at(s.log(), y_comp)).mean()


def risks_by_label(g: torch.Tensor, y_comp: torch.Tensor, T: torch.Tensor) -> torch.Tensor:
    """Return the parts of the risk split by complementary label, where ours are by class."""
    inverse = torch.linalg.inv(T)
    losses = -(inverse[y_comp] * g.log_softmax(1)).sum(1)
    return torch.stack([losses[y_comp == k].sum() / len(g) for k in range(K)])


def ga_by_label(g: torch.Tensor, y_comp: torch.Tensor, T: torch.Tensor) -> torch.Tensor:
    parts = risks_by_label(g, y_comp, T)
    return -parts.clamp(max=0).sum() if (parts < 0).any() else parts.sum()


def nn_by_label(g: torch.Tensor, y_comp: torch.Tensor, T: torch.Tensor) -> torch.Tensor:
    return risks_by_label(g, y_comp, T).clamp(min=0).sum()


# ours; module, class and type of libcll; its change, in words and in ours
PAIRS: list[tuple[str, str, str, str, str, Change | None]] = [
    ("fwd", "FWD", "FWD", "", "adds 1e-6 to q", forward_plus),
    ("cpe-f", "CPE", "CPE", "F", "adds 1e-6 to q", forward_plus),
    ("cpe-i", "CPE", "CPE", "I", "", None),
    ("scl-nl", "SCL", "SCL", "NL", "adds 1e-6 to 1 - p", scl_plus),
    ("scl-exp", "SCL", "SCL", "EXP", "", None),
    ("dm", "DM", "DM", "", "adds 1e-6 to s", dm_plus),
    ("ure-ga", "URE", "URE", "TGA", "splits the risk by label, not by class", ga_by_label),
    ("ure-nn", "URE", "URE", "TNN", "splits the risk by label, not by class", nn_by_label),
    ("op-w", "OP", "OP", "", "adds 1e-6 to the weight", op_plus),
    ("pc", "PC", "PC", "", "", None),
    ("scarce", "SCARCE", "SCARCE", "", "", None),
    ("mcl-log", "MCL", "MCL", "LOG", "sums over the batch", None),
    ("mcl-exp", "MCL", "MCL", "EXP", "sums over the batch", None),
    ("mcl-mae", "MCL", "MCL", "MAE", "sums over the batch", None),
]


def load_strategies(checkout: Path) -> None:
    """Make libcll's strategies importable without Lightning and without a GPU."""
    lightning = types.ModuleType("pytorch_lightning")
    lightning.LightningModule = type(  # type: ignore[attr-defined]
        "LightningModule", (torch.nn.Module,), {"log": lambda *_, **__: None}
    )
    sys.modules["pytorch_lightning"] = lightning
    for name, folder in (("libcll", "libcll"), ("libcll.strategies", "libcll/strategies")):
        package = types.ModuleType(name)
        package.__path__ = [str(checkout / folder)]
        sys.modules[name] = package
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[assignment,method-assign]


def theirs(module: str, cls: str, kind: str, batch: Any, T: torch.Tensor) -> float:
    strategies = __import__(f"libcll.strategies.{module}", fromlist=[cls])
    g, y_comp, read = batch
    settings = {"num_classes": K, "type": kind, "Q": T.clone()}
    strategy = getattr(strategies, cls)(
        model=torch.nn.Identity(), class_priors=label_shares(y_comp, None, K), **settings
    )
    return float(strategy.training_step((g, read), 0).detach())


def ours(name: str, g: torch.Tensor, y_comp: torch.Tensor, T: torch.Tensor) -> float:
    method = methods.METHODS[name]
    read = F.one_hot(y_comp, K).bool() if method.joint_labels else y_comp
    return float(method.loss(g, read, T.log()).mean())


def compare(name: str, module: str, cls: str, kind: str, note: str, change: Change | None) -> Any:
    """Return a row of the table."""
    summed = note == "sums over the batch"
    plain, changed = [], []
    for seed in range(BATCHES):
        generator = torch.Generator().manual_seed(seed)
        g = 2 * torch.randn(ROWS, K, generator=generator)
        y_comp = torch.randint(K, (ROWS,), generator=generator)
        T = torch.tensor(transition.strong(K, seed), dtype=torch.float32)
        read = F.one_hot(y_comp, K) if module == "MCL" else y_comp
        reference = theirs(module, cls, kind, (g, y_comp, read), T)
        own = ours(name, g, y_comp, T)
        plain.append(abs(own - reference) / max(1, abs(reference)))
        if summed:
            changed.append(abs(ROWS * own - reference) / abs(reference))
        elif change is not None:
            changed.append(abs(float(change(g, y_comp, T)) - reference) / max(1, abs(reference)))
    return [name, f"{cls} {kind}".strip(), max(plain), note, max(changed) if changed else ""]


def main(checkout: Path) -> None:
    load_strategies(checkout)
    header = ["method", "libcll", "relative difference", "reason", "after the same change"]
    lines = [header, ["---"] * len(header)]
    for pair in PAIRS:
        lines.append([f"{v:.1e}" if isinstance(v, float) else v for v in compare(*pair)])
        print(*lines[-1], sep="  ")
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    (HERE.parent / "results" / "libcll_losses.md").write_text(text, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
