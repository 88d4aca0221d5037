"""What breaks a contract is refused, in words that say what is wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from randsmooth import methods, testing
from randsmooth.data import DATASETS, DatasetSpec
from randsmooth.methods import Loss, LossInputs, Method, Schedule
from randsmooth.models import Architecture
from randsmooth.models.small_cnn import small_cnn

# --- methods ---

Gaussian: Any = methods.METHODS["gaussian"]


class NoDataclass(Method):
    """A method."""

    source: ClassVar[str] = "nowhere"

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NoDocstring(Gaussian):  # type: ignore[misc]
    source: ClassVar[str] = "nowhere"


@dataclass(frozen=True, kw_only=True)
class NoSource(Method):
    """A method."""

    m: int = 1

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NeedsAValue(Gaussian):  # type: ignore[misc]
    """A method."""

    strength: float


@dataclass(frozen=True, kw_only=True)
class AnyType(Gaussian):  # type: ignore[misc]
    """A method."""

    strength: float = 1.0

    def __post_init__(self) -> None:
        """Nothing is checked."""


class Changed(Gaussian):  # type: ignore[misc]
    """What is done to Gaussian training in the cases below."""

    def loss(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor, inputs: LossInputs = LossInputs()) -> Loss:
        loss: Loss = super().loss(model, x, y, noise, inputs)
        return self.change(loss, model, x, inputs)

    def change(self, loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
        raise NotImplementedError


def changed(name: str, change: Any) -> Any:
    """A method whose loss is that of Gaussian training after `change(loss, model, x, inputs)`."""
    members = {"__doc__": "A method.", "change": lambda self, *given: change(*given)}
    return dataclass(frozen=True, kw_only=True)(type(name, (Changed,), members))


def in_eval_mode(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    model.eval()
    return loss


def with_gradients(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    loss.total.backward(retain_graph=True)
    return loss


def of_darker_images(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    x.mul_(0.5)
    return loss


def times(factor: Tensor | float, loss: Loss) -> Loss:
    terms = {"all": (loss.total * factor).detach()}
    return Loss(loss.total * factor, terms, {})


def forgetful(loss: Loss, model: nn.Module, x: Tensor, inputs: LossInputs) -> Loss:
    return times(inputs.u.mean(), loss)  # type: ignore[union-attr]


class Shared(Schedule):
    """One schedule for all runs."""


class Losing(Schedule):
    """Counts epochs, and begins again after an interruption."""

    epochs = 0

    def advance(self, epoch: int, total: int, probe: Any) -> dict[str, float]:
        self.epochs += 1
        return {}

    def state(self) -> dict[str, Any]:
        return {"epochs": self.epochs}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        pass


def scheduled(schedule: Any) -> Any:
    members = {"__doc__": "A method.", "schedule": lambda self: schedule(self)}
    return dataclass(frozen=True, kw_only=True)(type("Scheduled", (Gaussian,), members))


ONE = Shared(Gaussian())

METHODS = [
    (dict, "is no subclass of randsmooth.methods.Method"),
    (NoDataclass, "is no dataclass"),
    (NoDocstring, "has no docstring"),
    (NoSource, "has no `source`"),
    (NeedsAValue, "cannot be made .*strength"),
    (AnyType, r"accepts (m|strength)=object\(\)"),
    (changed("A", lambda loss, *_: loss.total), "returns a Tensor, expected randsmooth.methods.Loss"),
    (changed("B", lambda loss, *_: times(torch.nan, loss)), "has the loss nan"),
    (changed("C", lambda loss, *_: loss._replace(total=loss.total.detach())), "is cut off from the model's weights"),
    (changed("D", lambda loss, *_: loss._replace(total=2 * loss.total)), "has terms that add up to"),
    (changed("E", lambda loss, *_: loss._replace(terms={})), "has no terms"),
    (changed("F", lambda loss, *_: loss._replace(terms={"all": loss.total})), r"terms\['all'\].*without gradient"),
    (changed("G", lambda loss, *_: loss._replace(figures={"x": 1.0})), r"figures\['x'\] = 1.0"),
    (changed("H", lambda loss, *_: times(torch.rand(()), loss)), "draws from a global random generator"),
    (changed("I", lambda loss, *_: times(random.random(), loss)), "draws from a global random generator"),
    (changed("J", lambda loss, *_: times(np.random.rand(), loss)), "draws from a global"),  # noqa: NPY002
    (changed("K", in_eval_mode), "leaves the model in eval mode"),
    (changed("L", with_gradients), "leaves gradients behind"),
    (changed("M", of_darker_images), "changes the images"),
    (changed("N", lambda loss, *_: times(np.random.default_rng().random(), loss)), "gives .*, then .* on the same"),
    (changed("O", forgetful), "raises .* without inputs.u"),
    (scheduled(lambda method: ONE), "gives two runs one schedule"),
    (scheduled(lambda method: None), r"has a schedule\(\) that returns no"),
    (scheduled(Losing), r"state\(\) differs after restore\(\)"),
]


@pytest.mark.parametrize(("method", "message"), METHODS)
def test_methods(method: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"method '.*' .*{message}"):
        testing.check_method(method)


def test_a_method_of_given_hyperparameters() -> None:
    testing.check_method(NeedsAValue, strength=1.0)


# --- architectures ---


def built(change: Any) -> Architecture:
    """The small network after `change`, by the arguments that a builder is given."""

    def build(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
        network: nn.Module = change(
            small_cnn(in_channels=in_channels, image_size=image_size, num_classes=num_classes), num_classes
        )
        return network

    return Architecture(build, min_size=4)


class Times(nn.Module):
    """A network whose logits are changed."""

    def __init__(self, network: nn.Module, change: Any) -> None:
        super().__init__()
        self.network, self.change = network, change

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.change(self.network(x))
        return logits


def same_start(network: nn.Module, _: int) -> nn.Module:
    for parameter in network.parameters():
        nn.init.constant_(parameter, 0.01)
    return network


def other_start(network: nn.Module, _: int) -> nn.Module:
    generator = torch.Generator()
    generator.seed()
    nn.init.normal_(next(network.parameters()), generator=generator)
    return network


ARCHITECTURE = [
    (Architecture(small_cnn, min_size=0), "has min_size=0"),
    (Architecture(small_cnn, min_size=1), "cannot be built|gives no answer"),  # a pool leaves nothing of one pixel
    (built(lambda network, k: network.double()), "gives no answer|not float32"),
    (built(lambda network, k: nn.Sequential(network, nn.Linear(k, k + 1))), r"answers four images with \(4, 8\)"),
    (built(lambda network, k: Times(network, lambda logits: logits / 0.0)), "not finite"),
    (built(lambda network, k: Times(network, lambda z: z - z.mean(0))), "other logits when it is alone"),
    (built(lambda network, k: Times(network, lambda z: z + torch.rand(()))), "gives other logits the second time"),
    (built(lambda network, k: Times(network, torch.detach)), "has logits without gradients"),
    (
        built(lambda network, k: nn.Sequential(Times(nn.Identity(), torch.detach), network)),
        "no finite gradients for its",
    ),
    (built(same_start), "starts with the same weights for every seed"),
    (built(other_start), "starts with other weights for the same seed"),
    (built(lambda network, k: network.state_dict()), "expected an nn.Module"),
    (small_cnn, "expected models.Architecture"),
]


@pytest.mark.parametrize(("architecture", "message"), ARCHITECTURE)
def test_architectures(architecture: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.check_architecture(architecture)


# --- data sets ---

PIXELS = np.random.default_rng(0).integers(0, 256, (8, 1, 8, 8), dtype=np.uint8)
LABELS = np.arange(8) % 2


def made(split: str) -> tuple[Any, Any]:
    return PIXELS, LABELS


STRIPES = replace(DATASETS["digits"], name="stripes", classes=("a", "b"), sizes={"train": 8, "test": 8}, read=made)


def test_a_data_set_that_makes_its_images() -> None:
    testing.check_dataset(STRIPES)


def reads(pixels: Any, labels: Any) -> DatasetSpec:
    return replace(STRIPES, read=lambda split: (pixels, labels))


DATA = [
    ({}, "is a dict, expected data.DatasetSpec"),
    (replace(STRIPES, shape=(1, 8, 9)), "expected H = W"),
    (replace(STRIPES, shape=(8, 8)), r"expected \(C, H, W\)"),  # type: ignore[arg-type]
    (replace(STRIPES, shape=(2, 8, 8)), "has 2 channels"),
    (replace(STRIPES, classes=("a", "a")), "at least two classes, all different"),
    (replace(STRIPES, classes=("a",)), "at least two classes"),
    (replace(STRIPES, description="two\nlines"), "description of one line"),
    (replace(STRIPES, augment="blur"), "has augment='blur'"),  # type: ignore[arg-type]
    (replace(STRIPES, sizes={"train": 8}), r"has sizes of \['train'\]"),
    (replace(STRIPES, sizes={"train": 8, "test": 0}), "expected how many images"),
    (replace(STRIPES, mean=(0.5,)), "give both"),
    (replace(STRIPES, mean=(0.5, 0.5), std=(0.5, 0.5)), "expected 1 numbers"),
    (replace(STRIPES, mean=(128.0,), std=(64.0,)), r"mean=\(128.0,\)"),
    (replace(STRIPES, arch="vgg16"), "has the architecture 'vgg16', which does not do: .*unknown architecture"),
    (replace(STRIPES, arch="lenet"), "cannot take 8x8 images"),
    (reads(PIXELS / 255, LABELS), "train pixels of another type"),
    (reads(PIXELS[:, 0], LABELS), "train pixels of another type or shape"),
    (reads(PIXELS, LABELS[:4]), "train labels of another type or shape"),
    (reads(PIXELS, LABELS.astype(float)), "train labels of another type"),
    (reads(PIXELS[:4], LABELS[:4]), "reads 4 train images, its sizes say 8"),
    (reads(PIXELS, np.zeros(8, np.int64)), r"has train labels \[0\], expected each of 0 to 1"),
    (
        replace(STRIPES, read=lambda split: (np.random.default_rng().integers(0, 256, PIXELS.shape, np.uint8), LABELS)),
        "reads other train images the second time",
    ),
    (replace(STRIPES, read=lambda split: made(["no file"][1])), "cannot read its train images: IndexError"),
]


@pytest.mark.parametrize(("dataset", "message"), DATA)
def test_datasets(dataset: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.check_dataset(dataset)


def test_a_data_set_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS._added, "zebras", STRIPES)
    with pytest.raises(AssertionError, match="data set 'zebras' calls itself 'stripes'"):
        testing.check_dataset("zebras")
