"""What the path of a published log says about it: sigma, data set, method, settings. Nothing is assumed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

from randsmooth.certificates.logs.path_settings import Settings, settings_in
from randsmooth.certificates.logs.repositories import Repository, split_at_repository
from randsmooth.escape import printable, shortened

# Names that logs and papers use for a method, where its name here is another.
ALIASES = {
    **{"catrs": "cat-rs", "cat_rs": "cat-rs", "ours": "amplify", "cohen": "gaussian", "salman": "smoothadv"},
    **{"stab": "stability", "replication": "gaussian", "data_cohen": "gaussian"},
}
METHODS = ("gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix", "cat-rs", "amplify")
DATASETS = {
    **{name: name for name in ("mnist", "fashion-mnist", "svhn", "cifar10", "cifar100", "imagenet", "digits")},
    **{"fmnist": "fashion-mnist", "cifar10-jpeg": "cifar10", "cifar10c": "cifar10c", "mnistc": "mnistc"},
}
CORRUPTED = ("cifar10c", "mnistc")  # whose files are called by the corruption
CLASSES = {  # of each of them
    **dict.fromkeys(("mnist", "fashion-mnist", "svhn", "cifar10", "digits", "cifar10c", "mnistc"), 10),
    **{"cifar100": 100, "imagenet": 1000},
}
OURS = re.compile(r"(?P<dataset>.+)-sigma(?P<sigma>\d+(?:\.\d+)?)")  # a folder whose logs are called by their method
NOISE = re.compile(r"(?:^|[_-])(sigma|nois)(?:(?<=s)[et])?[_=]?(\d+(?:\.\d+)?)")  # one log is called noist_0.25
SAMPLES = re.compile(r"(?:^|[_-])[Nn][_=]?(\d{3,})(?![\d.])")
ALPHA = re.compile(r"(?:^|[_-])alpha[_=]?(0?\.\d+)")
RADIUS = re.compile(r"(?:^|[_-])(?:radius|rad|r)[_=]?(\d+(?:\.\d+)?)(?![\w.])")
ARCH = re.compile(r"(?:cifar_|cifar100_)?((?:resnet|densenet|vgg|wrn|lenet)\d*)", re.IGNORECASE)
METHOD = re.compile(
    r"(macer)_deferred\d+|(salman)_[\d._]+|(smix)_[\d._m]+(?:max[\d.]+)?|(?:self_training_)?(?:pgd|ddn)_\d+steps?.*",
    re.IGNORECASE,
)
SEVERITY = re.compile(r"severity_(\d)")
BUDGET = (NOISE, SAMPLES, ALPHA, RADIUS)  # facts of their own, which say nothing of the model
RUN = re.compile(r"_?(\d+)(?:_o)?")  # `noise_0.50_4490`, and folders that are but a number: which of several runs
SUFFIX = re.compile(r"\.(tsv|txt|csv|log|mat)$")
PLAIN = {"train", "test", "data", "certify", "best_models", "ours", "ablation"} | {
    f"ours_{how}" for how in ("selftraining", "pretraining", "pretraining_selftraining")
}

T = TypeVar("T")


@dataclass(frozen=True)
class PathFacts:
    """The facts in a path; None or empty where it says nothing, or contradicts itself.

    Attributes:
        sigma: of the certification.
        training_sigma: that of the training: where the path names both, or in a repository, where one is of both.
        n: samples per image.
        alpha: probability that a certificate is wrong.
        radius: the only one that was asked for, of a log of a single radius.
        dataset, split, method: by their names here; the split of corrupted images is the corruption and its severity.
        arch: the architecture.
        settings: hyperparameters, by their names here.
        run: which of several runs with the same settings, such as its seed.
        repository: OWNER/NAME of the released repository that the path lies in.
        by_repository: which of these facts all logs there share, so that the path need not say them.
        other_parts: parts of the path that say something else, such as a variation of the method.
        filed_by_user: whether the path is DATASET-sigmaSIGMA/METHOD.tsv, where a user filed it.
        method_word: the part of the path that names the method.

    Example:
        >>> print(path_facts(Path("cifar10-sigma0.5/macer.tsv")).in_words())
        sigma 0.5, data set cifar10 and the method as the path says
    """

    sigma: float | None = None
    training_sigma: float | None = None
    n: int | None = None
    alpha: float | None = None
    radius: float | None = None
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
    method_word: str = ""

    @property
    def model(self) -> dict[str, Any]:
        """What is known of the base classifier, for a header; empty facts are left out."""
        facts = {
            **{"method": self.method, "hyperparameters": dict(self.settings), "arch": self.arch, "run": self.run},
            **{"variation": shortened(printable(", ".join(self.other_parts))), "repository": self.repository},
        }
        trained = {} if self.training_sigma is None else {"sigma": self.training_sigma}
        return {key: value for key, value in facts.items() if value} | trained

    def in_words(self) -> str:
        """The facts in one phrase, `sigma 0.5, data set cifar10 and the method as the path says`; empty without any.

        The method is named if the path has another word for it.
        """
        phrases = self._phrases()
        said = _listed([text for key, text in phrases.items() if key not in self.by_repository])
        shared = _listed([text for key, text in phrases.items() if key in self.by_repository])
        parts = [f"{said} as the path says"] * bool(said)
        parts += [f"{shared} as all logs there of {self.repository} have it"] * bool(shared)
        return "; ".join(parts)

    def _phrases(self) -> dict[str, str]:
        """Each known fact in words."""
        facts = {
            "sigma": "" if self.sigma is None else f"sigma {self.sigma:g}",
            "n": "" if self.n is None else f"n {self.n:,}",
            "alpha": "" if self.alpha is None else f"alpha {self.alpha:g}",
            "dataset": f"data set {self.dataset}" if self.dataset else "",
            "split": f"split {self.split}" if self.split else "",
            "method": self._method() if self.method else "",
        }
        return {key: text for key, text in facts.items() if text}

    def _method(self) -> str:
        same = _bare(self.method_word) == _bare(self.method) and "method" not in self.by_repository
        other = f" (by the name {self.method_word})" if self.method_word not in ("", self.method) else ""
        return "the method" if same else f"the method {self.method}{other}"


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
        return PathFacts(
            float(folder["sigma"]), dataset=dataset, method=method, filed_by_user=True, method_word=parts[-1]
        )
    repository, below = split_at_repository(parts)
    return _released(below, repository)


def _released(parts: list[str], repository: Repository | None) -> PathFacts:
    """The facts in the parts of a path, below the repository if it lies in one."""
    shared = {} if repository is None else repository.facts(parts)
    dataset = str(shared.get("dataset", "")) or _one({_dataset(p) for p in parts if p.lower() in DATASETS}) or ""
    own = "" if repository is None else repository.method
    named = _method(parts, own)
    sigma, noise = (_one(_values(parts, word)) for word in ("sigma", "nois"))
    known = (noise or None) if sigma is None else sigma  # `noise_0.00` is of a training without noise
    if known is None and "sigma" in shared:
        known = float(shared["sigma"])
    trained = noise if sigma is not None else known if repository is not None else None  # one sigma is of both there
    there, run, other = _settings(parts, dataset)
    return PathFacts(
        sigma=known,
        training_sigma=trained,
        n=_one({int(n) for part in parts for n in SAMPLES.findall(part)}),
        alpha=_one({float(alpha) for part in parts for alpha in ALPHA.findall(part)}),
        radius=_one({float(radius) for part in parts for radius in RADIUS.findall(part)}),
        dataset=dataset,
        split=_split(parts if repository is None else parts[1:], dataset),  # `test/certify` is where results go
        method=named or own,
        method_word=_method_word(parts, named, own),
        arch=_one({found[1].lower() for part in parts if (found := ARCH.fullmatch(part))}) or "",
        settings=there,
        run=run,
        repository="" if repository is None else repository.name,
        by_repository=(*shared, *(["method"] if own and not named else [])),
        other_parts=other,
    )


def method_named(name: str) -> str:
    """The name that a method has here, for the `name` that a log or a paper gives it.

    Example:
        >>> method_named("Cohen"), method_named("consistency")
        ('gaussian', 'consistency')
    """
    plain = name.lower().strip()
    return ALIASES.get(plain, plain)


def _dataset(name: str) -> str:
    return DATASETS.get(name.lower(), name)


def _one(values: set[T]) -> T | None:
    return next(iter(values)) if len(values) == 1 else None


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _bare(name: str) -> str:
    return re.sub("[-_ ]", "", name.lower())


def _values(parts: Sequence[str], word: str) -> set[float]:
    return {float(value) for part in parts for kind, value in NOISE.findall(part) if kind == word}


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


def _method_word(parts: Sequence[str], method: str, own: str) -> str:
    """The part of the path that names the method, preferably by its name here."""
    words = [part for part in parts if method and _method_in(part, own) == method]
    return method if method in [word.lower() for word in words] else next(iter(words), method)


def _method_in(part: str, own: str) -> str:
    """The method that a part names; `own` is that of the repository, which it calls ours."""
    found = METHOD.fullmatch(part)
    if found:
        return method_named(found[1] or found[2] or ("smoothmix" if found[3] else "smoothadv"))
    name = own if own and part.lower() == "ours" else method_named(part)
    return name if name in METHODS else ""


def _settings(parts: Sequence[str], dataset: str) -> tuple[Settings, str, tuple[str, ...]]:
    """The settings, the run and the other parts, from the data set or method on (anything may stand before)."""
    known = [bool(p.lower() in DATASETS or _method_in(p, "") or settings_in(p) or p == "ablation") for p in parts]
    left = parts[known.index(True) :] if any(known) else []
    if dataset in CORRUPTED:  # the split says them
        left = [part for part in left[:-1] if not SEVERITY.fullmatch(part)]
    settings, runs, other = Settings(), list[str](), list[str]()
    for part in (reduce(lambda text, form: form.sub("", text), BUDGET, part) for part in left):
        found, run = settings_in(part), RUN.fullmatch(part)
        if found is not None:
            settings |= found
        elif run is not None:
            runs.append(run[0].strip("_"))
        elif part and not _says_nothing_more(part):
            other.append(part.strip("_"))
    return settings, "-".join(runs), tuple(other)


def _says_nothing_more(part: str) -> bool:
    plain = part.lower() in PLAIN or part.lower() in DATASETS or bool(ARCH.fullmatch(part))
    return plain or method_named(part) in METHODS
