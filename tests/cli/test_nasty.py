"""What files are called and hold, on a terminal: nothing of it acts, and no name forges a line."""

import io
import sys
import warnings
from pathlib import Path

import pytest

from cli.processes import Run, unwrapped
from cli.test_leaderboard import certificates
from nasty import NASTY
from randsmooth import progress
from randsmooth.errors import Problem
from randsmooth.notes import Note


def file_name(text: str) -> str:
    """The longest beginning of `text` that can be a file's name, and is no option."""
    name = (
        f"x{text}".replace("/", "|").replace("\0", "").encode(errors="ignore").decode()
    )
    while len(name.encode()) > 200:
        name = name[:-1]
    return name


def names() -> list[str]:
    return [
        *{
            file_name(text[:250]): None
            for name, text in NASTY.items()
            if name != "empty"
        }
    ]


def quiet(*streams: str) -> bool:
    return all(line.isprintable() for stream in streams for line in stream.split("\n"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in a file for each nasty name, a third of them damaged."""
    folder = tmp_path_factory.mktemp("certificates")
    for place, name in enumerate(names()):
        path = certificates(folder / f"{name}.parquet")
        if place % 3 == 2:
            path.write_bytes(path.read_bytes()[:-200])
    return folder


def test_verbs_that_read_certificates(folder: Path, cli: Run, tmp_path: Path) -> None:
    whole = [
        folder / f"{name}.parquet"
        for place, name in enumerate(names())
        if place % 3 < 2
    ]
    for form in ("text", "md", "latex", "csv", "json"):
        code, out, err = cli(
            "evaluate", *whole[:: 4 if form == "text" else 9], "--format", form
        )
        assert code == 0 and quiet(out, err), form
    first = cli("evaluate", *whole[:9], "--format", "csv")[1]
    second = cli("evaluate", *whole[9:18], "--format", "csv")[1]
    assert first.count("\n") == second.count("\n")
    code, out, err = cli("leaderboard", folder, "--out", tmp_path / "board.html")
    assert (
        code == 0
        and quiet(out, err)
        and err.count("note: skipped") == unwrapped(err).count("\n") == 1
    )  # all with one fault
    assert (
        f"{len(names()) // 3} files could not be used"
        in (tmp_path / "board.html").read_text()
    )
    drawn = ("--figures", "png", "--tables", "text,md,latex,csv,json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks
        code, out, err = cli(
            "compare",
            *whole[:4],
            *drawn,
            "--out",
            tmp_path / f"{file_name(NASTY['colour'])}.html",
        )
    assert code == 0 and quiet(out, err)
    code, out, err = cli(
        "export", whole[3], "--out", tmp_path / file_name(NASTY["forged lines"])
    )
    assert code == 0 and quiet(out, err) and out.count("\n") == err.count("\n") == 1


def test_an_error_quotes_it_on_one_line(
    monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    for name, text in NASTY.items():

        def fail(*_: object, text: str = text, **__: object) -> None:
            warnings.warn(Note("of_the_model", text=text), stacklevel=1)
            raise Problem(f"{text} cannot be read")

        monkeypatch.setattr("randsmooth.cli.certificate_files.load", fail)
        code, out, err = cli("evaluate", "a.parquet")
        assert code == 2 and out == "" and quiet(err) and len(err) < 20_000, name
        assert [line.split(":")[0] for line in unwrapped(err).splitlines()] == [
            "note",
            "randsmooth",
        ], name


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_of_work_on_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, where the bar itself moves the cursor, as much as with a plain title; in a log, not at all."""
    for text in NASTY.values():
        for stream in (Terminal(), io.StringIO()):
            monkeypatch.setattr(sys, "stderr", stream)
            with progress.console(text, 3, "images") as reporter:
                reporter.advance(3, text)
                reporter.say(text)
            told = stream.getvalue()
            assert told
            moves = (
                told.replace("\x1b[", "").replace("\r", "") if stream.isatty() else told
            )
            assert quiet(moves.replace("\x1b", "")) and "]0;" not in moves.replace(
                r"\x1b]0;", ""
            )
            assert (
                not any(acts in told for acts in ("\x07", "\x9b", "\x1b]", "\x1b[31m"))
                and len(told) < 250_000
            )
