"""Registries: names of ours, names that other packages bring, and what is refused."""

import os
from pathlib import Path

import pytest

from randsmooth.errors import InputError, Note
from randsmooth.registry import Registry

Number = Registry[float]


@pytest.fixture
def numbers() -> Number:
    return Registry("number", "randsmooth.tests.numbers", {"tau": "math:tau", "e": "math:e"})


def install(folder: Path, package: str, **points: str) -> None:
    """The metadata of an installed `package` with these entry points."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[randsmooth.tests.numbers]", *lines]))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_our_entries_come_first_and_in_order(numbers: Number, installed: Path) -> None:
    install(installed, "other", pi="math:pi", inf="math:inf")
    assert list(numbers) == ["tau", "e", "inf", "pi"] and len(numbers) == 4
    assert [numbers.source(name) for name in numbers] == ["randsmooth", "randsmooth", "other", "other"]
    assert [numbers.credit(name) for name in numbers] == ["", "", "from other", "from other"]
    assert numbers["pi"] == pytest.approx(3.14159, abs=1e-5)


def test_no_package_takes_the_place_of_ours(numbers: Number, installed: Path) -> None:
    install(installed, "other", e="math:pi")
    assert numbers["e"] == pytest.approx(2.718, abs=1e-3) and numbers.source("e") == "randsmooth"
    with pytest.warns(Note, match="package other is left out"):
        assert list(numbers) == ["tau", "e"]


def test_a_program_adds_its_own(numbers: Number) -> None:
    numbers.add("one", 1.0)
    assert numbers["one"] == 1.0 and list(numbers)[-1] == "one" and numbers.source("one") == "this program"
    for taken in ("one", "e"):
        with pytest.raises(InputError, match=f"number '{taken}' is registered already: choose another name"):
            numbers.add(taken, 2.0)
    assert numbers["one"] == 1.0


def test_an_entry_of_a_package_is_not_added_over(numbers: Number, installed: Path) -> None:
    install(installed, "other", pi="math:pi")
    with pytest.raises(InputError, match="'pi' is registered already"):
        numbers.add("pi", 3.0)


def test_an_unknown_name_is_refused_with_the_nearest(numbers: Number, installed: Path) -> None:
    install(installed, "other", pi="math:pi")
    with pytest.raises(InputError, match=r"unknown number 'Pi': did you mean 'pi'\? Expected one of: e, pi, tau"):
        numbers["Pi"]
    with pytest.raises(InputError, match="unknown number 'x'"):
        numbers.source("x")
    assert "x" not in numbers and numbers.get("x") is None and numbers.get("x", 2.0) == 2.0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module:pi", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("math:pie", "AttributeError"),
        ("breaks_when_imported:pi", "RuntimeError: no licence"),
        ("does_not_parse:pi", "SyntaxError"),
    ],
)
def test_a_broken_package_is_named(numbers: Number, installed: Path, value: str, said: str) -> None:
    install(installed, "shaky", pi=value)
    (installed / "breaks_when_imported.py").write_text("raise RuntimeError('no licence')")
    (installed / "does_not_parse.py").write_text("pi = = 3")
    assert "pi" in numbers  # to list the names imports nothing
    with pytest.raises(InputError, match=rf"number 'pi' of the package shaky cannot be loaded \({value}: {said}.*: up"):
        numbers["pi"]


def test_a_name_that_two_packages_bring_is_refused(numbers: Number, installed: Path) -> None:
    install(installed, "one", pi="math:pi")
    install(installed, "two", pi="math:tau")
    with pytest.raises(InputError, match="'pi' is brought by several packages, one and two: uninstall all but one"):
        numbers["pi"]
    assert list(numbers) == ["tau", "e", "pi"] and numbers.source("pi") == "one and two"


def test_an_entry_is_imported_when_it_is_asked_for(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installed / "leaves_a_trace.py").write_text("import os; os.environ['TRACE'] = 'imported'; one = 1.0")
    monkeypatch.setenv("TRACE", "")
    numbers: Number = Registry("number", "randsmooth.tests.numbers", {"one": "leaves_a_trace:one"})
    assert "one" in numbers and list(numbers) == ["one"] and os.environ["TRACE"] == ""
    assert numbers["one"] == 1.0 and os.environ["TRACE"] == "imported"


def test_a_name_of_ours_that_a_package_brings_is_noted_once(numbers: Number, installed: Path) -> None:
    install(installed, "other", e="math:pi", pi="math:pi")
    with pytest.warns(Note, match="number 'e' of the package other is left out, since randsmooth has") as noted:
        assert list(numbers) == ["tau", "e", "pi"] and "pi" in numbers and list(numbers) == ["tau", "e", "pi"]
    assert len(noted) == 1


def test_a_listing_goes_on_past_what_is_broken(numbers: Number, installed: Path) -> None:
    install(installed, "shaky", pi="no_such_module:pi", word="string:digits", two="math:tau")
    install(installed, "twin", two="math:tau")
    lines = {name: numbers.describe(name, lambda number: f"{number:.2f}") for name in numbers}
    assert (lines["tau"], lines["e"]) == ("6.28", "2.72")
    assert lines["pi"].startswith(
        "number 'pi' of the package shaky cannot be loaded (no_such_module:pi: ModuleNotFound"
    )
    assert lines["word"].startswith("number 'word' from shaky cannot be described (ValueError: ")
    assert lines["two"].startswith("number 'two' is brought by several packages, shaky and twin")
    with pytest.raises(InputError, match="unknown number 'x'"):
        numbers.describe("x", str)
    with pytest.raises(ZeroDivisionError):  # of our own entries a fault is a fault
        numbers.describe("e", lambda number: str(1 / 0))
