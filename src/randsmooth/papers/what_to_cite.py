"""The bibliography for tables, models and names: the entries, and the reasons for each."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from randsmooth.papers.citation_needs import Use
from randsmooth.papers.references import Reference, references
from randsmooth.papers.uses import REGISTRIES, uses_of


@dataclass(frozen=True)
class Citation:
    """An entry of a bibliography, and what it is cited for.

    Attributes:
        reference: the entry.
        reasons: the things that it is cited for, in words.

    Example:
        >>> cited(["resnet20"]).citations[0].reasons
        ('the architecture resnet20',)
    """

    reference: Reference
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Bibliography:
    """The entries to cite.

    Attributes:
        citations: the citations, in the order in which their things were used. The
            entry of randsmooth itself comes first where a file or folder was asked
            about, and last where only names were.
        unlisted: the things that were used and have no entry here, in words, such as
            those of other packages and of users.

    Example:
        >>> bibliography = cited(["macer"])
        >>> [citation.reference.key for citation in bibliography.citations]
        ['zhai2020macer', 'randsmooth']
        >>> bibliography.citations[0].reasons
        ('the training method macer', 'the settings of macer')
    """

    citations: tuple[Citation, ...]
    unlisted: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the entries in words, each with what it is cited for."""
        parts = []
        for citation in self.citations:
            reasons = "; ".join(citation.reasons)
            parts.append(f"{citation.reference.text()}\n    for {reasons}")
        if self.unlisted:
            parts.append(self._unlisted_sentence())
        return "\n\n".join(parts)

    def bibtex(self) -> str:
        """Return the entries in BibTeX, with what each is cited for in a comment."""
        parts = []
        for citation in self.citations:
            reasons = _comment("; ".join(citation.reasons))
            parts.append(f"% {reasons}\n{citation.reference.bibtex()}")
        if self.unlisted:
            parts.append(f"% {self._unlisted_sentence()}")
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the citations and the things without an entry, for JSON."""
        citations = [
            {
                "key": citation.reference.key,
                "for": list(citation.reasons),
                "bibtex": citation.reference.bibtex(),
            }
            for citation in self.citations
        ]
        return {"citations": citations, "unlisted": list(self.unlisted)}

    def _unlisted_sentence(self) -> str:
        """Return the sentence on the things without an entry."""
        names = "; ".join(map(_comment, self.unlisted))
        return f"No entry here; cite what its author names: {names}"


def _comment(text: str) -> str:
    """Return `text` for a comment of BibTeX, where an @ would begin an entry.

    Names of users may hold anything, also line breaks, which would end the comment.
    """
    # JSON writes them as two characters. The slice removes its outer quotes.
    on_one_line = json.dumps(text, ensure_ascii=False)[1:-1]
    return on_one_line.replace("@", " at ").replace('\\"', '"')


def cited(things: Sequence[str | Path] = ()) -> Bibliography:
    """Return the entries to cite for `things`.

    Args:
        things: paths of certificate tables, logs and model folders, and names. A name is
            that of a training method, a rule, a noise, a bound, a data set, an
            architecture, a paper (the first part of a preset's name) or a part, such as
            "ensemble", "denoised", "sound" or "acr". By default the answer is the entry
            of randsmooth alone.

    Raises:
        Problem: a thing is neither a file of certificates, nor a model folder, nor a
            name that is known.

    Example:
        >>> citations = cited(["radius=0.5", "cifar10"]).citations
        >>> [citation.reference.key for citation in citations[:-1]]
        ['lan1983discrete', 'armitage1969repeated', 'krizhevsky2009learning']
    """
    bibliography = bibliography_of(use for thing in things for use in uses_of(thing))
    if any(Path(thing).exists() for thing in things):
        return bibliography
    # Whoever asks for names alone wants the entries of these first.
    program, *others = bibliography.citations
    return replace(bibliography, citations=(*others, program))


def bibliography_of(uses: Iterable[Use]) -> Bibliography:
    """Return the entries to cite for `uses`, each once; first that of randsmooth."""
    reasons_of_key = {"randsmooth": ["the program"]}
    unlisted = []
    for use in dict.fromkeys(uses):
        need = use.need
        if need is None:
            unlisted.append(_unlisted_words(use))
            continue
        for key in need.keys:
            reasons_of_key.setdefault(key, []).append(str(use))
    citations = [
        Citation(references()[key], tuple(reasons))
        for key, reasons in reasons_of_key.items()
    ]
    return Bibliography(tuple(citations), tuple(unlisted))


def _unlisted_words(use: Use) -> str:
    """Return a thing without an entry in words, with the package that brings it."""
    # Kinds that no other package can add to have no registry.
    registry = REGISTRIES.get(use.kind, {})
    package = registry.credit(use.name) if use.name in registry else ""
    return f"{use} ({package})" if package else str(use)
