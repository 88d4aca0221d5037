"""Counts as another program gives them: what is missing or cannot be is refused, the rest put in the table's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import randbits
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.evidence_checks import NO_LABEL
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.certificates.whole_numbers import Ints, whole_numbers
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.rules import Rule, check_samples

MOST_VALUES = 2**26  # numbers of the counts, half a gigabyte
PICKED = (
    "counts alone do not say how the class was picked, on which the bound depends. Give counts0, the class counts of "
    "other samples that picked it; or picked, the classes, if these samples had no part in it; or bound='any-class' "
    "(--bound any-class), if it is the most frequent class of these very samples"
)


@dataclass(frozen=True)
class Counted:
    """The class counts as a table holds them: n0 is None where counts0 only marks the class; see `Header.lumped`."""

    n0: int | None
    counts0: Ints
    counts: Ints
    lumped: bool


@dataclass(frozen=True)
class GivenCounts:
    """What was given of N images, as arrays of whole numbers that agree in their lengths.

    Attributes:
        label, idx, seconds: (N,); label is NO_LABEL throughout where none is given.
        counts: (N, K); or None, and `n_a` (N,) has how often the picked class came out.
        counts0: (N, K), or None.
        picked: (N,), or None.
        n: the samples of each image or the most of them, or None.
        paths: looks of each image, or None.
    """

    label: Ints
    idx: Ints
    seconds: NDArray[np.float64]
    counts: Ints | None
    n_a: Ints | None
    counts0: Ints | None
    picked: Ints | None
    n: int | None
    paths: list[Ints] | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> GivenCounts:
        """Raises InputError for what is missing or cannot be."""
        counts, n_a = _counts(given)
        N = len(counts if counts is not None else n_a)  # type: ignore[arg-type]
        idx, picked = (_optional(key, given, (N,)) for key in ("idx", "picked"))
        return cls(
            label=np.full(N, NO_LABEL) if given.get("label") is None else _labels(given["label"], N),
            idx=np.arange(N) if idx is None else idx,
            seconds=np.zeros(N) if given.get("seconds") is None else _seconds(given["seconds"]),
            counts=counts,
            n_a=n_a,
            counts0=_optional("counts0", given, (N, None)),
            picked=picked,
            n=None if given.get("n") is None else _same(given["n"], N),
            paths=None if given.get("path") is None else _paths(given["path"]),
        )

    def budget(self, rule: str) -> int:
        """The n of the rule: as given, or how many samples all images have.

        Raises:
            InputError: it is not known, or images have different numbers of samples under the fixed rule.
        """
        if rule != "fixed" and self.paths is None:
            raise InputError(
                f"rule {shown(repr(rule))} decides at its looks: give path, how often the picked class had come out at "
                "each look of each image"
            )
        if rule != "fixed" or self.counts is None:
            if self.n is None:
                raise InputError("n is missing: how many samples of each image were counted (--n)")
            return self.n
        sums = np.unique(self.counts.sum(axis=1))
        if len(sums) > 1:
            raise InputError(_uneven(int(sums[0]), int(sums[-1])))
        total = int(sums[0]) if len(sums) else self.n or 0
        if self.n not in (None, total):
            raise InputError(f"n={self.n}, and the counts of an image add up to {total}")
        return total

    def table(self, header: Header, counted: Counted, name: str, u: NDArray[np.float64] | None = None) -> Certificates:
        """The table that `header` and the class counts of these images make.

        Under the randomised bound uniform numbers are drawn from the operating system, unless they are given as `u`.
        """
        if header.bound == "randomised" and u is None:
            u = np.array([(randbits(52) + 0.5) / 2.0**52 for _ in self.idx])  # midpoints, so that none is 0 or 1
        return from_evidence(
            header,
            idx=self.idx,
            label=self.label,
            counts0=counted.counts0,
            counts=counted.counts,
            seconds=self.seconds,
            paths=self.paths,
            u=u,
            name=name,
        )

    def counted(self, rule: Rule, bound: str, classes: int | None) -> Counted:
        """The counts as a table holds them. Raises InputError where the class is not known, or does not fit them."""
        if self.counts is not None:
            K, counts = self.counts.shape[1], self.counts
            n0, counts0 = self._selection(bound, K)
            return Counted(n0, counts0, counts, False)
        assert self.n_a is not None
        K = classes or self._classes()
        if len(self.n_a) * (K + 1) > MOST_VALUES:
            raise InputError(f"{len(self.n_a):,} images of {K:,} classes are more than a table holds: make several")
        n0, counts0 = self._selection(bound, K)
        samples = np.full(len(self.n_a), rule.n) if self.paths is None else _samples(rule, self.paths)
        if np.any(wrong := self.n_a > samples):
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(f"the picked class of row {row} came out {self.n_a[row]} times in {samples[row]} samples")
        counts = np.zeros((len(self.n_a), K + 1), np.int64)
        counts[np.arange(len(counts)), counts0.argmax(axis=1)] = self.n_a
        counts[:, K] = samples - self.n_a
        return Counted(n0, np.pad(counts0, ((0, 0), (0, 1))), counts, True)

    def _classes(self) -> int:
        if self.counts0 is not None:
            return int(self.counts0.shape[1])
        return 1 + max(int(np.max(each, initial=0)) for each in (self.label, self.picked) if each is not None)

    def _selection(self, bound: str, K: int) -> tuple[int | None, Ints]:
        """n0, or None, and counts0 (N, K)."""
        if self.counts0 is not None:
            return self._voted(self.counts0, K)
        picked = self.picked
        if picked is None and bound == "any-class" and self.counts is not None:
            picked = self.counts.argmax(axis=1)
        if picked is None:
            raise InputError(PICKED if self.counts is not None else f"picked is missing: {PICKED}")
        _check_classes("picked", picked, K)
        return None, _marked(picked, K)

    def _voted(self, counts0: Ints, K: int) -> tuple[int, Ints]:
        if counts0.shape[1] != K:
            raise InputError(f"counts0 counts {counts0.shape[1]} classes, and there are {K}")
        sums = np.unique(counts0.sum(axis=1))
        if len(sums) > 1:
            raise InputError(
                f"counts0 adds up to {sums[0]} for one image and to {sums[-1]} for another, and a table has one n0: "
                "give picked, the classes that they picked, instead"
            )
        if self.picked is not None and not np.array_equal(self.picked, counts0.argmax(axis=1)):
            raise InputError("picked is not the most frequent class of counts0: give one of them")
        return int(sums[0]) if len(sums) else 1, counts0


def _counts(given: Mapping[str, Any]) -> tuple[Ints | None, Ints | None]:
    """The counts of all classes (N, K), or those of the picked one (N,): one of the two is None."""
    for name in ("counts", "n_A"):
        if given.get(name) is not None:
            found, wide = given[name], _is_wide(given[name])
            if name == "counts" and np.iterable(found) and not len(found):  # type: ignore[arg-type]
                raise InputError("counts holds no images; expected a row for each")
            numbers = whole_numbers(name, found, (None, None) if wide else (None,))
            return (numbers, None) if wide else (None, numbers)
    if given.get("path") is None:
        raise InputError("counts are missing: how often each class came out, or n_A, how often the picked class did")
    return None, np.array([path[-1] if len(path) else 0 for path in _paths(given["path"])], np.int64)


def _is_wide(values: Any) -> bool:
    """Whether each of `values` holds several."""
    return np.iterable(values) and np.ndim(next(iter(values), 0)) > 0


def _optional(name: str, given: Mapping[str, Any], shape: tuple[int | None, ...]) -> Ints | None:
    return None if given.get(name) is None else whole_numbers(name, given[name], shape)


def _labels(values: ArrayLike, N: int) -> Ints:
    """Labels; NO_LABEL throughout, as a table of images without labels has it, is taken as it is."""
    if np.iterable(values) and np.array_equal(np.asarray(values), np.full(N, NO_LABEL)):
        return np.full(N, NO_LABEL)
    return whole_numbers("label", values, (N,))


def _seconds(values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"seconds holds {shown(repr(values))}; expected the time of each image") from None


def _check_classes(name: str, classes: Ints, K: int) -> None:
    wrong = np.flatnonzero(classes >= K)
    if len(wrong):
        raise InputError(f"{name}={classes[wrong[0]]} in row {wrong[0]} is not among the {K} classes")


def _same(n: ArrayLike, N: int) -> int:
    """The one number of samples that `n` says; InputError where it differs from image to image."""
    numbers = np.unique(whole_numbers("n", n, () if np.ndim(n) == 0 else (N,)))
    if len(numbers) > 1:
        raise InputError(_uneven(int(numbers[0]), int(numbers[-1])))
    if len(numbers):
        check_samples("n", int(numbers[0]))
    return int(numbers[0]) if len(numbers) else 1


def _uneven(least: int, most: int) -> str:
    return (
        f"images have from {least:,} to {most:,} samples, and a table of the fixed rule has one n. If each number was "
        "set beforehand, make a table for each; if samples stopped once they sufficed, Clopper-Pearson does not hold "
        "for them: the rules that may stop are anytime, grid, union and radius=R"
    )


def _paths(paths: Sequence[ArrayLike]) -> list[Ints]:
    return [whole_numbers("path", path, (None,)) for path in paths]


def _samples(rule: Rule, paths: Sequence[Ints]) -> Ints:
    """How many samples were drawn of each image; InputError for looks that the rule does not take."""
    samples = np.array([rule.samples(path.tolist()) for path in paths], np.int64)
    if np.any(samples == 0):
        row = int(np.flatnonzero(samples == 0)[0])
        raise InputError(
            f"path {shown(paths[row].tolist())} in row {row} is none that rule {rule.name} takes: it looks where its "
            "next_look(path) says, and a count never falls"
        )
    return samples


def _marked(picked: Ints, K: int) -> Ints:
    """(N, K) a 1 for each picked class."""
    marks = np.zeros((len(picked), K), np.int64)
    marks[np.arange(len(picked)), picked] = 1
    return marks
