"""The settings of a certification: checked once, stored in headers, the same from Python, command line and YAML."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import randsmooth as rs
from randsmooth.certificates import CertificationSettings, Header, check_same_run
from randsmooth.certificates.same_run import SETTINGS
from randsmooth.cli.settings import validate
from randsmooth.cli.verbs.certify import Certify
from randsmooth.errors import InputError
from randsmooth.frozen_record import settings_from
from randsmooth.training import TrainingSettings

GIVEN: dict[str, Any] = {
    "sigma": 0.5, "n0": 50, "n": 2000, "alpha": 0.01, "rule": "grid", "label_aware": True, "sound": True,
    "backend": "torch", "precision": "bf16", "batch": 256, "seed": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n": 5}, "alpha=0.001 needs n >= 10 to certify anything; got n=5"),
        ({"n": 100.5}, "n=100.5 must be a whole number"),
        ({"n0": "many"}, "n0='many' must be a whole number"),
        ({"n0": True}, "n0=True must be a whole number"),
        ({"alpha": "x"}, "alpha='x' must be a valid number"),
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"sigma": -1.0}, "sigma=-1.0 must be a finite number > 0"),
        ({"batch": 0}, "batch=0"),
        ({"precision": "fp8"}, "unknown precision 'fp8'.*one of: 32, auto, bf16, fp16"),
        ({"bound": "hoeffding"}, "unknown bound 'hoeffding'.*one of: any-class, clopper-pearson"),
        ({"sigma": 0.5, "rule": "gird"}, "unknown rule 'gird': did you mean 'grid'"),
        ({"sigma": 0.5, "rule": "grid", "bound": "two-sided"}, "bound=two-sided is for the fixed rule"),
        ({"rule": "grd"}, "unknown rule 'grd': did you mean 'grid'"),
        ({"rule": "radius"}, "rule 'radius' needs a number"),
        ({"rule": "fixed=3"}, "rule 'fixed=3' takes no number"),
        ({"rule": "grid", "n": 10**8}, "n=100000000 must be a whole number of samples"),
        ({"rule": "grid", "bound": "two-sided"}, "bound=two-sided is for the fixed rule"),
        ({"batch": -3}, "batch=-3 must lie from 1"),
        ({"sigmas": 0.5}, "unknown setting 'sigmas': did you mean 'sigma'"),
    ],
)
def test_what_cannot_be_used_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CertificationSettings(**fields)
    with pytest.raises(InputError, match=message):
        CertificationSettings().replace(**fields)


def test_what_depends_on_sigma_waits_for_it() -> None:
    far = CertificationSettings(rule="radius=3", n=1000)
    assert far.replace(sigma=2.0).stopping_rule().farthest == 3.0
    with pytest.raises(InputError, match="radius"):
        far.replace(sigma=0.25)
    assert CertificationSettings(batch=32).batch == 32  # for large images, as the engine checks


def test_whole_numbers_may_be_written_in_other_ways() -> None:
    written: dict[str, Any] = {"n": 1e4, "seed": np.int64(3)}
    assert CertificationSettings(**written) == CertificationSettings(n=10_000, seed=3)


def test_digits_stand_for_the_precision_that_they_spell() -> None:
    """YAML reads `precision: 32` as a number."""
    written: dict[str, Any] = {"precision": 32}
    assert CertificationSettings(**written).precision == "32"
    assert TrainingSettings(sigma=0.5, **written).precision == "32"
    for value, said in ((16, "unknown precision 16: "), (True, "unknown precision True: ")):
        with pytest.raises(InputError, match=said):
            CertificationSettings(**written | {"precision": value})


def test_keywords_change_a_given_object() -> None:
    settings = CertificationSettings(sigma=0.5, n=1000)
    assert settings_from(CertificationSettings, settings, {"n": 2000}) == settings.replace(n=2000)
    assert settings_from(CertificationSettings, None, {"n": 2000}) == CertificationSettings(n=2000)
    with pytest.raises(InputError, match=r"unknown setting 'sigmas': did you mean 'sigma'"):
        settings_from(CertificationSettings, settings, {"sigmas": 2000})
    with pytest.raises(InputError, match=r"settings=0.5 is a float; expected CertificationSettings"):
        settings_from(CertificationSettings, 0.5, {})  # type: ignore[arg-type]


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(
        InputError, match=r"CertificationSettings cannot be changed: make another with .replace\(n=\d+\)"
    ):
        CertificationSettings().n = 5


def test_a_header_stores_every_setting_and_gives_it_back() -> None:
    assert set(CertificationSettings.model_fields) <= set(Header.model_fields)
    settings = CertificationSettings(**GIVEN)
    stored = dict(settings) | {"precision": "bfloat16, batch 256", "bound": None}
    assert Header(**stored).settings == settings
    two_sided = settings.replace(rule="fixed", bound="two-sided")
    assert Header(**dict(two_sided) | {"precision": "float32 (TF32 convolutions)"}).settings == two_sided.replace(
        precision="32"
    )


@pytest.mark.parametrize("missing", ["sigma", "n0", "n", "alpha", "precision"])
def test_a_header_that_does_not_say_them_is_no_settings(missing: str) -> None:
    stored = dict(CertificationSettings(**GIVEN)) | {"precision": "float32", missing: None}
    with pytest.raises(InputError, match=f"the header does not say its {missing}"):
        _ = Header(**stored).settings


def test_a_resumed_run_compares_every_setting(tmp_path: Any) -> None:
    assert set(CertificationSettings.model_fields) < set(SETTINGS)
    begun = Header(**dict(CertificationSettings(**GIVEN)) | {"precision": "bfloat16"})
    other: dict[str, Any] = {
        "sigma": 0.25, "n0": 60, "n": 3000, "alpha": 0.05, "rule": "fixed", "bound": "two-sided", "label_aware": False,
        "sound": False, "backend": "onnx", "precision": "float32", "batch": 128, "seed": 4,
    }  # fmt: skip
    assert other.keys() == CertificationSettings.model_fields.keys()
    for name, value in other.items():
        with pytest.raises(InputError, match=f"was begun differently.*{name}"):
            check_same_run(begun, begun.replace(**{name: value}), tmp_path / "a.parquet")


def test_the_command_line_takes_the_same_settings() -> None:
    given = validate(Certify, "certify", GIVEN | {"model": "m"})
    assert all(getattr(given, name) == value for name, value in dict(CertificationSettings(**GIVEN)).items())
    assert all(Certify.model_fields[name].description for name in CertificationSettings.model_fields)
    with pytest.raises(InputError, match=r"^alpha=0.001 needs n >= 10"):
        validate(Certify, "certify", {"model": "m", "n": 5})
    with pytest.raises(InputError, match=r"^--precision: unknown precision 'fp8'"):
        validate(Certify, "certify", {"model": "m", "precision": "fp8"})
    with pytest.raises(InputError, match=r"^--alpha: .*'x'"):
        validate(Certify, "certify", {"model": "m", "alpha": "x"})


def test_the_public_name() -> None:
    assert rs.CertificationSettings is CertificationSettings
