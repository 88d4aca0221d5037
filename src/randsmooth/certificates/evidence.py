"""The evidence of a table: its columns, a row of COLUMNS each, and what no certification can have counted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.header import Header, Machine
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.rules import Evidence, Rule

Array = NDArray[Any]
Ints = NDArray[np.int64]

NO_LABEL = -1  # in place of the label of every image of data that have none
ADDRESS = 32  # bytes of an image's address
NAMED = 5  # images that an error lists
PUT_TOGETHER = "`randsmooth merge` puts shards together"


@dataclass(frozen=True)
class Column:
    """A column of evidence.

    Attributes:
        of: of what an image has a number in it: one of its own, or one for each class, look or byte of its address.
        dtype: of these numbers.
        optional: whether a table may be without it.
    """

    of: Literal["image", "class", "look", "byte"] = "image"
    dtype: type = np.int64
    optional: bool = False

    def shape(self, N: int, K: int) -> tuple[int, ...]:
        """That of the column of N images and K classes."""
        return (N, *{"class": (K,), "byte": (ADDRESS,)}.get(self.of, ()))


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
}
ARRAYS = tuple(name for name in COLUMNS if name != "path")  # (N, ...); of looks, each image has an array of its own


def check_columns(header: Header, columns: Mapping[str, Any], paths: Sequence[Array] | None) -> None:
    """Raise InputError unless these are N rows of K classes, each of another image, in the shapes and types of COLUMNS.

    Times are finite and not below 0, machines are among those of the header, and uniform numbers are there under the
    randomised bound alone.
    """
    idx, counts = columns["idx"], columns["counts"]
    N = len(idx) if np.ndim(idx) else 0
    K = max(1, counts.shape[1]) if np.ndim(counts) == 2 else 1
    for name in ARRAYS:
        if columns[name] is not None or not COLUMNS[name].optional:
            _check_array(name, columns[name], COLUMNS[name].shape(N, K))
    for path in paths or ():
        _check_array("path", path, (len(path),))
    if paths is not None and len(paths) != N:
        raise InputError(f"there are looks of {len(paths):,} images, and {N:,} images")
    check_images(idx)
    seconds, machine, u = columns["seconds"], columns["machine"], columns["u"]
    refuse(idx, ~(np.isfinite(seconds) & (seconds >= 0)), lambda row: f"took {seconds[row]} seconds")
    if machine is not None:
        known = (machine >= -1) & (machine < len(header.machines))
        refuse(idx, ~known, lambda row: f"is of machine {machine[row]}, and the header tells {len(header.machines)}")
    if (u is None) == (header.bound == "randomised") or not (u is None or np.all((u > 0.0) & (u < 1.0))):
        raise InputError(f"bound={header.bound} with u={shown(u)}: randomised, and no other, has numbers within (0, 1)")


def _check_array(name: str, array: object, shape: tuple[int, ...]) -> None:
    dtype = COLUMNS[name].dtype
    if not (
        isinstance(array, np.ndarray)
        and array.shape == shape
        and array.dtype.kind in "iuf"
        and np.can_cast(array.dtype, dtype, "same_kind")
    ):
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise InputError(f"{name} must be an array of {dtype.__name__} of shape {shape}; got {got}")


def refuse(idx: Array, wrong: ArrayLike, say: Callable[[int], str]) -> None:
    """Raise InputError for the first of the images `idx` (N,) that is `wrong` (N,), with what `say` says of its row."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise InputError(f"image {idx[rows[0]]} {say(int(rows[0]))}")


def check_images(idx: Array) -> None:
    """Raise InputError for an image below 0, or there twice."""
    refuse(idx, idx < 0, lambda row: "is not a position; positions start at 0")
    unique, times = np.unique(idx, return_counts=True)
    if len(unique) < len(idx):
        raise InputError(f"the table holds image {unique[times > 1][0]} twice; {PUT_TOGETHER}")


def check_evidence(header: Header, rule: Rule, evidence: Evidence, counts0: Ints, label: Ints) -> None:
    """Raise InputError unless a certification under `header` by `rule` can have given these counts and labels.

    Args:
        header: of the table; its classes, n0, bound, lumped and label_aware are used.
        rule: the one that it names.
        evidence: the samples of N images that bound p_A.
        counts0: (N, K) class counts of the samples that picked the class.
        label: (N,) true classes, or NO_LABEL for all images.
    """
    idx, picked, K = evidence.idx, evidence.picked, evidence.counts.shape[1] - header.lumped
    if header.classes is not None and len(header.classes) != K:
        raise InputError(f"the header names {len(header.classes)} classes, and {K} are counted")
    if header.lumped and header.bound in ("two-sided", "pairwise"):
        raise InputError(f"bound={header.bound} needs the counts of all classes; only the picked one was counted")
    _check_sums("counts0", counts0, np.full(len(idx), header.selected), idx)
    if header.n0 == 0:
        _check_marks(header, rule, evidence, label)
    _check_looks(rule, evidence, (picked == label) | (not header.gives_up_others))
    unlabelled = len(label) > 0 and bool((label == NO_LABEL).all())
    if unlabelled and header.label_aware:
        raise InputError("the header is label-aware, and the images have no labels: certify without --label-aware")
    if not unlabelled:
        _check_known("label", label, K, idx)
    _check_known("picked class", picked, K, idx)


