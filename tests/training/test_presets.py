"""The presets: each resolves, and holds the papers' values, typed here once more from the papers."""

from pathlib import Path
from typing import Any

import yaml

from models.refusing import problem_of
from randsmooth import data, methods
from randsmooth.errors import BadValue, Conflict, MissingValue, UnknownName
from randsmooth.training import PRESETS, Recipe, TrainingSettings, resolve
from randsmooth.training.presets import SIGMAS, find
from values import Refusal

# What some presets need from the user: a model to take p_A from, or a teacher.
NEEDED = {
    "acr/amplify": {"p_A_from": "models/gaussian"},
    "released": {"teacher": "models/gaussian"},
}


def recipe(
    dataset: str, method: str | None = None, sigma: float = 0.5, **asked: Any
) -> Recipe:
    preset = find(method, dataset, asked.get("preset"))
    if preset.fixed.get("E_t") == 0:
        asked["set"] = NEEDED["acr/amplify"] | asked.get("set", {})
    if preset.fixed.get("variant") == "released":
        asked["set"] = NEEDED["released"] | asked.get("set", {})
    return resolve(
        dataset,
        TrainingSettings(method=method, sigma=sigma, **asked),
        data.DATASETS[dataset],
    )[0]


EVERY = [
    (preset, dataset, sigma)
    for preset in PRESETS
    for dataset in preset.datasets or data.DATASETS
    for sigma in preset.by_sigma or SIGMAS
    if find(preset.method, dataset, preset.name)
    is preset  # an earlier one of its name may serve the data set
]


def test_every_preset_resolves_where_it_was_published() -> None:
    assert {id(preset) for preset, *_ in EVERY} == {id(preset) for preset in PRESETS}
    for preset, dataset, sigma in EVERY:
        found, where = (
            recipe(dataset, None, sigma, preset=preset.name),
            (preset.name, dataset, sigma),
        )
        assert (found.preset, found.method, found.sigma) == (
            preset.name,
            preset.method,
            sigma,
        )
        assert found == recipe(dataset, preset.method, sigma, preset=preset.name), where
        scaled = {"E_t", "lbd_from"} if preset.reference_epochs else set()
        kept = {
            key: value
            for key, value in preset.hyperparameters(sigma).items()
            if key not in scaled
        }
        assert {key: found.hyperparameters[key] for key in kept} == kept, where
        assert found.images_per_step * found.build_method().m == found.batch, where


def typed(name: str) -> Any:
    """What was typed from the papers."""
    return yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text())


# (preset, data set) -> sigma -> all hyperparameters of its models in the papers' main tables.
MAIN: dict[tuple[str, str], dict[float, dict[str, Any]]] = {}
for key, columns in typed("published").items():
    MAIN[tuple(key.split())] = {
        sigma: {
            name: column[i] if isinstance(column, list) else column
            for name, column in columns.items()
        }
        for i, sigma in enumerate(columns.pop("sigmas", SIGMAS))
    }
# Jeong et al. 2023, the figures of table 1: commands of the Consistency and SmoothMix repositories.
LOGGED: dict[str, dict[str, Any]] = {
    "smoothadv": {"eps": 255 / 256},
    "macer": {"lbd_from": 31},
}
for method in (
    "gaussian",
    "stability",
    "smoothadv",
    "macer",
    "consistency",
    "smoothmix",
):
    prose = MAIN[f"cat-rs/{method}/prose", "mnist"]
    MAIN[f"cat-rs/{method}/table1", "mnist"] = {
        sigma: prose[sigma] | LOGGED.get(method, {}) for sigma in prose
    }


def test_the_main_tables_models_have_the_papers_values() -> None:
    for (name, dataset), by_sigma in MAIN.items():
        for sigma, expected in by_sigma.items():
            assert (
                recipe(dataset, None, sigma, preset=name).hyperparameters == expected
            ), (name, dataset, sigma)
    of_papers = [p for p in PRESETS if p.main and not p.name.startswith("randsmooth/")]
    assert {(p.name, dataset) for p in of_papers for dataset in p.datasets} - {
        *MAIN
    } == {(p.name, "cifar10-jpeg") for p in of_papers if "cifar10" in p.datasets}


