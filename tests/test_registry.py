"""Registries: names of ours, names that other packages bring, and what is refused."""

import math
from pathlib import Path

import pytest

from models.refusing import refusal
from openness.plugin import announce
from randsmooth.registry import Registry
from values import noted

Number = Registry[float]


@pytest.fixture
def numbers() -> Number:
    return Registry(
        "number", "randsmooth.tests.numbers", {"tau": math.tau, "e": math.e}
    )


def install(folder: Path, package: str, **points: str) -> None:
    """The metadata of an installed `package` with these entry points."""
    announce(
        folder,
        {
            "name": package,
            "version": "1.0",
            "entry-points": {"randsmooth.tests.numbers": points},
        },
    )


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_our_entries_come_first_and_nobody_takes_their_place(
    numbers: Number, installed: Path
) -> None:
    install(installed, "other", pi="math:pi", inf="math:inf", e="math:pi")
    with noted("name_taken", package="other") as notes:
        assert list(numbers) == ["tau", "e", "inf", "pi"] and len(numbers) == 4
    assert [numbers.source(name) for name in numbers] == [
        "randsmooth",
        "randsmooth",
        "other",
        "other",
    ]
    assert [numbers.credit(name) for name in numbers] == [
        "",
        "",
        "from other",
        "from other",
    ]
    assert numbers["pi"] == pytest.approx(3.14159, abs=1e-5) and numbers[
        "e"
    ] == pytest.approx(2.718, abs=1e-3)
    assert len(notes) == 1


def test_a_program_adds_its_own_and_what_is_taken_or_unknown_is_refused(
    numbers: Number, installed: Path
) -> None:
    install(installed, "other", pi="math:pi")
    numbers.add("one", 1.0)
    assert (
        numbers["one"] == 1.0
        and list(numbers)[-2:] == ["one", "pi"]
        and numbers.source("one") == "this program"
    )
    for taken in ("one", "e", "pi"):
        said = refusal(numbers.add, taken, 2.0)
        assert f"'{taken}'" in said and "another name" in said
    assert "'Pi': did you mean 'pi'? Expected one of: e, one, pi, tau" in refusal(
        numbers.__getitem__, "Pi"
    )
    assert "'x'" in refusal(numbers.source, "x") and "'x'" in refusal(
        numbers.describe, "x", str
    )
    assert (
        "x" not in numbers and numbers.get("x") is None and numbers.get("x", 2.0) == 2.0
    )


def test_a_broken_package_is_named_and_listings_go_on_past_it(
    numbers: Number, installed: Path
) -> None:
    (installed / "breaks_when_imported.py").write_text(
        "raise RuntimeError('no licence')"
    )
    (installed / "does_not_parse.py").write_text("pi = = 3")
    broken = {
        "no_such_module:pi": "ModuleNotFoundError",
        "math:pie": "AttributeError",
        "breaks_when_imported:pi": "no licence",
        "does_not_parse:pi": "SyntaxError",
    }
    points = {f"n{i}": value for i, value in enumerate(broken)}
    install(installed, "shaky", **points, word="string:digits", two="math:tau")
    install(installed, "twin", two="math:tau")
    assert len(numbers) == 8  # to list the names imports nothing
    for name, value in points.items():
        said = refusal(numbers.__getitem__, name)
        assert all(
            word in said for word in (name, "shaky", value, broken[value], "uninstall")
        ), value
        assert broken[value] in numbers.describe(name, str)
    assert (
        "shaky and twin" in numbers.describe("two", str)
        and numbers.source("two") == "shaky and twin"
    )
    assert "shaky and twin" in refusal(numbers.__getitem__, "two")
    assert "'word' from shaky" in numbers.describe(
        "word", lambda number: f"{number:.2f}"
    )
    with pytest.raises(ZeroDivisionError):  # of our own entries a fault is a fault
        numbers.describe("e", lambda number: str(1 / 0))
