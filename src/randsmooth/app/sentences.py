"""What a certificate says, in sentences: the answer first."""

from __future__ import annotations

import math

from randsmooth.app.one_image import Explanation, enough_samples
from randsmooth.escape import printable, shortened
from randsmooth.noise import linf_radius, round_down

LEVELS = 255  # steps from black to white in an image file

LIMITS = (
    "It does not say that the answer is right, only that it stays.",
    "It is about L2 changes of the pixels. A shift, a turn or other light is often longer than the radius, and then "
    "nothing is said about it.",
    "It is about the smoothed classifier, the vote over all noise. The network alone may answer otherwise, also to "
    "this very image.",
    "The probability of an error is over the draw of the noise: the image must have been chosen without sight of it.",
)


def called(explained: Explanation, k: int) -> str:
    """The name of class `k`, fit for a sentence."""
    return shortened(printable(explained.name_of(k)), 40)


def down(radius: float) -> str:
    """A radius for a sentence: never more than is certified."""
    return str(round_down(radius, 2 if radius >= 0.1 else 4))


def headline(explained: Explanation) -> str:
    """The answer in a few words."""
    return "No answer is certified" if explained.abstains else f"The answer is {called(explained, explained.predict)}"


def answer(explained: Explanation) -> list[str]:
    """What the certificate says, and of which quality."""
    if explained.abstains:
        return [_abstention(explained), _what_now(explained)]
    said = (
        f"The answer is {called(explained, explained.predict)}. No change of {_pixels(explained)} with L2 norm below "
        f"{down(explained.radius)} can alter it. This statement is wrong with probability at most "
        f"{explained.settings.alpha:g}."
    )
    such = f"Such a change is, for example: {in_levels(explained.radius, explained.image.size)}."
    return [said, such, *_right(explained)]


def _right(explained: Explanation) -> list[str]:
    if explained.label is None:
        return []
    if explained.label == explained.predict:
        return ["The label agrees: the answer is right, and stays so."]
    return [
        f"The label says {called(explained, explained.label)}: the answer is wrong, and stays so. A certificate proves "
        "that nothing changes, not that it is right."
    ]


def _pixels(explained: Explanation) -> str:
    channels, height, width = explained.image.shape
    return f"these {height} × {width} pixels" + ("" if channels == 1 else f" in {channels} colours")


def _abstention(explained: Explanation) -> str:
    share = 100.0 * explained.agreeing / explained.n
    return (
        f"{called(explained, explained.picked)} was picked, and came out in {share:.1f}% of {explained.n:,} noisy "
        f"copies. That does not show, with confidence {1 - explained.settings.alpha:g}, that its probability is above "
        "one half, so the smoothed classifier abstains: it gives no answer, neither a right nor a wrong one."
    )


def _what_now(explained: Explanation) -> str:
    enough = enough_samples(explained.agreeing, explained.n, explained.settings.alpha)
    if enough is not None:
        return (
            f"If the share stays as it is, about {enough:,} samples would certify the class (--n {enough}), with a "
            "small radius."
        )
    most = int(explained.counts.argmax())
    if 2 * int(explained.counts[most]) > explained.n:
        return (
            f"{called(explained, most)} came out in {100.0 * explained.counts[most] / explained.n:.1f}%, but not most "
            "often among the few samples that pick the class. More of these (--n0), or a new seed, may pick it."
        )
    return (
        "More samples would not help: the share is not above one half. A smaller sigma may, or a model that was "
        "trained with this noise."
    )


def in_levels(radius: float, d: int) -> str:
    """Changes of L2 norm below `radius`, in the 255 steps from black to white of `d` values.

    All d values by c have the norm c sqrt(d), one by c the norm c, and k from black to white the norm sqrt(k).

    Example:
        >>> in_levels(0.62, 64)
        'every value by 19.7 of 255 levels, or a single one by 158'
        >>> in_levels(2.5, 3072)
        'every value by 11.5 of 255 levels, or 6 of them from black to white'
    """
    every = math.floor(LEVELS * float(linf_radius(radius, d)) * 10 - 1e-9) / 10
    wholly, single = math.ceil(radius**2) - 1, math.floor(LEVELS * radius - 1e-9)
    if wholly >= d:
        return "every value from black to white"
    if every < 0.1:
        return f"{wholly} values from black to white" if wholly else f"a single value by {single} of {LEVELS} levels"
    some = f"{'one' if wholly == 1 else wholly} of them from black to white" if wholly else f"a single one by {single}"
    return f"every value by {every:.1f} of {LEVELS} levels, or {some}"


