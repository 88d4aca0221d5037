"""Identity: equal for equal models however they are held, and another wherever an answer could be."""

from __future__ import annotations

import copy
import functools
import os
import subprocess
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from randsmooth.errors import InputError
from randsmooth.models import Classifier, identity_of, weights_hash

X = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))


class NormalizeLayer(nn.Module):
    """As in the published code, but that mean and std are plain attributes: no state dict holds them."""

    def __init__(self, mean: Any, std: Any = (0.5,)) -> None:
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = (x - torch.as_tensor(self.mean).float().view(1, -1, 1, 1)) / self.std[0]
        return result


class Holds(nn.Module):
    """A linear classifier that holds one thing more."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.held = nn.Linear(64, 10), held

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear(x.flatten(1))
        return result


class Unsaved(Holds):
    def __init__(self, value: float) -> None:
        super().__init__(None)
        self.register_buffer("unsaved", torch.full((3,), value), persistent=False)


class Extra(Holds):
    def get_extra_state(self) -> dict[str, float]:
        return {"scale": self.held[0]}


class Same(Holds):
    """Of the same parts as `Holds`, under another name."""


class Quantisable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.linear = nn.Conv2d(1, 4, 3), nn.Linear(144, 10)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.out(self.linear(self.conv(self.into(x)).relu().flatten(1)))
        return result


def plain(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).eval()


def dynamic(seed: int = 0) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result: nn.Module = torch.ao.quantization.quantize_dynamic(plain(seed), {nn.Linear})
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


def scripted(held: Any) -> nn.Module:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.linear, self.scale, self.shift = nn.Linear(64, 10), held, torch.ones(3) * held

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.linear(x.flatten(1)) * self.scale + self.shift.sum()
            return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(Scaled().eval())


def within(held: Any) -> Callable[[], Any]:
    return lambda: held


def named_act(x: Tensor) -> Tensor:
    return x


@dataclass
class Settings:
    gain: float
    names: tuple[str, ...] = ("a", "b")


def sequence(*names: str) -> nn.Module:
    torch.manual_seed(0)
    layers = {name: nn.Linear(8, 8) for name in ("a", "b")}
    return nn.Sequential(OrderedDict((name, layers[name]) for name in names)).eval()


def parametrised(weights: str) -> nn.Module:
    torch.manual_seed(0)
    result: nn.Module = getattr(parametrizations, weights)(nn.Linear(8, 8)).eval()
    return result


def hooked(hook: Any) -> nn.Module:
    model = Holds(None)
    model.linear.register_forward_pre_hook(hook)
    return model


def double(module: nn.Module, given: tuple[Tensor]) -> Tensor:
    return 2.0 * given[0]


def traced(factor: float) -> nn.Module:
    class Times(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.linear(x) * factor
            return result

    return fx.symbolic_trace(Times().eval())


PAIRS: dict[str, tuple[Callable[[], nn.Module], Callable[[], nn.Module]]] = {
    "a weight": (lambda: plain(0), lambda: plain(1)),
    "means in a tuple": (
        lambda: nn.Sequential(NormalizeLayer((0.5,)), plain()),
        lambda: nn.Sequential(NormalizeLayer((0.4,)), plain()),
    ),
    "means in a tensor": (
        lambda: nn.Sequential(NormalizeLayer(torch.tensor([0.5])), plain()),
        lambda: nn.Sequential(NormalizeLayer(torch.tensor([0.4])), plain()),
    ),
    "means in an array": (
        lambda: nn.Sequential(NormalizeLayer(np.array([0.5])), plain()),
        lambda: nn.Sequential(NormalizeLayer(np.array([0.4])), plain()),
    ),
    "one bit of a float": (lambda: Holds(0.1), lambda: Holds(float(np.nextafter(0.1, 1.0)))),
    "a number's type": (lambda: Holds(1), lambda: Holds(True)),
    "text": (lambda: Holds("mean"), lambda: Holds("max")),
    "None": (lambda: Holds(None), lambda: Holds(0)),
    "a dictionary": (lambda: Holds({"a": [1, 2]}), lambda: Holds({"a": [1, 3]})),
    "where a list ends": (lambda: Holds([[1], [2, 3]]), lambda: Holds([[1, 2], [3]])),
    "a set": (lambda: Holds({"a", "b"}), lambda: Holds({"a", "c"})),
    "a dtype": (lambda: Holds(torch.float32), lambda: Holds(torch.float64)),
    "an activation": (lambda: Holds(F.relu), lambda: Holds(F.gelu)),
    "a function of ours": (lambda: Holds(named_act), lambda: Holds(double)),
    "a lambda's constant": (lambda: Holds(lambda x: x * 2), lambda: Holds(lambda x: x * 3)),
    "what a lambda encloses": (lambda: Holds(within(2)), lambda: Holds(within(3))),
    "a partial's argument": (
        lambda: Holds(functools.partial(F.leaky_relu, negative_slope=0.1)),
        lambda: Holds(functools.partial(F.leaky_relu, negative_slope=0.2)),
    ),
    "a method's object": (lambda: Holds(Settings(1.0).__eq__), lambda: Holds(Settings(2.0).__eq__)),
    "a plain object": (lambda: Holds(Settings(1.0)), lambda: Holds(Settings(2.0))),
    "a namespace": (lambda: Holds(SimpleNamespace(a=1)), lambda: Holds(SimpleNamespace(a=2))),
    "a module in a list": (lambda: Holds([plain(0)]), lambda: Holds([plain(1)])),
    "a buffer that is not saved": (lambda: Unsaved(0.0), lambda: Unsaved(1.0)),
    "extra state": (lambda: Extra((1.0,)), lambda: Extra((2.0,))),
    "the class": (lambda: Holds(None), lambda: Same(None)),
    "the order of layers": (lambda: sequence("a", "b"), lambda: sequence("b", "a")),
    "a layer between": (lambda: nn.Sequential(plain(), nn.ReLU()), lambda: nn.Sequential(plain(), nn.Tanh())),
    "a setting of a layer": (
        lambda: nn.Sequential(plain(), nn.LeakyReLU(0.1)),
        lambda: nn.Sequential(plain(), nn.LeakyReLU(0.2)),
    ),
    "parametrisation": (lambda: parametrised("weight_norm"), lambda: parametrised("spectral_norm")),
    "a hook": (lambda: Holds(None), lambda: hooked(double)),
    "packed parameters": (lambda: dynamic(0), lambda: dynamic(1)),
    "packed convolutions": (lambda: static(0), lambda: static(1)),
    "quantised or not": (plain, dynamic),
    "a script's attribute": (lambda: scripted(2.0), lambda: scripted(3.0)),
    "a frozen script's constant": (lambda: torch.jit.freeze(scripted(2.0)), lambda: torch.jit.freeze(scripted(3.0))),
    "a graph's constant": (lambda: traced(2.0), lambda: traced(3.0)),
    "a sparse tensor": (
        lambda: Holds(torch.eye(3).to_sparse()),
        lambda: Holds((2 * torch.eye(3)).to_sparse()),
    ),
    "a quantised tensor": (
        lambda: Holds(torch.quantize_per_tensor(torch.ones(3), 0.5, 0, torch.quint8)),
        lambda: Holds(torch.quantize_per_tensor(torch.ones(3), 0.25, 0, torch.quint8)),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_models_that_differ_in_one_thing_are_told_apart_and_equal_ones_are_not(name: str) -> None:
    first, second = (make().eval() for make in PAIRS[name])
    again = PAIRS[name][0]().eval()
    assert identity_of(first) == identity_of(again)
    assert identity_of(first) != identity_of(second)
    assert weights_hash(first) == weights_hash(again)  # and crashes on none of them


def test_what_changes_no_answer_changes_no_identity() -> None:
    import lightning_fabric  # noqa: F401  (which has `torch.compile` leave a mark of its own)

    model = plain()
    expected = identity_of(model)
    held: list[Any] = [copy.deepcopy(model) for _ in range(6)]
    held[0].to(memory_format=torch.channels_last)
    held[1].requires_grad_(False)
    held[2].compile(backend="eager")
    held[3].train()
    held[4] = torch.compile(held[4], backend="eager")
    held[5][1] = torch.compile(held[5][1], backend="eager")  # a layer alone
    assert {identity_of(each) for each in held} == {expected}
    model(X.cpu())
    assert identity_of(model) == expected
    assert identity_of(Holds(torch.device("cpu"))) == identity_of(Holds(torch.device("cuda")))


@pytest.mark.cuda
def test_the_device_changes_no_identity() -> None:
    assert identity_of(plain().cuda()) == identity_of(plain())


def test_where_a_classifier_comes_from_changes_no_identity() -> None:
    def made(**more: Any) -> Classifier:
        torch.manual_seed(0)
        return Classifier(arch="small-cnn", classes=list("0123456789"), shape=[1, 8, 8], **more).eval()

    expected = identity_of(made())
    assert identity_of(made(provenance={"dataset": "digits", "sigma": 0.5})) == expected
    assert identity_of(made(mean=[0.5], std=[1.0])) != expected
    assert identity_of(made(mean=[0.5], std=[1.0])) != identity_of(made(mean=[0.25], std=[1.0]))


ELSEWHERE = """
import torch
torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2)))  # so that names are made otherwise
from models.test_identity import PAIRS, identity_of
for name in PAIRS:
    print(identity_of(PAIRS[name][0]().eval()))
