"""A certificate that grows, as a piece of HTML and as data."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from randsmooth.escape import printable, shortened
from randsmooth.explanation.charts import curve
from randsmooth.explanation.page import Card, vote_of
from randsmooth.explanation.pictures import picture
from randsmooth.explanation.sentences import down, in_levels
from randsmooth.report import web
from randsmooth.serving.served import Moment, Served

TEMPLATES = ("randsmooth.serving", "randsmooth.explanation")


def names(served: Served, width: int) -> list[str]:
    """The names of `width` classes."""
    known = served.spec.classes
    return list(known[:width]) if len(known) >= width else list(map(str, range(width)))


def shown(served: Served, x: Tensor, moment: Moment) -> str:
    """The certificate of an image (C, H, W) as HTML."""
    look, classes = moment.look, names(served, len(moment.look.counts))
    samples, radii = zip(*moment.history, strict=True)
    return str(
        web.fragment(
            TEMPLATES,
            "moment.html.j2",
            image=Card(picture(x.numpy(), "the image as it is certified"), "as certified"),
            title=_title(classes, moment),
            said=_said(classes, moment, x.numel()),
            progress=_progress(moment),
            vote=vote_of(look.counts, look.picked, look.q, classes),
            chart=curve(samples, radii, marks=_marks(moment.n), last=moment.n),
            note=f"σ = {moment.sigma:g}, alpha = {moment.alpha:g}, seed {moment.seed}. The vote is shown without the "
            "samples that picked the class; p_A is bounded by the best of all looks.",
        )
    )


def as_data(served: Served, moment: Moment) -> dict[str, Any]:
    """The same for a program: plain JSON."""
    look, classes = moment.look, names(served, len(moment.look.counts))
    return {
        "answer": None if look.predict < 0 else classes[look.predict],
        "radius": 0.0 if look.predict < 0 else look.radius,
        "sigma": moment.sigma,
        "alpha": moment.alpha,
        "samples": look.samples,
        "counts": look.counts.tolist(),
        "classes": classes,
        "seed": str(moment.seed),
        "done": moment.done,
    }


def refusal(message: str) -> str:
    """What a visitor is told whose image cannot be certified."""
    return str(web.fragment(TEMPLATES, "refusal.html.j2", message=message))


def _title(classes: list[str], moment: Moment) -> str:
    k = moment.look.predict
    if k >= 0:
        return f"{_short(classes[k])}, radius {down(moment.look.radius)}"
    return "No answer is certified" if moment.done else "No answer is certified yet"


def _said(classes: list[str], moment: Moment, d: int) -> str:
    look = moment.look
    if look.predict < 0:
        share = 100.0 * look.counts[look.picked] / look.samples
        said = f"{_short(classes[look.picked])} came out in {share:.0f}% of the noisy copies. "
        if moment.done:
            return said + "That does not show that its probability is above one half: the classifier abstains."
        return said + "More samples may show that its probability is above one half."
    return (
        f"No change of this image with L2 norm below {down(look.radius)} (such as {in_levels(look.radius, d)}) alters "
        f"the answer {_short(classes[look.predict])}. That is wrong with probability at most {moment.alpha:g}, at "
        "whichever sample one stops."
    )


def _progress(moment: Moment) -> str:
    drawn = f"{moment.look.samples:,} of at most {moment.n:,} samples, {moment.rate:,.0f} a second"
    if moment.late:
        return f"{drawn}. The time is up; what is shown is valid as it is."
    return f"{drawn}." if moment.done else f"{drawn} ..."


def _short(name: str) -> str:
    return shortened(printable(name), 40)


def _marks(n: int) -> list[tuple[float, str]]:
    powers = [10**i for i in range(2, 8) if 10**i <= n]
    return [(each, f"{each:,}" if each < 10_000 else f"{each // 1000:,}k") for each in powers]
