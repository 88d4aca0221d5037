"""Columns of categories are held fixed: noise is on the numbers alone, and certificates are about these."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

import randsmooth as rs
from models.refusing import check_refusals
from randsmooth.app import assessing
from randsmooth.app.assessment_page import assessment_page
from randsmooth.certificates import write_tsv
from randsmooth.certification import RunSpec, attack, notes_of
from randsmooth.errors import (
    BadValue,
    NotComparable,
    WrongData,
    WrongModel,
    WrongTable,
)
from randsmooth.metrics import require_one_norm
from randsmooth.noise import Gaussian, HoldingFixed, Stream, noise_from
from randsmooth.notes import Note
from randsmooth.report import comparison_page, render
from values import Refusal, refused

NUMBERS, CITIES = ["mass", "age"], ["Oslo", "Rome", "Lima"]
SHIFT = {"Oslo": 2.0, "Rome": 0.0, "Lima": -2.0}


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """A table whose answer is a plane through the numbers, shifted by the city."""
    rng = np.random.default_rng(seed)
    city = rng.choice(CITIES, n)
    frame = pd.DataFrame(
        {"city": city, "mass": rng.normal(0.0, 10.0, n), "age": rng.normal(0.0, 0.1, n)}
    )
    frame["target"] = (
        frame.mass / 10 + frame.age / 0.1 + frame.city.map(SHIFT) > 0
    ).astype(int)
    return frame


def fitted(frame: pd.DataFrame) -> Pipeline:
    encoded = ColumnTransformer(
        [("numbers", StandardScaler(), NUMBERS), ("city", OneHotEncoder(), ["city"])]
    )
    return make_pipeline(encoded, LogisticRegression(C=1000.0, max_iter=500)).fit(
        frame.drop(columns="target"), frame.target
    )


FRAME = people()
MODEL = fitted(FRAME)
ROWS = people(40, seed=1)
certify = partial(rs.certify, MODEL, n=1000, seed=0)


def test_certificates_are_those_of_the_plane_through_the_numbers_for_the_rows_own_category() -> (
    None
):
    """The margin of a row, for its city, is a distance in the numbers alone: no radius is beyond it."""
    table = certify(ROWS, sigma="0.5std")
    std = ROWS[NUMBERS].std(ddof=0).to_numpy()
    weights = (
        MODEL[-1].coef_[0][:2] / MODEL[0].named_transformers_["numbers"].scale_ * std
    )
    margin = np.abs(
        MODEL.decision_function(ROWS.drop(columns="target"))
    ) / np.linalg.norm(weights)
    assert (table.radius <= margin + 1e-6).all() and np.median(
        table.radius / margin.clip(0, 1.5)
    ) > 0.5
    assert table.correct.mean() > 0.8
    other = certify(
        ROWS[["age", "target", "city", "mass"]], sigma="0.5std"
    )  # in another order: other noise
    assert (other.correct == table.correct).mean() > 0.9


def test_the_header_and_every_page_name_the_columns_held_fixed(tmp_path: Any) -> None:
    table = certify(ROWS, sigma="0.5std", out=tmp_path / "people.parquet")
    again = rs.read(tmp_path / "people.parquet")
    for each in (table, again):
        noise = each.header.noise
        assert (
            isinstance(noise, HoldingFixed)
            and noise.held_columns == ("city",)
            and noise.held == (0,)
        )
        assert (
            each.header.guarantee is not None
            and "city are held fixed" in each.header.guarantee
        )
        assert "city held fixed" in each.header.noise_title
    assert "held fixed: city" in render([again])
    assert "(city held fixed, the other columns alone changing)" in comparison_page(
        [again]
    )
    whole = rs.certify(
        MODEL[-1], MODEL[0].transform(ROWS.drop(columns="target")), sigma=0.5, n=100
    )
    assert (again.in_norm("linf").radius <= again.in_norm("l2").radius).all()
    with pytest.raises(NotComparable, match="city"):
        require_one_norm([again.in_norm("l2"), whole])
    with refused(WrongTable):
        write_tsv(again, tmp_path / "people.tsv")
    run = RunSpec.of(MODEL, ROWS, sigma="0.5std", n=100).open()
    assert Note("held_columns", columns="city") in notes_of(run).notes
    plain = certify(ROWS, sigma=0.05).header
    assert (
        plain.noise == HoldingFixed(Gaussian(0.05), (0,), ("city",))
        and plain.sigma is None
    )


def test_the_noise_is_on_the_other_columns_alone_and_comes_back_from_its_facts() -> (
    None
):
    noise = HoldingFixed(Gaussian(0.5), (0, 2), ("a", "c"))
    x, copies, plain = (
        torch.tensor([7.0, 1.0, 9.0, 2.0]),
        torch.empty(50, 4),
        torch.empty(50, 2),
    )
    noise.draw(copies, x, Stream(0, "test"))
    Gaussian(0.5).draw(plain, x[[1, 3]], Stream(0, "test"))
    assert (copies[:, [0, 2]] == x[[0, 2]]).all() and torch.equal(
        copies[:, [1, 3]], plain
    )
    hostile = HoldingFixed(Gaussian(0.5), (0,), ("\x1b[31m<b>",))
    assert "\x1b" not in hostile.text and noise_from(hostile.facts()) == hostile
    assert noise_from(noise.facts()) == noise and noise.norms == Gaussian(0.5).norms
    assert noise.convert("linf", 1.0, shape=(4,)) == Gaussian(0.5).convert(
        "linf", 1.0, shape=(2,)
    )
    for wrong in (
        ((), ()),
        ((2, 0), ("c", "a")),
        ((0,), ("a", "b")),
        ((-1,), ("a",)),
        (("0",), ("a",)),
    ):
        with refused(BadValue):
            HoldingFixed(Gaussian(0.5), *wrong)
    for shape in ((2,), (3, 4)):
        with refused(BadValue):
            noise.of(shape)


def test_an_attack_changes_no_column_that_is_held() -> None:
    table = certify(ROWS, sigma="0.5std")
    found = attack(MODEL, table, ROWS, scale=8.0, n=500, take=6)
    assert not found.failed.any() and found.changed.any()
    x = rs.data.load(ROWS, "test", categories=True).batch(torch.from_numpy(found.idx))[
        0
    ]
    assert (
        np.array_equal(found.points[:, 0], x[:, 0].numpy())
        and (found.points[:, 1:] != x[:, 1:].numpy()).any()
    )


def test_codes_tell_values_and_nothing_else() -> None:
    images = rs.data.load(ROWS, "test", categories=True)
    (column,) = images.spec.held
    codes = images.batch(range(len(ROWS)))[0][:, 0].double().numpy()
    assert (
        column.name == "city" and column.decoded(codes).tolist() == ROWS.city.tolist()
    )
    renamed = rs.data.load(ROWS.replace({"Oslo": "Bonn"}), "test", categories=True)
    assert (
        not torch.equal(renamed.batch([0, 1, 2])[0], images.batch([0, 1, 2])[0])
        or "Oslo" not in ROWS.city[:3].tolist()
    )
    odd = ROWS.assign(
        city=pd.Categorical(ROWS.city, categories=CITIES),
        when=pd.Timestamp("2026-01-01"),
    )
    odd.loc[3, "city"] = None
    loaded = rs.data.load(odd, "test", categories=True)
    city, when = loaded.spec.held
    back = city.decoded(loaded.batch(range(len(odd)))[0][:, 0].double().numpy())
    assert back.dtype == odd.city.dtype and back[3] is np.nan and back[4] == odd.city[4]
    assert when.values == (pd.Timestamp("2026-01-01"),)


def test_a_table_of_categories_is_assessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessing, "PLAN_SECONDS", 0.05)
    monkeypatch.setattr(assessing, "SECONDS_FOR_CERTIFICATES", 0.1)
    monkeypatch.setattr(assessing, "SECONDS_FOR_ATTACKS", 0.1)
    found = rs.assess(MODEL, FRAME, sigmas=["0.5std"], n=200, take=20)
    assert (
        found.held == ("city",)
        and found.to_dict()["held"] == ["city"]
        and not found.failed
    )
    page = assessment_page(found)
    assert "city is held fixed, without noise" in page and "each of the 2 by" in page


def test_who_cannot_take_categories_says_so() -> None:
    x = ROWS.drop(columns="target")
    unnamed = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), LogisticRegression()
    ).fit(x.to_numpy(), ROWS.target)
    network = nn.Linear(3, 2).eval()
    check_refusals(
        [
            (
                lambda: rs.data.load(ROWS, "test"),
                Refusal(WrongData, "'city'", "'Rome'"),
            ),
            (
                lambda: rs.certify(network, ROWS, sigma=0.5, n=100),
                Refusal(WrongModel, "city"),
            ),
            (
                lambda: rs.certify(lambda z: z, ROWS, sigma=0.5, n=100),
                Refusal(WrongModel, "city"),
            ),
            (
                lambda: rs.certify(unnamed, ROWS, sigma=0.5, n=100),
                Refusal(WrongModel, "city"),
            ),
            (
                lambda: certify(ROWS.drop(columns="city"), sigma=0.5),
                Refusal(WrongModel, "'city'"),
            ),
        ]
    )
