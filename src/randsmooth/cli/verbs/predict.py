"""`randsmooth predict` and `randsmooth explain`: certificates of images given one by one."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from randsmooth.cli.certification import base_classifier, check_sources
from randsmooth.cli.options import Answered, Identified, NoiseNamed, certification_option, words_of
from randsmooth.cli.output import Answers, note, show_answers, writing
from randsmooth.cli.settings import Argument
from randsmooth.errors import InputError
from randsmooth.noise import round_down

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.app import Explanation
    from randsmooth.certificates import Certificates, CertificationSettings
    from randsmooth.data import DatasetSpec
    from randsmooth.models import BaseClassifier

BASE = ("sigma", "noise", "precision", "backend")  # options that decide which classifier answers


class OneClassifier(Identified):
    """Settings of a verb that certifies images given one by one, by the smoothed version of one model.

    Attributes:
        dataset: Data set or folder whose images and classes the model is for. (default: what the model says)
    """

    sigma: float | None = certification_option("sigma")
    noise: NoiseNamed = certification_option("noise")
    n: int = certification_option("n", 10_000)
    n0: int = certification_option("n0", 100)
    alpha: float = certification_option("alpha", 0.001)
    backend: str | None = certification_option("backend")
    precision: str | None = certification_option("precision", stands_for="32")
    seed: int | None = certification_option("seed", stands_for="a new one, which is printed so that you can repeat it")
    dataset: str | None = None

    def asked(self) -> CertificationSettings:
        """What is asked of each image, of whichever classifier."""
        from randsmooth.certificates import CertificationSettings

        return CertificationSettings(**self.model_dump(include={"n0", "n", "alpha", "seed"}))


class Predict(OneClassifier):
    """Settings of `randsmooth predict`.

    Attributes:
        images: Image files, or folders or files of many (see `certify --dataset`).
        like: Parquet file of certificates: use the same base classifier, noise and arithmetic as they did, with a new
            seed.
        format: Of the answers.
    """

    images: Argument[list[Path]]
    like: Path | None = None
    format: Literal["text", "csv", "json"] = "text"


def predict(settings: Predict) -> None:
    """Classify image files and certify the answers: the label, and the radius within which it cannot change.

    The radius is in L2, or in the norm of another --noise.

    Example: randsmooth predict runs/gaussian photo.png
    """
    check_sources(settings.model, settings.denoiser)
    import torch

    from randsmooth import certificates, certification, models

    asked = settings.asked()
    table = None if settings.like is None else certificates.read(settings.like)
    sigma = settings.sigma if table is None else table.header.sigma
    if table is not None and settings.resize is settings.crop is None:
        settings = settings.model_copy(update={"resize": table.header.resize, "crop": table.header.crop})
    model = base_classifier(settings.model, settings.model_arg, settings.denoiser, sigma)
    spec = spec_of(model, settings)
    classes = spec.classes if settings.dataset and not spec.open_ended else table and table.header.classes
    model = models.for_classes(model, classes) if classes else model
    how = completed(asked, settings, model, table, settings.like)
    device, K = models.pick_device(settings.device), settings.num_classes
    smoothed = certification.SmoothedClassifier(model, how, device=device, num_classes=K)
    if table is not None:
        certification.check_answers(smoothed.engine, spec.shape, table)
    named = [each for path in settings.images for each in images_at(path, spec, settings)]
    smoothed.engine.prepare(spec.shape, len(named) * (how.n0 + how.n))
    result = smoothed.certify(torch.stack([x for _, x in named]))
    how, noise = result.settings, how.smoothing
    facts: dict[str, Any] = {"sigma": how.sigma} if how.noise is None else {"norm": noise.norm, "noise": noise.text}
    facts |= {"n": how.n, "alpha": how.alpha, "seed": result.seed}
    answers: Answers = []
    for (name, _), predicted, radius in zip(named, result.predict.tolist(), result.radius.tolist(), strict=True):
        label = None if predicted < 0 else spec.classes[predicted]
        answers.append({"image": name, "label": label, "radius": radius, **facts})
    show_answers(answers, settings.format)
    if settings.seed is None:
        note(f"--seed {result.seed} repeats these answers")


def completed(
    asked: CertificationSettings,
    settings: OneClassifier,
    model: BaseClassifier,
    table: Certificates | None = None,
    like: Path | None = None,
) -> CertificationSettings:
    """`asked`, completed by the settings of the classifier: those of `table`, from the file `like`, else the options.

    Raises:
        InputError: the noise is unknown, the table is about another model, or an option contradicts the table.
    """
    from randsmooth import certification, models

    given = {key: value for key in BASE if (value := getattr(settings, key)) is not None}
    if table is not None:
        certification.check_same(model, table, settings.identity)
        certified = certification.certified_as(table)
        for key, value in given.items():
            if (was := getattr(certified, key)) != value:
                raise InputError(f"--{key} {value} is not what {like} was certified with ({was})")
        if certified.counts_all:
            return certified
        return asked.replace(**{key: getattr(certified, key) for key in (*BASE, "batch", "sound")})
    return certification.under_noise(asked.replace(**given), models.provenance_of(model), str(settings.model))


def spec_of(model: BaseClassifier, settings: OneClassifier) -> DatasetSpec:
    """What the model's images look like, as --dataset or the model itself says. InputError where nothing does."""
    from randsmooth.certification.opening import images_taken

    return images_taken(model, settings.model, settings.dataset, settings.num_classes, **settings.reading())


