"""`randsmooth doctor` on this machine, and on machines where something is missing or broken."""

import json
import re
from pathlib import Path

import pytest

from cli.processes import Run
from fresh import commands
from randsmooth.certification.backends import BACKENDS
from randsmooth.extras import EXTRAS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with the cache and the data sets below it."""
    folder = tmp_path / "home"
    (folder / "data" / "mnist").mkdir(parents=True)
    for name, value in (
        ("HOME", folder),
        ("RANDSMOOTH_CACHE", folder / "cache"),
        ("RANDSMOOTH_DATA", folder / "data"),
    ):
        monkeypatch.setenv(name, str(value))
    return folder


def test_the_report_says_what_is_here_and_names_neither_home_nor_secrets(
    cli: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "AWS_SECRET_ACCESS_KEY",
        "WANDB_API_KEY",
        "HF_TOKEN",
        "MLFLOW_TRACKING_URI",
        "SOMETHING_ELSE",
    ):
        monkeypatch.setenv(name, "open-sesame")
    done = cli.done("doctor")
    assert str(home) not in done.out and "open-sesame" not in done.out
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert lines["mnist"].split()[1:] == ["~/data/mnist"] and lines["cache"].split()[
        1:
    ] == ["~/cache"]
    assert (
        re.search(r"^  torch +\d", done.out, re.MULTILINE)
        and "threads in torch" in lines["cpu"]
    )
    assert done.out.splitlines()[-1] == "nothing is broken"


def test_without_any_extra_it_says_what_to_install(tmp_path: Path) -> None:
    ((code, said, _),) = commands(
        [["doctor", "--format", "json"]], tmp_path, without={*EXTRAS}
    )
    assert code == 0, said
    found, _ = json.JSONDecoder().raw_decode(said)
    assert {*found["missing"]} == {*EXTRAS}
    assert all("pip install" in said for said in found["missing"].values())
    assert (
        found["backends"] == {}
        and "from the hub once the extra hub is installed" in found["data sets"]["svhn"]
    )


def test_what_is_broken_is_named_and_the_rest_is_looked_at(
    cli: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> bool:
        raise OSError("libopenvino.so: cannot open shared object file")

    (home / "file").write_text("")
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(home / "file"))
    monkeypatch.setattr(BACKENDS["openvino"], "installed", fails)
    done = cli("doctor")
    assert done.code == 1
    said = [line for line in done.out.splitlines() if line.startswith("BROKEN: ")]
    expected = [
        "~/file .*set RANDSMOOTH_CACHE",
        "backend openvino: OSError: libopenvino.so",
    ]
    for words, line in zip(expected, said, strict=True):
        assert re.search(words, line), line
    assert "  torch           installed" in done.out
