"""A rule that another package brings: judged, stored and read like ours, and missed by name where it is absent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates.walks import HEADER, table_of
from models.refusing import refusal
from openness.plugin import SOURCE, announce, forget_packages
from randsmooth import metrics
from randsmooth.certificates import read, write_parquet
from randsmooth.certificates.header import parse_header
from randsmooth.noise import Gaussian
from randsmooth.rules import make_rule, rule_origin


def forget() -> None:
    forget_packages()
    make_rule.cache_clear()


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    announce(tmp_path / "site")
    monkeypatch.syspath_prepend(SOURCE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    forget()
    yield
    forget()


def header(**facts: Any) -> Any:
    versions = {"python": "3.11"} | rule_origin("halves=0.25")
    return HEADER.replace(rule="halves=0.25", versions=versions, **facts)


@pytest.mark.usefixtures("announced")
def test_it_is_judged_stored_and_compared_like_ours(tmp_path: Path) -> None:
    made = make_rule("halves=0.25", noise=Gaussian(0.5), n=2000, alpha=0.05)
    assert made.next_look([]) == 500 and made.farthest == made.claim([500, 2000]).radius and made.asked_radii is None
    table = table_of(header(guarantee=made.guarantee()))
    write_parquet(table, tmp_path / "halves.parquet")
    back = read(tmp_path / "halves.parquet")
    assert back.rule == made and np.array_equal(back.radius, table.radius) and back.radius.max() > 0
    assert back.header.guarantee == made.guarantee() and metrics.farthest(back) == made.farthest
    assert metrics.compare([(back, table)])[0].images == len(table)


def test_a_table_without_its_package_names_the_package(
    announced: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(table_of(header()), tmp_path / "halves.parquet")
    monkeypatch.undo()
    forget()
    said = refusal(lambda: read(tmp_path / "halves.parquet"))
    assert "the rule 'halves', which 'smoothing-extras 1.0' brings: install that package" in said


def test_a_table_of_a_noise_that_is_not_installed_is_not_called_damaged() -> None:
    text = '{"version": 1, "distribution": {"name": "square", "lam": 1.0}, "n0": 100, "n": 1000, "alpha": 0.001}'
    said = refusal(lambda: parse_header(text, Path("a.parquet")))
    assert said.startswith("a.parquet: noise 'square' ") and "install the package" in said and "damaged" not in said
