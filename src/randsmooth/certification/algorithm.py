"""CERTIFY for one image, as steps that ask for counts of noisy copies.

A step yields ranges of samples, is sent their counts, and decides by these what to ask
for next; `scheduler` draws and counts. There is a function for each way to pick the
class. `plain.certify_one` is the first of them as it was published.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth.certification.batches import EVERY, SampleRange
from randsmooth.certification.scheduler import Ints, Steps
from randsmooth.noise import Stream
from randsmooth.rules import Claim, Rule

# Names of the streams of noise: what the samples of each are for.
SELECT = "certify/select"
ESTIMATE = "certify/estimate"
PREDICT = "predict"
UNIFORM = "certify/uniform"

# A function of the claim so far and of how many samples it took; it returns whether
# that is enough.
Until = Callable[[Claim, int], bool]


class ImageEvidence(NamedTuple):
    """The evidence of one image.

    Attributes:
        counts0: (K,) class counts of the samples that picked the class; a 1 for the
            class where there were none.
        counts: (K,) class counts of the samples that bound its probability.
        path: how often the picked class had come out at each look.
    """

    counts0: Ints
    counts: Ints
    path: Ints


def certify_steps(
    rule: Rule, n0: int, label: int | None = None, until: Until | None = None
) -> Steps[ImageEvidence]:
    """Return the steps that certify one image, by what picks the class.

    Args:
        rule: how many samples are drawn, and what they prove.
        n0: samples that pick the class; 0: none do.
        label: in a label-aware run, the only class that is to be certified; None: any
            class is.
        until: stops a sequential rule at any of its looks; not for a label-aware run.
    """
    if label is None:
        if n0 > 0:
            return pick_and_bound(rule, n0, until)
        return bound_most_frequent(rule, until)
    if n0 > 0:
        return pick_and_bound_if_right(rule, n0, label)
    return bound_label(rule, label)


def pick_and_bound(
    rule: Rule, n0: int, until: Until | None = None
) -> Steps[ImageEvidence]:
    """Pick a class by n0 samples, and bound its probability by others.

    That is CERTIFY of Cohen et al. (2019). The first samples of both kinds are asked
    for at once, since the second do not depend on the first.
    """
    counts0, first_counts = yield [selecting(rule, n0), first_samples_of(rule)]
    picked = int(counts0.argmax())
    counts, path = yield from look_until_enough(
        rule, first_counts, times_of(picked), until
    )
    return ImageEvidence(counts0, counts, path)


def pick_and_bound_if_right(rule: Rule, n0: int, label: int) -> Steps[ImageEvidence]:
    """Pick a class by n0 samples, and take no others where it is not the label.

    Such an image can no longer be both certified and correct.
    """
    (counts0,) = yield [selecting(rule, n0)]
    if int(counts0.argmax()) != label:
        no_path = np.zeros(0, np.int64)
        return ImageEvidence(counts0, np.zeros_like(counts0), no_path)

    (first_counts,) = yield [first_samples_of(rule)]
    counts, path = yield from look_until_enough(rule, first_counts, times_of(label))
    return ImageEvidence(counts0, counts, path)


def bound_label(rule: Rule, label: int) -> Steps[ImageEvidence]:
    """Bound the probability of the label.

    It was fixed beforehand, so that no samples pick it.
    """
    (first_counts,) = yield [first_samples_of(rule)]
    counts, path = yield from look_until_enough(rule, first_counts, times_of(label))
    return ImageEvidence(one_for(label, counts), counts, path)


def bound_most_frequent(rule: Rule, until: Until | None = None) -> Steps[ImageEvidence]:
    """Bound the probability of whichever class is the most frequent at each look.

    The rule is one that holds for any class.
    """
    (first_counts,) = yield [first_samples_of(rule)]
    counts, path = yield from look_until_enough(rule, first_counts, times_of_any, until)
    return ImageEvidence(one_for(int(counts.argmax()), counts), counts, path)


def look_until_enough(
    rule: Rule,
    counts: Ints,
    came_out: Callable[[Ints], int],
    until: Until | None = None,
) -> Steps[tuple[Ints, Ints]]:
    """Draw samples from look to look until `rule`, or `until`, has seen enough.

    A rule of one look has seen enough at once.

    Args:
        rule: the rule that says at how many samples the next look is.
        counts: (K,) class counts at the first look.
        came_out: returns how often the class in question is among the counts (K,) of a
            look.
        until: is asked before each further look whether the samples are enough.

    Returns:
        (K,) the counts at the last look, and the path: how often the class had come out
        at each look.
    """
    path = [came_out(counts)]
    while (look := rule.next_look(path)) is not None:
        drawn = int(counts.sum())
        if until is not None and until(rule.claim(path), drawn):
            break
        (more,) = yield [estimating(rule, drawn, look)]
        counts = counts + more
        path.append(came_out(counts))
    return counts, np.array(path, np.int64)


def selecting(rule: Rule, n0: int) -> SampleRange:
    """Return the samples that pick a class."""
    return SampleRange(SELECT, 0, n0, rule.block)


def first_samples_of(rule: Rule) -> SampleRange:
    """Return the samples up to the first look of a rule."""
    first = rule.next_look([])
    assert first is not None, f"rule {rule.name} never looks"
    return estimating(rule, 0, first)


def estimating(rule: Rule, start: int, stop: int) -> SampleRange:
    """Return the samples `start` to `stop` that bound the probability of a class.

    Where all copies of an image are counted, they are the copies of these numbers.
    """
    name = EVERY if rule.certain else ESTIMATE
    return SampleRange(name, start, stop, rule.block)


def times_of(picked: int) -> Callable[[Ints], int]:
    """Return a function that says how often the class `picked` is among counts (K,)."""

    def came_out(counts: Ints) -> int:
        return int(counts[picked])

    return came_out


def times_of_any(counts: Ints) -> int:
    """Return how often the most frequent class is among counts (K,)."""
    return int(counts.max())


def one_for(picked: int, counts: Ints) -> Ints:
    """Return counts like `counts` (K,) with a 1 for a class that no samples picked."""
    counts0 = np.zeros_like(counts)
    counts0[picked] = 1
    return counts0


def uniforms(
    bound: str, seed: int, addresses: Sequence[int]
) -> NDArray[np.float64] | None:
    """Return (N,) the `uniform_number` of each image, where the `bound` takes them."""
    if bound != "randomised":
        return None
    return np.array([uniform_number(seed, address) for address in addresses])


def uniform_number(seed: int, address: int) -> float:
    """Return a number in (0, 1) for the randomised bound.

    It is independent of the noise and, like it, depends on seed and pixels alone.
    `address` is the hash of the pixels.

    Example:
        >>> uniform_number(0, 7) == uniform_number(0, 7)
        True
        >>> uniform_number(0, 7) == uniform_number(1, 7)
        False
    """
    return Stream(seed, UNIFORM).at(address).uniform()
