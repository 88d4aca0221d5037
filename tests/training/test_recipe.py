"""From settings to a recipe: what overrides what, what is scaled, what is said and what is refused."""

import json
import math
from typing import Any

import pytest

from randsmooth import data
from randsmooth.cli.settings import pairs
from randsmooth.errors import InputError
from randsmooth.training import Recipe, TrainingSettings, resolve
from randsmooth.training.recipe import HOW


def ask(
    dataset: str = "cifar10", method: str | None = "amplify", sigma: float = 0.5, **asked: Any
) -> tuple[Recipe, list[str]]:
    """The recipe, and what is said after the preset's source."""
    device = asked.pop("device", "auto")
    settings = TrainingSettings(method=method, sigma=sigma, **asked)
    recipe, (source, *notes) = resolve(dataset, settings, data.DATASETS[dataset], device=device)
    assert source.startswith(f"{recipe.preset}: ")
    return recipe, notes


def test_without_wishes_nothing_more_is_said() -> None:
    recipe, notes = ask()
    assert notes == []
    assert (recipe.dataset, recipe.arch, recipe.sigma, recipe.take) == ("cifar10", "resnet110", 0.5, None)
    assert (recipe.seed, recipe.precision, recipe.device, recipe.compile) == (0, "32", "auto", False)


def test_wishes_reach_the_recipe() -> None:
    asked: dict[str, Any] = {
        "arch": "resnet20",
        "take": 1000,
        "precision": "bf16-mixed",
        "device": "cpu",
        "compile": True,
        "seed": 3,
    }
    recipe, _ = ask(**asked)
    assert recipe.model_dump(include=set(asked)) == asked


# epochs -> lr_milestones, E_t, reweight_every of a preset of 150 with 50 and 100, 70, 10
COMPRESSED = [
    (150, (50, 100), 70, 10),
    (75, (25, 50), 35, 5),
    (30, (10, 20), 14, 2),
    (15, (5, 10), 7, 1),
    (300, (100, 200), 140, 20),
]


@pytest.mark.parametrize(("epochs", "lr_milestones", "e_t", "every"), COMPRESSED)
def test_all_that_is_measured_in_epochs_is_scaled_together(
    epochs: int, lr_milestones: tuple[int, ...], e_t: int, every: int
) -> None:
    recipe, notes = ask(epochs=epochs)
    found = (
        recipe.epochs,
        recipe.lr_milestones,
        recipe.hyperparameters["E_t"],
        recipe.hyperparameters["reweight_every"],
    )
    assert found == (epochs, lr_milestones, e_t, every)
    assert len(notes) == (epochs != 150) and all("150" in note and str(epochs) in note for note in notes)
    whole, _ = ask()
    for key in ("m", "p_t", "T", "eps", "discard_noises", "reweight_noises"):  # not in epochs
        assert recipe.hyperparameters[key] == whole.hyperparameters[key]
    assert (recipe.lr, recipe.batch) == (whole.lr, whole.batch)


# method, sigma, epochs -> the hyperparameter in epochs, of a preset of 150
SCALED = [
    ("macer", 1.0, "lbd_from", [(150, 50), (30, 10), (3, 1), (2, 1), (300, 100)]),
    ("macer", 0.25, "lbd_from", [(150, 0), (30, 0), (1, 0), (300, 0)]),
    ("smoothadv", 0.5, "warmup", [(150, 10), (30, 2), (15, 1), (5, 1), (1, 1), (300, 20)]),
    ("smoothmix", 0.5, "warmup", [(150, 10), (75, 5), (1, 1)]),
    ("consistency", 0.5, "warmup", [(150, 10), (75, 5), (1, 1)]),
]


@pytest.mark.parametrize(("method", "sigma", "key", "pairs"), SCALED)
def test_every_method_is_scaled(method: str, sigma: float, key: str, pairs: list[tuple[int, int]]) -> None:
    for epochs, expected in pairs:
        recipe, notes = ask(method=method, sigma=sigma, epochs=epochs)
        assert recipe.hyperparameters[key] == expected
        assert not any(f"{key}=" in note for note in notes)  # scaled, not overridden
        if key == "lbd_from" and expected:
            assert recipe.lr_milestones[0] == expected


@pytest.mark.parametrize("epochs", range(3, 40))
def test_short_runs_keep_every_phase(epochs: int) -> None:
    recipe, _ = ask(epochs=epochs)
    assert 1 <= recipe.hyperparameters["E_t"] < epochs
    assert recipe.hyperparameters["reweight_every"] >= 1
    assert 1 <= recipe.lr_milestones[0] < recipe.lr_milestones[1] < epochs


