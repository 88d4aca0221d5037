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

# The most features of the nearest change to show: those that move most.
MOST_FEATURES = 5
# The most characters of the name of the model, and of the data set.
LONGEST_NAME = 60
# The probability, at most, that more certificates are false than the page says.
RHO = 0.001
# A vote with one class in more than this share of its answers is said to name it for
# nearly all.
ONE_CLASS_SHARE = 0.9
# The shares of the clean accuracy beyond whose loss noise is costly, and beyond whose
# loss the model has not learnt it.
COSTLY_LOSS = 0.1
UNLEARNT_LOSS = 0.5


def assessment_page(
    assessment: Assessment, *, command: str | None = None, predict: str | None = None
) -> str:
    """Return the page as HTML with everything inlined.

    The arguments are those of `write_assessment`.
    """
    header = assessment.table.header
    # In the template, n is the number of certified images.
    n = len(assessment.table)
    return filled(
        "assessment.html.j2",
        assessment=assessment,
        n=n,
        command=command,
        predict=predict,
        # The two radii of which the first paragraphs speak.
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
        folder: the folder for the files, which are called as in FILES.
        command: the command that made the page, which the page shows.
        predict: a command that answers a new image in the same way, which the page shows.

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
    """Return what stands in the way of certificates, in a word.

    Returns:
        "guesses": the network hardly does more; "one class": the vote names it for
        nearly all; "unlearnt": under the noise, the vote is right far less often;
        "costly": the noise costs some accuracy; or "": nothing.
    """
    clean = assessment.clean.value
    guess = assessment.guess
    if clean <= guess + HARDLY_BETTER * (1.0 - guess):
        return "guesses"
    if _names_one_class(assessment):
        return "one class"
    # Accuracy of the vote: at radius 0.
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
    # Classes below 0 are abstentions. Where all abstain, there is one count, 0.
    answers = table.predict[table.predict >= 0]
    counts = np.bincount(answers, minlength=1)
    share_of_labels = float((table.label == counts.argmax()).mean())
    return bool(counts.max() > ONE_CLASS_SHARE * counts.sum()) and share_of_labels < 0.5


def _nearest_change(assessment: Assessment) -> dict[str, Any]:
    """Return the facts of the page on the nearest change that an attack found.

    Returns:
        changed: the number of images with a change; if it is 0, there is no other key.
        row: the row of the image in the table.
        best: the attempt that found the change.
        radius: the certified radius of the image.
        moved: the features that it moves most, as `_moved`; empty for images.
    """
    changed = assessment.changed
    if not changed:
        return {"changed": 0}
    row = min(changed, key=lambda row: changed[row])
    attempts = assessment.attempts[row]
    # The change within the certified radius, or else the one beyond it.
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
    """Return the features that a change moves most, in the units of the noise.

    Args:
        assessment: the assessment, of features.
        row: the row of the attacked input in the table.
        point: the point (d,) that the attack found.

    Returns:
        (name, value before, value after) of each, the one that moves most first.
    """
    before = assessment.pictures[row].ravel()
    after = point.ravel()
    names = assessment.columns or tuple(f"feature {i}" for i in range(len(before)))
    noise = assessment.table.noise
    held = noise.held if isinstance(noise, HoldingFixed) else ()
    free = [place for place in range(len(names)) if place not in held]

    # A unit for each feature that may change. A noise that holds features fixed has
    # units for the others only.
    shape = assessment.shape
    if len(free) < len(names):
        shape = (len(free),)
    unit = np.broadcast_to(assessment.noise.unit, shape).ravel()
    lengths = np.abs(after - before)[free] / unit
    largest = np.argsort(-lengths, kind="stable")[:MOST_FEATURES]
    places = [free[i] for i in largest.tolist()]
    return [
        (names[place], float(before[place]), float(after[place])) for place in places
    ]
