"""The classifier: normalisation first, a plain configuration, early refusals; and checks of images and devices."""

import copy
import math
from functools import partial
from typing import Any

import pytest
import torch

from models.refusing import check_refusals
from randsmooth.models import Classifier, check_inputs, pick_device

GOOD: dict[str, Any] = {
    "arch": "resnet8",
    "classes": ["cat", "dog", "owl"],
    "shape": [3, 32, 32],
}
MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]


def test_logits_are_the_networks_at_the_normalised_image() -> None:
    model, x = Classifier(**GOOD, mean=MEAN, std=STD).eval(), torch.rand(2, 3, 32, 32)
    normalised = (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(
        3, 1, 1
    )
    assert torch.equal(model(x), model.network(normalised))
    assert all(
        name.startswith("network.") for name in model.state_dict()
    )  # the state dict is the network's alone
    mean = model.to("meta").mean
    assert mean is not None and mean.device.type == "meta"
    plain = Classifier(**GOOD)
    assert torch.equal(plain.eval()(x), plain.network(x)) and not dict(
        plain.named_buffers(recurse=False)
    )
    assert (plain.num_classes, plain.shape, plain.provenance) == (3, (3, 32, 32), {})


def test_provenance_is_a_plain_json_copy_and_can_be_replaced() -> None:
    given = {"sigma": 0.5, "drops": (50, 100)}
    model = Classifier(**GOOD, provenance=given)
    given["sigma"] = 1.0
    assert model.provenance == {"sigma": 0.5, "drops": [50, 100]}
    twin = copy.deepcopy(model)
    twin.provenance = {"sigma": 0.25}
    assert (
        twin.config["provenance"] == {"sigma": 0.25}
        and model.config["provenance"]["sigma"] == 0.5
    )


def test_bad_input_is_refused() -> None:
    bad: list[tuple[dict[str, object], str]] = [
        ({"arch": "resnt8"}, "did you mean 'resnet8'"),
        ({"classes": ["cat"]}, "['cat'] | at least two"),
        ({"classes": ["cat", "d" * 1001]}, "at most 1,000 characters"),
        ({"shape": [3, 32, 16]}, "[3, 32, 16] | H = W"),
        ({"shape": [3, 10**9, 10**9]}, "16384 pixels a side"),
        ({"mean": MEAN}, "std=None | both"),
        ({"mean": [math.nan] * 3, "std": STD}, "3 finite numbers"),
        ({"mean": MEAN, "std": [0.2, 0.0, 0.2]}, "positive"),
        ({"provenance": {"sigma": torch.tensor(1.0)}}, "not plain JSON"),
        ({"provenance": ["sigma"]}, "expected a dictionary"),
    ]
    check_refusals(
        (partial(Classifier, **(GOOD | change)), said) for change, said in bad
    )


def _with(value: float, image: int = 3) -> torch.Tensor:
    x = torch.full((5, 1, 2, 2), 0.5)
    x[image, 0, 1, 0] = value
    return x


def test_good_images_pass_and_bad_ones_are_refused() -> None:
    for x in (_with(0.0), _with(1.0), _with(0.3).half(), torch.empty(0, 1, 2, 2)):
        check_inputs(x, (1, 2, 2))
        check_inputs(x, None)
    images: list[tuple[Any, str]] = [
        (_with(255.0), "[0.5, 255] | image 3 | white, 255"),
        (_with(1.0001), "[0.5, 1.0001] | x.clip(0, 1)"),
        (_with(-0.2), "[-0.2, 0.5] | image 3 | undo its normalisation"),
        (_with(float("nan"), 2), "image 2 | where NaN or infinity came from"),
        (_with(0.5).to(torch.uint8), "torch.uint8 | / 255"),
        (_with(0.5)[0], "(1, 2, 2) | (B, 1, 2, 2) | x[None]"),
        (_with(0.5).numpy(), "ndarray | torch.as_tensor"),
    ]
    check_refusals((partial(check_inputs, x, (1, 2, 2)), said) for x, said in images)


def test_a_name_means_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """On machines with so many GPUs."""

    def gpus(number: int) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: number > 0)
        monkeypatch.setattr("torch.cuda.device_count", lambda: number)

    means = [
        (0, "auto", "cpu"),
        (2, "auto", "cuda"),
        (2, "cpu", "cpu"),
        (2, "cuda", "cuda"),
        (4, "cuda:3", "cuda:3"),
    ]
    for number, name, device in means:
        gpus(number)
        assert pick_device(name) == torch.device(device), (number, name)
    refused = [
        (0, "cuda:0", "sees 0 CUDA | device='cpu'"),
        (0, "cuda", "sees 0"),
        (2, "cuda:2", "'cuda:2' | sees 2"),
    ]
    refused += [
        (2, name, f"{name!r} must be auto") for name in ("cuda:x", "cuda:-1", "gpu")
    ]
    for number, name, said in refused:
        gpus(number)
        check_refusals([(partial(pick_device, name), said)])
