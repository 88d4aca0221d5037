"""One settings object, whether made of keywords, in Python, on the command line or from YAML."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from randsmooth import models
from randsmooth.cli.configuration import read_config, validate
from randsmooth.cli.verbs.train import Train
from randsmooth.errors import InputError
from randsmooth.training import TrainingSettings, train

CHOSEN: dict[str, Any] = {"method": "amplify", "sigma": 0.25, "epochs": 2, "take": 32, "set": {"T": 1, "p_t": 0.0}}


def test_keywords_and_a_settings_object_train_the_same(tmp_path: Path) -> None:
    by_keywords = train("digits", out=tmp_path / "a", **CHOSEN)
    by_object = train("digits", TrainingSettings(**CHOSEN | {"seed": 7}), out=tmp_path / "b", seed=0)
    assert models.weights_hash(by_keywords) == models.weights_hash(by_object)
    other = train("digits", TrainingSettings(**CHOSEN), out=tmp_path / "c", seed=7)
    assert models.weights_hash(other) != models.weights_hash(by_keywords)


def test_the_file_of_a_run_holds_the_settings_that_it_was_given(tmp_path: Path) -> None:
    train("digits", out=tmp_path / "a", device="cpu", **CHOSEN)
    told = yaml.safe_load((tmp_path / "a" / "run.yaml").read_text())
    assert told["verb"] == "train" and told["dataset"] == "digits" and told["device"] == "cpu"
    on_the_line = validate(Train, "train", read_config(tmp_path / "a" / "run.yaml", "train"))
    fields = TrainingSettings.model_fields
    assert TrainingSettings(**on_the_line.model_dump(include={*fields})) == TrainingSettings(**CHOSEN)


def test_the_command_line_has_an_option_for_every_setting() -> None:
    own = {"dataset", "device", "devices", "nodes", "sync_batch_norm", "logger", "out"}
    own |= {"resume", "accept_changes", "overwrite"}
    assert Train.model_fields.keys() == TrainingSettings.model_fields.keys() | own
    assert all(field.description for field in Train.model_fields.values())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sigma": 0.5, "epoch": 3}, "'epoch'"),
        ({"sigma": "much"}, "sigma='much'.*number"),
        ({"sigma": 0.5, "precision": "16"}, "precision '?16'?.*bf16-mixed"),
        ({"sigma": 0.5, "epochs": 2.5}, r"epochs=2.5 must be a whole number"),
        ({"sigma": -1.0}, "sigma=-1.0 must be a finite number > 0"),
        ({"sigma": 0.5, "epochs": 0}, "epochs=0 must be at least 1"),
        ({"sigma": 0.5, "epochs": -3}, "epochs=-3 must be at least 1"),
        ({"sigma": 0.5, "seed": -1}, "seed=-1 must be 0 or more"),
        ({"sigma": 0.5, "method": "amplifi"}, "unknown method 'amplifi': did you mean 'amplify'"),
        ({"sigma": 0.5, "preset": "acr/amplifi"}, "unknown preset 'acr/amplifi': did you mean 'acr/amplify'"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        train("digits", out=tmp_path / "m", **fields)
    with pytest.raises(InputError, match=message):
        TrainingSettings(**fields)
    assert not (tmp_path / "m").exists()


def test_changed_settings_are_checked_too() -> None:
    settings = TrainingSettings(sigma=0.5)
    assert settings.replace(epochs=3) == TrainingSettings(sigma=0.5, epochs=3)
    with pytest.raises(InputError, match="'epoch'"):
        settings.replace(epoch=3)
