"""What functions take as keywords is in their signatures, the same as in the settings that they make of it."""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

import randsmooth as rs
from randsmooth.noise import Noise

# What users may write where a settings object keeps the value that it means.
WRITTEN = {
    "sigma": float | str | None,
    "noise": Noise | str | None,
    "resize": rs.data.Size | None,
    "crop": rs.data.Size | None,
    "model_args": Mapping[str, Any] | None,
}


def fields_of(kind: Any) -> dict[str, Any]:
    """Name -> type, without constraints, of the fields of a class of settings or of a dataclass."""
    hints = typing.get_type_hints(kind)
    if issubclass(kind, BaseModel):
        return {name: hints[name] for name in kind.model_fields}
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


SETTINGS = [
    (rs.certificates.CertificationOptions, rs.CertificationSettings),
    (rs.training.TrainingOptions, rs.TrainingSettings),
    (rs.training.DenoiserOptions, rs.training.DenoiserSettings),
]


@pytest.mark.parametrize(("options", "settings"), SETTINGS)
def test_options_are_the_fields_of_the_settings(options: type, settings: type) -> None:
    named, fields = typing.get_type_hints(options), fields_of(settings)
    assert named.keys() == fields.keys()
    differing = {name for name in named if named[name] != fields[name]}
    assert all(named[name] == WRITTEN.get(name) for name in differing), differing


def test_options_of_a_run_are_its_fields() -> None:
    named = typing.get_type_hints(rs.certification.ImageOptions)
    fields = fields_of(rs.certification.Run)
    differing = {name for name in named if named[name] != fields[name]}
    assert all(named[name] == WRITTEN.get(name) for name in differing), differing


def test_reading_options_are_arguments_of_load() -> None:
    named = typing.get_type_hints(rs.data.ReadingOptions)
    taken = typing.get_type_hints(rs.data.load)
    assert {name: taken[name] for name in named} == named
