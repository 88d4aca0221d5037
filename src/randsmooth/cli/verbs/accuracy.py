"""`randsmooth accuracy`: certified accuracy at one radius, with fewer samples."""

from __future__ import annotations

from dataclasses import asdict

from randsmooth import certificates, certification, metrics
from randsmooth.certificates.settings import AskedPrecision
from randsmooth.cli.options import (
    Answered,
    NoisyInputs,
    SigmaNamed,
    Smoothed,
    certification_option,
)
from randsmooth.cli.what_to_certify import OF_THE_MODEL, ModelAndImages, default_out
from randsmooth.cli.workers import Shared
from randsmooth.errors import article
from randsmooth.noise import NORMS, round_down
from randsmooth.number_text import shortest
from randsmooth.progress import console
from randsmooth.urls import Place


class Accuracy(Answered, Shared, Smoothed, ModelAndImages):
    """Settings of `randsmooth accuracy`.

    Attributes:
        radius: Radius of the certified accuracy, in the unit of the noise: pixels in
            [0, 1]; under 0.25std standard deviations of each feature.
        within: Half of the length of its 95% interval, as a share of the images: 0.01
            is one point; settle it beforehand.
        out: Parquet file for the first pass, over all images, or its URL; the second,
            over some of those left open, goes to OUT-open.parquet. (default:
            MODEL-accuracy-R.parquet)
        resume: Go on with an interrupted run into these files.
        overwrite: Discard what is in these files.
    """

    # `Smoothed` has a float for images. Of features it may be a text, such as 0.25std.
    sigma: SigmaNamed = NoisyInputs.model_fields["sigma"]  # type: ignore[assignment]
    radius: float
    within: float = 0.01
    n: int = certification_option("n", default=100_000)
    sound: bool = certification_option("sound", default=False)
    precision: AskedPrecision = certification_option("precision", default="32")
    batch: int | None = certification_option("batch")
    seed: int | None = certification_option("seed", stands_for="0")
    out: Place | None = None
    resume: bool = False
    overwrite: bool = False


def run(settings: Accuracy) -> None:
    """Measure certified accuracy at one radius, from few samples of most images.

    It measures the figure that `randsmooth certify --rule radius=R --label-aware --n0
    0` shows for all images. A few hundred samples decide most images. Of the open ones,
    it certifies a random choice to the end, large enough for a short interval. If you
    need the certificate of each image, use `randsmooth certify`.

    Example: randsmooth accuracy runs/gaussian --radius 0.5 --within 0.01
    """
    settings.check(settings.backend)
    workers = settings.chosen_workers()
    ending = f"-accuracy-{shortest(settings.radius)}.parquet"
    out = settings.out or default_out(settings.model, settings.denoiser, ending)
    model, arguments = settings.opened(settings.gaussian_sigma)

    # These are given below by themselves; the format is the command's own.
    excluded = {*OF_THE_MODEL, *Shared.model_fields, "dataset", "out", "format"}
    measured = certification.measure_accuracy(
        model,
        settings.dataset,
        **settings.model_dump(exclude=excluded),
        workers=workers,
        model_args=arguments,
        out=out,
        progress=console,
    )
    # The table of the first pass says the norm of the noise, which may be the model's.
    norm = certificates.read(out).norm
    settings.answer(
        [*_lines(measured, norm), f"certificates in {out}"],
        lambda: asdict(measured) | {"norm": norm},
    )


def _lines(measured: metrics.MeasuredAccuracy, norm: str) -> list[str]:
    """Return the measured accuracy in sentences.

    Args:
        measured: the accuracy and what it took.
        norm: the name of the norm of its radius.
    """
    level = f"{measured.level:.0%}"
    assured = round_down(measured.assured, 3)
    samples_each = measured.samples / measured.images
    # "an image", or "a row" where the inputs are features.
    an_input = article(measured.inputs.removesuffix("s"))
    # All are left open where there was no first pass.
    if measured.left_open == measured.images:
        certified = (
            f"{measured.resolved:,} of the {measured.inputs}, chosen by chance, were "
            "certified"
        )
    else:
        certified = (
            f"{measured.left_open:,} {measured.inputs} were left open, "
            f"{measured.resolved:,} of them certified to the end"
        )
    return [
        f"{measured}, {level} interval",
        f"r is the {NORMS[norm].title}",
        f"with {level} confidence at least {assured} of the {measured.inputs} are "
        "right and robust at that radius",
        f"{measured.samples:,} samples, {samples_each:,.0f} {an_input}; {certified}",
    ]
