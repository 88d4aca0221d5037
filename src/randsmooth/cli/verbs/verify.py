"""`randsmooth verify`: the kinds of files that randsmooth knows, and their checks."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from randsmooth import certificates, models
from randsmooth.atomic import is_scrap
from randsmooth.certificates import looks_like_log
from randsmooth.certificates.files import LOGS, UNOPENED
from randsmooth.cli.certificate_files import check_asked
from randsmooth.cli.command import settings_of
from randsmooth.cli.config_files import read_config, read_document
from randsmooth.cli.options import Answered
from randsmooth.cli.output import FAILURE
from randsmooth.cli.settings import Argument, validate
from randsmooth.cli.verbs import verb_named
from randsmooth.documents import shown
from randsmooth.errors import ForeignFile, NotFound, Problem, WrongFile, about
from randsmooth.models.places import shipped
from randsmooth.notes import Note
from randsmooth.progress import worded
from randsmooth.urls import Place, fetched, with_urls

# The result of the check of a file. Its content matches its digests:
VERIFIED = "verified"
# It can be read, but has no digests:
READ = "read"
# It is not as it should be:
REFUSED = "refused"
# It is of no kind that is checked:
UNKNOWN = "unknown"

# A folder that holds one of these files is a model folder.
FILES_OF_A_MODEL = {"config.json", "model.safetensors"}

# The name of the kind whose check takes the sigma, n and alpha that a user gives.
LOG = "log"

# Bytes at the beginning of a file that are read to find its kind.
FIRST_BYTES = 4096


class Verify(Answered):
    """Settings of `randsmooth verify`.

    Attributes:
        files: Files, model folders, or folders in which both are looked for; or URLs of
            these.
        sigma: Standard deviation sigma of the noise that TSV logs were made with, to
            check their radii. (default: what their paths say, such as noise_0.50)
        n: Samples per image that TSV logs were made with. (default: what their radii
            show)
        alpha: The alpha that TSV logs were made with. (default: what their radii show)
    """

    files: Argument[list[Place]]
    sigma: float | None = None
    n: int | None = None
    alpha: float | None = None


@dataclass(frozen=True)
class CheckedFile:
    """The result of the check of a file.

    Attributes:
        file: The path or URL of the file.
        kind: The name of its kind; None where it is of no kind that is checked, or its
            kind could not be found out.
        state: VERIFIED, READ, REFUSED or UNKNOWN.
        finding: A sentence on what was found.
    """

    file: str
    kind: str | None
    state: str
    finding: str


def run(settings: Verify) -> None:
    """Say what files are, and check by their digests that they are as written.

    Certificate tables, journals, model folders, checkpoints and teachers' answers carry
    digests. Logs, YAML and ONNX files carry none; for these the command lists its other
    checks. Digests find accidental changes, not forgeries.

    The exit code is 1 if the command refuses a file, or if you name a file of a kind
    that it does not check. Such a file in a folder does not change the exit code.

    Example: randsmooth verify runs/gaussian runs/gaussian.parquet
    """
    check_asked(settings.sigma, settings.n, settings.alpha)
    check_logs = partial(
        certificates.check_file,
        sigma=settings.sigma,
        n=settings.n,
        alpha=settings.alpha,
    )
    findings = [examined(path, check_logs) for path in paths_to_examine(settings.files)]
    settings.answer(_lines(findings), lambda: [asdict(finding) for finding in findings])

    # Files of unknown kind are no failure in a folder, where nobody named them.
    named = {str(place).rstrip("/") for place in settings.files}
    for finding in findings:
        is_refused = finding.state == REFUSED
        is_unknown = finding.state == UNKNOWN and finding.file in named
        if is_refused or is_unknown:
            raise SystemExit(FAILURE)


def paths_to_examine(places: list[Place]) -> list[Path]:
    """Return the paths of the files to examine, each once.

    A folder stands for the files of a known kind in it, or for itself where it has
    none. A file of a model folder stands for that folder.
    """
    paths: list[Path] = []
    for place in places:
        path = fetched(shipped(place))
        if path.is_dir():
            paths += below(path) or [path]
        elif path.name in FILES_OF_A_MODEL and path.is_file():
            paths.append(path.parent)
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))


def below(folder: Path) -> list[Path]:
    """Return the files and model folders of a known kind in `folder`, at any depth.

    `folder` itself may be a model folder. Links to nothing, pipes and devices are
    returned, too, unless they are hidden: nobody knows what they hold.
    """
    paths = sorted([folder, *folder.rglob("*")])
    return [path for path in paths if not is_scrap(path) and _is_listed(path)]


def _is_listed(path: Path) -> bool:
    """Return whether `below` returns a path in a folder."""
    if why_not_opened(path):
        # Locks of editors are hidden links to nothing.
        return not path.name.startswith(".")
    # Their folder is examined as a whole.
    if path.name in FILES_OF_A_MODEL:
        return False
    try:
        return kind_of(path) is not None
    except OSError:
        # `examined` says what is wrong with it.
        return True


def examined(
    path: Path, check_log: Callable[[Path], str] = certificates.check_file
) -> CheckedFile:
    """Return the kind of the file at `path`, and the result of its check.

    Args:
        path: the path of a file, or of a model folder.
        check_log: the function that checks a log, by the sigma, n and alpha that a user
            gives; it returns a sentence, as those of `KINDS` do.
    """
    kind = None
    try:
        _check_can_be_opened(path)
        kind = kind_of(path)
        if kind is None:
            raise ForeignFile("of no kind that is checked here")
        # Notes on the file belong to the finding on it.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", Note)
            check = check_log if kind.name == LOG else kind.check
            sentence = check(path)
    except ForeignFile as error:
        # The check of a kind may find that the file is of another one after all.
        return _finding(
            path, kind=None, state=UNKNOWN, sentence=str(about(path, error))
        )
    except (Problem, OSError) as error:
        return _finding(path, kind, REFUSED, str(about(path, error)))

    state = VERIFIED if kind.has_digest else READ
    notes = [warning.message for warning in caught]
    sentences = [sentence, *map(_sentence_of, notes)]
    return _finding(path, kind, state, "; ".join(sentences))


def _sentence_of(warning: Warning | str) -> str:
    """Return a note in the words of the command line, or the text of another warning."""
    return worded(warning) if isinstance(warning, Note) else str(warning)


def _finding(
    path: Path, kind: FileKind | None, state: str, sentence: str
) -> CheckedFile:
    """Return the result of a check, with the URLs of fetched copies as their names."""
    name = None if kind is None else kind.name
    return CheckedFile(with_urls(str(path)), name, state, with_urls(sentence))


def _check_can_be_opened(path: Path) -> None:
    """Raise Problem where there is nothing, or something that must not be opened.

    It is a ForeignFile unless the name is one that our files have.
    """
    if not path.exists() and not path.is_symlink():
        raise NotFound(f"no file at {path}", file=path)
    reason = why_not_opened(path)
    if not reason:
        return
    has_name_of_ours = path.name in FILES_OF_A_MODEL or path.suffix in SUFFIXES
    if has_name_of_ours:
        raise WrongFile(f"{path} {reason}", file=path)
    raise ForeignFile(f"{path} {reason}", file=path)


def why_not_opened(path: Path) -> str:
    """Return why `path` must not be opened; empty where it is a file or a folder.

    Reading a pipe may never end, and a link may lead to nothing.
    """
    if path.is_file() or path.is_dir():
        return ""
    if path.is_symlink():
        return f"is a link to {shown(path.readlink())}, where there is nothing"
    return "is a pipe or a device; expected a file or a folder"


def _lines(findings: list[CheckedFile]) -> Iterator[str]:
    """Yield a line for each file, and at the end how many are in which state."""
    for finding in findings:
        sentence = finding.finding
        # The sentence of a refused or an unknown file begins with its name already.
        if finding.state in (VERIFIED, READ):
            sentence = f"{finding.file}: {sentence}"
        yield f"{finding.state:8}  {sentence}"
    if len(findings) > 1:
        files = Counter(finding.state for finding in findings)
        counts = [
            f"{files[state]} {state}"
            for state in (VERIFIED, READ, REFUSED, UNKNOWN)
            if files[state]
        ]
        yield f"{len(findings)} files: {', '.join(counts)}"


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Attributes:
        name: The name of the kind.
        recognises: A function that tells whether a path is of this kind, by its name or
            its first bytes.
        check: A function that returns a sentence on what was checked of a file, or
            raises Problem for a wrong one.
        has_digest: Whether files of this kind carry digests of their content.
    """

    name: str
    recognises: Callable[[Path], bool]
    check: Callable[[Path], str]
    has_digest: bool = True


