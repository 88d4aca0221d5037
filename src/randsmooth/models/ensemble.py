"""Several models that answer together, as one base classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.documents import shown
from randsmooth.errors import InputError, check_known
from randsmooth.models.base import Around, as_module, for_classes, foreign_parts, notes_of

RULES = {
    "logits": "the mean of the members' logits",
    "probabilities": "the mean of the members' probabilities",
    "vote": "the most votes of the members, ties to the first class",
}
PARTS = 4  # the images on which the first members differ are answered in parts of a batch of this many


class Ensemble(Around):
    """A base classifier of several members, which all see the same noisy image.

    The ensemble is what is smoothed and certified: noise is drawn once, as for a single model. The variance that noise
    causes in the answer is smaller than a member's, so radii are larger (Horvath et al., ICLR 2022).

    With `consensus=k`, the first k members answer. Where they agree on the class it is the answer, and the others are
    not asked; else all of them answer by the rule. This is another classifier than that of all members, and as fixed a
    function of the image: certificates are about it, and are as valid (K-consensus aggregation in that paper).

    Args:
        members: at least two of what can be certified, in any mixture: modules in eval mode, functions, files, ...
        rule: "logits" (mean), "probabilities" (mean softmax, whose logarithm is given as logits) or "vote".
        weights: one for each member, above 0; default: all equal. Only their ratios matter.
        consensus: k, from 2 to the number of members less one.
        num_classes: K, for functions that answer with labels.

    Attributes:
        num_classes: K, where a member says it.
        notes: what the ensemble does, for the header of a certificate.

    Raises:
        InputError: an argument cannot be used, or the members have different numbers of classes.

    Example:
        >>> a, b, c = (nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval() for _ in range(3))
        >>> ensemble = Ensemble([a, b, c], rule="vote")
        >>> ensemble(torch.rand(5, 1, 8, 8)).sum(dim=1)
        tensor([1., 1., 1., 1., 1.])
    """

    def __init__(
        self,
        members: Sequence[object],
        rule: str = "logits",
        *,
        weights: Sequence[float] | None = None,
        consensus: int | None = None,
        num_classes: int | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(members, Sequence) or isinstance(members, str) or len(members) < 2:
            raise InputError(f"an ensemble is a list of at least two members; got {shown(repr(members))}")
        check_known("rule of an ensemble", RULES, rule)
        if consensus is not None and not (type(consensus) is int and 2 <= consensus < len(members)):
            raise InputError(f"consensus={shown(repr(consensus))} must be a whole number from 2 to {len(members) - 1}")
        self.rule, self.consensus = rule, consensus
        self.weights = _relative(weights, len(members))
        self.members = nn.ModuleList(as_module(member, num_classes) for member in members)
        self.members.training = False
        numbers = {getattr(member, "num_classes", None) for member in self.members} - {None}
        if len(numbers) > 1:
            raise InputError(f"the members have {_listed(numbers)} classes; expected one number")

    def answers(self) -> Sequence[nn.Module]:
        """The members."""
        return list(self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        weights = ", ".join(f"{weight:.6g}" for weight in self.weights)
        how = RULES[self.rule] + (f" weighted {weights}" if len(set(self.weights)) > 1 else "")
        first = f"; where the first {self.consensus} agree, they alone answer" if self.consensus is not None else ""
        members = enumerate(self.members, start=1)
        inner = (f"member {place}: {note}" for place, member in members for note in notes_of(member))
        return (f"an ensemble of {len(self.members)}: {how}{first}", *inner)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W); of the rule "vote" the shares of votes."""
        if self.consensus is None:
            return self._together([member(x) for member in self.members])
        return self._until_consensus(x, self.consensus)

    def _until_consensus(self, x: Tensor, first: int) -> Tensor:
        """What the `first` members say where they agree on the class, else what all of them do."""
        answers = [member(x) for member in self.members[:first]]
        classes = torch.stack([answer.argmax(dim=1) for answer in answers])
        together = self._together(answers)
        differ = ((classes != classes[0]).any(dim=0)).nonzero()[:, 0]
        if not len(differ):
            return together
        others = [self._in_parts(member, x[differ], -(-len(x) // PARTS)) for member in self.members[first:]]
        return together.index_copy(0, differ, self._together([*(answer[differ] for answer in answers), *others]))

    def _in_parts(self, member: nn.Module, x: Tensor, rows: int) -> Tensor:
        """Logits of `member`, asked in batches of `rows` images: so they are rounded alike however many there are."""
        parts = [F.pad(part, (0, 0) * (x.dim() - 1) + (0, rows - len(part))) for part in x.split(rows)]
        return torch.cat([member(part) for part in parts])[: len(x)]

    def _together(self, answers: Sequence[Tensor]) -> Tensor:
        """(B, K) of the first members' answers (B, K) by the rule; in proportion to their weights."""
        widths = {int(answer.shape[1]) for answer in answers}
        if len(widths) > 1:
            raise InputError(f"the members give {_listed(widths)} logits; expected one number")
        weights = self.weights[: len(answers)]
        if self.rule == "probabilities":
            logs = [F.log_softmax(answer.float(), dim=1) for answer in answers]
            shares = (torch.tensor(weights, device=logs[0].device) / sum(weights)).log()
            return torch.logsumexp(torch.stack(logs) + shares[:, None, None], dim=0)
        votes = _votes if self.rule == "vote" else torch.Tensor.float
        weighted = [weight * votes(answer) for weight, answer in zip(weights, answers, strict=True)]
        return torch.stack(weighted).sum(dim=0) / sum(weights)

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, answering for `classes`; members that know other classes are refused."""
        members = nn.ModuleList(for_classes(member, classes) for member in self.members)
        members.training = False
        return self.replace(members=members)


def _votes(answer: Tensor) -> Tensor:
    """(B, K) ones for the largest logit, zeros elsewhere; NaN where a logit is not finite, so that none is hidden."""
    votes = F.one_hot(answer.argmax(dim=1), answer.shape[1]).to(torch.float32)
    return torch.where(answer.isfinite().all(dim=1, keepdim=True), votes, torch.nan)


def _listed(numbers: set[Any]) -> str:
    return " and ".join(map(str, sorted(numbers)))


def _relative(weights: Sequence[float] | None, members: int) -> tuple[float, ...]:
    """The weights, the largest as 1, so that equal ones are added without rounding."""
    given: list[Any] = [1.0] * members if weights is None else list(weights)
    if len(given) != members or not all(isinstance(w, int | float) and 0.0 < w < float("inf") for w in given):
        raise InputError(f"weights={shown(repr(weights))} must be {members} numbers above 0, one for each member")
    return tuple(float(weight) / max(given) for weight in given)


def traceable(model: object) -> bool:
    """Whether a model is a module whose steps do not depend on the images, so that a trace of one batch holds for all.

    Example:
        >>> members = [nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval() for _ in range(3)]
        >>> traceable(Ensemble(members)), traceable(Ensemble(members, consensus=2))
        (True, False)
    """
    if not isinstance(model, nn.Module) or foreign_parts(model):
        return False
    return not any(isinstance(module, Ensemble) and module.consensus is not None for module in model.modules())
