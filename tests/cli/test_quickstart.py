"""The quickstart: how long it takes is said before anything is trained, and its training stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from randsmooth.cli.verbs import quickstart as verb
from randsmooth.errors import InputError
from randsmooth.methods import METHODS
from randsmooth.training import run as runs


class Trained(Exception):
    """Stands for the first training."""


def test_the_time_is_said_before_the_first_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Trained

    monkeypatch.setattr("randsmooth.training.run.train", stop)
    monkeypatch.setattr("randsmooth.training.train", stop, raising=False)
    with pytest.raises(Trained):
        verb.quickstart(verb.Quickstart(out=tmp_path / "out", device="cpu"))
    out = capsys.readouterr().out
    assert out.startswith("This takes ") and out.endswith(" on this machine now.\n")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def no_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test in which the quickstart times a step."""

    def expected_seconds(*_: object) -> float:
        raise AssertionError("timed")

    monkeypatch.setattr(verb, "expected_seconds", expected_seconds)


@pytest.mark.usefixtures("no_timing")
def test_an_earlier_output_is_refused_before_anything_is_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases: list[str] = ["gaussian/config.json", "amplify/config.json", "gaussian.parquet", "amplify.parquet"]
    for name in cases:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
        with pytest.raises(InputError, match=f"{name.partition('/')[0]}.*overwrite"):
            verb.quickstart(verb.Quickstart(out=tmp_path, device="cpu"))
        assert not capsys.readouterr().out
        path.unlink()
        if path.parent != tmp_path:
            path.parent.rmdir()


@pytest.mark.usefixtures("no_timing")
def test_no_time_is_announced_where_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise Trained

    monkeypatch.setattr(verb, "_left", lambda *_: verb.Left(0.0, 0.0))
    monkeypatch.setattr(verb, "_trained_and_certified", stop)
    with pytest.raises(Trained):
        verb.quickstart(verb.Quickstart(out=tmp_path, device="cpu", resume=True))
    assert not capsys.readouterr().out


def test_a_slower_machine_is_told_a_longer_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "_certification_seconds", lambda _: 15.0)
    monkeypatch.setattr(runs, "expected_seconds", lambda *_, **__: 10.0)
    everything = {method: verb.Left(1.0, 1.0) for method in verb.METHODS}
    assert verb.expected_seconds(verb.Quickstart(), everything) == pytest.approx(2 * (10.0 + 15.0) + verb.REST)
    monkeypatch.setattr(runs, "expected_seconds", lambda *_, **__: 300.0)
    assert verb.in_words(verb.expected_seconds(verb.Quickstart(), everything)) == "about 11 minutes"


def test_times_in_words() -> None:
    cases: list[tuple[float, str]] = [
        (5, "less than a minute"),
        (40, "about 1 minute"),
        (100, "about 2 minutes"),
        (605, "about 10 minutes"),
    ]
    for seconds, words in cases:
        assert verb.in_words(seconds) == words


def test_both_methods_are_those_of_the_sentence() -> None:
    assert list(verb.METHODS) == ["gaussian", "amplify"] and set(verb.METHODS) <= set(METHODS)
