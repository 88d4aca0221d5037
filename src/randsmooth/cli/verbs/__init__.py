"""The verbs of the command line by name, listed without importing any of them: each is a function of a module here."""

import pkgutil
import re
from collections.abc import Callable
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
        return first_paragraph(Path(__file__).with_name(f"{self.module}.py"), self.function)

    def load(self) -> Callable[[Any], None]:
        """The function."""
        function: Callable[[Any], None] = pkgutil.resolve_name(f"{__name__}.{self.module}:{self.function}")
        return function


# In the order in which a beginner meets them.
_NAMES = (
    *("quickstart", "train", "train-denoiser", "import", "certify", "assess", "accuracy", "plan", "merge"),
    *("predict", "explain"),
    *("serve", "attack", "from-counts", "evaluate", "compare", "leaderboard", "sweep", "reproduce", "export"),
    *("quantise", "verify", "methods", "cite", "doctor", "completion"),
)
_WITH = {
    **{"train_denoiser": "train", "explain": "predict", "serve": "predict", "reproduce": "sweep"},
    **dict.fromkeys(("plan", "merge", "accuracy"), "certify"),
    **dict.fromkeys(("evaluate", "leaderboard"), "compare"),
    **dict.fromkeys(("import_", "from_counts", "export", "quantise"), "conversion"),
    **dict.fromkeys(("methods", "cite", "completion"), "listings"),
}
_FUNCTIONS = {name: "import_" if name == "import" else name.replace("-", "_") for name in _NAMES}
VERBS = {name: Verb(_WITH.get(function, function), function) for name, function in _FUNCTIONS.items()}
DATA_VERBS = {"list": Verb("listings", "list_"), "describe": Verb("listings", "describe")}  # of `randsmooth data`