def _check_known(what: str, classes: Ints, K: int, idx: Ints) -> None:
    outside = (classes < 0) | (classes >= K)
    refuse(idx, outside, lambda row: f"has {what} {classes[row]}, and {K} classes are counted")


def _check_sums(what: str, counts: Ints, total: Ints, idx: Ints) -> None:
    outside = (counts < 0) | (counts > total[:, None])  # the sum of very large ones overflows, and would not show it
    wrong = (counts.sum(axis=1) != total) | outside.any(axis=1)
    refuse(idx, wrong, lambda row: f"has {what} {shown(counts[row].tolist())}, not of sum {total[row]}: damaged")


def _check_marks(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Raise InputError unless the class, which no samples picked, is one that the header's settings bound."""
    if not (header.label_aware or rule.any_class):
        said = f"rule={shown(repr(header.rule))} with bound={shown(str(header.bound))} does not hold for it"
        raise InputError(f"n0=0: no other samples picked the class, and {said}: give their n0, or bound='any-class'")
    meant = label if header.label_aware else evidence.counts.argmax(axis=1)
    what = "label" if header.label_aware else "most frequent class"
    refuse(evidence.idx, evidence.picked != meant, lambda row: f"marks another class than its {what}: damaged")


def _check_looks(rule: Rule, evidence: Evidence, walked: NDArray[np.bool_]) -> None:
    """Raise InputError unless each path is one that the rule allows, may end there, and ends in the image's counts.

    Where an image was not `walked` (N,), because its class is not the label, it has no path.
    """
    paths = [path.tolist() for path in evidence.paths]
    taken = [rule.samples(path if walks else []) for path, walks in zip(paths, walked, strict=True)]
    _check_sums("counts", evidence.counts, np.array(taken, np.int64), evidence.idx)
    n_a = np.take_along_axis(evidence.counts, evidence.picked[:, None], axis=1)[:, 0]

    def torn(path: list[int], n_a: int) -> bool:
        falls = any(later < earlier for earlier, later in pairwise(path))
        return falls or not rule.complete(path) or path[-1] != n_a

    wrong = [torn(p, k) if walks else len(p) > 0 for p, k, walks in zip(paths, n_a, walked, strict=True)]
    refuse(evidence.idx, wrong, lambda row: "has looks that do not fit its counts: damaged")


def name_images(idx: Ints) -> str:
    """The images in words, for an error: `image 3`, or `images 3, 17 and 40 more`.

    Example:
        >>> name_images(np.arange(3)), name_images(np.arange(100))
        ('images 0, 1, 2', 'images 0, 1, 2, 3, 4 and 95 more')
    """
    shown, more = ", ".join(map(str, idx[:NAMED])), len(idx) - NAMED
    return f"image{'s' if len(idx) > 1 else ''} {shown}{f' and {more:,} more' if more > 0 else ''}"


def numbered(machines: Sequence[Machine | None]) -> tuple[tuple[Machine, ...], Ints]:
    """Each machine once, and (N,) the number of each row's among them: a column `machine`; -1 where there is None.

    Example:
        >>> there, numbers = numbered([Machine(host=host) for host in ("node7", "node8", "node7")])
        >>> [machine.host for machine in there], numbers.tolist()
        (['node7', 'node8'], [0, 1, 0])
    """
    keys = ["" if machine is None else machine.model_dump_json() for machine in machines]
    once = {key: machine for key, machine in zip(keys, machines, strict=True) if machine is not None}
    places = {"": -1} | {key: place for place, key in enumerate(once)}
    return tuple(once.values()), np.array([places[key] for key in keys], np.int64)


def in_bytes(address: int) -> bytes:
    """The address of an image (see `noise.address_of`) as it is hashed and stored."""
    return address.to_bytes(ADDRESS, "little")


def hashed_images(labels: Ints, addresses: Iterable[bytes]) -> str:
    """A hash of labels (N,), and of the images with these N addresses (see `in_bytes`), in their order.

    By it a run is known to be about the same images.
    """
    told = [labels.astype("<i8").tobytes(), *addresses]
    return "sha256, every image: " + hashlib.sha256(b"".join(told)).hexdigest()
