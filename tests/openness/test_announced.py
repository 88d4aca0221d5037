"""A package that is not ours adds one entry of each kind, without a line changed here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openness.plugin import (
    POINTS,
    PROJECT,
    REGISTRIES,
    SOURCE,
    announce,
    forget_packages,
)
from randsmooth import testing
from randsmooth.cli.main import app
from randsmooth.errors import UnknownName
from randsmooth.rules import make_rule
from values import refused

CHECKS: dict[str, Any] = {
    "randsmooth.methods": testing.check_method,
    "randsmooth.rules": testing.check_rule,
    "randsmooth.datasets": testing.check_dataset,
    "randsmooth.architectures": testing.check_architecture,
    "randsmooth.backends": testing.check_backend,
    "randsmooth.panels": testing.check_panel,
    "randsmooth.noises": lambda name: testing.check_noise(f"{name}=0.5"),
}
EACH = [(group, name) for group, points in POINTS.items() for name in points]
SOURCE_THERE = "an example, after Cohen, Rosenfeld & Kolter, ICML 2019"


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


@pytest.mark.usefixtures("announced")
def test_one_of_each_kind_is_found_and_keeps_its_contract() -> None:
    assert {*POINTS} == {*REGISTRIES} == {*CHECKS} and len(EACH) == len(POINTS)
    for group, name in EACH:
        registry = REGISTRIES[group]
        assert (
            name in registry
            and registry.source(name) == PROJECT["name"]
            and [*registry][-1] == name
        )
        CHECKS[group](name)
        with refused(UnknownName, registry.kind, value=f"{name}s"):
            registry[f"{name}s"]


def test_without_the_package_the_names_are_unknown() -> None:
    forget_packages()
    for group, name in EACH:
        with refused(UnknownName, REGISTRIES[group].kind, value=name):
            REGISTRIES[group][name]


@pytest.mark.usefixtures("announced")
def test_listings_say_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["methods"], f" {SOURCE_THERE} (from smoothing-extras)\n"),
        (
            ["methods", "clean-and-noisy"],
            f"clean-and-noisy  ({SOURCE_THERE}; from smoothing-extras)",
        ),
        (
            ["data", "list"],
            "\nstripes         here  Stripes across or down, 8x8 grey, made on the spot (from smoothing-",
        ),
    ):
        app(words, standalone_mode=False)
        # A listing is wrapped to the width of the terminal.
        out = capsys.readouterr().out
        assert " ".join(said.split()) in " ".join(out.split()), words
