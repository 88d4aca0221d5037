"""The classifier: normalisation first, a plain configuration, early refusals."""

import copy
import math
from functools import partial
from typing import Any

import torch

from models.refusing import check_refusals
from randsmooth.models import Classifier

GOOD: dict[str, Any] = {"arch": "resnet8", "classes": ["cat", "dog", "owl"], "shape": [3, 32, 32]}
MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]


def test_logits_are_the_networks_at_the_normalised_image() -> None:
    model = Classifier(**GOOD, mean=MEAN, std=STD).eval()
    x = torch.rand(2, 3, 32, 32)
    normalised = (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    assert torch.equal(model(x), model.network(normalised))


def test_without_constants_the_image_goes_straight_in() -> None:
    model = Classifier(**GOOD).eval()
    x = torch.rand(2, 3, 32, 32)
    assert torch.equal(model(x), model.network(x))
    assert not dict(model.named_buffers(recurse=False))


def test_the_state_dict_is_the_networks_alone_but_constants_move() -> None:
    model = Classifier(**GOOD, mean=MEAN, std=STD)
    assert all(name.startswith("network.") for name in model.state_dict())
    mean = model.to("meta").mean
    assert mean is not None and mean.device.type == "meta"


def test_properties() -> None:
    model = Classifier(**GOOD)
    assert (model.num_classes, model.shape, model.classes) == (3, (3, 32, 32), ["cat", "dog", "owl"])
    assert model.provenance == {}
    assert model.training is True  # nn.Module's flag, untouched


def test_provenance_is_a_plain_json_copy_and_can_be_replaced() -> None:
    given = {"sigma": 0.5, "drops": (50, 100)}
    model = Classifier(**GOOD, provenance=given)
    given["sigma"] = 1.0
    assert model.provenance == {"sigma": 0.5, "drops": [50, 100]}
    model.provenance = {"sigma": 0.25}
    assert model.config["provenance"] == {"sigma": 0.25}


def test_a_deep_copy_is_independent() -> None:
    model = Classifier(**GOOD, provenance={"sigma": 0.5})
    twin = copy.deepcopy(model)
    twin.provenance["sigma"] = 1.0
    assert model.config["provenance"] == {"sigma": 0.5}
    assert twin.config["provenance"] == {"sigma": 1.0}


def deep(doublings: int) -> dict[str, object]:
    nested: dict[str, object] = {}
    for _ in range(2**doublings):
        nested = {"a": nested}
    return nested


def test_bad_input_is_refused() -> None:
    bad: list[tuple[dict[str, object], str]] = [
        ({"arch": "resnt8"}, "did you mean 'resnet8'"),
        ({"arch": math.inf}, "'inf' | small-cnn"),
        ({"classes": ["cat"]}, "['cat'] | at least two"),
        ({"classes": ["cat", "cat"]}, "different names"),
        ({"classes": 10}, "classes=10"),
        ({"classes": [0, 1]}, "classes=[0, 1]"),
        ({"classes": ["cat", "d" * 1001]}, "at most 1,000 characters"),
        ({"shape": [3, 32, 16]}, "[3, 32, 16] | H = W"),
        ({"shape": [32, 32]}, "[C, H, W]"),
        ({"shape": [3, 32.0, 32.0]}, "[C, H, W]"),
        ({"shape": [3, 4, 4]}, "4x4 | 8x8"),
        ({"shape": [3, 10**9, 10**9]}, "16384 pixels a side"),
        ({"mean": MEAN}, "std=None | both"),
        ({"std": STD}, "mean=None"),
        ({"mean": [0.5], "std": [0.5]}, "3 finite numbers"),
        ({"mean": [math.nan] * 3, "std": STD}, "3 finite numbers"),
        ({"mean": [0.5, 1e300, 0.5], "std": STD}, "3 finite numbers"),
        ({"mean": MEAN, "std": [0.2, 0.0, 0.2]}, "positive"),
        ({"mean": MEAN, "std": [0.2, 1e-300, 0.2]}, "positive"),
        ({"provenance": {"notes": "\ud800"}}, "not JSON"),
        ({"provenance": deep(5)}, "nested deeper"),
        ({"provenance": deep(16)}, "provenance"),
        ({"provenance": {"sigma": torch.tensor(1.0)}}, "not plain JSON"),
        ({"provenance": {"loss": math.nan}}, "not plain JSON"),
        ({"provenance": ["sigma"]}, "expected a dictionary"),
    ]
    check_refusals((partial(Classifier, **(GOOD | change)), said) for change, said in bad)
