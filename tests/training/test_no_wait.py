"""A step asks nothing of the device that the host must wait for: seen in the operators that it calls."""

from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from randsmooth import data
from randsmooth.methods import METHODS
from randsmooth.progress import Silent
from randsmooth.training import TrainingSettings, resolve
from randsmooth.training.devices import make_fabric
from randsmooth.training.loop import Trainer
from randsmooth.training.networks import new_model

# What needs a value of a tensor on the host, or a size that only the device knows.
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal", "is_nonzero"}
SETTINGS: dict[str, dict[str, object]] = {
    "consistency": {"eps": 0.5, "T": 2},
    "smoothmix": {"start": 1.0},
    "amplify": {"T": 3, "E_t": 0, "discard": False},
}


class Waits(TorchDispatchMode):
    """Collects the names of operators that make the host wait."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func.overloadpacket.__name__
        masked = name.startswith("index") and any(
            isinstance(index, torch.Tensor) and index.dtype == torch.bool for index in args[1] or () if len(args) > 1
        )
        if name in WAITS or masked:
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


def waits_of_a_step(method: str, folder: Path) -> list[str]:
    spec = data.describe("digits")
    settings = TrainingSettings(sigma=0.25, method=method, take=64, set=SETTINGS.get(method, {}))
    recipe, _ = resolve("digits", settings, spec)
    images = data.load("digits", "train").subset(torch.arange(64))
    schedule = recipe.build_method().schedule()
    trainer = Trainer(recipe, images, new_model(recipe, spec), schedule, folder, make_fabric(recipe), Silent())
    indices, x, y = next(trainer._batches(0))
    trainer.step(schedule.objective(0), x, y, indices, 0, 0)  # what the first step alone sets up
    with Waits() as waits:
        trainer.step(schedule.objective(0), x, y, indices, 0, 1)
    seen: list[str] = waits.seen
    return seen


def test_no_method_waits_but_for_who_has_left_the_walk_on_the_sphere(tmp_path: Path) -> None:
    for method in METHODS:
        seen = waits_of_a_step(method, tmp_path)
        assert seen == ([] if method != "amplify" else ["nonzero"] * max(1, min(3, len(seen)))), method


def test_a_wait_would_be_seen() -> None:
    with Waits() as waits:
        float(torch.ones(3).sum())
        torch.ones(3)[torch.ones(3) > 0]
    assert len(waits.seen) >= 2
