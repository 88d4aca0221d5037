"""Which papers a run, a model or a name stands on, and what each is cited for."""

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
        citations: the citations in the order of their reasons: certificate, training,
            data, figures. randsmooth itself comes first where a file or folder was
            asked about, and last where names were.
        unlisted: the things that were used and have no entry here, in words, such as
            those of other packages and of users.

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
        """Return keys with reasons and BibTeX, and what has no entry, for JSON."""
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
        names = "; ".join(map(_comment, self.unlisted))
        return f"No entry here, so cite what its author names: {names}"


def _comment(text: str) -> str:
    """Return `text` for a comment of BibTeX, where an @ would begin an entry."""
    on_one_line = json.dumps(text, ensure_ascii=False)[1:-1]
    return on_one_line.replace("@", " at ").replace('\\"', '"')


def cited(things: Sequence[str | Path] = ()) -> Bibliography:
    """Return the entries to cite for `things`.

    They are certificate tables and logs, model folders, and names. A name is that of a
    training method, a rule, a bound, a data set, an architecture, a paper (the first
    part of a preset's name) or a part such as "ensemble", "denoised", "sound", "acr".
    Nothing given: randsmooth alone.

    Raises:
        Problem: a thing is neither a file of certificates, nor a model folder, nor a
            name that is known.

    Example:
        >>> keys = [one.reference.key for one in cited(["radius=0.5", "cifar10"]).citations]
        >>> keys[:-1]
        ['lan1983discrete', 'armitage1969repeated', 'krizhevsky2009learning']
    """
    found = bibliography_of(use for thing in things for use in uses_of(thing))
    if any(Path(thing).exists() for thing in things):
        return found
    # Whoever asks for names wants these first.
    program, *others = found.citations
    return replace(found, citations=(*others, program))


def bibliography_of(uses: Iterable[Use]) -> Bibliography:
    """Return the entries to cite for `uses`, each once."""
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
    """Name what has no entry, and the package that brings it."""
    registry = REGISTRIES.get(use.kind, {})
    package = registry.credit(use.name) if use.name in registry else ""
    return f"{use} ({package})" if package else str(use)
