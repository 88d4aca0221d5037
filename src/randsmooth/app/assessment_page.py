"""The page of an assessment: first for whoever decides, then its figures."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.app.assessing import PILOT_N, PLAN_N
from randsmooth.app.assessment import Assessment
from randsmooth.app.assessment_figure import figure, in_percent
from randsmooth.app.page import filled
from randsmooth.app.wording import percent
from randsmooth.atomic import write_atomically
from randsmooth.bounds import most_failures
from randsmooth.certificates import write_parquet
from randsmooth.certification.run_notes import HARDLY_BETTER
from randsmooth.escape import printable, shortened
from randsmooth.noise import HoldingFixed
from randsmooth.report import draw

PAGE = "assessment.html"
FIGURE = "assessment.png"
TABLE = "certificates.parquet"
FILES = (PAGE, FIGURE, TABLE)

# Features of the nearest change that are shown: those that move most.
MOST_FEATURES = 5
# Characters of the name of the model, and of the data set.
LONGEST_NAME = 60
# The probability that more certificates are false than the page says.
RHO = 0.001
# A vote that names one class in more than this share of its answers names it for all.
ONE_CLASS_SHARE = 0.9
# Noise is costly if it costs more than this share of the clean accuracy, and was not
# learnt if it costs more than that one.
COSTLY_LOSS = 0.1
UNLEARNT_LOSS = 0.5


def assessment_page(
    assessment: Assessment, *, command: str | None = None, predict: str | None = None
) -> str:
    """Return the page as HTML with everything inlined.

    The arguments are those of `write_assessment`.
    """
    header = assessment.table.header
    n = len(assessment.table)
    return filled(
        "assessment.html.j2",
        assessment=assessment,
        n=n,
        command=command,
        predict=predict,
        at=(assessment.reach / 2, assessment.reach),
        name=shortened(printable(str(assessment.name)), LONGEST_NAME),
        dataset=shortened(printable(str(header.dataset)), LONGEST_NAME),
        values=math.prod(assessment.shape),
        advice=advice(assessment),
        chart=in_percent(figure(assessment)),
        most_false=most_failures(n, header.alpha or 0.0, RHO),
        attacked=_nearest_change(assessment),
        notes=[("note", note) for note in assessment.notes],
        percent=percent,
        pilot_n=PILOT_N,
        plan_n=PLAN_N,
    )


def write_assessment(
    assessment: Assessment,
    folder: Path | str,
    *,
    command: str | None = None,
    predict: str | None = None,
) -> None:
    """Write the page, its figure as a PNG and the certificates, each all or nothing.

    Args:
        assessment: what `assess` returned.
        folder: where the files are written.
        command: what made the page, to be shown on it.
        predict: a command that answers a new image in the same way, to be shown on it.

    Example:
        >>> import tempfile
        >>> import randsmooth as rs
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> assessment = rs.assess(model, "digits", sigmas=[0.25], take=20, n=200)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_assessment(assessment, folder)
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['assessment.html', 'assessment.png', 'certificates.parquet']
    """
    folder = Path(folder)
    page = assessment_page(assessment, command=command, predict=predict)
    write_atomically(folder / PAGE, page.encode())
    draw([figure(assessment)], folder / FIGURE)
    write_parquet(assessment.table, folder / TABLE)


def advice(assessment: Assessment) -> str:
    """Return what stands in the way of certificates.

    Returns:
        "guesses"; "one class" for all; "unlearnt", of the noise; "costly"; or "" for
        nothing.
    """
    clean = assessment.clean.value
    guess = assessment.guess
    if clean <= guess + HARDLY_BETTER * (1.0 - guess):
        return "guesses"
    if _names_one_class(assessment):
        return "one class"
    voted = assessment.certified[0.0].value
    if voted < (1.0 - UNLEARNT_LOSS) * clean:
        return "unlearnt"
    once = assessment.chosen.accuracy.value
    if min(voted, once) < (1.0 - COSTLY_LOSS) * clean:
        return "costly"
    return ""


def _names_one_class(assessment: Assessment) -> bool:
    """Return whether the vote names one class for nearly all, mostly wrongly."""
    table = assessment.table
    answers = table.predict[table.predict >= 0]
    counts = np.bincount(answers, minlength=1)
    share_of_labels = float((table.label == counts.argmax()).mean())
    return bool(counts.max() > ONE_CLASS_SHARE * counts.sum()) and share_of_labels < 0.5


def _nearest_change(assessment: Assessment) -> dict[str, Any]:
    """Count the searches that changed answers, and return the nearest change."""
    changed = assessment.changed
    if not changed:
        return {"changed": 0}
    row = min(changed, key=lambda row: changed[row])
    attempts = assessment.attempts[row]
    best = attempts.inside
    if row not in assessment.failed and attempts.outside is not None:
        best = attempts.outside
    return {
        "changed": len(changed),
        "row": row,
        "best": best,
        "radius": float(assessment.table.radius[row]),
        "moved": _moved(assessment, row, best.point) if assessment.features else [],
    }


def _moved(
    assessment: Assessment, row: int, point: NDArray[np.float32]
) -> list[tuple[str, float, float]]:
    """Return the features that a change moves most, each as its length is counted.

    Returns:
        The name of each, with its values before and after.
    """
    before = assessment.pictures[row].ravel()
    after = point.ravel()
    names = assessment.columns or tuple(f"feature {i}" for i in range(len(before)))
    noise = assessment.table.noise
    held = noise.held if isinstance(noise, HoldingFixed) else ()
    free = [place for place in range(len(names)) if place not in held]

    # A unit for each feature that may change.
    shape = assessment.shape
    if len(free) < len(names):
        shape = (len(free),)
    unit = np.broadcast_to(assessment.noise.unit, shape).ravel()
    lengths = np.abs(after - before)[free] / unit
    largest = np.argsort(-lengths, kind="stable")[:MOST_FEATURES]
    return [
        (names[place], float(before[place]), float(after[place]))
        for place in [free[i] for i in largest.tolist()]
    ]
