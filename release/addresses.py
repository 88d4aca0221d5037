"""The addresses of a release: who publishes it and where, written into a copy of the sources.

The sources name neither, since whoever publishes them decides. `make release REPOSITORY=... AUTHOR=...` fills them in.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from environment import Failed

REPOSITORY = re.compile(r"https://([\w.-]+)/([\w.-]+)/([\w.-]+)")
NOBODY = "The randsmooth developers"  # the author that the sources name
README = {  # what pyproject.toml makes of a link or picture of the README -> what a release makes of it
    r"replacement = '(Picture: \1, \2)'": r"replacement = '![\1](REPOSITORY/raw/v$HFPR_VERSION/\2)'",
    r"replacement = '\1 (\2)'": r"replacement = '[\1](REPOSITORY/blob/v$HFPR_VERSION/\2)'",
}
SDIST = "https://pypi.org/packages/source/r/randsmooth/randsmooth-${{ version }}.tar.gz"


def stage(names: set[str], source: Path, folder: Path) -> Path:
    """A copy of these files of `source` below `folder`."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, folder / name)
    return folder


def fill(folder: Path, repository: str, author: str) -> None:
    """Write the address and the author into the sources in `folder`.

    Raises:
        Failed: the repository is no address such as https://github.com/OWNER/NAME, the author has no name, or a place
            where they belong is not found.
    """
    address = REPOSITORY.fullmatch(repository)
    if address is None:
        raise Failed(
            f"{repository!r} is no address of a repository such as https://github.com/OWNER/NAME"
        )
    if not author.strip() or any(mark in author for mark in '"{}\\\n'):
        raise Failed(f"{author!r} is no name of an author")
    home = {
        "Repository": "",
        "Documentation": "/tree/main/docs",
        "Changelog": "/blob/main/CHANGELOG.md",
    }
    urls = "".join(
        f"{name} = {json.dumps(repository + rest)}\n" for name, rest in home.items()
    )
    links = {old: new.replace("REPOSITORY", repository) for old, new in README.items()}
    urls = f"[project.urls]\n{urls}Issues = {json.dumps(f'{repository}/issues')}\n\n[project.scripts]"
    _replace(
        folder / "pyproject.toml", {NOBODY: author, "[project.scripts]": urls, **links}
    )
    cited = f'repository-code: "{repository}"\nlicense:'
    _replace(folder / "CITATION.cff", {NOBODY: author, "license:": cited})
    entry = f"  author = {{{{{author}}}}},\n  url = {{{repository}}},"
    _replace(
        folder / "src/randsmooth/papers/references.bib",
        {f"  author = {{{{{NOBODY}}}}},": entry},
    )
    source = f'url: {SDIST}\n  sha256: "SHA256"  # of the published sdist'
    about = f"about:\n  homepage: {repository}\n  repository: {repository}\n"
    maintainers = (
        f"license_file: LICENSE\n\nextra:\n  recipe-maintainers:\n    - {address[2]}"
    )
    comment = (
        "# The sources at hand. A release takes the published sdist in their place.\n"
    )
    places = {
        comment: "",
        "path: ../..": source,
        "about:\n": about,
        "license_file: LICENSE": maintainers,
    }
    _replace(folder / "release/conda/recipe.yaml", places)


def _replace(path: Path, places: dict[str, str]) -> None:
    text = path.read_text()
    for old, new in places.items():
        if text.count(old) != 1:
            raise Failed(f"{path} should say {old!r} once")
        text = text.replace(old, new)
    path.write_text(text)
