"""Which papers a run, a model or a name of something here stands on, and what each is cited for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.certificates import RULES, Header, path_facts, read
from randsmooth.data import DATASETS
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import InputError, article, unknown
from randsmooth.escape import printable, shortened
from randsmooth.methods import METHODS
from randsmooth.papers.bibliography import PAPERS, the_program
from randsmooth.papers.reference import Reference

CERTIFY, SEQUENTIAL = ("cohen2019certified",), ("lan1983discrete", "armitage1969repeated")
BINOMIAL = ("clopper1934use",)
RESNET, IMAGENET = ("he2016deep",), ("russakovsky2015imagenet",)
MOST_BYTES = 2**22  # of a config.json

# What may be used -> by its name, the papers that it stands on.
ORIGINS: dict[str, dict[str, tuple[str, ...]]] = {
    "training method": {
        "gaussian": CERTIFY,
        "stability": ("li2019certified",),
        "smoothadv": ("salman2019provably",),
        "macer": ("zhai2020macer",),
        "consistency": ("jeong2020consistency",),
        "smoothmix": ("jeong2021smoothmix",),
        "cat-rs": ("jeong2023catrs",),
        "amplify": ("sun2025acr",),
    },
    "settings of": {  # the first part of a preset's name
        "acr": ("sun2025acr",),
        "cat-rs": ("jeong2023catrs",),
        "macer": ("zhai2020macer",),
        "consistency": ("jeong2020consistency",),
        "smoothmix": ("jeong2021smoothmix",),
    },
    "rule": {
        "fixed": CERTIFY,
        **dict.fromkeys(("radius", "screen", "grid", "dense"), SEQUENTIAL),
        "union": (*SEQUENTIAL, *BINOMIAL),
        "tolerance": BINOMIAL,
        "anytime": (),
    },
    "bound": {
        **dict.fromkeys(("clopper-pearson", "two-sided", "pairwise", "any-class"), BINOMIAL),
        "randomised": ("voracek2024treatment",),
    },
    "data set": {
        "digits": ("alpaydin1998optical",),
        "mnist": ("lecun1998gradient",),
        "fashion-mnist": ("xiao2017fashion",),
        **dict.fromkeys(("cifar10", "cifar10-jpeg", "cifar100"), ("krizhevsky2009learning",)),
        "svhn": ("netzer2011reading",),
        "imagenet": IMAGENET,
        "imagenet32": ("chrabaszcz2017downsampled", *IMAGENET),
    },
    "part": {  # what stands around a network, or is done with one
        "certify": CERTIFY,
        "acr": ("zhai2020macer", "sun2025acr"),
        "p_a": ("sun2025acr",),
        "sound": ("voracek2023sound", "salmon2011parallel"),
        "denoised": ("salman2020denoised",),
        "diffusion": ("carlini2023free",),
        "ensemble": ("horvath2022boosting",),
        "soft": ("zhai2020macer", "maurer2009empirical"),
        "top-k": ("jia2020topk",),
        "accuracy": ("buonaccorsi1987note",),
        "attack": ("salman2019provably",),
        "ddn": ("rony2019decoupling",),
        "hopskipjump": ("chen2020hopskipjump",),
    },
}
OPEN: dict[str, Any] = {"training method": METHODS, "data set": DATASETS, "rule": RULES}  # to other packages
# Architectures come in families: a pattern for the whole of a name.
ARCHITECTURES = {
    r"lenet": ("lecun1998gradient",),
    r"(cifar-)?resnet\d+": RESNET,
    r"densenet\d+": ("huang2017densely",),
    r"wrn\d+-\d+": ("zagoruyko2016wide",),
    r"dncnn-\d+x\d+": ("zhang2017beyond",),
    r"small-cnn": (),  # of randsmooth itself
}
WORDS = {  # what each part is cited for
    "certify": "the certificate and its radius (CERTIFY)",
    "acr": "the average certified radius (ACR), and why not to rank by it, where you report one",
    "p_a": "the distribution of p_A, where you report one",
    "sound": "certificates that no floating-point error touches, and their noise (sound)",
    "denoised": "a classifier behind a denoiser",
    "diffusion": "a diffusion model as the denoiser, in one step",
    "ensemble": "an ensemble as the base classifier",
    "soft": "soft certificates",
    "top-k": "top-k certificates",
    "accuracy": "the interval of a whole data set's certified accuracy",
    "attack": "attacks on the smoothed classifier",
    "ddn": "the attack DDN",
    "hopskipjump": "attacks that ask for labels alone (HopSkipJump)",
}


class Use(NamedTuple):
    """Something that was used: what kind of thing it is, one of ORIGINS or "architecture", and its name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return WORDS.get(self.name, self.name) if self.kind == "part" else f"the {self.kind} {self.name}"


