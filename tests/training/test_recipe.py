"""From settings to a recipe: what overrides what, what is scaled, what is said and what is refused."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from models.refusing import problem_of
from randsmooth import data
from randsmooth.cli.config_files import read_config
from randsmooth.cli.settings import pairs, validate
from randsmooth.cli.verbs.train import Train
from randsmooth.errors import BadValue, UnknownName
from randsmooth.notes import Note
from randsmooth.training import (
    DenoiserSettings,
    Recipe,
    TrainingOptions,
    TrainingSettings,
    resolve,
    train,
)
from randsmooth.training.recipe import resolve_denoiser
from values import Refusal


def ask(
    dataset: str = "cifar10",
    method: str | None = "amplify",
    sigma: float | None = 0.5,
    **asked: Any,
) -> tuple[Recipe, list[Note]]:
    """The recipe, and what is noted after the preset's source."""
    device = asked.pop("device", "auto")
    settings = TrainingSettings(method=method, sigma=sigma, **asked)
    recipe, (source, *notes) = resolve(
        dataset, settings, data.DATASETS[dataset], device=device
    )
    assert source.kind == "preset" and source.facts["name"] == recipe.preset
    return recipe, notes


def test_wishes_reach_the_recipe_and_without_any_nothing_more_is_said() -> None:
    recipe, notes = ask()
    assert notes == []
    assert (recipe.dataset, recipe.arch, recipe.sigma, recipe.take) == (
        "cifar10",
        "resnet110",
        0.5,
        None,
    )
    assert (recipe.seed, recipe.precision, recipe.device, recipe.compile) == (
        0,
        "32",
        "auto",
        False,
    )
    asked: dict[str, Any] = {
        "arch": "resnet20",
        "take": 1000,
        "precision": "bf16-mixed",
        "device": "cpu",
        "seed": 3,
    }
    assert ask(**asked)[0].model_dump(include={*asked}) == asked
    rates = [ask()[0].lr_at(epoch) for epoch in (0, 49, 50, 99, 100, 149)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001], rel=1e-12)
    assert ask(method="smoothadv", epochs=15)[0].summary() == (
        "preset cat-rs/smoothadv: smoothadv with m=2, eps=2.0, warmup=1; resnet110, "
        "15 epochs, lr 0.1 (x0.1 at epochs 5, 10), batch 256, weight decay 0.0001, 128 images per step"
    )


def test_without_a_sigma_it_is_the_presets_or_the_middle_one() -> None:
    for method, preset, sigma in (
        (None, None, 0.5),
        ("amplify", None, 0.5),
        ("macer", "macer/macer/k=4", 0.5),
    ):
        recipe, notes = ask(method=method, sigma=None, preset=preset)
        assert recipe.sigma == sigma and notes == [Note("usual_sigma", sigma=0.5)]
    assert (
        ask("imagenet", "cat-rs", None, preset="cat-rs/cat-rs", set={"teacher": "m"})[
            0
        ].sigma
        == 1.0
    )


# epochs -> lr_milestones, E_t, reweight_every of a preset of 150 with 50 and 100, 70, 10
COMPRESSED = {
    150: ((50, 100), 70, 10),
    30: ((10, 20), 14, 2),
    300: ((100, 200), 140, 20),
    3: ((1, 2), 1, 1),
}

# method, sigma -> the hyperparameter in epochs, and its values in runs of other lengths than 150
SCALED = {
    ("macer", 1.0): ("lbd_from", {150: 50, 30: 10, 3: 1, 2: 1, 300: 100}),
    ("macer", 0.25): ("lbd_from", {150: 0, 30: 0, 1: 0, 300: 0}),
    ("smoothadv", 0.5): ("warmup", {150: 10, 30: 2, 15: 1, 5: 1, 1: 1, 300: 20}),
}


