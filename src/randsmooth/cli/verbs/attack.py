"""`randsmooth attack`: searches the certified balls of a table for what a certificate rules out."""

from __future__ import annotations

from typing import Literal

import numpy as np
import typer

from randsmooth import certificates, certification
from randsmooth.cli.options import DATASET, Columns, OnDevice, certification_option
from randsmooth.cli.output import FAILURE, Answers, show_answers
from randsmooth.cli.settings import Argument, option
from randsmooth.cli.what_to_certify import base_classifier, check_sources
from randsmooth.escape import printable, say, shortened
from randsmooth.noise import NORMS, round_down
from randsmooth.progress import console
from randsmooth.urls import Place

HELD, ABSTAINED, OUTSIDE, FAILED = "held", "abstained", "changed outside", "FAILED"


class Attack(Columns, OnDevice):
    """Settings of `randsmooth attack`.

    Attributes:
        certificates: Parquet file of `randsmooth certify`.
        scale: How far to search, in certified radii; beyond 1, changes are to be expected.
        steps: Steps of the search.
        m: Noise samples per step. (default: 64; without gradients 500)
        restarts: Starting points of the search: the image first, then others.
        gradient_free: Search by the answers alone, as for models without gradients (ONNX, labels).
        n: Samples with which PREDICT classifies the point found.
        alpha: Probability that any reported change, over all images, is false.
        take: Attack this many, evenly spread over the certified images. (default: all)
        identity: The name under which the model was certified, if it was given one.
        format: Of the answers.
    """

    certificates: Argument[Place]
    dataset: str | None = option(
        DATASET
        + " Resized and cropped as the file says. (default: the one that it names)"
    )
    scale: float = 1.0
    steps: int = 20
    m: int | None = None
    restarts: int = 1
    gradient_free: bool = False
    n: int = 10_000
    alpha: float = 0.001
    take: int | None = None
    identity: str | None = None
    seed: int = certification_option("seed", 0)
    format: Literal["text", "csv", "json"] = "text"


def attack(settings: Attack) -> None:
    """Try to refute certificates: search each certified ball for a point with another prediction.

    The search follows the gradient; a model without one, such as an ONNX file, is asked for many more answers instead.
    If the prediction changes within the certified radius, the certificate has failed, and the exit code is 1. A search
    that finds no change does not prove a certificate right.

    Example: randsmooth attack runs/gaussian gaussian.parquet --take 100
    """
    check_sources(settings.model, settings.denoiser)
    table = certificates.read(settings.certificates)
    values = settings.model_dump(
        exclude={"model", "model_arg", "denoiser", "certificates", "dataset", "format"}
    )
    base = base_classifier(
        settings.model, settings.model_arg, settings.denoiser, table.header.sigma
    )
    attacks = certification.attack(
        base, table, settings.dataset, **values, progress=console
    )
    answers = answers_of(attacks, table)
    if settings.format == "text":
        say("\n".join([*summary(attacks, table), *grid(answers)]))
    else:
        show_answers(answers, settings.format)
    if attacks.failed.any():
        raise typer.Exit(FAILURE)


def answers_of(
    attacks: certification.Attacks, table: certificates.Certificates
) -> Answers:
    """The attacked images, with their classes by name; `predict` is None where PREDICT abstained."""
    rows = [attacks.failed, attacks.changed, attacks.abstained]
    verdicts = np.select(rows, [FAILED, OUTSIDE, ABSTAINED], HELD).tolist()
    return [
        {
            "image": int(attacks.idx[row]),
            "label": table.class_name(int(attacks.label[row])),
            "certified": table.class_name(int(attacks.certified[row])),
            "radius": float(attacks.radius[row]),
            "distance": float(attacks.distance[row]),
            "predict": None
            if attacks.abstained[row]
            else table.class_name(int(attacks.predict[row])),
            "verdict": verdict,
        }
        for row, verdict in enumerate(verdicts)
    ]


def summary(
    attacks: certification.Attacks, table: certificates.Certificates
) -> list[str]:
    """How many images changed, how likely it is that a reported change is false, and how many certificates failed."""
    total, changed, abstained = (
        len(attacks),
        int(attacks.changed.sum()),
        int(attacks.abstained.sum()),
    )
    how = "without gradients " if attacks.gradient_free else ""
    lines = [
        f"certified images attacked {how}within {attacks.scale:g} x their {NORMS[attacks.norm].radius}: {total}; "
        f"held {total - changed - abstained}, abstained {abstained}, changed {changed}",
        f"PREDICT with n={attacks.n} at alpha={attacks.alpha / total:.3g} per image: the probability that any reported "
        f"change is false is at most {attacks.alpha:g}",
    ]
    failed, alpha = int(attacks.failed.sum()), table.header.alpha
    if not failed:
        lines.append(
            "no certificate failed"
            + ": all changes lie outside the certified radii" * bool(changed)
        )
    else:
        lines.append(
            f"FAILED: {failed} of {total} certificates: the prediction changed within the certified radius"
        )
    if failed and alpha is not None:
        expected = f"at most {alpha * total:.3g} of {total} are to be expected"
        lines.append(f"each may be wrong with probability {alpha:g}: {expected}")
    return lines


def grid(answers: Answers) -> list[str]:
    """A table in aligned columns, a line for each image whose prediction changed; lengths are rounded down."""
    from randsmooth.report.layouts import aligned

    changed = [row for row in answers if row["verdict"] in (FAILED, OUTSIDE)]
    rows = [
        row | {key: round_down(row[key], 4) for key in ("radius", "distance")}
        for row in changed
    ]
    cells = [[*row] for row in rows[:1]] + [
        [shortened(printable(str(cell))) for cell in row.values()] for row in rows
    ]
    return ["", *aligned(cells, [True] * len(rows[0]))] if rows else []
