"""`randsmooth.certify`: any model, any data set, one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import randsmooth as rs
from randsmooth.certification.order import choose
from randsmooth.errors import InputError


@pytest.fixture(scope="module")
def own() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()


def test_a_model_of_ones_own(own: nn.Module, tmp_path: Path) -> None:
    table = rs.certify(own, "digits", sigma=0.25, take=8, n=200, out=tmp_path / "own.parquet")
    again = rs.read(tmp_path / "own.parquet")
    assert len(table) == 8
    assert again.header.model is not None and again.header.behaviour is not None
    assert (again.header.model["arch"], *again.header.model) == ("Sequential", "weights", "arch")
    assert again.header.behaviour.keys() == {"made-up images", "own images"}
    x, _ = rs.data.load("digits", "test").batch(torch.tensor(table.idx))
    direct = rs.SmoothedClassifier(own, sigma=0.25, seed=0).certify(x, n=200)
    assert np.array_equal(direct.counts, again.evidence()[1])
    assert "own" in rs.report.render([again])


def test_logits_for_other_classes_are_refused(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 7)).eval()
    with pytest.raises(InputError, match="7 logits; digits has 10 classes"):
        rs.certify(model, "digits", sigma=0.25, take=2, n=100, out=tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": None}, "does not say its sigma"),
        ({"dataset": None}, "does not say its dataset"),
        ({"out": "a.tsv"}, r"a.tsv must end in .parquet"),
        ({"take": 3, "skip": 3}, "one of them"),
        ({"device": "tpu"}, "auto, cpu, cuda or"),
        ({"split": "valid"}, "train"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str, own: nn.Module, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"dataset": "digits", "sigma": 0.5, "out": "a.parquet", "n": 100} | options
    with pytest.raises(InputError, match=message):
        rs.certify(own, asked.pop("dataset"), **asked | {"out": tmp_path / asked["out"]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("take", "skip", "first", "count", "words"),
    [
        (None, None, [0, 1, 2], 100, "all 100"),
        (5, None, [0, 20, 40], 5, "take 5"),
        (None, 20, [0, 20, 40], 5, "one in 20 of 100"),
    ],
)
def test_choosing(take: int | None, skip: int | None, first: list[int], count: int, words: str) -> None:
    indices, said = choose(100, take, skip)
    assert (indices[:3], len(indices)) == (first, count)
    assert words in said


def test_a_loaded_data_set_is_certified_as_by_its_name(own: nn.Module, tmp_path: Path) -> None:
    settings = rs.CertificationSettings(sigma=0.5, n=100)
    loaded = rs.certify(own, rs.data.load("digits", "test"), settings, take=3, out=tmp_path / "a.parquet")
    named = rs.certify(own, "digits", settings, take=3, out=tmp_path / "b.parquet")
    assert loaded.header == named.header and np.array_equal(loaded.evidence(), named.evidence())


def test_settings_in_place_of_the_data_set_are_sent_to_their_argument(own: nn.Module, tmp_path: Path) -> None:
    certification, training = rs.CertificationSettings(sigma=0.5), rs.TrainingSettings(sigma=0.5)
    with pytest.raises(InputError, match=r"is a CertificationSettings; .* are the third argument: settings="):
        rs.certify(own, certification, out=tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"is a TrainingSettings; .* are the second argument: settings="):
        rs.train(training, out=tmp_path / "a")
