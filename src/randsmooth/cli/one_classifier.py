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

# Options that decide which smoothed classifier answers, besides its model.
OF_THE_CLASSIFIER = ("sigma", "noise", "precision", "backend")

# Images of a file that are decoded together.
IMAGES_IN_A_BATCH = 256


class OneClassifier(Smoothed, Identified):
    """Settings of a verb that certifies single images, under one smoothed classifier.

    Attributes:
        dataset: Data set or folder whose images and classes the model is for. (default:
            what the model says)
    """

    n: int = certification_option("n", default=10_000)
    n0: int = certification_option("n0", default=100)
    precision: str | None = certification_option("precision", stands_for="32")
    seed: int | None = certification_option(
        "seed", stands_for="a new one; the command prints it"
    )
    dataset: str | None = None

    def asked(self) -> CertificationSettings:
        """Return the settings for each image, without those of the classifier."""
        return CertificationSettings(
            n0=self.n0, n=self.n, alpha=self.alpha, seed=self.seed
        )


def completed(
    settings: OneClassifier, model: models.BaseClassifier
) -> CertificationSettings:
    """Return the settings for each image, with the classifier that the options name.

    Without --sigma and --noise, the noise is the one of the model's training.

    Raises:
        Problem: nothing says the noise.
    """
    # The field sigma=S of the settings becomes their noise, Gaussian(S).
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
        settings: the settings of the command; one of OF_THE_CLASSIFIER, if given, must
            have the value of the table.
        model: the base classifier, which must be the one that was certified.
        table: the certificates of the classifier.
        file: the path of the certificates, for errors.

    Raises:
        Problem: the table is about another model, or an option contradicts the table.
    """
    certification.check_same(model, table, settings.identity)
    certified = certification.certified_as(table)
    for name, value in _given(settings).items():
        # Certification settings have a noise and no sigma; the header has both.
        holder = table.header if name == "sigma" else certified
        recorded = getattr(holder, name)
        if recorded != value:
            raise BadValue(
                f"--{name} {value} is not what {file} was certified with ({recorded})"
            )
    # A rule that counts all copies fixes n0, n, alpha and seed: none is left to ask for.
    if certified.counts_all:
        return certified
    kept = ("noise", "precision", "backend", "batch", "sound")
    return settings.asked().replace(**{name: getattr(certified, name) for name in kept})


def _given(settings: OneClassifier) -> dict[str, object]:
    """Return the values of OF_THE_CLASSIFIER that the user gave, by name."""
    values = {name: getattr(settings, name) for name in OF_THE_CLASSIFIER}
    return {name: value for name, value in values.items() if value is not None}


def spec_of(model: models.BaseClassifier, settings: OneClassifier) -> data.DatasetSpec:
    """Return the spec of the images that the model takes, by --dataset or the model.

    Raises:
        Problem: neither says it.
    """
    return certification.images_taken(
        model,
        called=settings.model,
        dataset=settings.dataset,
        num_classes=settings.num_classes,
        refusal=settings.refusal,
        **settings.reading(),
    )


def images_at(
    path: Path, spec: data.DatasetSpec, settings: OneClassifier
) -> list[tuple[str, Tensor]]:
    """Return the images (C, H, W) at a path, each after the name that answers give it.

    Args:
        path: an image file, or a folder or a file of many images.
        spec: the size and the channels of the model's images.
        settings: say how images are read.

    Raises:
        Problem: there is no image, or the many images have another shape than the
            model's.
    """
    # Late, as options of `predict` and `explain` shall be checked before torch loads.
    import torch

    if not is_source(path):
        # One picture is brought to the model's shape, and `changes` says how.
        image, changes = data.read_picture(path, spec)
        if changes:
            note(f"{path} is {changes}")
        return [(str(path), image)]

    how_read = settings.reading()
    # The fit has the user's --resize and --crop, or else those of the model's training.
    if spec.fit is not None:
        how_read |= {"resize": spec.fit.resize, "crop": spec.fit.crop}
    # Data without splits have the same images in each.
    images = data.load(str(path), split="test", stream=True, **how_read)
    if images.spec.shape != tuple(spec.shape):
        raise BadValue(
            f"the images of {path} have the shape {images.spec.shape}, and the model "
            f"takes {tuple(spec.shape)}: ask for it with --resize and --crop"
        )

    named: list[tuple[str, Tensor]] = []
    indices = torch.arange(len(images)).split(IMAGES_IN_A_BATCH)
    for batch, _ in images.batches(indices):
        for image in batch:
            # They come in order: the next one has the index len(named).
            named.append((images.name_of(len(named)), image))
    return named
