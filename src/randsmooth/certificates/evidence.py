"""The columns of evidence, and the checks against counts that no run can have made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.header import Header
from randsmooth.documents import shown
from randsmooth.errors import WrongTable
from randsmooth.rules import Evidence, Rule

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# The certified class where none is certified.
ABSTAIN = -1

# In place of the label of every image of data that have none.
NO_LABEL = -1

# Bytes of an image's address.
ADDRESS = 32

# How many images an error lists; it only counts any further ones.
LISTED_IMAGES = 5

PUT_TOGETHER = "`randsmooth merge` puts shards together"


@dataclass(frozen=True)
class Column:
    """A column of evidence.

    Attributes:
        of: the thing that has one number in the column: an image, or each class, look
            or byte of the address of an image.
        dtype: the type of these numbers.
        optional: whether a table may be without it.
    """

    of: Literal["image", "class", "look", "byte"] = "image"
    dtype: type = np.int64
    optional: bool = False

    def shape(self, N: int, K: int) -> tuple[int, ...]:
        """Return the shape of this column in a table of N images and K classes.

        A column of looks has none, as images differ in how many they have.
        """
        if self.of == "class":
            return (N, K)
        if self.of == "byte":
            return (N, ADDRESS)
        return (N,)


COLUMNS = {
    "idx": Column(),
    "label": Column(),
    "counts0": Column("class"),
    "counts": Column("class"),
    "path": Column("look"),
    "seconds": Column(dtype=np.float64),
    "machine": Column(optional=True),
    "image": Column("byte", np.uint8, optional=True),
    "u": Column(dtype=np.float64, optional=True),
    "words": Column(optional=True),
}

# The columns that are one array each. `path` is none: it has an array for each image.
ARRAYS = tuple(name for name in COLUMNS if name != "path")


def check_columns(
    header: Header, columns: Mapping[str, Any], paths: Sequence[Array] | None
) -> None:
    """Raise Problem unless these are N rows of K classes, each of another image, in the
    shapes and types of COLUMNS.

    Times must be finite and not below 0, and machines among those of the header.
    Uniform numbers must be there under the randomised bound, and under no other, and
    numbers of words under a noise on words, and under no other.

    Args:
        header: the header of the table.
        columns: the value of every name in ARRAYS, None where an optional one is
            absent.
        paths: the looks of each image; None where every image was looked at once.
    """
    idx = columns["idx"]
    counts = columns["counts"]
    # What has no length, or is no matrix, is refused by its own check below.
    N = len(idx) if np.ndim(idx) else 0
    K = max(1, counts.shape[1]) if np.ndim(counts) == 2 else 1
    check_arrays({name: COLUMNS[name] for name in ARRAYS}, columns, N, K)

    for path in paths or ():
        _check_array("path", path, COLUMNS["path"].dtype, (len(path),))
    if paths is not None and len(paths) != N:
        raise WrongTable(f"there are looks of {len(paths):,} images, and {N:,} images")

    check_images(idx)
    _check_seconds(idx, columns["seconds"])
    if columns["machine"] is not None:
        _check_machines(idx, columns["machine"], len(header.machines))
    _check_uniform_numbers(header, columns["u"])
    _check_words(header, idx, columns["words"])


def check_arrays(
    kinds: Mapping[str, Column], columns: Mapping[str, Any], N: int, K: int
) -> None:
    """Raise Problem unless each of the `columns` is an array of its kind.

    An optional column may be None.

    Args:
        kinds: the kind of each column, by its name.
        columns: the value of every name in `kinds`.
        N: how many images there are.
        K: how many classes there are.
    """
    for name, column in kinds.items():
        if columns[name] is not None or not column.optional:
            _check_array(name, columns[name], column.dtype, column.shape(N, K))


def _check_seconds(idx: Array, seconds: Array) -> None:
    """Raise Problem for a time that no image can have taken."""
    possible = np.isfinite(seconds) & (seconds >= 0)
    refuse(idx, ~possible, lambda row: f"took {seconds[row]} seconds")


def _check_machines(idx: Array, machine: Array, machines: int) -> None:
    """Raise Problem for a row of `machine` (N,) that names none of the header's
    `machines`, how many there are.
    """
    # -1 stands for the machine that the header itself describes.
    known = (machine >= -1) & (machine < machines)
    refuse(
        idx,
        ~known,
        lambda row: f"is of machine {machine[row]}, and the header tells {machines}",
    )


def _check_uniform_numbers(header: Header, u: Array | None) -> None:
    """Raise Problem unless `u` are numbers within (0, 1) under the randomised bound,
    and None under any other.
    """
    needed = header.bound == "randomised"
    within = u is None or bool(np.all((u > 0.0) & (u < 1.0)))
    if needed != (u is not None) or not within:
        raise WrongTable(
            f"bound={header.bound} with u={shown(u)}: "
            "randomised, and no other, has numbers within (0, 1)"
        )


def _check_words(header: Header, idx: Array, words: Array | None) -> None:
    """Raise Problem unless `words` (N,) are numbers of words under a noise on words, and
    None under any other.
    """
    needed = header.noise is not None and header.noise.counts_words
    if needed != (words is not None):
        text = "no noise" if header.noise is None else header.noise.title
        has = "no" if words is None else "a"
        raise WrongTable(
            f"{text}, and {has} column of words: ablation of words, and no other noise, "
            "needs how many words each text has",
            field="words",
        )
    if words is not None:
        refuse(idx, words < 1, lambda row: f"has {words[row]} words: damaged")


def _check_array(name: str, array: Any, dtype: type, shape: tuple[int, ...]) -> None:
    """Raise Problem unless the value of the column `name` is an array of this shape,
    of numbers of a kind that `dtype` holds.
    """
    got = type(array).__name__
    if isinstance(array, np.ndarray):
        got = f"{array.dtype} {array.shape}"
        holds_numbers = array.dtype.kind in "iuf"
        same_kind = np.can_cast(array.dtype, dtype, "same_kind")
        if array.shape == shape and holds_numbers and same_kind:
            return
    raise WrongTable(
        f"{name} must be an array of {dtype.__name__} of shape {shape}; got {got}"
    )


def refuse(idx: Array, wrong: ArrayLike, fault_of: Callable[[int], str]) -> None:
    """Raise Problem for the first of the images `idx` (N,) that is `wrong` (N,).

    The message names the image, and goes on with what `fault_of` returns for its row.
    """
    rows = np.flatnonzero(wrong)
    if len(rows):
        row = int(rows[0])
        raise WrongTable(f"image {idx[row]} {fault_of(row)}")


def check_images(idx: Array) -> None:
    """Raise Problem for a position `idx` (N,) that is below 0 or occurs twice."""
    refuse(idx, idx < 0, lambda row: "is not a position; positions start at 0")
    unique, times = np.unique(idx, return_counts=True)
    if len(unique) < len(idx):
        raise WrongTable(
            f"the table holds image {unique[times > 1][0]} twice; {PUT_TOGETHER}"
        )


def check_evidence(
    header: Header, rule: Rule, evidence: Evidence, counts0: Ints, label: Ints
) -> None:
    """Raise Problem unless a certification under `header` by `rule` can have given
    these counts and labels.

    Args:
        header: the header of the table.
        rule: the rule that the header names.
        evidence: the samples of N images that bound p_A.
        counts0: (N, K) class counts of the samples that picked the class, or (N, K + 1)
            where the header is lumped.
        label: (N,) true classes, or NO_LABEL for all images.
    """
    idx = evidence.idx
    picked = evidence.picked
    # Where only the picked class was counted, a last column counts all other answers.
    K = evidence.counts.shape[1] - header.lumped
    _check_classes(header, K)

    _check_sums("counts0", counts0, np.full(len(idx), header.selected), idx)
    if header.n0 == 0:
        _check_marks(header, rule, evidence, label)
    # A label-aware run gives up an image whose picked class is not its label: it then
    # takes no further samples.
    walked = (picked == label) | (not header.gives_up_others)
    _check_looks(rule, evidence, walked)

    unlabelled = len(label) > 0 and bool((label == NO_LABEL).all())
    if unlabelled and header.label_aware:
        raise WrongTable(
            "the header is label-aware, and the images have no labels: "
            "certify with label_aware=False"
        )
    if not unlabelled:
        _check_known("label", label, K, idx)
    _check_known("picked class", picked, K, idx)


def _check_classes(header: Header, K: int) -> None:
    """Raise Problem unless K classes were counted as the header names them, and as many
    as its bound needs.
    """
    if header.classes is not None and len(header.classes) != K:
        raise WrongTable(
            f"the header names {len(header.classes)} classes, and {K} are counted"
        )
    if header.refusal is not None and not 0 <= header.refusal < K:
        raise WrongTable(
            f"the header calls class {header.refusal} that of declined answers, and "
            f"{K} classes are counted"
        )
    if header.lumped and header.bound in ("two-sided", "pairwise"):
        raise WrongTable(
            f"bound={header.bound} needs the counts of all classes; "
            "only the picked one was counted"
        )


def _check_known(what: str, classes: Ints, K: int, idx: Ints) -> None:
    """Raise Problem unless all `classes` (N,), which `what` names, are among K."""
    outside = (classes < 0) | (classes >= K)
    refuse(
        idx,
        outside,
        lambda row: f"has {what} {classes[row]}, and {K} classes are counted",
    )


def _check_sums(what: str, counts: Ints, total: Ints, idx: Ints) -> None:
    """Raise Problem unless each row of `counts` (N, K) adds up to `total` (N,)."""
    # The sum of very large counts overflows, and would not show that they are wrong.
    outside = (counts < 0) | (counts > total[:, None])
    wrong = (counts.sum(axis=1) != total) | outside.any(axis=1)

    def fault(row: int) -> str:
        counted = shown(counts[row].tolist())
        return f"has {what} {counted}, not of sum {total[row]}: damaged"

    refuse(idx, wrong, fault)


def _check_marks(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Raise Problem unless counts0 mark the class that the header's settings bound.

    It is for n0 = 0, where no samples picked a class: under a label-aware header the
    label is bounded, and else the most frequent class.
    """
    if not (header.label_aware or rule.any_class):
        rule_name = shown(repr(header.rule))
        bound = shown(str(header.bound))
        raise WrongTable(
            f"n0=0: no other samples picked the class, and rule={rule_name} with "
            f"bound={bound} does not hold for it: give their n0, or bound='any-class'"
        )
    if header.label_aware:
        marked_class = label
        what = "label"
    else:
        marked_class = evidence.counts.argmax(axis=1)
        what = "most frequent class"
    refuse(
        evidence.idx,
        evidence.picked != marked_class,
        lambda row: f"marks another class than its {what}: damaged",
    )


