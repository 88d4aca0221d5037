"""`randsmooth predict`, `randsmooth explain` and `randsmooth serve`: certificates of images given one by one."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from randsmooth import app, certificates, certification, data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.cli.options import (
    Answered,
    Identified,
    Model,
    Resized,
    Smoothed,
    certification_option,
    words_of,
)
from randsmooth.cli.output import Answers, note, show_answers, writing
from randsmooth.cli.settings import Argument, Given, Listed
from randsmooth.cli.what_to_certify import base_classifier, check_sources
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.data.forms import is_source
from randsmooth.errors import BadValue, MissingValue, NotFound
from randsmooth.escape import say
from randsmooth.noise import NORMS, printed_radius
from randsmooth.progress import console
from randsmooth.urls import name_of

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise import Noise

LOOPBACK = ("127.0.0.1", "localhost", "::1")
BASE = (
    "sigma",
    "noise",
    "precision",
    "backend",
)  # options that decide which classifier answers


class OneClassifier(Smoothed, Identified):
    """Settings of a verb that certifies images given one by one, by the smoothed version of one model.

    Attributes:
        dataset: Data set or folder whose images and classes the model is for. (default: what the model says)
    """

    n: int = certification_option("n", 10_000)
    n0: int = certification_option("n0", 100)
    precision: str | None = certification_option("precision", stands_for="32")
    seed: int | None = certification_option(
        "seed", stands_for="a new one, which is printed so that you can repeat it"
    )
    dataset: str | None = None

    def asked(self) -> CertificationSettings:
        """What is asked of each image, of whichever classifier."""
        return CertificationSettings(
            **self.model_dump(include={"n0", "n", "alpha", "seed"})
        )


class Predict(OneClassifier):
    """Settings of `randsmooth predict`.

    Attributes:
        images: Image files, or folders or files of many (see `certify --dataset`).
        like: Parquet file of certificates: be the same smoothed classifier, for images like theirs, with a new seed.
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

    asked = settings.asked()
    table = None if settings.like is None else certificates.read(settings.like)
    sigma = settings.sigma if table is None else table.header.sigma
    if table is not None:
        fit = ("resize", "crop") if settings.resize is settings.crop is None else ()
        known = (
            ("dataset",)
            if settings.dataset is None and table.header.dataset in data.DATASETS
            else ()
        )
        settings = settings.model_copy(
            update={name: getattr(table.header, name) for name in (*known, *fit)}
        )
    model = base_classifier(
        settings.model, settings.model_arg, settings.denoiser, sigma
    )
    spec = spec_of(model, settings)
    classes = (
        spec.classes
        if settings.dataset and not spec.open_ended
        else table and table.header.classes
    )
    model = models.for_classes(model, classes) if classes else model
    how = completed(asked, settings, model, table, settings.like)
    device, K = models.pick_device(settings.device), settings.num_classes
    smoothed = certification.SmoothedClassifier(
        model, how, device=device, num_classes=K
    )
    if table is not None:
        certification.check_answers(smoothed.engine, spec.shape, table)
    named = [
        each for path in settings.images for each in images_at(path, spec, settings)
    ]
    smoothed.engine.prepare(spec.shape, len(named) * (how.n0 + how.n))
    result = smoothed.certify(torch.stack([x for _, x in named]))
    how, noise = result.settings, how.smoothing
    facts: dict[str, Any] = (
        {"sigma": how.sigma}
        if how.noise is None
        else {"norm": noise.norm, "noise": noise.text}
    )
    facts |= {"n": how.n, "alpha": how.alpha, "seed": result.seed}
    answers: Answers = []
    for (name, _), predicted, radius in zip(
        named, result.predict.tolist(), result.radius.tolist(), strict=True
    ):
        label = None if predicted < 0 else spec.classes[predicted]
        answers.append({"image": name, "label": label, "radius": radius, **facts})
    show_answers(answers, settings.format)
    if settings.seed is None:
        note(f"--seed {result.seed} repeats these answers")


