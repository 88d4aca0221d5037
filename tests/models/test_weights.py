"""The hash of weights: equal for equal models however they are held, and another for others."""

import copy
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from models.refusing import check_refusals
from randsmooth.errors import WrongModel
from randsmooth.models import (
    Classifier,
    EstimatorModel,
    FunctionModel,
    lacks_weights,
    weights_hash,
)
from values import Refusal


class NormalizeLayer(nn.Module):
    """As in the published code, but that mean and std are plain attributes: no state dict holds them."""

    def __init__(self, mean: Any, std: Any = (0.5,)) -> None:
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = (
            x - torch.as_tensor(self.mean).float().view(1, -1, 1, 1)
        ) / self.std[0]
        return result


class Quantisable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = (
            torch.ao.quantization.QuantStub(),
            torch.ao.quantization.DeQuantStub(),
        )
        self.conv, self.linear = nn.Conv2d(1, 4, 3), nn.Linear(144, 10)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.out(
            self.linear(self.conv(self.into(x)).relu().flatten(1))
        )
        return result


def plain(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)
    ).eval()


def dynamic(seed: int = 0) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result: nn.Module = torch.ao.quantization.quantize_dynamic(
            plain(seed), {nn.Linear}
        )
        return result


def static(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Quantisable().eval()
        model.qconfig = torch.ao.quantization.get_default_qconfig("x86")
        prepared = torch.ao.quantization.prepare(model)
        prepared(torch.rand(64, 1, 8, 8))
        result: nn.Module = torch.ao.quantization.convert(prepared)
        return result


def scripted(seed: int = 0, *, frozen: bool = False) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(plain(seed))
        result: nn.Module = torch.jit.freeze(script) if frozen else script
        return result


def holding(value: Tensor) -> nn.Module:
    model = nn.Linear(2, 2, bias=False)
    nn.init.ones_(model.weight)
    model.register_buffer("held", value)
    return model


MAKERS: dict[str, Callable[[int], nn.Module]] = {
    "a module": plain,
    "packed parameters": dynamic,
    "packed convolutions": static,
    "a script": scripted,
    "a frozen script": lambda seed: scripted(seed, frozen=True),
    "a sparse tensor": lambda seed: holding(((1 + seed) * torch.eye(3)).to_sparse()),
    "a quantised tensor": lambda seed: holding(
        torch.quantize_per_tensor(torch.ones(3), 0.5 + seed, 0, torch.quint8)
    ),
    "bfloat16": lambda seed: plain(seed).bfloat16(),
}


def test_equal_weights_have_one_hash_and_others_another() -> None:
    for name, make in MAKERS.items():
        assert (
            weights_hash(make(0)) == weights_hash(make(0)) != weights_hash(make(1))
        ), name
        assert lacks_weights(make(0)) == "", name
    assert weights_hash(plain()) != weights_hash(plain().double())


def test_what_changes_no_weight_changes_no_hash() -> None:
    model = plain()
    held: list[Any] = [copy.deepcopy(model) for _ in range(6)]
    held[0].to(memory_format=torch.channels_last)
    held[1].requires_grad_(False)
    held[2].compile(backend="eager")
    held[3].train()
    held[4] = torch.compile(held[4], backend="eager")
    held[5][1] = torch.compile(held[5][1], backend="eager")  # a layer alone
    assert {weights_hash(each) for each in held} == {weights_hash(model)}
    classes = [str(k) for k in range(10)]
    first, second = (
        Classifier(
            arch="small-cnn", classes=classes, shape=[1, 8, 8], provenance={"sigma": s}
        )
        for s in (0.25, 0.5)
    )
    second.load_state_dict(first.state_dict())
    assert weights_hash(first) == weights_hash(second)


def test_what_has_no_weights_says_why() -> None:
    from sklearn.tree import DecisionTreeClassifier

    fitted = DecisionTreeClassifier(random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    other = DecisionTreeClassifier(random_state=0).fit(np.eye(4), [0, 1, 1, 1])
    assert weights_hash(EstimatorModel(fitted)) == weights_hash(
        EstimatorModel(copy.deepcopy(fitted))
    )
    assert weights_hash(EstimatorModel(fitted)) != weights_hash(EstimatorModel(other))
    assert lacks_weights(EstimatorModel(fitted)) == ""
    unnamed: dict[str, Any] = {
        "holds no weights": nn.Flatten(),
        "code cannot be compared": FunctionModel(lambda x: x),
    }
    for said, model in unnamed.items():
        assert said in lacks_weights(model)
    assert lacks_weights(FunctionModel(lambda x: x, identity="mine")) == ""


def test_tensors_without_numbers_are_refused() -> None:
    check_refusals(
        [
            (partial(weights_hash, model), Refusal(WrongModel))
            for model in (plain().to("meta"), nn.LazyLinear(3))
        ]
    )
