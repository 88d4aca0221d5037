"""`randsmooth check`: exit codes, formats and refusals of a gate."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.processes import Run
from randsmooth.certificates import from_radii, write_tsv

COLUMNS = 80


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log of 200 images, 75% of them certified at 0.5, and an older one."""
    monkeypatch.chdir(tmp_path)
    write_tsv(from_radii([0.8] * 150 + [0.1] * 50), "new.tsv")
    write_tsv(from_radii([0.8] * 152 + [0.1] * 148), "old.tsv")
    Path("gate.yaml").write_text("- {at: 0.5, least: 0.6}\n- {at: 0.05, least: 0.9}\n")
    return tmp_path


CODES = {
    "--at 0.5 --least 0.6": 0,
    "--at 0.5 --least 0.9": 1,
    "--at 0.5 --least 0.7": 3,
    "--at 0.5 --least 0.7 --confidence 0.9": 0,
    "--at 0.5 --least 0.69 --runs 20": 3,
    "--at 0.5 --baseline old.tsv --margin 0.05": 0,
    "--at 0.5 --baseline old.tsv --margin 0.02": 3,
    "--conditions gate.yaml": 0,
    "--conditions gate.yaml --at 0.5 --least 0.9": 1,
}


@pytest.mark.parametrize(("options", "code"), CODES.items())
def test_the_exit_code_tells_the_outcome(
    options: str, code: int, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    done = cli("check", "new.tsv", "--sigma", 0.5, *options.split())
    assert done.code == code, done.out + done.err
    assert all(len(line) <= COLUMNS for line in done.out.splitlines())


def test_programs_read_the_answer(cli: Run) -> None:
    words = ("check", "new.tsv", "--sigma", 0.5, "--at", 0.5, "--least", 0.9)
    told = json.loads(cli(*words, "--format", "json").out)
    assert told["outcome"] == "refuted"
    suite = ElementTree.fromstring(cli(*words, "--format", "junit").out.encode())
    assert suite.get("failures") == "1"
    assert cli(*words, "--format", "github").out.startswith("::error ")


def test_what_cannot_be_checked_is_refused(cli: Run) -> None:
    for options in (
        "",
        "--least 0.6",
        "--at 0.5",
        "--at 0.5 --least 60",
        "--at 0.5 --baseline old.tsv",
        "--conditions none.yaml",
        "--at 9 --least 0.1 --n 1000 --alpha 0.001",
    ):
        done = cli("check", "new.tsv", "--sigma", 0.5, *options.split())
        assert done.code == 2 and done.out == "", options
