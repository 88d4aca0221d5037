"""`randsmooth predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.certification_options import certification_option
from randsmooth.cli.denoiser_option import DENOISER, base_classifier, check_denoiser
from randsmooth.cli.model_options import IDENTITY, KEY_VALUE, MODEL, MODEL_ARG, NUM_CLASSES, ModelArgs
from randsmooth.cli.print_answers import check_format, show
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.cli.shared_options import CROP, DEVICE, IMAGE_COLUMN, LABEL_COLUMN, RESIZE
from randsmooth.errors import InputError
from randsmooth.escape import say

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.certificates import Certificates, CertificationSettings
    from randsmooth.data import DatasetSpec
    from randsmooth.models import BaseClassifier

BASE = ("sigma", "precision", "backend")  # options that decide which classifier answers
MOST_CLASSES = 100_000  # class names to have ready for an ONNX file that does not say how many classes it has


class Predict(Settings):
    """Settings of `randsmooth predict`."""

    model: str = argument(MODEL)
    model_arg: ModelArgs = option(MODEL_ARG, {}, json_schema_extra=KEY_VALUE)
    denoiser: str | None = option(DENOISER)
    images: list[Path] = argument("Image files, or folders or files of many (see `certify --dataset`).")
    image_column: str | None = option(IMAGE_COLUMN)
    label_column: str | None = option(LABEL_COLUMN)
    resize: str | None = option(RESIZE)
    crop: str | None = option(CROP)
    sigma: float | None = certification_option("sigma")
    n: int = certification_option("n", 10_000)
    n0: int = certification_option("n0", 100)
    alpha: float = certification_option("alpha", 0.001)
    like: Path | None = option(
        "Parquet file of certificates: use the same base classifier, sigma and arithmetic as they did, with new noise."
    )
    backend: str | None = certification_option("backend")
    precision: str | None = certification_option("precision", stands_for="32")
    device: str = option(DEVICE, "auto")
    seed: int | None = certification_option("seed", stands_for="a new one, which is printed so that you can repeat it")
    dataset: str | None = option(
        "Data set or folder whose images and classes the model is for. (default: what the model says)"
    )
    num_classes: int | None = option(NUM_CLASSES)
    identity: str | None = option(IDENTITY)
    format: str = option("text, csv or json.", "text")


def predict(settings: Predict) -> None:
    """Classify image files and certify the answers: the label, and the L2 radius within which it cannot change.

    Example: randsmooth predict runs/gaussian photo.png
    """
    check_format(settings.format)
    from randsmooth.models.sources import check_source

    check_source(settings.model)  # before torch is loaded
    import torch

    from randsmooth import certificates, certification, models

    asked = certificates.CertificationSettings(**settings.model_dump(include={"n0", "n", "alpha", "seed"}))
    check_denoiser(settings.denoiser)
    table = None if settings.like is None else certificates.read(settings.like)
    sigma = settings.sigma if table is None else table.header.sigma
    model = base_classifier(settings.model, settings.model_arg, settings.denoiser, sigma)
    spec = spec_of(model, settings)
    classes = spec.classes if settings.dataset and not spec.open_ended else table and table.header.classes
    model = models.for_classes(model, classes) if classes else model
    how = completed(asked, settings, model, table)
    smoothed = certification.SmoothedClassifier(
        model, how, device=models.pick_device(settings.device), num_classes=settings.num_classes
    )
    if table is not None:
        certification.check_answers(smoothed, spec.shape, table)
    named = [each for path in settings.images for each in images_at(path, spec, settings)]
    result = smoothed.certify(torch.stack([x for _, x in named]))
    pairs = zip(named, result.predict, result.radius, strict=True)
    answers = [_answer(name, int(k), float(r), spec.classes) for (name, _), k, r in pairs]
    facts = {"sigma": smoothed.sigma, "n": settings.n, "alpha": settings.alpha, "seed": smoothed.seed}
    show([answer | facts for answer in answers], settings.format)
    if settings.format == "text" and settings.seed is None:
        say(f"seed {smoothed.seed}: --seed {smoothed.seed} repeats these answers")


def completed(
    asked: CertificationSettings, settings: Predict, model: BaseClassifier, table: Certificates | None
) -> CertificationSettings:
    """`asked`, completed by the settings of the classifier: those of `table`, if given, else the options.

    Raises:
        InputError: sigma is unknown, the table is about another model, or an option contradicts the table.
    """
    from randsmooth import certification

    given = {key: value for key in BASE if (value := getattr(settings, key)) is not None}
    if table is not None:
        certification.check_same(model, table, settings.identity)
        certified = certification.certified_as(table)
        for key, value in given.items():
            if (was := getattr(certified, key)) != value:
                raise InputError(f"--{key} {value} is not what {settings.like} was certified with ({was})")
        return asked.having(**{key: getattr(certified, key) for key in (*BASE, "batch", "sound")})
    given.setdefault("sigma", getattr(model, "provenance", {}).get("sigma"))
    if given["sigma"] is None:
        raise InputError(f"{settings.model} does not say which sigma it was trained with; pass --sigma")
    return asked.having(**given)


def spec_of(model: BaseClassifier, settings: Predict) -> DatasetSpec:
    """What the model's images look like: the spec of a registered data set, else one made from the model's shape.

    Raises:
        InputError: nothing says it.
    """
    from randsmooth import data

    if settings.dataset is not None:
        return data.describe(settings.dataset)

    recorded = getattr(model, "provenance", {}).get("dataset")
    if isinstance(recorded, str) and recorded in data.DATASETS:
        return data.DATASETS[recorded]
    shape = getattr(model, "shape", None)
    if not isinstance(shape, tuple):
        raise InputError(
            f"{settings.model} does not say what images it takes: name the data set, or a folder of it, that it is for "
            "(--dataset)"
        )
    numbers = map(str, range(settings.num_classes or getattr(model, "num_classes", None) or MOST_CLASSES))
    return data.DatasetSpec(
        name=str(recorded or "the model's images"),
        shape=shape,
        classes=tuple(getattr(model, "classes", None) or numbers),
        mean=None,
        std=None,
        augment="none",
        arch=getattr(model, "arch", ""),
        hub=None,
        sizes={"test": 1},
        description="",
        convert=True,
    )


def images_at(path: Path, spec: DatasetSpec, settings: Predict) -> list[tuple[str, Tensor]]:
    """The image (C, H, W) in a file, or those of a folder or file of many, each with what to call it.

    Raises:
        InputError: they are missing, or not of the model's shape.
    """
    import dataclasses

    import torch

    from randsmooth import data
    from randsmooth.data.fitting import Fit
    from randsmooth.data.sources import is_source

    if not is_source(path):
        fit = Fit.of(settings.resize, settings.crop)
        return [(str(path), data.read_image(path, dataclasses.replace(spec, fit=fit) if fit else spec))]
    how = settings.model_dump(include={"image_column", "label_column", "resize", "crop"})
    images = data.load(str(path), "test", stream=True, **how)
    if images.spec.shape != tuple(spec.shape):
        raise InputError(
            f"the images of {path} have the shape {images.spec.shape}, and the model takes {tuple(spec.shape)}: ask "
            "for it with --resize and --crop"
        )
    x = [each for batch, _ in images.batches(torch.arange(len(images)).split(256)) for each in batch]
    return [(images.name_of(index), each) for index, each in enumerate(x)]


def _answer(path: str, predicted: int, radius: float, classes: tuple[str, ...]) -> dict[str, Any]:
    label = None if predicted < 0 else classes[predicted]
    return {"image": path, "label": label, "radius": radius}
