"""Open every page of the built site in headless Chromium, narrow and wide, light and dark, and photograph it.

    python docs/_checks/look.py SITE OUT [PAGE ...]

It fails where a page writes an error to the console, asks another host for anything, or is wider than the window, and
where the search does not show first what answers the words that people type. The pictures lie in OUT.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from sought import SOUGHT

from chromium import Page, chromium

OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth;
  const inside = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
    if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX)) return true; return false; };
  const guilty = [...document.querySelectorAll("main *, article *")].filter(
    (e) => e.getBoundingClientRect().right > wide + 1 && e.getBoundingClientRect().width > 0 && !inside(e));
  const over = document.documentElement.scrollWidth - wide;
  const named = guilty.slice(0, 3).map((e) => e.outerHTML.slice(0, 60));
  return over > 0 ? [`${over} pixels wider than the window: ${named}`] : [];
})()"""


def faults(site: Path, out: Path, only: list[str]) -> Iterator[str]:
    """What is wrong with the pages of `site` whose names begin like one of `only`, and with a search."""
    with chromium() as browser:
        for path, dark, width in itertools.product(
            sorted(site.rglob("*.html")), (False, True), (390, 1280)
        ):
            name = path.relative_to(site).with_suffix("").as_posix()
            if chosen(name, only):
                browser.look(width, 900, dark=dark)
                opened(browser, path.as_uri())
                picture = out / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                picture.parent.mkdir(parents=True, exist_ok=True)
                browser.picture(picture)
                for fault in [
                    *browser.run(OVERFLOW),
                    *browser.errors(),
                    *browser.asked(),
                ]:
                    yield f"{name} at {width}: {fault}"
        for words, place in SOUGHT.items():
            opened(
                browser,
                f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}",
            )
            browser.until(
                "document.querySelectorAll('ul.search li').length > 0", seconds=10
            )
            first = browser.run(
                "document.querySelector('ul.search li a').getAttribute('href')"
            )
            page, _, anchor = place.partition("#")
            if not first.startswith(f"{page}.html") or anchor not in first:
                yield f"search: {words} finds {first} first, not {place}"


def opened(browser: Page, address: str) -> None:
    browser.events.clear()
    browser.go(address)
    browser.run(
        "document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 150)))"
    )


def chosen(name: str, only: list[str]) -> bool:
    """Whether a page is looked at: copies of source files, which are all alike, only where they are asked for."""
    if only:
        return any(name.startswith(word) for word in only)
    return not name.startswith(("_modules/", "_static/"))


def main() -> None:
    site, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    found = []
    for fault in faults(site, out, sys.argv[3:]):
        found.append(fault)
        print(fault, flush=True)
    print(f"{len(found)} faults; pictures in {out}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
