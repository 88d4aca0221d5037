"""`randsmooth predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.answers import check_format, show
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.errors import InputError
from randsmooth.escape import say

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates, CertificationSettings
    from randsmooth.data import DatasetSpec
    from randsmooth.models import Classifier, OnnxModel

BASE = ("sigma", "precision", "backend")  # options that make the base classifier
MOST_CLASSES = 100_000  # names for the classes of an ONNX file that does not say how many it has


class Predict(Settings):
    """Settings of `randsmooth predict`."""

    model: str = argument("Model folder, `user/name` on the Hugging Face hub, or ONNX file.")
    images: list[Path] = argument("Image files.")
    sigma: float | None = option("Standard deviation of the noise. (default: the one that the model was trained with)")
    n: int = option("Samples an image that bound the probability of its class.", 10_000)
    n0: int = option("Other samples, that pick the class.", 100)
    alpha: float = option("Probability that an image's certificate is wrong.", 0.001)
    like: Path | None = option(
        "Parquet file of certificates: answer with the very classifier that they are about, on noise of its own."
    )
    backend: str | None = option("torch, compile, openvino, onnx or auto. (default: torch; onnx for an ONNX file)")
    precision: str | None = option("Arithmetic of the base classifier: 32, bf16 or fp16. (default: 32)")
    device: str = option("auto, cpu or cuda.", "auto")
    seed: int | None = option("Seed of the noise, to repeat answers. (default: a new one, which is printed)")
    format: str = option("text, csv or json.", "text")


def predict(settings: Predict) -> None:
    """Classify image files and certify the answers: label and L2 radius within which it cannot change.

    Example: randsmooth predict runs/gaussian photo.png
    """
    check_format(settings.format)
    import torch

    from randsmooth import certificates, certification, data, models

    asked = certificates.CertificationSettings(**settings.model_dump(include={"n0", "n", "alpha", "seed"}))
    model = certification.load(settings.model)
    table = None if settings.like is None else certificates.read(settings.like)
    how = completed(asked, settings, model, table)
    smoothed = certification.SmoothedClassifier(model, how, device=models.pick_device(settings.device))
    if table is not None:
        certification.check_answers(smoothed, model.shape, table)
    spec = spec_of(model)
    x = torch.stack([data.read_image(path, spec) for path in settings.images])
    result = smoothed.certify(x)
    pairs = zip(settings.images, result.predict, result.radius, strict=True)
    answers = [_answer(path, int(k), float(r), spec.classes) for path, k, r in pairs]
    facts = {"sigma": smoothed.sigma, "n": settings.n, "alpha": settings.alpha, "seed": smoothed.seed}
    show([answer | facts for answer in answers], settings.format)
    if settings.format == "text" and settings.seed is None:
        say(f"seed {smoothed.seed}: --seed {smoothed.seed} repeats these answers")


def completed(
    asked: CertificationSettings, settings: Predict, model: Classifier | OnnxModel, table: Certificates | None
) -> CertificationSettings:
    """`asked` with what makes the base classifier: as given, else as in the `table` to be like, else the usual.

    Raises:
        InputError: no sigma, a table about another model, or an option that contradicts it.
    """
    from randsmooth import certification

    given = {key: value for key in BASE if (value := getattr(settings, key)) is not None}
    if table is not None:
        certification.check_same(model, table)
        certified = certification.certified_as(table)
        for key, value in given.items():
            if (was := getattr(certified, key)) != value:
                raise InputError(f"--{key} {value} is not what {settings.like} was certified with ({was})")
        return asked.having(**{key: getattr(certified, key) for key in (*BASE, "batch", "sound")})
    given.setdefault("sigma", getattr(model, "provenance", {}).get("sigma"))
    if given["sigma"] is None:
        raise InputError(f"{settings.model} does not say which sigma it was trained with; pass --sigma")
    return asked.having(**given)


def spec_of(model: Classifier | OnnxModel) -> DatasetSpec:
    """What the model's images look like: its data set's spec where that has a name, else its own shape."""
    from randsmooth import data

    told = getattr(model, "provenance", {}).get("dataset")
    if isinstance(told, str) and told in data.DATASETS:
        return data.DATASETS[told]
    numbers = map(str, range(getattr(model, "num_classes", None) or MOST_CLASSES))
    return data.DatasetSpec(
        name=str(told or "the model's images"),
        shape=model.shape,
        classes=tuple(getattr(model, "classes", numbers)),
        mean=None,
        std=None,
        augment="none",
        arch=getattr(model, "arch", "ONNX file"),
        hub=None,
        sizes={"test": 1},
        description="",
    )


def _answer(path: Path, predicted: int, radius: float, classes: tuple[str, ...]) -> dict[str, Any]:
    label = None if predicted < 0 else classes[predicted]
    return {"image": str(path), "label": label, "radius": radius}