def _check_looks(rule: Rule, evidence: Evidence, walked: NDArray[np.bool_]) -> None:
    """Raise Problem unless each path is one that the rule allows, may end there, and
    ends in the image's counts.

    A path holds the counts of the picked class at the looks, each of all samples so far.
    An image that was given up before it took such samples must have no path. `walked`
    (N,) is False for it.
    """
    paths = [path.tolist() for path in evidence.paths]
    samples = [
        rule.samples(path) if walks else 0
        for path, walks in zip(paths, walked, strict=True)
    ]
    _check_sums("counts", evidence.counts, np.array(samples, np.int64), evidence.idx)
    n_a = np.take_along_axis(evidence.counts, evidence.picked[:, None], axis=1)[:, 0]
    wrong = [
        not _path_fits(rule, path, count) if walks else len(path) > 0
        for path, count, walks in zip(paths, n_a, walked, strict=True)
    ]
    refuse(
        evidence.idx, wrong, lambda row: "has looks that do not fit its counts: damaged"
    )


def _path_fits(rule: Rule, path: list[int], n_a: int) -> bool:
    """Return whether the counts at the looks never fall, may end there, and end in
    `n_a`.
    """
    falls = any(later < earlier for earlier, later in pairwise(path))
    # An empty path is never complete.
    return not falls and rule.complete(path) and path[-1] == n_a


def name_images(idx: Ints) -> str:
    """Return the words for images at the positions `idx` (N,), for an error.

    They are like `image 3`, or `images 3, 17, 20, 21, 22 and 40 more`.

    Example:
        >>> name_images(np.arange(3)), name_images(np.arange(100))
        ('images 0, 1, 2', 'images 0, 1, 2, 3, 4 and 95 more')
    """
    noun = "images" if len(idx) > 1 else "image"
    listed = ", ".join(map(str, idx[:LISTED_IMAGES]))
    others = len(idx) - LISTED_IMAGES
    more = f" and {others:,} more" if others > 0 else ""
    return f"{noun} {listed}{more}"