# method, preset, epochs -> lr_milestones and where the method's part begins
SHORTEST = [
    ("amplify", "acr/amplify/E_t=130", 2, (1,), "E_t", 1),
    ("amplify", None, 3, (1, 2), "E_t", 1),
    ("amplify", "acr/amplify/reweight+attack", 1, (), "E_t", 0),
    ("macer", "randsmooth/macer", 1, (), "lbd_from", 0),
    ("macer", "randsmooth/macer", 2, (1,), "lbd_from", 1),
]


@pytest.mark.parametrize(("method", "preset", "epochs", "drops", "key", "begins"), SHORTEST)
def test_the_shortest_runs_begin_and_drop_within_their_epochs(
    method: str, preset: str | None, epochs: int, drops: tuple[int, ...], key: str, begins: int
) -> None:
    recipe, _ = ask(method=method, preset=preset, epochs=epochs)
    assert (recipe.lr_milestones, recipe.hyperparameters[key]) == (drops, begins)


OFF = {"discard": False, "reweight": False, "attack": False}


@pytest.mark.parametrize(
    ("method", "settings"), [("amplify", {"E_t": 200, **OFF}), ("macer", {"lbd_from": 200, "lbd": 0.0})]
)
def test_a_part_that_is_off_may_begin_at_any_epoch(method: str, settings: dict[str, Any]) -> None:
    assert ask(method=method, set=settings)[0].hyperparameters.items() >= settings.items()


def test_the_first_line_tells_the_run() -> None:
    assert ask(method="smoothadv", epochs=15)[0].summary() == (
        "preset cat-rs/smoothadv: smoothadv with m=2, eps=2.0, T=10, attack=pgd, warmup=1; resnet110, "
        "15 epochs, lr 0.1 (x0.1 at epochs 5, 10), batch 256, weight decay 0.0001, 128 images per step"
    )


def test_the_source_is_said_first() -> None:
    _, notes = resolve("mnist", TrainingSettings(method="smoothmix", sigma=1.0), data.DATASETS["mnist"])
    assert notes == ["cat-rs/smoothmix/prose: Jeong et al., AAAI 2023, submission, section 4 and appendix B.2"]


def test_epoch_0_stays_the_first() -> None:
    recipe, _ = ask("imagenet", epochs=9, set={"p_A_from": "models/gaussian"})
    assert (recipe.hyperparameters["E_t"], recipe.lr_milestones) == (0, (3, 6))


@pytest.mark.parametrize(("epoch", "lr"), [(0, 0.1), (49, 0.1), (50, 0.01), (99, 0.01), (100, 0.001), (149, 0.001)])
def test_the_learning_rate_drops_at_its_epochs(epoch: int, lr: float) -> None:
    assert ask()[0].lr_at(epoch) == pytest.approx(lr, rel=1e-12)


SETTINGS = [
    ("T", 2, 2),
    ("eps", 0.5, 0.5),
    ("eps", 1, 1.0),  # a whole number may stand for a float
    ("p_t", 0, 0.0),
    ("E_t", 12, 12),
    ("discard", False, False),
    ("norm", "linf", "linf"),
    ("p_A_from", "models/gaussian", "models/gaussian"),
    ("m", 8, 8),
]


@pytest.mark.parametrize(("key", "given", "kept"), SETTINGS)
def test_settings_of_the_method_override_the_preset_and_are_said(key: str, given: Any, kept: Any) -> None:
    recipe, notes = ask(set={key: given})
    assert recipe.hyperparameters[key] == kept and type(recipe.hyperparameters[key]) is type(kept)
    usual = ask()[0].hyperparameters[key]
    assert notes == [f"{key}={kept!r}" + ("" if usual is None else f" instead of the preset's {usual!r}")]
    others = {k: v for k, v in ask()[0].hyperparameters.items() if k != key}
    assert {k: v for k, v in recipe.hyperparameters.items() if k != key} == others


