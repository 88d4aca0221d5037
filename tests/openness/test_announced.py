"""A package that is not ours adds one entry of each kind, without a line changed here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openness.plugin import POINTS, PROJECT, REGISTRIES, SOURCE, announce, forget_packages
from randsmooth import testing
from randsmooth.cli.verbs.data import List
from randsmooth.cli.verbs.data import list_ as list_data
from randsmooth.cli.verbs.methods import Methods
from randsmooth.cli.verbs.methods import methods as list_methods
from randsmooth.errors import InputError
from randsmooth.rules import make_rule

CHECKS: dict[str, Any] = {
    "randsmooth.methods": testing.check_method,
    "randsmooth.rules": testing.check_rule,
    "randsmooth.datasets": testing.check_dataset,
    "randsmooth.architectures": testing.check_architecture,
    "randsmooth.backends": testing.check_backend,
    "randsmooth.panels": testing.check_panel,
}
EACH = [(group, name) for group, points in POINTS.items() for name in points]


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package as an installer leaves it: importable, with its entry points in its metadata."""
    announce(tmp_path / "site")
    monkeypatch.syspath_prepend(SOURCE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    forget_packages()
    yield
    forget_packages()
    make_rule.cache_clear()


def test_there_is_one_of_each_kind() -> None:
    assert {*POINTS} == {*REGISTRIES} == {*CHECKS} and len(EACH) == len(POINTS)


@pytest.mark.usefixtures("announced")
@pytest.mark.parametrize(("group", "name"), EACH)
def test_it_is_found_and_keeps_its_contract(group: str, name: str) -> None:
    registry = REGISTRIES[group]
    assert name in registry and registry.source(name) == PROJECT["name"] and [*registry][-1] == name
    CHECKS[group](name)


@pytest.mark.usefixtures("announced")
@pytest.mark.parametrize(("group", "name"), EACH)
def test_a_misspelt_name_suggests_it(group: str, name: str) -> None:
    with pytest.raises(InputError, match=f"unknown {REGISTRIES[group].kind} '{name}s': did you mean '{name}'"):
        REGISTRIES[group][f"{name}s"]


@pytest.mark.parametrize(("group", "name"), EACH)
def test_without_the_package_the_name_is_unknown(group: str, name: str) -> None:
    forget_packages()
    with pytest.raises(InputError, match=f"unknown {REGISTRIES[group].kind} '{name}'"):
        REGISTRIES[group][name]


FROM_THERE = "an example, after Cohen, Rosenfeld & Kolter, ICML 2019; from smoothing-extras"
STRIPES = "stripes         Stripes across or down, 8x8 grey, made on the spot (from smoothing-extras)"


@pytest.mark.usefixtures("announced")
def test_listings_say_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    list_methods(Methods(name=None, presets=False))
    printed = capsys.readouterr().out
    assert "\nclean-and-noisy `share` times the cross-entropy" in printed and f" {FROM_THERE}\n" in printed
    assert " Cohen, Rosenfeld & Kolter, ICML 2019\n" in printed
    list_methods(Methods(name="clean-and-noisy", presets=False))
    assert f"clean-and-noisy  ({FROM_THERE})" in capsys.readouterr().out
    list_data(List())
    printed = capsys.readouterr().out
    assert f"\n{STRIPES}\n" in printed and "\nmnist           Handwritten digits, 28x28 grey\n" in printed