@dataclass(frozen=True)
class Citation:
    """An entry of a bibliography, and what it is cited for.

    Example:
        >>> print(Citation(PAPERS["he2016deep"], ("the architecture resnet20",)).reasons[0])
        the architecture resnet20
    """

    reference: Reference
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Bibliography:
    """What to cite.

    Attributes:
        citations: randsmooth itself first, then by what they are cited for: certificate, training, data, figures.
        unlisted: what was used and has no entry here, in words: things of other packages and of users.

    Example:
        >>> found = cited(["macer"])
        >>> [citation.reference.key for citation in found.citations]
        ['randsmooth', 'zhai2020macer']
        >>> found.citations[1].reasons
        ('the training method macer', 'the settings of macer')
    """

    citations: tuple[Citation, ...]
    unlisted: tuple[str, ...] = ()

    def text(self) -> str:
        """The entries in words, each with what it is cited for."""
        parts = [f"{one.reference.text()}\n    for {'; '.join(one.reasons)}" for one in self.citations]
        return "\n\n".join([*parts, *([self._left_open("")] if self.unlisted else [])])

    def bibtex(self) -> str:
        """The entries in BibTeX, what each is cited for in a comment above it."""
        parts = [f"% {_comment('; '.join(one.reasons))}\n{one.reference.bibtex()}" for one in self.citations]
        return "\n\n".join([*parts, *([self._left_open("% ")] if self.unlisted else [])])

    def to_dict(self) -> dict[str, Any]:
        """The keys with their reasons and BibTeX, and what has no entry, for JSON."""
        rows = [
            {"key": one.reference.key, "for": list(one.reasons), "bibtex": one.reference.bibtex()}
            for one in self.citations
        ]
        return {"citations": rows, "unlisted": list(self.unlisted)}

    def _left_open(self, begin: str) -> str:
        what = "; ".join(map(_comment, self.unlisted))
        return f"{begin}No entry here, so cite what its author names: {what}"


def cited(things: Sequence[str | Path] = ()) -> Bibliography:
    """What to cite for `things`: certificate tables and logs, model folders, and names.

    A name is that of a training method, a rule, a bound, a data set, an architecture, a paper (the first part of a
    preset's name) or a part such as "ensemble", "denoised", "sound", "acr". Nothing given: randsmooth alone.

    Raises:
        InputError: a thing is neither a file of certificates, nor a model folder, nor a name that is known.

    Example:
        >>> [citation.reference.key for citation in cited(["radius=0.5", "cifar10"]).citations[1:]]
        ['lan1983discrete', 'armitage1969repeated', 'krizhevsky2009learning']
    """
    return bibliography_of(use for thing in things for use in _uses(thing))


def bibliography_of(uses: Iterable[Use]) -> Bibliography:
    """What to cite for `uses`, each entry once."""
    reasons: dict[str, list[str]] = {}
    unlisted = []
    for use in dict.fromkeys(uses):
        keys = _keys(use)
        if keys is None:
            unlisted.append(_from_elsewhere(use))
        for key in keys or ():
            reasons.setdefault(key, []).append(str(use))
    program = Citation(the_program(), ("the program",))
    papers = (Citation(PAPERS[key], tuple(why)) for key, why in reasons.items())
    return Bibliography((program, *papers), tuple(unlisted))


def _keys(use: Use) -> tuple[str, ...] | None:
    """The papers behind something; None where there is no entry for it."""
    if use.kind == "architecture":
        return next((keys for form, keys in ARCHITECTURES.items() if re.fullmatch(form, use.name)), None)
    return ORIGINS[use.kind].get(use.name)


def _from_elsewhere(use: Use) -> str:
    """Something without an entry, with the package that it comes from where that is known."""
    registry = OPEN.get(use.kind)
    known = registry is not None and use.name in registry and registry.credit(use.name)
    return f"{use} ({known})" if known else str(use)


def _uses(thing: str | Path) -> Iterable[Use]:
    """What stands behind one thing that a user named."""
    path = Path(thing)
    if path.is_dir():
        return _of_model(path)
    if path.is_file():
        return _of_table(path)
    name = str(thing).partition("=")[0]
    found = [Use(kind, name) for kind, names in ORIGINS.items() if name in names]
    found += [Use("architecture", name)] if _keys(Use("architecture", name)) is not None else []
    found = found or _of_another_package(name)
    if not found:
        known = [name for names in ORIGINS.values() for name in names]
        expected = unknown("name", name, dict.fromkeys(known))
        raise InputError(f"no file or folder {thing}, and {expected}")
    return found


