"""`randsmooth predict`: certificates of image files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from randsmooth import certificates, certification, data, models
from randsmooth.certificates import Certificates
from randsmooth.certification.refusals import refusal_name
from randsmooth.cli.one_classifier import (
    OneClassifier,
    completed,
    completed_like,
    images_at,
    spec_of,
)
from randsmooth.cli.output import note, show_answers
from randsmooth.cli.settings import Argument
from randsmooth.cli.what_to_certify import base_classifier, check_sources
from randsmooth.noise import Gaussian, Noise, on_words


class Predict(OneClassifier):
    """Settings of `randsmooth predict`.

    Attributes:
        images: Image files, or folders or files of many (see `certify --dataset`); files
            with a column of texts, where the model takes texts.
        like: Parquet file of certificates: be the same smoothed classifier, for images
            like theirs, with a new seed.
        format: Of the answers.
    """

    images: Argument[list[Path]]
    like: Path | None = None
    format: Literal["text", "csv", "json"] = "text"


def run(settings: Predict) -> None:
    """Classify image files, and certify the answers.

    An answer is a label, and the radius within which it cannot change. The radius is in
    L2, or in the norm of another --noise.

    Example: randsmooth predict runs/gaussian photo.png
    """
    check_sources(settings.model, settings.denoiser)
    # Late, as sources that are not there are refused before torch is loaded.
    import torch

    from randsmooth.models.around import declining

    table = None
    # A denoiser may have to know the sigma.
    sigma = settings.gaussian_sigma
    if settings.like is not None:
        table = certificates.read(settings.like)
        sigma = table.header.sigma
        settings = _reading_like(settings, table)
    model = base_classifier(
        settings.model, settings.model_arg, settings.denoiser, sigma
    )
    refusal = refusal_name(settings.refusal)
    if refusal is not None:
        model = declining(model, refusal)
    if models.takes_texts(model) or settings.text_column is not None:
        _answer_texts(models.on_texts(model), settings, table)
        return
    spec = spec_of(model, settings)
    model = _for_known_classes(model, spec, settings, table)
    smoothed = _smoothed(model, settings, table)
    if table is not None:
        certification.check_answers(smoothed.engine, spec.shape, table)

    named = []
    for path in settings.images:
        named += images_at(path, spec, settings)
    # The engine chooses its backend by how many samples are to be drawn.
    asked = smoothed.settings
    smoothed.engine.prepare(spec.shape, samples=len(named) * (asked.n0 + asked.n))
    result = smoothed.certify(torch.stack([image for _, image in named]))

    facts = _facts(smoothed.noise, result)
    answers = []
    for (name, _), predicted, radius in zip(
        named, result.predict.tolist(), result.radius.tolist(), strict=True
    ):
        answer = _answer(name, predicted, radius, spec.classes)
        if refusal is not None:
            answer["declined"] = predicted == result.refusal
        answers.append(answer | facts)
    show_answers(answers, settings.format)
    if settings.seed is None:
        note(f"--seed {result.seed} repeats these answers")


def _answer_texts(
    model: models.BaseClassifier, settings: Predict, table: Certificates | None
) -> None:
    """Answer about the texts in the files that the settings name."""
    # Late, as torch comes with it, and `--help` does without.
    from randsmooth.data.columns import NONE

    classes = None if table is None else table.header.classes
    if classes is not None:
        model = models.for_classes(model, classes)
    answers = []
    for path in settings.images:
        texts = data.load(
            str(path),
            "test",
            text_column=settings.text_column or data.ONLY_TEXTS,
            # Labels are not asked for.
            label_column=settings.label_column or NONE,
        )
        smoothed = _smoothed(model, settings, table, texts.spec.shape)
        inputs, _ = texts.batch(range(len(texts)))
        result = smoothed.certify(inputs)
        names = classes or getattr(model, "classes", None) or ()
        facts = _facts(smoothed.noise, result)
        for index, (predicted, radius) in enumerate(
            zip(result.predict.tolist(), result.radius.tolist(), strict=True)
        ):
            answer = _answer(texts.name_of(index), predicted, radius, names)
            answer["words"] = smoothed.noise.words_in(inputs[index])
            answers.append(answer | facts)
    show_answers(answers, settings.format)


def _answer(
    name: str, predicted: int, radius: float, classes: Sequence[str]
) -> dict[str, Any]:
    """Return the answer about one input, by the number of its class; below 0 it abstains.

    A class without a name is told by its number.
    """
    label = None
    if predicted >= 0:
        label = classes[predicted] if classes else str(predicted)
    return {"image": name, "label": label, "radius": radius}


def _reading_like(settings: Predict, table: Certificates) -> Predict:
    """Return the settings, with the data set and the size of the table's images.

    What the user gives stays.
    """
    header = table.header
    like_table: dict[str, Any] = {}
    if settings.refusal is None and header.refusal_name is not None:
        like_table["refusal"] = header.refusal_name
    # A folder that a table names is not opened unasked.
    if settings.dataset is None and header.dataset in data.DATASETS:
        like_table["dataset"] = header.dataset
    if settings.resize is None and settings.crop is None:
        like_table |= {"resize": header.resize, "crop": header.crop}
    return settings.model_copy(update=like_table)


def _for_known_classes(
    model: models.BaseClassifier,
    spec: data.DatasetSpec,
    settings: Predict,
    table: Certificates | None,
) -> models.BaseClassifier:
    """Return the model, answering for the classes of --dataset or of the table.

    Where neither says the classes, the model stays as it is.
    """
    classes = None
    # Open-ended classes are only those that occur.
    if settings.dataset and not spec.open_ended:
        classes = spec.classes
    elif table is not None:
        classes = table.header.classes
    return models.for_classes(model, classes) if classes else model


def _smoothed(
    model: models.BaseClassifier,
    settings: Predict,
    table: Certificates | None,
    shape_of_texts: tuple[int, ...] | None = None,
) -> certification.SmoothedClassifier:
    """Return the smoothed classifier of the options, or that of the table."""
    # There is a table exactly where --like is given.
    if table is None or settings.like is None:
        asked = completed(settings, model)
    else:
        asked = completed_like(settings, model, table, settings.like)
    if shape_of_texts is not None:
        asked = asked.replace(noise=on_words(asked.known_noise()))
    return certification.SmoothedClassifier(
        model,
        asked,
        shape=shape_of_texts,
        device=models.pick_device(settings.device),
        num_classes=settings.num_classes,
        refusal=settings.refusal,
    )


def _facts(noise: Noise, result: certification.Certified) -> dict[str, Any]:
    """Return the facts that all answers share."""
    asked = result.settings
    budget = {"n": asked.n, "alpha": asked.alpha, "seed": result.seed}
    if isinstance(noise, Gaussian):
        return {"sigma": noise.sigma} | budget
    return {"norm": noise.norm, "noise": noise.text} | budget
