"""`randsmooth quantise`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.certificates import CertificationSettings
from randsmooth.cli.certification import check_sources, default_out
from randsmooth.cli.messages import writing
from randsmooth.cli.options import DATASET, Images, OneModel, certification_option
from randsmooth.cli.settings import option
from randsmooth.errors import InputError
from randsmooth.escape import printable, say

if TYPE_CHECKING:
    from randsmooth.certification.quantising import Agreement


class Quantise(Images, OneModel):
    """Settings of `randsmooth quantise`.

    Attributes:
        out: NET.xml, for an OpenVINO IR with NET.bin beside it, or NET.onnx, for ONNX Runtime. (default:
            MODEL-int8.xml)
        split: train; any other is refused, since what is judged on the test images must not know them.
        images: Training images to calibrate on, one noisy copy each.
        compare: Noisy images, others than these, that both models then classify; 0: none.
        seed: Seed of the noise on these images.
        overwrite: Replace files that exist.
    """

    out: Path | None = None
    dataset: str | None = option(DATASET + " (default: the data set by whose name the model was trained)")
    split: str = "train"
    sigma: float | None = certification_option("sigma")
    images: int = 300
    compare: int = 2000
    seed: int = 0
    overwrite: bool = False


def quantise(settings: Quantise) -> None:
    """Make an int8 model of a base classifier, calibrated on noisy training images: faster on CPUs.

    The file that it writes is a base classifier of its own, with its own certificates: those of the original say
    nothing of it. What it costs in accuracy is printed, on noisy images that both models classify.

    Example: randsmooth quantise runs/gaussian --out gaussian-int8.xml && randsmooth certify gaussian-int8.xml
    """
    from randsmooth.progress import console

    whole = re.sub(r"\.(onnx|xml|pt2?)$", "", settings.model)
    out = settings.out or default_out(whole, ending="-int8.xml")
    if out.suffix not in (".xml", ".onnx"):
        raise InputError(f"--out {out} must end in .xml (for an OpenVINO IR) or .onnx")
    CertificationSettings(sigma=settings.sigma)
    check_sources(settings.model, dataset=settings.dataset)
    from randsmooth import certification

    values = settings.model_dump(exclude={"model_arg", "overwrite"}) | {"out": out}
    beside = [out.with_suffix(".bin")] if out.suffix == ".xml" else []
    with writing([out, *beside], overwrite=settings.overwrite):
        made = certification.quantise(**values, model_args=settings.model_arg, progress=console)
    say(printable(f"int8 model in {made.path}: randsmooth certify {made.path}"))
    if made.agreement is not None:
        say(printable(f"{made.agreement.images} noisy {made.split} images: {told(made.agreement)}"))


def told(found: Agreement) -> str:
    """How the int8 model compares with the original, with the 95% interval of the paired difference."""
    same = f"{found.same / found.images:.2%} answered alike"
    if found.both is None or found.only_before is None or found.only_after is None:
        return same
    from randsmooth.metrics import fresh_difference

    before, after = ((found.both + only) / found.images for only in (found.only_before, found.only_after))
    apart = fresh_difference(found.only_after, found.only_before, found.images)
    return (
        f"accuracy {after:.2%}, the original's {before:.2%}; paired difference {apart.value:+.2%} "
        f"[{apart.low:+.2%}, {apart.high:+.2%}]; {same}"
    )
