"""The classifier: normalisation first, a plain configuration, early refusals; and checks of images and devices."""

import copy
import math
from functools import partial
from typing import Any

import pytest
import torch

from models.refusing import check_refusals
from randsmooth.errors import BadValue, UnknownName, WrongData
from randsmooth.models import Classifier, check_inputs, pick_device
from values import Refusal

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
    bad: list[tuple[dict[str, object], Refusal]] = [
        ({"arch": "resnt8"}, Refusal(UnknownName, "'resnet8'", field="architecture")),
        ({"classes": ["cat"]}, Refusal(BadValue, "['cat']", field="classes")),
        ({"classes": ["cat", "d" * 1001]}, Refusal(BadValue, "1,000", field="classes")),
        (
            {"shape": [3, 32, 16]},
            Refusal(BadValue, "[3, 32, 16]", "H = W", field="shape"),
        ),
        ({"shape": [3, 10**9, 10**9]}, Refusal(BadValue, "16384", field="shape")),
        ({"mean": MEAN}, Refusal(BadValue, "std=None", field="std")),
        ({"mean": [math.nan] * 3, "std": STD}, Refusal(BadValue, field="mean")),
        (
            {"mean": MEAN, "std": [0.2, 0.0, 0.2]},
            Refusal(BadValue, "positive", field="std"),
        ),
        (
            {"provenance": {"sigma": torch.tensor(1.0)}},
            Refusal(BadValue, field="provenance"),
        ),
        ({"provenance": ["sigma"]}, Refusal(BadValue, field="provenance")),
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
    images: list[tuple[Any, Refusal]] = [
        (_with(255.0), Refusal(WrongData, "[0.5, 255]", "white, 255")),
        (_with(1.0001), Refusal(WrongData, "[0.5, 1.0001]", "x.clip(0, 1)")),
        (_with(-0.2), Refusal(WrongData, "[-0.2, 0.5]")),
        (_with(float("nan"), 2), Refusal(WrongData)),
        (_with(0.5).to(torch.uint8), Refusal(WrongData, "torch.uint8", "/ 255")),
        (_with(0.5)[0], Refusal(WrongData, "(1, 2, 2)", "(B, 1, 2, 2)", "x[None]")),
        (_with(0.5).numpy(), Refusal(WrongData, "ndarray", "torch.as_tensor")),
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
        (0, "cuda:0", Refusal(BadValue, "sees 0 CUDA", "device='cpu'", field="device")),
        (0, "cuda", Refusal(BadValue, "sees 0", field="device")),
        (2, "cuda:2", Refusal(BadValue, "'cuda:2'", "sees 2", field="device")),
    ]
    refused += [
        (2, name, Refusal(BadValue, f"{name!r}", field="device"))
        for name in ("cuda:x", "cuda:-1", "gpu")
    ]
    for number, name, said in refused:
        gpus(number)
        check_refusals([(partial(pick_device, name), said)])