def images_at(path: Path, spec: DatasetSpec, settings: OneClassifier) -> list[tuple[str, Tensor]]:
    """The image (C, H, W) in a file, or those of a folder or file of many, each with what to call it.

    Raises:
        InputError: they are missing, or those of many are not of the model's shape.
    """
    import torch

    from randsmooth import data
    from randsmooth.data.registry import is_source

    if not is_source(path):
        x, words = data.read_picture(path, spec)
        if words:
            note(f"{path} is {words}")
        return [(str(path), x)]
    fit = {} if spec.fit is None else {"resize": spec.fit.resize, "crop": spec.fit.crop}
    images = data.load(str(path), "test", stream=True, **settings.reading() | fit)
    if images.spec.shape != tuple(spec.shape):
        raise InputError(
            f"the images of {path} have the shape {images.spec.shape}, and the model takes {tuple(spec.shape)}: ask "
            "for it with --resize and --crop"
        )
    found = [each for batch, _ in images.batches(torch.arange(len(images)).split(256)) for each in batch]
    return [(images.name_of(index), each) for index, each in enumerate(found)]


class Explain(Answered, OneClassifier):
    """Settings of `randsmooth explain`.

    Attributes:
        image: Image file, or DATASET:INDEX for one of a data set, such as digits:17.
        split: The split that DATASET:INDEX is from: train or test.
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


@dataclasses.dataclass(frozen=True)
class FoundImage:
    """One image that a user named.

    Attributes:
        name: what to call it.
        x: (C, H, W) in [0, 1].
        classes: names of the classes that answers may have.
        label: its class; None where that is not known.
        dataset, index: where it is from; None for a file.
    """

    name: str
    x: Tensor
    classes: tuple[str, ...]
    label: int | None = None
    dataset: str | None = None
    index: int | None = None


def explain(settings: Explain) -> None:
    """Explain the certificate of one image on a page: its votes, distances that a person can see, an attack on it.

    The image is certified as `predict` does. Its radius is shown beside the nearest training images (of --dataset, or
    of the model's own data set, if that is on this machine) and the nearest change of the answer that an attack finds.

    Example: randsmooth explain runs/gaussian digits:17 --out page.html
    """
    check_sources(settings.model, settings.denoiser)
    check_image(settings.image)
    wanted = [settings.out, *([settings.certificate] if settings.certificate else [])]
    if settings.certificate is not None and settings.certificate.suffix != ".parquet":
        raise InputError(f"{settings.certificate} must end in .parquet")
    with writing(wanted, overwrite=settings.overwrite):
        model = base_classifier(settings.model, settings.model_arg, settings.denoiser, settings.sigma)
        found = found_image(model, settings)
        explained = _explained(model, found, settings)
        seed = explained.certified.seed
        _write(explained, found, settings)
    label, radius = None if explained.abstains else explained.name_of(explained.predict), explained.radius
    answer = "abstains" if label is None else f"{label}  radius {round_down(radius, 4)}"
    written = [*map(str, wanted)]
    content = {"image": explained.name, "label": label, "radius": radius, "seed": seed, "written": written}
    settings.answer([f"{explained.name}  {answer}", *written], lambda: content)
    if settings.seed is None:
        note(f"--seed {seed} repeats this answer")


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


def found_image(model: BaseClassifier, settings: Explain) -> FoundImage:
    """The image that is named, as the model takes it. InputError where there is none, or of another shape."""
    import torch

    from randsmooth import data
    from randsmooth.certification.opening import reading_of

    named = in_dataset(settings.image)
    if named is None:
        spec = spec_of(model, settings)
        ((name, x),) = images_at(Path(settings.image), spec, settings)
        return FoundImage(name, x, () if spec.open_ended else spec.classes)
    dataset, index = named
    images = data.load(dataset, settings.split, stream=True, **reading_of(model, dataset, settings.reading()))
    if index >= len(images):
        last = len(images) - 1
        raise InputError(f"{settings.image}: {dataset} ({settings.split}) has {len(images)} images, 0 to {last}")
    x, y = images.batch(torch.tensor([index]))
    classes = () if images.spec.open_ended else images.spec.classes
    return FoundImage(settings.image, x[0], classes, int(y[0]) if images.labelled else None, dataset, index)


def _explained(model: BaseClassifier, found: FoundImage, settings: Explain) -> Explanation:
    from randsmooth import app, data
    from randsmooth.certification.opening import reading_of
    from randsmooth.progress import console

    training: Any = False if settings.no_training else None
    if settings.dataset is not None and not settings.no_training:
        how_read = reading_of(model, settings.dataset, settings.reading())
        training = data.load(settings.dataset, "train", stream=True, **how_read)
    how = settings.model_dump(include={"device", "num_classes"}) | {"attack": not settings.no_attack}
    known: dict[str, Any] = {"label": found.label, "classes": found.classes, "name": found.name}
    asked = completed(settings.asked(), settings, model)
    return app.explain(model, found.x, asked, training=training, **how, **known, progress=console)


def _write(explained: Explanation, found: FoundImage, settings: Explain) -> None:
    from randsmooth import app
    from randsmooth.certificates import write_parquet

    given = words_of("explain", [settings.model, settings.image], settings, {"model", "image", "seed", "format"})
    command = shlex.join(["randsmooth", *given, "--seed", str(explained.certified.seed)])  # which repeats the page
    app.write_explanation(explained, settings.out, command=command)
    if settings.certificate is not None:
        write_parquet(_table(explained, found, settings), settings.certificate)


def _table(explained: Explanation, found: FoundImage, settings: Explain) -> Certificates:
    """The counts as a table of one row: the same noise on the same pixels gives them again."""
    import numpy as np

    from randsmooth import certification

    certified, images = explained.certified, explained.image[None]
    labelled = images if found.label is None else (images, [found.label])
    how = settings.model_dump(include={"device", "identity"}) | {"progress": False, "seed": certified.seed}
    table = certification.certify(certified.engine.model, labelled, certified.settings, **how)
    if found.index is None:
        return dataclasses.replace(table, name=found.name)
    header = table.header.replace(dataset=found.dataset, split=settings.split, selection=None)
    return dataclasses.replace(table, name=found.name, header=header, idx=np.array([found.index]))
