"""`randsmooth accuracy`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from randsmooth.certificates.settings import AskedPrecision
from randsmooth.cli.certification import ModelAndImages, check_names, default_out, model_of
from randsmooth.cli.options import Where, certification_option
from randsmooth.escape import printable, say, to_json
from randsmooth.noise import round_down
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.metrics import MeasuredAccuracy


class Accuracy(Where, ModelAndImages):
    """Settings of `randsmooth accuracy`.

    Attributes:
        radius: Radius of the certified accuracy, in units of pixels in [0, 1].
        within: Half of the length of its 95% interval, as a share of the images: 0.01 is one point; settle it
            beforehand.
        out: Parquet file for the first pass, over all images, or its URL; the second, over some of those left open,
            goes to OUT-open.parquet. (default: MODEL-accuracy-R.parquet)
        resume: Go on with an interrupted run into these files.
        overwrite: Discard what is in these files.
        format: Of the answer.
    """

    radius: float
    within: float = 0.01
    sigma: float | None = certification_option("sigma")
    n: int = certification_option("n", 100_000)
    alpha: float = certification_option("alpha", 0.001)
    sound: bool = certification_option("sound", False)
    backend: str | None = certification_option("backend")
    precision: AskedPrecision = certification_option("precision", "32")
    batch: int | None = certification_option("batch")
    seed: int | None = certification_option("seed", stands_for="0")
    out: Place | None = None
    resume: bool = False
    overwrite: bool = False
    format: Literal["text", "json"] = "text"


def accuracy(settings: Accuracy) -> None:
    """Measure certified accuracy at one radius to a point: a few samples of every image, many of a few images.

    It is the figure that `randsmooth certify --rule radius=R --label-aware --n0 0` shows for all images. Most are
    decided by a few hundred samples; of those left open so many are chosen by chance, and certified to the end, that
    the interval is short enough. Whoever needs each image's certificate takes `randsmooth certify`.

    Example: randsmooth accuracy runs/gaussian --radius 0.5 --within 0.01
    """
    check_names(settings, settings.backend)
    workers = settings.where()
    from randsmooth.certification import measure_accuracy
    from randsmooth.progress import console, silent

    ending = f"-accuracy-{settings.radius:g}.parquet"
    out = settings.out or default_out(settings.model, settings.denoiser, ending)
    model, arguments = model_of(settings, settings.sigma)
    left_out = {"model", "model_arg", "ensemble", "consensus", "denoiser", "dataset", "ray", "dask", "format"}
    how = settings.model_dump(exclude=left_out) | {"workers": workers, "model_args": arguments, "out": out}
    progress = console if settings.format == "text" else silent
    measured = measure_accuracy(model, settings.dataset, **how, progress=progress)
    if settings.format == "json":
        say(to_json(asdict(measured), indent=1))
    else:
        say("\n".join([*lines(measured), printable(f"certificates in {out}")]))


def lines(measured: MeasuredAccuracy) -> list[str]:
    """What was measured, in sentences."""
    assured = round_down(measured.assured, 3)
    each = measured.samples / measured.images
    how = f"{measured.left_open:,} images were left open, {measured.resolved:,} of them certified to the end"
    if measured.left_open == measured.images:
        how = f"{measured.resolved:,} of the images, chosen by chance, were certified"
    return [
        f"{measured}, {measured.level:.0%} interval",
        f"with {measured.level:.0%} confidence at least {assured} of the images are right and robust at that radius",
        f"{measured.samples:,} samples, {each:,.0f} an image; {how}",
    ]
