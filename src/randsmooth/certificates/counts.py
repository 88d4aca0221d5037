"""A table of counts that another program made: its radii are computed here, and it says what it cannot know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.count_columns import columns_in, whole_numbers
from randsmooth.certificates.evidence_checks import NO_LABEL
from randsmooth.certificates.guarantee import guarantee_of
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import Certificates, from_evidence, marked
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules import ConfidenceBound, Rule, check_samples, kind_of_rule, make_rule

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

ARRAYS = "arrays"  # the source of counts that came from no file
MOST_VALUES = 2**26  # numbers of the counts, half a gigabyte
PICKED = (
    "counts alone do not say how the class was picked, on which the bound depends. Give counts0, the class counts of "
    "other samples that picked it; or picked, the classes, if these samples had no part in it; or bound='any-class' "
    "(--bound any-class), if it is the most frequent class of these very samples"
)


def from_counts(
    counts: ArrayLike | Mapping[str, Any] | pd.DataFrame | Path | None = None,
    *,
    sigma: float,
    label: ArrayLike | None = None,
    n: ArrayLike | None = None,
    counts0: ArrayLike | None = None,
    picked: ArrayLike | None = None,
    path: Sequence[ArrayLike] | None = None,
    idx: ArrayLike | None = None,
    seconds: ArrayLike | None = None,
    alpha: float = 0.001,
    rule: str = "fixed",
    bound: ConfidenceBound = "clopper-pearson",
    classes: Sequence[str] | None = None,
    dataset: str | None = None,
    split: str | None = None,
    source: str | None = None,
    name: str = "",
) -> Certificates:
    """The table of N images whose noisy copies another program classified and counted; its radii are computed here.

    How the class was picked decides what the counts prove, so one of three things must be said:

    - `counts0`: other samples picked it, by most of their votes, as in CERTIFY of Cohen et al. 2019.
    - `picked`: the class was fixed without these samples: by the clean image, say, or by other samples whose counts
      were not kept. The header's n0 is then unknown.
    - `bound="any-class"`: the most frequent class of these very samples, for which Clopper-Pearson's one-sided bound
      does not hold at alpha; it is taken at alpha / 2 (see `bounds.any_class_q_upper`).

    What is certified is right with probability 1 - alpha for each image, if the counts are of independent samples of
    x + N(0, sigma^2 I). That cannot be seen from counts: the table's guarantee says so, and its header leaves seed,
    noise and model unknown.

    Args:
        counts: (N, K) how often each class came out, or (N,) how often the picked class did, with `n` and `picked`.
            None where `path` says it. Or all columns at once, under the names of the arguments: a mapping, a DataFrame,
            or a file of comma- or tab-separated values or JSON lines. There the counts of the picked class are called
            n_A, and counts_0, counts_1, ... (counts0_0, ...) may be columns of their own.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        label: (N,) true classes; without them, nothing is known of accuracy.
        n: samples per image that are counted, the same for all; of a rule that stops by itself, the most it may take.
        counts0: (N, K) class counts of the samples that picked the class.
        picked: (N,) classes that were picked without these samples.
        path: of a rule other than fixed: for each image, how often the picked class had come out at each look; under
            "anytime" up to any look, under others as far as the rule goes.
        idx: (N,) positions of the images in their split; 0..N-1 if not given.
        seconds: (N,) time that each image took; 0 if not given.
        alpha: probability that one image's certificate is wrong.
        rule, bound: how many samples were drawn, and the bound of the fixed rule (see `CertificationSettings`).
        classes: names of the K classes.
        dataset, split: which images these are.
        source: where the counts come from, in words; the name of the file if not given.
        name: what to call the table in a comparison.

    Raises:
        InputError: columns that are missing, given twice, of several lengths or no counts; images with different
            numbers of samples under a rule that does not stop by itself; looks that the rule does not take; or a budget
            that certifies nothing.

    Example:
        >>> table = from_counts([990, 600, 480], n=1000, picked=[3, 5, 0], label=[3, 8, 0], sigma=0.5)
        >>> table.predict.tolist(), table.radius.round(3).tolist(), table.correct.tolist()
        ([3, 5, -1], [0.989, 0.064, 0.0], [True, False, False])
        >>> whole = from_counts([[990, 10], [480, 520]], label=[0, 1], sigma=0.5, bound="any-class")
        >>> whole.predict.tolist(), whole.radius.round(3).tolist(), whole.header.seed
        ([0, -1], [0.979, 0.0], None)
    """
    kind_of_rule(rule, n=1, bound=bound)  # a misspelt name is told before its looks are asked for
    own = {"label": label, "n": n, "counts0": counts0, "picked": picked, "path": path, "idx": idx, "seconds": seconds}
    columns, origin = columns_in(counts)
    given = {key: value for key, value in own.items() if value is not None}
    if twice := sorted(columns.keys() & given.keys()):
        raise InputError(f"{twice[0]} is given twice: as an argument, and in {origin or 'the columns'}")
    found = GivenCounts.of(columns | given)
    judged = make_rule(rule, noise=Gaussian(sigma), n=found.budget(rule), alpha=alpha, bound=bound)
    counted = found.counted(judged, bound, None if classes is None else len(classes))
    header = Header(
        sigma=sigma,
        n0=counted.n0,
        n=judged.n,
        alpha=alpha,
        bound=judged.stated_bound,
        rule=rule,
        source=source or origin or ARRAYS,
        lumped=counted.lumped,
        dataset=dataset,
        split=split,
        classes=None if classes is None else tuple(classes),
        notes=judged.notes,
    )
    name = name or (Path(origin).stem if origin else "")
    return found.table(header.replace(guarantee=guarantee_of(header)), counted, name)


class Counted(NamedTuple):
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
    def of(cls, columns: Mapping[str, Any]) -> GivenCounts:
        """Raises InputError for what is missing or cannot be."""
        given = {name: column for name, column in columns.items() if column is not None}
        paths = [whole_numbers("path", path, (None,)) for path in given["path"]] if "path" in given else None
        counts, n_a = _counts(given, paths)
        N = len(counts if counts is not None else n_a)  # type: ignore[arg-type]

        def column(name: str, *shape: int | None) -> Ints | None:
            return whole_numbers(name, given[name], shape or (N,)) if name in given else None

        label = None if np.array_equal(given.get("label", []), np.full(N, NO_LABEL)) else column("label")
        idx = column("idx")
        try:
            seconds = np.asarray(given.get("seconds", np.zeros(N)), np.float64)
        except (TypeError, ValueError):
            raise InputError(f"seconds holds {shown(repr(given['seconds']))}; expected times of the images") from None
        return cls(
            label=np.full(N, NO_LABEL) if label is None else label,
            idx=np.arange(N) if idx is None else idx,
            seconds=seconds,
            counts=counts,
            n_a=n_a,
            counts0=column("counts0", N, None),
            picked=column("picked"),
            n=_one_n(whole_numbers("n", np.atleast_1d(given["n"]), (None,))) if "n" in given else None,
            paths=paths,
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
        total = _one_n(self.counts.sum(axis=1)) or self.n or 0
        if self.n not in (None, total):
            raise InputError(f"n={self.n}, and the counts of an image add up to {total}")
        return total

    def counted(self, rule: Rule, bound: str, classes: int | None) -> Counted:
        """The counts as a table holds them. Raises InputError where the class is not known, or does not fit them."""
        if self.counts is not None:
            return Counted(*self._selection(bound, self.counts.shape[1]), self.counts, False)
        assert self.n_a is not None
        named = (self.label, np.zeros(0) if self.picked is None else self.picked)
        largest = 1 + max(int(np.max(each, initial=0)) for each in named)
        K, N = classes or (largest if self.counts0 is None else self.counts0.shape[1]), len(self.n_a)
        if N * (K + 1) > MOST_VALUES:
            raise InputError(f"{N:,} images of {K:,} classes are more than a table holds: make several")
        n0, counts0 = self._selection(bound, K)
        drawn = [rule.n] * N if self.paths is None else [rule.samples(path.tolist()) for path in self.paths]
        samples = np.array(drawn, np.int64)
        if np.any(wrong := (self.n_a > samples) | (samples == 0)):
            row = int(np.flatnonzero(wrong)[0])
            looks = "" if self.paths is None else f", by path {shown(self.paths[row].tolist())}"
            raise InputError(
                f"the picked class of row {row} came out {self.n_a[row]} times in {samples[row]} samples{looks}, which "
                f"rule {rule.name} cannot give: it looks where its next_look(path) says"
            )
        counts = np.zeros((N, K + 1), np.int64)
        counts[np.arange(N), counts0.argmax(axis=1)] = self.n_a
        counts[:, K] = samples - self.n_a
        return Counted(n0, np.pad(counts0, ((0, 0), (0, 1))), counts, True)

    def table(self, header: Header, counted: Counted, name: str, **origin: Any) -> Certificates:
        """The table that `header` and the class counts of these images make; `origin` holds machine and u, if given.

        Under the randomised bound uniform numbers are drawn from the operating system, unless they are given.
        """
        if header.bound == "randomised" and "u" not in origin:
            origin["u"] = np.array([(randbits(52) + 0.5) / 2.0**52 for _ in self.idx])  # midpoints: none is 0 or 1
        columns = {"idx": self.idx, "label": self.label, "seconds": self.seconds}
        columns |= {"counts0": counted.counts0, "counts": counted.counts}
        return from_evidence(header, **columns, paths=self.paths, name=name, **origin)  # type: ignore[arg-type]

    def _selection(self, bound: str, K: int) -> tuple[int | None, Ints]:
        """n0, or None, and counts0 (N, K)."""
        picked = self.picked
        if self.counts0 is not None:
            sums = np.unique(self.counts0.sum(axis=1))
            if self.counts0.shape[1] != K or len(sums) > 1:
                raise InputError(
                    f"counts0 counts {self.counts0.shape[1]} classes of {K}, and adds up to {shown(sums.tolist())}; a "
                    "table has one n0: else give picked, the classes that they picked, instead"
                )
            if picked is not None and not np.array_equal(picked, self.counts0.argmax(axis=1)):
                raise InputError("picked is not the most frequent class of counts0: give one of them")
            return int(sums[0]) if len(sums) else 1, self.counts0
        if picked is None and bound == "any-class" and self.counts is not None:
            picked = self.counts.argmax(axis=1)
        if picked is None:
            raise InputError(PICKED if self.counts is not None else f"picked is missing: {PICKED}")
        wrong = np.flatnonzero(picked >= K)
        if len(wrong):
            raise InputError(f"picked={picked[wrong[0]]} in row {wrong[0]} is not among the {K} classes")
        return None, marked(picked, K)


def _counts(given: Mapping[str, Any], paths: list[Ints] | None) -> tuple[Ints | None, Ints | None]:
    """The counts of all classes (N, K), or those of the picked one (N,): one of the two is None."""
    for name in ("counts", "n_A"):
        if name in given:
            found: Any = given[name]
            if name == "counts" and np.iterable(found) and not len(found):  # type: ignore[arg-type]
                raise InputError("counts holds no images; expected a row for each")
            wide = np.iterable(found) and np.ndim(next(iter(found), 0)) > 0
            numbers = whole_numbers(name, found, (None, None) if wide else (None,))
            return (numbers, None) if wide else (None, numbers)
    if paths is None:
        raise InputError("counts are missing: how often each class came out, or n_A, how often the picked class did")
    return None, np.array([path[-1] if len(path) else 0 for path in paths], np.int64)


def _one_n(samples: Ints) -> int:
    """The one number of `samples` that all images have; InputError where it differs. 0 where there is no image."""
    least, most = (int(samples.min()), int(samples.max())) if len(samples) else (0, 0)
    if least < most:
        raise InputError(
            f"images have from {least:,} to {most:,} samples, and a table of the fixed rule has one n. If each number "
            "was set beforehand, make a table for each; if samples stopped once they sufficed, Clopper-Pearson does "
            "not hold for them: the rules that may stop are anytime, grid, dense and radius=R"
        )
    if most:
        check_samples("n", most)
    return most