def completed(
    asked: CertificationSettings,
    settings: OneClassifier,
    model: models.BaseClassifier,
    table: certificates.Certificates | None = None,
    like: Path | None = None,
) -> CertificationSettings:
    """`asked`, completed by the settings of the classifier: those of `table`, from the file `like`, else the options.

    Raises:
        Problem: the noise is unknown, the table is about another model, or an option contradicts the table.
    """
    given = {
        key: value for key in BASE if (value := getattr(settings, key)) is not None
    }
    if table is not None:
        certification.check_same(model, table, settings.identity)
        certified = certification.certified_as(table)
        for key, value in given.items():
            if (was := getattr(certified, key)) != value:
                raise BadValue(
                    f"--{key} {value} is not what {like} was certified with ({was})"
                )
        if certified.counts_all:
            return certified
        return asked.replace(
            **{key: getattr(certified, key) for key in (*BASE, "batch", "sound")}
        )
    return certification.under_noise(
        asked.replace(**given), models.provenance_of(model), str(settings.model)
    )


def spec_of(model: models.BaseClassifier, settings: OneClassifier) -> data.DatasetSpec:
    """What the model's images look like, as --dataset or the model itself says. Problem where nothing does."""
    said = (settings.model, settings.dataset, settings.num_classes)
    return certification.images_taken(model, *said, **settings.reading())


def images_at(
    path: Path, spec: data.DatasetSpec, settings: OneClassifier
) -> list[tuple[str, Tensor]]:
    """The image (C, H, W) in a file, or those of a folder or file of many, each with what to call it.

    Raises:
        Problem: they are missing, or those of many are not of the model's shape.
    """
    import torch

    if not is_source(path):
        x, words = data.read_picture(path, spec)
        if words:
            note(f"{path} is {words}")
        return [(str(path), x)]
    fit = {} if spec.fit is None else {"resize": spec.fit.resize, "crop": spec.fit.crop}
    images = data.load(str(path), "test", stream=True, **settings.reading() | fit)
    if images.spec.shape != tuple(spec.shape):
        shapes = f"have the shape {images.spec.shape}, and the model takes {tuple(spec.shape)}"
        raise BadValue(
            f"the images of {path} {shapes}: ask for it with --resize and --crop"
        )
    found = [
        each
        for batch, _ in images.batches(torch.arange(len(images)).split(256))
        for each in batch
    ]
    return [(images.name_of(index), each) for index, each in enumerate(found)]