# What the method of a preset takes besides numbers, as YAML and the command line spell it.
SPELLED = [
    ("cat-rs", ["mask=false"], {"mask": False}),
    ("cat-rs", ["low=False", "lbd=2"], {"low": False, "lbd": 2.0}),
    ("cat-rs", ["high=off"], {"high": "off"}),  # which YAML reads as false
    ("cat-rs", ["high=mean", "mask=true"], {"high": "mean", "mask": True}),
    ("cat-rs", ["variant=released", "teacher=runs/gaussian"], {"variant": "released", "teacher": "runs/gaussian"}),
    ("cat-rs", ["teacher=null"], {"teacher": None}),
    ("cat-rs", ["variant=released", "teacher=@abc"], {"teacher": "@abc"}),  # no YAML
    ("cat-rs", ["variant=released", 'teacher="2024"'], {"teacher": "2024"}),
    ("cat-rs", ["lbd=1e-3"], {"lbd": 1e-3}),
    ("amplify", ["reweight=no", "p_A_from=runs/gaussian"], {"reweight": False, "p_A_from": "runs/gaussian"}),
    ("smoothadv", ["attack=gradient-free"], {"attack": "gradient-free"}),
    ("consistency", ["form=kl", "eps=1"], {"form": "kl", "eps": 1.0}),
    ("macer", ["k=8", "lbd_from=20", "batch=2048"], {"k": 8, "lbd_from": 20}),
]


@pytest.mark.parametrize(("method", "words", "kept"), SPELLED)
def test_settings_are_read_as_they_are_spelled(method: str, words: list[str], kept: dict[str, Any]) -> None:
    found = ask(method=method, set=pairs(words))[0].hyperparameters
    assert {key: found[key] for key in kept} == kept
    assert all(type(found[key]) is type(value) for key, value in kept.items())


COMPRESSION = "schedule of 150 epochs compressed to 30: lr_milestones [50, 100] -> [10, 20]"
DIGITS = "schedule of 40 epochs compressed to 20: lr_milestones [15, 30] -> [8, 15], lbd_from 13 -> 7"

# What is asked of the preset, and what is said of it.
SAID = [
    ({"set": {"eps": 0.5}}, ["eps=0.5 instead of the preset's 0.25"]),
    ({"set": {"eps": 0.25, "T": 6, "norm": "l2", "batch": 256, "lr_milestones": [50, 100]}}, []),
    ({"set": {"m": 2, "lr": 0.1}}, ["m=2 instead of the preset's 4"]),
    ({"set": {"norm": "linf"}}, ["norm='linf' instead of the preset's 'l2'"]),
    ({"set": {"p_A_from": "runs/x"}}, ["p_A_from='runs/x'"]),
    ({"arch": "resnet20"}, ["arch='resnet20' instead of the preset's 'resnet110'"]),
    ({"arch": "resnet110"}, []),
    ({"preset": "cat-rs/cat-rs/no-mask", "method": None}, []),
    (
        {"preset": "cat-rs/cat-rs/no-mask", "method": None, "arch": "resnet110"},
        ["arch='resnet110' instead of the preset's 'resnet20'"],
    ),
    (
        {"epochs": 30, "set": {"E_t": 20}},
        ["E_t=20 instead of the preset's 14", f"{COMPRESSION}, reweight_every 10 -> 2"],
    ),
    ({"epochs": 30, "set": {"E_t": 14}}, [f"{COMPRESSION}, reweight_every 10 -> 2"]),
    ({"epochs": 30}, [f"{COMPRESSION}, E_t 70 -> 14, reweight_every 10 -> 2"]),
    ({"method": "smoothmix", "epochs": 30}, [f"{COMPRESSION}, warmup 10 -> 2"]),
    ({"method": "gaussian", "epochs": 1}, ["schedule of 150 epochs compressed to 1: lr_milestones [50, 100] -> []"]),
    (
        {"method": "gaussian", "epochs": 1, "set": {"lr_milestones": [], "m": 2, "lr": 0.2}},
        [
            "m=2 instead of the preset's 4; lr=0.2 instead of the preset's 0.1",
            "schedule of 150 epochs compressed to 1",
        ],
    ),
    ({"dataset": "digits", "method": "macer", "epochs": 20}, [DIGITS]),
    (
        {"sigma": 0.3, "set": {"T": 4}},
        [
            "acr/amplify has no values for sigma=0.3: E_t, p_t, eps taken from sigma=0.25",
            "T=4 instead of the preset's 3",
        ],
    ),
]


@pytest.mark.parametrize(("asked", "said"), SAID)
def test_what_differs_from_the_preset_is_said_and_nothing_else(asked: dict[str, Any], said: list[str]) -> None:
    assert ask(**asked)[1] == said


