"""What the path of a published log says about it: repository, sigma, data set, method, settings. Nothing is assumed."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.escape import printable, shortened

HERE = resources.files("randsmooth.certificates.logs")
KNOWN = tomllib.loads(HERE.joinpath("known.toml").read_text(encoding="utf-8"))
CLASSES: dict[str, int] = KNOWN["classes"]
DATASETS: dict[str, str] = {name: name for name in CLASSES} | KNOWN["dataset_aliases"]
CORRUPTED = ("cifar10c", "mnistc")  # whose files are called by the corruption

NUMBER = r"\d+(?:\.\d+)?"
X = f"({NUMBER})"
FACTS: dict[str, tuple[re.Pattern[str], Callable[[str], float]]] = {  # of their own, which say nothing of the model
    "sigma": (re.compile(rf"(?:^|[_-])sigma[_=]?{X}"), float),
    "noise": (re.compile(rf"(?:^|[_-])nois[et]?[_=]?{X}"), float),  # one log is called noist_0.25
    "n": (re.compile(r"(?:^|[_-])[Nn][_=]?(\d{3,})(?![\d.])"), int),
    "alpha": (re.compile(r"(?:^|[_-])alpha[_=]?(0?\.\d+)"), float),
}
OURS = re.compile(rf"(?P<dataset>.+)-sigma(?P<sigma>{X})")  # a folder whose logs are called by their method
ARCH = re.compile(r"(?:cifar_|cifar100_)?((?:resnet|densenet|vgg|wrn|lenet)\d*)", re.IGNORECASE)
SEVERITY = re.compile(r"severity_(\d)")
RUN = re.compile(r"_?(\d+)(?:_o)?")  # `noise_0.50_4490`, and folders that are but a number: which of several runs
SUFFIX = re.compile(r"\.(tsv|txt|csv|log)$")
PHRASES = {"sigma": "sigma", "n": "n", "alpha": "alpha", "dataset": "data set", "split": "split", "method": "method"}

# A notation of settings each, and the method that it names. A group is called as the setting is here; `*_256` is a size
# in 1/256 of a pixel's range, {X} a number.
with HERE.joinpath("notations.csv").open(encoding="utf-8") as file:
    LINES = list(csv.DictReader(file))
NOTATIONS = tuple((re.compile(each["form"].replace("{X}", NUMBER), re.IGNORECASE), each["method"]) for each in LINES)
PIXEL = 256.0  # by what the released codes divide the size of an attack

Settings = dict[str, float | str]
T = TypeVar("T")


@dataclass(frozen=True)
class Repository:
    """A repository of certification logs.

    Attributes:
        name: OWNER/NAME on GitHub.
        method: the one that it is about, which a log is of whose path names none.
        shared: folder -> what all logs below it share and their paths do not say.
    """

    name: str
    method: str
    shared: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)


REPOSITORIES = tuple(Repository(**each) for each in KNOWN["repositories"])
NOWHERE = Repository("", "")


def split_at_repository(parts: Sequence[str]) -> tuple[Repository | None, list[str]]:
    """The repository that a path lies in, by the name of its folder, and the parts below that folder.

    The folder is called OWNER+NAME, or NAME as a clone is, or NAME-main as an archive; a NAME must have one of the
    folders below it that these repositories have, as `smoothmix` is also the name of a method. Without a repository,
    all parts are given back.

    Example:
        >>> found, below = split_at_repository(["logs", "smoothmix", "data", "certify", "mnist", "log"])
        >>> found.name, below
        ('jh-jeong/smoothmix', ['data', 'certify', 'mnist', 'log'])
    """
    for place, part in enumerate(parts):
        name, below = re.sub("-(main|master)$", "", part.lower()), list(parts[place + 1 :])
        for one in REPOSITORIES:
            whole = one.name.lower()
            if name == whole.replace("/", "+") or (
                name == whole.partition("/")[2] and below and below[0] in KNOWN["tops"]
            ):
                return one, below
    return None, list(parts)


def in_repository(path: Path) -> Path:
    """`path` as it lies in its repository, `OWNER+NAME/data/...`; itself where it lies in none of REPOSITORIES.

    A user may stand in the clone.

    Example:
        >>> print(in_repository(Path("smoothing/data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25")))
        locuslab+smoothing/data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25
    """
    repository, below = split_at_repository(path.absolute().parts)
    return path if repository is None else Path(repository.name.replace("/", "+"), *below)


@dataclass(frozen=True)
class PathFacts:
    """The facts in a path; None or empty where it says nothing, or contradicts itself.

    Attributes:
        sigma: of the certification.
        training_sigma: that of the training: where the path names both, or in a repository, where one is of both.
        n: samples per image.
        alpha: probability that a certificate is wrong.
        dataset, split, method: by their names here; the split of corrupted images is the corruption and its severity.
        arch: the architecture.
        settings: hyperparameters, by their names here.
        run: which of several runs with the same settings, such as its seed.
        repository: OWNER/NAME of the released repository that the path lies in.
        by_repository: which of these facts all logs there share, so that the path need not say them.
        other_parts: parts of the path that say something else, such as a variation of the method.
        filed_by_user: whether the path is DATASET-sigmaSIGMA/METHOD.tsv, where a user filed it.

    Example:
        >>> print(path_facts(Path("cifar10-sigma0.5/macer.tsv")).in_words())
        sigma 0.5, data set cifar10, method macer as the path says
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
        """What is known of the base classifier, for a header; empty facts are left out."""
        facts: dict[str, Any] = {"method": self.method, "hyperparameters": dict(self.settings), "arch": self.arch}
        variation = shortened(printable(", ".join(self.other_parts)))
        facts |= {"run": self.run, "variation": variation, "repository": self.repository}
        trained = {} if self.training_sigma is None else {"sigma": self.training_sigma}
        return {key: value for key, value in facts.items() if value} | trained

    def in_words(self) -> str:
        """The facts in one phrase, `sigma 0.5, data set cifar10 as the path says`; empty without any."""
        parts = []
        for shared, by in ((False, "as the path says"), (True, f"as all logs there of {self.repository} have it")):
            names = [name for name in PHRASES if (name in self.by_repository) == shared]
            known = {name: value for name in names if (value := getattr(self, name)) not in (None, "")}
            said = [f"{PHRASES[name]} {_shown(value)}" for name, value in known.items()]
            parts += [f"{', '.join(said)} {by}"] * bool(said)
        return "; ".join(parts)


