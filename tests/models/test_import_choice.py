"""The normalisation that a file does not store: found by accuracy where that is clear, and never guessed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from randsmooth.data import DATASETS
from randsmooth.errors import InputError
from randsmooth.models import build, import_checkpoint
from randsmooth.models.importing.choice import ALPHA, Choice
from randsmooth.models.importing.normalisation import Normalisation, candidates, normalisation, usual

LAYERS = [Normalisation(name, None, None) for name in ("a", "b", "c")]


def test_a_data_set_without_images_asks_for_the_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    torch.save(build("resnet8", in_channels=3, image_size=32, num_classes=10).state_dict(), tmp_path / "a.pth")
    with pytest.raises(InputError, match=r"no images are there to find it out.*normalise=, --normalise"):
        import_checkpoint(tmp_path / "a.pth", "cifar10-jpeg")


def _choice(right: list[list[bool]], guess: float = 0.1) -> Choice:
    return Choice(tuple(LAYERS[: len(right)]), np.array(right), guess, 0.25)


def test_the_p_value_is_mcnemars_times_the_ordered_pairs() -> None:
    first = [True] * 12 + [False] * 3 + [True] * 85
    second = [False] * 12 + [True] * 3 + [True] * 85
    choice = _choice([first, second])
    assert choice.wins(1) == (12, 3)
    one_sided = sum(math.comb(15, k) for k in range(12, 16)) / 2**15
    assert choice.p_value() == pytest.approx(2 * one_sided)
    third = _choice([first, second, [*first[:-1], False]])
    assert third.p_value() == 1.0  # the best of three leads another by one image only
    with pytest.raises(InputError, match="no layer is clearly better"):
        third.winner()


def test_a_clear_lead_of_a_network_that_only_guesses_is_not_taken() -> None:
    """Random weights may be a little better than chance behind one layer; that says nothing about their training."""
    right = [[i % 100 < share for i in range(20_000)] for share in (14, 10)]
    choice = _choice(right)
    assert choice.p_value() <= ALPHA and not choice.classifies()
    with pytest.raises(InputError, match="hardly does more than guess"):
        choice.winner()


def test_layers_that_are_equally_good_are_seldom_told_apart() -> None:
    """Of 2,000 trials in which three layers are equally accurate, at most a share of ALPHA may take one."""
    generator = np.random.default_rng(0)
    taken = 0
    for _ in range(2000):
        right = generator.random((3, 200)) < 0.6
        choice = Choice(tuple(LAYERS), right, 0.1, 0.25)
        taken += choice.p_value() <= ALPHA
    assert taken <= 6  # of 2 expected at most; more than 6 has probability 0.005


def test_one_candidate_needs_only_to_classify() -> None:
    good, bad = [True] * 90 + [False] * 10, [True] * 12 + [False] * 88
    assert _choice([good]).winner() == LAYERS[0]
    with pytest.raises(InputError, match="hardly does more than guess"):
        _choice([bad]).winner()


def test_the_layer_that_was_named_before_is_taken_unless_another_is_clearly_better() -> None:
    """A table of right answers of 1,000 behind (a, b, c), where c is usual, and of what is taken."""
    table = {
        (950, 948, 949): "c",
        (950, 948, 950): "c",
        (980, 948, 900): "a",
        (980, 979, 900): None,
        (90, 90, 90): None,
    }
    for shares, expected in table.items():
        choice = _choice([[i < share for i in range(1000)] for share in shares])._replace(prior=LAYERS[2])
        if expected is None:
            with pytest.raises(InputError, match="normalise=, --normalise a or b or c"):
                choice.winner()
        else:
            assert choice.winner().name == expected, shares


def test_data_sets_whose_networks_the_field_does_not_normalise_have_that_as_their_usual_layer() -> None:
    found = {name: usual(DATASETS[name]) for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "imagenet")}
    assert {name for name, layer in found.items() if layer is not None and layer.mean is None} == {
        "mnist",
        "fashion-mnist",
    }
    # As `datasets.py` of CAT-RS and of acr-weakness has them.
    field = Normalisation("cifar100", (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))
    assert candidates(DATASETS["cifar100"])[0] == normalisation("cifar100", DATASETS["cifar10"]) == field
