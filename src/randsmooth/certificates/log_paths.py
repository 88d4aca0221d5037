"""What the path of a published log says about it: sigma, data set, method, samples. Nothing is assumed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

# Names that logs and papers use for a method, where its name here is another.
ALIASES = {
    **{"catrs": "cat-rs", "cat_rs": "cat-rs", "ours": "amplify", "cohen": "gaussian", "salman": "smoothadv"},
    **{"stab": "stability", "replication": "gaussian", "data_cohen": "gaussian", "locuslab+smoothing": "gaussian"},
}
METHODS = ("gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix", "cat-rs", "amplify")
DATASETS = {
    **{name: name for name in ("mnist", "fashion-mnist", "svhn", "cifar10", "cifar100", "imagenet", "digits")},
    **{"fmnist": "fashion-mnist", "cifar10-jpeg": "cifar10", "cifar10c": "cifar10c", "mnistc": "mnistc"},
}
CLASSES = {  # of each of them
    **dict.fromkeys(("mnist", "fashion-mnist", "svhn", "cifar10", "digits", "cifar10c", "mnistc"), 10),
    **{"cifar100": 100, "imagenet": 1000},
}
OURS = re.compile(r"(?P<dataset>.+)-sigma(?P<sigma>\d+(?:\.\d+)?)")  # a folder whose logs are called by their method
NOISE = re.compile(r"(?:^|[_-])(sigma|noise)[_=]?(\d+(?:\.\d+)?)")
SAMPLES = re.compile(r"(?:^|[_-])[Nn][_=]?(\d{3,})(?![\d.])")
ARCH = re.compile(r"(?:cifar_)?((?:resnet|densenet|vgg|wrn|lenet)\d*)", re.IGNORECASE)
METHOD = re.compile(r"(macer)_deferred\d+|(salman)_[\d._]+|(?:pgd|ddn)_\d+steps?.*", re.IGNORECASE)
SEED = re.compile(r"_?\d*")  # `noise_0.50_4490`, and folders that are but a number
SUFFIX = re.compile(r"\.(tsv|txt|csv|log)$")

T = TypeVar("T")


@dataclass(frozen=True)
class PathFacts:
    """The facts in a path; None or empty where it says nothing, or contradicts itself.

    Attributes:
        sigma: of the certification.
        training_sigma: that of the training, if the path names both.
        n: samples per image.
        dataset, split, method: by their names here.
        arch: the architecture.
        other_parts: the rest of the path, such as `lbd_5.0`: settings or variations.
        filed_by_user: whether the path is DATASET-sigmaSIGMA/METHOD.tsv, where a user filed it.
        method_word: the part of the path that names the method.

    Example:
        >>> print(path_facts(Path("cifar10-sigma0.5/macer.tsv")).in_words())
        sigma 0.5, data set cifar10 and the method as the path says
    """

    sigma: float | None = None
    training_sigma: float | None = None
    n: int | None = None
    dataset: str = ""
    split: str = ""
    method: str = ""
    arch: str = ""
    other_parts: tuple[str, ...] = ()
    filed_by_user: bool = False
    method_word: str = ""

    def in_words(self) -> str:
        """The facts in one phrase, `sigma 0.5, data set cifar10 and the method as the path says`; empty without any.

        The method is named if the path has another word for it, such as a repository's name.
        """
        facts = {
            "sigma": "" if self.sigma is None else f"{self.sigma:g}",
            "n": "" if self.n is None else f"{self.n:,}",
            "data set": self.dataset,
            "split": self.split,
        }
        said = [f"{name} {value}" for name, value in facts.items() if value] + [self._method()] * bool(self.method)
        words = " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))
        return f"{words} as the path says" if said else ""

    def _method(self) -> str:
        same = re.sub("[-_ ]", "", self.method_word.lower()) == re.sub("[-_ ]", "", self.method)
        return "the method" if same else f"the method {self.method} (by the name {self.method_word})"


def path_facts(path: Path) -> PathFacts:
    """The facts in `path`, which is like `cifar10-sigma0.5/macer.tsv` or as the released repositories lay out theirs.

    Where both `noise_` and `sigma_` occur, the first is of the training and the second of the certification.

    Example:
        >>> facts = path_facts(Path("logs/cifar10/noise_0.50/consistency/N_1000.tsv"))
        >>> facts.dataset, facts.sigma, facts.n, facts.method
        ('cifar10', 0.5, 1000, 'consistency')
    """
    parts = [*path.parts[:-1], SUFFIX.sub("", path.name)]
    folder = OURS.fullmatch(path.parent.name)
    if folder is not None:
        dataset = _dataset(folder["dataset"])
        method = method_named(parts[-1])
        return PathFacts(
            float(folder["sigma"]), dataset=dataset, method=method, filed_by_user=True, method_word=parts[-1]
        )
    method = _method(parts)
    sigma, noise = (_one(_values(parts, word)) for word in ("sigma", "noise"))
    return PathFacts(
        sigma=(noise or None) if sigma is None else sigma,  # `noise_0.00` is of a training without noise
        training_sigma=None if sigma is None else noise,
        n=_one({int(n) for part in parts for n in SAMPLES.findall(part)}),
        dataset=_one({DATASETS[part.lower()] for part in parts if part.lower() in DATASETS}) or "",
        split=_one({part for part in parts if part in ("train", "test")}) or "",
        method=method,
        method_word=_method_word(parts, method),
        arch=_one({found[1].lower() for part in parts if (found := ARCH.fullmatch(part))}) or "",
        other_parts=_other_parts(parts),
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


def _values(parts: list[str], word: str) -> set[float]:
    return {float(value) for part in parts for kind, value in NOISE.findall(part) if kind == word}


def _method(parts: list[str]) -> str:
    """The one method that the path names. Consistency stands before what it is added to."""
    named = {name for part in parts if (name := _method_in(part))}
    if named > {"amplify"}:  # "ours" is whoever wrote the log
        named -= {"amplify"}
    if "consistency" in named:
        named = {"smoothadv+consistency"} if named == {"consistency", "smoothadv"} else named - {"gaussian"}
    return _one(named) or ""


def _method_word(parts: list[str], method: str) -> str:
    """The part of the path that names the method, preferably by its name here."""
    words = [part for part in parts if method and _method_in(part) == method]
    return method if method in [word.lower() for word in words] else next(iter(words), method)


def _method_in(part: str) -> str:
    found = METHOD.fullmatch(part)
    if found:
        return method_named(found[1] or found[2] or "smoothadv")
    name = method_named(part)
    return name if name in METHODS else ""


def _other_parts(parts: list[str]) -> tuple[str, ...]:
    """The parts from the data set or method on that are neither of these, nor noise, architecture, split or seed."""
    known = [bool(part.lower() in DATASETS or _method_in(part)) for part in parts]
    if not any(known):
        return ()
    left = [SAMPLES.sub("", NOISE.sub("", part)) for part in parts[known.index(True) :]]
    plain = {"train", "test", "data", "certify", "best_models", "ours"}
    return tuple(
        part
        for part in left
        if not (part in plain or part.lower() in DATASETS or _plain_method(part) or ARCH.fullmatch(part))
        and not SEED.fullmatch(part)
    )


def _plain_method(part: str) -> bool:
    """Whether `part` is a method's name alone: `PGD_10steps` and `salman_255.0_10_10` hold settings too."""
    return method_named(part) in METHODS or part.lower().startswith("macer_deferred")