def test_training_is_as_published() -> None:
    for each in typed("schedules"):
        dataset, *expected = each["of"]
        for name, images in each["presets"].items():
            found = recipe(dataset, preset=name)
            schedule = [
                found.arch,
                found.epochs,
                found.lr,
                [*found.lr_milestones],
                found.weight_decay,
            ]
            assert (schedule, found.images_per_step) == (expected, images), (
                name,
                dataset,
            )
            assert (found.lr_gamma, found.momentum) == (0.1, 0.9)


# data set -> method -> preset taken without asking; "...": the rest
DEFAULTS = {
    "mnist": {"amplify": "randsmooth", "...": "cat-rs"},
    "fashion-mnist": {"...": "randsmooth"},
    "digits": {"...": "randsmooth"},
    "cifar100": {"...": "randsmooth"},
    "cifar10": {"gaussian": "acr", "amplify": "acr", "...": "cat-rs"},
    "cifar10-jpeg": {"gaussian": "acr", "amplify": "acr", "...": "cat-rs"},
    "svhn": {"gaussian": "macer", "macer": "macer", "...": "randsmooth"},
    "imagenet": {
        "gaussian": "acr",
        "amplify": "acr",
        "macer": "macer",
        "smoothadv": "macer",
        "...": "randsmooth",
    },
}


def test_the_default_preset() -> None:
    for dataset, papers in DEFAULTS.items():
        for method in methods.METHODS:
            paper = papers.get(method, papers["..."])
            account = (
                "/prose"
                if (dataset, paper) == ("mnist", "cat-rs") and method != "cat-rs"
                else ""
            )
            preset = find(method, dataset)
            assert preset.name == f"{paper}/{method}{account}" and preset.main, (
                dataset,
                method,
            )
            found = recipe(dataset, method)
            assert find(method, dataset, found.preset) is preset
    assert (
        find(None, "mnist").name == "cat-rs/gaussian/prose"
        and recipe("digits").method == "gaussian"
    )


def test_a_baseline_of_cat_rs_on_mnist_says_which_account_it_is() -> None:
    for method in (
        "gaussian",
        "stability",
        "smoothadv",
        "macer",
        "consistency",
        "smoothmix",
    ):
        for anywhere in (False, True):
            preset = f"cat-rs/{method}"
            versions = (f"{preset}/prose (150 epochs)", f"{preset}/table1 (90 epochs)")
            Refusal(MissingValue, *versions, field="preset").check(
                problem_of(recipe, "mnist", preset=preset, anywhere=anywhere)
            )
        assert (
            recipe("cifar10", preset=f"cat-rs/{method}").epochs == 150
        )  # one account there
    for row in ("consistency/lbd=5", "smoothmix/eta=4", "cat-rs/lbd=1"):  # of table 4
        found = recipe("mnist", None, 1.0, preset=f"cat-rs/{row}")
        assert (found.epochs, found.lr_milestones) == (
            (150, (50, 100)) if row[:3] == "cat" else (90, (30, 60))
        )


# A method, a data set, a preset that does not fit, and the problem.
REFUSED: list[tuple[str | None, str, str, Refusal]] = [
    (
        "gaussian",
        "cifar10",
        "acr/gausian",
        Refusal(UnknownName, "'acr/gausian'", "'acr/gaussian'", field="preset"),
    ),
    (
        None,
        "cifar10",
        "acr/amplify/T=7",
        Refusal(UnknownName, "'acr/amplify/T=7'", "'acr/amplify/T=", field="preset"),
    ),
    (
        "gaussian",
        "cifar10",
        "acr/amplify",
        Refusal(Conflict, "method='amplify'", field="preset"),
    ),
    (
        "gaussian",
        "digits",
        "acr/gaussian",
        Refusal(
            BadValue, "cifar10, cifar10-jpeg, imagenet", "anywhere", field="preset"
        ),
    ),
    (
        "gaussian",
        "svhn",
        "cat-rs/gaussian",
        Refusal(BadValue, "preset='macer/gaussian'", field="preset"),
    ),
    (
        None,
        "fashion-mnist",
        "cat-rs/smoothmix",
        Refusal(BadValue, "preset='randsmooth/smoothmix'", field="preset"),
    ),
    (
        None,
        "mnist",
        "cat-rs/gaussian/tabel1",
        Refusal(UnknownName, "'cat-rs/gaussian/table1'", field="preset"),
    ),
]


def test_a_preset_that_does_not_fit_is_refused() -> None:
    for method, dataset, preset, refused in REFUSED:
        refused.check(problem_of(recipe, dataset, method, preset=preset))
