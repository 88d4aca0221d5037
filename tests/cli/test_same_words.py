"""A refused resume says the same on the command line as in Python."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import randsmooth as rs
from certification.runs import StopAfter
from cli.run import Run
from randsmooth.certificates import CertificationSettings
from randsmooth.cli.settings import Settings
from randsmooth.cli.verbs.attack import Attack
from randsmooth.cli.verbs.predict import Predict
from randsmooth.errors import InputError

CERTIFY: dict[str, Any] = {"sigma": 0.25, "take": 2, "n": 50, "n0": 10}
TRAIN: dict[str, Any] = {"dataset": "digits", "sigma": 0.25, "epochs": 1, "take": 64}


def options(values: dict[str, Any]) -> list[str]:
    pairs = [(f"--{name.replace('_', '-')}", value) for name, value in values.items()]
    return [str(word) for flag, value in pairs for word in ((flag,) if value is True else (flag, value))]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words") / "model"
    rs.train(**TRAIN, out=folder)
    return folder


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"resume": True, "n": 60, "seed": 1}, "n: 50 in the file, 60 asked for; seed: 0 in the file, 1 asked for"),
        ({"resume": True, "take": 3}, "take=2, resume=True (--take 2 --resume)"),
        ({}, "To go on with it: resume=True (--resume). To begin anew: overwrite=True (--overwrite)"),
        ({"resume": True, "overwrite": True}, "give one of them"),
    ],
)
def test_certify(flags: dict[str, Any], named: str, model: Path, cli: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    with pytest.raises(KeyboardInterrupt):
        rs.certify(model, out=out, **CERTIFY, progress=lambda *_: nullcontext(StopAfter(1)))
    with pytest.raises(InputError) as python:
        rs.certify(model, out=out, **CERTIFY | flags)
    code, _, err = cli("certify", model, "--out", out, *options(CERTIFY | flags))
    assert (code, err) == (2, f"randsmooth: {python.value}\n")
    assert named in str(python.value)


@pytest.mark.parametrize(
    ("change", "flags", "named"),
    [
        ({"sigma": 0.5}, {"resume": True}, "sigma: 0.25 in the file, 0.5 asked for"),
        (
            {"sigma": 0.5, "seed": 1},
            {"resume": True},
            "seed: 0 in the file, 1 asked for; sigma: 0.25 in the file, 0.5 asked for",
        ),
        ({"seed": 1}, {"resume": True, "accept_changes": True}, "seed cannot change on the way"),
        ({"sigma": 0.5}, {"resume": True}, "resume=True, accept_changes=True (--resume --accept-changes)"),
        ({}, {}, "To go on with it: resume=True (--resume). To begin anew: overwrite=True (--overwrite)"),
        ({}, {"accept_changes": True}, "it needs resume=True (--resume)"),
    ],
)
def test_train(change: dict[str, Any], flags: dict[str, Any], named: str, model: Path, cli: Run) -> None:
    asked = TRAIN | change
    with pytest.raises(InputError) as python:
        rs.train(**asked, out=model, **flags)
    words = options({key: value for key, value in asked.items() if key != "dataset"} | flags)
    code, _, err = cli("train", "digits", "--out", model, *words)
    assert (code, err) == (2, f"randsmooth: {python.value}\n")
    assert named in str(python.value)


OWN_MEANING = {"attack": {"n", "alpha"}}  # of PREDICT at the points found, not of certificates


@pytest.mark.parametrize(("verb", "settings"), [("predict", Predict), ("attack", Attack)])
def test_options_of_certify_are_worded_alike(verb: str, settings: type[Settings], cli: Run) -> None:
    shared = settings.model_fields.keys() & CertificationSettings.model_fields.keys() - OWN_MEANING.get(verb, set())
    assert "seed" in shared
    for name in shared:
        words, theirs = (kind.model_fields[name].description or "" for kind in (CertificationSettings, settings))
        assert theirs.partition(" (default:")[0] == words.partition(" (default:")[0], name
    assert "Seed of the noise. (default: " in " ".join(cli(verb, "--help").out.split())