class Explain(Answered, OneClassifier):
    """Settings of `randsmooth explain`.

    Attributes:
        image: Image file, or DATASET:INDEX for one of a data set, such as digits:17.
        split: The split that DATASET:INDEX is from: train, validation or test; without a test split validation.
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


def explain(settings: Explain) -> None:
    """Explain the certificate of one image on a page: its votes, distances that a person can see, an attack on it.

    The image is certified as `predict` does. Its radius is shown beside the nearest training images (of --dataset, or
    of the model's own data set, if that is on this machine) and the nearest change of the answer that an attack finds.

    Example: randsmooth explain runs/gaussian digits:17 --out page.html
    """
    check_sources(settings.model, settings.denoiser)
    check_image(settings.image, settings.split)
    wanted = [settings.out, *([settings.certificate] if settings.certificate else [])]
    if settings.certificate is not None and settings.certificate.suffix != ".parquet":
        raise BadValue(f"{settings.certificate} must end in .parquet")
    with writing(wanted, overwrite=settings.overwrite):
        model = base_classifier(
            settings.model, settings.model_arg, settings.denoiser, settings.sigma
        )
        explained, split = _explained(model, settings)
        seed = explained.certified.seed
        given = words_of(
            "explain",
            [settings.model, settings.image],
            settings,
            {"model", "image", "seed", "format"},
        )
        command = shlex.join(
            ["randsmooth", *given, "--seed", str(seed)]
        )  # which repeats the page
        app.write_explanation(explained, settings.out, command=command)
        if settings.certificate is not None:
            certificates.write_parquet(
                _table(explained, settings, split), settings.certificate
            )
    written, radius = [*map(str, wanted)], explained.radius
    names, y = dict(enumerate(explained.classes)), explained.label
    label, true = (
        names.get(explained.predict),
        None if y is None else names.get(y, str(y)),
    )
    judged = "" if label is None else ": right" if y == explained.predict else ": wrong"
    known = "" if true is None else f" (label {true}{judged})"
    far = f"answer {label}{known}  radius {printed_radius(radius)} ({NORMS[explained.noise.norm].label})"
    content = {
        "image": explained.name,
        "label": label,
        "true_label": true,
        "radius": radius,
        "seed": seed,
    }
    line = f"{explained.name}  {f'abstains{known}' if label is None else far}"
    settings.answer([line, *written], lambda: content | {"written": written})
    if settings.seed is None:
        note(f"--seed {seed} repeats this answer")


def in_dataset(text: str) -> tuple[str, int] | None:
    """The data set and the position that DATASET:INDEX names; None where `text` is a file, or no such name.

    Example:
        >>> in_dataset("digits:17"), in_dataset("photo.png")
        (('digits', 17), None)
    """
    dataset, colon, index = text.rpartition(":")
    return (
        (dataset, int(index))
        if colon and index.isdecimal() and not Path(text).exists()
        else None
    )


def check_image(text: str, split: str) -> None:
    """Raise Problem for an image that does not exist, as far as that is known without loading torch."""
    if (named := in_dataset(text)) is not None:
        check_dataset(named[0])
        check_index(
            text,
            split,
            data.DATASETS[named[0]].sizes.get(split)
            if named[0] in data.DATASETS
            else None,
        )
    elif not Path(text).is_file():
        raise NotFound(
            f"no image at {text}: expected an image file, or DATASET:INDEX such as digits:17"
        )


def check_index(text: str, split: str, count: int | None) -> None:
    """Raise Problem where DATASET:INDEX names no image of a split of `count`; None: it is not known yet."""
    dataset, _, index = text.rpartition(":")
    if count is not None and int(index) >= count:
        raise BadValue(
            f"{text}: {dataset} ({split}) has {count} images, 0 to {count - 1}"
        )


def found_image(
    model: models.BaseClassifier, settings: Explain, noise: Noise
) -> tuple[Tensor, dict[str, Any], str | None]:
    """The image (C, H, W) that is named, as the model takes it; and what is known of it.

    That are its name, its label and the classes there are, and the split of a data set.

    Raises:
        Problem: there is none, or it is of another shape or other classes than the model takes under `noise`.
    """
    import torch

    named = in_dataset(settings.image)
    if named is None:
        spec = spec_of(model, settings)
        (name, x), *others = images_at(Path(settings.image), spec, settings)
        if others:
            raise MissingValue(
                f"{settings.image} holds {1 + len(others)} images: name one, such as {settings.image}:0"
            )
        classes = () if spec.open_ended else spec.classes
        return x, {"name": name, "classes": classes}, None
    dataset, index = named
    how_read = certification.reading_of(model, dataset, settings.reading())
    images = data.load(dataset, settings.split, stream=True, **how_read)
    check_index(settings.image, settings.split, len(images))
    model, images = certification.matched(model, images, noise)
    (x,), (label,) = images.batch(torch.tensor([index]))
    classes = () if images.spec.open_ended else images.spec.classes
    known = {
        "name": settings.image,
        "classes": classes,
        "label": int(label) if images.labelled else None,
    }
    return x, known, images.split


def _explained(
    model: models.BaseClassifier, settings: Explain
) -> tuple[app.Explanation, str | None]:
    """The explanation, and the split of the image, if it is of a data set."""
    asked = completed(settings.asked(), settings, model)
    x, known, split = found_image(model, settings, asked.smoothing)
    training: Any = False if settings.no_training else None
    if settings.dataset is not None and not settings.no_training:
        how_read = certification.reading_of(model, settings.dataset, settings.reading())
        training = data.load(settings.dataset, "train", stream=True, **how_read)
    how = (
        known
        | settings.model_dump(include={"device", "num_classes"})
        | {"attack": not settings.no_attack}
    )
    explained = app.explain(model, x, asked, training=training, **how, progress=console)
    return explained, split


def _table(
    explained: app.Explanation, settings: Explain, split: str | None
) -> certificates.Certificates:
    """The counts as a table of one row: the same noise on the same pixels gives them again."""
    certified, images = explained.certified, explained.image[None]
    labelled = images if explained.label is None else (images, [explained.label])
    how = settings.model_dump(include={"device", "identity"}) | {
        "progress": False,
        "seed": certified.seed,
    }
    table = certification.certify(
        certified.engine.model, labelled, certified.settings, **how
    ).renamed(explained.name)
    if (named := in_dataset(settings.image)) is None:
        return table
    header = table.header.replace(dataset=named[0], split=split, selection=None)
    return replace(table, header=header, idx=np.array([named[1]]))


class Serve(Smoothed, Resized, Model):
    """Settings of `randsmooth serve`.

    Attributes:
        dataset: Data set or folder whose images the model is for. (default: what the model says)
        title: What to call the model on the page. (default: its name)
        host: Where to listen: 127.0.0.1: for this machine alone; 0.0.0.0: for all.
        port: Where to listen. (default: the first free one from 7860 on)
        public_name: A name under which visitors reach the app, such as that of a server before it, beside its address
            and localhost; requests that name another host are refused. Repeatable.
        most_samples: The most samples n of one image.
        seconds: Seconds that one certificate may take; what it has come to is then shown.
        upload_mb: Megabytes of a file.
        queue: Visitors who may wait.
        at_once: Certificates that are computed at the same time.
    """

    dataset: str | None = None
    title: str | None = None
    precision: str = certification_option("precision", "32")
    host: str = "127.0.0.1"
    port: int | None = None
    public_name: Annotated[
        list[str], Listed, Given(kind=list[str], metavar="NAME")
    ] = []
    most_samples: int = 100_000
    seconds: float = 60.0
    upload_mb: float = 5.0
    queue: int = 16
    at_once: int = 1


def serve(settings: Serve) -> None:
    """Serve a small web app in which one drops an image and watches its certificate grow, sample by sample.

    The rule is `anytime`: what is shown holds at whichever sample one stops. Each run draws a new seed, so that nobody
    can choose an image by its noise. The app listens to this machine alone unless --host says otherwise, loads nothing
    from elsewhere, and sends nothing.

    Example: randsmooth serve runs/gaussian
    """
    check_sources(settings.model, settings.denoiser)
    how = settings.model_dump(include={"upload_mb", "seconds", "queue", "at_once"})
    limits = app.Limits(samples=settings.most_samples, **how)
    title = settings.title or name_of(settings.model)
    same = settings.model_dump(
        include={"denoiser", "dataset", "sigma", "noise", "alpha"}
    )
    more = settings.model_dump(
        include={"backend", "precision", "device", "num_classes", "resize", "crop"}
    )
    from randsmooth.app.hosting import check_address
    from randsmooth.app.web_app import check_gradio

    check_gradio()
    check_address(settings.host, settings.port)  # before the model is opened
    model = certification.load_model(settings.model, **settings.model_arg)
    served = app.Served.of(model, title, limits=limits, **same, **more)
    if settings.host not in LOOPBACK:
        note(
            f"everybody who can reach {settings.host} can use this app, and this machine's time"
        )
    running = app.serve(
        served,
        host=settings.host,
        port=settings.port,
        public_names=settings.public_name,
        wait=False,
    )
    say(f"{title} at {running.local_url}; Ctrl-C ends it")
    try:
        running.block_thread()
    finally:
        running.close()
