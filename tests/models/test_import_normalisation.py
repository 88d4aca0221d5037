"""The normalisation that a file does not store: found by accuracy where that is clear, and never guessed."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from models.refusing import check_refusals, problem_of
from randsmooth.data import DATASETS
from randsmooth.errors import WrongFile
from randsmooth.models import build, import_checkpoint
from randsmooth.models.importing.normalisation import (
    Normalisation,
    candidates,
    normalisation,
)
from randsmooth.models.importing.trial import ALPHA, Trial
from values import Refusal

LAYERS = tuple(Normalisation(name, None, None) for name in ("a", "b", "c"))


def test_a_data_set_without_images_asks_for_the_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    torch.save(
        build("resnet8", in_channels=3, image_size=32, num_classes=10).state_dict(),
        tmp_path / "a.pth",
    )
    problem = problem_of(lambda: import_checkpoint(tmp_path / "a.pth", "cifar10-jpeg"))
    Refusal(WrongFile, "normalise", field="normalise").check(problem)


def trial(right: list[list[bool]], guess: float = 0.1) -> Trial:
    return Trial(LAYERS[: len(right)], np.array(right), guess, 0.25)


def test_the_p_value_is_mcnemars_times_the_ordered_pairs() -> None:
    first = [True] * 12 + [False] * 3 + [True] * 85
    second = [False] * 12 + [True] * 3 + [True] * 85
    both = trial([first, second])
    one_sided = sum(math.comb(15, k) for k in range(12, 16)) / 2**15
    assert both.p_value() == pytest.approx(2 * one_sided)
    third = trial([first, second, [*first[:-1], False]])
    assert third.p_value() == 1.0  # the best of three leads another by one image only
    Refusal(WrongFile, field="normalise").check(problem_of(third.winner))


def test_a_network_that_only_guesses_is_not_taken() -> None:
    """Random weights may be a little better than chance behind one layer; that says nothing about their training."""
    lead = trial([[i % 100 < share for i in range(20_000)] for share in (14, 10)])
    assert lead.p_value() <= ALPHA and not lead.classifies(0)
    one = trial([[True] * 90 + [False] * 10])
    assert one.winner() == LAYERS[0]
    guess = trial([[True] * 12 + [False] * 88])
    check_refusals(
        [
            (lead.winner, Refusal(WrongFile, field="normalise")),
            (guess.winner, Refusal(WrongFile, field="normalise")),
        ]
    )


def test_layers_that_are_equally_good_are_seldom_told_apart() -> None:
    """Of 2,000 trials in which three layers are equally accurate, at most a share of ALPHA may take one."""
    generator = np.random.default_rng(0)
    taken = sum(
        Trial(LAYERS, generator.random((3, 200)) < 0.6, 0.1, 0.25).p_value() <= ALPHA
        for _ in range(2000)
    )
    assert taken <= 6  # of 2 expected at most; more than 6 has probability 0.005


def test_the_usual_layers_are_the_fields() -> None:
    # As `datasets.py` of CAT-RS and of acr-weakness has them.
    field = Normalisation(
        "cifar100", (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)
    )
    assert (
        candidates(DATASETS["cifar100"])[0]
        == normalisation("cifar100", DATASETS["cifar10"])
        == field
    )
