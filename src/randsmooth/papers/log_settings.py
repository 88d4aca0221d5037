"""Whether the settings in a log's path are those of a preset: `num_2/lbd_5.0/eta_0.5`, `pgd_255.0_10_10`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from randsmooth.errors import InputError

PLAIN = re.compile(r"(num|lbd|eta|gamma|beta)_(\d+(?:\.\d+)?)")
ATTACK = re.compile(r"(?:pgd|salman)_(\d+(?:\.\d+)?)_(\d+)(?:_\d+)?")  # size in 1/256 and steps
NOISES = ("m", "k")  # our names for what logs call `num`
CLOSE = 0.01  # relative; some papers write 1 for 255/256


def allows(preset: str, dataset: str, sigma: float, besides: Sequence[str]) -> bool:
    """Whether each of `besides`, the unusual parts of a log's path, is a setting of the preset at `sigma`."""
    if not besides:
        return True
    known = _hyperparameters(preset, dataset, sigma)
    return all(_is_setting(part, known) for part in besides)


def _is_setting(part: str, known: dict[str, float]) -> bool:
    pairs = [(known.get(name), value) for name, value in _read(part, known)]
    return bool(pairs) and all(here is not None and math.isclose(here, value, rel_tol=CLOSE) for here, value in pairs)


def _read(part: str, known: dict[str, float]) -> Iterator[tuple[str, float]]:
    """The settings that a part of a path gives, by our names; none where the part is no setting."""
    plain, attack = PLAIN.fullmatch(part), ATTACK.fullmatch(part)
    if plain:
        yield (next((k for k in NOISES if k in known), "m") if plain[1] == "num" else plain[1]), float(plain[2])
    if attack:
        yield from (("eps", float(attack[1]) / 256.0), ("T", float(attack[2])))


def _hyperparameters(preset: str, dataset: str, sigma: float) -> dict[str, float]:
    from randsmooth.training.presets import named

    try:
        there = named(preset)
    except InputError:
        return {}
    values = next((p.hyperparameters(sigma) for p in there if p.serves(dataset)), {})
    return {key: float(value) for key, value in values.items() if isinstance(value, int | float)}
