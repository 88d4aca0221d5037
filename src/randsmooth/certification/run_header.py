"""What a table says of its classifier, its samples and its images, and whether a model
is the one that it is about.
"""

import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from randsmooth import certificates, models
from randsmooth.certificates import (
    BATCH_MATTERS,
    NO_LABEL,
    Certificates,
    CertificationSettings,
    Header,
)
from randsmooth.certificates.merging import SOME_FOLDER
from randsmooth.certificates.rows import hashed_images, in_bytes
from randsmooth.certification.algorithm import ESTIMATE, SELECT
from randsmooth.certification.batches import usual_block
from randsmooth.certification.engine import Engine
from randsmooth.certification.trying_out import made_up
from randsmooth.data import Images
from randsmooth.errors import (
    BadValue,
    NotComparable,
    Problem,
    Setting,
    WrongModel,
    WrongTable,
)
from randsmooth.extras import versions
from randsmooth.models import BaseClassifier, Classifier, Denoised, ForeignModel
from randsmooth.models.adapters.torch_program import Program
from randsmooth.noise import address_of
from randsmooth.notes import Note
from randsmooth.rules import Rule

# The number of images that are hashed at once.
TOGETHER = 64

# The most characters of a name that a user gives.
LONGEST = 200
WAY_ON = (
    "give it a name that no other model of yours has, ",
    Setting("identity", "forest of 3 May"),
    ", here and wherever its certificates are used",
)
# An absolute path on any system, behind the name of an argument or of a kind of model.
ABSOLUTE = re.compile(
    r"(?s)(?P<before>(?:[\w-]+=)?(?:hf:|timm:)?)(?:file://)?(?P<path>(?:/|[A-Za-z]:[/\\]|\\\\).*)"
)


def made_with(
    engine: Engine,
    settings: CertificationSettings,
    shape: tuple[int, ...],
    **facts: Any,
) -> Header:
    """The header of a certification by `settings` on `engine` of images of `shape`:
    equal headers give equal counts.

    Args:
        facts: about the images and the model, as in `Header`; absolute paths in
            `dataset` and `model` are cut.

    Raises:
        Problem: the model refuses the shape, or the settings cannot be used.
    """
    engine.prepare(shape)
    rule = settings.stopping_rule()
    facts |= {name: without_places(facts.get(name)) for name in ("dataset", "model")}
    facts |= {
        "seed": engine.seed,
        "bound": rule.stated_bound,
        "drawn_by": _drawn(engine, rule, shape),
    }
    facts["notes"] = rule.notes if engine.mixes else (*rule.notes, BATCH_MATTERS)
    header = Header(**dict(settings) | facts | _arithmetic(engine))
    return header.replace(guarantee=certificates.guarantee_of(header))


def _arithmetic(engine: Engine) -> dict[str, Any]:
    """The arithmetic that the base classifier is defined by, and what it is done with,
    of a prepared engine.
    """
    by = engine.backend
    facts = {
        "backend": by.name,
        "precision": by.arithmetic,
        "batch": engine.batch,
        "device": by.processor,
    }
    return facts | {"instructions": by.instructions, "versions": versions(*by.packages)}


def _drawn(engine: Engine, rule: Rule, shape: tuple[int, ...]) -> str:
    """How the noise is made, in words."""
    if rule.certain:
        return f"all {rule.n} copies of an image, under thresholds from NumPy SFC64, addressed by (seed, shape)"
    by = "NumPy SFC64" if engine.device.type == "cpu" else "torch Philox"
    if engine.settings.sound:
        # Philox4x64 gives the same numbers on every device.
        by = "Gaussian rounded to k/255, exactly, from Philox4x64"
    block = rule.block or usual_block(shape)
    return f"{by} addressed by (seed, {SELECT} or {ESTIMATE}, hash of the pixels, block of {block})"


