"""Whether a run may be resumed with the given settings and model: what differs, and what would let it go on."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.certificates.header import CLOPPER_PEARSON, OLD_BOUND, Header
from randsmooth.certificates.machine import OF_THE_MACHINE
from randsmooth.certificates.settings import CertificationSettings, precision_named
from randsmooth.documents import shown
from randsmooth.errors import InputError, Note, setting
from randsmooth.rules import kind_of_rule

ANOTHER_MODEL, ANOTHER_ARITHMETIC = "another model", "another arithmetic"
COMPATIBLE = (2, 3, 4)  # format versions whose counts mean the same, where the rule is the same (see `Rule.as_of`)

# The settings that a user gives, in the order in which an error names them; `selection` stands for take and skip.
SETTINGS = (*CertificationSettings.model_fields, "dataset", "split", "selection", "shard", "resize", "crop")
ONE_IN = re.compile(r"(?:one in |every )(\d+)(?:th)? of (\d+)")  # a selection by skip, as it is and was once written
# Facts that are no settings, and what a run needs in order to resume where they differ.
NEEDED = {
    "data": "the images and labels that it was begun with (an older version hashed fewer images)",
    "device": "the processor that it was begun on",
    "instructions": "the instructions that it was begun with (on a CPU, ATEN_CPU_CAPABILITY and ONEDNN_MAX_CPU_ISA "
    "limit them)",
    "versions": "the versions that it was begun with",
    "noise": "the kind of device and the version that it was begun with (an older version addressed the noise in "
    "another way, or drew it from another generator)",
    "classes": "the class names that it was begun with",
    "source": "the program that made its counts",
    "lumped": "the program that counted the picked class alone",
    "version": "the older version that it was begun with",
}
ARITHMETIC = ("precision", "device", "instructions", "versions")
# Fact -> those that it follows from. Where one of these differs, the error names it alone.
FOLLOWS_FROM = {
    "bound": {"rule"},
    "data": {"dataset", "split", "selection", "shard", "resize", "crop"},
    "classes": {"dataset"},
    "noise": {"sound", "dataset", "rule", "resize", "crop"},
    "guarantee": {*SETTINGS, "version"},
    "notes": {*SETTINGS, "version"},
}
OLD_IDENTITY = ("weights", "mean", "std")  # what older tables recorded to identify a model
ABSENT = object()

Sides = tuple[str, str]
IN_THE_FILE = ("in the file", "asked for")


def check_same_run(begun: Header, now: Header, path: Path) -> None:
    """Raise InputError unless a run with the header `now` may resume the one into `path`, whose header is `begun`.

    An older run did not record all of these facts: those that it recorded are compared, and a `Note` says so.

    Raises:
        InputError: it may not. The message names everything that differs, says whether the model or its arithmetic is
            another, and how to resume.

    Example:
        >>> begun = Header(sigma=0.5, n0=100, n=1000, alpha=0.001, seed=0)
        >>> check_same_run(begun, begun, Path("runs/mine.parquet"))
        >>> check_same_run(begun, begun.having(n=2000), Path("runs/mine.parquet"))
        Traceback (most recent call last):
        randsmooth.errors.InputError: runs/mine.parquet was begun differently (n: 1000 in the file, 2000 asked for). ...
    """
    names, classifier = _differing_fields(begun, now), classifier_difference(begun, now)
    if differences := _sentences(begun, now, names, classifier, IN_THE_FILE):
        raise InputError(
            f"{path} was begun differently ({'; '.join(differences)}). {_ways_on(begun, names, classifier)}"
        )
    if begun.behaviour is None and now.behaviour is not None:
        warnings.warn(f"{path} was begun by an older version: {unchecked(begun)}", Note, stacklevel=2)


def evidence_difference(one: Header, other: Header, sides: Sides) -> str | None:
    """In what two headers differ that make different counts, in words; None if their rows may share a table.

    The processor, its instructions and the versions may differ where the classifier's outputs are the same to the last
    bit.

    Args:
        one, other: the headers.
        sides: what to say after a value of the one, and of the other.

    Example:
        >>> one, sides = Header(sigma=0.5, device="cpu", model={"weights": "sha256:aa"}), ("of node1", "of node2")
        >>> evidence_difference(one, one.having(device="cuda"), sides) is None
        True
        >>> evidence_difference(one, one.having(device="cuda", model={"weights": "sha256:bb"}), sides)
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
    return now.having(**{name: getattr(begun, name) for name in OF_THE_MACHINE})


