"""What functions take as keywords is in their signatures, the same as in the settings that they make of it."""

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import randsmooth as rs
from randsmooth.extras import MissingPackage
from randsmooth.noise import Deviations, Noise

ROOT = Path(rs.__file__).parent

# What users may write where a settings object keeps the value that it means.
WRITTEN = {
    "noise": (
        Noise | Deviations | str | Mapping[str, Any] | None,
        Noise | str | Mapping[str, Any] | None,
    ),
    "resize": (rs.data.Size | None,),
    "crop": (rs.data.Size | None,),
    "model_args": (Mapping[str, Any] | None,),
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
    # At the door sigma spells a noise.
    assert named.keys() - {"sigma"} == fields.keys() - {"sigma"}
    differing = {name for name in fields if named[name] != fields[name]}
    assert all(named[name] in WRITTEN.get(name, ()) for name in differing), differing


def test_options_of_a_run_are_its_fields() -> None:
    named = typing.get_type_hints(rs.certification.ImageOptions)
    fields = fields_of(rs.certification.RunSpec)
    differing = {name for name in named if named[name] != fields[name]}
    assert all(named[name] in WRITTEN.get(name, ()) for name in differing), differing


# Functions that hand keywords to something of a user's, whose names nobody here knows.
OPEN_ENDED = {
    "certification.load_model": "arguments of the code that makes the model",
    "models.open_source": "arguments of the code that makes the model",
    "methods.create": "hyperparameters of any method",
    "methods.begins": "the parts that a hyperparameter of any method begins",
    "testing.check_method": "hyperparameters of any method",
}

# Functions that do not name yet what they hand to a run.
NOT_YET = {"certification.certify", "certification.watch"}


def is_named(keywords: inspect.Parameter) -> bool:
    """Whether the names of these keywords are those of a typed dictionary."""
    annotation = keywords.annotation
    return (
        "Unpack[" in str(annotation) or typing.get_origin(annotation) is typing.Unpack
    )


def test_no_other_public_function_hides_what_it_takes() -> None:
    rooms = [path.parent.name for path in ROOT.glob("*/__init__.pyi")]
    hidden = set()
    for room in rooms:
        for name in getattr(rs, room).__all__:
            try:
                public = getattr(getattr(rs, room), name)
            except MissingPackage:  # of an extra that is not installed here
                continue
            if not inspect.isfunction(public):
                continue
            for parameter in inspect.signature(public).parameters.values():
                if parameter.kind is parameter.VAR_KEYWORD and not is_named(parameter):
                    hidden.add(f"{room}.{name}")
    assert hidden <= OPEN_ENDED.keys() | NOT_YET


def test_reading_options_are_arguments_of_load() -> None:
    named = typing.get_type_hints(rs.data.ReadingOptions)
    taken = typing.get_type_hints(rs.data.load)
    assert {name: taken[name] for name in named} == named