def kind_of(path: Path) -> FileKind | None:
    """Return the kind of the file at `path`; None where no kind recognises it."""
    for kind in KINDS:
        if kind.recognises(path):
            return kind
    return None


def _is_model_folder(path: Path) -> bool:
    """Return whether a folder holds one of the files of a model."""
    return any((path / name).is_file() for name in FILES_OF_A_MODEL)


def _has_suffix(suffix: str) -> Callable[[Path], bool]:
    """Return a function that tells whether a path has this suffix."""
    return lambda path: path.suffix == suffix


def _is_called(name: str) -> Callable[[Path], bool]:
    """Return a function that tells whether a path has this name."""
    return lambda path: path.name == name


def _is_configuration(path: Path) -> bool:
    """Return whether a YAML file names a verb, as --save-config writes it."""
    if path.suffix not in (".yaml", ".yml"):
        return False
    # A training writes it. One without a verb is damaged, and shall be refused.
    if path.name == "run.yaml":
        return True
    with path.open("rb") as file:
        beginning = file.read(FIRST_BYTES)
    return re.search(rb"^verb:", beginning, re.MULTILINE) is not None


def _is_openvino_ir(path: Path) -> bool:
    """Return whether a path is that of an IR, which has its weights in a file beside."""
    return path.suffix == ".xml" and path.with_suffix(".bin").exists()


