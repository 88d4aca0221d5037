"""The quickstart: how long it takes is said before anything is trained, and its training stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from randsmooth.cli import quickstart as verb
from randsmooth.methods import METHODS
from randsmooth.training import TrainingSettings, duration


class Trained(Exception):
    """Stands for the first training."""


def test_the_time_is_said_before_the_first_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(*_: object, **__: object) -> None:
        raise Trained

    monkeypatch.setattr("randsmooth.training.run.train", train)
    monkeypatch.setattr("randsmooth.training.train", train, raising=False)
    with pytest.raises(Trained):
        verb.quickstart(verb.Quickstart(out=tmp_path / "out", device="cpu"))
    out = capsys.readouterr().out
    assert out.startswith("This takes ") and out.endswith(" on this machine now.\n")
    assert not (tmp_path / "out").exists()


def test_a_slower_machine_is_told_a_longer_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "_certification_seconds", lambda _: 30.0)
    monkeypatch.setattr(duration, "expected_seconds", lambda *_, **__: 10.0)
    assert verb.expected_seconds(verb.Quickstart()) == pytest.approx(2 * 10.0 + 30.0 + verb.REST)
    monkeypatch.setattr(duration, "expected_seconds", lambda *_, **__: 300.0)
    assert verb.in_words(verb.expected_seconds(verb.Quickstart())) == "about 11 minutes"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "less than a minute"), (40, "about 1 minute"), (100, "about 2 minutes"), (605, "about 10 minutes")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert verb.in_words(seconds) == words


def test_longer_runs_are_expected_to_take_longer() -> None:
    short = TrainingSettings(sigma=0.5, epochs=1, take=64)
    assert duration.expected_seconds("digits", short.having(epochs=40), device="cpu") > 4 * duration.expected_seconds(
        "digits", short, device="cpu"
    )


def test_both_methods_are_those_of_the_sentence() -> None:
    assert list(verb.METHODS) == ["gaussian", "amplify"] and set(verb.METHODS) <= set(METHODS)