"""


@pytest.mark.slow
def test_another_process_finds_the_same() -> None:
    tests = str(Path(__file__).parents[1])
    env = dict(os.environ) | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join([tests, *filter(None, sys.path)])}
    run = subprocess.run([sys.executable, "-c", ELSEWHERE], env=env, capture_output=True, text=True, check=True)
    here = {name: identity_of(PAIRS[name][0]().eval()) for name in PAIRS}
    assert dict(zip(PAIRS, run.stdout.split(), strict=True)) == here


class Server:
    """What talks to a server keeps a connection that no attribute tells."""

    def __getstate__(self) -> dict[str, str]:
        return {"url": "http://here"}


class Asks(nn.Module):
    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held


@pytest.mark.parametrize(
    ("held", "named"),
    [
        (lambda: Server(), "test_identity.Server"),
        (lambda: iter([1]), "list_iterator"),
        (lambda: torch.Generator(), "torch._C.Generator"),
        (lambda: {"inner": [Server()]}, r"the model.held\['inner'\]\[0\] is a .*Server"),
        (lambda: within(Server()), "Server"),
    ],
)
@pytest.mark.parametrize("kind", [Asks, Holds])  # with weights beside it or without
def test_what_cannot_be_read_needs_words(held: Callable[[], Any], named: str, kind: type[nn.Module]) -> None:
    with pytest.raises(InputError, match=f"{named}.*does not say all that it holds.*identity="):
        identity_of(kind(held()))
    first, second = (identity_of(kind(held()), identity=name) for name in ("forest of May", "forest of June"))
    assert first != second == identity_of(kind(held()), identity="forest of June")


def test_an_estimator_needs_words() -> None:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match=r"the model.held is a sklearn.tree.*identity="):
        identity_of(Asks(tree))
    assert identity_of(Asks(tree), identity="tree").startswith("sha256:")


@pytest.mark.parametrize("held", [None, 0.5, "http://here", (1, 2), torch.zeros(0)])
def test_a_model_without_weights_needs_words(held: Any) -> None:
    with pytest.raises(InputError, match=r"\(Asks\) holds no weights.*identity="):
        identity_of(Asks(held))
    assert identity_of(Asks(held), identity="a") != identity_of(Asks(held), identity="b")


@pytest.mark.parametrize("words", ["", "  ", "x" * 201, 3])
def test_words_that_are_none(words: Any) -> None:
    with pytest.raises(InputError, match=r"identity=.* must be some words"):
        identity_of(plain(), identity=words)


def test_words_and_weights_count_together() -> None:
    assert identity_of(plain(0), identity="mine") != identity_of(plain(1), identity="mine")


def test_a_model_that_holds_itself_is_read() -> None:
    model = Holds(None)
    model.held = [model]
    assert identity_of(model) == identity_of(copy.deepcopy(model)) != identity_of(Holds(None))


def test_tensors_without_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"linear.weight is a tensor without numbers|without numbers"):
        identity_of(Holds(None).to("meta"))
    with pytest.raises(InputError, match="without numbers"):
        identity_of(nn.LazyLinear(3))


def test_numbers_without_end_and_masks_are_told_apart() -> None:
    def held(value: Any) -> str:
        model = nn.Linear(2, 2, bias=False)
        nn.init.ones_(model.weight)
        model.held = value
        return identity_of(model)

    assert held(10**5000) != held(10**5000 + 1)
    data = np.zeros(3)
    assert held(np.ma.array(data, mask=[False, False, True])) != held(np.ma.array(data, mask=[False, True, False]))
    for much in (np.broadcast_to(np.float32(1), (10**6, 10**5)), _nested(5000)):
        with pytest.raises(InputError, match="identity="):
            held(much)


def _nested(depth: int) -> list[object]:
    inner: list[object] = []
    for _ in range(depth):
        inner = [inner]
    return inner
