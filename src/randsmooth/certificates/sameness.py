"""Whether two tables may be of one run: in settings, classifiers and arithmetics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.certificates.header import OF_THE_MACHINE, Header
from randsmooth.certificates.settings import CertificationSettings
from randsmooth.documents import shown
from randsmooth.errors import BEGIN_ANEW, RESUME, OutputExists

ANOTHER_MODEL = "another model"
ANOTHER_ARITHMETIC = "another arithmetic"

# The facts of a file that are settings of a user: the noise is sigma or distribution,
# and the selection stands for take and skip.
SETTINGS = (
    "sigma",
    *(name for name in CertificationSettings.model_fields if name != "noise"),
    "distribution",
    *("dataset", "split", "selection", "shard", "resize", "crop", "refusal"),
)

# Facts in which one run may differ; the last two are compared as the classifier's.
NOT_OF_THE_RUN = {"machines", "command", "model", "behaviour"}

# Facts of a model in which equal models agree: how they were trained may differ.
OF_THE_MODEL = ("called", "weights", "mean", "std", "notes")

# Facts of the arithmetic that the base classifier's answers depend on.
ARITHMETIC = ("precision", "device", "instructions", "versions")

# Facts that follow from the settings: they are named only where no setting differs.
FOLLOWING = {"data", "classes", "noise", "guarantee", "notes"}

# What may have changed where neither the weights nor the recorded arithmetic did.
OTHER_CAUSES = (
    "the code (of the model or the noise), its attributes, the number of threads or the "
    "images have changed"
)

# Stands for a fact that one of two mappings does not have.
ABSENT = object()

# The words that stand after a value of the one header, and after one of the other.
Sides = tuple[str, str]
IN_THE_FILE = ("in the file", "asked for")


class ClassifierDifference(NamedTuple):
    """How the base classifiers of two tables differ.

    Attributes:
        kind: ANOTHER_MODEL or ANOTHER_ARITHMETIC.
        detail: the difference, in words.
    """

    kind: str
    detail: str


def check_same_run(
    begun: Header, now: Header, path: Path, *, several: bool = False
) -> None:
    """Raise OutputExists unless a run may resume the one whose results are at `path`.

    Args:
        begun: the header of the run that was begun.
        now: the header of the run that would resume it.
        path: the file of the results.
        several: whether several machines may take part: each row then says which one
            made it, and this machine may be another than that of `begun`.

    Raises:
        OutputExists: it may not. The message names everything that differs, and says
            whether the model or its arithmetic is another.

    Example:
        >>> begun = Header(sigma=0.5, n0=100, n=1000, alpha=0.001, seed=0)
        >>> check_same_run(begun, begun, Path("runs/mine.parquet"))
        >>> check_same_run(begun, begun.replace(n=2000), Path("runs/mine.parquet"))
        Traceback (most recent call last):
        randsmooth.errors.OutputExists: runs/mine.parquet was begun differently (n: 1000 in the file, 2000 asked ...
    """
    differences = evidence_difference(begun, now, IN_THE_FILE, several=several)
    if differences is None:
        return
    raise OutputExists(
        f"{path} was begun differently ({differences})",
        fix=(
            "to go on with it: ",
            RESUME,
            ", all of that as in the file; ",
            *BEGIN_ANEW,
        ),
        file=path,
    )


def evidence_difference(
    one: Header, other: Header, sides: Sides, *, several: bool = True
) -> str | None:
    """Return the difference between two headers that makes their counts differ.

    It is None if their rows may share a table. The processor, its instructions and the
    versions may differ where the classifier's outputs are the same to the last bit.
    Settings come first. What only follows from another difference is left out.

    Args:
        one, other: the headers.
        sides: the words after a value of the one header, and after a value of the
            other.
        several: whether processor, instructions and versions may differ.

    Example:
        >>> one, sides = Header(sigma=0.5, device="cpu", model={"weights": "sha256:aa"}), ("of node1", "of node2")
        >>> evidence_difference(one, one.replace(device="cuda"), sides) is None
        True
        >>> evidence_difference(one, one.replace(device="cuda", model={"weights": "sha256:bb"}), sides)
        "another model: weights 'sha256:aa' of node1, 'sha256:bb' of node2"
    """
    facts = one.facts()
    other_facts = other.facts()
    differ = [
        name
        for name in dict.fromkeys((*SETTINGS, *facts))
        if facts[name] != other_facts[name]
    ]
    left_out = set(NOT_OF_THE_RUN)
    if several:
        left_out |= set(OF_THE_MACHINE)
    if any(name in SETTINGS for name in differ):
        left_out |= FOLLOWING
    told = [name for name in differ if name not in left_out]
    clauses = _clauses(facts, other_facts, told, sides)

    classifier = classifier_difference(one, other, sides)
    if classifier is not None:
        # What the classifier's difference says is not said twice.
        clauses = [clause for clause in clauses if clause not in classifier.detail]
        clauses.append(f"{classifier.kind}: {classifier.detail}")
    return "; ".join(clauses) or None


def _clauses(
    one: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str], sides: Sides
) -> list[str]:
    """Return, for each of the facts `names`, a clause with its values in both headers."""
    return [f"{name}: {_both_values(one[name], other[name], sides)}" for name in names]


def classifier_difference(
    begun: Header, now: Header, sides: Sides = IN_THE_FILE
) -> ClassifierDifference | None:
    """Return how the base classifiers of two tables differ; None if they are the same as far as both headers say.

    They are the same if name, weights and steps around them are, and their outputs for the same noisy images to the
    last bit. Where a header says nothing of its model, only the outputs are compared. Outputs for other images or
    noise are not.

    Example:
        >>> begun = Header(model={"weights": "sha256:aa"})
        >>> classifier_difference(begun, begun) is None
        True
        >>> classifier_difference(begun, Header(model={"weights": "sha256:bb"}))
        ClassifierDifference(kind='another model', detail="weights 'sha256:aa' in the file, 'sha256:bb' asked for")
    """
    if begun.model and now.model:
        model_then = _facts_of_the_model(begun.model)
        model_now = _facts_of_the_model(now.model)
        if model_then != model_now:
            detail = _both_values(model_then, model_now, sides)
            return ClassifierDifference(ANOTHER_MODEL, detail)
    if not _outputs_differ(begun, now):
        return None

    # The arithmetic may explain different outputs of equal models.
    arithmetic_then = {name: getattr(begun, name) for name in ARITHMETIC}
    arithmetic_now = {name: getattr(now, name) for name in ARITHMETIC}
    differ = [
        name for name in ARITHMETIC if arithmetic_then[name] != arithmetic_now[name]
    ]
    arithmetic = "; ".join(_clauses(arithmetic_then, arithmetic_now, differ, sides))
    doubt = _doubt_of_equal_weights(begun, now)
    if doubt:
        cause = f"its arithmetic differs ({arithmetic})" if differ else OTHER_CAUSES
        return ClassifierDifference(ANOTHER_MODEL, f"{doubt}, or {cause}")
    if not differ:
        return ClassifierDifference(
            ANOTHER_MODEL,
            f"its weights are the same, but its outputs differ: {OTHER_CAUSES}",
        )
    return ClassifierDifference(
        ANOTHER_ARITHMETIC, f"equal models give different outputs ({arithmetic})"
    )


def _doubt_of_equal_weights(begun: Header, now: Header) -> str:
    """Return which other model `now` may be of, though no fact of the model differs.

    It is empty where both are known by the hash of their weights alone.
    """
    if not begun.model or not now.model:
        return "with other outputs"
    if "called" in begun.model:
        # Another model may have the name, too. The weights of a function are the hash of
        # its name, so that they agree as well.
        return f"of this name ({_short(begun.model['called'])})"
    return ""


def _facts_of_the_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a header's `model` in which equal models agree."""
    return {name: model.get(name, ABSENT) for name in OF_THE_MODEL}


def _outputs_differ(begun: Header, now: Header) -> bool:
    """Return whether outputs for the same noisy images, computed in the same number format and batches, differ."""
    if _made_by(begun) != _made_by(now):
        return False
    hashes_then = begun.behaviour or {}
    hashes_now = now.behaviour or {}
    images = hashes_then.keys() & hashes_now.keys()
    if begun.data != now.data:
        images -= {"own images"}
    return any(hashes_then[name] != hashes_now[name] for name in images)


def _made_by(header: Header) -> tuple[object, ...]:
    """Return what the outputs of equal models in `header.behaviour` depend on.

    That is how the noisy images were made, and the number format and batches in which the outputs were computed.
    """
    # Only the exact noise of `sound` is drawn in ways that differ between versions. How it is addressed does not
    # change these images.
    drawn_by = ""
    if header.sound and header.drawn_by is not None:
        drawn_by = header.drawn_by.partition(" addressed")[0]
    # Behind the number format, a precision may name its exceptions: "float32 (TF32 convolutions)".
    number_format = (header.precision or "").partition(" ")[0]
    return (
        header.noise,
        header.sound,
        drawn_by,
        header.backend,
        header.batch,
        number_format,
    )


def _both_values(one: Any, other: Any, sides: Sides) -> str:
    """Return both values of a fact in words; of two mappings only the entries that differ."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return f"{_short(one)} {sides[0]}, {_short(other)} {sides[1]}"
    entries = []
    for key in {**one, **other}:
        left = one.get(key, ABSENT)
        right = other.get(key, ABSENT)
        if left != right:
            entries.append(f"{key} {_both_values(left, right, sides)}")
    return "; ".join(entries)


def _short(value: Any) -> str:
    """Return a value as it is shown; of a hash the first 12 digits."""
    if value is ABSENT:
        return "nothing"
    if isinstance(value, str) and value.startswith("sha256:"):
        value = value[: len("sha256:") + 12]
    return shown(repr(value))
