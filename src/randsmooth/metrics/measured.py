"""Certified accuracy at one radius of all images, of which only some were certified to the end."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from randsmooth import bounds
from randsmooth.certificates import Certificates, evidence_difference, rule_of
from randsmooth.errors import BadValue, NotComparable, WrongTable
from randsmooth.metrics.accuracy import certified, labelled
from randsmooth.metrics.estimate import require_images
from randsmooth.metrics.intervals import LEVEL, Ints
from randsmooth.rules import OneRadius, Screen

TINY = 1e-9  # below which a printed end is not moved outward
OF_THE_PASSES = (
    "rule",
    "guarantee",
    "notes",
    "selection",
    "data",
)  # what the two passes of one question differ in


@dataclass(frozen=True)
class MeasuredAccuracy:
    """Certified accuracy at one radius of N images.

    Attributes:
        radius: r, in units of pixels in [0, 1].
        value: estimated share of the images that the rule `radius=r` certifies with the right class.
        low, high: the ends of an interval for that share, which holds with probability `level`.
        assured: with probability `level`, at least this share of the images is classified rightly and robust within
            `radius`, false certificates allowed for.
        level: 0.95 unless another was asked for.
        images: N.
        left_open: how many the first pass left open: all, where there was none.
        resolved: how many of these were chosen by chance and certified to the end.
        samples: of both passes.

    Example:
        >>> measured = MeasuredAccuracy(0.5, 0.41, 0.401, 0.419, 0.4, 0.95, 10_000, 800, 62, 1_500_000)
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

    def __str__(self) -> str:
        ends = f"{math.floor(1e3 * self.low + TINY) / 1e3:.3f} to {math.ceil(1e3 * self.high - TINY) / 1e3:.3f}"
        images = f"{self.images:,} image{'' if self.images == 1 else 's'}"
        return f"certified accuracy at r = {self.radius:g} of {images}: {self.value:.3f} ({ends})"


def left_open(screened: Certificates) -> Ints:
    """Positions of the images that a label-aware table under the rule `screen=R` left open, ascending.

    Raises:
        Problem: another rule, or a table that is not label-aware.

    Example:
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=0, n=100_000, alpha=0.001, rule="screen=0.5", label_aware=True)
        >>> hard = [27, 54, 81, 108, 136, 163, 190, 217, 244, 272, 299, 326]  # about as often as the radius needs
        >>> table = from_evidence(
        ...     header,
        ...     idx=np.arange(2),
        ...     label=np.zeros(2, np.int64),
        ...     counts0=np.array([[1, 0], [1, 0]]),
        ...     counts=np.array([[96, 0], [326, 58]]),
        ...     seconds=np.zeros(2),
        ...     paths=[np.array([32, 64, 96]), np.array(hard)],
        ... )
        >>> left_open(table).tolist()
        [1]
    """
    rule = _rule_of(screened, Screen)
    assert isinstance(rule, Screen) and screened.paths is not None
    open_ = [
        len(path) > 0 and rule.leaves_open(path.tolist()) for path in screened.paths
    ]
    return np.sort(screened.idx[np.array(open_, np.bool_)])


def to_resolve(screened: Certificates, within: float) -> Ints:
    """Which of the images left open to certify to the end, so that certified accuracy is known to `within`.

    Their number depends on how many were left open and on `within` alone, and they are chosen by a hash of the
    header's seed and their positions, which has nothing to do with the noise: so the interval of `measured_accuracy`
    holds without a correction. (Choosing anew until the result pleases, by other seeds or an ever smaller `within`,
    would break it.) They are the first of one order: a smaller `within` adds others.

    Args:
        screened: all images, under the rule `screen=R`, label-aware.
        within: a share of the images, in (0, 1/2): half of the length that the interval may have.

    Returns:
        positions, ascending; none where the interval is short enough without them.

    Raises:
        Problem: as `left_open`; `within` out of range.

    Example:
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=0, n=100_000, alpha=0.001, rule="screen=0.5", label_aware=True)
        >>> hard = [27, 54, 81, 108, 136, 163, 190, 217, 244, 272, 299, 326]
        >>> table = from_evidence(
        ...     header,
        ...     idx=np.arange(90),
        ...     label=np.zeros(90, np.int64),
        ...     counts0=np.tile([1, 0], (90, 1)),
        ...     counts=np.tile([326, 58], (90, 1)),
        ...     seconds=np.zeros(90),
        ...     paths=[np.array(hard)] * 90,
        ... )
        >>> len(to_resolve(table, within=0.1)), len(to_resolve(table, within=0.05))
        (47, 73)
    """
    check_within(within)
    open_ = left_open(screened).tolist()
    number = bounds.enough_drawn(len(open_), 2.0 * within * len(screened), 1.0 - LEVEL)
    return np.array(
        chosen_by_chance(open_, number, screened.header.seed or 0), np.int64
    )


