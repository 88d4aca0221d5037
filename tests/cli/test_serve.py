"""What `randsmooth serve` refuses before anything is started."""

from __future__ import annotations

import re

import pytest

from cli.run import Run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], "none is not a folder"),
        (["{model}", "--seconds", 0], "seconds=0.0 must be above 0"),
        (["{model}", "--alpha", 2], "alpha"),
        (["{model}", "--space", "out", "--host", "0.0.0.0"], "--host is not for a Space"),
        (["{model}", "--space", "{model}"], "is not empty"),
        (["{model}", "--space", "out", "--dataset", "images/"], "no folder of yours"),
    ],
)
def test_what_cannot_be_served_is_refused(cli: Run, model: object, words: list[object], said: str) -> None:
    done = cli("serve", *(str(word).format(model=model) for word in words))
    assert done.code == 2 and re.search(re.escape(said), done.err), done.err
