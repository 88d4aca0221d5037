"""Does the built site describe every public name and every option of the command line?

python docs/_checks/complete.py SITE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from links import read

sys.path.insert(0, str(Path(__file__).parents[1] / "_ext"))

from public_names import PLACES, ROOMS
from verbs import every_verb, options_of


def missing(site: Path) -> Iterator[str]:
    """What has no entry of its own."""
    for place in dict.fromkeys(PLACES.values()):
        room = place.split(".")[1]
        page = room if room in ROOMS else "index"
        if place not in read(site / "api" / f"{page}.html").anchors:
            yield f"api/{page}.html does not describe {place}"
    there = read(site / "command-line.html").anchors
    for name, verb in every_verb():
        for option in options_of(verb):
            anchor = f"cmdoption-randsmooth-{name.replace(' ', '-')}-{option.lstrip('-')}"
            if anchor not in there:
                yield f"command-line.html does not describe {option} of {name}"


def main() -> None:
    faults = [*missing(Path(sys.argv[1]).resolve())]
    print("\n".join([*faults, f"{len(faults)} names and options without an entry"]))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
