"""Ctrl-C: what is kept and how to go on is said, and the exit code is the shell's."""

from __future__ import annotations

import pytest

from cli.run import Run
from randsmooth.cli.main import main


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
    monkeypatch.setattr("randsmooth.papers.reproduction.reproduce", stop)
    code, _, err = cli(*words)
    assert code == 130
    assert told in err


def test_an_interrupt_before_a_verb_begins_costs_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("randsmooth.cli.main.app", stop)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "randsmooth: interrupted\n"
