"""Which papers a run, a model or a name of something here stands on, and what each is cited for.

The entries are those of references.bib; what_to_cite.csv says what needs which of them: things of a kind, by a pattern
for the whole of their names, since architectures come in families, and for parts, what they are cited for.
"""

import csv
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.certificates import Header, path_facts, read
from randsmooth.data import DATASETS
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import NotFound, WrongFile, article, unknown
from randsmooth.escape import printable, shortened
from randsmooth.methods import METHODS
from randsmooth.noise import NOISES
from randsmooth.rules import RULES

MOST_BYTES = 2**22  # of a config.json
# To other packages.
OPEN: dict[str, Any] = {
    "training method": METHODS,
    "data set": DATASETS,
    "rule": RULES,
    "noise": NOISES,
}

ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
ACCENT = re.compile(r"\{\\(v |[`'^\"])(\w)\}")
MARKS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    '"': "\u0308",
    "v ": "\u030c",
}  # those that combine
PRINTED = (
    "journal",
    "booktitle",
    "institution",
    "howpublished",
)  # where an entry appeared
LINKS = {
    "doi": "https://doi.org/",
    "eprint": "https://arxiv.org/abs/",
    "url": "",
}  # the first that there is


@dataclass(frozen=True)
class Reference:
    r"""A paper, a data set or a program: an entry of references.bib.

    Attributes:
        key: of the entry.
        kind: inproceedings, article, techreport, misc or software.
        fields: as BibTeX writes them, by their names there: author, title, year, ...

    Example:
        >>> lenet = Reference("lenet", "article", {"author": "Yann LeCun and L{\\'e}on Bottou", "title": "{A title}"})
        >>> print(lenet.bibtex())
        @article{lenet,
          author = {Yann LeCun and L{\'e}on Bottou},
          title = {{A title}},
        }
        >>> references()["he2016deep"].text().split(". ")[0]
        'Kaiming He, Xiangyu Zhang, Shaoqing Ren and Jian Sun'
    """

    key: str
    kind: str
    fields: Mapping[str, str]

    def bibtex(self) -> str:
        """The entry in BibTeX."""
        return "\n".join(
            [
                f"@{self.kind}{{{self.key},",
                *(f"  {n} = {{{t}}}," for n, t in self.fields.items()),
                "}",
            ]
        )

    def text(self) -> str:
        """The entry in words, with a link where there is one."""
        fields = {name: _plain(text) for name, text in self.fields.items()}
        authors = ", ".join(fields["author"].split(" and "))
        authors = " and ".join(authors.rsplit(", ", 1))
        where = next((fields[name] for name in PRINTED if name in fields), "")
        volume = (
            f" {fields['volume']}" if "volume" in fields and "journal" in fields else ""
        )
        pages = (
            f", pages {fields['pages'].replace('--', '–')}" if "pages" in fields else ""
        )
        link = next(
            (
                f" {base}{fields[name]}"
                for name, base in LINKS.items()
                if name in fields
            ),
            "",
        )
        appeared = ", ".join(filter(None, [f"{where}{volume}", fields["year"]]))
        return f"{authors}. {fields['title']}. {appeared}{pages}.{link}"


def _plain(text: str) -> str:
    letters = ACCENT.sub(
        lambda found: unicodedata.normalize("NFC", found[2] + MARKS[found[1]]), text
    )
    return re.sub(r"\\([&%#_])", r"\1", letters).strip("{}")


@cache
def references() -> dict[str, Reference]:
    """The entries of references.bib by their keys; "randsmooth" is this program."""
    text = resources.files("randsmooth.papers").joinpath("references.bib").read_text()
    return {
        key: Reference(key, kind, dict(FIELD.findall(fields)))
        for kind, key, fields in ENTRY.findall(text)
    }


@cache
def needs() -> dict[str, dict[str, tuple[list[str], str]]]:
    """Kind -> pattern of names -> the keys of the papers behind them, and for a part what it is cited for."""
    found = dict[str, dict[str, tuple[list[str], str]]]()
    with (
        resources.files("randsmooth.papers").joinpath("what_to_cite.csv").open() as file
    ):
        for line in csv.DictReader(file):
            found.setdefault(line["kind"], {})[line["name"]] = (
                line["keys"].split(),
                line["for"],
            )
    return found


