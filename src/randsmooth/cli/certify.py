"""`randsmooth certify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from randsmooth.certificates import RULES, CertificationSettings
from randsmooth.cli.denoiser_option import DENOISER, base_classifier, check_denoiser, default_out
from randsmooth.cli.ensemble_option import CONSENSUS, ENSEMBLE, check_ensemble, ensemble_of, joined, single
from randsmooth.cli.model_options import IDENTITY, KEY_VALUE, MODEL, MODEL_ARG, NUM_CLASSES, ModelArgs
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.cli.shared_options import CROP, DATASET, DEVICE, IMAGE_COLUMN, LABEL_COLUMN, RESIZE
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.progress import Progress

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates
    from randsmooth.models import Ensemble


class Certify(Settings, CertificationSettings):
    """Settings of `randsmooth certify`."""

    model: Annotated[str | list[str], BeforeValidator(single)] = argument(
        f"{MODEL} Several with --ensemble.", list[str]
    )
    ensemble: str | None = option(ENSEMBLE)
    consensus: int | None = option(CONSENSUS)
    model_arg: ModelArgs = option(MODEL_ARG, {}, json_schema_extra=KEY_VALUE)
    denoiser: str | None = option(DENOISER)
    dataset: str | None = option(DATASET + " (default: the data set by whose name the model was trained)")
    split: str = option("train or test.", "test")
    image_column: str | None = option(IMAGE_COLUMN)
    label_column: str | None = option(LABEL_COLUMN)
    resize: str | None = option(RESIZE)
    crop: str | None = option(CROP)
    take: int | None = option("Certify this many images, evenly spread over the file. (default: all)")
    skip: int | None = option("Certify every SKIP-th image, as the literature does. (default: all)")
    device: str = option(DEVICE, "auto")
    num_classes: int | None = option(NUM_CLASSES)
    identity: str | None = option(IDENTITY)
    out: Path | None = option("Parquet file for the certificates. (default: MODEL.parquet, or MODEL+DENOISER.parquet)")
    resume: bool = option("Go on with an interrupted run into the file.", False)
    overwrite: bool = option("Discard what is in the file.", False)

    @classmethod
    def epilog(cls) -> str:
        """The rules, those of other packages among them."""
        rules = (RULES.describe(name, lambda rule: f"{rule.usage}: {rule.help}") for name in RULES)
        return "\n\n".join(["Rules, and what holds under each with probability 1 - alpha for every image:", *rules])


def certify(settings: Certify) -> None:
    """Certify images of a data set, and keep the evidence in a Parquet file.

    Each certificate says: within this L2 radius of the image, the smoothed classifier's answer cannot change
    (wrong with probability at most alpha). A killed run loses at most the few images in hand; --resume goes on.

    Example: randsmooth certify runs/gaussian --take 500 --rule grid --out gaussian.parquet
    """
    from randsmooth.progress import console

    table = run(settings, console)
    from randsmooth.report import render

    say(render([table]), end="")
    say(printable(f"certificates in {out_file(settings)}"))


def run(settings: Certify, progress: Progress) -> Certificates:
    """Certify as `settings` say; the finished table."""
    from randsmooth.certification.backends import check_backend
    from randsmooth.data.registry import check_dataset
    from randsmooth.models.sources import check_source

    check_backend(settings.backend)  # this and the following before torch is loaded
    check_ensemble(settings.model, settings.ensemble, settings.consensus)
    for source in [settings.model] if isinstance(settings.model, str) else settings.model:
        check_source(source)
    check_denoiser(settings.denoiser)
    if settings.dataset is not None:
        check_dataset(settings.dataset)
    from randsmooth.certification import certify as certify_dataset

    of_the_model = {"model", "model_arg", "ensemble", "consensus", "denoiser"}
    values = settings.model_dump(exclude={*of_the_model, "dataset", "out"})
    values |= {"out": out_file(settings), "progress": progress}
    model: str | Ensemble
    if isinstance(settings.model, str):
        model, arguments = settings.model, settings.model_arg
    else:
        if settings.model_arg:
            raise InputError("--model-arg is for one model: make each of several by a function without arguments")
        rule = settings.ensemble or ""
        model, arguments = ensemble_of(settings.model, rule, settings.consensus, settings.num_classes), {}
    if settings.denoiser is not None:
        base = base_classifier(model, arguments, settings.denoiser, settings.sigma)
        return certify_dataset(base, settings.dataset, **values)
    return certify_dataset(model, settings.dataset, **values, model_args=arguments)


def out_file(settings: Certify) -> Path:
    return settings.out or default_out(joined(settings.model), settings.denoiser)
