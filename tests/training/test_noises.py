"""Training under noises: the methods that take them, what the model folder keeps, and what the training is good for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import randsmooth as rs
from models.refusing import problem_of
from randsmooth import data, models
from randsmooth.errors import BadValue, Problem
from randsmooth.noise import (
    Ablation,
    GaussianPerCoordinate,
    Laplace,
    Noise,
    Splitting,
    Stream,
    Uniform,
)
from randsmooth.training import TrainingSettings, resolve, train
from values import Refusal, refused

SHAPE = (1, 8, 8)
STD = np.random.default_rng(0).uniform(0.1, 0.4, SHAPE)
NOISES: list[Noise] = [
    Uniform(0.4),
    Laplace(0.3),
    Splitting(0.5),
    Ablation(12),
    GaussianPerCoordinate(STD),
]
METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {"m": 2},
    "stability": {},
    "consistency": {},
}
REFUSING: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("amplify", "cat-rs", "macer", "smoothadv", "smoothmix")},
    "consistency": {"eps": 0.5},
}


def settings(
    noise: Noise, method: str = "gaussian", **changes: Any
) -> TrainingSettings:
    """One epoch of three steps; the last has fewer images."""
    chosen: dict[str, Any] = {"noise": noise, "method": method, "epochs": 1, "take": 20}
    return TrainingSettings(
        **chosen | {"set": METHODS[method] | {"batch": 16}} | changes
    )


class Unadded(Uniform):
    """Of which nothing is known but how a copy is drawn."""

    additive = False


def test_offsets_make_copies_as_they_are_drawn() -> None:
    x = data.load("digits").batch(torch.arange(200))[0]
    for noise in (*(each.of(SHAPE) for each in NOISES), Unadded(0.4)):
        copies = noise.clear(x) + noise.offsets(x, 4, Stream(0, "mine"))
        drawn = torch.empty(200, 4, *noise.shape(SHAPE))
        for i, out in enumerate(drawn):
            noise.draw(out, x[i], Stream(1, "another").at(i))
        for moment in (1, 2):  # of a copy less what it is of, over 51,200 numbers
            mine, theirs = (
                (each - noise.clear(x)) ** moment
                for each in (copies, drawn.transpose(0, 1))
            )
            assert (
                mine.shape == theirs.shape
                and abs(float(mine.mean() - theirs.mean())) < 0.02
            ), (noise.text, moment)
            by_pixel = (mine.mean(dim=(0, 1)) - theirs.mean(dim=(0, 1))).abs().max()
            assert float(by_pixel) < 0.15, (noise.text, moment)
        assert len({*copies.flatten(2).double().sum(dim=2).ravel().tolist()}) > 300, (
            noise.text
        )  # each of its own


def test_every_noise_trains_by_every_method_that_takes_it(tmp_path: Path) -> None:
    for noise in NOISES:
        for method in METHODS:
            weights = set()
            for again in range(2 if method == "gaussian" else 1):
                out = tmp_path / f"{noise.name}-{method}-{again}"
                model = train("digits", settings(noise, method), out=out, device="cpu")
                weights.add(models.weights_hash(model))
            assert len(weights) == 1, (noise.text, method)
            assert (model.provenance["noise"], model.provenance["sigma"]) == (
                noise.of(SHAPE).facts(),
                None,
            )
            if method == "gaussian":  # data set and noise are the model's
                table = rs.certify(str(out), n0=2, n=20, take=2, device="cpu")
                assert table.header.noise == noise.of(SHAPE)
            assert noise.of(SHAPE).text in (out / "README.md").read_text().replace(
                "\\", ""
            ), noise.text


def test_what_is_of_gaussian_noise_alone_says_what_is_not() -> None:
    spec = data.describe("digits")
    for noise in NOISES:
        for method, hyper in REFUSING.items():
            asked = TrainingSettings(noise=noise, method=method, epochs=3, set=hyper)
            problem = problem_of(resolve, "digits", asked, spec)
            Refusal(
                BadValue, method, noise.name, "consistency, gaussian, stability"
            ).check(problem)
    for given in (
        {"noise": "uniform=0.4", "sigma": 0.5},
        {"noise": "unifrm=0.4"},
        {"noise": 3},
    ):
        with pytest.raises(Problem, match=r"uniform|noise=3"):
            TrainingSettings(**given)
    with pytest.raises(Problem, match="64"):
        resolve("digits", settings(Ablation(65)), spec)


def test_a_gaussian_of_one_sigma_is_that_sigma_and_another_noise_takes_its_place() -> (
    None
):
    gaussian = TrainingSettings(noise="gaussian=0.5")
    assert gaussian == TrainingSettings(sigma=0.5)
    uniform = gaussian.replace(noise=Uniform(0.4))
    assert (uniform.noise, uniform.replace(sigma=0.5)) == (Uniform(0.4), gaussian)
    assert TrainingSettings(sigma=0).noise == "none"
    recipe, (_, *notes) = resolve(
        "cifar10", TrainingSettings(noise=Uniform(0.4)), data.DATASETS["cifar10"]
    )
    assert (
        recipe.flat()["noise"] == "uniform=0.4"
        and "sigma" not in recipe.flat()
        and notes == []
    )
    _, (_, *notes) = resolve(
        "cifar10",
        TrainingSettings(noise=Uniform(0.4), method="consistency"),
        data.DATASETS["cifar10"],
    )
    (note,) = notes
    assert note.kind == "values_of_nearest_sigma"
    assert (note.facts["wanted"], note.facts["nearest"]) == ("uniform=0.4", 0.5)


def test_the_marks_of_an_ablation_are_left_alone_by_the_normalisation(
    tmp_path: Path,
) -> None:
    facts: dict[str, Any] = {
        "arch": "small-cnn",
        "classes": ["cat", "dog"],
        "shape": [3, 8, 8],
        "extra_channels": 1,
    }
    model = models.Classifier(**facts, mean=[0.5, 0.4, 0.3], std=[0.2, 0.2, 0.1]).eval()
    x = Ablation(5).clear(torch.rand(2, 3, 8, 8))
    seen: list[torch.Tensor] = []
    model.network.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
    logits = model(x)
    assert torch.equal(seen[0][:, 3], x[:, 3])
    torch.testing.assert_close(seen[0][:, 0], (x[:, 0] - 0.5) / 0.2)
    models.save(model, tmp_path / "m")
    assert torch.equal(models.load(tmp_path / "m")(x), logits)
    with refused(BadValue, "extra_channels", value=-1):
        models.Classifier(**facts | {"extra_channels": -1})


@pytest.mark.slow
def test_a_model_is_certified_better_under_the_noise_of_its_training(
    tmp_path: Path,
) -> None:
    """Than one that never saw noise: 58% beside 25% of 40 digits under uniform noise, 73% beside 63% under another."""
    plain: dict[str, Any] = {
        "epochs": 6,
        "take": 1000,
        "set": {"batch": 64, "lr": 0.1},
        "device": "cpu",
    }
    budget: dict[str, Any] = {"n0": 20, "n": 200, "take": 40, "device": "cpu"}
    clean = train("digits", sigma=0, out=tmp_path / "clean", **plain)
    for noise, radius in ((Uniform(0.8), 0.3), (Splitting(0.5), 0.2)):
        model = train("digits", noise=noise, out=tmp_path / noise.name, **plain)
        tables = [
            rs.certify(each, "digits", noise=noise, **budget) for each in (model, clean)
        ]
        shares = [rs.metrics.certified_accuracy(each, radius).value for each in tables]
        assert shares[0] > shares[1] + 0.05, (noise.text, shares)
    model = train("digits", noise=Ablation(20), out=tmp_path / "ablation", **plain)
    table = rs.certify(model, **budget)
    assert table.header.norm == "l0"
    assert float((table.predict == table.label).mean()) > 0.3
