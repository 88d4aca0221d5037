"""`randsmooth verify`: the kinds of files that randsmooth writes or reads, and what is checked in each."""

import pkgutil
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import typer

from randsmooth import models
from randsmooth.atomic import is_scrap
from randsmooth.certificates import looks_like_log
from randsmooth.certificates.files import LOGS, UNOPENED
from randsmooth.cli.command import settings_of
from randsmooth.cli.options import Answered
from randsmooth.cli.output import FAILURE
from randsmooth.cli.settings import Argument, read_config, read_document, validate
from randsmooth.cli.verbs import DATA_VERBS, VERBS
from randsmooth.documents import shown
from randsmooth.errors import (
    ForeignFile,
    NotFound,
    Problem,
    WrongFile,
    about,
    check_known,
)
from randsmooth.models.sources import shipped
from randsmooth.notes import Note
from randsmooth.urls import Place, fetched, with_urls

STATES = (
    "verified",
    "read",
    "refused",
    "unknown",
)  # by its digests; without; not as it should be; not one of ours
MODEL = {
    "config.json",
    "model.safetensors",
}  # the two that make a folder a model folder
FIRST = 4096  # bytes at the beginning of a file that show what it is


class Verify(Answered):
    """Settings of `randsmooth verify`.

    Attributes:
        files: Files, model folders, or folders in which both are looked for; or URLs of these.
    """

    files: Argument[list[Place]]


class Found(NamedTuple):
    """A file, its kind, its state (one of STATES), and in a sentence what was found."""

    file: str
    kind: str | None
    state: str
    finding: str


def verify(settings: Verify) -> None:
    """Say what files are, and whether their digests show that they are as they were written.

    Certificate tables, journals, model folders, checkpoints and teachers' answers carry digests. Logs, YAML and ONNX
    files carry none; for these it says what else could be checked. Digests find accidental changes, not forgeries.

    The exit code is 1 if a file is refused, or if a file that you name (rather than one found in a folder) is of no
    kind that is checked.

    Example: randsmooth verify runs/gaussian runs/gaussian.parquet
    """
    found = [examined(path) for path in _named(settings.files)]
    found = [
        one._replace(file=with_urls(one.file), finding=with_urls(one.finding))
        for one in found
    ]
    settings.answer(_lines(found), lambda: [one._asdict() for one in found])
    named = {str(place).rstrip("/") for place in settings.files}
    if any(
        one.state == "refused" or (one.state == "unknown" and one.file in named)
        for one in found
    ):
        raise typer.Exit(FAILURE)


def examined(path: Path) -> Found:
    """What `path` is, and what of it could be checked."""
    kind = None
    try:
        if not (path.exists() or path.is_symlink()):
            raise NotFound(f"no file at {path}", file=path)
        why = not_to_be_read(path)
        if why:
            fault = WrongFile if is_called_ours(path) else ForeignFile
            raise fault(f"{path} {why}", file=path)
        kind = kind_of(path)
        if kind is None:
            raise ForeignFile("of no kind that is checked here")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", Note)
            finding = pkgutil.resolve_name(KINDS[kind][1])(path)
        said = [finding, *(str(warning.message) for warning in caught)]
        return Found(
            str(path), kind, "read" if kind in UNSIGNED else "verified", "; ".join(said)
        )
    except ForeignFile as error:
        return Found(str(path), None, "unknown", str(about(path, error)))
    except (Problem, OSError) as error:
        return Found(str(path), kind, "refused", str(about(path, error)))


def _named(files: list[Place]) -> list[Path]:
    """Each file once; for a folder the files in it that are of a known kind, and for a file of a model its folder."""
    paths: list[Path] = []
    for path in (fetched(shipped(place)) for place in files):
        if path.is_dir():
            paths += below(path) or [path]
        else:
            paths.append(path.parent if path.name in MODEL and path.is_file() else path)
    return list(dict.fromkeys(paths))


def below(folder: Path) -> list[Path]:
    """The model folders and files of a known kind in `folder` at any depth, itself among them, sorted.

    Among them are links to nothing, pipes and devices, but for hidden ones: nobody knows what they hold.
    """
    paths = sorted([folder, *folder.rglob("*")])
    return [path for path in paths if not is_scrap(path) and _is_listed(path)]


def _is_listed(path: Path) -> bool:
    if not_to_be_read(path):
        return not path.name.startswith(".")  # as locks of editors are
    try:
        return path.name not in MODEL and kind_of(path) is not None
    except OSError:  # which `examined` tells
        return True


