"""Ensembles: each rule against a plain computation, and what an ensemble says of itself."""

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from models.refusing import check_refusals, problem_of
from randsmooth import models
from randsmooth.errors import BadValue, UnknownName
from randsmooth.models import Ensemble
from values import Refusal, refused

X = torch.randn(200, 1, 8, 8, generator=torch.Generator().manual_seed(0))
RULES = ("logits", "probabilities", "vote")


class Asked(nn.Module):
    """A network that notes how many images it is asked about."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.network = nn.Sequential(nn.Flatten(), nn.Linear(64, 5))
        self.sizes: list[int] = []
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sizes.append(len(x))
        answer: torch.Tensor = self.network(x)
        return answer


def four() -> list[Asked]:
    return [Asked(seed) for seed in range(4)]


def by_hand(rule: str, logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B, K) scores of logits (members, B, K)."""
    if rule == "probabilities":
        exponents = np.exp(logits - logits.max(axis=2, keepdims=True))
        logits = exponents / exponents.sum(axis=2, keepdims=True)
    if rule == "vote":
        logits = np.eye(logits.shape[2])[logits.argmax(axis=2)]
    return np.asarray(logits.mean(axis=0))


@torch.no_grad()
def logits_of(members: list[Asked]) -> NDArray[np.float64]:
    return torch.stack([member.network(X) for member in members]).double().numpy()


@torch.no_grad()
def test_rules() -> None:
    members = four()
    for rule in RULES:
        scores = by_hand(rule, logits_of(members))
        scores = np.log(scores) if rule == "probabilities" else scores
        assert np.allclose(Ensemble(members, rule)(X), scores, atol=1e-5), rule
    next(iter(members[1].parameters()))[0] = torch.nan
    assert (
        Ensemble(members, "vote")(X).isnan().any()
    )  # votes hide no answer that is not finite


def test_notes_say_what_answers() -> None:
    members = four()
    wrapped = models.wrap(members[0], mean=0.5)
    ensemble = Ensemble([wrapped, members[1], members[2]], "vote")
    assert ensemble.notes == (
        "an ensemble of 3: the most votes of the members, ties to the first class",
        "member 1: after noise: normalised by mean 0.5 and std 1",
    )


def test_what_cannot_be_an_ensemble_is_named() -> None:
    members = four()
    table: list[tuple[dict[str, Any], Refusal]] = [
        ({"rule": "mean"}, Refusal(UnknownName, "'mean'", field="rule of an ensemble")),
    ]
    check_refusals((partial(Ensemble, members, **given), said) for given, said in table)
    other = nn.Sequential(nn.Flatten(), nn.Linear(64, 6)).eval()
    with refused(BadValue):
        Ensemble(members[:1])
    problem = problem_of(Ensemble([members[0], other]), X)
    assert "5 and 6" in str(problem)
