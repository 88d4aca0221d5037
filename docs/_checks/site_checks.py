"""Look at the built site: do links lead somewhere, is anything fetched from elsewhere, is everything described?

    python docs/_checks/site_checks.py SITE

Described are every public name, and every option of the command line. Old addresses lead to their new places, and the
search finds what people type. `make docs-links` asks other sites.
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

# Where a browser fetches something by itself, as (element, attribute).
FETCHED = {
    *(
        ("script", "src"),
        ("img", "src"),
        ("img", "srcset"),
        ("source", "src"),
        ("source", "srcset"),
        ("iframe", "src"),
    ),
    *(
        ("video", "src"),
        ("audio", "src"),
        ("embed", "src"),
        ("object", "data"),
        ("link", "href"),
        ("image", "href"),
    ),
}
NOT_FETCHED = {
    "canonical",
    "next",
    "prev",
    "search",
    "index",
    "author",
    "copyright",
    "license",
}  # kinds of <link>
OUTSIDE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
STYLE = re.compile(
    r"(?:url\(\s*|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE
)


class Page(NamedTuple):
    """What a link into a page may name, where its links lead, and what a browser fetches to show it."""

    anchors: set[str]
    links: list[str]
    fetched: list[str]


class Reader(HTMLParser):
    """Gathers a Page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page({""}, [], [])
        self.within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.within = tag
        self.page.anchors.update(
            given[name] for name in ("id", "name") if name in given
        )
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        if not (tag == "link" and NOT_FETCHED & set(given.get("rel", "").split())):
            self.page.fetched.extend(
                value for name, value in given.items() if (tag, name) in FETCHED
            )
        self.page.fetched.extend(STYLE.findall(given.get("style", "")))

    def handle_data(self, data: str) -> None:
        if self.within == "style":
            self.page.fetched.extend(STYLE.findall(data))


@cache
def read(path: Path) -> Page:
    """The page in a file; one that is no HTML has no anchors."""
    reader = Reader()
    if path.suffix == ".html":
        reader.feed(path.read_text())
    return reader.page


def broken(site: Path) -> Iterator[str]:
    """The links and fetched files within the site that lead nowhere."""
    for path in sorted(site.rglob("*.html")):
        page = read(path)
        if path.parent.name == "_modules" and path.name == "index.html":
            continue  # Sphinx lists `builtins` there, which has no page
        for target in dict.fromkeys([*page.links, *page.fetched]):
            if (
                not OUTSIDE.match(target)
                and not urlsplit(target).scheme
                and not leads_somewhere(path, target)
            ):
                yield f"{path.relative_to(site)}: {target} leads nowhere"


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether a relative address names a file, and an anchor that is in it."""
    split = urlsplit(target)
    there = (page.parent / unquote(split.path)).resolve() if split.path else page
    there = there / "index.html" if there.is_dir() else there
    return there.is_file() and (
        there.suffix != ".html" or unquote(split.fragment) in read(there).anchors
    )


def foreign(site: Path) -> Iterator[str]:
    """What pages and style sheets fetch from other hosts."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        found = (
            read(path).fetched
            if path.suffix == ".html"
            else STYLE.findall(path.read_text())
        )
        yield from (
            f"{path.relative_to(site)} fetches {target}"
            for target in filter(OUTSIDE.match, found)
        )


def undescribed(site: Path) -> Iterator[str]:
    """The public names and the options of the command line that have no entry of their own."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))
    from commands import options_of, page_of
    from reference import PLACES, ROOMS

    from randsmooth.cli.verbs import VERBS

    for place in dict.fromkeys(PLACES.values()):
        room = place.split(".")[1]
        page = site / "api" / f"{room if room in ROOMS else 'index'}.html"
        if place not in read(page).anchors:
            yield f"api/{page.name} does not describe {place}"
    for verb in VERBS:
        words = verb.name.replace(" ", "-")
        page = f"{page_of(verb)}.html"
        for option in options_of(verb):
            anchor = f"cmdoption-randsmooth-{words}-{option.lstrip('-')}"
            if anchor not in read(site / page).anchors:
                yield f"{page} does not describe {option} of {verb.name}"


def misled(site: Path) -> Iterator[str]:
    """The old addresses that lead to no page, or to an anchor that is not on it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))
    from moved import MOVED, address_of, places_of

    for page in MOVED:
        for place in dict.fromkeys(places_of(page).values()):
            if not leads_somewhere(site / f"{page}.html", address_of(place)):
                yield f"{page}.html leads to {place}, which is not there"


def unfound(site: Path) -> Iterator[str]:
    """The words that people type of which the search does not show the right place first."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))
    from sought import SOUGHT

    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    for words, place in SOUGHT.items():
        first = first_result(index, words)
        if first != place:
            yield f"search: {words!r} finds {first} first, not {place}"


def first_result(index: dict[str, Any], words: str) -> str | None:
    """Return the page and anchor that the search ranks first among headings and entries of the index.

    It ranks these two above the text of pages: an entry by 100 times the share of it that was typed, a heading by 15
    times that share, as searchtools.js of Sphinx does.
    """
    found = []
    kinds = ((100, index["indexentries"], True), (15, index["alltitles"], False))
    for weight, texts, in_index in kinds:
        for text, places in texts.items():
            lowered = text.lower().strip()
            if words in lowered and len(words) >= len(text) / 2:
                for file, anchor, *main in places:
                    if not in_index or all(main):
                        place = index["docnames"][file]
                        score = weight * len(words) / len(text)
                        found.append((score, f"{place}#{anchor}" if anchor else place))
    return max(found, default=(0, None), key=lambda result: result[0])[1]


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    faults = [
        *broken(site),
        *foreign(site),
        *undescribed(site),
        *misled(site),
        *unfound(site),
    ]
    print(
        "\n".join(
            [*faults, f"{len(faults)} faults in {len([*site.rglob('*.html')])} pages"]
        )
    )
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