# What names the method, and the method and preset that it comes to, on CIFAR-10.
NAMED = [
    ({"method": None}, "gaussian", "acr/gaussian"),
    ({"method": "smoothmix"}, "smoothmix", "cat-rs/smoothmix"),
    ({"method": None, "preset": "cat-rs/smoothmix"}, "smoothmix", "cat-rs/smoothmix"),
    ({"method": "smoothmix", "preset": "acr/smoothmix"}, "smoothmix", "acr/smoothmix"),
    ({"method": None, "preset": "acr/amplify/T=8"}, "amplify", "acr/amplify/T=8"),
    ({"method": None, "preset": "randsmooth/macer"}, "macer", "randsmooth/macer"),
]


@pytest.mark.parametrize(("asked", "method", "preset"), NAMED)
def test_the_preset_names_the_method(asked: dict[str, Any], method: str, preset: str) -> None:
    recipe, notes = ask(**asked)
    assert (recipe.method, recipe.preset, notes) == (method, preset, [])


def test_a_variations_architecture_is_the_papers() -> None:
    assert ask(method=None, preset="cat-rs/cat-rs/no-mask")[0].arch == "resnet20"
    assert ask(method=None, preset="cat-rs/cat-rs")[0].arch == "resnet110"
    assert ask(method=None, preset="cat-rs/cat-rs/no-mask", arch="lenet")[0].arch == "lenet"


STEPS = [
    ("lr", 0.05),
    ("batch", 128),
    ("weight_decay", 0.0),
    ("momentum", 0.5),
    ("lr_gamma", 0.5),
    ("lr_milestones", (5, 9)),
]


@pytest.mark.parametrize(("key", "value"), STEPS)
def test_settings_of_the_steps_override_the_preset_and_are_said(key: str, value: Any) -> None:
    recipe, notes = ask(set={key: value})
    assert getattr(recipe, key) == value
    assert notes == [f"{key}={value!r} instead of the preset's {getattr(ask()[0], key)!r}"]
    assert recipe.hyperparameters == ask()[0].hyperparameters


def test_what_is_set_is_not_scaled() -> None:
    recipe, _ = ask(epochs=30, set={"E_t": 20, "lr_milestones": [8, 16]})
    assert (recipe.hyperparameters["E_t"], recipe.lr_milestones) == (20, (8, 16))
    assert recipe.hyperparameters["reweight_every"] == 2  # the rest is


@pytest.mark.parametrize(("k", "batch", "images"), [(16, 4096, 256), (16, 16, 1), (4, 256, 64)])
def test_macers_images_per_step(k: int, batch: int, images: int) -> None:
    recipe, _ = ask(method="macer", set={"k": k, "batch": batch})
    assert (recipe.images_per_step, recipe.build_method().m) == (images, k)


@pytest.mark.parametrize(
    ("m", "batch", "images"), [(1, 256, 256), (4, 256, 64), (8, 256, 32), (256, 256, 1), (3, 12, 4)]
)
def test_a_batch_is_m_noises_of_each_image(m: int, batch: int, images: int) -> None:
    assert ask(set={"m": m, "batch": batch})[0].images_per_step == images


SIGMAS = [(0.12, 0.25), (0.3, 0.25), (0.4, 0.5), (0.7, 0.5), (0.8, 1.0), (2.0, 1.0)]


@pytest.mark.parametrize(("sigma", "nearest"), SIGMAS)
def test_an_unpublished_sigma_takes_the_nearest_and_says_so(sigma: float, nearest: float) -> None:
    recipe, notes = ask(sigma=sigma)
    assert recipe.sigma == sigma
    assert recipe.hyperparameters == ask(sigma=nearest)[0].hyperparameters
    assert len(notes) == 1
    for part in ("acr/amplify", f"sigma={sigma}:", "E_t, p_t, T, eps", f"sigma={nearest}"):
        assert part in notes[0]


def test_only_values_that_are_not_given_are_borrowed() -> None:
    _, notes = ask(sigma=0.3, set={"E_t": 60, "T": 3})
    assert "p_t, eps taken from sigma=0.25" in notes[0]
    _, notes = ask(sigma=0.3, set={"E_t": 60, "T": 3, "p_t": 0.5, "eps": 0.3})
    assert not any("has no values" in note for note in notes)
    assert ask(method="gaussian", sigma=0.3)[1] == []


