"""Whole numbers as people write them, on the command line, in YAML and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from randsmooth import CertificationSettings, InputError, TrainingSettings
from randsmooth.cli.main import main
from randsmooth.whole_numbers import whole_number

RIGHT = [
    ("1000", 1000),
    ("1_000", 1000),
    ("1e5", 100_000),
    ("1E5", 100_000),
    ("2.5e3", 2500),
    ("100k", 100_000),
    ("1.5M", 1_500_000),
    (" 12 ", 12),
    ("-3", -3),
    (1e5, 100_000),
]
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
    "",
    "ten",
    "1e999",
    "１０",
]


@pytest.mark.parametrize(("written", "meant"), RIGHT)
def test_what_means_a_whole_number_is_one(written: Any, meant: int) -> None:
    assert whole_number(written) == meant
    assert type(whole_number(written)) is int


@pytest.mark.parametrize("written", [*WRONG, 1.5, float("nan"), float("inf"), True])
def test_what_does_not_is_refused(written: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number, such as 1000, 100_000, 1e5 or 100k"):
        whole_number(written)


def test_settings_take_them_too() -> None:
    assert CertificationSettings.model_validate({"n": "1e5", "n0": "1_000"}).n == 100_000
    assert TrainingSettings.model_validate({"sigma": 0.5, "epochs": "1e2"}).epochs == 100


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["randsmooth", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_the_command_line_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", "digits", "--sigma", "0.25", "--take", "64", "--epochs", "1e0", "--seed", "2k"]
    assert run(monkeypatch, *train, "--out", tmp_path / "m") == 0
    config = tmp_path / "run.yaml"
    config.write_text(f"verb: certify\nmodel: {tmp_path / 'm'}\nn: 1e3\nout: {tmp_path / 'm.parquet'}\n")
    assert run(monkeypatch, "certify", "--config", config, "--take", "1_0") == 2
    assert "--take: '1_0' must be a whole number, such as 1000" in capsys.readouterr().err
    assert run(monkeypatch, "certify", "--config", config, "--take", "5") == 0
    from randsmooth import models, read

    assert read(tmp_path / "m.parquet").header.n == 1000
    assert models.load(tmp_path / "m").provenance["seed"] == 2000
    assert run(monkeypatch, "export", tmp_path / "m.parquet", "--n", "5e2", "--out", tmp_path / "m.tsv") == 0
