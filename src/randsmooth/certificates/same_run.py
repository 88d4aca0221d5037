"""Whether a run may be resumed with the given settings and model: what differs, and what would let it go on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.certificates.header import CLOPPER_PEARSON, OF_THE_MACHINE, Header
from randsmooth.certificates.settings import CertificationSettings, precision_named
from randsmooth.documents import shown
from randsmooth.errors import InputError, setting

ANOTHER_MODEL, ANOTHER_ARITHMETIC = "another model", "another arithmetic"

# The settings that a user gives; `selection` stands for take and skip.
SETTINGS = (*CertificationSettings.model_fields, "dataset", "split", "selection", "shard", "resize", "crop")
NOT_OF_THE_RUN = {"machines", "command", "model", "behaviour"}  # the last two are compared as the classifier's
OF_THE_MODEL = ("called", "weights", "mean", "std", "notes")  # how equal models were trained may differ
ARITHMETIC = ("precision", "device", "instructions", "versions")
# What a run needs in order to resume where a fact differs that is no setting.
NEEDED = {
    "data": "the images and labels that it was begun with",
    "device": "the processor that it was begun on",
    "instructions": "the instructions that it was begun with (on a CPU, ATEN_CPU_CAPABILITY and ONEDNN_MAX_CPU_ISA "
    "limit them)",
    "noise": "the kind of device that it was begun on",
}
# Fact -> those that it follows from. Where one of these differs, the error names it alone.
FOLLOWS_FROM = {
    "bound": {"rule"},
    "data": {"dataset", "split", "selection", "shard", "resize", "crop"},
    "classes": {"dataset"},
    "noise": {"sound", "dataset", "rule", "resize", "crop"},
    "guarantee": {*SETTINGS},
    "notes": {*SETTINGS},
}
ABSENT = object()

Sides = tuple[str, str]
IN_THE_FILE = ("in the file", "asked for")


class ClassifierDifference(NamedTuple):
    """How the base classifiers of two tables differ: the `kind`, ANOTHER_MODEL or ANOTHER_ARITHMETIC, and in what."""

    kind: str
    detail: str


def check_same_run(begun: Header, now: Header, path: Path) -> None:
    """Raise InputError unless a run with the header `now` may resume the one into `path`, whose header is `begun`.

    Raises:
        InputError: it may not. The message names everything that differs, says whether the model or its arithmetic is
            another, and how to resume.

    Example:
        >>> begun = Header(sigma=0.5, n0=100, n=1000, alpha=0.001, seed=0)
        >>> check_same_run(begun, begun, Path("runs/mine.parquet"))
        >>> check_same_run(begun, begun.replace(n=2000), Path("runs/mine.parquet"))
        Traceback (most recent call last):
        randsmooth.errors.InputError: runs/mine.parquet was begun differently (n: 1000 in the file, 2000 asked for). ...
    """
    names, classifier = _differing_fields(begun, now), classifier_difference(begun, now)
    if differences := _sentences(begun, now, names, classifier, IN_THE_FILE):
        raise InputError(
            f"{path} was begun differently ({'; '.join(differences)}). {_ways_on(begun, names, classifier)}"
        )


def evidence_difference(one: Header, other: Header, sides: Sides) -> str | None:
    """In what two headers differ that make different counts, in words; None if their rows may share a table.

    The processor, its instructions and the versions may differ where the classifier's outputs are the same to the last
    bit.

    Args:
        one, other: the headers.
        sides: what to say after a value of the one, and of the other.

    Example:
        >>> one, sides = Header(sigma=0.5, device="cpu", model={"weights": "sha256:aa"}), ("of node1", "of node2")
        >>> evidence_difference(one, one.replace(device="cuda"), sides) is None
        True
        >>> evidence_difference(one, one.replace(device="cuda", model={"weights": "sha256:bb"}), sides)
        "another model: weights 'sha256:aa' of node1, 'sha256:bb' of node2"
    """
    alike = other.model_copy(update={name: getattr(one, name) for name in OF_THE_MACHINE})
    names, classifier = _differing_fields(one, alike), classifier_difference(one, other, sides)
    return "; ".join(_sentences(one, other, names, classifier, sides)) or None


def as_begun(begun: Header | None, now: Header) -> Header:
    """`now` with the machine on which a run was begun, where a run whose rows say which machine made them may go on.

    Example:
        >>> begun = Header(sigma=0.5, device="cpu")
        >>> as_begun(begun, Header(sigma=0.5, device="cuda")).device, as_begun(begun, Header(device="cuda")).device
        ('cpu', 'cuda')
    """
    if begun is None or evidence_difference(begun, now, ("", "")) is not None:
        return now
    return now.replace(**{name: getattr(begun, name) for name in OF_THE_MACHINE})


def classifier_difference(begun: Header, now: Header, sides: Sides = IN_THE_FILE) -> ClassifierDifference | None:
    """How the base classifiers of two tables differ; None if they are the same as far as both headers say.

    They are the same if name, weights and steps around them are, and their outputs for the same noisy images to the
    last bit. Headers that say nothing of their model are not compared, nor are outputs for other images or noise.

    Example:
        >>> begun = Header(model={"weights": "sha256:aa"})
        >>> classifier_difference(begun, begun) is None
        True
        >>> classifier_difference(begun, Header(model={"weights": "sha256:bb"}))
        ClassifierDifference(kind='another model', detail="weights 'sha256:aa' in the file, 'sha256:bb' asked for")
    """
    theirs, mine = ({name: (header.model or {}).get(name, ABSENT) for name in OF_THE_MODEL} for header in (begun, now))
    if begun.model and now.model and theirs != mine:
        return ClassifierDifference(ANOTHER_MODEL, _both(theirs, mine, sides))
    if not _outputs_differ(begun, now):
        return None
    facts = [name for name in ARITHMETIC if getattr(begun, name) != getattr(now, name)]
    if not facts:
        detail = "its weights are the same but its outputs differ (other code or attributes, another number of threads)"
        return ClassifierDifference(ANOTHER_MODEL, detail)
    arithmetic = "; ".join(f"{name}: {_both(getattr(begun, name), getattr(now, name), sides)}" for name in facts)
    if begun.model and "called" in begun.model:  # known by a name alone
        detail = f"of this name ({_short(begun.model['called'])}), or its arithmetic differs ({arithmetic})"
        return ClassifierDifference(ANOTHER_MODEL, detail)
    return ClassifierDifference(ANOTHER_ARITHMETIC, f"equal models give different outputs ({arithmetic})")


def generator(noise: str | None) -> str:
    """What drew the noise that a header describes so, without how a sample's noise is addressed.

    Example:
        >>> generator("NumPy SFC64 addressed by (seed, certify/select or certify/estimate, image, block of 128)")
        'NumPy SFC64'
    """
    return (noise or "").partition(" addressed")[0]


def _sentences(
    begun: Header, now: Header, names: list[str], classifier: ClassifierDifference | None, sides: Sides
) -> list[str]:
    """What differs, a clause each: the fields `names` and the classifiers."""
    found = [f"{name}: {_both(getattr(begun, name), getattr(now, name), sides)}" for name in names]
    if classifier is None:
        return found
    return [*(each for each in found if each not in classifier.detail), ": ".join(classifier)]


def _differing_fields(begun: Header, now: Header) -> list[str]:
    """Names of the fields that differ, settings first, without those that only follow from another difference."""
    names = [name for name in dict.fromkeys((*SETTINGS, *Header.model_fields)) if name not in NOT_OF_THE_RUN]
    differ = {name for name in names if getattr(begun, name) != getattr(now, name)}
    own_bound = begun.bound not in (None, CLOPPER_PEARSON)  # to be asked for again, with the rule
    follow = {name for name in differ if FOLLOWS_FROM.get(name, set()) & differ and not (name == "bound" and own_bound)}
    return [name for name in names if name in differ - follow]


def _outputs_differ(begun: Header, now: Header) -> bool:
    """Whether outputs for the same noisy images, computed in the same number format and batches, differ."""
    if begun.behaviour is None or now.behaviour is None:
        return False
    if any(getattr(begun, name) != getattr(now, name) for name in ("sigma", "sound", "backend", "batch")):
        return False
    if begun.sound and generator(begun.noise) != generator(now.noise):  # which drew the noise of these outputs, too
        return False
    if (begun.precision or "").partition(" ")[0] != (now.precision or "").partition(" ")[0]:
        return False
    images = begun.behaviour.keys() & now.behaviour.keys()
    images -= {"own images"} if begun.data != now.data else set()
    return any(begun.behaviour[name] != now.behaviour[name] for name in images)


def _both(begun: Any, now: Any, sides: Sides) -> str:
    """Both values of a fact; of two mappings only the entries that differ."""
    if not (isinstance(begun, Mapping) and isinstance(now, Mapping)):
        return f"{_short(begun)} {sides[0]}, {_short(now)} {sides[1]}"
    pairs = {key: (begun.get(key, ABSENT), now.get(key, ABSENT)) for key in {**begun, **now}}
    return "; ".join(f"{key} {_both(*pair, sides)}" for key, pair in pairs.items() if pair[0] != pair[1])


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    if isinstance(value, str) and re.fullmatch(r"sha256:\w{64}", value):
        value = value[:19]
    return shown(repr(value))


def _ways_on(begun: Header, names: list[str], classifier: ClassifierDifference | None) -> str:
    """How to resume the run, whose fields `names` differ, and how to start another one instead."""
    given, needed = dict[str, Any](), list[str]()
    if classifier is not None and classifier.kind == ANOTHER_MODEL:
        called = (begun.model or {}).get("called")
        needed.append("the model that it was begun with" + (f" (identity={_short(called)})" if called else ""))
    for name in names:
        value = getattr(begun, name)
        if name == "selection" and (how := re.match(r"(take|one in) (\d+)", value or "")):
            given["take" if how[1] == "take" else "skip"] = int(how[2])
        elif name in SETTINGS and name != "selection" and value is not None and str(value).isprintable():
            given[name] = precision_named(value) if name == "precision" else value
        elif name == "selection" and str(value).startswith("all "):
            needed.append("neither take nor skip")
        else:
            needed.append(NEEDED.get(name, f"the {name} that it was begun with" if value else f"no {name}"))
    with_what = f", with {' and '.join(needed)}" if needed else ""
    return (
        f"To go on with it: {setting(**given, resume=True)}{with_what}. To begin anew: {setting(overwrite=True)}, or "
        "another out (--out)"
    )
