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
TRAIN: dict[str, Any] = {"sigma": 0.25, "epochs": 1, "take": 64}


def options(values: dict[str, Any]) -> list[str]:
    pairs = [(f"--{name.replace('_', '-')}", value) for name, value in values.items()]
    return [str(word) for flag, value in pairs for word in ((flag,) if value is True else (flag, value))]


CERTIFY_AGAIN: list[tuple[dict[str, Any], str]] = [
    ({"resume": True, "n": 60, "seed": 1}, "n: 50 in the file, 60 asked for; seed: 0 in the file, 1 asked for"),
    ({"resume": True, "take": 3}, "take=2, resume=True (--take 2 --resume)"),
    ({}, "To go on with it: resume=True (--resume). To begin anew: overwrite=True (--overwrite)"),
    ({"resume": True, "overwrite": True}, "give one of them"),
]
TRAIN_AGAIN: list[tuple[dict[str, Any], str]] = [
    ({"sigma": 0.5, "seed": 1, "resume": True}, "seed: 0 in the file, 1 asked for; sigma: 0.25 in the file, 0.5"),
    ({"seed": 1, "resume": True, "accept_changes": True}, "seed cannot change on the way"),
    ({"sigma": 0.5, "resume": True}, "resume=True, accept_changes=True (--resume --accept-changes)"),
    ({}, "To go on with it: resume=True (--resume). To begin anew: overwrite=True (--overwrite)"),
    ({"accept_changes": True}, "it needs resume=True (--resume)"),
]


def test_a_refused_certification_says_the_same(made: Path, cli: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    with pytest.raises(KeyboardInterrupt):
        rs.certify(made / "model", out=out, **CERTIFY, progress=lambda *_: nullcontext(StopAfter(1)))
    for flags, named in CERTIFY_AGAIN:
        with pytest.raises(InputError) as python:
            rs.certify(made / "model", out=out, **CERTIFY | flags)
        code, _, err = cli("certify", made / "model", "--out", out, *options(CERTIFY | flags))
        assert (code, err) == (2, f"randsmooth: {python.value}\n") and named in err, flags


def test_a_refused_training_says_the_same(cli: Run, tmp_path: Path) -> None:
    rs.train("digits", **TRAIN, out=tmp_path / "m")
    for flags, named in TRAIN_AGAIN:
        with pytest.raises(InputError) as python:
            rs.train("digits", **TRAIN | flags, out=tmp_path / "m")
        code, _, err = cli("train", "digits", "--out", tmp_path / "m", *options(TRAIN | flags))
        assert (code, err) == (2, f"randsmooth: {python.value}\n") and named in err, flags


def test_options_of_certify_are_worded_alike(cli: Run) -> None:
    own_meaning: dict[type[Settings], set[str]]
    own_meaning = {Predict: set(), Attack: {"n", "alpha"}}  # of PREDICT at the points found, not of certificates
    for settings, own in own_meaning.items():
        shared = settings.model_fields.keys() & CertificationSettings.model_fields.keys() - own
        assert "seed" in shared
        for name in shared:
            words, theirs = (kind.model_fields[name].description or "" for kind in (CertificationSettings, settings))
            assert theirs.partition(" (default:")[0] == words.partition(" (default:")[0], name
    assert "Seed of the noise. (default: " in " ".join(cli("predict", "--help").out.split())
