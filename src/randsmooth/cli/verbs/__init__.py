"""The verbs of the command line by name, listed without importing any of them: each is a function of a module here."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


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
        """The first paragraph of the function's docstring, read from the source."""
        source = Path(__file__).with_name(f"{self.module}.py").read_text(encoding="utf-8")
        found = re.search(rf'^def {self.function}\([^\n]*\n    """(.*?)(?:\n\n|""")', source, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    def load(self) -> Callable[[Any], None]:
        """The function."""
        function: Callable[[Any], None] = pkgutil.resolve_name(f"{__name__}.{self.module}:{self.function}")
        return function


# Verb -> its module where that is not its name; in the order in which a beginner meets them.
_MODULES = {
    **dict.fromkeys(("quickstart", "train"), ""),
    **{"train-denoiser": "train", "import": "import_", "certify": "", "accuracy": "", "plan": "certify"},
    **dict.fromkeys(("merge", "predict", "explain", "serve", "attack", "from-counts", "evaluate", "compare"), ""),
    **dict.fromkeys(("leaderboard", "sweep", "reproduce", "export", "quantise", "verify", "methods", "cite"), ""),
    **dict.fromkeys(("doctor", "completion"), ""),
}
_FUNCTIONS = {name: "import_" if name == "import" else name.replace("-", "_") for name in _MODULES}
VERBS = {name: Verb(module or _FUNCTIONS[name], _FUNCTIONS[name]) for name, module in _MODULES.items()}
DATA_VERBS = {"list": Verb("data", "list_"), "describe": Verb("data", "describe")}  # of `randsmooth data`
