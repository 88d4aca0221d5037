"""Certified accuracy at one radius of all images, only some of which were certified to the
end.
"""

import math
from dataclasses import dataclass

import numpy as np

from randsmooth import bounds
from randsmooth.certificates import Certificates, Header, evidence_difference
from randsmooth.errors import NotComparable
from randsmooth.metrics.accuracy import certified
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.estimate import require_images
from randsmooth.metrics.screening import chosen_by_chance, left_open, rule_of_pass
from randsmooth.notes import counted
from randsmooth.rules import OneRadius, Screen

# What rounding may add to a thousandth of a share, which is printed: such an end is not
# moved outward.
ROUNDING = 1e-9

# The facts of a header in which the two passes of one question differ.
FACTS_OF_A_PASS = ("rule", "guarantee", "notes", "selection", "data")

# What a header says of the images that it is about, which are others in the second
# pass.
OWN_IMAGES = "own images"


@dataclass(frozen=True)
class MeasuredAccuracy:
    """Certified accuracy at one radius of N images.

    Attributes:
        radius: r, in units of pixels in [0, 1].
        value: estimated share of the images that the rule `radius=r` certifies with the
            right class.
        low, high: the ends of an interval for that share, which holds with probability
            `level`.
        assured: the share of the images that are classified rightly and robust within
            `radius`, at least, with probability `level`. It allows for false
            certificates.
        level: the probability of the interval; 0.95 unless another was asked for.
        images: the number N of images.
        left_open: the number of images that the first pass left open: all, where there
            was no first pass.
        resolved: the number of these that were chosen by chance and certified to the
            end.
        samples: the number of samples of both passes.
        inputs: the word for several of the N: "images", or "rows" of features.

    Example:
        >>> measured = MeasuredAccuracy(
        ...     0.5, 0.41, 0.401, 0.419, 0.4, 0.95, 10_000, 800, 62, 1_500_000
        ... )
        >>> print(measured)
        certified accuracy at r = 0.5 of 10,000 images: 0.410 (0.401 to 0.419)
    """

    radius: float
    value: float
    low: float
    high: float
    assured: float
    level: float
    images: int
    left_open: int
    resolved: int
    samples: int
    inputs: str = "images"

    def __str__(self) -> str:
        # Both ends are rounded outward.
        low = math.floor(1e3 * self.low + ROUNDING) / 1e3
        high = math.ceil(1e3 * self.high - ROUNDING) / 1e3
        number = counted(self.images, self.inputs.removesuffix("s"))
        return (
            f"certified accuracy at r = {self.radius:g} of {number}: "
            f"{self.value:.3f} ({low:.3f} to {high:.3f})"
        )


def measured_accuracy(
    screened: Certificates,
    resolved: Certificates | None = None,
    *,
    level: float = LEVEL,
) -> MeasuredAccuracy:
    """Return certified accuracy at R of all images, from two passes.

    The first is over all images and the second over some of those left open. What is
    measured is the share of the images that the rule `radius=R`, with the same n0, n,
    alpha and seed, certifies with the right class: the figure that its table of all
    images would show. The noise of each image is fixed by its pixels and the seed, so
    that this share is a fixed number, and only the choice of the images of the second
    pass is left to chance. C images were certified in the first pass; of the U left
    open, B would be by the second, of which `bounds.finite_share_interval` tells from
    the chosen ones. The share is (C + B) / N.

    That every certificate may be false is allowed for in `assured`: of N certificates
    at alpha, of whatever different images, at most w are false with probability at
    least 1 - (1 - level) / 2 (see `bounds.assured_accuracy`), and w / N is subtracted
    from the lower end, which fails with probability at most (1 - level) / 2.

    Args:
        screened: all images under the rule `screen=R`, label-aware.
        resolved: images of `to_resolve` under `radius=R`, otherwise certified likewise;
            None where there are none.
        level: probability with which the interval is to hold.

    Raises:
        Problem: other rules; tables of different classifiers, settings or noise; or
            images in the second that the first did not leave open, or that were not
            chosen by `to_resolve`.

    Example:
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(
        ...     sigma=0.5,
        ...     n0=0,
        ...     n=100_000,
        ...     alpha=0.001,
        ...     rule="screen=0.5",
        ...     label_aware=True,
        ... )
        >>> easy = [32, 64, 96]
        >>> hard = [27, 54, 81, 108, 136, 163, 190, 217, 244, 272, 299, 326]
        >>> table = from_evidence(
        ...     header,
        ...     idx=np.arange(2),
        ...     label=np.zeros(2, np.int64),
        ...     counts0=np.array([[1, 0], [1, 0]]),
        ...     counts=np.array([[96, 0], [326, 58]]),
        ...     seconds=np.zeros(2),
        ...     paths=[np.array(easy), np.array(hard)],
        ... )
        >>> # One is certified, and one was left open and not resolved.
        >>> print(measured_accuracy(table))
        certified accuracy at r = 0.5 of 2 images: 0.750 (0.500 to 1.000)
    """
    rule = rule_of_pass(screened, Screen)
    require_images(len(screened))
    drawn = 0
    drawn_certified = 0
    samples = int(screened.samples.sum())
    if resolved is not None:
        _check_second_pass_goes_on(screened, resolved)
        drawn = len(resolved)
        drawn_certified = int(certified(resolved, rule.radius).sum())
        samples += int(resolved.samples.sum())
    return _measured(
        rule,
        images=len(screened),
        surely_certified=int(certified(screened, rule.radius).sum()),
        left_open=len(left_open(screened)),
        drawn=drawn,
        drawn_certified=drawn_certified,
        samples=samples,
        level=level,
    )


