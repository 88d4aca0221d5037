"""Whether a run may be resumed as it is asked for: what differs, whether it is the classifier, and the way on."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from randsmooth.certificates.header import Header
from randsmooth.certificates.settings import CertificationSettings, precision_named
from randsmooth.documents import shown
from randsmooth.errors import InputError, Note, setting

ANOTHER_MODEL, ANOTHER_ARITHMETIC = "another model", "another arithmetic"
ALIKE = (2, 3)  # formats whose counts mean the same

# What a user gives, in the order of an error; `selection` stands for take and skip.
SETTINGS = (*CertificationSettings.model_fields, "dataset", "split", "selection")
# What differs without being a setting, and what to have in order to go on.
HAD = {
    "data": "the images and labels that it was begun with (an older version hashed others)",
    "device": "the processor that it was begun on",
    "instructions": "the instructions that it was begun with (on a CPU, ATEN_CPU_CAPABILITY and ONEDNN_MAX_CPU_ISA "
    "limit them)",
    "versions": "the versions that it was begun with",
    "noise": "the kind of device and the version that it was begun with (an older version addressed the noise "
    "otherwise)",
    "classes": "the class names that it was begun with",
    "version": "the older version that it was begun with",
}
ARITHMETIC = ("precision", "device", "instructions", "versions")
# Facts that are not named where one that they follow from differs.
FOLLOWS = {
    "data": {"dataset", "split", "selection"},
    "classes": {"dataset"},
    "noise": {"sound", "dataset", "rule"},
    "guarantee": {*SETTINGS, "version"},
    "notes": {*SETTINGS, "version"},
}
KNOWN_BY = ("weights", "mean", "std")  # by which older tables know a model
ABSENT = object()


def check_same_run(begun: Header, now: Header, path: Path) -> None:
    """Raise InputError unless `now` would go on with the run into `path` that was `begun`.

    Of an older run, which does not record all of these facts, those that it records are compared, with a `Note`.

    Raises:
        InputError: all that differs is named, whether it is the model or its arithmetic, and what would go on.

    Example:
        >>> begun = Header(sigma=0.5, n0=100, n=1000, alpha=0.001, seed=0)
        >>> check_same_run(begun, begun, Path("runs/mine.parquet"))
        >>> check_same_run(begun, begun.having(n=2000), Path("runs/mine.parquet"))
        Traceback (most recent call last):
        randsmooth.errors.InputError: runs/mine.parquet is of another run (n: ...
    """
    different, apart = _fields(begun, now), told_apart(begun, now)
    told = [f"{name}: {_differing(_told(begun, name), _told(now, name))}" for name in different]
    if apart is not None:
        told = [*(each for each in told if each not in apart[1]), ": ".join(apart)]
    if told:
        raise InputError(f"{path} is of another run ({'; '.join(told)}). {_ways_on(begun, different, apart)}")
    if begun.behaviour is None and now.behaviour is not None:
        warnings.warn(f"{path} was begun by an older version: {unchecked(begun)}", Note, stacklevel=2)


def told_apart(begun: Header, now: Header) -> tuple[str, str] | None:
    """What tells the base classifiers of two tables apart: ANOTHER_MODEL or ANOTHER_ARITHMETIC, and by what.

    None where nothing does: what only one of them tells is not compared, nor answers to other images or noise.

    Example:
        >>> begun = Header(model={"weights": "sha256:aa"})
        >>> told_apart(begun, begun) is None
        True
        >>> told_apart(begun, Header(model={"weights": "sha256:bb"}))
        ('another model', "weights 'sha256:aa' there, 'sha256:bb' now")
    """
    theirs, mine = begun.model or {}, now.model or {}
    if by := _models_differ(theirs, mine):
        return ANOTHER_MODEL, by
    if not _answers_differ(begun, now):
        return None
    parts = [
        f"{name}: {_differing(getattr(begun, name), getattr(now, name))}"
        for name in ARITHMETIC
        if getattr(begun, name) != getattr(now, name)
    ]
    by = f" ({'; '.join(parts)})" if parts else ""
    if "called" in theirs:
        return ANOTHER_MODEL, (
            f"the model called {_short(theirs['called'])} answers otherwise than the one there: it is another under "
            f"this name, or has another arithmetic{by}"
        )
    if parts:
        return ANOTHER_ARITHMETIC, f"equal models answer otherwise{by}"
    return ANOTHER_MODEL, (
        "it holds the same and answers otherwise, on the same processor and with the same versions: its code is "
        "another, or the number of threads that compute"
    )


def unchecked(header: Header) -> str:
    """What an older table leaves open about its classifier, in words.

    Example:
        >>> unchecked(Header())
        'of its model nothing could be compared, not what else it holds nor what it answers'
    """
    known = "the weights" if (header.model or {}).get("weights") else "nothing"
    return f"of its model {known} could be compared, not what else it holds nor what it answers"


def _fields(begun: Header, now: Header) -> list[str]:
    """Names of the fields that differ and follow from no other that does, but for behaviour."""
    names = [*SETTINGS, "model", *HAD, *FOLLOWS]
    differ = [name for name in dict.fromkeys(names) if _told(begun, name) != _told(now, name)]
    if begun.version in ALIKE and now.version in ALIKE and "version" in differ:
        differ.remove("version")
    if all("identity" in (header.model or {}) for header in (begun, now)) and "model" in differ:
        differ.remove("model")  # `told_apart` sees to it: how equal models came to be is no difference
    return [name for name in differ if not FOLLOWS.get(name, set()) & set(differ)]


def _told(header: Header, name: str) -> Any:
    """The field; of a model what older tables tell too, but for what tells classifiers apart."""
    value = getattr(header, name)
    new = {"identity", "called", *KNOWN_BY}
    return {key: it for key, it in value.items() if key not in new} if name == "model" and value else value


def _models_differ(begun: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In what the models differ, of what both tell; nothing where they do not."""
    if "identity" in begun and "identity" in now and begun.get("called") != now.get("called"):
        return f"called {_there_and_now(begun.get('called', ABSENT), now.get('called', ABSENT))}"
    both = [key for key in KNOWN_BY if key in begun and key in now and begun[key] != now[key]]
    if both:
        return "; ".join(f"{key} {_there_and_now(begun[key], now[key])}" for key in both)
    if begun.get("identity", ABSENT) == now.get("identity", ABSENT) or "identity" not in begun or "identity" not in now:
        return ""
    return "its weights are the same, and its layers, attributes or unsaved buffers are not"


def _answers_differ(begun: Header, now: Header) -> bool:
    """Whether answers to the same noisy images, computed in the same format and batches, differ."""
    if begun.behaviour is None or now.behaviour is None:
        return False
    if any(getattr(begun, name) != getattr(now, name) for name in ("sigma", "sound", "backend", "batch")):
        return False
    if (begun.precision or "").partition(" ")[0] != (now.precision or "").partition(" ")[0]:
        return False
    images = begun.behaviour.keys() & now.behaviour.keys()
    images -= {"own images"} if begun.data != now.data else set()
    return any(begun.behaviour[name] != now.behaviour[name] for name in images)


def _differing(begun: Any, now: Any) -> str:
    """Two values beside each other; of two mappings what differs in them."""
    if not (isinstance(begun, Mapping) and isinstance(now, Mapping)):
        return _there_and_now(begun, now)
    keys = [key for key in {**begun, **now} if begun.get(key, ABSENT) != now.get(key, ABSENT)]
    return ", ".join(f"{key} {_there_and_now(begun.get(key, ABSENT), now.get(key, ABSENT))}" for key in keys)


def _there_and_now(begun: Any, now: Any) -> str:
    return f"{_short(begun)} there, {_short(now)} now"


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    if isinstance(value, str) and re.fullmatch(r"sha256:\w{64}", value):
        value = value[:19]
    return shown(repr(value))


def _ways_on(begun: Header, different: list[str], apart: tuple[str, str] | None) -> str:
    """What would go on with the run, and what else there is to do."""
    have = [HAD[name] for name in different if name in HAD]
    if "model" in different or (apart is not None and apart[0] == ANOTHER_MODEL):
        called = (begun.model or {}).get("called")
        have.insert(0, "the model that it was begun with" + (f" (identity={_short(called)})" if called else ""))
    if "selection" in different and (begun.selection or "").startswith("all "):
        have.insert(0, "neither take nor skip")
    given = setting(**_arguments(begun, different), resume=True)
    with_what = f", with {' and '.join(have)}" if have else ""
    return f"To go on with it: {given}{with_what}. To begin anew: {setting(overwrite=True)}, or another out (--out)"


def _arguments(begun: Header, different: list[str]) -> dict[str, Any]:
    """The settings that differ, as the run was begun with them, by the names that users give them."""
    found = {name: getattr(begun, name) for name in different if name in SETTINGS}
    if "precision" in different and begun.precision is not None:
        found["precision"] = _precision(begun.precision)
    if found.pop("selection", None) is not None and (how := re.match(r"(take|every) (\d+)", begun.selection or "")):
        found["take" if how[1] == "take" else "skip"] = int(how[2])
    return {name: value for name, value in found.items() if value is not None and str(value).isprintable()}


def _precision(arithmetic: str) -> str | None:
    """As a user writes it; None where this randsmooth does not know it."""
    try:
        return precision_named(arithmetic)
    except InputError:
        return None
