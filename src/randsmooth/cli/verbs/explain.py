"""`randsmooth explain`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.images import FoundImage, OneClassifier, check_image, completed, found_image
from randsmooth.cli.messages import note, writing
from randsmooth.cli.models import base_classifier, check_sources
from randsmooth.cli.options import without_secrets
from randsmooth.cli.settings import argument, option
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.noise import round_down

if TYPE_CHECKING:
    from randsmooth.app import Explanation
    from randsmooth.certificates import Certificates


class Explain(OneClassifier):
    """Settings of `randsmooth explain`."""

    image: str = argument("Image file, or DATASET:INDEX for one of a data set, such as digits:17.")
    split: str = option("The split that DATASET:INDEX is from: train or test.", "test")
    out: Path = option("The HTML page to write; it works offline.", Path("explanation.html"))
    certificate: Path | None = option("Also write the counts as a certificate, a Parquet file of one row.")
    no_attack: bool = option("Do not attack the certificate, which takes some 20,000 answers.", False)
    no_training: bool = option("Do not look for the nearest training images.", False)
    overwrite: bool = option("Replace files that exist.", False)


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
        explained, found = _explained(settings)
        _write(explained, found, settings)
    say(_answer(explained))
    for path in wanted:
        say(path)
    if settings.seed is None:
        seed = explained.certified.seed
        say(f"seed {seed}: --seed {seed} repeats this answer")


def _explained(settings: Explain) -> tuple[Explanation, FoundImage]:
    from randsmooth import app
    from randsmooth.progress import console

    model = base_classifier(settings.model, settings.model_arg, settings.denoiser, settings.sigma)
    found = found_image(settings.image, settings.split, model, settings)
    explained = app.explain(
        model,
        found.x,
        completed(settings.asked(), settings, model),
        training=False if settings.no_training else _training(settings, found),
        label=found.label,
        classes=found.classes,
        attack=not settings.no_attack,
        device=settings.device,
        num_classes=settings.num_classes,
        name=found.name,
        progress=console,
    )
    return explained, found


def _training(settings: Explain, found: FoundImage) -> Any:
    """The training images to compare with: those of --dataset; else those beside the image, if they can be had."""
    from randsmooth import data

    how = {"stream": True, **settings.reading()}
    if settings.dataset is not None:
        return data.load(settings.dataset, "train", **how)
    if found.dataset is None:
        return None
    try:
        return data.load(found.dataset, "train", **how)
    except InputError as error:
        note(f"no training images are compared: {error}")
        return False


def _write(explained: Explanation, found: FoundImage, settings: Explain) -> None:
    from randsmooth import app
    from randsmooth.certificates import write_parquet

    seed = [] if settings.seed is not None else ["--seed", str(explained.certified.seed)]
    command = "randsmooth " + shlex.join([*without_secrets(sys.argv[1:]), *seed])  # which repeats the page
    app.write_explanation(explained, settings.out, command=command)
    if settings.certificate is not None:
        write_parquet(_table(explained, found, settings), settings.certificate)


def _table(explained: Explanation, found: FoundImage, settings: Explain) -> Certificates:
    """The counts as a table of one row: the same noise on the same pixels gives them again."""
    import numpy as np

    from randsmooth import certification

    certified, images = explained.certified, explained.image[None]
    table = certification.certify(
        certified.engine.model,
        images if found.label is None else (images, [found.label]),
        certified.settings.replace(seed=certified.seed),
        device=settings.device,
        identity=settings.identity,
        progress=False,
    )
    if found.index is None:
        return replace(table, name=found.name)
    header = table.header.replace(dataset=found.dataset, split=settings.split, selection=None)
    return replace(table, name=found.name, header=header, idx=np.array([found.index]))


def _answer(explained: Explanation) -> str:
    if explained.abstains:
        return f"{printable(explained.name)}  abstains"
    label = printable(explained.name_of(explained.predict))
    return f"{printable(explained.name)}  {label}  radius {round_down(explained.radius, 4)}"