def sampled_accuracy(sample: Certificates, images: int) -> MeasuredAccuracy:
    """Return certified accuracy at R of `images` images, from those chosen by chance.

    It is as if all had been left open. That takes fewer samples than two passes where
    the answer may be coarse, so that few images suffice.

    Args:
        sample: images under the rule `radius=R`, label-aware, chosen by
            `chosen_by_chance`.
        images: the number of images in all.

    Raises:
        Problem: another rule, or more images in the table than there are.

    Example:
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(
        ...     sigma=0.5,
        ...     n0=0,
        ...     n=100_000,
        ...     alpha=0.001,
        ...     rule="radius=0.5",
        ...     label_aware=True,
        ... )
        >>> table = from_evidence(
        ...     header,
        ...     idx=np.arange(50),
        ...     label=np.zeros(50, np.int64),
        ...     counts0=np.tile([1, 0], (50, 1)),
        ...     counts=np.tile([96, 0], (50, 1)),
        ...     seconds=np.zeros(50),
        ...     paths=[np.array([32, 64, 96])] * 50,
        ... )
        >>> print(sampled_accuracy(table, images=1000))
        certified accuracy at r = 0.5 of 1,000 images: 1.000 (0.931 to 1.000)
    """
    rule = rule_of_pass(sample, OneRadius)
    return _measured(
        rule,
        images=images,
        surely_certified=0,
        left_open=images,
        drawn=len(sample),
        drawn_certified=int(certified(sample, rule.radius).sum()),
        samples=int(sample.samples.sum()),
        level=LEVEL,
    )


def _measured(
    rule: OneRadius,
    *,
    images: int,
    surely_certified: int,
    left_open: int,
    drawn: int,
    drawn_certified: int,
    samples: int,
    level: float,
) -> MeasuredAccuracy:
    """Infer how many of all images the rule certifies, with the letters N, C, U and B.

    Args:
        rule: the rule of the radius.
        images: the number N of images.
        surely_certified: the number C of images that the first pass certified.
        left_open: the number U of images that the first pass left open.
        drawn: the number of these that chance chose for the second pass.
        drawn_certified: the number of the drawn images that the second pass certified.
        samples: the number of samples of both passes.
        level: the probability with which the interval is to hold.
    """
    b_low, b_high = bounds.finite_share_interval(
        drawn_certified, drawn, left_open, 1.0 - level
    )
    middle = (b_low + b_high) / 2.0
    b = left_open * drawn_certified / drawn if drawn else middle
    most_false = bounds.most_failures(images, rule.alpha, (1.0 - level) / 2.0)
    surely_robust = max(0, surely_certified + b_low - most_false)
    return MeasuredAccuracy(
        radius=rule.radius,
        value=(surely_certified + b) / images,
        low=(surely_certified + b_low) / images,
        high=(surely_certified + b_high) / images,
        assured=surely_robust / images,
        level=level,
        images=images,
        left_open=left_open,
        resolved=drawn,
        samples=samples,
    )


def _check_second_pass_goes_on(screened: Certificates, resolved: Certificates) -> None:
    """Raise Problem unless the second pass goes on where the first left off.

    Its images must be those that `to_resolve` chooses of the ones left open.
    """
    radius_of_first = rule_of_pass(screened, Screen).radius
    if rule_of_pass(resolved, OneRadius).radius != radius_of_first:
        raise NotComparable(
            f"{resolved.name} was made by rule {resolved.header.rule}, {screened.name} by "
            f"{screened.header.rule}: of another radius"
        )
    _require_same_settings(screened, resolved)

    open_images = left_open(screened).tolist()
    seed = screened.header.seed or 0
    chosen = chosen_by_chance(open_images, len(resolved), seed)
    if sorted(resolved.idx.tolist()) != chosen:
        raise NotComparable(
            f"{resolved.name} holds other images than those that chance chose among those "
            "left open"
        )
    _require_same_samples(screened, resolved)


def _require_same_settings(screened: Certificates, resolved: Certificates) -> None:
    """Raise Problem unless both passes differ in the FACTS_OF_A_PASS and images alone."""
    first = screened.header
    difference = evidence_difference(
        first,
        _as_of_first_pass(resolved.header, first),
        (f"of {screened.name}", f"of {resolved.name}"),
    )
    if difference:
        raise NotComparable(
            f"{resolved.name} does not go on with {screened.name}: {difference}"
        )


def _as_of_first_pass(second: Header, first: Header) -> Header:
    """Return the header of the second pass with what is the first one's own."""
    facts = {fact: getattr(first, fact) for fact in FACTS_OF_A_PASS}
    facts["behaviour"] = second.behaviour
    if (
        second.behaviour is not None
        and first.behaviour
        and OWN_IMAGES in first.behaviour
    ):
        own_images = {OWN_IMAGES: first.behaviour[OWN_IMAGES]}
        facts["behaviour"] = second.behaviour | own_images
    return second.replace(**facts)


def _require_same_samples(screened: Certificates, resolved: Certificates) -> None:
    """Raise Problem unless the samples of each image begin with those of the first pass."""
    path_of_first = dict(zip(screened.idx.tolist(), screened.paths or (), strict=True))
    for image, path in zip(resolved.idx.tolist(), resolved.paths or (), strict=True):
        beginning = path_of_first[image]
        if not np.array_equal(path[: len(beginning)], beginning):
            raise NotComparable(
                f"image {image} has other samples in {resolved.name} than in "
                f"{screened.name}: on another processor?"
            )