def _shown(value: float | str) -> str:
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else f"{value:g}"


def path_facts(path: Path) -> PathFacts:
    """The facts in `path`, which is like `cifar10-sigma0.5/macer.tsv` or as the released repositories lay out theirs.

    Where both `noise_` and `sigma_` occur, the first is of the training and the second of the certification.

    Example:
        >>> facts = path_facts(Path("logs/cifar10/noise_0.50/consistency/num_2/lbd_10.0/N_1000.tsv"))
        >>> facts.dataset, facts.sigma, facts.n, facts.method, facts.settings
        ('cifar10', 0.5, 1000, 'consistency', {'m': 2, 'lbd': 10.0})
        >>> path_facts(Path("jh-jeong+smoothmix/data/certify/mnist/cohen/noise_0.25_393")).model
        {'method': 'gaussian', 'run': '393', 'repository': 'jh-jeong/smoothmix', 'sigma': 0.25}
    """
    parts = [*path.parts[:-1], SUFFIX.sub("", path.name)]
    folder = OURS.fullmatch(path.parent.name)
    if folder is not None:
        dataset, method = _dataset(folder["dataset"]), method_named(parts[-1])
        return PathFacts(float(folder["sigma"]), dataset=dataset, method=method, filed_by_user=True)
    found, parts = split_at_repository(parts)
    repository = found or NOWHERE
    shared = {key: value for part in parts for key, value in repository.shared.get(part, {}).items()}
    dataset = str(shared.get("dataset", "")) or _one({_dataset(p) for p in parts if p.lower() in DATASETS}) or ""
    named = _method(parts, repository.method)
    told = {name: _one({kind(x) for part in parts for x in form.findall(part)}) for name, (form, kind) in FACTS.items()}
    sigma, noise = told.pop("sigma"), told.pop("noise")
    known = (noise or None) if sigma is None else sigma  # `noise_0.00` is of a training without noise
    if known is None and "sigma" in shared:
        known = float(shared["sigma"])
    settings, run, other = _settings(parts, dataset)
    facts: dict[str, Any] = told | {"settings": settings, "run": run, "other_parts": other, "dataset": dataset}
    facts["training_sigma"] = noise if sigma is not None else known if found else None  # one sigma is of both there
    facts["split"] = _split(parts[1:] if found else parts, dataset)  # `test/certify` is where results go
    facts["arch"] = _one({match[1].lower() for part in parts if (match := ARCH.fullmatch(part))}) or ""
    facts["by_repository"] = (*shared, *(["method"] if repository.method and not named else []))
    return PathFacts(known, **facts, method=named or repository.method, repository=repository.name)