def measured_accuracy(
    screened: Certificates,
    resolved: Certificates | None = None,
    *,
    level: float = LEVEL,
) -> MeasuredAccuracy:
    """Certified accuracy at R of all images, from a first pass over all and a second over some of those left open.

    What is measured is the share of the images that the rule `radius=R`, with the same n0, n, alpha and seed, certifies
    with the right class: the figure that its table of all images would show. The noise of each image is fixed by its
    pixels and the seed, so that this share is a fixed number, and only the choice of the images of the second pass is
    left to chance. C images were certified in the first pass; of the U left open, B would be by the second, of which
    `bounds.finite_share_interval` tells from the chosen ones. With (C + B) / N lies the share.

    That every certificate may be false is allowed for in `assured`: of N certificates at alpha, of whatever different
    images, at most w are false with probability at least 1 - (1 - level) / 2 (see `bounds.assured_accuracy`), and w / N
    is subtracted from the lower end, which fails with probability at most (1 - level) / 2.

    Args:
        screened: all images under the rule `screen=R`, label-aware.
        resolved: images of `to_resolve` under `radius=R`, otherwise certified likewise; None where there are none.
        level: probability with which the interval is to hold.

    Raises:
        Problem: other rules; tables of different classifiers, settings or noise; or images in the second that the
            first did not leave open, or that were not chosen by `to_resolve`.

    Example:
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=0, n=100_000, alpha=0.001, rule="screen=0.5", label_aware=True)
        >>> easy, hard = [32, 64, 96], [27, 54, 81, 108, 136, 163, 190, 217, 244, 272, 299, 326]
        >>> table = from_evidence(
        ...     header,
        ...     idx=np.arange(2),
        ...     label=np.zeros(2, np.int64),
        ...     counts0=np.array([[1, 0], [1, 0]]),
        ...     counts=np.array([[96, 0], [326, 58]]),
        ...     seconds=np.zeros(2),
        ...     paths=[np.array(easy), np.array(hard)],
        ... )
        >>> print(measured_accuracy(table))  # one certified, one left open and not resolved
        certified accuracy at r = 0.5 of 2 images: 0.750 (0.500 to 1.000)
    """
    rule = _rule_of(screened, Screen)
    require_images(len(screened))
    if resolved is not None:
        _check_passes(screened, resolved)
    second = [] if resolved is None else [resolved]
    sure, hits = (
        sum(int(certified(t, rule.radius).sum()) for t in tables)
        for tables in ([screened], second)
    )
    samples = sum(int(t.samples.sum()) for t in (screened, *second))
    open_, drawn = len(left_open(screened)), sum(map(len, second))
    return _measured(rule, len(screened), sure, open_, drawn, hits, samples, level)


