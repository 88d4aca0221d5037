"""Which images a first pass over all left open, and which of these to certify to the end."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from randsmooth import bounds
from randsmooth.certificates import Certificates, rule_of
from randsmooth.errors import BadValue, WrongTable
from randsmooth.metrics.accuracy import labelled
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.intervals import Ints
from randsmooth.rules import OneRadius, Screen


def rule_of_pass(table: Certificates, kind: type[OneRadius]) -> OneRadius:
    """Return the rule of a label-aware table of images with labels.

    Raises:
        Problem: the rule is of another `kind`, or the table is not label-aware.
    """
    rule = rule_of(table.header)
    if type(rule) is not kind or not table.header.label_aware:
        made_by = f"rule {table.header.rule}"
        if table.header.label_aware:
            made_by += ", label-aware"
        raise WrongTable(
            f"{table.name or 'the table'} was made by {made_by}: here {kind.name}=R, "
            "label-aware is needed (see `measure_accuracy`)"
        )
    labelled(table)
    return rule


def left_open(screened: Certificates) -> Ints:
    """Return the images that a label-aware table under the rule `screen=R` left open.

    Returns:
        positions, ascending.

    Raises:
        Problem: another rule, or a table that is not label-aware.

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
        >>> # About as often as the radius needs.
        >>> hard = [27, 54, 81, 108, 136, 163, 190, 217, 244, 272, 299, 326]
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
    rule = rule_of_pass(screened, Screen)
    assert isinstance(rule, Screen) and screened.paths is not None
    is_open = [
        len(path) > 0 and rule.leaves_open(path.tolist()) for path in screened.paths
    ]
    return np.sort(screened.idx[np.array(is_open, np.bool_)])


def to_resolve(screened: Certificates, within: float) -> Ints:
    """Return which of the images left open to certify to the end.

    With these certified, certified accuracy is known to `within`. Their number depends on how many were
    left open and on `within` alone, and they are chosen by a hash of the header's seed
    and their positions, which has nothing to do with the noise: so the interval of
    `measured_accuracy` holds without a correction. (Choosing anew until the result
    pleases, by other seeds or an ever smaller `within`, would break it.) They are the
    first of one order: a smaller `within` adds others.

    Args:
        screened: all images, under the rule `screen=R`, label-aware.
        within: a share of the images, in (0, 1/2): half of the length that the interval
            may have.

    Returns:
        positions, ascending; none where the interval is short enough without them.

    Raises:
        Problem: a table that `left_open` refuses, or `within` out of range.

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
    open_images = left_open(screened).tolist()
    interval_length = 2.0 * within * len(screened)
    number = bounds.enough_drawn(len(open_images), interval_length, 1.0 - LEVEL)
    chosen = chosen_by_chance(open_images, number, screened.header.seed or 0)
    return np.array(chosen, np.int64)


def chosen_by_chance(images: Sequence[int], number: int, seed: int) -> list[int]:
    """Return so many of `images`, ascending.

    They are chosen by a hash of the seed and their positions, whatever their noise.
    """

    def hash_of(image: int) -> bytes:
        return blake2b(f"left open, {seed}, {image}".encode()).digest()

    return sorted(sorted(images, key=hash_of)[:number])


def check_within(within: float) -> None:
    """Raise Problem unless `within` is a share of the images in (0, 1/2)."""
    if not 0.0 < within < 0.5:
        raise BadValue(
            field="within",
            value=within,
            expected="must lie strictly between 0 and 0.5: 0.01 is one point of accuracy",
        )
