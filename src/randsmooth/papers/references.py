"""The papers, data sets and programs to cite: the entries of references.bib."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

# An entry of BibTeX: its kind, its key, and the lines of its fields.
ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
# A field of an entry: its name and its text.
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
# An accent in TeX: its mark, and the letter below it.
ACCENT = re.compile(r"\{\\(v |[`'^\"])(\w)\}")
# The mark in TeX -> the character of Unicode that puts it on the letter before.
COMBINING_MARKS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    '"': "\u0308",
    "v ": "\u030c",
}
# The fields that say where an entry appeared; the first that an entry has is printed.
PLACES = ("journal", "booktitle", "institution", "howpublished")
# The fields by which an entry can be found -> the beginning of its address. The first
# that an entry has is printed.
LINKS = {"doi": "https://doi.org/", "eprint": "https://arxiv.org/abs/", "url": ""}


@dataclass(frozen=True)
class Reference:
    r"""A paper, a data set or a program: an entry of references.bib.

    Attributes:
        key: the key of the entry.
        kind: inproceedings, article, techreport, misc or software.
        fields: the fields of the entry as BibTeX writes them, by name: author, title,
            year, ...

    Example:
        >>> fields = {"author": "Yann LeCun and L{\\'e}on Bottou", "title": "{A title}"}
        >>> print(Reference("lenet", "article", fields).bibtex())
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
        """Return the entry in BibTeX."""
        lines = [f"@{self.kind}{{{self.key},"]
        for name, text in self.fields.items():
            lines.append(f"  {name} = {{{text}}},")
        lines.append("}")
        return "\n".join(lines)

    def text(self) -> str:
        """Return the entry in words, with a link where there is one."""
        fields = {name: _plain(text) for name, text in self.fields.items()}
        # "A and B and C" becomes "A, B and C".
        *first_authors, last_author = fields["author"].split(" and ")
        authors = last_author
        if first_authors:
            authors = f"{', '.join(first_authors)} and {last_author}"
        appeared = ", ".join(filter(None, [_place(fields), fields["year"]]))
        text = f"{authors}. {fields['title']}. {appeared}"
        if "pages" in fields:
            text += f", pages {fields['pages'].replace('--', '–')}"
        text += "."
        for name, address in LINKS.items():
            if name in fields:
                return f"{text} {address}{fields[name]}"
        return text


def _place(fields: Mapping[str, str]) -> str:
    """Return the place where an entry appeared, with the volume of a journal."""
    place = next((fields[name] for name in PLACES if name in fields), "")
    if "volume" in fields and "journal" in fields:
        place += f" {fields['volume']}"
    return place


def _plain(text: str) -> str:
    """Return the text of a BibTeX field without the commands and braces of TeX."""
    letters = ACCENT.sub(_accented, text)
    return re.sub(r"\\([&%#_])", r"\1", letters).strip("{}")


def _accented(accent: re.Match[str]) -> str:
    """Return the letter of a match of ACCENT with its mark, as one character."""
    mark, letter = accent.groups()
    return unicodedata.normalize("NFC", letter + COMBINING_MARKS[mark])


@cache
def references() -> dict[str, Reference]:
    """Return key -> entry of references.bib; "randsmooth" is this program."""
    text = resources.files("randsmooth.papers").joinpath("references.bib").read_text()
    return {
        key: Reference(key, kind, dict(FIELD.findall(fields)))
        for kind, key, fields in ENTRY.findall(text)
    }