def sampled_accuracy(sample: Certificates, images: int) -> MeasuredAccuracy:
    """Certified accuracy at R of `images` images, from those that chance chose of them: as if all were left open.

    That takes fewer samples than two passes where the answer may be coarse, so that few images suffice.

    Args:
        sample: images under the rule `radius=R`, label-aware, chosen by `chosen_by_chance`.
        images: how many there are in all.

    Raises:
        Problem: another rule, or more images in the table than there are.

    Example:
        >>> from randsmooth.certificates import Header, from_evidence
        >>> header = Header(sigma=0.5, n0=0, n=100_000, alpha=0.001, rule="radius=0.5", label_aware=True)
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
    rule = _rule_of(sample, OneRadius)
    hits, samples = int(certified(sample, rule.radius).sum()), int(sample.samples.sum())
    return _measured(rule, images, 0, images, len(sample), hits, samples)


def chosen_by_chance(images: Sequence[int], number: int, seed: int) -> list[int]:
    """So many of `images`, ascending, chosen by a hash of the seed and their positions, whatever their noise."""
    in_order = sorted(
        images, key=lambda i: blake2b(f"left open, {seed}, {i}".encode()).digest()
    )
    return sorted(in_order[:number])


def check_within(within: float) -> None:
    """Raise Problem unless `within` is a share of the images in (0, 1/2)."""
    if not 0.0 < within < 0.5:
        raise BadValue(
            f"within={within!r} must lie strictly between 0 and 0.5: 0.01 is one point of accuracy"
        )


def _rule_of(table: Certificates, kind: type[OneRadius]) -> OneRadius:
    """The rule of a label-aware table of images with labels; Problem for one that is of another `kind`."""
    rule, header = rule_of(table.header), table.header
    if type(rule) is not kind or not header.label_aware:
        raise WrongTable(
            f"{table.name or 'the table'} was made by rule {header.rule}{', label-aware' * header.label_aware}: here "
            f"{kind.name}=R, label-aware is needed (see `measure_accuracy`)"
        )
    labelled(table)
    return rule


def _measured(
    rule: OneRadius,
    images: int,
    sure: int,
    left_open: int,
    drawn: int,
    hits: int,
    samples: int,
    level: float = LEVEL,
) -> MeasuredAccuracy:
    """From how many images there are, are certified for sure, are left open, were drawn of these, and certified."""
    low, high = bounds.finite_share_interval(hits, drawn, left_open, 1.0 - level)
    guess = left_open * hits / drawn if drawn else (low + high) / 2.0
    false = bounds.most_failures(images, rule.alpha, (1.0 - level) / 2.0)
    value, least, most = ((sure + some) / images for some in (guess, low, high))
    assured = max(0, sure + low - false) / images
    return MeasuredAccuracy(
        rule.radius,
        value,
        least,
        most,
        assured,
        level,
        images,
        left_open,
        drawn,
        samples,
    )


def _check_passes(screened: Certificates, resolved: Certificates) -> None:
    """Raise Problem unless `resolved` goes on with images that `screened` left open, chosen by `to_resolve`."""
    first, second, names = (
        screened.header,
        resolved.header,
        (screened.name, resolved.name),
    )
    if _rule_of(resolved, OneRadius).radius != _rule_of(screened, Screen).radius:
        raise NotComparable(
            f"{names[1]} was made by rule {second.rule}, {names[0]} by {first.rule}: of another radius"
        )
    facts = {name: getattr(first, name) for name in OF_THE_PASSES}
    own = {
        key: value
        for key, value in (first.behaviour or {}).items()
        if key == "own images"
    }  # others in the second
    facts["behaviour"] = None if second.behaviour is None else second.behaviour | own
    if differ := evidence_difference(
        first, second.replace(**facts), (f"of {names[0]}", f"of {names[1]}")
    ):
        raise NotComparable(f"{names[1]} does not go on with {names[0]}: {differ}")
    chosen = chosen_by_chance(
        left_open(screened).tolist(), len(resolved), first.seed or 0
    )
    if sorted(resolved.idx.tolist()) != chosen:
        raise NotComparable(
            f"{names[1]} holds other images than those that chance chose among those left open"
        )
    begun = dict(zip(screened.idx.tolist(), screened.paths or (), strict=True))
    for index, path in zip(resolved.idx.tolist(), resolved.paths or (), strict=True):
        if not np.array_equal(path[: len(begun[index])], begun[index]):
            raise NotComparable(
                f"image {index} has other samples in {names[1]} than in {names[0]}: on another processor?"
            )
