"""Ctrl-C: what is kept and how to go on is said, and the exit code is the shell's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("train", "digits", "--sigma", 0.25), "--resume goes on"),
        (("reproduce", "acr/table2"), "randsmooth: interrupted"),
    ],
)
def test_an_interrupted_verb_says_how_to_go_on(
    cli: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    def stop(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("randsmooth.training.train", stop)
    monkeypatch.setattr("randsmooth.papers.reproduce.reproduce", stop)
    code, _, err = cli(*words)
    assert code == 130
    assert told in err
