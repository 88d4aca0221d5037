"""What a person sees of long work, on a terminal and in a log."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from randsmooth import certify, progress, train

INFO = "epoch 1/4  " + "  ".join(f"{name} 1.2521" for name in ("low", "high", "easy_share", "hard_share", "sure_share"))


def test_a_line_tells_the_newest_figures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.console("train", 30, "images") as reporter:
        reporter.advance(10, "loss 0.5")
        monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
        reporter.advance(10)
    assert "train  20/30 images" in (line := capsys.readouterr().out.splitlines()[-1])
    assert line.endswith("loss 0.5")


@pytest.mark.parametrize("width", [80, 120, 160])
def test_a_narrow_terminal_cuts_the_figures_alone(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("rich.progress.get_console", lambda: console)
    with progress.console("train cat-rs", 1000, "images") as reporter:
        reporter.advance(420, INFO)
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert "train cat-rs" in told and "42%" in told and "images/s" in told and "━" in told
    assert ("sure_share" in told, "…" in told) == ((True, False) if width == 160 else (False, True))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (io.StringIO, False)])
def test_a_library_call_shows_a_bar_on_a_terminal_alone(
    stream: type[io.StringIO], shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stderr, so that stdout is the program's own."""
    monkeypatch.setattr(sys, "stderr", err := stream())
    monkeypatch.setattr(sys, "stdout", out := stream())
    train("digits", sigma=0.25, take=64, epochs=1, out=tmp_path / "m")
    certify(tmp_path / "m", take=2, n=100, out=tmp_path / "m.parquet")
    told = err.getvalue()
    assert ("train gaussian" in told and "certify m" in told and "images/s" in told) == shown
    assert bool(told) == shown
    assert out.getvalue() == ""


def test_asked_for_it_is_shown_or_not_whatever_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", err := Terminal())
    train("digits", sigma=0.25, take=64, epochs=1, out=tmp_path / "m", progress=False)
    assert err.getvalue() == "" and capsys.readouterr().out == ""
    certify(tmp_path / "m", take=2, n=100, out=tmp_path / "m.parquet", progress=True)
    assert "certify m  2/2 images" in capsys.readouterr().out
