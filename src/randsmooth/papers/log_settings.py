"""Whether the settings in a log's path are those of a preset: `num_2/lbd_5.0/eta_0.5`, `pgd_255.0_10_10`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from randsmooth.certificates import PathFacts

if TYPE_CHECKING:
    from randsmooth.training.presets import Preset

ARCHS = {"imagenet": "resnet50", "mnist": "lenet"} | dict.fromkeys(("cifar10", "cifar100", "svhn"), "resnet110")
CLOSE = 0.01  # relative; some papers write 1 for 255/256
# What a preset need not say, as it is usual: a path may say it all the same.
USUAL = {"attack": "pgd", "warmup": 10, "start": 0.0, "lbd_from": 0, "norm": "l2", "reweight_every": 10}


def allows(preset: str, dataset: str, sigma: float, place: PathFacts) -> bool:
    """Whether a log's path says nothing against the preset at `sigma`, and all that sets it apart from a main one.

    No path tells the schedule, so that no log is of a row that varies it.
    """
    own, mains = _with_mains(preset, dataset)
    if own is None:  # a row of a paper that no preset trains
        return not place.other_parts and place.settings.items() <= USUAL.items()
    known = own.hyperparameters(sigma)
    told = {("k" if name == "m" and "k" in known else name): value for name, value in place.settings.items()}
    varied = (_varied(known, main.hyperparameters(sigma)) for main in mains if _schedule(main) == _schedule(own))
    apart = any(keys <= told.keys() and keys >= set(place.other_parts) for keys in varied)
    usual = ARCHS.get(dataset, "")
    same_arch = (place.arch or usual) == (own.arch or usual)
    return apart and same_arch and all(_same((USUAL | known).get(name), value) for name, value in told.items())


def _same(here: Any, there: float | str) -> bool:
    if isinstance(there, str) or not isinstance(here, int | float):
        return bool(here == there)
    return math.isclose(here, there, rel_tol=CLOSE)


@lru_cache(maxsize=512)  # a survey asks for each row and log
def _with_mains(name: str, dataset: str) -> tuple[Preset | None, tuple[Preset, ...]]:
    """The preset, and the main ones that it is a variation of."""
    from randsmooth.training.presets import PRESETS

    serving = [preset for preset in PRESETS if preset.serves(dataset)]
    own = next((preset for preset in serving if preset.name == name), None)
    return own, tuple(main for main in serving if own and main.main and main.base == own.base)


def _varied(known: Mapping[str, Any], main: Mapping[str, Any]) -> set[str]:
    return {key for key in known if known[key] != main.get(key)}


def _schedule(preset: Preset) -> tuple[int, float, tuple[int, ...]] | None:
    there = preset.optimisation
    return None if there is None else (there.epochs, there.lr, there.lr_drops)
