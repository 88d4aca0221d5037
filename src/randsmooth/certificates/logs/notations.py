"""How the paths of released logs write the settings of a training."""

import csv
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from randsmooth.certificates.logs.repositories import FOLDER

NUMBER = r"\d+(?:\.\d+)?"

# By what the released codes divide the size of an attack.
PIXEL_RANGE = 256.0

Settings = dict[str, float | str]


def _read_notations() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the notations of settings, as patterns, and the method that each names.

    Each line of notations.csv is one. A group of its pattern has the name that the
    setting has here, or a name that `_setting` translates; {X} stands for a number, as
    in known.toml.
    """
    with FOLDER.joinpath("notations.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return tuple(
        (re.compile(line["form"].replace("{X}", NUMBER), re.IGNORECASE), line["method"])
        for line in lines
    )


NOTATIONS = _read_notations()


class Notation(NamedTuple):
    """What a part of a path says of a training.

    Attributes:
        settings: the settings that the part gives, by their names here.
        method: the method that the part names, if it names one.
    """

    settings: Settings
    method: str


NO_NOTATION = Notation({}, "")


@lru_cache(maxsize=4096)
def notation(part: str) -> Notation:
    """Return what a part of a path gives; nothing where it is no notation.

    Example:
        >>> notation("pgd_255.0_10_10").settings
        {'eps': 0.99609375, 'T': 10, 'warmup': 10}
        >>> notation("smix_1.0_8_m1")
        Notation(settings={'alpha': 1.0, 'T': 8, 'start': 1.0}, method='smoothmix')
        >>> notation("mnist")
        Notation(settings={}, method='')
    """
    for form, method in NOTATIONS:
        match = form.fullmatch(part)
        if match is None:
            continue
        groups = {
            name: text for name, text in match.groupdict().items() if text is not None
        }
        if "attack" in groups and "several" not in groups:
            # SmoothAdv's paths say "multinoise" where several noises an image were
            # drawn in training, and nothing where one was.
            groups["m"] = "1"
        settings = [
            _setting(name, text, groups)
            for name, text in groups.items()
            if name != "several"
        ]
        return Notation(dict(settings), method)
    return NO_NOTATION


def _setting(
    name: str, text: str, groups: Mapping[str, str]
) -> tuple[str, float | str]:
    """Return a setting, by its name here, and its value.

    Args:
        name: the name of the group in the pattern.
        text: what the group matched.
        groups: all groups that matched, as one setting may depend on another.
    """
    if name == "more":
        # The group has matched, however it spells self-training.
        return name, "self-training"
    if not text.replace(".", "", 1).isdigit():
        # The name of the data set of a pretraining is kept as it is written.
        return name, text if name == "pretrained" else text.lower().replace("_", " ")

    value = float(text) if "." in text else int(text)
    if name == "start_steps":
        # SmoothMix moves the clean end of its mixtures by so many steps of size alpha.
        return "start", value * float(groups["alpha"])
    if name == "deferred":
        # So many epochs pass without MACER's robustness term; it begins in the next.
        return "lbd_from", value + 1
    # The size of an attack, in 1/256 of a pixel's range.
    if name.endswith("_256"):
        return name.removesuffix("_256"), value / PIXEL_RANGE
    return name, value
