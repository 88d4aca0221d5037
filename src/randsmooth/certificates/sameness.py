"""Whether two tables may be of one run: in what their settings, classifiers and arithmetics differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.certificates.header import OF_THE_MACHINE, Header
from randsmooth.certificates.settings import CertificationSettings
from randsmooth.documents import shown
from randsmooth.errors import (
    OutputExists,
)

ANOTHER_MODEL, ANOTHER_ARITHMETIC = "another model", "another arithmetic"

# The settings that a user gives; `selection` stands for take and skip.
OWN = [
    name for name in CertificationSettings.model_fields if name != "noise"
]  # which a header calls distribution
SETTINGS = (
    *OWN,
    "distribution",
    "dataset",
    "split",
    "selection",
    "shard",
    "resize",
    "crop",
)
NOT_OF_THE_RUN = {
    "machines",
    "command",
    "model",
    "behaviour",
}  # the last two are compared as the classifier's
OF_THE_MODEL = (
    "called",
    "weights",
    "mean",
    "std",
    "notes",
)  # how equal models were trained may differ
ARITHMETIC = ("precision", "device", "instructions", "versions")
FOLLOW = {
    "data",
    "classes",
    "noise",
    "guarantee",
    "notes",
}  # named only where no setting differs
ABSENT = object()

Sides = tuple[str, str]
IN_THE_FILE = ("in the file", "asked for")


class ClassifierDifference(NamedTuple):
    """How the base classifiers of two tables differ: the `kind`, ANOTHER_MODEL or ANOTHER_ARITHMETIC, and in what."""

    kind: str
    detail: str


def check_same_run(
    begun: Header, now: Header, path: Path, *, several: bool = False
) -> None:
    """Raise Problem unless a run with the header `now` may resume the one into `path`, whose header is `begun`.

    Where `several` machines may take part, since each row says which made it, this one may be another.

    Raises:
        Problem: it may not. The message names everything that differs, and says whether the model or its arithmetic
            is another.

    Example:
        >>> begun = Header(sigma=0.5, n0=100, n=1000, alpha=0.001, seed=0)
        >>> check_same_run(begun, begun, Path("runs/mine.parquet"))
        >>> check_same_run(begun, begun.replace(n=2000), Path("runs/mine.parquet"))
        Traceback (most recent call last):
        randsmooth.errors.OutputExists: runs/mine.parquet was begun differently (n: 1000 in the file, 2000 asked ...
    """
    if differs := evidence_difference(begun, now, IN_THE_FILE, several=several):
        ways = "resume=True, with all of that as in the file. To begin anew: overwrite=True, or another out (--out)"
        raise OutputExists(
            f"{path} was begun differently ({differs}). To go on with it: {ways}"
        )


def evidence_difference(
    one: Header, other: Header, sides: Sides, *, several: bool = True
) -> str | None:
    """In what two headers differ that make different counts, a clause each; None if their rows may share a table.

    The processor, its instructions and the versions may differ where the classifier's outputs are the same to the last
    bit. Settings come first. What only follows from another difference is left out.

    Args:
        one, other: the headers.
        sides: what to say after a value of the one, and of the other.
        several: whether processor, instructions and versions may differ.

    Example:
        >>> one, sides = Header(sigma=0.5, device="cpu", model={"weights": "sha256:aa"}), ("of node1", "of node2")
        >>> evidence_difference(one, one.replace(device="cuda"), sides) is None
        True
        >>> evidence_difference(one, one.replace(device="cuda", model={"weights": "sha256:bb"}), sides)
        "another model: weights 'sha256:aa' of node1, 'sha256:bb' of node2"
    """
    names = dict.fromkeys((*SETTINGS, *Header.model_fields))
    differ = [name for name in names if getattr(one, name) != getattr(other, name)]
    left_out = {
        *NOT_OF_THE_RUN,
        *(OF_THE_MACHINE if several else ()),
        *(FOLLOW if {*SETTINGS} & {*differ} else ()),
    }
    told = [name for name in differ if name not in left_out]
    found = [
        f"{name}: {_both(getattr(one, name), getattr(other, name), sides)}"
        for name in told
    ]
    if (classifier := classifier_difference(one, other, sides)) is not None:
        found = [
            *(each for each in found if each not in classifier.detail),
            ": ".join(classifier),
        ]
    return "; ".join(found) or None


def classifier_difference(
    begun: Header, now: Header, sides: Sides = IN_THE_FILE
) -> ClassifierDifference | None:
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
    theirs, mine = (
        {name: (header.model or {}).get(name, ABSENT) for name in OF_THE_MODEL}
        for header in (begun, now)
    )
    if begun.model and now.model and theirs != mine:
        return ClassifierDifference(ANOTHER_MODEL, _both(theirs, mine, sides))
    if not _outputs_differ(begun, now):
        return None
    facts = [name for name in ARITHMETIC if getattr(begun, name) != getattr(now, name)]
    if not facts:
        why = "other code (of a noise, too), attributes or number of threads, or the images of the data set changed"
        return ClassifierDifference(
            ANOTHER_MODEL, f"its weights are the same but its outputs differ ({why})"
        )
    arithmetic = "; ".join(
        f"{name}: {_both(getattr(begun, name), getattr(now, name), sides)}"
        for name in facts
    )
    if begun.model and "called" in begun.model:  # known by a name alone
        detail = f"of this name ({_short(begun.model['called'])}), or its arithmetic differs ({arithmetic})"
        return ClassifierDifference(ANOTHER_MODEL, detail)
    return ClassifierDifference(
        ANOTHER_ARITHMETIC, f"equal models give different outputs ({arithmetic})"
    )


def _outputs_differ(begun: Header, now: Header) -> bool:
    """Whether outputs for the same noisy images, computed in the same number format and batches, differ."""
    if _way(begun) != _way(now):
        return False
    then, today = begun.behaviour or {}, now.behaviour or {}
    images = then.keys() & today.keys() - (
        {"own images"} if begun.data != now.data else set()
    )
    return any(then[name] != today[name] for name in images)


def _way(of: Header) -> tuple[object, ...]:
    """How the noisy images were made whose outputs a header has, and in which arithmetic they were computed."""
    drawn_by = (
        (of.noise or "").partition(" addressed")[0] if of.sound else ""
    )  # others are drawn alike by all
    return (
        of.sigma,
        of.distribution,
        of.sound,
        drawn_by,
        of.backend,
        of.batch,
        (of.precision or "").partition(" ")[0],
    )


def _both(begun: Any, now: Any, sides: Sides) -> str:
    """Both values of a fact; of two mappings only the entries that differ."""
    if not (isinstance(begun, Mapping) and isinstance(now, Mapping)):
        return f"{_short(begun)} {sides[0]}, {_short(now)} {sides[1]}"
    pairs = {
        key: (begun.get(key, ABSENT), now.get(key, ABSENT)) for key in {**begun, **now}
    }
    return "; ".join(
        f"{key} {_both(*pair, sides)}"
        for key, pair in pairs.items()
        if pair[0] != pair[1]
    )


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    hashed = isinstance(value, str) and value.startswith("sha256:")
    return shown(repr(value[:19] if hashed else value))
