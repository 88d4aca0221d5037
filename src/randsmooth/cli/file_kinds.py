"""The kinds of files that randsmooth writes or reads: how each is recognised, and which function checks it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from randsmooth import certificates
from randsmooth.atomic import is_scrap
from randsmooth.bounds import boundary_cache
from randsmooth.certificates.files import OTHERS
from randsmooth.cli.file_checks import (
    check_checkpoint,
    check_configuration,
    check_ir,
    check_model,
    check_onnx,
    check_teacher,
)

FIRST = 4096  # bytes at the beginning of a file that show what it is
MODEL = {"config.json", "model.safetensors"}  # the two that make a folder a model folder
BOUNDARY = re.compile(rb"[0-9a-f]{64}\n")


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        recognises: whether a path is of this kind, by its name or first bytes.
        check: what is right in it, in a sentence; InputError where something is not. A file without a digest, of an
            earlier version, is checked with the warning `NoDigest`.
        signed: whether such files carry digests.
    """

    recognises: Callable[[Path], bool]
    check: Callable[[Path], str]
    signed: bool


def _is_log(path: Path) -> bool:
    return path.suffix in (".tsv", ".mat") or (path.suffix not in OTHERS and certificates.looks_like_log(path))


def _is_configuration(path: Path) -> bool:
    begins = path.suffix in (".yaml", ".yml") and re.search(rb"^verb:", _first(path), re.MULTILINE)
    return path.name == "run.yaml" or bool(begins)


def _is_boundary(path: Path) -> bool:
    return path.suffix == ".json" and (path.parent.name == "boundaries" or BOUNDARY.match(_first(path)) is not None)


def _is_ir(path: Path) -> bool:
    return path.suffix == ".xml" and path.with_suffix(".bin").exists()


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FIRST)


KINDS = {
    "model folder": Kind(lambda path: path.is_dir(), check_model, True),
    "certificate table": Kind(lambda path: path.suffix == ".parquet", certificates.check_file, True),
    "journal": Kind(lambda path: path.suffix == ".partial", certificates.check_file, True),
    "checkpoint": Kind(lambda path: path.name == "checkpoint.pt", check_checkpoint, True),
    "teacher": Kind(lambda path: path.name == "teacher.safetensors", check_teacher, True),
    "boundary": Kind(_is_boundary, boundary_cache.check, True),
    "configuration": Kind(_is_configuration, check_configuration, False),
    "ONNX file": Kind(lambda path: path.suffix == ".onnx", check_onnx, False),
    "OpenVINO IR": Kind(_is_ir, check_ir, False),
    "log": Kind(_is_log, certificates.check_file, False),
}


def kind_of(path: Path) -> str | None:
    """The name in KINDS of what lies at `path`; None for what randsmooth does not read back."""
    return next((name for name, kind in KINDS.items() if kind.recognises(path)), None)


def is_model(folder: Path) -> bool:
    """Whether a folder holds a file of a model."""
    return any((folder / name).is_file() for name in MODEL)


def below(folder: Path) -> list[Path]:
    """The model folders and files of a known kind in `folder` at any depth, itself among them, sorted."""
    paths = sorted([folder, *folder.rglob("*")])
    models = [path for path in paths if path.is_dir() and is_model(path) and not path.name.startswith(".saving-")]
    files = [path for path in paths if path.is_file() and path.name not in MODEL and not is_scrap(path)]
    return sorted([*models, *(path for path in files if kind_of(path))])