NAN, INF = math.nan, math.inf
BAD = [
    ({"sigma": NAN}, "sigma=nan must be a finite number > 0"),
    ({"sigma": 0.0}, "sigma=0 trains without noise, and amplify needs some"),
    ({"sigma": -0.5}, "sigma=-0.5 must be a finite number > 0"),
    ({"sigma": INF}, "sigma=inf must be a finite number > 0"),
    ({"method": "amplifi"}, "unknown method 'amplifi': did you mean 'amplify'"),
    ({"preset": "acr/amplifi"}, "did you mean 'acr/amplify'"),
    ({"epochs": 0}, "epochs=0 must be at least 1"),
    ({"epochs": -3}, "epochs=-3 must be at least 1"),
    ({"seed": -1}, "seed=-1 must be 0 or more"),
    ({"set": {"epsilon": 0.5}}, "unknown setting of amplify 'epsilon'"),
    ({"set": {"weight_deca": 0.5}}, "did you mean 'weight_decay'"),
    ({"method": "amplify", "set": {"e_t": 5}}, "did you mean 'E_t'"),
    ({"set": {"lr": "fast"}}, "lr='fast'"),
    ({"set": {"batch": 2.5}}, "batch=2.5"),
    ({"set": {"lr_milestones": 7}}, "lr_milestones=7"),
    ({"set": {"lr_milestones": [50, "x"]}}, "lr_milestones="),
    ({"set": {"lr_milestones": [100, 50]}}, "lr_milestones="),
    ({"set": {"lr_milestones": [-5]}}, "lr_milestones="),
    ({"set": {"momentum": float("nan")}}, "momentum=nan"),
    ({"set": {"weight_decay": -1.0}}, "weight_decay=-1.0"),
    ({"set": {"epochs": 5}}, "unknown setting of amplify 'epochs'"),
    ({"method": "gaussian", "set": {"eps": 0.5}}, "unknown setting of gaussian 'eps'"),
    ({"set": {"T": 2.0}}, "T=2.0 must be of type int"),
    ({"set": {"T": "2"}}, "T='2' must be of type int"),
    ({"set": {"T": True}}, "T=True must be of type int"),
    ({"set": {"eps": "far"}}, "eps='far' must be of type float"),
    ({"set": {"eps": True}}, "eps=True must be of type float"),
    ({"set": {"discard": 1}}, "discard=1 must be of type bool"),
    ({"set": {"norm": 2}}, "norm=2 must be of type str"),
    ({"set": {"norm": "l3"}}, "norm='l3' must be one of l2, linf"),
    ({"set": {"p_A_from": 3}}, "p_A_from=3 must be of type str"),
    ({"set": {"norm": True}}, "norm=True must be of type str"),
    ({"set": {"norm": False}}, "norm='off' must be one of l2, linf"),
    ({"method": "cat-rs", "set": {"mask": "no"}}, "mask='no' must be of type bool"),
    ({"method": "cat-rs", "set": {"mask": 0}}, "mask=0 must be of type bool"),
    ({"method": "cat-rs", "set": {"teacher": True}}, "teacher=True must be of type str"),
    ({"method": "cat-rs", "set": {"high": "min"}}, "high='min' must be one of max, mean, off"),
    ({"method": "macer", "set": {"m": 8}}, "unknown setting of macer 'm'.*k"),
    (
        {"method": "gaussian", "preset": "cat-rs/smoothmix"},
        "is for --method smoothmix, not gaussian",
    ),
    ({"method": None, "preset": "cat-rs/smoothmx"}, "did you mean 'cat-rs/smoothmix'"),
    ({"method": None, "set": {"eps": 0.5}}, "unknown setting of gaussian 'eps'"),
    ({"set": {"eps": NAN}}, "eps=nan"),
    ({"set": {"p_t": 1.5}}, "p_t=1.5 must lie in"),
    ({"set": {"batch": 254}}, "batch=254 must be a multiple of m=4"),
    ({"set": {"batch": 3}}, "batch=3 must be a multiple of m=4"),
    ({"set": {"batch": 0}}, "batch=0 must be a multiple of m=4"),
    ({"set": {"batch": -4}}, "batch=-4 must be a multiple of m=4"),
    ({"set": {"m": 5}}, "batch=256 must be a multiple of m=5"),
    ({"method": "macer", "set": {"k": 3}}, "batch=4096 must be a multiple of m=3: it holds m noises of"),
    ({"method": "macer", "set": {"batch": 100}}, "batch=100 must be a multiple of m=16"),
    ({"set": {"lr": 0.0}}, "lr=0.0 must be a finite number above 0"),
    ({"set": {"lr": NAN}}, "lr=nan"),
    ({"set": {"lr": INF}}, "lr=inf"),
    ({"set": {"lr_gamma": -0.1}}, "lr_gamma=-0.1"),
    ({"set": {"E_t": 150}}, "E_t=150 lies beyond the last of 150 epochs"),
    (
        {"method": "macer", "set": {"lbd_from": 150}},
        "lbd_from=150 lies .* the robustness term would never begin",
    ),
    ({"method": "macer", "sigma": 1.0, "epochs": 9, "set": {"lbd_from": 50}}, "lbd_from=50 lies beyond the last of 9"),
    ({"epochs": 10, "set": {"E_t": 70}}, "E_t=70 lies beyond the last of 10 epochs"),
    ({"set": {"E_t": 150, "discard": False}}, "count from 0: reweighting and the attack would never begin"),
    ({"epochs": 1}, "amplify needs at least 2 epochs, not 1: it first trains"),
    ({"epochs": 1, "set": {"E_t": 0}}, "E_t=0 discards images before any training"),
    ({"epochs": 1, "set": {"E_t": 1}}, "E_t=1 lies beyond the last of 1 epochs"),
    ({"set": pairs(["lr=[1"])}, r"lr='\[1' is of the wrong type"),
    ({"set": pairs(["lr_milestones=[5"])}, r"lr_milestones='\[5' must be epochs above 0 in rising order"),
    ({"set": {"p_A_from": 2024}}, "p_A_from=2024 must be of type str: quote it twice, --set 'p_A_from=\"...\"'"),
    ({"dataset": "imagenet"}, "E_t=0 discards images before any training.*p_A_from"),
]


