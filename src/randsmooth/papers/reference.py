"""An entry of a bibliography, and how it is written as BibTeX and as text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

# Combining mark -> what LaTeX writes before the letter that has it.
ACCENTS = {"\u0300": "\\`", "\u0301": "\\'", "\u0302": "\\^", "\u0308": '\\"', "\u030c": "\\v "}
SPECIAL = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_"}
PRINTED = ("journal", "booktitle", "institution", "howpublished")  # where an entry appeared; each has one of these
LINKS = {"doi": "https://doi.org/", "eprint": "https://arxiv.org/abs/", "url": ""}  # the first that there is


@dataclass(frozen=True)
class Reference:
    """A paper, a data set or a program.

    Attributes:
        key: of the BibTeX entry.
        kind: of the BibTeX entry: inproceedings, article, techreport, misc or software.
        authors: "Given Family" each; one that is no person in braces.
        title: as it is printed.
        year: of publication.
        fields: the other fields of the BibTeX entry, by their names there.

    Example:
        >>> lenet = Reference("lenet", "article", ("Yann LeCun", "Léon Bottou"), "A title", 1998, {"journal": "One"})
        >>> print(lenet.bibtex())
        @article{lenet,
          author = {Yann LeCun and L{\\'e}on Bottou},
          title = {{A title}},
          year = {1998},
          journal = {One},
        }
        >>> lenet.text()
        'Yann LeCun and Léon Bottou. A title. One, 1998.'
    """

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    year: int
    fields: Mapping[str, str] = field(default_factory=dict)

    def bibtex(self) -> str:
        """The entry in BibTeX; the title keeps its capitals."""
        written = {"author": " and ".join(map(latex, self.authors)), "title": f"{{{latex(self.title)}}}"}
        written |= {"year": str(self.year)}
        written |= {name: text if name in LINKS else latex(text) for name, text in self.fields.items()}
        lines = [f"  {name} = {{{text}}}," for name, text in written.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def text(self) -> str:
        """The entry in words, with a link where there is one."""
        *others, last = (author.strip("{}") for author in self.authors)
        authors = f"{', '.join(others)} and {last}" if others else last
        where = next((self.fields[name] for name in PRINTED if name in self.fields), "")
        pages = f", pages {self.fields['pages'].replace('--', '–')}" if "pages" in self.fields else ""
        volume = f" {self.fields['volume']}" if "volume" in self.fields and "journal" in self.fields else ""
        link = next((f" {base}{self.fields[name]}" for name, base in LINKS.items() if name in self.fields), "")
        appeared = ", ".join(filter(None, [f"{where}{volume}", str(self.year)]))
        return f"{authors}. {self.title}. {appeared}{pages}.{link}"


def latex(text: str) -> str:
    r"""`text` as BibTeX of any age understands it: accents and special characters as commands.

    Example:
        >>> print(latex("Václav Voráček"))
        V{\'a}clav Vor{\'a}{\v c}ek
    """
    return "".join(map(_letter, unicodedata.normalize("NFC", text)))


def _letter(letter: str) -> str:
    plain, mark = (*unicodedata.normalize("NFD", letter), "")[:2]
    return f"{{{ACCENTS[mark]}{plain}}}" if mark in ACCENTS else SPECIAL.get(letter, letter)
