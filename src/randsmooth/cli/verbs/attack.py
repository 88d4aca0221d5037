"""`randsmooth attack`: search certified balls for what a certificate rules out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from randsmooth import certificates, certification
from randsmooth.certificates import Certificates
from randsmooth.cli.options import DATASET, Columns, OnDevice, certification_option
from randsmooth.cli.output import FAILURE, Answers, show_answers
from randsmooth.cli.settings import Argument, option
from randsmooth.cli.what_to_certify import base_classifier, check_sources
from randsmooth.errors import Conflict, MissingValue
from randsmooth.escape import printable, say, shortened
from randsmooth.noise import NORMS, round_down
from randsmooth.progress import console
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.certification import Attacks

# The verdicts on a certified image: no other answer was found; PREDICT abstains at the
# point found; it answers otherwise outside of the certified radius; and within it.
HELD = "held"
ABSTAINED = "abstained"
OUTSIDE = "changed outside"
FAILED = "FAILED"


class Attack(Columns, OnDevice):
    """Settings of `randsmooth attack`.

    Attributes:
        certificates: Parquet file of `randsmooth certify`.
        expert: Of a routed file, whose MODEL is the router: the model of an expert.
            Repeatable, in the order of `certify`.
        scale: How far to search, in certified radii; beyond 1, changes are to be
            expected.
        steps: Steps of the search.
        m: Noise samples per step. (default: 64; without gradients 500)
        restarts: Starting points of the search: the image first, then others.
        gradient_free: Search by the answers alone, as for models without gradients
            (ONNX, labels).
        toward: Look only for points of this class, such as declined. (default: of any
            class but the certified one)
        n: Samples with which PREDICT classifies the point found.
        alpha: Probability that any reported change, over all images, is false.
        take: Attack this many, evenly spread over the certified images. (default: all)
        identity: The name under which the model was certified, if it was given one.
        format: Of the answers.
    """

    certificates: Argument[Place]
    expert: list[str] = []
    dataset: str | None = option(
        f"{DATASET} Resized and cropped as the file says. (default: the one that it "
        "names)"
    )
    scale: float = 1.0
    steps: int = 20
    m: int | None = None
    restarts: int = 1
    gradient_free: bool = False
    toward: str | None = None
    n: int = 10_000
    alpha: float = 0.001
    take: int | None = None
    identity: str | None = None
    seed: int = certification_option("seed", default=0)
    format: Literal["text", "csv", "json"] = "text"


def run(settings: Attack) -> None:
    """Try to refute certificates: search each ball for a point with another answer.

    The search follows the gradient. For a model without one, such as an ONNX file, it
    uses many more answers instead. In a text it replaces words. If the prediction changes within the certified
    radius, the certificate has failed, and the exit code is 1. A search that finds no
    change does not prove a certificate right.

    A routed file is attacked through its router and its experts: MODEL is the router.

    Example: randsmooth attack runs/gaussian gaussian.parquet --take 100
    """
    check_sources(settings.model, settings.denoiser)
    table = certificates.read(settings.certificates)
    base: object
    if table.routes is not None or settings.expert:
        base = _routed(settings, table)
    else:
        base = base_classifier(
            settings.model, settings.model_arg, settings.denoiser, table.header.sigma
        )
    # The model, the table and the data are given by place; the format is the command's.
    excluded = {
        "model",
        "model_arg",
        "denoiser",
        "expert",
        "certificates",
        "dataset",
        "format",
    }
    attacks = certification.attack(
        base,
        table,
        settings.dataset,
        **settings.model_dump(exclude=excluded),
        progress=console,
    )
    answers = answers_of(attacks, table)
    if settings.format == "text":
        lines = [*summary(attacks, table, settings.toward), *changes_table(answers)]
        say("\n".join(lines))
    else:
        show_answers(answers, settings.format)
    if attacks.failed.any():
        raise SystemExit(FAILURE)


def _routed(settings: Attack, table: Certificates) -> certification.Routed:
    """Return the router and the experts that `settings` name.

    Raises:
        Problem: the table is not routed, no expert is named, or a setting is not for
            routed tables.
    """
    if table.routes is None:
        raise Conflict(
            field="expert",
            value=settings.expert[0],
            expected=f"is for a routed file; {settings.certificates} is not routed",
            fix="leave it out",
        )
    if not settings.expert:
        raise MissingValue(
            field="expert",
            expected=f"is needed: {settings.certificates} is routed among experts",
            fix="give the router as the model, and each expert in the file's order",
        )
    for name in ("model_arg", "denoiser", "identity"):
        value = getattr(settings, name)
        if value:
            raise Conflict(
                field=name,
                value=value,
                expected="is not for a router and its experts",
                fix="leave it out",
            )
    return certification.Routed.load(settings.model, settings.expert)


def answers_of(attacks: Attacks, table: Certificates) -> Answers:
    """Return a dictionary for each attacked image, with its classes by name.

    `predict` is None where PREDICT abstained.
    """
    # The first condition that is true decides: failed images are among the changed.
    conditions = [attacks.failed, attacks.changed, attacks.abstained]
    choices = [FAILED, OUTSIDE, ABSTAINED]
    verdicts = np.select(conditions, choices, default=HELD).tolist()
    return [
        _answer(attacks, table, row, verdict) for row, verdict in enumerate(verdicts)
    ]


def _answer(
    attacks: Attacks, table: Certificates, row: int, verdict: str
) -> dict[str, Any]:
    """Return the answer about the image in a row of the attacks."""
    predicted = None
    if not attacks.abstained[row]:
        predicted = table.class_name(int(attacks.predict[row]))
    answer = {
        "image": int(attacks.idx[row]),
        "label": table.class_name(int(attacks.label[row])),
        "certified": table.class_name(int(attacks.certified[row])),
        "radius": float(attacks.radius[row]),
        "distance": float(attacks.distance[row]),
        "predict": predicted,
        "verdict": verdict,
    }
    if attacks.texts:
        answer["text"] = attacks.texts[row]
    return answer


def summary(
    attacks: Attacks, table: Certificates, toward: str | None = None
) -> list[str]:
    """Return sentences: how many images changed, and how many certificates failed.

    `toward` is the name of the only class that was looked for.

    One says how likely it is that a reported change is false.
    """
    total = len(attacks)
    changed = int(attacks.changed.sum())
    abstained = int(attacks.abstained.sum())
    method = "without gradients " if attacks.gradient_free else ""
    if toward is not None:
        method += f"toward {printable(toward)} "
    # Each image has an equal part of alpha (Bonferroni), so that all hold together.
    return [
        f"certified images attacked {method}within {attacks.scale:g} x their "
        f"{NORMS[attacks.norm].radius}: {total}; held {total - changed - abstained}, "
        f"abstained {abstained}, changed {changed}",
        f"PREDICT with n={attacks.n} at alpha={attacks.alpha / total:.3g} per image: "
        "the probability that any reported change is false is at most "
        f"{attacks.alpha:g}",
        *_failures(attacks, table),
    ]


def _failures(attacks: Attacks, table: Certificates) -> list[str]:
    """Return sentences: how many certificates failed, and how many may be expected."""
    total = len(attacks)
    failed = int(attacks.failed.sum())
    if failed == 0:
        sentence = "no certificate failed"
        if attacks.changed.any():
            sentence += ": all changes lie outside the certified radii"
        return [sentence]

    sentences = [
        f"FAILED: {failed} of {total} certificates: the prediction changed within the "
        "certified radius"
    ]
    alpha = table.header.alpha
    if alpha is not None:
        sentences.append(
            f"each may be wrong with probability {alpha:g}: at most "
            f"{alpha * total:.3g} of {total} are to be expected"
        )
    return sentences


def changes_table(answers: Answers) -> list[str]:
    """Return aligned columns, a line for each image whose prediction changed.

    The radius and the distance are rounded down.
    """
    # Late, as few attacks change an answer.
    from randsmooth.report.layouts import aligned

    changed = [answer for answer in answers if answer["verdict"] in (FAILED, OUTSIDE)]
    if not changed:
        return []
    # The keys of an answer are the titles of the columns.
    titles = [*changed[0]]
    rows = [titles]
    for answer in changed:
        rounded = {name: round_down(answer[name], 4) for name in ("radius", "distance")}
        cells = (answer | rounded).values()
        rows.append([shortened(printable(str(cell))) for cell in cells])
    # All columns are aligned to the right, as figures are.
    return ["", *aligned(rows, figures=[True] * len(titles))]
