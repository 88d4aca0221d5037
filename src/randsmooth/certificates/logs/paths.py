"""What the path of a log says: repository, sigma, data set, method and settings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.certificates.logs.notations import NUMBER, Settings, notation
from randsmooth.certificates.logs.repositories import (
    CLASSES,
    KNOWN,
    Repository,
    split_at_repository,
)
from randsmooth.escape import printable, shortened
from randsmooth.notes import Note

DATASETS: dict[str, str] = {name: name for name in CLASSES} | KNOWN["dataset_aliases"]

# The data sets whose files are called by the corruption.
CORRUPTED = ("cifar10c", "mnistc")

# How a part of a path writes sigma, noise, n and alpha.
FACTS = {
    name: re.compile(form.replace("{X}", NUMBER))
    for name, form in KNOWN["facts"].items()
}

# A folder of a user whose logs are called by their method.
USER_FOLDER = re.compile(rf"(?P<dataset>.+)-sigma(?P<sigma>{NUMBER})")

ARCH = re.compile(
    r"(?:cifar_|cifar100_)?((?:resnet|densenet|vgg|wrn|lenet)\d*)", re.IGNORECASE
)
SEVERITY = re.compile(r"severity_(\d)")

# Which of several runs a log is of: `noise_0.50_4490`, and folders that are a number.
RUN = re.compile(r"_?(\d+)(?:_o)?")

# The suffixes of logs; `sigma_0.25` has none.
SUFFIXES = {".tsv", ".txt", ".csv", ".log"}

PHRASES = {
    "sigma": "sigma",
    "n": "n",
    "alpha": "alpha",
    "dataset": "data set",
    "split": "split",
    "method": "method",
}

T = TypeVar("T")


@dataclass(frozen=True)
class PathFacts:
    """The facts in a path; None or empty where it says nothing, or contradicts itself.

    Attributes:
        sigma: the sigma of the certification.
        training_sigma: the sigma of the training, where the path names both; or where
            one number in a path of a repository is the sigma of both.
        n: samples per image.
        alpha: probability that a certificate is wrong.
        dataset, split, method: the data set, split and method by their names here; the
            split of corrupted images is the corruption and its severity.
        arch: the architecture.
        settings: hyperparameters, by their names here.
        run: the name that tells several runs with the same settings apart, such as a
            seed.
        repository: OWNER/NAME of the released repository that the path lies in.
        by_repository: the facts, of these, that all logs of the repository share, so
            that the path need not say them.
        other_parts: parts of the path that say something else, such as a variation of
            the method.
        filed_by_user: whether the path is DATASET-sigmaSIGMA/METHOD.tsv, where a user
            filed it.

    Example:
        >>> print(path_facts(Path("cifar10-sigma0.5/macer.tsv")).note)
        sigma, data set and method as the path says
    """

    sigma: float | None = None
    training_sigma: float | None = None
    n: int | None = None
    alpha: float | None = None
    dataset: str = ""
    split: str = ""
    method: str = ""
    arch: str = ""
    settings: Settings = field(default_factory=dict)
    run: str = ""
    repository: str = ""
    by_repository: tuple[str, ...] = ()
    other_parts: tuple[str, ...] = ()
    filed_by_user: bool = False

    @property
    def model(self) -> dict[str, Any]:
        """The known facts of the base classifier, for a header, without empty ones."""
        facts: dict[str, Any] = {
            # Names of files, unlike the others, which are from lists and patterns of ours.
            "method": shortened(printable(self.method)),
            "hyperparameters": dict(self.settings),
            "arch": self.arch,
            "run": self.run,
            "variation": shortened(printable(", ".join(self.other_parts))),
            "repository": self.repository,
            "sigma": self.training_sigma,
        }
        return {
            name: value for name, value in facts.items() if value not in (None, "", {})
        }

    @property
    def note(self) -> Note | None:
        """Which facts the path tells, as a note; None if it tells none.

        The facts themselves stand in a header, so that logs of one folder share the
        note.
        """
        known = [name for name in PHRASES if getattr(self, name) not in (None, "")]
        by_path = [PHRASES[name] for name in known if name not in self.by_repository]
        shared = [PHRASES[name] for name in known if name in self.by_repository]
        if not known:
            return None
        return Note(
            "told_by_path",
            by_path=by_path,
            by_repository=shared,
            repository=self.repository,
        )


def stem_of(path: Path) -> str:
    """Return what a log is called: its name without its suffix.

    Example:
        >>> stem_of(Path("runs/macer.tsv")), stem_of(Path("runs/sigma_0.25"))
        ('macer', 'sigma_0.25')
    """
    return path.stem if path.suffix in SUFFIXES else path.name


def path_facts(path: Path) -> PathFacts:
    """Return the facts in `path`.

    The path is laid out like `cifar10-sigma0.5/macer.tsv`, or as in the released
    repositories. Where both `noise_` and `sigma_` occur in it, the first is the sigma
    of the training and the second that of the certification.

    Example:
        >>> folder = Path("logs/cifar10/noise_0.50/consistency/num_2/lbd_10.0")
        >>> facts = path_facts(folder / "N_1000.tsv")
        >>> facts.dataset, facts.sigma, facts.n, facts.method, facts.settings
        ('cifar10', 0.5, 1000, 'consistency', {'m': 2, 'lbd': 10.0})
        >>> clone = Path("jh-jeong+smoothmix/data/certify")
        >>> facts = path_facts(clone / "mnist/cohen/noise_0.25_393")
        >>> facts.method, facts.run, facts.repository, facts.training_sigma
        ('gaussian', '393', 'jh-jeong/smoothmix', 0.25)
    """
    parts = [*path.parts[:-1], stem_of(path)]
    user_folder = USER_FOLDER.fullmatch(path.parent.name)
    if user_folder is not None:
        return PathFacts(
            sigma=float(user_folder["sigma"]),
            dataset=_dataset(user_folder["dataset"]),
            method=method_named(parts[-1]),
            filed_by_user=True,
        )

    repository, parts = split_at_repository(parts)
    # What all logs in a folder share, and their paths do not say.
    shared: dict[str, Any] = {}
    for part in parts:
        shared |= repository.shared.get(part, {})

    dataset = shared.get("dataset") or _dataset_in(parts)
    sigma, training_sigma = _sigmas_in(parts, repository, shared)
    n = _only_one({int(text) for text in _texts_in(parts, "n")})
    alpha = _only_one({float(text) for text in _texts_in(parts, "alpha")})
    named_method = _method(parts, repository.method)
    settings, run, other_parts = _settings(parts, dataset)

    # In a repository, logs may lie below a folder `test` whatever their split.
    parts_with_split = parts[1:] if repository.name else parts

    by_repository = tuple(shared)
    if repository.method and not named_method:
        by_repository = (*by_repository, "method")
    return PathFacts(
        sigma=sigma,
        training_sigma=training_sigma,
        n=n,
        alpha=alpha,
        dataset=dataset,
        split=_split(parts_with_split, dataset),
        method=named_method or repository.method,
        arch=_arch_in(parts),
        settings=settings,
        run=run,
        repository=repository.name,
        by_repository=by_repository,
        other_parts=other_parts,
    )


def _sigmas_in(
    parts: Sequence[str], repository: Repository, shared: Mapping[str, Any]
) -> tuple[float | None, float | None]:
    """Return the sigma of the certification and that of the training.

    They are None as far as neither the path nor its repository says them.
    """
    sigma = _only_one({float(text) for text in _texts_in(parts, "sigma")})
    noise = _only_one({float(text) for text in _texts_in(parts, "noise")})
    if sigma is not None:
        return sigma, noise
    # `noise_0.00` is of a training without noise.
    sigma_of_both = noise or shared.get("sigma")
    return sigma_of_both, sigma_of_both if repository.name else None


def _texts_in(parts: Sequence[str], fact: str) -> list[str]:
    """Return the numbers that the parts of a path give for one of FACTS."""
    return [text for part in parts for text in FACTS[fact].findall(part)]


def _arch_in(parts: Sequence[str]) -> str:
    """Return the one architecture that the path names; empty if it names none or
    several.
    """
    matches = [ARCH.fullmatch(part) for part in parts]
    return _only_one({match[1].lower() for match in matches if match}) or ""


def _dataset_in(parts: Sequence[str]) -> str:
    """Return the one data set that the path names; empty if it names none or several."""
    named = {_dataset(part) for part in parts if part.lower() in DATASETS}
    return _only_one(named) or ""


def method_named(name: str) -> str:
    """Return the name that a method has here, for the `name` that a log or a paper
    gives it.

    Example:
        >>> method_named("Cohen"), method_named("consistency")
        ('gaussian', 'consistency')
    """
    plain = name.lower().strip()
    return str(KNOWN["method_aliases"].get(plain, plain))


def _dataset(name: str) -> str:
    """Return the name that a data set has here; `name` itself where none is known."""
    return DATASETS.get(name.lower(), name)


def _only_one(values: set[T]) -> T | None:
    """Return the value if there is just one; None where there is none or several."""
    return next(iter(values)) if len(values) == 1 else None


def _split(parts: Sequence[str], dataset: str) -> str:
    """Return the split that the path names.

    Of corrupted images it is the corruption and its severity.
    """
    if dataset not in CORRUPTED:
        return _only_one({part for part in parts if part in ("train", "test")}) or ""
    matches = [SEVERITY.fullmatch(part) for part in parts]
    severity = _only_one({int(match[1]) for match in matches if match})
    # The log is called by the corruption.
    corruption = parts[-1]
    return corruption if severity is None else f"{corruption}, severity {severity}"


def _method(parts: Sequence[str], repository_method: str) -> str:
    """Return the one method that the path names; empty if it names none or several.

    A path of consistency also names the method whose loss it is added to.
    """
    named = {_method_in(part, repository_method) for part in parts} - {""}
    if named == {"consistency", "smoothadv"}:
        return "smoothadv+consistency"
    if "consistency" in named:
        # Consistency by itself is added to Gaussian training.
        named.discard("gaussian")
    return _only_one(named) or ""


def _method_in(part: str, repository_method: str) -> str:
    """Return the method that a part names; "ours" is the method of the repository."""
    method = notation(part).method
    if method:
        return method
    name = repository_method if part.lower() == "ours" else method_named(part)
    return name if name in KNOWN["methods"] else ""


def _settings(
    parts: Sequence[str], dataset: str
) -> tuple[Settings, str, tuple[str, ...]]:
    """Return the settings, the run and the parts that say something else.

    They are read from the data set or method on: anything may stand before.
    """
    known_parts = _from_first_known(parts)
    if dataset in CORRUPTED:
        # `_split` has read the severity, and the corruption, which is the last part.
        known_parts = [
            part for part in known_parts[:-1] if not SEVERITY.fullmatch(part)
        ]

    settings = Settings()
    runs = list[str]()
    others = list[str]()
    for part in known_parts:
        # sigma, noise, n and alpha, which a part may hold too, have been read.
        rest = part
        for pattern in FACTS.values():
            rest = pattern.sub("", rest)
        settings_of_part = notation(rest).settings
        run = RUN.fullmatch(rest)
        if settings_of_part:
            settings |= settings_of_part
        elif run:
            runs.append(run[0].strip("_"))
        elif not (_says_nothing_more(rest) or ARCH.fullmatch(rest)):
            others.append(rest.strip("_"))
    return settings, "-".join(runs), tuple(others)


def _from_first_known(parts: Sequence[str]) -> Sequence[str]:
    """Return the parts from the first on that names a data set, method or setting.

    The result is empty where no part names any.
    """
    for position, part in enumerate(parts):
        # SmoothMix's folder `ablation` stands in place of a data set.
        names_data = part.lower() in DATASETS or part == "ablation"
        names_method = bool(_method_in(part, repository_method=""))
        if names_data or names_method or notation(part).settings:
            return parts[position:]
    return []


def _says_nothing_more(part: str) -> bool:
    """Return whether a part is empty, is a usual folder that says nothing, or names a
    data set or method, which are read elsewhere.
    """
    plain = part.lower()
    known = (
        KNOWN["plain"],
        DATASETS,
        KNOWN["methods"],
        KNOWN["method_aliases"],
    )
    return not plain or any(plain in names for names in known)
