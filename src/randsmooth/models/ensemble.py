"""Several models that answer together."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.data.dataset_spec import Categories
from randsmooth.documents import shown
from randsmooth.errors import BadValue, WrongModel, check_known
from randsmooth.models.answers import check_logits, with_a_class
from randsmooth.models.around import (
    Around,
    declining,
    for_classes,
    for_columns,
    notes_of,
)
from randsmooth.models.base_classifier import as_module

# The ways to make one answer of those of the members -> the words in a certificate.
RULES = {
    "logits": "the mean of the members' logits",
    "probabilities": "the mean of the members' probabilities",
    "vote": "the most votes of the members, ties to the first class",
}


class Ensemble(Around):
    """A base classifier of several members, which all see the same noisy image.

    The ensemble is what is smoothed and certified: noise is drawn once, as for a single
    model. The variance that noise causes in the answer is smaller than a member's, so
    radii are larger (Horvath et al., ICLR 2022).

    Args:
        members: at least two of what can be certified, in any mixture: modules in eval
            mode, functions, files, ...
        rule: "logits" (mean), "probabilities" (mean softmax, whose logarithm is given
            as logits) or "vote".
        num_classes: K, for functions that answer with labels.

    Attributes:
        num_classes: K, where a member says it.
        notes: the steps of the ensemble, for the header of a certificate.

    Raises:
        Problem: an argument cannot be used.

    Example:
        >>> def linear():
        ...     return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> ensemble = Ensemble([linear(), linear(), linear()], rule="vote")
        >>> ensemble(torch.rand(5, 1, 8, 8)).sum(dim=1)
        tensor([1., 1., 1., 1., 1.])
    """

    def __init__(
        self,
        members: Sequence[object],
        rule: str = "logits",
        *,
        num_classes: int | None = None,
    ) -> None:
        super().__init__()
        is_list = isinstance(members, Sequence) and not isinstance(members, str)
        if not is_list or len(members) < 2:
            raise BadValue(
                "an ensemble is a list of at least two members; got "
                f"{shown(repr(members))}",
                field="members",
                value=members,
            )
        check_known("rule of an ensemble", RULES, rule)
        self.rule = rule
        self.members = _modules([as_module(member, num_classes) for member in members])

    def answers(self) -> Sequence[nn.Module]:
        """Return the members."""
        return list(self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        of_members = [
            f"member {number}: {note}"
            for number, member in enumerate(self.members, start=1)
            for note in notes_of(member)
        ]
        return (f"an ensemble of {len(self.members)}: {RULES[self.rule]}", *of_members)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, K) of images (B, C, H, W).

        By the rule "vote", a logit is the share of the members that vote for the class.
        """
        answers = [_member_logits(member, x) for member in self.members]
        widths = sorted({answer.shape[1] for answer in answers})
        if len(widths) > 1:
            raise WrongModel(
                f"the members give {' and '.join(map(str, widths))} logits; expected "
                "one number"
            )
        if self.rule == "probabilities":
            return _log_of_mean_probabilities(answers)

        if self.rule == "vote":
            parts = [_votes(answer) for answer in answers]
        else:
            parts = [answer.float() for answer in answers]
        return torch.stack(parts).sum(dim=0) / len(parts)

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return the same ensemble, answering for `classes` in their order.

        Members that know other classes are refused.
        """
        return self._with([for_classes(member, classes) for member in self.members])

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return the same ensemble, taking features of these names in their order.

        Members that know other features are refused. Arguments are those of
        `for_columns` in `around`.
        """
        return self._with(
            [for_columns(member, columns, held) for member in self.members]
        )

    def declining(self, name: str) -> Self:
        """Return the same ensemble, whose members may decline by a class of this name."""
        return self._with([declining(member, name) for member in self.members])

    def _with(self, members: Sequence[nn.Module]) -> Self:
        """Return the same ensemble with other members in the places of these."""
        return self.replace(members=_modules(members))


def _modules(members: Sequence[nn.Module]) -> nn.ModuleList:
    """Return members in a list that has no train mode of its own.

    The members keep their modes, which are checked before they are certified.
    """
    modules = nn.ModuleList(members)
    modules.training = False
    return modules


def _log_of_mean_probabilities(answers: Sequence[Tensor]) -> Tensor:
    """Return log(1/M * sum of the members' softmax), (B, K), of M answers (B, K).

    It is computed as log sum exp(log softmax - log M), which stays finite where
    probabilities are too small for float32.
    """
    logs = torch.stack([F.log_softmax(answer.float(), dim=1) for answer in answers])
    shares = torch.ones(len(logs), device=logs.device) / len(logs)
    return torch.logsumexp(logs + shares.log()[:, None, None], dim=0)


def _member_logits(member: nn.Module, x: Tensor) -> Tensor:
    """Return the answer of a member, a tensor with two axes.

    All else that `check_logits` checks is checked later, of the ensemble's answer.

    Raises:
        WrongModel: the answer is something else.
    """
    answer = member(x)
    if not isinstance(answer, Tensor) or answer.dim() != 2:
        # This raises.
        return check_logits(answer, len(x), called="a member of the ensemble")
    return answer


def _votes(answer: Tensor) -> Tensor:
    """Return (B, K): 1 for the largest logit in each row of `answer` (B, K), 0 elsewhere.

    A row that has no class, as of NaN, becomes NaN, so that the ensemble has none either.
    """
    votes = F.one_hot(answer.argmax(dim=1), answer.shape[1]).to(torch.float32)
    return torch.where(with_a_class(answer)[:, None], votes, torch.nan)
