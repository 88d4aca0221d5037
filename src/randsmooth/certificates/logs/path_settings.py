"""The hyperparameters in the path of a released log, such as `num_2/lbd_5.0/eta_0.5`, by their names here."""

from __future__ import annotations

import re
from collections.abc import Callable

Settings = dict[str, float | str]

X = r"\d+(?:\.\d+)?"
PIXEL = 256.0  # by what the released codes divide the size of an attack

# A notation each; a group is named as the setting is here. `*_256` is a size in 1/256 of a pixel's range.
NOTATIONS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"num_(?P<m>{X})|(?P<m2>\d+)-multitrain",  # noises per image
        *(rf"{name}_(?P<{name}>{X})" for name in ("lbd", "eta", "gamma", "beta")),
        rf"tau_(?P<eta>{X})",  # SmoothMix's paper and code call it eta
        rf"weight_(?P<weight>{X})",  # of the unlabelled images in self-training
        rf"eps_(?P<eps_256>{X})",
        r"(?P<more>self_training_)?(?P<attack>PGD|DDN)_(?P<T>\d+)steps?(?:_(?P<epochs>\d+)epochs)?"
        r"(?P<several>_multinoise(?:samples)?)?(?:_baseAttackExp)?",
        rf"(?:pgd|salman|adv)_(?P<eps_256>{X})_(?P<T>\d+)(?:_(?P<warmup>\d+))?",
        r"macer_deferred(?P<deferred>\d+)",
        rf"smix_(?P<alpha>{X})_(?P<T>\d+)_m(?P<start_steps>\d+)(?:_max(?P<max_norm>{X}))?",
        rf"(?P<eps>{X})_(?P<T>\d+)_pgd_radius_(?P<norm>l2|linf)",  # Amplify's attack
        rf"ds_(?P<E_t>\d+)_(?P<p_t>{X})",  # and its discarding
        r"dataset_weight_(?P<reweight_every>\d+)",
        r"finetune_cifar_from_(?P<pretrained>\w+)",
        r"(?P<more>self_training)",
        r"(?P<attacked>with_noise|without_noise)",
    )
)
TEXTS: dict[str, Callable[[str], float | str]] = {
    "attack": str.lower,
    "norm": str.lower,
    "pretrained": str,
    "more": lambda text: "self-training",
    "attacked": lambda text: text.replace("_", " "),
}


def settings_in(part: str) -> Settings | None:
    """The settings that a part of a path gives; None where it is no notation of a released log.

    Example:
        >>> settings_in("pgd_255.0_10_10")
        {'eps': 0.99609375, 'T': 10, 'warmup': 10}
        >>> settings_in("smix_1.0_8_m1")
        {'alpha': 1.0, 'T': 8, 'start': 1.0}
        >>> settings_in("mnist")
    """
    found = next((found for form in NOTATIONS if (found := form.fullmatch(part))), None)
    if found is None:
        return None
    given = {key: text for key, text in found.groupdict().items() if text is not None}
    one = {"m": "1"} if "attack" in given and "several" not in given else {}  # noise an image, as their names have it
    return dict(_setting(key, text, given) for key, text in (given | one).items() if key != "several")


def _setting(key: str, text: str, given: dict[str, str]) -> tuple[str, float | str]:
    """The name here and the value of one group."""
    if key in TEXTS:
        return key, TEXTS[key](text)
    value = float(text) if "." in text else int(text)
    if key == "start_steps":  # how far SmoothMix moves the clean end: that many steps of size alpha
        return "start", value * float(given["alpha"])
    if key == "deferred":  # so many epochs pass without MACER's robustness term
        return "lbd_from", value + 1
    if key.endswith("_256"):
        return key.removesuffix("_256"), value / PIXEL
    return ("m" if key == "m2" else key), value
