"""`randsmooth predict`."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth import bounds
from randsmooth.cli.verb import Settings, argument, option
from randsmooth.errors import InputError, unknown

if TYPE_CHECKING:
    from randsmooth.data import DatasetSpec
    from randsmooth.models import Classifier

FORMATS = ("text", "csv", "json")
Answers = list[dict[str, Any]]


class Predict(Settings):
    """Settings of `randsmooth predict`."""

    model: str = argument("Model folder, or `user/name` on the Hugging Face hub.")
    images: list[Path] = argument("Image files.")
    sigma: float | None = option("Standard deviation of the noise. (default: the one that the model was trained with)")
    n: int = option("Samples an image that bound the probability of its class.", 10_000)
    n0: int = option("Other samples, that pick the class.", 100)
    alpha: float = option("Probability that an image's certificate is wrong.", 0.001)
    precision: str = option("Arithmetic of the base classifier: 32 or bf16.", "32")
    device: str = option("auto, cpu or cuda.", "auto")
    seed: int = option("Seed of the noise.", 0)
    format: str = option("text, csv or json.", "text")


def predict(settings: Predict) -> None:
    """Classify image files and certify the answers: label and L2 radius within which it cannot change.

    Example: randsmooth predict runs/gaussian photo.png
    """
    import torch

    from randsmooth import certification, data, models
    from randsmooth.certificates import check_budget

    if settings.format not in FORMATS:
        raise unknown("format", settings.format, FORMATS)
    check_budget(settings.n0, settings.n, settings.alpha)
    model = models.load(settings.model)
    sigma = model.provenance.get("sigma") if settings.sigma is None else settings.sigma
    if sigma is None:
        raise InputError(f"{settings.model} does not say which sigma it was trained with; pass --sigma")
    smoothed = certification.SmoothedClassifier(
        model, sigma, device=models.pick_device(settings.device), precision=settings.precision, seed=settings.seed
    )
    spec = spec_of(model)
    x = torch.stack([data.read_image(path, spec) for path in settings.images])
    result = smoothed.certify(x, settings.n0, settings.n, settings.alpha)
    pairs = zip(settings.images, result.predict, result.radius, strict=True)
    show([_answer(path, int(k), float(r), model.classes) for path, k, r in pairs], settings.format)


def spec_of(model: Classifier) -> DatasetSpec:
    """What the model's images look like: its data set's spec where that has a name, else its own shape."""
    from randsmooth import data

    trained_on = model.provenance.get("dataset")
    if trained_on in data.names():
        return data.spec(trained_on)
    return data.DatasetSpec(
        name=str(trained_on or "the model's images"),
        shape=model.shape,
        classes=tuple(model.classes),
        mean=None,
        std=None,
        augment="none",
        arch=model.arch,
        hub=None,
        sizes={"test": 1},
        description="",
    )


def _answer(path: Path, predicted: int, radius: float, classes: list[str]) -> dict[str, Any]:
    label = None if predicted < 0 else classes[predicted]
    return {"image": str(path), "label": label, "radius": radius}


def show(answers: Answers, format: str) -> None:
    """Print one answer a line; an abstention has no label and radius 0."""
    if format == "json":
        print(json.dumps(answers, indent=1))
    elif format == "csv":
        writer = csv.DictWriter(sys.stdout, list(answers[0]))
        writer.writeheader()
        writer.writerows(answers)
    else:
        for answer in answers:
            radius = bounds.round_down(answer["radius"], 4)
            verdict = "abstains" if answer["label"] is None else f"{answer['label']}  radius {radius}"
            print(f"{answer['image']}  {verdict}")
