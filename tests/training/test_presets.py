"""The presets: each resolves, and holds the papers' values."""

import re
from typing import Any

import pytest

from randsmooth import data
from randsmooth.errors import InputError
from randsmooth.training import PRESETS, Preset, Recipe, Request, resolve
from randsmooth.training.presets import SIGMAS, find

TEACHER = {"p_A_from": "models/gaussian"}  # ImageNet's Amplify takes p_A from another model


def recipe(dataset: str, method: str = "gaussian", sigma: float = 0.5, **asked: Any) -> Recipe:
    if (dataset, method) == ("imagenet", "amplify"):
        asked["set"] = TEACHER | asked.get("set", {})
    return resolve(Request(dataset=dataset, method=method, sigma=sigma, **asked), data.spec(dataset))[0]


EVERY = [
    (preset, dataset, sigma)
    for preset in PRESETS
    for dataset in preset.datasets or data.names()
    for sigma in preset.by_sigma or SIGMAS
]


@pytest.mark.parametrize(("preset", "dataset", "sigma"), EVERY, ids=lambda part: getattr(part, "name", str(part)))
def test_every_preset_resolves_where_it_was_published(preset: Preset, dataset: str, sigma: float) -> None:
    if find(preset.method, dataset, preset.name) is not preset:
        pytest.skip("an earlier preset of this name serves the data set")
    found = recipe(dataset, preset.method, sigma, preset=preset.name)
    assert (found.preset, found.method, found.sigma) == (preset.name, preset.method, sigma)
    values = preset.hyperparameters(sigma)
    kept = {key: found.hyperparameters[key] for key in values if key not in ("E_t", "reweight_every")}
    assert kept == {key: value for key, value in values.items() if key in kept}
    assert found.images_a_step * found.hyperparameters["m"] == found.batch
    assert found.build_method().m == found.hyperparameters["m"]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_cites_a_place(preset: Preset) -> None:
    assert re.search(r"(table|section|appendix) [\w.]+|^not from a paper: ", preset.source)
    assert preset.source.startswith("not from a paper") == preset.name.startswith("randsmooth/")


def test_no_two_presets_are_asked_for_alike() -> None:
    asked = [(preset.name, dataset) for preset in PRESETS for dataset in preset.datasets or ("any",)]
    assert len(asked) == len(set(asked))


# (method, data set, sigma): m and the paper's letters. Sun et al. 2025, appendix A.1.
AMPLIFY = {
    ("cifar10", 0.25): {"m": 4, "E_t": 60, "p_t": 0.5, "T": 3, "eps": 0.25},
    ("cifar10", 0.5): {"m": 4, "E_t": 70, "p_t": 0.4, "T": 6, "eps": 0.25},
    ("cifar10", 1.0): {"m": 4, "E_t": 60, "p_t": 0.4, "T": 4, "eps": 0.5},
    ("imagenet", 0.25): {"m": 1, "E_t": 0, "p_t": 0.2, "T": 2, "eps": 0.5},
    ("imagenet", 0.5): {"m": 1, "E_t": 0, "p_t": 0.2, "T": 2, "eps": 1.0},
    ("imagenet", 1.0): {"m": 2, "E_t": 0, "p_t": 0.1, "T": 1, "eps": 2.0},
}
CIFAR_PARTS = {
    **{"discard": True, "discard_noises": 100, "p_A_from": None},
    **{"reweight": True, "reweight_every": 10, "reweight_noises": 16, "reweight_alpha": 0.1, "p_min": 0.75},
    **{"weight": "bound", "attack": True, "norm": "l2"},
}
IMAGENET_PARTS = {"discard": True, "discard_noises": 50, "reweight": False, "attack": True, "norm": "l2"}


@pytest.mark.parametrize(("dataset", "sigma"), AMPLIFY)
def test_amplify_has_the_papers_values(dataset: str, sigma: float) -> None:
    found = recipe(dataset, "amplify", sigma).hyperparameters
    expected = AMPLIFY[dataset, sigma] | (CIFAR_PARTS if dataset == "cifar10" else IMAGENET_PARTS)
    assert {key: found[key] for key in expected} == expected
    if dataset == "cifar10":
        assert found == expected


