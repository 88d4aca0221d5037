"""Whether the settings in a log's path are those of a preset: `num_2/lbd_5.0/eta_0.5`, `pgd_255.0_10_10`."""

from __future__ import annotations

import math
from typing import Any

from randsmooth.certificates import PathFacts
from randsmooth.errors import InputError

NOISES = ("m", "k")  # our names for what logs call `num`
CLOSE = 0.01  # relative; some papers write 1 for 255/256
# What a preset need not say, as it is usual: a path may say it all the same.
USUAL = {"attack": "pgd", "warmup": 10, "start": 0.0, "lbd_from": 0, "norm": "l2"}


def allows(preset: str, dataset: str, sigma: float, place: PathFacts) -> bool:
    """Whether all settings that a log's path gives are those of the preset at `sigma`, and it names no variation."""
    if place.other_parts:
        return False
    if not place.settings:
        return True
    known = USUAL | _hyperparameters(preset, dataset, sigma)
    noises = next((name for name in NOISES if name in known), "m")
    return all(_same(known.get(noises if name == "m" else name), value) for name, value in place.settings.items())


def _same(here: Any, there: float | str) -> bool:
    if isinstance(there, str) or not isinstance(here, int | float):
        return bool(here == there)
    return math.isclose(here, there, rel_tol=CLOSE)


def _hyperparameters(preset: str, dataset: str, sigma: float) -> dict[str, Any]:
    from randsmooth.training.presets import named

    try:
        there = named(preset)
    except InputError:
        return {}
    return next((dict(p.hyperparameters(sigma)) for p in there if p.serves(dataset)), {})
