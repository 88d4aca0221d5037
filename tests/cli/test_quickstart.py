"""The quickstart: how long it takes is said before anything is trained, and its training stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.processes import Run
from randsmooth.cli.verbs import quickstart as verb


class Trained(Exception):
    """Stands for the first training."""


def stop(*_: object, **__: object) -> None:
    raise Trained


def test_the_time_is_said_before_the_first_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verb, "_trained_and_certified", stop)
    with pytest.raises(Trained):
        verb.quickstart(verb.Quickstart(out=tmp_path / "out", device="cpu"))
    said = capsys.readouterr().err
    assert said.startswith("note: this takes ") and said.rstrip().endswith("on this machine now")


def test_an_earlier_one_is_refused_or_gone_on_with_before_anything_is_timed(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "expected_seconds", stop)
    for name in ("gaussian/config.json", "amplify/config.json", "gaussian.parquet", "amplify.parquet"):
        path = tmp_path / name.replace("/", "-") / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
        refused = cli("quickstart", "--out", tmp_path / name.replace("/", "-"), "--device", "cpu")
        assert refused.code == 2 and refused.out == "" and name.partition("/")[0] in refused.err, name
        assert "--resume" in refused.err and "--overwrite" in refused.err, name
        assert f"--out {tmp_path / name.replace('/', '-')}-2" in refused.err, name
    (path.parent / "report.html").touch()
    refused = cli("quickstart", "--out", path.parent, "--device", "cpu")
    assert refused.code == 2 and f"is finished, look at {path.parent / 'report.html'}" in refused.err
    refused = cli("quickstart", "--out", path / "below", "--device", "cpu")
    assert refused.code == 2 and f"{path / 'below'} cannot be made" in refused.err and "--resume" not in refused.err
    monkeypatch.setattr(verb, "_trained_and_certified", stop)
    with pytest.raises(Trained):
        verb.quickstart(verb.Quickstart(out=path.parent, device="cpu", resume=True))
