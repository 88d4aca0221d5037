"""The kinds of files that randsmooth writes or reads: how each is known, and how it is checked."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from randsmooth import certificates
from randsmooth.atomic import is_scrap
from randsmooth.bounds import boundary_cache
from randsmooth.certificates.files import OTHERS
from randsmooth.cli.verb import MOST_CONFIG, VERBS, read_config, validate
from randsmooth.documents import parse_yaml, read_file
from randsmooth.errors import Note, unknown

FIRST = 4096  # bytes that tell what a file is
MODEL = {"config.json", "model.safetensors"}  # the two that make a folder a model folder
BOUNDARY = re.compile(rb"[0-9a-f]{64}\n")


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        knows: whether a path is of this kind, by its name or first bytes.
        check: what is found to be right in it, in a sentence; InputError where something is not.
        signed: whether such files carry digests.
    """

    knows: Callable[[Path], bool]
    check: Callable[[Path], str]
    signed: bool


def _is_log(path: Path) -> bool:
    return path.suffix in (".tsv", ".mat") or (path.suffix not in OTHERS and certificates.looks_like_log(path))


def _is_configuration(path: Path) -> bool:
    begins = path.suffix in (".yaml", ".yml") and re.search(rb"^verb:", _first(path), re.MULTILINE)
    return path.name == "run.yaml" or bool(begins)


def _is_boundary(path: Path) -> bool:
    return path.suffix == ".json" and (path.parent.name == "boundaries" or BOUNDARY.match(_first(path)) is not None)


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FIRST)


def _check_model(folder: Path) -> str:
    from randsmooth import models

    return models.check(folder)


def _check_checkpoint(path: Path) -> str:
    from randsmooth.training import checkpoint

    return checkpoint.check(path)


def _check_teacher(path: Path) -> str:
    from randsmooth.training import answers

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", Note)
        counts, done, _ = answers.read(path)
    digest = "it has no digest" if noted else "they are as they were written"
    return f"a teacher's answers on {done} of {len(counts)} images; {digest}"


def _check_configuration(path: Path) -> str:
    told = parse_yaml(read_file(path, MOST_CONFIG), path)
    verb = told.get("verb") if isinstance(told, dict) else None
    if verb not in VERBS:
        raise unknown("verb", str(verb), VERBS)
    validate(VERBS[verb], verb, read_config(path, verb))
    return f"configuration of `randsmooth {verb}`; it has no digest; its keys and their types are those of the verb"


def _check_onnx(path: Path) -> str:
    from randsmooth.models import OnnxModel

    model = OnnxModel(path)
    return f"ONNX file for images of shape {model.shape}; it has no digest, and ONNX Runtime opens it"


KINDS = {
    "model folder": Kind(lambda path: path.is_dir(), _check_model, True),
    "certificate table": Kind(lambda path: path.suffix == ".parquet", certificates.check, True),
    "journal": Kind(lambda path: path.suffix == ".partial", certificates.check, True),
    "checkpoint": Kind(lambda path: path.name == "checkpoint.pt", _check_checkpoint, True),
    "teacher": Kind(lambda path: path.name == "teacher.safetensors", _check_teacher, True),
    "boundary": Kind(_is_boundary, boundary_cache.check, True),
    "configuration": Kind(_is_configuration, _check_configuration, False),
    "ONNX file": Kind(lambda path: path.suffix == ".onnx", _check_onnx, False),
    "log": Kind(_is_log, certificates.check, False),
}


def kind_of(path: Path) -> str | None:
    """The name in KINDS of what lies at `path`; None for what randsmooth does not read back."""
    return next((name for name, kind in KINDS.items() if kind.knows(path)), None)


def is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in MODEL)


def below(folder: Path) -> list[Path]:
    """The model folders and files of a known kind in `folder` at any depth, itself among them, sorted."""
    paths = sorted([folder, *folder.rglob("*")])
    models = [path for path in paths if path.is_dir() and is_model(path) and not path.name.startswith(".saving-")]
    files = [path for path in paths if path.is_file() and path.name not in MODEL and not is_scrap(path)]
    return sorted([*models, *(path for path in files if kind_of(path))])
