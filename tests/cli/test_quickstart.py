"""What is there at once: the quickstart, whose time is said first, and the two models that come with the package."""

from pathlib import Path

import pytest
import torch

import randsmooth as rs
from cli.processes import Run
from randsmooth import models
from randsmooth.cli.verbs import quickstart as verb
from randsmooth.models.places import DEMOS, shipped


class Trained(Exception):
    """Stands for the first training."""


def stop(*_: object, **__: object) -> None:
    raise Trained


def test_the_time_is_said_before_the_first_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verb, "_trained_and_certified", stop)
    with pytest.raises(Trained):
        verb.run(verb.Quickstart(out=tmp_path / "out", device="cpu"))
    said = capsys.readouterr().err
    assert said.startswith("note: this takes ") and said.rstrip().endswith(
        "on this machine now"
    )


def test_an_earlier_one_is_refused_or_gone_on_with_before_anything_is_timed(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "expected_seconds", stop)
    for name in (
        "gaussian/config.json",
        "amplify/config.json",
        "gaussian.parquet",
        "amplify.parquet",
    ):
        path = tmp_path / name.replace("/", "-") / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
        refused = cli(
            "quickstart", "--out", tmp_path / name.replace("/", "-"), "--device", "cpu"
        )
        assert (
            refused.code == 2
            and refused.out == ""
            and name.partition("/")[0] in refused.err
        ), name
        assert "--resume" in refused.err and "--overwrite" in refused.err, name
        assert f"--out {tmp_path / name.replace('/', '-')}-2" in refused.err, name
    (path.parent / "report.html").touch()
    refused = cli("quickstart", "--out", path.parent, "--device", "cpu")
    assert (
        refused.code == 2
        and f"is finished, look at {path.parent / 'report.html'}" in refused.err
    )
    refused = cli("quickstart", "--out", path / "below", "--device", "cpu")
    assert (
        refused.code == 2
        and f"{path / 'below'} cannot be made" in refused.err
        and "--resume" not in refused.err
    )
    monkeypatch.setattr(verb, "_trained_and_certified", stop)
    with pytest.raises(Trained):
        verb.run(verb.Quickstart(out=path.parent, device="cpu", resume=True))


MOST = 150_000  # bytes of one
FEWEST = {
    "demo": 0.9,
    "demo-amplify": 0.7,
}  # share of the test digits that it gets right without noise


def test_both_are_small_whole_and_know_digits() -> None:
    images = rs.data.load("digits", "test")
    x, y = images.batch(torch.arange(len(images)))
    methods = {"demo": "gaussian", "demo-amplify": "amplify"}
    for name in DEMOS:
        folder = Path(shipped(name))
        assert sum(path.stat().st_size for path in folder.iterdir()) < MOST, name
        assert "as they were saved" in models.check_folder(name), name
        model = models.load(name)
        known = {"dataset": "digits", "sigma": 0.5, "seed": 0, "method": methods[name]}
        assert known.items() <= model.provenance.items(), name
        with torch.inference_mode():
            assert float((model(x).argmax(1) == y).float().mean()) > FEWEST[name], name


def test_a_model_folder_of_that_name_comes_first_and_nothing_else_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    assert len(models.load("demo").classes) == 10  # a folder that holds no model
    models.save(
        models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8]),
        "demo",
    )
    assert models.load("demo").classes == ["cat", "dog"]
    assert len(models.load("demo-amplify").classes) == 10
    with pytest.raises(rs.Problem, match=r"demos.* demo or demo-amplify"):
        rs.load_model("demos")


def test_every_verb_takes_them(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = "--n 300 --n0 20"
    for words in (
        f"certify demo --take 4 {few}",
        f"certify demo demo-amplify --ensemble vote --take 2 {few} --out both.parquet",
        "attack demo demo.parquet --take 1 --n 300 --steps 1 --m 4",
        f"explain demo-amplify digits:17 {few} --no-attack",
        "accuracy demo --radius 0.25 --take 4 --n 300 --out accuracy.parquet",
        "plan demo --take 4 --n 300 --seconds 1",
        "verify demo demo-amplify demo.parquet",
        "cite demo",
    ):
        cli.done(*words.split())
    assert len(rs.certify("demo", "digits", n=300, n0=20, take=2)) == 2
    assert Path("explanation.html").is_file() and not Path("demo").exists()