def test_all_that_is_measured_in_epochs_is_scaled_together() -> None:
    whole = ask()[0]
    for epochs, expected in COMPRESSED.items():
        recipe, notes = ask(epochs=epochs)
        hyper = recipe.hyperparameters
        assert (
            recipe.lr_milestones,
            hyper["E_t"],
            hyper["reweight_every"],
        ) == expected, epochs
        others = [note for note in notes if note.kind != "early_fall"]
        assert others == notes[: epochs != 150]
        for note in others:
            assert note.facts["changes"]["epochs"] == (150, epochs)
        for key in (
            "m",
            "p_t",
            "T",
            "eps",
            "discard_noises",
            "reweight_noises",
        ):  # not in epochs
            assert hyper[key] == whole.hyperparameters[key]
        assert (recipe.lr, recipe.batch) == (whole.lr, whole.batch)
    for (method, sigma), (key, lengths) in SCALED.items():
        for epochs, value in lengths.items():
            assert (
                ask(method=method, sigma=sigma, epochs=epochs)[0].hyperparameters[key]
                == value
            ), (method, epochs)
    for epochs in range(3, 40):  # short runs keep every phase
        recipe, _ = ask(epochs=epochs)
        assert (
            1 <= recipe.hyperparameters["E_t"] < epochs
            and recipe.hyperparameters["reweight_every"] >= 1
        )
        assert 1 <= recipe.lr_milestones[0] < recipe.lr_milestones[1] < epochs
    recipe, _ = ask("imagenet", epochs=9, set={"p_A_from": "models/gaussian"})
    assert (recipe.hyperparameters["E_t"], recipe.lr_milestones) == (
        0,
        (3, 6),
    )  # epoch 0 stays the first


# epochs -> the number of epochs that are advised where the learning rate falls after the first.
FALLS = {1: None, 2: 5, 3: 5, 4: 5, 5: None, 150: None}
OF_DENOISERS = {1: None, 2: 6, 5: 6, 6: None, 90: None}


def advised(notes: list[Note]) -> int | None:
    """The number of epochs in the note on a learning rate that falls early."""
    for note in notes:
        if note.kind == "early_fall":
            return int(note.facts["enough"])
    return None


def test_a_learning_rate_that_falls_after_the_first_epoch_is_told() -> None:
    for epochs, enough in FALLS.items():
        assert advised(ask(method="gaussian", epochs=epochs)[1]) == enough, epochs
    assert (
        advised(ask(method="gaussian", epochs=3, set={"lr_milestones": [1]})[1]) is None
    )  # as it was asked for
    for epochs, enough in OF_DENOISERS.items():
        settings = DenoiserSettings(sigma=0.5, epochs=epochs)
        recipe, notes = resolve_denoiser(
            "mnist", settings, data.DATASETS["mnist"], device="cpu"
        )
        assert advised(notes) == enough and recipe.epochs == epochs
        goes_on = settings.replace(start="denoiser")
        assert (
            advised(
                resolve_denoiser(
                    "mnist", goes_on, data.DATASETS["mnist"], device="cpu"
                )[1]
            )
            is None
        )


# What is asked of the preset, and what is noted to be unlike it.
UNLIKE: list[tuple[dict[str, Any], dict[str, tuple[Any, Any]]]] = [
    ({"set": {"eps": 0.5}}, {"eps": (0.25, 0.5)}),
    (
        {
            "set": {
                "eps": 0.25,
                "T": 6,
                "norm": "l2",
                "batch": 256,
                "lr_milestones": [50, 100],
            }
        },
        {},
    ),
    ({"preset": "cat-rs/cat-rs/no-mask", "method": None}, {}),
    (
        {"preset": "cat-rs/cat-rs/no-mask", "method": None, "arch": "resnet110"},
        {"arch": ("resnet20", "resnet110")},
    ),
    (
        {"epochs": 30, "set": {"E_t": 20}},
        {
            "epochs": (150, 30),
            "lr_milestones": ([50, 100], [10, 20]),
            "E_t": (70, 20),
            "reweight_every": (10, 2),
        },
    ),
    (
        {"dataset": "digits", "method": "macer", "epochs": 20},
        {
            "epochs": (40, 20),
            "lr_milestones": ([15, 30], [8, 15]),
            "lbd_from": (13, 7),
        },
    ),
]


