"""`randsmooth predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from randsmooth.cli.images import OneClassifier, completed, images_at, spec_of
from randsmooth.cli.messages import show_answers
from randsmooth.cli.models import base_classifier, check_sources
from randsmooth.cli.settings import argument, option
from randsmooth.escape import say


class Predict(OneClassifier):
    """Settings of `randsmooth predict`."""

    images: list[Path] = argument("Image files, or folders or files of many (see `certify --dataset`).")
    like: Path | None = option(
        "Parquet file of certificates: use the same base classifier, sigma and arithmetic as they did, with new noise."
    )
    format: Literal["text", "csv", "json"] = option("Of the answers.", "text")


def predict(settings: Predict) -> None:
    """Classify image files and certify the answers: the label, and the L2 radius within which it cannot change.

    Example: randsmooth predict runs/gaussian photo.png
    """
    check_sources(settings.model, settings.denoiser)
    import torch

    from randsmooth import certificates, certification, models

    asked = settings.asked()
    table = None if settings.like is None else certificates.read(settings.like)
    sigma = settings.sigma if table is None else table.header.sigma
    model = base_classifier(settings.model, settings.model_arg, settings.denoiser, sigma)
    spec = spec_of(model, settings)
    classes = spec.classes if settings.dataset and not spec.open_ended else table and table.header.classes
    model = models.for_classes(model, classes) if classes else model
    how = completed(asked, settings, model, table, settings.like)
    smoothed = certification.SmoothedClassifier(
        model, how, device=models.pick_device(settings.device), num_classes=settings.num_classes
    )
    if table is not None:
        certification.check_answers(smoothed.engine, spec.shape, table)
    named = [each for path in settings.images for each in images_at(path, spec, settings)]
    smoothed.engine.prepare(spec.shape, len(named) * (how.n0 + how.n))
    result = smoothed.certify(torch.stack([x for _, x in named]))
    pairs = zip(named, result.predict, result.radius, strict=True)
    answers = [_answer(name, int(k), float(r), spec.classes) for (name, _), k, r in pairs]
    facts = {"sigma": smoothed.sigma, "n": settings.n, "alpha": settings.alpha, "seed": result.seed}
    show_answers([answer | facts for answer in answers], settings.format)
    if settings.format == "text" and settings.seed is None:
        say(f"seed {result.seed}: --seed {result.seed} repeats these answers")


def _answer(path: str, predicted: int, radius: float, classes: tuple[str, ...]) -> dict[str, Any]:
    label = None if predicted < 0 else classes[predicted]
    return {"image": path, "label": label, "radius": radius}
