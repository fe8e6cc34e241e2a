"""`Method`: the facts about one way to learn from complementary labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

Loss: TypeAlias = "Callable[..., Tensor]"
Family: TypeAlias = Literal["likelihood", "risk", "surrogate", "other"]


@dataclass(frozen=True)
class Method:
    """A loss, and the facts about it that the rest of the library needs.

    Attributes
    ----------
    loss : callable
        Returns the loss of each row from (logits, y_comp, log_T).
    label : str
        The name of the method in tables and plots.
    estimates : {"p", "q"}
        Whether softmax(logits) are ordinary or complementary probabilities.
    decoder : str
        How its predictions are made by default; "max" is argmax of its p.
    criterion : {"scel", "ure"}
        The validation loss that selects the learning rate in the paper's protocol.
    family : {"likelihood", "risk", "surrogate", "other"}
        "likelihood": the loss is -log q[ȳ]. "risk": an unbiased estimate of the ordinary risk, by
        the inverse of T. "surrogate": the loss does not depend on T. "other": nothing is known.
    learns : {None, "free", "noise"}
        Which parametrisation of T is learned with the weights; see `ybar.neural.transition_layer`.
    whole_batch : bool
        The loss takes weights (mean 1) as a fourth argument and returns one number per batch.
    joint_labels : bool
        The loss reads all labels of a row together: its second argument is a boolean array (B, K),
        true at the classes that the row's labels rule out.
    gradient : callable or None
        Returns the loss and its gradient at the logits in closed form; None uses autograd. It
        gets the logits classes first, (..., K, B), and T⁻¹ in place of log T if the method is a
        "risk". A method of a whole batch returns B times its loss, and the gradient of that.
    likelihood : callable or None
        Maps log T to log M if the loss is -log Σ_y p[y] M[y, ȳ]. All such methods are evaluated
        together. It must be the identity if T is learned.
    assumes : tuple of tuple of float, or None
        The T that the loss uses; None is the T that training is passed.
    """

    loss: Loss
    label: str = ""
    estimates: Literal["p", "q"] = "p"
    decoder: str = "max"
    criterion: Literal["scel", "ure"] = "scel"
    family: Family = "other"
    learns: Literal["free", "noise"] | None = None
    whole_batch: bool = False
    joint_labels: bool = False
    gradient: Callable[..., Any] | None = None
    likelihood: Callable[[Tensor], Tensor] | None = None
    assumes: tuple[tuple[float, ...], ...] | None = None

    @property
    def loss_is_scel(self) -> bool:
        """Whether the training loss is the SCEL of the training labels."""
        return self.family == "likelihood"

    @property
    def learns_true_labels(self) -> bool:
        """Whether it can learn from true labels, as complementary labels under the unit matrix."""
        return self.family == "likelihood"

    @property
    def accepts_evidence(self) -> bool:
        """Whether it can learn from any likelihood of the classes, not only from single labels."""
        return self.family == "likelihood" and self.estimates == "p"

    @property
    def reads_rows(self) -> bool:
        """Whether all labels of a row form one sample."""
        return self.accepts_evidence or self.joint_labels

    @property
    def models_labels(self) -> bool:
        """Whether training estimates q, so that q can be compared with the rows of T to decode."""
        return self.family not in ("risk", "surrogate")

    @property
    def inverts(self) -> bool:
        """Whether the loss needs the inverse of the T that training is passed."""
        return self.family == "risk" and self.assumes is None


@dataclass(frozen=True)
class LossOf:
    """The loss of a function in closed form, which reads classes first, for classes last."""

    function: Callable[..., Any]
    whole_batch: bool
    read: Callable[[Tensor], Tensor] | None
    """Maps log T to the matrix that the function reads; None if that is log T."""

    def __call__(
        self, logits: Tensor, y_comp: Tensor, log_T: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of each row, or of a whole batch."""
        matrix = log_T if self.read is None else self.read(log_T)
        weights = (weight,) if self.whole_batch else ()
        loss: Tensor = self.function(logits.transpose(-1, -2), y_comp, matrix, *weights)[0]
        return loss / logits.shape[-2] if self.whole_batch else loss


def in_closed_form(
    function: Callable[..., Any],
    label: str,
    *,
    read: Callable[[Tensor], Tensor] | None = None,
    whole_batch: bool = False,
    **facts: Any,
) -> Method:
    """Return the method of a function that returns the loss and its gradient."""
    loss = LossOf(function, whole_batch, read)
    return Method(loss, label, gradient=function, whole_batch=whole_batch, **facts)