def method_named(name: str) -> str:
    """The name that a method has here, for the `name` that a log or a paper gives it.

    Example:
        >>> method_named("Cohen"), method_named("consistency")
        ('gaussian', 'consistency')
    """
    plain = name.lower().strip()
    return str(KNOWN["method_aliases"].get(plain, plain))


def _dataset(name: str) -> str:
    return DATASETS.get(name.lower(), name)


def _one(values: set[T]) -> T | None:
    return next(iter(values)) if len(values) == 1 else None


def _split(parts: Sequence[str], dataset: str) -> str:
    if dataset in CORRUPTED:
        severity = _one({int(found[1]) for part in parts if (found := SEVERITY.fullmatch(part))})
        return parts[-1] if severity is None else f"{parts[-1]}, severity {severity}"
    return _one({part for part in parts if part in ("train", "test")}) or ""


def _method(parts: Sequence[str], own: str) -> str:
    """The one method that the path names. Consistency stands before what it is added to."""
    named = {name for part in parts if (name := _method_in(part, own))}
    if not own and named > {"amplify"}:  # "ours" is whoever wrote the log
        named -= {"amplify"}
    if "consistency" in named:
        named = {"smoothadv+consistency"} if named == {"consistency", "smoothadv"} else named - {"gaussian"}
    return _one(named) or ""


def _method_in(part: str, own: str) -> str:
    """The method that a part names; `own` is that of the repository, which it calls ours."""
    name = own if own and part.lower() == "ours" else method_named(part)
    return _notation(part)[1] or (name if name in KNOWN["methods"] else "")


def _settings(parts: Sequence[str], dataset: str) -> tuple[Settings, str, tuple[str, ...]]:
    """The settings, the run and the other parts, from the data set or method on (anything may stand before)."""
    known = [bool(p.lower() in DATASETS or _method_in(p, "") or _notation(p)[0] or p == "ablation") for p in parts]
    left = parts[known.index(True) :] if any(known) else []
    if dataset in CORRUPTED:  # the split says them
        left = [part for part in left[:-1] if not SEVERITY.fullmatch(part)]
    settings, runs, other = Settings(), list[str](), list[str]()
    for part in left:
        for form, _ in FACTS.values():
            part = form.sub("", part)
        found, run = _notation(part)[0], RUN.fullmatch(part)
        plain = part.lower() in {"", *KNOWN["plain"], *DATASETS, *KNOWN["methods"], *KNOWN["method_aliases"]}
        settings |= found
        if run and not found:
            runs.append(run[0].strip("_"))
        elif not (found or plain or ARCH.fullmatch(part)):
            other.append(part.strip("_"))
    return settings, "-".join(runs), tuple(other)


@lru_cache(maxsize=4096)
def _notation(part: str) -> tuple[Settings, str]:
    """The settings that a part of a path gives and the method that it names; nothing where it is no known notation.

    Example:
        >>> _notation("pgd_255.0_10_10")
        ({'eps': 0.99609375, 'T': 10, 'warmup': 10}, '')
        >>> _notation("smix_1.0_8_m1")
        ({'alpha': 1.0, 'T': 8, 'start': 1.0}, 'smoothmix')
        >>> _notation("mnist")
        ({}, '')
    """
    for form, method in NOTATIONS:
        if found := form.fullmatch(part):
            given = {key: text for key, text in found.groupdict().items() if text is not None}
            one = {"m": "1"} if "attack" in given and "several" not in given else {}  # noise an image, by their names
            return dict(_setting(key, text, given) for key, text in (given | one).items() if key != "several"), method
    return {}, ""


def _setting(key: str, text: str, given: Mapping[str, str]) -> tuple[str, float | str]:
    """The name here and the value of one group."""
    if key == "more":
        return key, "self-training"
    if not text.replace(".", "", 1).isdigit():
        return key, text if key == "pretrained" else text.lower().replace("_", " ")
    value = float(text) if "." in text else int(text)
    if key == "start_steps":  # how far SmoothMix moves the clean end: that many steps of size alpha
        return "start", value * float(given["alpha"])
    if key == "deferred":  # so many epochs pass without MACER's robustness term
        return "lbd_from", value + 1
    return key.removesuffix("_256"), value / PIXEL if key.endswith("_256") else value
