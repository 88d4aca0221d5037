"""The verbs of the command line by name, listed without importing any of them: each is a function of a module here."""

import pkgutil
import re
from collections.abc import Callable
from keyword import iskeyword
from pathlib import Path
from typing import Any, NamedTuple


def first_paragraph(file: Path, name: str) -> str:
    """The first paragraph of the docstring of a function or class, on one line, read from the source."""
    head = rf'^(?:def|class) {name}\([^\n]*\n    """(.*?)(?:\n\n|""")'
    found = re.search(head, file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


class Verb(NamedTuple):
    """A verb that may not be imported yet.

    Attributes:
        module: the module of this folder that holds it.
        function: the function there that takes its settings and runs it.
    """

    module: str
    function: str

    @property
    def help(self) -> str:
        """The first paragraph of the function's docstring."""
        return first_paragraph(
            Path(__file__).with_name(f"{self.module}.py"), self.function
        )

    def load(self) -> Callable[[Any], None]:
        """The function."""
        function: Callable[[Any], None] = pkgutil.resolve_name(
            f"{__name__}.{self.module}:{self.function}"
        )
        return function


# Verbs in the order in which a beginner meets them; behind a colon the module of one that has none of its own.
_LISTED = """
quickstart train train-denoiser:train import:conversion certify assess accuracy:certify plan:certify merge:certify
predict explain:predict serve:predict attack from-counts:conversion evaluate:compare compare leaderboard:compare sweep
reproduce export:conversion quantise:conversion verify methods:listings cite:listings doctor completion:listings
"""
VERBS = {
    name: Verb(module or name, f"{name.replace('-', '_')}{'_' * iskeyword(name)}")
    for name, _, module in (each.partition(":") for each in _LISTED.split())
}
DATA_VERBS = {
    "list": Verb("listings", "list_"),
    "describe": Verb("listings", "describe"),
}  # of `randsmooth data`
