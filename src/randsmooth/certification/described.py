"""What a header says of the base classifier and of how its samples are drawn and answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

from randsmooth import models
from randsmooth.certificates import BATCH_MATTERS, CertificationSettings, Header, guarantee_of
from randsmooth.certification.algorithm import ESTIMATE, SELECT
from randsmooth.certification.engine import Engine
from randsmooth.certification.segments import usual_block
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.models import BaseClassifier, Classifier, Denoised, ForeignModel
from randsmooth.models.adapters.exported import Program
from randsmooth.rules import rule_origin

LONGEST = 200  # characters of a name that a user gives
WAY_ON = (
    'give it a name that no other model of yours has: identity="forest of 3 May", in `randsmooth.certify` '
    "and wherever its certificates are used (--identity on the command line)"
)
# An absolute path on any system, behind the name of an argument or of a kind of model.
ABSOLUTE = re.compile(
    r"(?P<before>(?:[\w-]+=)?(?:hf:|timm:)?)(?:file://)?(?P<path>(?:/|[A-Za-z]:[/\\]|\\\\).*)", re.DOTALL
)


def made_with(engine: Engine, settings: CertificationSettings, shape: tuple[int, ...], **facts: Any) -> Header:
    """The header of a certification by `settings` on `engine` of images of `shape`, and the other `facts` about it.

    Raises:
        InputError: the model refuses the shape, or the settings cannot be used.
    """
    rule, backend = settings.stopping_rule(), engine.prepare(shape)
    block = rule.block or usual_block(shape)
    decided: dict[str, Any] = {"backend": backend.name, "precision": backend.arithmetic, "batch": engine.size}
    decided |= {"seed": engine.seed, "bound": rule.stated_bound}
    addressed = f"addressed by (seed, {SELECT} or {ESTIMATE}, hash of the pixels, block of {block})"
    decided |= {
        "notes": rule.notes if engine.mixes else (*rule.notes, BATCH_MATTERS),
        "noise": f"{generator_of(engine)} {addressed}",
        "device": backend.processor,
        "instructions": backend.instructions,
        "versions": versions(*backend.packages) | rule_origin(settings.rule),
    }
    for name in ("dataset", "model"):
        facts[name] = without_places(facts.get(name))
    header = Header(**dict(settings) | decided | facts)
    return header.replace(guarantee=guarantee_of(header))


def without_places(value: Any) -> Any:
    """`value` with every absolute path in it, at any depth, cut to its name: tables are passed on, and name no folders.

    Example:
        >>> without_places({"source": "/home/me/zoo.py:net", "arguments": {"weights": "hf:/home/me/vit", "depth": 20}})
        {'source': 'zoo.py:net', 'arguments': {'weights': 'hf:vit', 'depth': 20}}
    """
    if isinstance(value, dict):
        return {key: without_places(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(part) for part in value]
    found = ABSOLUTE.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else found["before"] + re.split(r"[/\\]", found["path"].rstrip("/\\"))[-1]


def runnable_here(word: str) -> str:
    """A word of a command without absolute paths: of one in the current folder the rest, of others the name."""
    found = ABSOLUTE.fullmatch(word)
    if found is None or not Path(found["path"]).is_relative_to(Path.cwd()):
        return str(without_places(word))
    return found["before"] + str(Path(found["path"]).relative_to(Path.cwd()))


def generator_of(engine: Engine) -> str:
    """What draws the noise, in words."""
    if engine.settings.sound:
        return "Gaussian rounded to k/255, exactly, from Philox4x64"  # the same on every device
    return "NumPy SFC64" if engine.device.type == "cpu" else "torch Philox"


def describe_model(model: BaseClassifier, identity: str | None = None) -> dict[str, Any]:
    """What identifies a base classifier and, where it is known, how it was trained.

    Raises:
        InputError: it has no weights that it could be known by, so that it needs an `identity`; or that is no name.
    """
    if identity is None and (why := models.lacks_weights(model)):
        raise InputError(f"{why}, so two models could not be told apart: {WAY_ON}")
    if identity is not None and not (isinstance(identity, str) and 0 < len(identity.strip()) <= LONGEST):
        raise InputError(f"identity={identity!r:.{LONGEST}} must be some words, at most {LONGEST} characters")
    called = model.called if identity is None and isinstance(model, ForeignModel) else identity
    known: dict[str, Any] = {"weights": models.weights_hash(model)} | ({} if called is None else {"called": called})
    known |= {"notes": list(notes)} if (notes := models.notes_of(model)) else {}
    if isinstance(model, ForeignModel):
        return models.provenance_of(model) | known | {"arch": model.kind}
    inner = models.unwrapped(model)
    if isinstance(inner, Denoised):
        return known | inner.facts()
    if not isinstance(inner, Classifier):
        trained = models.provenance_of(inner) if isinstance(inner, models.Around) else {}
        return trained | known | {"arch": _kind(inner)}
    return inner.provenance | known | {"arch": inner.arch} | {key: inner.config[key] for key in ("mean", "std")}


def _kind(module: nn.Module) -> str:
    """What a module is: the name of its class, beside what holds it."""
    if isinstance(module, torch.jit.ScriptModule):
        return f"TorchScript {module.original_name}"
    return "torch.export program" if isinstance(module, Program) else type(module).__qualname__
