"""Tables over the same images: what may be paired, the difference of two, exact tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.documents import shown
from randsmooth.errors import BadValue, NotComparable, WrongTable
from randsmooth.metrics.accuracy import labelled
from randsmooth.metrics.estimate import Estimate, mean, require_images
from randsmooth.metrics.intervals import Floats, Ints, paired_shares
from randsmooth.metrics.radii import largest_possible
from randsmooth.noise import NORMS

# What follows where two tables are about different images.
CERTIFY_THE_SAME_IMAGES = (
    "so they cannot be compared image by image; certify both with the same dataset, "
    "split, take or skip"
)

# The relative error of a unit, which is stored with six digits.
UNIT_ERROR = 1e-5


def require_same_images(a: CertificatesLike, b: CertificatesLike) -> None:
    """Raise Problem unless both tables are about the same images in the same order.

    Their radii must be in one norm, too.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_same_images(from_radii([0.5, 0.0]), from_radii([0.0, 0.3]))
        >>> require_same_images(from_radii([0.5, 0.0], name="a"), from_radii([0.3], name="b"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.NotComparable: a (2 images) and b (1 images) are not about the same images, ...
    """
    a = as_certificates(a)
    b = as_certificates(b)
    require_one_norm([a, b])
    if not (np.array_equal(a.idx, b.idx) and np.array_equal(a.label, b.label)):
        raise NotComparable(
            f"{_described(a)} and {_described(b)} are not about the same images, "
            f"{CERTIFY_THE_SAME_IMAGES}"
        )


def _described(table: Certificates) -> str:
    """Return the table's name, with the number and the data set of its images."""
    facts = (f"{len(table)} images", table.header.dataset, table.header.split)
    return f"{table.name} ({', '.join(filter(None, facts))})"


def require_one_norm(tables: Sequence[CertificatesLike]) -> None:
    """Raise Problem unless the radii of all tables are in one norm.

    They are not compared otherwise.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a, b = from_radii([0.5], sigma=0.5, name="a"), from_radii([0.3], sigma=0.25, name="b")
        >>> require_one_norm([a, b])
        >>> require_one_norm([a, b.in_norm("l1")])
        Traceback (most recent call last):
            ...
        randsmooth.errors.NotComparable: radii in different norms are never compared: a has L2 radii, b has L1 ...
    """
    given = [as_certificates(table) for table in tables]
    if not given:
        return
    if len({table.norm for table in given}) > 1:
        norms = ", ".join(
            f"{table.name or 'a table'} has {NORMS[table.norm].label} radii"
            for table in given
        )
        raise NotComparable(
            f"radii in different norms are never compared: {norms}; report one norm at a "
            "time, or all in one that is proved of each (norm, table.in_norm)"
        )
    _require_one_set_of_held_columns(given)
    if NORMS[given[0].norm].own_units:
        _require_one_unit(given)


def _require_one_set_of_held_columns(tables: Sequence[Certificates]) -> None:
    """Raise Problem unless all tables hold the same columns of their rows fixed."""
    first, *others = tables
    for table in others:
        if _held(table) != _held(first):
            raise NotComparable(
                f"{first.name or 'a table'} holds {_listed(_held(first))} fixed, and "
                f"{table.name or 'another'} {_listed(_held(table))}: their radii are "
                "about different changes; certify both with noise on the same columns"
            )


def _held(table: Certificates) -> tuple[str, ...]:
    """Return the columns of the rows that no noise was added to."""
    noise = table.header.noise
    return () if noise is None else noise.held_columns


def _listed(columns: Sequence[str]) -> str:
    """Return how many columns there are and what they are called."""
    if not columns:
        return "no columns"
    unit = "column" if len(columns) == 1 else "columns"
    return f"the {unit} {shown(', '.join(columns))}"


def _require_one_unit(tables: Sequence[Certificates]) -> None:
    """Raise Problem unless a change of a coordinate counts alike in all radii."""
    first, *others = tables
    unit = _unit(first)
    for table in others:
        other_unit = _unit(table)
        same = other_unit.shape == unit.shape and np.allclose(
            other_unit, unit, rtol=UNIT_ERROR, atol=0.0
        )
        if not same:
            raise NotComparable(
                f"the radii of {first.name or 'a table'} and {table.name or 'another'} "
                f"are in different units, as their {NORMS[table.norm].label} differ: "
                "compare them in L2 (norm, table.in_norm)"
            )


def _unit(table: Certificates) -> Floats:
    """Return the unit by which a change of each coordinate is divided."""
    return np.asarray(table.header.known_noise().unit, np.float64)


def differing_source(a: CertificatesLike, b: CertificatesLike) -> str:
    """Return which field shows that the tables are about different images.

    It is "dataset" or "split", or "" if neither does. Tables whose headers hold the
    same hash of images and labels are about the same images, whatever their names.

    Example:
        >>> from randsmooth.certificates import from_radii, infer
        >>> paths = ("cifar10-sigma0.5/macer.tsv", "mnist-sigma0.5/macer.tsv")
        >>> cifar10, mnist = (infer(from_radii([0.3]), path) for path in paths)
        >>> differing_source(cifar10, mnist), differing_source(mnist, mnist)
        ('dataset', '')
    """
    first = as_certificates(a).header
    second = as_certificates(b).header
    if first.data is not None and first.data == second.data:
        return ""
    for field in ("dataset", "split"):
        known = {getattr(first, field), getattr(second, field)} - {None}
        if len(known) > 1:
            return field
    return ""


def pair(a: CertificatesLike, b: CertificatesLike) -> tuple[Certificates, Certificates]:
    """Return both tables on the images (by idx) that they share, in the order of `a`.

    The two pass `require_same_images`, so that `acr_difference(*pair(a, b))` compares a
    log of every image with one of every tenth.

    Raises:
        Problem: an index occurs twice in a table, no image is shared, the tables are of
            two data sets or splits, or the labels of a shared image differ.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> every, third = from_radii([0.5, 0.0, 0.2, 0.9]), from_radii([0.1, 0.0, 0.0, 0.7]).rows(np.array([0, 3]))
        >>> first, second = pair(every, third)
        >>> first.idx.tolist(), first.radius.tolist(), second.radius.tolist()
        ([0, 3], [0.5, 0.9], [0.1, 0.7])
    """
    a = labelled(a)
    b = labelled(b)
    _require_one_row_an_image(a)
    _require_one_row_an_image(b)

    _, rows_of_a, rows_of_b = np.intersect1d(
        a.idx, b.idx, assume_unique=True, return_indices=True
    )
    order = np.argsort(rows_of_a)
    first = a.rows(rows_of_a[order])
    second = b.rows(rows_of_b[order])

    if len(first) == 0 or differing_source(a, b):
        raise NotComparable(
            f"{_described(a)} and {_described(b)} share no image, {CERTIFY_THE_SAME_IMAGES}"
        )
    _require_same_labels(first, second)
    return first, second


def _require_one_row_an_image(table: Certificates) -> None:
    """Raise Problem unless each row says which image it is about, and no two agree."""
    if len(table) and table.idx.min() < 0:
        raise WrongTable(
            f"{table.name or 'a table'} does not say which images it is about; compare "
            "figures"
        )
    images, times = np.unique(table.idx, return_counts=True)
    if len(table) > len(images):
        i = int(np.argmax(times))
        raise WrongTable(
            f"image {images[i]} occurs {times[i]} times in {table.name or 'a table'}; "
            "keep one row"
        )


def _require_same_labels(first: Certificates, second: Certificates) -> None:
    """Raise Problem unless each row of the two tables has the same label."""
    differing = np.flatnonzero(first.label != second.label)
    if len(differing) == 0:
        return

    row = differing[0]
    if renaming(first.label, second.label):
        cause = "the same classes, numbered differently"
    elif np.array_equal(np.sort(first.label), np.sort(second.label)):
        cause = "the same labels, in another order"
    else:
        cause = "idx renumbered, a damaged file, or another data set"
    raise NotComparable(
        f"image {first.idx[row]} has label {first.label[row]} in {first.name} and "
        f"{second.label[row]} in {second.name}, one of {len(differing):,} that differ in "
        f"{len(first):,}: {cause}"
    )


def acr_difference(a: CertificatesLike, b: CertificatesLike) -> Estimate:
    """Return ACR of `a` minus ACR of `b`, the mean of paired differences.

    The 95% interval is for this one difference; of several methods, take `compare`.

    Raises:
        Problem: the tables are not about the same images, or hold none.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> round(acr_difference(a, b).value, 6)  # (1.5 - 1.1) / 4
        0.1
    """
    a = as_certificates(a)
    b = as_certificates(b)
    require_same_images(a, b)
    return mean(*gains(a, b))


def gains(
    a: Certificates, b: Certificates
) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the contribution of each image to ACR of `a` minus ACR of `b`.

    Returns:
        gains: (N,)
        bounds: the least and the most that an image can add.
    """
    gain = a.radius * a.correct - b.radius * b.correct
    return np.asarray(gain), (-largest_possible(b), largest_possible(a))


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the p-value of McNemar's exact two-sided test; 1 without discordant pairs.

    The test is whether a discordant pair is as likely to favour `a` as `b`.

    Source: McNemar 1947, in its exact form: only_a ~ Bin(only_a + only_b, 1/2).

    Raises:
        Problem: a count below 0.

    Example:
        >>> mcnemar(0, 6)  # 2 / 2^6
        0.03125
    """
    if only_a == 0 and only_b == 0:
        return 1.0
    return bounds.two_sided_p_value(only_a, only_a + only_b)


def fresh_difference(only_a: int, only_b: int, images: int) -> Estimate:
    """Return (only_a - only_b) / images with a 95% interval, over fresh images.

    It is that of the mean of N numbers that are 1, -1 or 0 (see `paired_shares`), and
    it contains 0 exactly where `mcnemar` gives 0.05 or more. It allows for another
    number of discordant pairs in another sample.

    Raises:
        Problem: a count below 0, no image, or more pairs than images.

    Source: see `mean_interval`.

    Example:
        >>> estimate = fresh_difference(only_a=30, only_b=10, images=1000)
        >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3)
        (0.02, 0.007, 0.034)
    """
    require_images(images)
    if min(only_a, only_b) < 0 or only_a + only_b > images:
        odd_field = "only_b" if only_b < 0 <= only_a else "only_a"
        raise BadValue(
            f"only_a={only_a} and only_b={only_b} must be counts >= 0 of some of the "
            f"{images} images",
            field=odd_field,
            value={"only_a": only_a, "only_b": only_b}[odd_field],
        )
    low, high = paired_shares(only_a, only_b, images)
    return Estimate((only_a - only_b) / images, float(low), float(high), images)


def shared_rows(a: Certificates, b: Certificates) -> tuple[Ints, Ints]:
    """Return the rows of both tables about the images that they share, in one order."""
    # Rows that do not say their image have numbers below 0.
    known = np.intersect1d(a.idx[a.idx >= 0], b.idx[b.idx >= 0])
    _, rows_of_a, _ = np.intersect1d(a.idx, known, return_indices=True)
    _, rows_of_b, _ = np.intersect1d(b.idx, known, return_indices=True)
    return np.asarray(rows_of_a), np.asarray(rows_of_b)


def renaming(labels: Ints, others: Ints) -> dict[int, int] | None:
    """Return class -> its other number, where two labellings differ in names alone.

    It is None for equal labellings, and where no one-to-one renaming turns one into the
    other.

    Args:
        labels, others: (N,) the labels of the same images in two tables.

    Example:
        >>> renaming(np.array([0, 1, 1]), np.array([1, 0, 0]))
        {0: 1, 1: 0}
        >>> renaming(np.array([0, 1, 1]), np.array([1, 0, 1])) is None
        True
    """
    both = np.unique(np.stack([labels, others], axis=1), axis=0)
    name_of_class = dict(both.tolist())
    is_one_to_one = len(both) == len(name_of_class) == len({*name_of_class.values()})
    if not is_one_to_one or np.array_equal(labels, others):
        return None
    return name_of_class


def is_evenly_spaced(table: Certificates) -> bool:
    """Return whether the images of a table are every k-th of a range."""
    return len(np.unique(np.diff(np.sort(table.idx)))) <= 1
