"""What docs/departures.md says one can ask for can be asked for, and changes something."""

import re
from pathlib import Path
from typing import Any

import yaml

from randsmooth import methods

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "departures.md").read_text()
COMMANDS = re.findall(r"`--method ([\w-]+)((?: --set [^\s`]+)+)`", PAGE)


def settings(words: str) -> dict[str, Any]:
    return {key: yaml.safe_load(value) for key, value in re.findall(r"--set ([^=\s]+)=(\S+)", words)}


def test_an_option_of_the_page_is_one_of_the_method() -> None:
    assert len(COMMANDS) >= 8
    for method, words in COMMANDS:
        hyper = settings(words)
        needed = {"discard": False} if hyper.get("E_t") == 0 else {}  # with it, images would go before any training
        assert methods.create(method, **hyper, **needed) != methods.create(method, **needed), words
        assert all(re.search(rf"\b{key}\b", methods.METHODS[method].__doc__ or "") for key in hyper), words
