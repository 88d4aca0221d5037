"""The settings of a certification: checked once, stored in headers, the same from Python, command line and YAML."""

from typing import Any

import numpy as np

from models.refusing import problem_of
from randsmooth.certificates import CertificationSettings, Header
from randsmooth.certificates.sameness import SETTINGS
from randsmooth.cli.settings import validate
from randsmooth.cli.verbs.certify import Certify
from randsmooth.errors import (
    BadValue,
    Conflict,
    MissingValue,
    TooFewSamples,
    UnknownName,
    WrongTable,
)
from randsmooth.frozen_record import settings_from
from randsmooth.noise import Deviations, Gaussian, Uniform
from values import Refusal

GIVEN: dict[str, Any] = {
    "sigma": 0.5, "n0": 50, "n": 2000, "alpha": 0.01, "rule": "grid", "label_aware": True, "sound": True,
    "backend": "torch", "precision": "bf16", "batch": 256, "seed": 3,
}  # fmt: skip


UNUSABLE: list[tuple[dict[str, Any], Refusal]] = [
    ({"n": 5}, Refusal(TooFewSamples, "10", field="n")),
    ({"n0": "many"}, Refusal(BadValue, "many", field="n0")),
    ({"alpha": 1.5}, Refusal(BadValue, "1.5", field="alpha")),
    (
        {"precision": "fp8"},
        Refusal(UnknownName, "32, auto, bf16, fp16", field="precision"),
    ),
    (
        {"bound": "hoeffding"},
        Refusal(UnknownName, "any-class, clopper-pearson", field="bound"),
    ),
    (
        {"sigma": 0.5, "rule": "grid", "bound": "two-sided"},
        Refusal(BadValue, "two-sided", field="bound"),
    ),
    ({"rule": "grd"}, Refusal(UnknownName, "grid", field="rule")),
    ({"rule": "radius"}, Refusal(MissingValue, "radius", field="rule")),
    ({"n0": 0, "rule": "grid"}, Refusal(BadValue, field="n0")),
    ({"sigmas": 0.5}, Refusal(UnknownName, "sigma")),
]


def test_what_cannot_be_used_is_named() -> None:
    for fields, refused in UNUSABLE:
        refused.check(problem_of(CertificationSettings, **fields))
        refused.check(problem_of(CertificationSettings().replace, **fields))


def test_what_depends_on_sigma_waits_for_it() -> None:
    far = CertificationSettings(rule="radius=3", n=1000)
    assert far.replace(sigma=2.0).stopping_rule().farthest == 3.0
    Refusal(BadValue, "radius").check(problem_of(far.replace, sigma=0.25))
    assert (
        CertificationSettings(batch=32).batch == 32
    )  # for large images, as the engine checks


def test_numbers_may_be_written_in_other_ways() -> None:
    written: dict[str, Any] = {
        "n": 1e4,
        "seed": np.int64(3),
        "precision": 32,
    }  # YAML reads `precision: 32` as a number
    settings = CertificationSettings(**written)
    assert (
        settings == CertificationSettings(n=10_000, seed=3)
        and settings.precision == "32"
    )
    for value in (16, True):
        Refusal(UnknownName, f"precision {value}", field="precision").check(
            problem_of(CertificationSettings, **written | {"precision": value})
        )


def test_keywords_change_a_given_object_which_cannot_be_changed_in_place() -> None:
    settings = CertificationSettings(sigma=0.5, n=1000)
    assert settings_from(
        CertificationSettings, settings, {"n": 2000}
    ) == settings.replace(n=2000)
    assert settings_from(
        CertificationSettings, None, {"n": 2000}
    ) == CertificationSettings(n=2000)
    Refusal(UnknownName, "'sigma'", field="setting").check(
        problem_of(settings_from, CertificationSettings, settings, {"sigmas": 2000})
    )
    Refusal(BadValue, "settings=0.5", field="settings").check(
        problem_of(settings_from, CertificationSettings, 0.5, {})
    )
    Refusal(BadValue, ".replace(n=5)").check(problem_of(setattr, settings, "n", 5))


