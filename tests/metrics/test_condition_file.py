"""Conditions of a gate in a YAML file."""

from pathlib import Path

import pytest

from randsmooth.certificates import from_radii, write_tsv
from randsmooth.errors import (
    BadValue,
    MissingValue,
    NotFound,
    Problem,
    UnknownName,
    WrongFile,
)
from randsmooth.metrics import AtLeast, NoWorse, read_conditions


def test_conditions_are_read_with_baselines_beside_the_file(tmp_path: Path) -> None:
    write_tsv(from_radii([0.3, 0.8]), tmp_path / "old.tsv")
    file = tmp_path / "gate.yaml"
    file.write_text(
        "- {at: 0.5, least: 0.6}\n- {at: 1, baseline: old.tsv, margin: 0.02}\n"
    )
    first, second = read_conditions(file)
    assert first == AtLeast(at=0.5, least=0.6)
    assert isinstance(second, NoWorse)
    assert (second.at, second.margin, len(second.baseline)) == (1.0, 0.02, 2)


REFUSED: dict[str, type[Problem]] = {
    "": WrongFile,
    "at: 0.5": WrongFile,
    "[]": WrongFile,
    "- 0.5": WrongFile,
    "- {at: half, least: 0.6}": WrongFile,
    "- {at: 0.5, least: true}": WrongFile,
    "- {at: 0.5, least: 60}": BadValue,
    "- {at: -1, least: 0.6}": BadValue,
    "- {at: 0.5}": MissingValue,
    "- {at: 0.5, least: 0.6, margin: 0.1}": MissingValue,
    "- {at: 0.5, laest: 0.6}": UnknownName,
    "- {at: 0.5, baseline: none.parquet, margin: 0.1}": Problem,
}


@pytest.mark.parametrize(("text", "kind"), REFUSED.items())
def test_what_is_no_condition_is_refused(
    text: str, kind: type[Problem], tmp_path: Path
) -> None:
    file = tmp_path / "gate.yaml"
    file.write_text(text)
    with pytest.raises(kind):
        read_conditions(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_conditions(tmp_path / "none.yaml")
