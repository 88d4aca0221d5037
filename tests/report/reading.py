"""A page as a reader and its script see it."""

import json
import re
from html.parser import HTMLParser
from typing import Any


class Read(HTMLParser):
    """A page's source, its elements, its visible text, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.visible: list[str] = []
        self.scripts: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag in ("script", "style") else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.visible.append(data)

    @property
    def data(self) -> dict[str, Any]:
        """The JSON that the page's script draws from."""
        return dict(json.loads(self.scripts[0]))

    @property
    def lines(self) -> list[list[str]]:
        """The cells of each line of a leaderboard's table, without their intervals."""
        bodies = re.findall(r'<tr class="line".*?</tr>', self.source, re.DOTALL)
        cells = (
            re.findall(
                r"<t[hd].*?</t[hd]>", re.sub(r"<small>.*?</small>", "", body), re.DOTALL
            )
            for body in bodies
        )
        return [
            [re.sub(r"<[^>]*>", "", cell).strip() for cell in line] for line in cells
        ]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.visible))
