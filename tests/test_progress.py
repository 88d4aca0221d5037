"""What a person sees of long work, on a terminal and in a log."""

import io
import sys

import pytest
from rich.console import Console

from randsmooth import progress

INFO = "epoch 1/4  " + "  ".join(
    f"{name} 1.2521"
    for name in ("low", "high", "easy_share", "hard_share", "sure_share")
)


def test_a_line_tells_the_newest_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.console("train", 30, "images") as reporter:
        reporter.advance(10, "loss 0.5")
        monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
        reporter.advance(10)
    assert "train  20/30 images" in (line := capsys.readouterr().err.splitlines()[-1])
    assert line.endswith("loss 0.5")


def test_a_narrow_terminal_cuts_the_figures_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for width in (80, 120, 160):
        console = Console(file=io.StringIO(), force_terminal=True, width=width)
        with monkeypatch.context() as patch:
            patch.setattr(sys.stderr, "isatty", lambda: True)
            patch.setattr("rich.console.Console", lambda found=console, **_: found)
            # An error leaves the bar where it was.
            with (
                pytest.raises(KeyboardInterrupt),
                progress.console("train cat-rs", 1000, "images") as reporter,
            ):
                reporter.advance(420, INFO)
                raise KeyboardInterrupt
        told = console.file.getvalue()  # type: ignore[attr-defined]
        assert (
            "train cat-rs" in told
            and "42%" in told
            and "images/s" in told
            and "━" in told
        ), width
        assert ("sure_share" in told, "…" in told) == (
            (True, False) if width == 160 else (False, True)
        ), width


def test_a_bar_that_stops_on_purpose_ends_as_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with monkeypatch.context() as patch:
        patch.setattr(sys.stderr, "isatty", lambda: True)
        patch.setattr("rich.console.Console", lambda **_: console)
        with progress.console("plan", 1000, "images") as reporter:
            reporter.advance(420)
    assert "100%" in console.file.getvalue()  # type: ignore[attr-defined]
