"""Verbs that certify images given one by one: the classifier that answers, and how images are named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.cli.options import IDENTITY, MODEL, Images, Model, certification_option
from randsmooth.cli.settings import argument, option
from randsmooth.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.certificates import Certificates, CertificationSettings
    from randsmooth.data import DatasetSpec
    from randsmooth.models import BaseClassifier

BASE = ("sigma", "precision", "backend")  # options that decide which classifier answers


class OneClassifier(Images, Model):
    """Settings of a verb that certifies images given one by one, by the smoothed version of one model."""

    model: str = argument(MODEL)
    sigma: float | None = certification_option("sigma")
    n: int = certification_option("n", 10_000)
    n0: int = certification_option("n0", 100)
    alpha: float = certification_option("alpha", 0.001)
    backend: str | None = certification_option("backend")
    precision: str | None = certification_option("precision", stands_for="32")
    seed: int | None = certification_option("seed", stands_for="a new one, which is printed so that you can repeat it")
    dataset: str | None = option(
        "Data set or folder whose images and classes the model is for. (default: what the model says)"
    )
    identity: str | None = option(IDENTITY)

    def asked(self) -> CertificationSettings:
        """What is asked of each image, of whichever classifier."""
        from randsmooth.certificates import CertificationSettings

        return CertificationSettings(**self.model_dump(include={"n0", "n", "alpha", "seed"}))


def completed(
    asked: CertificationSettings,
    settings: OneClassifier,
    model: BaseClassifier,
    table: Certificates | None = None,
    like: Path | None = None,
) -> CertificationSettings:
    """`asked`, completed by the settings of the classifier: those of `table`, from the file `like`, else the options.

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
                raise InputError(f"--{key} {value} is not what {like} was certified with ({was})")
        return asked.replace(**{key: getattr(certified, key) for key in (*BASE, "batch", "sound")})
    given.setdefault("sigma", getattr(model, "provenance", {}).get("sigma"))
    if given["sigma"] is None:
        raise InputError(f"{settings.model} does not say which sigma it was trained with; pass --sigma")
    return asked.replace(**given)


def spec_of(model: BaseClassifier, settings: OneClassifier) -> DatasetSpec:
    """What the model's images look like, as --dataset or the model itself says. InputError where nothing does."""
    from randsmooth.certification.opening import images_taken

    return images_taken(model, settings.model, settings.dataset, settings.num_classes)


def images_at(path: Path, spec: DatasetSpec, settings: OneClassifier) -> list[tuple[str, Tensor]]:
    """The image (C, H, W) in a file, or those of a folder or file of many, each with what to call it.

    Raises:
        InputError: they are missing, or not of the model's shape.
    """
    import dataclasses

    import torch

    from randsmooth import data
    from randsmooth.data.dataset_spec import Fit
    from randsmooth.data.registry import is_source

    if not is_source(path):
        fit = Fit.of(settings.resize, settings.crop)
        return [(str(path), data.read_image(path, dataclasses.replace(spec, fit=fit) if fit else spec))]
    images = data.load(str(path), "test", stream=True, **settings.reading())
    if images.spec.shape != tuple(spec.shape):
        raise InputError(
            f"the images of {path} have the shape {images.spec.shape}, and the model takes {tuple(spec.shape)}: ask "
            "for it with --resize and --crop"
        )
    x = [each for batch, _ in images.batches(torch.arange(len(images)).split(256)) for each in batch]
    return [(images.name_of(index), each) for index, each in enumerate(x)]


@dataclass(frozen=True)
class FoundImage:
    """One image that a user named.

    Attributes:
        name: what to call it.
        x: (C, H, W) in [0, 1].
        label: its class; None where that is not known.
        classes: names of the classes that answers may have.
        dataset, index: where it is from; None for a file.
    """

    name: str
    x: Tensor
    label: int | None
    classes: tuple[str, ...]
    dataset: str | None
    index: int | None


def in_dataset(text: str) -> tuple[str, int] | None:
    """The data set and the position that DATASET:INDEX names; None where `text` is a file, or no such name.

    Example:
        >>> in_dataset("digits:17"), in_dataset("photo.png")
        (('digits', 17), None)
    """
    dataset, colon, index = text.rpartition(":")
    return (dataset, int(index)) if colon and index.isdecimal() and not Path(text).exists() else None


def check_image(text: str) -> None:
    """Raise InputError for an image that does not exist, as far as that is known without loading torch."""
    if (named := in_dataset(text)) is not None:
        from randsmooth.data.registry import check_dataset

        check_dataset(named[0])
    elif not Path(text).is_file():
        raise InputError(f"no image at {text}: expected an image file, or DATASET:INDEX such as digits:17")


def found_image(text: str, split: str, model: BaseClassifier, settings: OneClassifier) -> FoundImage:
    """The image that `text` names, in the form that the model takes.

    Raises:
        InputError: there is none, or not of the model's shape.
    """
    import torch

    from randsmooth import data

    named = in_dataset(text)
    if named is None:
        spec = spec_of(model, settings)
        ((name, x),) = images_at(Path(text), spec, settings)
        return FoundImage(name, x, None, () if spec.open_ended else spec.classes, None, None)
    dataset, index = named
    images = data.load(dataset, split, stream=True, **settings.reading())
    if index >= len(images):
        raise InputError(f"{text}: {dataset} ({split}) has {len(images)} images, 0 to {len(images) - 1}")
    x, y = images.batch(torch.tensor([index]))
    classes = () if images.spec.open_ended else images.spec.classes
    return FoundImage(text, x[0], int(y[0]) if images.labelled else None, classes, dataset, index)