def test_what_differs_from_the_preset_is_said_and_nothing_else() -> None:
    for asked, changes in UNLIKE:
        expected = [Note("unlike_preset", changes=changes)] if changes else []
        assert ask(**asked)[1] == expected, asked
    _, notes = resolve(
        "mnist", TrainingSettings(method="smoothmix", sigma=1.0), data.DATASETS["mnist"]
    )
    assert [note.kind for note in notes] == ["preset"]
    assert notes[0].facts["name"] == "cat-rs/smoothmix/prose"
    for sigma, nearest in (
        (0.12, 0.25),
        (0.3, 0.25),
        (0.4, 0.5),
        (0.7, 0.5),
        (0.8, 1.0),
        (2.0, 1.0),
    ):
        recipe, notes = ask(sigma=sigma)
        assert recipe.hyperparameters == ask(sigma=nearest)[0].hyperparameters, sigma
        (note,) = notes
        assert note.kind == "values_of_nearest_sigma"
        assert note.facts["nearest"] == nearest
        assert note.facts["values"] == "E_t, p_t, T, eps"


NAN, INF = math.nan, math.inf
# What cannot be used, and its problem.
BAD: list[tuple[dict[str, Any], Refusal]] = [
    ({"sigma": NAN}, Refusal(BadValue, "nan", field="sigma")),
    ({"sigma": 0.0}, Refusal(BadValue, "method='gaussian'", field="sigma")),
    ({"epochs": 0}, Refusal(BadValue, "0", field="epochs")),
    ({"epoch": 3}, Refusal(UnknownName, "'epoch'", "'epochs'")),
    ({"precision": "16"}, Refusal(UnknownName, "bf16-mixed", field="precision")),
    ({"set": {"epsilon": 0.5}}, Refusal(UnknownName, "'epsilon'")),
    (
        {"set": {"lr_milestones": [100, 50]}},
        Refusal(BadValue, "[100, 50]", field="lr_milestones"),
    ),
    (
        {"set": pairs(["lr_milestones=[5"])},
        Refusal(BadValue, "'[5'", field="lr_milestones"),
    ),
    ({"set": {"epochs": 5}}, Refusal(UnknownName, "'epochs'")),
    ({"set": {"batch": 254}}, Refusal(BadValue, "254", "m=4", field="batch")),
    ({"set": {"E_t": 150}}, Refusal(BadValue, "150", field="E_t")),
    ({"set": {"E_t": 150, "discard": False}}, Refusal(BadValue, "150", field="E_t")),
    ({"epochs": 1}, Refusal(BadValue, "0", field="E_t")),
    ({"epochs": 1, "set": {"E_t": 1}}, Refusal(BadValue, "1", field="E_t")),
    ({"dataset": "imagenet"}, Refusal(BadValue, "p_A_from", field="E_t")),
]


def test_what_cannot_be_used_is_named() -> None:
    for asked, refused in BAD:
        refused.check(problem_of(ask, **asked))


def test_the_command_line_has_an_option_for_every_setting_and_run_yaml_repeats_the_run(
    tmp_path: Path,
) -> None:
    own = {
        "dataset",
        "device",
        "devices",
        "nodes",
        "sync_batch_norm",
        "logger",
        "out",
        "format",
        "expert",
    }
    own |= {"resume", "accept_changes", "overwrite"}
    assert Train.model_fields.keys() == TrainingOptions.__optional_keys__ | own
    assert all(field.description for field in Train.model_fields.values())
    chosen: dict[str, Any] = {
        "method": "amplify",
        "sigma": 0.25,
        "epochs": 2,
        "take": 32,
        "set": {"T": 1, "p_t": 0.0},
    }
    model = train(
        "digits",
        TrainingSettings(**chosen | {"seed": 7}),
        out=tmp_path / "a",
        device="cpu",
        seed=0,
    )
    assert (model.provenance["seed"], model.provenance["epochs"]) == (0, 2)
    told = yaml.safe_load((tmp_path / "a" / "run.yaml").read_text())
    assert (told["verb"], told["dataset"], told["device"]) == ("train", "digits", "cpu")
    on_the_line = validate(
        Train, "train", read_config(tmp_path / "a" / "run.yaml", "train")
    )
    assert on_the_line.of_training() == TrainingSettings(**chosen)
