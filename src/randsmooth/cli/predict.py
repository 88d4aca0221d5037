"""`randsmooth predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.certification_options import certification_option
from randsmooth.cli.print_answers import check_format, show
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.errors import InputError
from randsmooth.escape import say

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates, CertificationSettings
    from randsmooth.data import DatasetSpec
    from randsmooth.models import Classifier, OnnxModel

BASE = ("sigma", "precision", "backend")  # options that decide which classifier answers
MOST_CLASSES = 100_000  # class names to have ready for an ONNX file that does not say how many classes it has


class Predict(Settings):
    """Settings of `randsmooth predict`."""

    model: str = argument("Model folder, `user/name` on the Hugging Face hub, or ONNX file.")
    images: list[Path] = argument("Image files.")
    sigma: float | None = certification_option("sigma")
    n: int = certification_option("n", 10_000)
    n0: int = certification_option("n0", 100)
    alpha: float = certification_option("alpha", 0.001)
    like: Path | None = option(
        "Parquet file of certificates: use the same base classifier, sigma and arithmetic as they did, with new noise."
    )
    backend: str | None = certification_option("backend")
    precision: str | None = certification_option("precision", stands_for="32")
    device: str = option("auto, cpu or cuda.", "auto")
    seed: int | None = certification_option("seed", stands_for="a new one, which is printed so that you can repeat it")
    format: str = option("text, csv or json.", "text")


def predict(settings: Predict) -> None:
    """Classify image files and certify the answers: the label, and the L2 radius within which it cannot change.

    Example: randsmooth predict runs/gaussian photo.png
    """
    check_format(settings.format)
    import torch

    from randsmooth import certificates, certification, data, models

    asked = certificates.CertificationSettings(**settings.model_dump(include={"n0", "n", "alpha", "seed"}))
    model = certification.load_model(settings.model)
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
    """`asked`, completed by the settings of the classifier: those of `table`, if given, else the options.

    Raises:
        InputError: sigma is unknown, the table is about another model, or an option contradicts the table.
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
    """What the model's images look like: the spec of a registered data set, else one made from the model's shape."""
    from randsmooth import data

    recorded = getattr(model, "provenance", {}).get("dataset")
    if isinstance(recorded, str) and recorded in data.DATASETS:
        return data.DATASETS[recorded]
    numbers = map(str, range(getattr(model, "num_classes", None) or MOST_CLASSES))
    return data.DatasetSpec(
        name=str(recorded or "the model's images"),
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
