"""Model cards: Markdown below a front matter in YAML, as the Hugging Face hub shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import jinja2
import yaml

from randsmooth.documents import parse_yaml
from randsmooth.errors import WrongFile
from randsmooth.escape import fact_text, markdown

# The file that the hub shows as the card of a model.
CARD = "README.md"

# What all our cards are found by on the hub.
TAGS = ["randomized-smoothing", "certified-robustness"]

# The front matter of a card, between two lines of three hyphens.
FRONT = re.compile(
    r"\A---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Card:
    """A model card.

    Attributes:
        front: the front matter, which programs read: plain values by name.
        body: the Markdown below it.

    Example:
        >>> card = Card({"license": "mit"}, "# A model")
        >>> print(card.text)
        ---
        license: mit
        ---
        <BLANKLINE>
        # A model
        >>> Card.parse(card.text) == card
        True
    """

    front: dict[str, Any]
    body: str

    @property
    def text(self) -> str:
        """The card as its file holds it."""
        if not self.front:
            return self.body
        front = yaml.safe_dump(self.front, sort_keys=False, allow_unicode=True)
        return f"---\n{front}---\n\n{self.body}"

    @classmethod
    def parse(cls, text: str, where: object = "the card") -> Self:
        """Return the card that a text holds; the front matter may be missing.

        Args:
            text: what the file holds.
            where: the name of the file, for errors.

        Raises:
            WrongFile: the front matter is not YAML, or no mapping.
        """
        match = FRONT.match(text)
        if match is None:
            return cls({}, text)
        front = parse_yaml(match["front"], where)
        if front is None:
            front = {}
        if not isinstance(front, dict):
            raise WrongFile(f"the front matter of {where} is no mapping", file=where)
        return cls(front, text[match.end() :].lstrip("\r\n"))

    def with_section(self, name: str, section: str) -> Self:
        """Return the card with a section in place of the one of this name.

        Two comments, which the hub does not show, mark where the section begins and ends.
        A card without them gets the section at its end. Nothing else changes.

        Example:
            >>> card = Card({}, "# Mine").with_section("counts", "1")
            >>> print(card.with_section("counts", "2").body)
            # Mine
            <BLANKLINE>
            <!-- begin counts -->
            2
            <!-- end counts -->
            <BLANKLINE>
        """
        begin = f"<!-- begin {name} -->"
        end = f"<!-- end {name} -->"
        marked = f"{begin}\n{section.strip()}\n{end}"
        before, found_begin, rest = self.body.partition(begin)
        _, found_end, after = rest.partition(end)
        if found_begin and found_end:
            return replace(self, body=f"{before}{marked}{after}")
        return replace(self, body=f"{self.body.rstrip()}\n\n{marked}\n")


def filled(package: str, folder: str, template: str, content: Mapping[str, Any]) -> str:
    """Return the Markdown that a template makes of `content`.

    The filter `cell` of the template escapes a value, so that names stay text.

    Args:
        package: the package that has the template.
        folder: the folder of the template in the package.
        template: the name of the template's file.
        content: the variables of the template.
    """
    loader = jinja2.PackageLoader(package, folder)
    templates = jinja2.Environment(loader=loader, autoescape=False)
    templates.filters["cell"] = cell
    return templates.get_template(template).render(content)


def cell(value: Any) -> str:
    """Return a value as text that Markdown shows as it is, also in a cell of a table."""
    return markdown(fact_text(value))