def without_places(value: Any) -> Any:
    """Return `value` with every absolute path in it, at any depth, cut to its name.

    Tables are passed on, so they must not name folders.
    Example:
        >>> without_places({"source": "/home/me/zoo.py:net", "arguments": {"weights": "hf:/home/me/vit", "depth": 20}})
        {'source': 'zoo.py:net', 'arguments': {'weights': 'hf:vit', 'depth': 20}}
    """
    if isinstance(value, dict):
        return {key: without_places(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(part) for part in value]
    found = ABSOLUTE.fullmatch(value) if isinstance(value, str) else None
    return (
        value
        if found is None
        else found["before"] + re.split(r"[/\\]", found["path"].rstrip("/\\"))[-1]
    )


def runnable_here(word: str) -> str:
    """Return a word of a command without absolute paths.

    A path in the current folder becomes relative to it. Any other path becomes its name
    after SOME_FOLDER, so that no file of that name in the current folder is taken for
    it.
    """
    found = ABSOLUTE.fullmatch(word)
    if found is None:
        return word
    if Path(found["path"]).is_relative_to(Path.cwd()):
        return found["before"] + str(Path(found["path"]).relative_to(Path.cwd()))
    return found["before"] + SOME_FOLDER + str(without_places(found["path"]))


def describe_model(
    model: BaseClassifier, identity: str | None = None
) -> dict[str, Any]:
    """Return the facts that a base classifier is known by, beside its answers.

    How it was trained is among them, where it is known.
    Args:
        model: the base classifier, as `models.adapt` makes it.
        identity: the name that its user gives it.

    Raises:
        Problem: it has no weights that it could be known by and no name, or the name is
            none.
    """
    if identity is None and (why := models.lacks_weights(model)):
        raise WrongModel(
            f"{why}, so two models could not be told apart",
            field="identity",
            fix=WAY_ON,
        )
    if identity is not None and not (
        isinstance(identity, str) and 0 < len(identity.strip()) <= LONGEST
    ):
        raise BadValue(
            field="identity",
            value=identity,
            expected=f"must be some words, at most {LONGEST} characters",
        )
    called = (
        model.called
        if identity is None and isinstance(model, ForeignModel)
        else identity
    )
    known: dict[str, Any] = {"weights": models.weights_hash(model)} | (
        {} if called is None else {"called": called}
    )
    known |= {"notes": list(notes)} if (notes := models.notes_of(model)) else {}
    inner = model if isinstance(model, ForeignModel) else models.unwrapped(model)
    if isinstance(inner, Denoised):
        return known | inner.facts()
    if isinstance(inner, Classifier):
        return (
            inner.provenance
            | known
            | {"arch": inner.arch}
            | {key: inner.config[key] for key in ("mean", "std")}
        )
    if isinstance(inner, torch.jit.ScriptModule):
        return known | {"arch": f"TorchScript {inner.original_name}"}
    said = (
        models.provenance_of(inner)
        if isinstance(inner, ForeignModel | models.Around)
        else {}
    )
    kind = (
        "torch.export program"
        if isinstance(inner, Program)
        else type(inner).__qualname__
    )
    return (
        said | known | {"arch": inner.kind if isinstance(inner, ForeignModel) else kind}
    )


def behaviour(
    engine: Engine, shape: tuple[int, ...], own: Sequence[Tensor] = ()
) -> dict[str, str]:
    """Return hashes of the logits of an engine, to the last bit.

    There is one for made-up images, and one for some of a run's own, all of `shape`.
    Made-up images can be checked without the data set. The run's own distinguish models
    that give equal logits for all the made-up ones, as two decision trees may.
    """
    engine.prepare(shape)
    found = {}
    for name, images in (("made-up images", made_up(shape)), ("own images", own)):
        if images:
            logits = engine.answers(images, "behaviour")
            content = (
                f"{logits.dtype} {tuple(logits.shape)}\n".encode()
                + logits.contiguous().numpy().tobytes()
            )
            found[name] = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return found


def pixel_hashes(images: Images, indices: Sequence[int]) -> dict[int, int]:
    """Return the address of the noise of each image at `indices`.

    The address is a hash of the pixels (see `noise.address_of`).
    A few images are in memory at a time. Those of a streamed split are decoded for
    this, and again to be certified.

    Example:
        >>> from randsmooth import data
        >>> list(pixel_hashes(data.load("digits"), [3, 5]))
        [3, 5]
    """
    batches = images.batches(torch.tensor(indices).split(TOGETHER))
    return dict(
        zip(
            indices, (address_of(image) for x, _ in batches for image in x), strict=True
        )
    )


def fingerprint(
    images: Images,
    indices: Sequence[int],
    *,
    labels: bool = True,
    hashes: Mapping[int, int] | None = None,
) -> str:
    """Return a hash of the labels and the pixels of the images at `indices`.

    It tells two data sets of one name apart.
    Images without labels, or all of them where `labels` is False, are hashed with
    NO_LABEL.
    """
    of = (
        images.labels_at(torch.tensor(indices))
        if labels
        else torch.full((len(indices),), NO_LABEL)
    )
    hashes = pixel_hashes(images, indices) if hashes is None else hashes
    return hashed_images(of.numpy(), (in_bytes(hashes[index]) for index in indices))


def certified_as(table: Certificates) -> CertificationSettings:
    """The settings that the certified classifier depends on: noise, sound, backend,
    precision and batch.

    And rule and seed, where all copies were counted: they decide which these are.

    Raises:
        Problem: the header lacks one of them or the model (as that of a TSV log does),
            or names an unknown precision.

    Example:
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> table = rs.certify(model, "digits", sigma=0.25, n=100, take=5)
        >>> again = rs.SmoothedClassifier(model, certified_as(table))
        >>> again.sigma, again.engine.backend.name
        (0.25, 'torch')
    """
    header = table.header
    weights = (header.model or {}).get("weights")
    recorded = {
        "sigma": header.noise,
        "model's weights": weights,
        "precision": header.precision,
    }
    for name, value in recorded.items():
        if value is None:
            raise WrongTable(
                f"{called(table)} does not say its {name} (a TSV log?): "
                "give what `certify` wrote"
            )
    exact = ("rule", "seed") if header.alpha == 0.0 else ()
    facts: dict[str, Any] = {
        name: getattr(header, name)
        for name in ("noise", "sound", "backend", "batch", *exact)
    }
    facts["precision"] = certificates.precision_named(header.precision or "")
    return CertificationSettings(**facts)


def check_same(model: object, table: Certificates, identity: str | None = None) -> None:
    """Check that `model` has the same name and weights as the table's base classifier.

    It is quick, and meant to come before long work; `check_answers` compares outputs
    too.

    Raises:
        Problem: it is another model, or it needs the `identity` under which it was
            certified.

    Example:
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> model, other = (nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval() for _ in range(2))
        >>> table = rs.certify(model, "digits", sigma=0.25, n=100, take=5)
        >>> check_same(model, table)
        >>> check_same(other, table)
        Traceback (most recent call last):
        ...
        randsmooth.errors.NotComparable: the table is about another model: weights ...
    """
    now = Header(model=describe_model(models.adapt(model), identity))
    difference = certificates.classifier_difference(table.header, now)
    if difference is not None:
        raise _another(table, difference.detail)


def check_answers(engine: Engine, shape: tuple[int, ...], table: Certificates) -> None:
    """Check that `engine` gives the same outputs as the table's classifier did, for
    noisy images of `shape`.

    Call `check_same` first. On another processor, or with another version of a library,
    the last bits of the logits may differ, and with them the class of a few samples.
    Since no evidence is mixed here, that is only a `Note`.

    Raises:
        Problem: the outputs differ, and no difference in the arithmetic explains it.

    Example:
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> table = rs.certify(model, "digits", sigma=0.25, n=100, take=5)
        >>> check_answers(rs.SmoothedClassifier(model, certified_as(table)).engine, (1, 8, 8), table)
    """
    now = {"behaviour": behaviour(engine, shape)} | _arithmetic(engine)
    difference = certificates.classifier_difference(
        table.header, table.header.model_copy(update=now)
    )
    if difference is not None and difference.kind == certificates.ANOTHER_MODEL:
        raise _another(table, difference.detail)
    if difference is not None:
        note = Note(
            "another_arithmetic",
            table=called(table),
            differences=": ".join(difference),
        )
        warnings.warn(note, stacklevel=2)


def _another(table: Certificates, detail: str) -> Problem:
    return NotComparable(
        f"{called(table)} is about another model: {detail}. "
        "Give the model that was certified"
    )


def called(table: Certificates) -> str:
    """The name of a table, for errors."""
    return table.name or "the table"
