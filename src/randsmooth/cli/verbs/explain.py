"""`randsmooth explain`: the certificate of one image, explained on a page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from randsmooth import app, certificates, certification, data, models
from randsmooth.cli.one_classifier import (
    OneClassifier,
    completed,
    images_at,
    spec_of,
)
from randsmooth.cli.options import Answered
from randsmooth.cli.output import note, writing
from randsmooth.cli.printed_commands import as_typed, words_of
from randsmooth.cli.settings import Argument
from randsmooth.cli.what_to_certify import base_classifier, check_sources
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.errors import BadValue, MissingValue, NotFound
from randsmooth.noise import NORMS, printed_radius
from randsmooth.progress import console

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise import Noise


class Explain(Answered, OneClassifier):
    """Settings of `randsmooth explain`.

    Attributes:
        image: Image file, or DATASET:INDEX for one of a data set, such as digits:17.
        split: The split that DATASET:INDEX is from: train, validation or test; without
            a test split validation.
        out: The HTML page to write; it works offline.
        certificate: Also write the counts as a certificate, a Parquet file of one row.
        no_attack: Do not attack the certificate, which takes some 20,000 answers.
        no_training: Do not look for the nearest training images.
        overwrite: Replace files that exist.
    """

    image: Argument[str]
    split: str = "test"
    out: Path = Path("explanation.html")
    certificate: Path | None = None
    no_attack: bool = False
    no_training: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class NamedImage:
    """The image that is explained.

    Attributes:
        pixels: The pixels (C, H, W), as the model takes them.
        name: The name of the image on the page.
        classes: The names of all classes; empty where they are not known.
        label: The true class of the image; None where it is not known.
        split: The split that holds the image; None where no data set does.
        num_classes: How many classes its data set has, without that of declined
            answers; None where no data set holds it.
    """

    pixels: Tensor = field(repr=False)
    name: str
    classes: tuple[str, ...]
    label: int | None = None
    split: str | None = None
    num_classes: int | None = None


def run(settings: Explain) -> None:
    """Explain the certificate of one image on a page.

    The page shows the image's votes, visible distances, and an attack. The command
    certifies the image as `predict` does. The page compares its radius with the nearest
    training images, and with the nearest change of the answer that an attack finds.
    Training images come from --dataset, or from the model's own data set, if that is on
    this machine.

    Example: randsmooth explain runs/gaussian digits:17 --out page.html
    """
    # What is not there is refused before torch is loaded.
    check_sources(settings.model, settings.denoiser)
    check_image(settings.image, settings.split)
    files = [settings.out]
    if settings.certificate is not None:
        if settings.certificate.suffix != ".parquet":
            raise BadValue(f"{settings.certificate} must end in .parquet")
        files.append(settings.certificate)

    with writing(files, overwrite=settings.overwrite):
        model = base_classifier(
            settings.model,
            settings.model_arg,
            settings.denoiser,
            settings.gaussian_sigma,
        )
        asked = completed(settings, model)
        image = found_image(model, settings, asked.known_noise())
        explained = app.explain(
            model,
            image.pixels,
            asked,
            name=image.name,
            classes=image.classes,
            label=image.label,
            training=_training_images(model, settings),
            attack=not settings.no_attack,
            device=settings.device,
            num_classes=settings.num_classes or image.num_classes,
            refusal=settings.refusal,
            progress=console,
        )
        _write(explained, image, settings)
    _answer(explained, files, settings)


def _training_images(model: models.BaseClassifier, settings: Explain) -> Any:
    """Return `training` as `app.explain` takes it.

    That is the training images of --dataset, None for those of the model's own data
    set, or False for none.
    """
    if settings.no_training:
        return False
    if settings.dataset is None:
        return None
    how_read = certification.reading_of(model, settings.dataset, settings.reading())
    return data.load(settings.dataset, "train", stream=True, **how_read)


def _write(explained: app.Explanation, image: NamedImage, settings: Explain) -> None:
    """Write the page, and the certificate if it is asked for."""
    seed = str(explained.certified.seed)
    words = words_of("explain", settings, without={"seed", "format"})
    # With the seed that was drawn the command makes the same page again.
    command = as_typed([*words, "--seed", seed])
    app.write_explanation(explained, settings.out, command=command)
    if settings.certificate is not None:
        table = _table(explained, image, settings)
        certificates.write_parquet(table, settings.certificate)


def _table(
    explained: app.Explanation, image: NamedImage, settings: Explain
) -> certificates.Certificates:
    """Return the certificate of the image as a table of one row.

    The image is certified once more, by the function that makes tables. The same seed
    on the same pixels gives the same counts.
    """
    certified = explained.certified
    pixels = explained.image[None]  # (1, C, H, W)
    images: Any = pixels
    if explained.label is not None:
        images = (pixels, [explained.label])
    table = certification.certify(
        certified.engine.model,
        images,
        certified.settings,
        device=settings.device,
        identity=settings.identity,
        refusal=settings.refusal,
        seed=certified.seed,
        progress=False,
    ).renamed(explained.name)

    dataset_and_index = in_dataset(settings.image)
    if dataset_and_index is None:
        return table
    # The run above saw an array of one image; the table shall say where it is from.
    dataset, index = dataset_and_index
    header = table.header.replace(dataset=dataset, split=image.split, selection=None)
    return replace(table, header=header, idx=np.array([index]))


def _answer(explained: app.Explanation, files: list[Path], settings: Explain) -> None:
    """Print the answer about the image, and where the files are."""
    seed = explained.certified.seed
    names = dict(enumerate(explained.classes))
    # None for an abstention, whose class is -1.
    label = names.get(explained.predict)
    true_label = None
    if explained.label is not None:
        true_label = names.get(explained.label, str(explained.label))

    written = [str(file) for file in files]
    abstention = app.why_abstained(explained)
    # Other confidence bounds that certify the picked class where this one abstains.
    by_other_bounds = () if abstention is None else abstention.certifying
    content = {
        "image": explained.name,
        "label": label,
        "declined": explained.declined,
        "true_label": true_label,
        "radius": explained.radius,
        "radius_by_other_bounds": {
            by_bound.bound: by_bound.radius for by_bound in by_other_bounds
        },
        "seed": seed,
        "written": written,
    }
    line = f"{explained.name}  {_verdict(explained, label, true_label)}"
    settings.answer([line, *written], lambda: content)
    for by_bound in by_other_bounds:
        class_name = names[explained.look.picked]
        radius = printed_radius(by_bound.radius)
        note(
            f"from the same counts, the bound {by_bound.bound} certifies {class_name} "
            f"with radius {radius} (certify --bound {by_bound.bound})"
        )
    if settings.seed is None:
        note(f"--seed {seed} repeats this answer")


def _verdict(
    explained: app.Explanation, label: str | None, true_label: str | None
) -> str:
    """Return the answer, whether it is right, and its radius, on a line.

    Args:
        explained: the image with its certificate.
        label: the name of the class answered; None for an abstention.
        true_label: the name of the true class; None where it is not known.
    """
    if label is None:
        truth = "" if true_label is None else f" (label {true_label})"
        return f"abstains{truth}"

    answer = "declines" if explained.declined else f"answer {label}"
    truth = ""
    if true_label is not None:
        truth = f" (label {true_label}{_judgement(explained)})"
    radius = printed_radius(explained.radius)
    norm = NORMS[explained.noise.norm].label
    return f"{answer}{truth}  radius {radius} ({norm})"


def _judgement(explained: app.Explanation) -> str:
    """Return ": right" or ": wrong"; empty for a declined image, which is neither."""
    if explained.label == explained.predict:
        return ": right"
    return "" if explained.declined else ": wrong"


def in_dataset(text: str) -> tuple[str, int] | None:
    """Return the data set and the position that DATASET:INDEX names.

    It is None where `text` is the path of a file, or has another form.

    Example:
        >>> in_dataset("digits:17"), in_dataset("photo.png")
        (('digits', 17), None)
    """
    dataset, colon, index = text.rpartition(":")
    if colon and index.isdecimal() and not Path(text).exists():
        return dataset, int(index)
    return None


def check_image(text: str, split: str) -> None:
    """Raise Problem for an image that does not exist, before torch is loaded.

    How many images data without a name have is not known before they are opened. For
    them, `_image_of_dataset` checks the position.
    """
    dataset_and_index = in_dataset(text)
    if dataset_and_index is not None:
        dataset, _ = dataset_and_index
        check_dataset(dataset)
        if dataset in data.DATASETS:
            check_index(text, split, data.DATASETS[dataset].sizes.get(split))
    elif not Path(text).is_file():
        raise NotFound(
            f"no image at {text}: expected an image file, or DATASET:INDEX such as "
            "digits:17"
        )


def check_index(text: str, split: str, images: int | None) -> None:
    """Raise Problem where DATASET:INDEX lies beyond the images of a split.

    Args:
        text: DATASET:INDEX.
        split: the name of the split.
        images: how many images the split has; None where that is not known yet.
    """
    dataset, _, index = text.rpartition(":")
    if images is not None and int(index) >= images:
        raise BadValue(
            f"{text}: {dataset} ({split}) has {images} images, 0 to {images - 1}"
        )


def found_image(
    model: models.BaseClassifier, settings: Explain, noise: Noise
) -> NamedImage:
    """Return the image that is named, as the model takes it.

    Raises:
        Problem: there is none, or it is of another shape or other classes than the
            model takes under `noise`.
    """
    dataset_and_index = in_dataset(settings.image)
    if dataset_and_index is None:
        return _image_of_file(model, settings)
    dataset, index = dataset_and_index
    return _image_of_dataset(model, settings, noise, dataset, index)


def _image_of_file(model: models.BaseClassifier, settings: Explain) -> NamedImage:
    """Return the image in a file. Problem where the file holds several."""
    spec = spec_of(model, settings)
    images = images_at(Path(settings.image), spec, settings)
    if len(images) > 1:
        raise MissingValue(
            f"{settings.image} holds {len(images)} images: name one, such as "
            f"{settings.image}:0"
        )
    name, pixels = images[0]
    # Open-ended classes are only those that occur: the model may answer others.
    classes = () if spec.open_ended else spec.classes
    return NamedImage(pixels, name, classes)


def _image_of_dataset(
    model: models.BaseClassifier,
    settings: Explain,
    noise: Noise,
    dataset: str,
    index: int,
) -> NamedImage:
    """Return the image of a data set at `index`, as `found_image` does."""
    # Late, as the data set and the index are checked before torch is loaded.
    import torch

    how_read = certification.reading_of(model, dataset, settings.reading())
    images = data.load(dataset, settings.split, stream=True, **how_read)
    check_index(settings.image, settings.split, len(images))
    # Classes that are open-ended are only those that occur.
    num_classes = None if images.spec.open_ended else images.spec.num_classes
    # The images that are returned have their labels in the model's numbers.
    _, images = certification.matched(model, images, noise, settings.refusal)
    (pixels,), (label,) = images.batch(torch.tensor([index]))
    return NamedImage(
        pixels,
        settings.image,
        classes=() if images.spec.open_ended else images.spec.classes,
        label=int(label) if images.labelled else None,
        split=images.split,
        num_classes=num_classes,
    )