def not_to_be_read(path: Path) -> str:
    """Why what lies at `path` must not be opened: reading a pipe may never end; empty where it can be."""
    if path.is_file() or path.is_dir():
        return ""
    if path.is_symlink():
        return f"is a link to {shown(path.readlink())}, where there is nothing"
    return "is a pipe or a device; expected a file or a folder"


def is_called_ours(path: Path) -> bool:
    """Whether the name alone says that it is of a kind in KINDS."""
    return path.name in MODEL or path.suffix in CALLED


def _lines(found: list[Found]) -> Iterator[str]:
    for one in found:
        finding = one.finding
        if one.state in ("verified", "read"):
            finding = f"{one.file}: {finding}"
        yield f"{one.state:8}  {finding}"
    if len(found) > 1:
        counted = Counter(one.state for one in found)
        yield f"{len(found)} files: {', '.join(f'{counted[state]} {state}' for state in STATES if counted[state])}"


def kind_of(path: Path) -> str | None:
    """The name in KINDS of what lies at `path`; None for what randsmooth does not read back."""
    return next(
        (name for name, (recognises, _) in KINDS.items() if recognises(path)), None
    )


def _is_configuration(path: Path) -> bool:
    if path.suffix not in (".yaml", ".yml"):
        return False
    with path.open("rb") as file:
        return (
            path.name == "run.yaml"
            or re.search(rb"^verb:", file.read(FIRST), re.MULTILINE) is not None
        )


def _is_log(path: Path) -> bool:
    return path.is_file() and (
        path.suffix in LOGS or (path.suffix not in UNOPENED and looks_like_log(path))
    )


def check_configuration(path: Path) -> str:
    """That the file names a verb of randsmooth, and settings that this verb takes."""
    verbs = {**VERBS, **DATA_VERBS}
    verb = str(read_document(path).get("verb"))
    check_known("verb", verbs, verb)
    validate(settings_of(verbs[verb].load()), verb, read_config(path, verb))
    return f"configuration of `randsmooth {verb}`; it has no digest; its keys and their types are those of the verb"


def check_graph(path: Path) -> str:
    """That ONNX Runtime or OpenVINO opens it; an IR with the weights that it was written with, where it says these."""
    onnx = path.suffix == ".onnx"
    model = models.OnnxModel(path) if onnx else models.IrModel(path)
    quantised = not onnx and model.provenance.get("quantised")
    weights = (
        "its weights are those that it was written with"
        if quantised
        else "it has no digest"
    )
    runtime = "ONNX Runtime" if onnx else "OpenVINO"
    taken = (
        "inputs of free size"
        if model.shape is None
        else f"images of shape {model.shape}"
    )
    return f"{model.kind} for {taken}; {weights}, and {runtime} opens it"


# Kind -> whether a path is of it, by its name or first bytes; and the function that says in a sentence what is right in
# it, or raises Problem, which is imported when it is needed.
TABLE, HERE = "randsmooth.certificates:check_file", __name__
KINDS: dict[str, tuple[Callable[[Path], bool], str]] = {
    "model folder": (
        lambda path: any((path / name).is_file() for name in MODEL),
        "randsmooth.models:check_folder",
    ),
    "certificate table": (lambda path: path.suffix == ".parquet", TABLE),
    "journal": (lambda path: path.suffix == ".partial", TABLE),
    "checkpoint": (
        lambda path: path.name == "checkpoint.pt",
        "randsmooth.training.checkpoint:check",
    ),
    "teacher": (
        lambda path: path.name == "teacher.pt",
        "randsmooth.training.predictions:check_answers",
    ),
    "configuration": (_is_configuration, f"{HERE}:check_configuration"),
    "ONNX file": (lambda path: path.suffix == ".onnx", f"{HERE}:check_graph"),
    "OpenVINO IR": (
        lambda path: path.suffix == ".xml" and path.with_suffix(".bin").exists(),
        f"{HERE}:check_graph",
    ),
    "log": (_is_log, TABLE),
}
CALLED = {
    ".parquet",
    ".partial",
    ".pt",
    ".yaml",
    ".yml",
    ".onnx",
    ".xml",
    *LOGS,
}  # suffixes of these kinds
UNSIGNED = {"configuration", "ONNX file", "OpenVINO IR", "log"}
