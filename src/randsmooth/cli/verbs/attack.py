"""`randsmooth attack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import typer

from randsmooth.cli.messages import Answers, show_answers
from randsmooth.cli.models import base_classifier, check_sources
from randsmooth.cli.options import (
    DATASET,
    DENOISER,
    DEVICE,
    KEY_VALUE,
    MODEL,
    MODEL_ARG,
    Columns,
    ModelArgs,
    certification_option,
)
from randsmooth.cli.settings import argument, option
from randsmooth.escape import printable, say, shortened
from randsmooth.noise import round_down
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates
    from randsmooth.certification import Attacks

HELD, ABSTAINED, OUTSIDE, FAILED = "held", "abstained", "changed outside", "FAILED"


class Attack(Columns):
    """Settings of `randsmooth attack`."""

    model: str = argument(f"The model that was certified. {MODEL}")
    model_arg: ModelArgs = option(MODEL_ARG, {}, as_typed=KEY_VALUE)
    denoiser: str | None = option(DENOISER)
    certificates: Place = argument("Parquet file of `randsmooth certify`.")
    dataset: str | None = option(
        DATASET + " It is resized and cropped as the file says. (default: the data set that the file names)"
    )
    scale: float = option("How far to search, in certified radii; beyond 1, changes are to be expected.", 1.0)
    steps: int = option("Steps of the search.", 20)
    m: int | None = option("Noise samples per step. (default: 64; without gradients 500)")
    restarts: int = option("Starting points of the search: the image first, then others.", 1)
    gradient_free: bool = option("Search by the answers alone, as for models without gradients (ONNX, labels).", False)
    n: int = option("Samples with which PREDICT classifies the point found.", 10_000)
    alpha: float = option("Probability that any reported change, over all images, is false.", 0.001)
    take: int | None = option("Attack this many, evenly spread over the certified images. (default: all)")
    device: str = option(DEVICE, "auto")
    identity: str | None = option("The name under which the model was certified, if it was given one.")
    seed: int = certification_option("seed", 0)
    format: Literal["text", "csv", "json"] = option("Of the answers.", "text")


def attack(settings: Attack) -> None:
    """Try to refute certificates: search each certified ball for a point with another prediction.

    The search follows the gradient; a model without one, such as an ONNX file, is asked for many more answers instead.
    If the prediction changes within the certified radius, the certificate has failed, and the exit code is 1. A search
    that finds no change does not prove a certificate right.

    Example: randsmooth attack runs/gaussian gaussian.parquet --take 100
    """
    from randsmooth import certificates, certification
    from randsmooth.progress import console, silent

    check_sources(settings.model, settings.denoiser)
    table = certificates.read(settings.certificates)
    values = settings.model_dump(exclude={"model", "model_arg", "denoiser", "certificates", "dataset", "format"})
    progress = console if settings.format == "text" else silent  # progress lines would break CSV and JSON
    base = base_classifier(settings.model, settings.model_arg, settings.denoiser, table.header.sigma)
    attacks = certification.attack(base, table, settings.dataset, **values, progress=progress)
    answers = [answer(attacks, table, row) for row in range(len(attacks))]
    if settings.format == "text":
        say("\n".join([*summary(attacks, table), *grid(answers)]))
    else:
        show_answers(answers, settings.format)
    if attacks.failed.any():
        raise typer.Exit(1)


def answer(attacks: Attacks, table: Certificates, row: int) -> dict[str, Any]:
    """One attacked image, with its classes by name; `predict` is None where PREDICT abstained."""
    now = int(attacks.predict[row])
    return {
        "image": int(attacks.idx[row]),
        "label": table.class_name(int(attacks.label[row])),
        "certified": table.class_name(int(attacks.certified[row])),
        "radius": float(attacks.radius[row]),
        "distance": float(attacks.distance[row]),
        "predict": None if now < 0 else table.class_name(now),
        "verdict": verdict(attacks, row),
    }


def verdict(attacks: Attacks, row: int) -> str:
    if attacks.failed[row]:
        return FAILED
    if attacks.changed[row]:
        return OUTSIDE
    return ABSTAINED if attacks.abstained[row] else HELD


def summary(attacks: Attacks, table: Certificates) -> list[str]:
    """How many images changed, and how likely it is that a reported change is false."""
    total, changed, abstained = len(attacks), int(attacks.changed.sum()), int(attacks.abstained.sum())
    held = total - changed - abstained
    how = "without gradients " if attacks.gradient_free else ""
    lines = [
        f"certified images attacked {how}within {attacks.scale:g} x their radius: {total}; "
        f"held {held}, abstained {abstained}, changed {changed}",
        f"PREDICT with n={attacks.n} at alpha={attacks.alpha / total:.3g} per image: the probability that any reported "
        f"change is false is at most {attacks.alpha:g}",
    ]
    return [*lines, *failures(attacks, table)]


def failures(attacks: Attacks, table: Certificates) -> list[str]:
    failed, changed, total = int(attacks.failed.sum()), int(attacks.changed.sum()), len(attacks)
    if not failed:
        return ["no certificate failed" + (": all changes lie outside the certified radii" if changed else "")]
    line = f"FAILED: {failed} of {total} certificates: the prediction changed within the certified radius"
    if table.header.alpha is None:
        return [line]
    expected = f"at most {table.header.alpha * total:.3g} of {total} are to be expected"
    return [line, f"each may be wrong with probability {table.header.alpha:g}: {expected}"]


def grid(answers: Answers) -> list[str]:
    """A table in aligned columns, a line for each image whose prediction changed; lengths are rounded down."""
    rows = [row | _short(row) for row in answers if row["verdict"] in (FAILED, OUTSIDE)]
    if not rows:
        return []
    cells = [list(rows[0]), *([shortened(printable(str(cell))) for cell in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return ["", *lines]


def _short(row: dict[str, Any]) -> dict[str, Any]:
    return {key: round_down(row[key], 4) for key in ("radius", "distance")}