def test_one_noise_is_named_by_sigma_or_by_itself() -> None:
    ways = (Uniform(0.6), "uniform=0.6", {"name": "uniform", "lam": 0.6})
    for way in ways:
        settings = CertificationSettings(noise=way, n=1000)
        assert settings.noise == Uniform(0.6), way
    settings = CertificationSettings(sigma=0.5)
    assert settings.noise == Gaussian(0.5)
    assert settings == CertificationSettings(noise="gaussian=0.5")
    assert settings.replace(noise=Uniform(0.6)).noise == Uniform(0.6)
    in_deviations = CertificationSettings(sigma="0.25std")
    assert in_deviations.noise == Deviations(0.25)
    assert in_deviations == CertificationSettings(noise="gaussian=0.25std")
    assert in_deviations == CertificationSettings(noise=Deviations(0.25).facts())
    # No digit is lost in the text that commands and folders have.
    many_digits = Deviations(0.1234567)
    assert CertificationSettings(noise=many_digits.text).noise == many_digits
    assert settings.replace(noise=Uniform(0.6)).replace(sigma=0.25) == settings.replace(
        sigma=0.25
    )
    header = Header(
        noise=Uniform(0.6),
        n0=100,
        n=1000,
        alpha=0.001,
        precision="float32",
    )
    assert (header.noise, header.norm, header.settings.noise) == (
        Uniform(0.6),
        "l1",
        Uniform(0.6),
    )
    assert Header(sigma=0.5).norm == "l2"
    refused: list[tuple[dict[str, Any], Refusal]] = [
        ({"noise": "uniform=0.6", "sigma": 0.5}, Refusal(Conflict, "uniform=0.6")),
        ({"noise": "gaussian=0.6", "sigma": 0.5}, Refusal(Conflict, "0.6")),
        ({"noise": "uniform=0.6", "sound": True}, Refusal(BadValue, field="sound")),
        ({"noise": 0.6}, Refusal(BadValue, "0.6", field="noise")),
        ({"noise": "unifrom=0.6"}, Refusal(UnknownName, "uniform", field="noise")),
        (
            {"noise": "uniform=0.1", "rule": "radius=0.2"},
            Refusal(BadValue, "0.2"),
        ),
    ]
    for given, expected in refused:
        expected.check(problem_of(CertificationSettings, **given))


def test_a_header_stores_every_setting_and_gives_it_back() -> None:
    assert {*CertificationSettings.model_fields} <= {*Header.model_fields}
    of_settings = {*CertificationSettings.model_fields} - {"noise"}
    assert of_settings | {"sigma", "distribution"} <= {*SETTINGS}
    settings = CertificationSettings(**GIVEN)
    stored = dict(settings) | {"precision": "bfloat16, batch 256", "bound": None}
    assert Header(**stored).settings == settings
    two_sided = settings.replace(rule="fixed", bound="two-sided")
    shortened = Header(**dict(two_sided) | {"precision": "float32 (TF32 convolutions)"})
    assert shortened.settings == two_sided.replace(precision="32")
    for missing in ("noise", "n0", "n", "alpha", "precision"):
        incomplete = Header(**stored | {missing: None})
        named = "sigma" if missing == "noise" else missing
        Refusal(WrongTable, named).check(
            problem_of(lambda header=incomplete: header.settings)
        )


def test_the_command_line_takes_the_same_settings() -> None:
    given = validate(Certify, "certify", GIVEN | {"model": "m"})
    assert {name: getattr(given, name) for name in GIVEN} == GIVEN
    assert given.spec().settings == CertificationSettings(**GIVEN)
    assert all(
        Certify.model_fields[name].description
        for name in CertificationSettings.model_fields
    )
    refused: tuple[dict[str, Any], ...] = (
        {"n": 5},
        {"precision": "fp8"},
        {"alpha": "x"},
    )
    for fields in refused:
        problem = problem_of(validate, Certify, "certify", {"model": "m"} | fields)
        assert problem.field in fields