@pytest.mark.parametrize(("asked", "message"), BAD)
def test_what_cannot_be_used_is_named(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(**asked)


@pytest.mark.parametrize(("method", "key"), [("amplify", "E_t"), ("macer", "lbd_from")])
def test_the_last_epoch_is_fine_to_begin_at(method: str, key: str) -> None:
    assert ask(method=method, set={key: 149})[0].hyperparameters[key] == 149


def dumped(recipe: Recipe) -> dict[str, Any]:
    """As it lies in a checkpoint."""
    return json.loads(json.dumps(recipe.model_dump(mode="json")))  # type: ignore[no-any-return]


def test_a_recipe_is_the_same_after_a_round_trip() -> None:
    recipe, _ = ask(set={"eps": 0.5}, take=100)
    assert Recipe.model_validate(dumped(recipe)) == recipe
    assert recipe.changes(dumped(recipe)) == []
    assert recipe.build_method() == Recipe.model_validate(dumped(recipe)).build_method()
    assert recipe.images_per_step == 64
    assert Recipe.model_validate(dumped(recipe)) == recipe  # also once asked


DIFFERENT = [
    ({"seed": 1}, ["seed: 0 in the file, 1 asked for"]),
    ({"take": 7}, ["take: None in the file, 7 asked for"]),
    ({"arch": "resnet20"}, ["arch: 'resnet110' in the file, 'resnet20' asked for"]),
    ({"precision": "bf16-mixed"}, ["precision"]),
    ({"set": {"lr": 0.2}}, ["lr: 0.1 in the file, 0.2 asked for"]),
    ({"set": {"lr_milestones": [1]}}, ["lr_milestones"]),
    ({"set": {"eps": 0.75}}, ["eps: 0.25 in the file, 0.75 asked for"]),
    ({"epochs": 75}, ["E_t", "reweight_every", "epochs", "lr_milestones"]),
    ({"method": "gaussian"}, ["method"]),
    ({"sigma": 0.51}, ["sigma"]),
    ({"device": "cpu"}, []),
    ({"compile": True}, []),
    ({"device": "cuda", "compile": True}, []),
]


@pytest.mark.parametrize(("asked", "named"), DIFFERENT)
def test_differences_name_what_changes_the_weights_and_nothing_else(asked: dict[str, Any], named: list[str]) -> None:
    found = [str(change) for change in ask(**asked)[0].changes(dumped(ask()[0]))]
    assert len(found) == len(named)
    assert {text.split(":")[0] for text in found} == {text.split(":")[0] for text in named}
    assert all(text in found for text in named if ":" in text)


def test_where_to_compute_is_all_that_may_differ() -> None:
    assert HOW == ("device", "compile")
    assert ask()[0].changes({}) != []
