"""What a person sees of long work, on a terminal and in a log."""

import io
import sys
from pathlib import Path
from typing import Any

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


def test_a_narrow_terminal_cuts_the_figures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 120, 160):
        console = Console(file=io.StringIO(), force_terminal=True, width=width)
        with monkeypatch.context() as patch:
            patch.setattr(sys.stdout, "isatty", lambda: True)
            patch.setattr("rich.progress.get_console", lambda found=console: found)
            with progress.console("train cat-rs", 1000, "images") as reporter:
                reporter.advance(420, INFO)
        told = console.file.getvalue()  # type: ignore[attr-defined]
        assert "train cat-rs" in told and "42%" in told and "images/s" in told and "━" in told, width
        assert ("sure_share" in told, "…" in told) == ((True, False) if width == 160 else (False, True)), width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_library_call_shows_a_bar_on_a_terminal_alone_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, so that stdout is the program's own."""
    for stream, shown, asked in ((Terminal, True, None), (io.StringIO, False, None), (Terminal, False, False)):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", err := stream())
            patch.setattr(sys, "stdout", out := stream())
            run: dict[str, Any] = {"progress": asked, "overwrite": True}
            train("digits", sigma=0.25, take=64, epochs=1, out=tmp_path / "m", **run)
            certify(tmp_path / "m", take=2, n=100, out=tmp_path / "m.parquet", **run)
        told = err.getvalue()
        assert ("train gaussian" in told and "certify m" in told and "images/s" in told) == shown == bool(told)
        assert out.getvalue() == ""
    capsys.readouterr()
    certify(tmp_path / "m", take=2, n=100, out=tmp_path / "m.parquet", progress=True, overwrite=True)
    assert "certify m  2/2 images" in capsys.readouterr().out