def vote(explained: Explanation) -> list[str]:
    """How the copies voted, and what that bounds."""
    s, lower = explained.settings, share_down(1.0 - explained.q)
    name = called(explained, explained.picked)
    said = (
        f"Of {explained.n:,} noisy copies, {explained.agreeing:,} were classified as {name}. So the probability of "
        f"that answer, p_A, is at least {lower}, with confidence {1 - s.alpha:g}."
    )
    if explained.abstains:
        return [said, "A certificate needs that bound to be above one half, the dashed line."]
    return [
        said,
        f"The radius follows from that bound and the noise alone: σ · Φ⁻¹(p_A) = {s.known_sigma:g} · Φ⁻¹({lower}) = "
        f"{down(explained.radius)}. At one half, the dashed line, it would be 0.",
    ]


def share_down(share: float) -> str:
    """A lower bound on a probability, not above it, with as many digits as tell it from 1.

    Example:
        >>> share_down(0.97316), share_down(0.9999309)
        ('0.9731', '0.999930')
    """
    digits = 4 if share <= 0.999 else min(9, 1 - math.floor(math.log10(max(1e-9, 1.0 - share))))
    return str(round_down(share, digits))


def distances(explained: Explanation) -> list[str]:
    """How the radius compares with what lies around the image."""
    around, said = explained.neighbours, []
    if around is not None and around.other is not None and not explained.abstains:
        times = around.other.distance / explained.radius
        said.append(
            f"The nearest image of another class among {_compared(explained)} is {_times(times)} as far away as the "
            "certificate reaches."
        )
    norm = explained.sigma * math.sqrt(explained.image.size)
    return [
        *said,
        f"The noise itself is longer, about {norm:.1f} in L2 norm: it points into random directions, while the "
        "certificate holds for the worst one.",
    ]


def _compared(explained: Explanation) -> str:
    around = explained.neighbours
    assert around is not None
    images = "training images" if around.split == "train" else f"{around.split} images"
    of = f"{around.total:,} {images} of {shortened(printable(around.dataset))}"
    return f"the {of}" if around.compared == around.total else f"{around.compared:,} of the {of}"


def _times(times: float) -> str:
    return f"{times:.1f} times" if times < 100 else f"{times:,.0f} times"


def attack(explained: Explanation) -> list[str]:
    """What the attacks came to."""
    if explained.attempts is None:
        return []
    return [_inside(explained), _outside(explained)]


def _inside(explained: Explanation) -> str:
    tried, answer = explained.attempts, called(explained, explained.predict)
    assert tried is not None
    how = "by the answers alone, without gradients," if tried.gradient_free else "up the gradient"
    if tried.inside.predict == explained.predict:
        found = f"found no other answer: at its worst point the answer is still {answer}."
    elif tried.inside.predict < 0:
        found = f"found a point where {tried.n:,} samples do not show which class it is, but none of another class."
    else:
        found = (
            f"found {called(explained, tried.inside.predict)}: the certificate is wrong, which happens with "
            f"probability at most {explained.settings.alpha:g}, or the program is. Please report it with the command "
            "below."
        )
    return f"A search of the certified ball {how} {found}"


def _outside(explained: Explanation) -> str:
    tried = explained.attempts
    assert tried is not None
    if tried.outside is None:
        return (
            f"Nor did searches of larger balls, up to L2 norm {tried.farthest:.2f}. That proves nothing: a better "
            "attack may succeed."
        )
    return (
        f"Outside, a change of L2 norm {tried.outside.distance:.2f} makes the answer "
        f"{called(explained, tried.outside.predict)}. What lies between {down(explained.radius)} and that is not "
        "known: a better attack may find a nearer change, more samples may certify a larger ball."
    )


def growth(explained: Explanation) -> str:
    """What more samples would change."""
    if explained.agreeing == explained.n:
        return (
            "All samples agreed. While they do, the radius goes on growing with their number, slowly; the first one "
            "that does not ends that."
        )
    if 2 * explained.agreeing <= explained.n:
        return "The share is not above one half, so that no number of samples would certify this class."
    return (
        f"Ever more samples would bring the radius towards σ · Φ⁻¹({explained.agreeing / explained.n:.4g}), the dashed "
        "line, if the share stays as it is. Each mark takes ten times as many as the one before."
    )