def in_format_of(begun: Header | None, now: Header) -> Header:
    """`now` in the format of the run that it resumes, where that can be: so its images stop as those before did.

    Example:
        >>> in_format_of(Header(version=3, rule="grid"), Header(rule="grid")).version
        3
    """
    usable = begun is not None and begun.version in COMPATIBLE
    return now.having(version=begun.version) if begun is not None and usable else now


def _sentences(
    begun: Header, now: Header, names: list[str], classifier: ClassifierDifference | None, sides: Sides
) -> list[str]:
    """What differs, a clause each: the fields `names` and the classifiers."""
    found = [f"{name}: {_there_and_now(_comparable(begun, name), _comparable(now, name), sides)}" for name in names]
    if classifier is None:
        return found
    return [*(each for each in found if each not in classifier.detail), ": ".join(classifier)]


class ClassifierDifference(NamedTuple):
    """How the base classifiers of two tables differ: the `kind`, ANOTHER_MODEL or ANOTHER_ARITHMETIC, and in what."""

    kind: str
    detail: str


def classifier_difference(begun: Header, now: Header, sides: Sides = IN_THE_FILE) -> ClassifierDifference | None:
    """How the base classifiers of two tables differ; None if they are the same as far as both headers say.

    Facts that only one of the headers records are not compared, nor are outputs for different images or noise. `sides`
    are what to say after a value of the one, and of the other.

    Example:
        >>> begun = Header(model={"weights": "sha256:aa"})
        >>> classifier_difference(begun, begun) is None
        True
        >>> classifier_difference(begun, Header(model={"weights": "sha256:bb"}))
        ClassifierDifference(kind='another model', detail="weights 'sha256:aa' in the file, 'sha256:bb' asked for")
    """
    theirs, mine = begun.model or {}, now.model or {}
    if detail := _model_difference(theirs, mine, sides):
        return ClassifierDifference(ANOTHER_MODEL, detail)
    if not _outputs_differ(begun, now):
        return None
    facts = [
        f"{name}: {_there_and_now(getattr(begun, name), getattr(now, name), sides)}"
        for name in ARITHMETIC
        if getattr(begun, name) != getattr(now, name)
    ]
    arithmetic = f" ({'; '.join(facts)})" if facts else ""
    if "called" in theirs:  # identified by a name that its user chose
        detail = (
            f"the model called {_short(theirs['called'])} gives other outputs than the one {sides[0]}: another model "
            f"has this name, or its arithmetic differs{arithmetic}"
        )
        return ClassifierDifference(ANOTHER_MODEL, detail)
    if facts:
        return ClassifierDifference(ANOTHER_ARITHMETIC, f"equal models give different outputs{arithmetic}")
    detail = (
        "it has the same contents but gives different outputs, on the same processor and with the same versions: its "
        "code differs, or the number of threads that compute"
    )
    return ClassifierDifference(ANOTHER_MODEL, detail)


def unchecked(header: Header) -> str:
    """What could not be compared about the classifier of an older table, in words.

    Example:
        >>> unchecked(Header())
        'nothing of its model could be compared'
        >>> unchecked(Header(model={"weights": "sha256:aa"}))
        'only the weights of its model could be compared, neither its other contents nor its outputs'
    """
    if not (header.model or {}).get("weights"):
        return "nothing of its model could be compared"
    return "only the weights of its model could be compared, neither its other contents nor its outputs"


def _differing_fields(begun: Header, now: Header) -> list[str]:
    """Names of the fields that differ, without `behaviour` and those that only follow from another difference."""
    names = [*SETTINGS, "model", *NEEDED, *FOLLOWS_FROM]
    differ = [name for name in dict.fromkeys(names) if _comparable(begun, name) != _comparable(now, name)]
    if "version" in differ and _compatible(begun, now):
        differ.remove("version")
    if all("identity" in (header.model or {}) for header in (begun, now)) and "model" in differ:
        differ.remove("model")  # `classifier_difference` compares identities; how equal models were trained may differ
    own_bound = begun.bound not in (None, CLOPPER_PEARSON, OLD_BOUND)  # to be asked for again, with the rule
    return [
        name for name in differ if not FOLLOWS_FROM.get(name, set()) & set(differ) or (name == "bound" and own_bound)
    ]


