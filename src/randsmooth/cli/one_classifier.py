"""What `predict` and `explain` share: one smoothed classifier, and images for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth import certificates, certification, data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.cli.options import Identified, Smoothed, certification_option
from randsmooth.cli.output import note
from randsmooth.data.forms import is_source
from randsmooth.errors import BadValue

if TYPE_CHECKING:
    from torch import Tensor

# Options that decide which classifier answers.
OF_THE_CLASSIFIER = ("sigma", "noise", "precision", "backend")

# Images of a file that are decoded together.
IMAGES_IN_A_BATCH = 256


class OneClassifier(Smoothed, Identified):
    """Settings of a verb that certifies single images, under one smoothed classifier.

    Attributes:
        dataset: Data set or folder whose images and classes the model is for. (default:
            what the model says)
    """

    n: int = certification_option("n", 10_000)
    n0: int = certification_option("n0", 100)
    precision: str | None = certification_option("precision", stands_for="32")
    seed: int | None = certification_option(
        "seed", stands_for="a new one, which is printed so that you can repeat it"
    )
    dataset: str | None = None

    def asked(self) -> CertificationSettings:
        """Return the settings for each image, for any classifier."""
        return CertificationSettings(
            n0=self.n0, n=self.n, alpha=self.alpha, seed=self.seed
        )


def completed(
    settings: OneClassifier, model: models.BaseClassifier
) -> CertificationSettings:
    """Return the settings for each image, with the classifier that the options name.

    Raises:
        Problem: nothing says the noise.
    """
    asked = settings.asked().replace(**_given(settings))
    if asked.noise is not None:
        return asked
    trained = models.provenance_of(model)
    noise = certification.trained_noise(trained, str(settings.model))
    return asked.replace(noise=noise)


def completed_like(
    settings: OneClassifier,
    model: models.BaseClassifier,
    table: certificates.Certificates,
    file: Path,
) -> CertificationSettings:
    """Return the settings for each image, with the classifier of a table.

    Args:
        settings: the settings of the command; where they name the classifier too, it
            must be the same.
        model: the classifier, which must be the one that was certified.
        table: the certificates of the classifier.
        file: the path of the certificates, for errors.

    Raises:
        Problem: the table is about another model, or an option contradicts it.
    """
    certification.check_same(model, table, settings.identity)
    certified = certification.certified_as(table)
    for name, value in _given(settings).items():
        recorded = getattr(table.header if name == "sigma" else certified, name)
        if recorded != value:
            raise BadValue(
                f"--{name} {value} is not what {file} was certified with ({recorded})"
            )
    if certified.counts_all:
        return certified
    kept = ("noise", "precision", "backend", "batch", "sound")
    return settings.asked().replace(**{name: getattr(certified, name) for name in kept})


def _given(settings: OneClassifier) -> dict[str, object]:
    """Return those settings of the classifier that the options name."""
    values = {name: getattr(settings, name) for name in OF_THE_CLASSIFIER}
    return {name: value for name, value in values.items() if value is not None}


def spec_of(model: models.BaseClassifier, settings: OneClassifier) -> data.DatasetSpec:
    """Return the form of the model's images, by --dataset or the model itself.

    Raises:
        Problem: neither says it.
    """
    return certification.images_taken(
        model,
        settings.model,
        settings.dataset,
        settings.num_classes,
        **settings.reading(),
    )


def images_at(
    path: Path, spec: data.DatasetSpec, settings: OneClassifier
) -> list[tuple[str, Tensor]]:
    """Return the images (C, H, W) at a path, each with what to call it.

    Args:
        path: an image file, or a folder or a file of many images.
        spec: the size and the channels of the model's images.
        settings: say how images are read.

    Raises:
        Problem: there is no image, or those of many are not of the model's shape.
    """
    import torch

    if not is_source(path):
        image, changes = data.read_picture(path, spec)
        if changes:
            note(f"{path} is {changes}")
        return [(str(path), image)]

    how_read = settings.reading()
    if spec.fit is not None:
        how_read |= {"resize": spec.fit.resize, "crop": spec.fit.crop}
    images = data.load(str(path), "test", stream=True, **how_read)
    if images.spec.shape != tuple(spec.shape):
        raise BadValue(
            f"the images of {path} have the shape {images.spec.shape}, and the model "
            f"takes {tuple(spec.shape)}: ask for it with --resize and --crop"
        )

    named: list[tuple[str, Tensor]] = []
    batches = torch.arange(len(images)).split(IMAGES_IN_A_BATCH)
    for batch, _ in images.batches(batches):
        for image in batch:
            named.append((images.name_of(len(named)), image))
    return named
