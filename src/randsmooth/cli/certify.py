"""`randsmooth certify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.certificates import CONFIDENCE_BOUNDS, RULES
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.escape import printable, say
from randsmooth.progress import Progress

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates

USAGES = ", ".join(rule.usage for rule in RULES.values())


class Certify(Settings):
    """Settings of `randsmooth certify`."""

    model: str = argument("Model folder, `user/name` on the Hugging Face hub, or ONNX file.")
    dataset: str | None = option(
        "Name or folder of the images. (default: the data set by whose name the model was trained)"
    )
    split: str = option("train or test.", "test")
    sigma: float | None = option("Standard deviation of the noise. (default: the one that the model was trained with)")
    n: int = option("The most samples an image that bound the probability of its class.", 100_000)
    n0: int = option("Other samples, that pick the class.", 100)
    alpha: float = option("Probability that an image's certificate is wrong.", 0.001)
    rule: str = option(f"How many of the n samples are drawn: {USAGES}. Explained above.", "fixed")
    bound: str = option(f"Of the fixed rule: {', '.join(CONFIDENCE_BOUNDS)}.", "clopper-pearson")
    label_aware: bool = option("Stop where the picked class is not the label. For evaluation only.", False)
    sound: bool = option("Round noisy images to the grid k/255 under their exact distribution: no float error.", False)
    take: int | None = option("Certify this many images, evenly spread over the file. (default: all)")
    skip: int | None = option("Certify every SKIP-th image, as the literature does. (default: all)")
    backend: str | None = option(
        "torch, compile, openvino, onnx, or auto: the fastest installed. (default: torch; onnx for an ONNX file)"
    )
    precision: str = option("Arithmetic of the base classifier: 32, bf16 or fp16.", "32")
    device: str = option("auto, cpu or cuda.", "auto")
    batch: int | None = option("Samples a forward pass, 128 or more. (default: what suits device and image)")
    seed: int = option("Seed of the noise.", 0)
    out: Path | None = option("Parquet file for the certificates. (default: MODEL.parquet)")
    resume: bool = option("Go on with an interrupted run into the file.", False)
    overwrite: bool = option("Discard what is in the file.", False)


def certify(settings: Certify) -> None:
    """Certify images of a data set, and keep the evidence in a Parquet file.

    Each certificate says: within this L2 radius of the image, the smoothed classifier's answer cannot change
    (wrong with probability at most alpha). A killed run loses at most the few images in hand; --resume goes on.

    Example: randsmooth certify runs/gaussian --take 500 --rule grid --out gaussian.parquet

    Rules, and what holds under each with probability 1 - alpha for every image:
    """
    from randsmooth.progress import console
    from randsmooth.report import render

    table = run(settings, console)
    say(render([table]), end="")
    say(printable(f"certificates in {out_file(settings)}"))


for _rule in RULES.values():
    certify.__doc__ = f"{certify.__doc__}\n    {_rule.usage}: {_rule.help}\n"


def run(settings: Certify, progress: Progress) -> Certificates:
    """Certify as `settings` say; the finished table."""
    from randsmooth.certification import certify as certify_dataset

    values = settings.model_dump() | {"out": out_file(settings)}
    return certify_dataset(values.pop("model"), values.pop("dataset"), **values, progress=progress)


def out_file(settings: Certify) -> Path:
    return settings.out or Path(settings.model.rstrip("/") + ".parquet")