def _compatible(begun: Header, now: Header) -> bool:
    """Whether the rows of both may share a table, although their formats differ."""
    if not {begun.version, now.version} <= {*COMPATIBLE}:
        return False
    kinds = {kind_of_rule(each.rule, n=each.n or 1, version=each.version)[0] for each in (begun, now)}
    return len(kinds) == 1 or begun.rule != now.rule  # which is told


def _comparable(header: Header, name: str) -> Any:
    """The field, a selection in its present words; of a model the description alone.

    What identifies a model is compared by `classifier_difference`.
    """
    value = getattr(header, name)
    if name == "selection" and value:
        return ONE_IN.sub(r"one in \1 of \2", value)
    identifying = {"identity", "called", *OLD_IDENTITY}
    return {key: it for key, it in value.items() if key not in identifying} if name == "model" and value else value


def _model_difference(begun: Mapping[str, Any], now: Mapping[str, Any], sides: Sides) -> str:
    """How the models differ in the facts that both headers record; empty if they do not."""
    identified = "identity" in begun and "identity" in now
    if identified and begun.get("called") != now.get("called"):
        return f"called {_two_values(begun.get('called', ABSENT), now.get('called', ABSENT), sides)}"
    differ = [key for key in OLD_IDENTITY if key in begun and key in now and begun[key] != now[key]]
    if differ:
        return "; ".join(f"{key} {_two_values(begun[key], now[key], sides)}" for key in differ)
    if not identified or begun["identity"] == now["identity"]:
        return ""
    return "its weights are the same, but its layers, attributes or unsaved buffers differ"


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


def generator(noise: str | None) -> str:
    """What drew the noise that a header describes so, without how a sample's noise is addressed.

    Example:
        >>> generator("NumPy SFC64 addressed by (seed, certify/select or certify/estimate, image, block of 128)")
        'NumPy SFC64'
    """
    return (noise or "").partition(" addressed")[0]


def _there_and_now(begun: Any, now: Any, sides: Sides) -> str:
    """Both values of a field; of two mappings only the entries that differ."""
    if not (isinstance(begun, Mapping) and isinstance(now, Mapping)):
        return _two_values(begun, now, sides)
    keys = [key for key in {**begun, **now} if begun.get(key, ABSENT) != now.get(key, ABSENT)]
    return ", ".join(f"{key} {_two_values(begun.get(key, ABSENT), now.get(key, ABSENT), sides)}" for key in keys)


def _two_values(begun: Any, now: Any, sides: Sides) -> str:
    return f"{_short(begun)} {sides[0]}, {_short(now)} {sides[1]}"


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    if isinstance(value, str) and re.fullmatch(r"sha256:\w{64}", value):
        value = value[:19]
    return shown(repr(value))


def _ways_on(begun: Header, names: list[str], classifier: ClassifierDifference | None) -> str:
    """How to resume the run, whose fields `names` differ, and how to start another one instead."""
    needed = [NEEDED[name] for name in names if name in NEEDED]
    if "model" in names or (classifier is not None and classifier.kind == ANOTHER_MODEL):
        called = (begun.model or {}).get("called")
        needed.insert(0, "the model that it was begun with" + (f" (identity={_short(called)})" if called else ""))
    if "shard" in names and begun.shard is None:
        needed.insert(0, "no shard")
    if "selection" in names and (begun.selection or "").startswith("all "):
        needed.insert(0, "neither take nor skip")
    if "selection" in names and re.match(r"\d+ (left open|by chance)", begun.selection or ""):
        needed.insert(0, "the `within` that it was begun with")
    given = setting(**_arguments(begun, names), resume=True)
    with_what = f", with {' and '.join(needed)}" if needed else ""
    return f"To go on with it: {given}{with_what}. To begin anew: {setting(overwrite=True)}, or another out (--out)"


def _arguments(begun: Header, names: list[str]) -> dict[str, Any]:
    """The settings among `names`, with the values that the run was begun with, as arguments of `certify`."""
    found = {name: getattr(begun, name) for name in names if name in SETTINGS}
    if "precision" in names and begun.precision is not None:
        found["precision"] = _precision(begun.precision)
    if found.pop("selection", None) is not None and (
        how := re.match(r"(take|one in|every) (\d+)", begun.selection or "")
    ):
        found["take" if how[1] == "take" else "skip"] = int(how[2])
    return {name: value for name, value in found.items() if value is not None and str(value).isprintable()}


def _precision(arithmetic: str) -> str | None:
    """The precision as a user writes it; None if this version does not know it."""
    try:
        return precision_named(arithmetic)
    except InputError:
        return None