SCHEDULES = {
    "cifar10": (150, 0.1, (50, 100)),
    "cifar10-jpeg": (150, 0.1, (50, 100)),
    "svhn": (150, 0.1, (50, 100)),
    "mnist": (150, 0.01, (50, 100)),
    "fashion-mnist": (150, 0.01, (50, 100)),
    "imagenet": (90, 0.1, (30, 60)),
}


@pytest.mark.parametrize("method", ["gaussian", "amplify"])
@pytest.mark.parametrize("dataset", SCHEDULES)
def test_the_schedule_is_the_literatures(dataset: str, method: str) -> None:
    found = recipe(dataset, method)
    assert (found.epochs, found.lr, found.lr_drops) == SCHEDULES[dataset]
    assert (found.lr_factor, found.momentum, found.weight_decay, found.batch) == (0.1, 0.9, 1e-4, 256)


# Who trains Gaussian with how many noises: one in the CAT-RS and MACER tables, four in the ACR paper's CIFAR-10.
NOISES = [
    ("cifar10", None, "acr/gaussian", 4),
    ("cifar10-jpeg", None, "acr/gaussian", 4),
    ("cifar10", "cat-rs/gaussian", "cat-rs/gaussian", 1),
    ("cifar10", "macer/gaussian", "macer/gaussian", 1),
    ("mnist", None, "cat-rs/gaussian", 1),
    ("mnist", "macer/gaussian", "macer/gaussian", 1),
    ("svhn", None, "macer/gaussian", 1),
    ("imagenet", None, "acr/gaussian", 1),
    ("digits", None, "randsmooth/gaussian", 4),
    ("cifar100", None, "randsmooth/gaussian", 4),
    ("cifar10", "randsmooth/gaussian", "randsmooth/gaussian", 4),
]


@pytest.mark.parametrize(("dataset", "asked", "name", "m"), NOISES)
def test_gaussian_noises(dataset: str, asked: str | None, name: str, m: int) -> None:
    found = recipe(dataset, preset=asked)
    assert (found.preset, found.hyperparameters) == (name, {"m": m})


def test_a_step_of_four_noises_has_64_images() -> None:
    four, one = recipe("cifar10"), recipe("cifar10", preset="cat-rs/gaussian")
    assert (four.images_a_step, -(-50_000 // four.images_a_step)) == (64, 782)
    assert (one.images_a_step, -(-50_000 // one.images_a_step)) == (256, 196)


def test_a_borrowed_method_keeps_its_place_in_the_schedule() -> None:
    found = recipe("digits", "amplify", 0.5)
    assert found.preset == "randsmooth/amplify"
    assert found.hyperparameters["E_t"] == round(70 * found.epochs / 150)
    assert found.hyperparameters["reweight_every"] == round(10 * found.epochs / 150)
    cifar = recipe("cifar10", "amplify", 0.5).hyperparameters
    assert {key: cifar[key] for key in ("m", "p_t", "T", "eps")} == {
        key: found.hyperparameters[key] for key in ("m", "p_t", "T", "eps")
    }


@pytest.mark.parametrize(
    ("method", "dataset", "preset", "message"),
    [
        ("gaussian", "cifar10", "acr/gausian", "unknown preset 'acr/gausian': did you mean 'acr/gaussian'"),
        ("gaussian", "cifar10", "acr/amplify", "preset 'acr/amplify' is for --method amplify, not gaussian"),
        ("gaussian", "digits", "acr/gaussian", "'acr/gaussian' is for cifar10, cifar10-jpeg, imagenet, not 'digits'"),
        ("gaussian", "svhn", "cat-rs/gaussian", "not 'svhn'"),
    ],
)
def test_a_preset_that_does_not_fit_is_refused(method: str, dataset: str, preset: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe(dataset, method, preset=preset)
