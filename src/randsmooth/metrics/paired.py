"""Tables over the same images: images paired, the difference of two and an exact test, the best of several.

And which images a difference comes from: those given up and won, and the parts of an ACR by how easy an image was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import (
    certified,
    certified_shares,
    check_radius,
    labelled,
    largest_possible,
    p_a,
)
from randsmooth.metrics.estimate import (
    LEVEL,
    Estimate,
    Floats,
    Ints,
    mean,
    paired_shares,
    require_images,
    share_interval,
)
from randsmooth.noise import NORMS, OWN_UNITS

SAME = ", so they cannot be compared image by image; certify both with the same --dataset, --split, --take or --skip"
ROUNDED = 1e-5  # of a unit, which is stored with six digits


def require_same_images(a: CertificatesLike, b: CertificatesLike) -> None:
    """Raise InputError unless both tables are about the same images in the same order, with radii in one norm.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_same_images(from_radii([0.5, 0.0]), from_radii([0.0, 0.3]))
        >>> require_same_images(from_radii([0.5, 0.0], name="a"), from_radii([0.3], name="b"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: a (2 images) and b (1 images) are not about the same images, ...
    """
    a, b = as_certificates(a), as_certificates(b)
    require_one_norm([a, b])
    if not (np.array_equal(a.idx, b.idx) and np.array_equal(a.label, b.label)):
        raise InputError(
            f"{_about(a)} and {_about(b)} are not about the same images{SAME}"
        )


def require_one_norm(tables: Sequence[CertificatesLike]) -> None:
    """Raise InputError unless the radii of all tables are in one norm: they are not compared otherwise.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a, b = from_radii([0.5], sigma=0.5, name="a"), from_radii([0.3], sigma=0.25, name="b")
        >>> require_one_norm([a, b])
        >>> require_one_norm([a, b.in_norm("l1")])
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: radii in different norms are never compared: a has L2 radii, b has L1 radii; ...
    """
    given = [as_certificates(table) for table in tables]
    if len({table.norm for table in given}) > 1:
        said = ", ".join(
            f"{table.name or 'a table'} has {NORMS[table.norm].label} radii"
            for table in given
        )
        way = "report one norm at a time, or all in one that is proved of each (--norm, table.in_norm)"
        raise InputError(f"radii in different norms are never compared: {said}; {way}")
    held = {
        table.header.smoothing.held_columns if table.header.names_noise else ()
        for table in given
    }
    if len(held) > 1:
        listed = " and ".join(", ".join(columns) or "none" for columns in sorted(held))
        raise InputError(
            f"the tables hold different columns fixed, {listed}: their radii are about different changes"
        )
    if given and given[0].norm in OWN_UNITS:
        _require_one_unit(given)


def _require_one_unit(tables: Sequence[Certificates]) -> None:
    """Raise InputError unless a change of a coordinate counts alike in the radii of all tables."""
    first, *others = (
        np.asarray(table.header.smoothing.unit, np.float64)  # type: ignore[attr-defined]
        for table in tables
    )
    for table, unit in zip(tables[1:], others, strict=True):
        if unit.shape != first.shape or not np.allclose(
            unit, first, rtol=ROUNDED, atol=0.0
        ):
            said = f"the radii of {tables[0].name or 'a table'} and {table.name or 'another'} are in different units"
            raise InputError(
                f"{said}, as their {NORMS[table.norm].label} differ: compare them in L2 (--norm l2, table.in_norm)"
            )


def _about(table: Certificates) -> str:
    facts = (f"{len(table)} images", table.header.dataset, table.header.split)
    return f"{table.name} ({', '.join(filter(None, facts))})"


def acr_difference(a: CertificatesLike, b: CertificatesLike) -> Estimate:
    """ACR of `a` minus ACR of `b`, with the 95% interval of a mean of paired differences.

    The interval is for this one difference; of several methods, take `compare`.

    Raises:
        InputError: the tables are not about the same images, or hold none.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> round(acr_difference(a, b).value, 6)  # (1.5 - 1.1) / 4
        0.1
    """
    a, b = as_certificates(a), as_certificates(b)
    require_same_images(a, b)
    return mean(*gains(a, b))


def gains(a: Certificates, b: Certificates) -> tuple[Floats, tuple[float, float]]:
    """(N,) what each image adds to ACR of `a` minus ACR of `b`; and the least and the most that one can add."""
    return np.asarray(a.radius * a.correct - b.radius * b.correct), (
        -largest_possible(b),
        largest_possible(a),
    )


def differing_source(a: CertificatesLike, b: CertificatesLike) -> str:
    """Which field shows that the tables are about different images, "dataset" or "split"; "" if neither does.

    Tables whose headers hold the same hash of images and labels are about the same images, whatever their names.

    Example:
        >>> from randsmooth.certificates import from_radii, infer
        >>> paths = ("cifar10-sigma0.5/macer.tsv", "mnist-sigma0.5/macer.tsv")
        >>> cifar10, mnist = (infer(from_radii([0.3]), path) for path in paths)
        >>> differing_source(cifar10, mnist), differing_source(mnist, mnist)
        ('dataset', '')
    """
    a, b = as_certificates(a), as_certificates(b)
    if a.header.data is not None and a.header.data == b.header.data:
        return ""
    differ = [
        f
        for f in ("dataset", "split")
        if len({getattr(table.header, f) for table in (a, b)} - {None}) > 1
    ]
    return next(iter(differ), "")


def pair(a: CertificatesLike, b: CertificatesLike) -> tuple[Certificates, Certificates]:
    """Both tables on the images (by idx) that they share, in the order of `a`.

    The two pass `require_same_images`, so that `acr_difference(*pair(a, b))` compares a log of every image with one of
    every tenth.

    Raises:
        InputError: an index occurs twice in a table, no image is shared, the tables are of two data sets or splits, or
            the labels of a shared image differ.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> every, third = from_radii([0.5, 0.0, 0.2, 0.9]), from_radii([0.1, 0.0, 0.0, 0.7]).rows(np.array([0, 3]))
        >>> first, second = pair(every, third)
        >>> first.idx.tolist(), first.radius.tolist(), second.radius.tolist()
        ([0, 3], [0.5, 0.9], [0.1, 0.7])
    """
    a, b = labelled(a), labelled(b)
    for table in (a, b):
        if len(table) and table.idx.min() < 0:
            raise InputError(
                f"{table.name or 'a table'} does not say which images it is about; compare figures"
            )
        images, times = np.unique(table.idx, return_counts=True)
        if len(table) > len(images):
            i = int(np.argmax(times))
            raise InputError(
                f"image {images[i]} occurs {times[i]} times in {table.name or 'a table'}; keep one row"
            )
    _, in_a, in_b = np.intersect1d(
        a.idx, b.idx, assume_unique=True, return_indices=True
    )
    order = np.argsort(in_a)
    first, second = a.rows(in_a[order]), b.rows(in_b[order])
    if len(first) == 0 or differing_source(a, b):
        raise InputError(f"{_about(a)} and {_about(b)} share no image{SAME}")
    wrong = np.flatnonzero(first.label != second.label)
    if len(wrong):
        labels = f"label {first.label[wrong[0]]} in {a.name} and {second.label[wrong[0]]} in {b.name}"
        same = np.array_equal(np.sort(first.label), np.sort(second.label))
        why = (
            "the same labels, in another order"
            if same
            else "idx renumbered, a damaged file, or another data set"
        )
        differ = f"one of {len(wrong):,} that differ in {len(first):,}"
        raise InputError(f"image {first.idx[wrong[0]]} has {labels}, {differ}: {why}")
    return first, second


def mcnemar(only_a: int, only_b: int) -> float:
    """p-value of the exact two-sided test that a discordant pair is as likely to favour `a` as `b`; 1 without pairs.

    Source: McNemar 1947, in its exact form: only_a ~ Bin(only_a + only_b, 1/2).

    Raises:
        InputError: a count below 0.

    Example:
        >>> mcnemar(0, 6)  # 2 / 2^6
        0.03125
    """
    return (
        bounds.two_sided_p_value(only_a, only_a + only_b) if only_a or only_b else 1.0
    )


def fresh_difference(only_a: int, only_b: int, images: int) -> Estimate:
    """(only_a - only_b) / images with a 95% interval for the difference over fresh images.

    It is that of the mean of N numbers that are 1, -1 or 0 (see `paired_shares`), and it contains 0 exactly where
    `mcnemar` gives 0.05 or more. It allows for another number of discordant pairs in another sample.

    Raises:
        InputError: a count below 0, no image, or more pairs than images.

    Source: see `mean_interval`.

    Example:
        >>> estimate = fresh_difference(only_a=30, only_b=10, images=1000)
        >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3)
        (0.02, 0.007, 0.034)
    """
    require_images(images)
    if min(only_a, only_b) < 0 or only_a + only_b > images:
        raise InputError(
            f"only_a={only_a} and only_b={only_b} must be counts >= 0 of some of the {images} images"
        )
    low, high = paired_shares(only_a, only_b, images)
    return Estimate((only_a - only_b) / images, float(low), float(high), images)


NO_ONE_CLASSIFIER = (
    "this is no one classifier's certified accuracy: at each radius it is that of the table which certifies most "
    "images there, chosen by these very images"
)


@dataclass(frozen=True)
class Envelope:
    """The pointwise maximum of several tables' curves; it belongs to no single classifier (see `NO_ONE_CLASSIFIER`).

    Attributes:
        radii: (M,) those asked for.
        share: (M,) share of images that the best table certifies at each radius.
        low, high: (M,) pointwise 95% interval of the largest of the tables' true shares, corrected for the number of
            tables, since the largest of several estimates is too high on average. It is exact (see `share_interval`),
            also where few images are certified.
        best: (M,) which table has the largest share, the first of equals; -1 where none certifies an image.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> envelope([a, b], [0.25, 0.75]).best.tolist()
        [0, 1]
    """

    radii: Floats
    share: Floats
    low: Floats
    high: Floats
    best: Ints


def envelope(
    tables: Sequence[CertificatesLike], radii: ArrayLike | None = None
) -> Envelope:
    """The best certified accuracy at each radius among tables of the same images, usually at several widths of noise.

    Sun et al. (2025, section 7) propose to report it beside certified accuracy at fixed radii, since a model and its
    sigma may be tuned for one radius.

    Args:
        tables: one or more.
        radii: (M,); by default every certified radius of a right image, from 0.

    Raises:
        InputError: no table, one without images, tables of different images (see `pair`), or radii that are negative or
            not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> best = envelope([a, b], [0.25, 0.75])
        >>> best.share.tolist(), best.best.tolist()
        ([0.75, 0.25], [0, 1])
    """
    given = [as_certificates(table) for table in tables]
    if not given:
        raise InputError("an envelope is of one table or more; got none")
    require_images(len(given[0]))
    for table in given[1:]:
        require_same_images(given[0], table)
    own = np.unique(
        np.concatenate([[0.0], *(table.radius[table.correct] for table in given)])
    )
    x = own if radii is None else np.atleast_1d(np.asarray(radii, np.float64))
    check_radius(*x.tolist())
    shares = np.stack([certified_shares(table, x) for table in given])  # (tables, M)
    images = len(given[0])
    low, high = share_interval(
        np.rint(shares * images), images, level=1.0 - (1.0 - LEVEL) / len(given)
    )
    best = np.where(shares.max(axis=0) > 0.0, shares.argmax(axis=0), -1)
    return Envelope(x, shares.max(axis=0), low.max(axis=0), high.max(axis=0), best)


@dataclass(frozen=True)
class GivenUp:
    """What changed hands at radius `r` between a reference and a method.

    Attributes:
        r: radius, in units of pixels in [0, 1].
        lost: idx of the images that the reference certifies at r and the method does not.
        won: idx of those that the method certifies at r and the reference does not.
        classes: (C,) labels that occur, ascending.
        images: (C,) images of each.
        lost_by_class, won_by_class: (C,) how many of them were lost and won.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> given_up(a, b, 0.6).lost.tolist()
        [1]
    """

    r: float
    lost: Ints
    won: Ints
    classes: Ints
    images: Ints
    lost_by_class: Ints
    won_by_class: Ints

    @property
    def worst_class(self) -> int:
        """The class with the largest share of its images lost, net of those won; the lowest such class."""
        return int(
            self.classes[
                np.argmax((self.lost_by_class - self.won_by_class) / self.images)
            ]
        )


def given_up(
    method: CertificatesLike, reference: CertificatesLike, r: float = 0.0
) -> GivenUp:
    """The images that `method` lost and won at radius `r` against `reference`; at 0, those that it classifies.

    A gain in ACR may hide both, as an average does not show which images have the radius.

    Raises:
        InputError: the tables are not about the same images (see `pair`), hold none, or `r` is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> changed = given_up(a, reference=b, r=0.3)
        >>> changed.won.tolist(), changed.lost.tolist()
        ([0, 2], [])
    """
    method, reference = as_certificates(method), as_certificates(reference)
    require_same_images(method, reference)
    require_images(len(method))
    now, before = certified(method, r), certified(reference, r)
    lost, won = before & ~now, now & ~before
    classes, place, images = np.unique(
        method.label, return_inverse=True, return_counts=True
    )
    by_class = [
        np.bincount(place[changed], minlength=len(classes)) for changed in (lost, won)
    ]
    return GivenUp(r, method.idx[lost], method.idx[won], classes, images, *by_class)


EDGES = (
    0.0,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.99,
    1.0,
)  # finer towards 1, where a radius grows fastest
EASY = 0.5  # above it the reference is right at most noises


@dataclass(frozen=True)
class Waterfall:
    """ACR of `a` and of `b`, split by the p_A that the reference gives to an image's label.

    Bin i holds the images with edges[i] < p_A <= edges[i + 1], the first bin those with p_A = 0 too.

    Attributes:
        edges: (M + 1,) from 0 to 1.
        images: (M,) how many images fall in each bin.
        a, b: (M,) sum of radius * correct over the bin's images, divided by the number of *all* images. They sum to
            the ACR of each table; b is 0 where a table was split alone.
        easy_difference: the part of the difference from images with p_A above EASY, easy for the reference already.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> parts = waterfall(a, b)
        >>> parts.images.tolist(), parts.difference.round(3).tolist()
        ([1, 0, 0, 1, 0, 1, 0, 1], [0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.0, 0.05])
    """

    edges: Floats
    images: Ints
    a: Floats
    b: Floats
    easy_difference: float

    @property
    def difference(self) -> Floats:
        """(M,) part of `a` minus part of `b`; they sum to the difference of the ACRs."""
        return np.asarray(self.a - self.b)

    @property
    def easy_share(self) -> float:
        """Share of the difference that comes from images with p_A above EASY; NaN where there is no difference.

        Above 1 where the other images pull the other way, below 0 where the easy ones do.
        """
        total = float(self.difference.sum())
        return self.easy_difference / total if total else float("nan")


def waterfall(
    a: CertificatesLike,
    b: CertificatesLike | None = None,
    reference: CertificatesLike | None = None,
) -> Waterfall:
    """Where the difference in ACR between `a` and `b` comes from, or without `b` the ACR of `a`.

    The reference is `b` if none is given, and without either `a` itself.

    The bins, EDGES, are of the reference's p_A on an image's own label (see `p_a`). A log determines it for right
    images only, from 1/2 upward: the others fall in the first bin, which ends there.

    Raises:
        InputError: the tables are not about the same images (see `pair`), hold none, or p_A of the reference is
            unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> round(waterfall(a, b).easy_share, 3)
        1.0
        >>> float(waterfall(a).a.sum().round(3))  # the ACR
        0.575
    """
    own = as_certificates(a)
    other = replace(own, radius=np.zeros(len(own))) if b is None else as_certificates(b)
    judge = as_certificates(
        reference if reference is not None else a if b is None else b
    )
    require_same_images(own, other)
    require_same_images(own, judge)
    values = np.nan_to_num(
        p_a(judge).values, nan=0.0
    )  # unknown means below 1/2: the first bin
    parts = [table.radius * table.correct / len(table) for table in (own, other)]
    place, bins = (
        np.maximum(np.searchsorted(EDGES, values, side="left") - 1, 0),
        len(EDGES) - 1,
    )
    in_a, in_b = (np.bincount(place, part, bins).astype(np.float64) for part in parts)
    above = float((parts[0] - parts[1])[values > EASY].sum())
    return Waterfall(
        np.array(EDGES), np.bincount(place, minlength=bins), in_a, in_b, above
    )
