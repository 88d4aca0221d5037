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
IMAGES_HASHED_AT_ONCE = 64

# The most characters of a name that a user gives.
LONGEST_IDENTITY = 200

GIVE_AN_IDENTITY = (
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
    """Return the header of a certification; equal headers give equal counts.

    Args:
        engine: the engine that counts.
        settings: the settings of the certification.
        shape: the shape of an image.
        facts: facts about the images and the model, by their names in `Header`.
            Absolute paths in `dataset` and `model` are cut.

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
    # Images may not share a batch where an answer depends on the rest of it.
    facts["notes"] = certificates.notes_of_rule(rule)
    if not engine.mixes:
        facts["notes"] += (BATCH_MATTERS,)
    # What was asked for comes first, and what it became takes its place: a seed that
    # was left open, say, or the arithmetic of a precision.
    header = Header(**dict(settings) | facts | _arithmetic(engine))
    return header.replace(guarantee=certificates.guarantee_of(header))


def _arithmetic(engine: Engine) -> dict[str, Any]:
    """Return the facts of a header that say in which arithmetic the base classifier of
    a prepared engine answers, and on what it runs.
    """
    backend = engine.backend
    return {
        "backend": backend.name,
        "precision": backend.arithmetic,
        "batch": engine.batch,
        "device": backend.processor,
        "instructions": backend.instructions,
        "versions": versions(*backend.packages),
    }


def _drawn(engine: Engine, rule: Rule, shape: tuple[int, ...]) -> str:
    """Return in words how the noise of images of `shape` is made, and what decides it.

    `sameness` compares the words before "addressed".
    """
    if rule.certain:
        return f"all {rule.n} copies of an image, under thresholds from NumPy SFC64, addressed by (seed, shape)"
    generator = "NumPy SFC64" if engine.device.type == "cpu" else "torch Philox"
    if engine.settings.sound:
        # Philox4x64 gives the same numbers on every device.
        generator = "Gaussian rounded to k/255, exactly, from Philox4x64"
    block = rule.block or usual_block(shape)
    return f"{generator} addressed by (seed, {SELECT} or {ESTIMATE}, hash of the pixels, block of {block})"


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
    if not isinstance(value, str):
        return value
    match = ABSOLUTE.fullmatch(value)
    if match is None:
        return value
    # `Path` splits by the separators of this system alone.
    name = re.split(r"[/\\]", match["path"].rstrip("/\\"))[-1]
    return match["before"] + name


def runnable_here(word: str) -> str:
    """Return a word of a command without absolute paths.

    A path in the current folder becomes relative to it; behind `hf:` and `timm:` it
    begins with ./ then, as `vit` alone looks like the id of a model. Of any other path its name
    remains, after SOME_FOLDER, so that no file of that name in the current folder is
    taken for it.
    """
    match = ABSOLUTE.fullmatch(word)
    if match is None:
        return word
    path = Path(match["path"])
    if path.is_relative_to(Path.cwd()):
        relative = str(path.relative_to(Path.cwd()))
        marked_as_path = "./" if match["before"].endswith(":") else ""
        return match["before"] + marked_as_path + relative
    return match["before"] + SOME_FOLDER + str(without_places(match["path"]))


def describe_model(
    model: BaseClassifier, identity: str | None = None
) -> dict[str, Any]:
    """Return the facts, besides its answers, that a header has of a base classifier.

    They are what it is known by, its architecture, and how it was trained, as far as
    that is known.

    Args:
        model: the base classifier, as `models.adapt` makes it.
        identity: the name that its user gives it; None: it is known by its weights.

    Raises:
        Problem: it has neither weights that it could be known by nor a name, or the
            name is empty, too long or no text.
    """
    _check_identity(model, identity)
    called = identity
    if identity is None and isinstance(model, ForeignModel):
        called = model.called
    known: dict[str, Any] = {"weights": models.weights_hash(model)}
    if called is not None:
        known["called"] = called
    notes = models.notes_of(model)
    if notes:
        known["notes"] = list(notes)
    members = _members_of_ensemble(model)
    if members:
        known["ensemble"] = members

    # A fact that was recorded in training is replaced by what is known of it now.
    inner = model if isinstance(model, ForeignModel) else models.unwrapped(model)
    if isinstance(inner, Denoised):
        return known | inner.facts()
    if isinstance(inner, Classifier):
        normalisation = {name: inner.config[name] for name in ("mean", "std")}
        return inner.provenance | known | {"arch": inner.arch} | normalisation
    if isinstance(inner, ForeignModel):
        return models.provenance_of(inner) | known | {"arch": inner.kind}
    if isinstance(inner, models.Around):
        return models.provenance_of(inner) | known | {"arch": _architecture(inner)}
    # Other modules do not say how they were trained.
    return known | {"arch": _architecture(inner)}


def _members_of_ensemble(model: BaseClassifier) -> int:
    """Return how many members the outermost ensemble in a model has; 0 without one."""
    if isinstance(model, ForeignModel):
        return 0
    for part in model.modules():
        if isinstance(part, models.Ensemble):
            return len(part.members)
    return 0


def _check_identity(model: BaseClassifier, identity: str | None) -> None:
    """Raise Problem for a name that is none, or a model that is known by nothing."""
    if identity is None:
        why_unknown = models.lacks_weights(model)
        if why_unknown:
            raise WrongModel(
                f"{why_unknown}, so two models could not be told apart",
                field="identity",
                fix=GIVE_AN_IDENTITY,
            )
        return
    is_text = isinstance(identity, str)
    if not is_text or not 0 < len(identity.strip()) <= LONGEST_IDENTITY:
        raise BadValue(
            field="identity",
            value=identity,
            expected=f"must be some words, at most {LONGEST_IDENTITY} characters",
        )


def _architecture(module: torch.nn.Module) -> str:
    """Return the name for the architecture of a module that does not say one."""
    if isinstance(module, torch.jit.ScriptModule):
        return f"TorchScript {module.original_name}"
    if isinstance(module, Program):
        return "torch.export program"
    return type(module).__qualname__


def behaviour(
    engine: Engine, shape: tuple[int, ...], own: Sequence[Tensor] = ()
) -> dict[str, str]:
    """Return hashes of the logits of an engine, to the last bit, by the kind of images.

    Made-up images can be checked without the data set. A run's own images distinguish
    models that give equal logits for all the made-up ones, as two decision trees may.

    Args:
        engine: the engine.
        shape: the shape of all images.
        own: some of the run's own images; none: made-up ones are enough.
    """
    engine.prepare(shape)
    hashes = {}
    # `sameness` compares the hashes of two headers by these names.
    trial = [engine.noise.trial(image) for image in made_up(shape)]
    for name, images in (("made-up images", trial), ("own images", own)):
        if images:
            logits = engine.answers(images, "behaviour")
            dtype_and_shape = f"{logits.dtype} {tuple(logits.shape)}\n"
            content = dtype_and_shape.encode() + logits.contiguous().numpy().tobytes()
            hashes[name] = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return hashes


def pixel_hashes(images: Images, indices: Sequence[int]) -> dict[int, int]:
    """Return index -> the address of the noise of the image at that index.

    The address is a hash of the pixels (see `noise.address_of`). A few images are in
    memory at a time. Those of a streamed split are decoded for this, and again to be
    certified.

    Example:
        >>> from randsmooth import data
        >>> list(pixel_hashes(data.load("digits"), [3, 5]))
        [3, 5]
    """
    batches = images.batches(torch.tensor(indices).split(IMAGES_HASHED_AT_ONCE))
    addresses = (address_of(image) for x, _ in batches for image in x)
    return dict(zip(indices, addresses, strict=True))


def fingerprint(
    images: Images,
    indices: Sequence[int],
    *,
    labels: bool = True,
    hashes: Mapping[int, int] | None = None,
) -> str:
    """Return a hash of the labels and the pixels of the images at `indices`.

    It tells two data sets of one name apart.

    Args:
        images: the split.
        indices: positions of the images, in the order in which they are hashed.
        labels: whether their labels are hashed. False hashes them as images without
            labels, to compare them with those of a table that has none.
        hashes: the return value of `pixel_hashes` for these images, if it is known.
    """
    hashed_labels = torch.full((len(indices),), NO_LABEL)
    if labels:
        hashed_labels = images.labels_at(torch.tensor(indices))
    if hashes is None:
        hashes = pixel_hashes(images, indices)
    addresses = (in_bytes(hashes[index]) for index in indices)
    return hashed_images(hashed_labels.numpy(), addresses)


def certified_as(table: Certificates) -> CertificationSettings:
    """Return settings with those of a table that make its smoothed classifier.

    They are noise, sound, backend, precision and batch. Where all copies were counted,
    rule and seed are among them, since they decide which copies there are. All other
    settings have their defaults.

    Raises:
        Problem: the header lacks its noise, its precision or the weights of its model,
            as that of a TSV log does, or names an unknown precision.

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
    # The weights are no setting. Without them `check_same` cannot tell whether a model
    # is the certified one, and these settings would be of no use.
    weights = (header.model or {}).get("weights")
    required = {
        "sigma": header.noise,
        "model's weights": weights,
        "precision": header.precision,
    }
    for name, value in required.items():
        if value is None:
            raise WrongTable(
                f"{called(table)} does not say its {name} (a TSV log?): "
                "give what `certify` wrote"
            )
    names = ["noise", "sound", "backend", "batch"]
    # Only a rule that counts all copies leaves nothing to chance.
    if header.alpha == 0.0:
        names += ["rule", "seed"]
    facts: dict[str, Any] = {name: getattr(header, name) for name in names}
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
    """Return the error for another model than the table's; `detail` says how it differs."""
    return NotComparable(
        f"{called(table)} is about another model: {detail}. "
        "Give the model that was certified"
    )


def called(table: Certificates) -> str:
    """Return what errors call a table."""
    return table.name or "the table"
