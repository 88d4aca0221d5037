"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.run import Result, Run
from randsmooth.cli.main import main


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs a command line in an empty folder; its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)  # a verb that wrongly starts must not write into the checkout

    def run(*words: object) -> Result:
        monkeypatch.setattr("sys.argv", ["randsmooth", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Result(int(stop.value.code or 0), printed.out, printed.err)

    return run
