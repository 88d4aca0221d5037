"""`randsmooth quantise`: an int8 model of a base classifier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from randsmooth import certification, metrics
from randsmooth.certificates import CertificationSettings
from randsmooth.cli.options import (
    DATASET_OF_THE_MODEL,
    Answered,
    ImageReading,
    Noisy,
    OneModel,
)
from randsmooth.cli.output import note, writing
from randsmooth.cli.settings import option
from randsmooth.cli.what_to_certify import check_sources, default_out
from randsmooth.progress import console

# The endings of models that are one file.
ENDINGS = re.compile(r"\.(onnx|xml|pt2?)$")


class Quantise(Answered, Noisy, ImageReading, OneModel):
    """Settings of `randsmooth quantise`.

    Attributes:
        out: NET.xml, for an OpenVINO IR with NET.bin beside it. (default:
            MODEL-int8.xml)
        images: Training images to calibrate on, one noisy copy each.
        compare: Noisy images, others than these, that both models then classify; 0:
            none.
        seed: Seed of the noise on these images.
        overwrite: Replace files that exist.
    """

    out: Path | None = None
    dataset: str | None = option(DATASET_OF_THE_MODEL)
    images: int = 300
    compare: int = 2000
    seed: int = 0
    overwrite: bool = False


def run(settings: Quantise) -> None:
    """Make an int8 model of a base classifier, which is faster on CPUs.

    The command calibrates the model on noisy training images. The result is a separate
    base classifier: certificates of the original prove nothing about it. The command
    prints the loss of accuracy, on noisy images that both models classify.

    Example: randsmooth quantise runs/gaussian --out gaussian-int8.xml && randsmooth
    certify gaussian-int8.xml
    """
    out = settings.out
    if out is None:
        out = default_out(ENDINGS.sub("", settings.model), ending="-int8.xml")
    # Made for its checks: it refuses an impossible noise before torch is loaded.
    CertificationSettings(sigma=settings.sigma, noise=settings.noise)
    check_sources(settings.model, dataset=settings.dataset)

    # These are given below, or are the command's own.
    excluded = {"model_arg", "overwrite", "format", "out"}
    # OpenVINO writes the weights into a file beside the model.
    with writing([out, out.with_suffix(".bin")], overwrite=settings.overwrite):
        agreement = certification.quantise(
            **settings.model_dump(exclude=excluded),
            out=out,
            model_args=settings.model_arg,
            progress=console,
        )
    lines = [f"int8 model in {out}"]
    facts = None
    # The agreement is None with --compare 0.
    if agreement is not None:
        lines += _lines(agreement)
        facts = asdict(agreement)
    settings.answer(lines, lambda: {"model": str(out), "agreement": facts})
    note(f"certify it with: randsmooth certify {out}")


def _lines(agreement: certification.Agreement) -> Iterator[str]:
    """Yield a line that compares the int8 model with the original on noisy images."""
    parts = [*_accuracies(agreement)]
    parts.append(f"{agreement.same / agreement.images:.2%} answered alike")
    yield (f"{agreement.images} noisy {agreement.split} images: {'; '.join(parts)}")


def _accuracies(agreement: certification.Agreement) -> Iterator[str]:
    """Yield both accuracies, and their difference with its 95% interval.

    Without labels, yield nothing.
    """
    both = agreement.both
    only_before = agreement.only_before
    only_after = agreement.only_after
    if both is None or only_before is None or only_after is None:
        return
    images = agreement.images
    before = (both + only_before) / images
    after = (both + only_after) / images
    yield f"accuracy {after:.2%}, the original's {before:.2%}"
    difference = metrics.fresh_difference(only_after, only_before, images)
    yield (
        f"paired difference {difference.value:+.2%} "
        f"[{difference.low:+.2%}, {difference.high:+.2%}]"
    )
