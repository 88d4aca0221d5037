"""Whole numbers as people write them, on the command line, in YAML and in Python."""

from pathlib import Path
from typing import Any

from models.refusing import refusal
from randsmooth import CertificationSettings, TrainingSettings
from randsmooth.cli.config_files import read_config
from randsmooth.cli.settings import validate
from randsmooth.cli.verbs.certify import Certify
from randsmooth.frozen_record import whole_number

RIGHT: dict[Any, int] = {
    **{
        "1000": 1000,
        "1_000": 1000,
        "1e5": 100_000,
        "1E5": 100_000,
        "2.5e3": 2500,
        "100k": 100_000,
    },
    **{"1.5M": 1_500_000, " 12 ": 12, "-3": -3, 1e5: 100_000},
}
WRONG = [
    "1.5",
    "1e-3",
    "2.55e1",
    "1,000",
    "1.000,5",
    "100K",
    "1e5k",
    "10_00",
    "1_0000",
    "0x10",
    "ten",
    "1e999",
    "１０",
]


def test_what_means_a_whole_number_is_one_and_nothing_else() -> None:
    for written, meant in RIGHT.items():
        assert whole_number(written) == meant and type(whole_number(written)) is int, (
            written
        )
    for wrong in (*WRONG, "", 1.5, float("nan"), float("inf"), True):
        said = refusal(whole_number, wrong)
        assert repr(wrong) in said and "100k" in said


def test_settings_the_command_line_and_yaml_take_them(tmp_path: Path) -> None:
    assert (
        CertificationSettings.model_validate({"n": "1e5", "n0": "1_000"}).n == 100_000
    )
    assert (
        TrainingSettings.model_validate({"sigma": 0.5, "epochs": "1e2"}).epochs == 100
    )
    (tmp_path / "run.yaml").write_text("verb: certify\nmodel: m\nn: 1e3\ntake: ten\n")
    values = read_config(tmp_path / "run.yaml", "certify")
    taken = validate(Certify, "certify", values | {"take": "2k"})
    assert (taken.n, taken.take) == (1000, 2000)
    assert "take='ten'" in refusal(validate, Certify, "certify", values)