def _of_another_package(name: str) -> list[Use]:
    return [Use(kind, name) for kind, registry in OPEN.items() if name in registry]


def _of_model(folder: Path) -> Iterator[Use]:
    """Of a model folder: how it was trained, on what, with which network."""
    config = parse_json(read_file(folder / "config.json", MOST_BYTES), folder / "config.json")
    if not isinstance(config, dict) or not isinstance(config.get("provenance"), dict) or "arch" not in config:
        raise InputError(f"{folder} is {article('folder')} without a config.json of a model of randsmooth")
    yield from _of_training(config["provenance"] | {"arch": config["arch"]})
    if "channels" in config:  # of a denoiser
        yield Use("part", "denoised")


def _of_table(path: Path) -> Iterator[Use]:
    table = read(path)
    if not table.is_log:
        yield from of_header(table.header)
        return
    place = path_facts(path)
    facts = {"method": place.method, "dataset": place.dataset, "arch": place.arch}
    yield from (Use("part", "certify"), Use("bound", "clopper-pearson"))
    yield from _of_training(facts)
    yield from _figures()


def of_header(header: Header) -> Iterator[Use]:
    """What a table of certificates stands on, by its header.

    Example:
        >>> for use in of_header(Header(rule="grid", sound=True, dataset="mnist")):
        ...     print(use.kind, use.name)
        part certify
        rule grid
        part sound
        data set mnist
        part acr
        part p_a
    """
    rule = header.rule.partition("=")[0]
    yield Use("part", "certify")
    if rule != "fixed":  # which is CERTIFY
        yield Use("rule", rule)
    if rule == "fixed" or header.bound == "any-class":
        yield Use("bound", _bound(header))
    if header.sound:
        yield Use("part", "sound")
    yield from _of_base(header.model or {})
    yield from _named("data set", header.dataset)
    yield from _figures()


def _bound(header: Header) -> str:
    """The bound's name: old tables have another word for the usual one."""
    known = header.bound is not None and header.bound in ORIGINS["bound"]
    return str(header.bound) if known else "clopper-pearson"


def _figures() -> Iterator[Use]:
    yield from (Use("part", "acr"), Use("part", "p_a"))


def _of_base(model: Mapping[str, Any]) -> Iterator[Use]:
    """Of the base classifier of a table: its parts, and how each was trained."""
    denoiser = model.get("denoiser")
    if isinstance(denoiser, dict):
        yield Use("part", "diffusion" if "timestep" in denoiser else "denoised")
        yield from _of_training(denoiser)
        if isinstance(model.get("classifier"), dict):
            yield from _of_training(model["classifier"])
        return
    notes = model.get("notes")
    if model.get("arch") == "Ensemble" or _begins(notes, "an ensemble of"):
        yield Use("part", "ensemble")
        yield from _of_training({key: value for key, value in model.items() if key != "arch"})
        return
    yield from _of_training(model)


def _begins(notes: object, words: str) -> bool:
    return isinstance(notes, list | tuple) and any(str(note).startswith(words) for note in notes)


def _of_training(facts: Mapping[str, Any]) -> Iterator[Use]:
    """What is known of a network's training: method, its settings, attack, data set, architecture."""
    yield from _named("training method", facts.get("method"))
    preset = str(facts.get("preset") or "").partition("/")[0]
    if preset in ORIGINS["settings of"]:
        yield Use("settings of", preset)
    hyperparameters = facts.get("hyperparameters")
    attack = hyperparameters.get("attack") if isinstance(hyperparameters, dict) else None
    if str(attack).startswith("ddn"):
        yield Use("part", "ddn")
    if _keys(Use("architecture", str(facts.get("arch")))) is not None:
        yield Use("architecture", str(facts["arch"]))
    yield from _named("data set", facts.get("dataset"))


def _named(kind: str, name: object) -> Iterator[Use]:
    """A thing of a kind, where it has a name; a path of a user's own data is none."""
    if isinstance(name, str) and name and not re.search(r"[/\\.]", name):
        yield Use(kind, shortened(printable(name)))


def _comment(text: str) -> str:
    """`text` for a comment of BibTeX, where an @ would begin an entry."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("@", " at ").replace('\\"', '"')