class Use(NamedTuple):
    """Something that was used: its kind, one of what_to_cite.csv, and its name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return (
            needs()["part"][self.name][1]
            if self.kind == "part"
            else f"the {self.kind} {self.name}"
        )

    def keys(self) -> list[str] | None:
        """Those of the papers behind it; None where there is no entry for it."""
        return next(
            (
                keys
                for form, (keys, _) in needs()[self.kind].items()
                if re.fullmatch(form, self.name)
            ),
            None,
        )


@dataclass(frozen=True)
class Citation:
    """An entry of a bibliography, and what it is cited for.

    Example:
        >>> cited(["resnet20"]).citations[0].reasons
        ('the architecture resnet20',)
    """

    reference: Reference
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Bibliography:
    """What to cite.

    Attributes:
        citations: by what they are cited for: certificate, training, data, figures. randsmooth itself is first of what
            a file or folder used, last of names that were asked for.
        unlisted: what was used and has no entry here, in words: things of other packages and of users.

    Example:
        >>> found = cited(["macer"])
        >>> [citation.reference.key for citation in found.citations]
        ['zhai2020macer', 'randsmooth']
        >>> found.citations[0].reasons
        ('the training method macer', 'the settings of macer')
    """

    citations: tuple[Citation, ...]
    unlisted: tuple[str, ...] = ()

    def text(self) -> str:
        """The entries in words, each with what it is cited for."""
        parts = [
            f"{one.reference.text()}\n    for {'; '.join(one.reasons)}"
            for one in self.citations
        ]
        return "\n\n".join([*parts, *self._left_open("")])

    def bibtex(self) -> str:
        """The entries in BibTeX, what each is cited for in a comment above it."""
        parts = [
            f"% {_comment('; '.join(one.reasons))}\n{one.reference.bibtex()}"
            for one in self.citations
        ]
        return "\n\n".join([*parts, *self._left_open("% ")])

    def to_dict(self) -> dict[str, Any]:
        """The keys with their reasons and BibTeX, and what has no entry, for JSON."""
        rows = [
            {
                "key": c.reference.key,
                "for": [*c.reasons],
                "bibtex": c.reference.bibtex(),
            }
            for c in self.citations
        ]
        return {"citations": rows, "unlisted": [*self.unlisted]}

    def _left_open(self, begin: str) -> list[str]:
        what = "; ".join(map(_comment, self.unlisted))
        return (
            [f"{begin}No entry here, so cite what its author names: {what}"]
            if what
            else []
        )


def _comment(text: str) -> str:
    """`text` for a comment of BibTeX, where an @ would begin an entry."""
    return (
        json.dumps(text, ensure_ascii=False)[1:-1]
        .replace("@", " at ")
        .replace('\\"', '"')
    )


def cited(things: Sequence[str | Path] = ()) -> Bibliography:
    """What to cite for `things`: certificate tables and logs, model folders, and names.

    A name is that of a training method, a rule, a bound, a data set, an architecture, a paper (the first part of a
    preset's name) or a part such as "ensemble", "denoised", "sound", "acr". Nothing given: randsmooth alone.

    Raises:
        Problem: a thing is neither a file of certificates, nor a model folder, nor a name that is known.

    Example:
        >>> [citation.reference.key for citation in cited(["radius=0.5", "cifar10"]).citations[:-1]]
        ['lan1983discrete', 'armitage1969repeated', 'krizhevsky2009learning']
    """
    found = bibliography_of(use for thing in things for use in _uses(thing))
    if any(Path(thing).exists() for thing in things):
        return found
    return replace(found, citations=(*found.citations[1:], found.citations[0]))


def bibliography_of(uses: Iterable[Use]) -> Bibliography:
    """What to cite for `uses`, each entry once."""
    reasons, unlisted = {"randsmooth": ["the program"]}, []
    for use in dict.fromkeys(uses):
        if (keys := use.keys()) is None:
            registry = OPEN.get(use.kind, {})
            package = registry.credit(use.name) if use.name in registry else ""
            unlisted.append(f"{use} ({package})" if package else str(use))
        for key in keys or ():
            reasons.setdefault(key, []).append(str(use))
    citations = (
        Citation(references()[key], tuple(why)) for key, why in reasons.items()
    )
    return Bibliography(tuple(citations), tuple(unlisted))


def _uses(thing: str | Path) -> Iterable[Use]:
    """What stands behind one thing that a user named."""
    path = Path(thing)
    if path.is_dir():
        return _of_model(path)
    if path.is_file():
        return _of_table(path)
    name = str(thing).partition("=")[0]
    found = [
        use
        for use in (Use(kind, name.lower()) for kind in needs())
        if use.keys() is not None
    ]
    found = found or [
        Use(kind, name) for kind, registry in OPEN.items() if name in registry
    ]
    if not found:
        forms = [
            form
            for kind, names in needs().items()
            if kind != "architecture"
            for form in names
        ]
        expected = unknown("name", name, dict.fromkeys("|".join(forms).split("|")))
        raise NotFound(f"no file or folder {thing}, and {expected}")
    return found


def _of_model(folder: Path) -> Iterator[Use]:
    """Of a model folder: how it was trained, on what, with which network."""
    config = parse_json(
        read_file(folder / "config.json", MOST_BYTES), folder / "config.json"
    )
    if (
        not isinstance(config, dict)
        or not isinstance(config.get("provenance"), dict)
        or "arch" not in config
    ):
        raise WrongFile(
            f"{folder} is {article('folder')} without a config.json of a model of randsmooth"
        )
    yield from _of_training(config["provenance"] | {"arch": config["arch"]})
    if "channels" in config:  # of a denoiser
        yield Use("part", "denoised")


def _of_table(path: Path) -> Iterator[Use]:
    table, place = read(path), path_facts(path)
    model = {"method": place.method, "arch": place.arch}
    yield from of_header(
        Header(dataset=place.dataset, model=model) if table.is_log else table.header
    )


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
    rule, bound = header.rule.partition("=")[0], Use("bound", str(header.bound))
    yield Use("part", "certify")
    if rule != "fixed":  # which is that of CERTIFY
        yield Use("rule", rule)
    if rule == "fixed" or header.bound == "any-class":
        yield (
            bound if bound.keys() is not None else Use("bound", "clopper-pearson")
        )  # a log's word for the usual one
    if header.sound:
        yield Use("part", "sound")
    if header.distribution is not None:
        yield Use("noise", header.smoothing.name)
    yield from _of_base(header.model or {})
    yield from _named("data set", header.dataset)
    yield from (Use("part", "acr"), Use("part", "p_a"))


def _of_base(model: Mapping[str, Any]) -> Iterator[Use]:
    """Of the base classifier of a table: its parts, and how each was trained."""
    if isinstance(denoiser := model.get("denoiser"), dict):
        yield Use("part", "diffusion" if "timestep" in denoiser else "denoised")
        for part in (denoiser, model.get("classifier")):
            yield from _of_training(part if isinstance(part, dict) else {})
        return
    noted = any(
        str(note).startswith("an ensemble of") for note in model.get("notes") or ()
    )
    if noted or model.get("arch") == "Ensemble":
        yield Use("part", "ensemble")
    yield from _of_training(
        {key: value for key, value in model.items() if value != "Ensemble"}
    )


def _of_training(facts: Mapping[str, Any]) -> Iterator[Use]:
    """What is known of a network's training: method, its settings, attack, data set, architecture."""
    yield from _named("training method", facts.get("method"))
    preset = Use("settings of", str(facts.get("preset") or "").partition("/")[0])
    network = Use("architecture", str(facts.get("arch")))
    if preset.keys() is not None:
        yield preset
    if str(dict(facts.get("hyperparameters") or {}).get("attack")).startswith("ddn"):
        yield Use("part", "ddn")
    if network.keys() is not None:
        yield network
    yield from _named("data set", facts.get("dataset"))


def _named(kind: str, name: object) -> Iterator[Use]:
    """A thing of a kind, where it has a name; a path of a user's own data is none."""
    if isinstance(name, str) and name and not re.search(r"[/\\.]", name):
        yield Use(kind, shortened(printable(name)))