def _is_log(path: Path) -> bool:
    """Return whether a file is a log by its suffix, or else by its first line."""
    if not path.is_file():
        return False
    if path.suffix in LOGS:
        return True
    return path.suffix not in UNOPENED and looks_like_log(path)


def check_checkpoint(path: Path) -> str:
    """Check the digests of the checkpoint that an interrupted training resumes from.

    It returns the sentence of `FileKind.check`, as the following checks do.
    """
    # Late, as it loads torch, which most files do not need.
    from randsmooth.training import checkpoint

    return checkpoint.check(path)


def check_teacher(path: Path) -> str:
    """Check the digests of a teacher's answers."""
    # Late, as it loads torch, which most files do not need.
    from randsmooth.training import predictions

    return predictions.check_answers(path)


def check_configuration(path: Path) -> str:
    """Check that the file names a verb, and settings that this verb takes."""
    # The file is read twice: `read_config` needs to know the verb.
    verb = verb_named(str(read_document(path).get("verb")))
    values = read_config(path, verb.name)
    validate(settings_of(verb.load()), verb.name, values)
    return (
        f"configuration of `randsmooth {verb.name}`; it has no digest; its keys "
        "and their types are those of the command"
    )


def check_graph(path: Path) -> str:
    """Check that ONNX Runtime or OpenVINO opens the file.

    Opening an IR of `quantise` compares its weights with the digest that it records.
    """
    model: models.OnnxModel | models.IrModel
    weights = "it has no digest"
    if path.suffix == ".onnx":
        model = models.OnnxModel(path)
        runtime = "ONNX Runtime"
    else:
        model = models.IrModel(path)
        runtime = "OpenVINO"
        if model.provenance.get("quantised"):
            weights = "its weights are those that it was written with"
    inputs = f"images of shape {model.shape}"
    if model.shape is None:
        inputs = "inputs of free size"
    return f"{model.kind} for {inputs}; {weights}, and {runtime} opens it"


def _check_model_folder(path: Path) -> str:
    """Check the digests of a model folder."""
    # A function, because naming `models.check_folder` below would load torch at once.
    return models.check_folder(path)


# The kind of a path is the first that recognises it.
KINDS = (
    FileKind("model folder", _is_model_folder, _check_model_folder),
    FileKind("certificate table", _has_suffix(".parquet"), certificates.check_file),
    FileKind("journal", _has_suffix(".partial"), certificates.check_file),
    FileKind("checkpoint", _is_called("checkpoint.pt"), check_checkpoint),
    FileKind("teacher", _is_called("teacher.pt"), check_teacher),
    FileKind("configuration", _is_configuration, check_configuration, has_digest=False),
    FileKind("ONNX file", _has_suffix(".onnx"), check_graph, has_digest=False),
    FileKind("OpenVINO IR", _is_openvino_ir, check_graph, has_digest=False),
    FileKind(LOG, _is_log, certificates.check_file, has_digest=False),
)

# Suffixes of files of these kinds.
SUFFIXES = {
    ".parquet",
    ".partial",
    ".pt",
    ".yaml",
    ".yml",
    ".onnx",
    ".xml",
    *LOGS,
}
