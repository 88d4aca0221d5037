"""The certificate table: class counts are the evidence, everything else is derived from them.

First the columns of evidence, a row of COLUMNS each, and what no certification can have counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.header import Header, Machine, guarantee_of, rule_of
from randsmooth.certificates.settings import check_belong
from randsmooth.documents import shown
from randsmooth.errors import WrongTable
from randsmooth.escape import printable, shortened
from randsmooth.noise import NORMS, Gaussian, GaussianPerCoordinate, InNorm, Noise
from randsmooth.rules import MOST_SAMPLES, Evidence, Rule

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

ABSTAIN = -1
NO_LABEL = -1  # in place of the label of every image of data that have none
ADDRESS = 32  # bytes of an image's address
NAMED = 5  # images that an error lists
ATTRS = "randsmooth"  # the key in a DataFrame's attrs
STANDARD = Gaussian(1.0)
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
ARRAYS = tuple(
    name for name in COLUMNS if name != "path"
)  # (N, ...); of looks, each image has an array of its own


def check_columns(
    header: Header, columns: Mapping[str, Any], paths: Sequence[Array] | None
) -> None:
    """Raise Problem unless these are N rows of K classes, each of another image, in the shapes and types of COLUMNS.

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
        raise WrongTable(f"there are looks of {len(paths):,} images, and {N:,} images")
    check_images(idx)
    seconds, machine, u = columns["seconds"], columns["machine"], columns["u"]
    refuse(
        idx,
        ~(np.isfinite(seconds) & (seconds >= 0)),
        lambda row: f"took {seconds[row]} seconds",
    )
    if machine is not None:
        known = (machine >= -1) & (machine < len(header.machines))
        refuse(
            idx,
            ~known,
            lambda row: (
                f"is of machine {machine[row]}, and the header tells {len(header.machines)}"
            ),
        )
    if (u is None) == (header.bound == "randomised") or not (
        u is None or np.all((u > 0.0) & (u < 1.0))
    ):
        raise WrongTable(
            f"bound={header.bound} with u={shown(u)}: randomised, and no other, has numbers within (0, 1)"
        )


def _check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    dtype = COLUMNS[name].dtype
    numbers = (
        isinstance(array, np.ndarray)
        and array.shape == shape
        and array.dtype.kind in "iuf"
    )
    if not (numbers and np.can_cast(array.dtype, dtype, "same_kind")):
        got = (
            f"{array.dtype} {array.shape}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        raise WrongTable(
            f"{name} must be an array of {dtype.__name__} of shape {shape}; got {got}"
        )


def refuse(idx: Array, wrong: ArrayLike, say: Callable[[int], str]) -> None:
    """Raise Problem for the first of the images `idx` (N,) that is `wrong` (N,), with what `say` says of its row."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise WrongTable(f"image {idx[rows[0]]} {say(int(rows[0]))}")


def check_images(idx: Array) -> None:
    """Raise Problem for an image below 0, or there twice."""
    refuse(idx, idx < 0, lambda row: "is not a position; positions start at 0")
    unique, times = np.unique(idx, return_counts=True)
    if len(unique) < len(idx):
        raise WrongTable(
            f"the table holds image {unique[times > 1][0]} twice; {PUT_TOGETHER}"
        )


def check_evidence(
    header: Header, rule: Rule, evidence: Evidence, counts0: Ints, label: Ints
) -> None:
    """Raise Problem unless a certification under `header` by `rule` can have given these counts and labels.

    Args:
        header: of the table; its classes, n0, bound, lumped and label_aware are used.
        rule: the one that it names.
        evidence: the samples of N images that bound p_A.
        counts0: (N, K) class counts of the samples that picked the class.
        label: (N,) true classes, or NO_LABEL for all images.
    """
    idx, picked, K = (
        evidence.idx,
        evidence.picked,
        evidence.counts.shape[1] - header.lumped,
    )
    if header.classes is not None and len(header.classes) != K:
        raise WrongTable(
            f"the header names {len(header.classes)} classes, and {K} are counted"
        )
    if header.lumped and header.bound in ("two-sided", "pairwise"):
        raise WrongTable(
            f"bound={header.bound} needs the counts of all classes; only the picked one was counted"
        )
    _check_sums("counts0", counts0, np.full(len(idx), header.selected), idx)
    if header.n0 == 0:
        _check_marks(header, rule, evidence, label)
    _check_looks(rule, evidence, (picked == label) | (not header.gives_up_others))
    unlabelled = len(label) > 0 and bool((label == NO_LABEL).all())
    if unlabelled and header.label_aware:
        raise WrongTable(
            "the header is label-aware, and the images have no labels: certify without --label-aware"
        )
    if not unlabelled:
        _check_known("label", label, K, idx)
    _check_known("picked class", picked, K, idx)


def _check_known(what: str, classes: Ints, K: int, idx: Ints) -> None:
    outside = (classes < 0) | (classes >= K)
    refuse(
        idx,
        outside,
        lambda row: f"has {what} {classes[row]}, and {K} classes are counted",
    )


def _check_sums(what: str, counts: Ints, total: Ints, idx: Ints) -> None:
    outside = (counts < 0) | (
        counts > total[:, None]
    )  # the sum of very large ones overflows, and would not show it
    wrong = (counts.sum(axis=1) != total) | outside.any(axis=1)
    refuse(
        idx,
        wrong,
        lambda row: (
            f"has {what} {shown(counts[row].tolist())}, not of sum {total[row]}: damaged"
        ),
    )


def _check_marks(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Raise Problem unless the class, which no samples picked, is one that the header's settings bound."""
    if not (header.label_aware or rule.any_class):
        said = f"rule={shown(repr(header.rule))} with bound={shown(str(header.bound))} does not hold for it"
        raise WrongTable(
            f"n0=0: no other samples picked the class, and {said}: give their n0, or bound='any-class'"
        )
    meant = label if header.label_aware else evidence.counts.argmax(axis=1)
    what = "label" if header.label_aware else "most frequent class"
    refuse(
        evidence.idx,
        evidence.picked != meant,
        lambda row: f"marks another class than its {what}: damaged",
    )


def _check_looks(rule: Rule, evidence: Evidence, walked: NDArray[np.bool_]) -> None:
    """Raise Problem unless each path is one that the rule allows, may end there, and ends in the image's counts.

    Where an image was not `walked` (N,), because its class is not the label, it has no path.
    """
    paths = [path.tolist() for path in evidence.paths]
    taken = [
        rule.samples(path if walks else [])
        for path, walks in zip(paths, walked, strict=True)
    ]
    _check_sums("counts", evidence.counts, np.array(taken, np.int64), evidence.idx)
    n_a = np.take_along_axis(evidence.counts, evidence.picked[:, None], axis=1)[:, 0]

    def torn(path: list[int], n_a: int) -> bool:
        falls = any(later < earlier for earlier, later in pairwise(path))
        return falls or not rule.complete(path) or path[-1] != n_a

    wrong = [
        torn(p, k) if walks else len(p) > 0
        for p, k, walks in zip(paths, n_a, walked, strict=True)
    ]
    refuse(
        evidence.idx, wrong, lambda row: "has looks that do not fit its counts: damaged"
    )


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
    keys = [
        "" if machine is None else machine.model_dump_json() for machine in machines
    ]
    once = {
        key: machine
        for key, machine in zip(keys, machines, strict=True)
        if machine is not None
    }
    places = {"": -1} | {key: place for place, key in enumerate(once)}
    return tuple(once.values()), np.array([places[key] for key in keys], np.int64)


def in_bytes(address: int) -> bytes:
    """The address of an image (see `noise.address_of`) as it is hashed and stored."""
    return address.to_bytes(ADDRESS, "little")


def hashed_images(labels: Ints, addresses: Iterable[bytes]) -> str:
    """A hash of labels (N,), and of the images with these N addresses (see `in_bytes`), in their order.

    By it a run is known to be about the same images.
    """
    return (
        "sha256, every image: "
        + hashlib.sha256(
            b"".join([labels.astype("<i8").tobytes(), *addresses])
        ).hexdigest()
    )


@dataclass(frozen=True)
class Certificates:
    """N certificates under one base classifier and one noise.

    Attributes:
        header: the facts that all rows share.
        name: what to call the table in a comparison; usually the name of its file.
        idx: (N,) position of the image in its split.
        label: (N,) true class; NO_LABEL (-1) throughout where the images have none.
        predict: (N,) certified class, or ABSTAIN (-1).
        radius: (N,) certified radius in the table's `norm`, 0 where abstained. `noise.NORMS[table.norm].title` says the
            unit: of L2 and L1 that of pixels in [0, 1] or of the features, of L0 the number of pixels that may change,
            under "0.25std" standard deviations of each feature.
        seconds: (N,) time that each image took.
        counts0: (N, K) how often each class came out in the n0 samples that picked the class; None for a log. Where
            there were none it marks the class with a 1 (see `Header.n0`).
        counts: (N, K) how often each class came out in the samples that bound p_A; None for a log. Both have one more
            column, for all other answers, where only the picked class was counted (see `Header.lumped`).
        paths: for each image, how often the picked class had come out at each look; None as for counts.
        q: (N,) upper bound on 1 - p_A that the counts prove, or that a log states; None for other logs.
        machine: (N,) which of `header.machines` made each row, -1 for the one that the header itself tells; None where
            that one made all.
        image: (N, 32) a hash of each image's pixels; None but for a shard (see `JournalRow`).
        u: (N,) the uniform numbers, in (0, 1), by which the randomised bound judged each image; None for other bounds.
        sigmas: (N,) the sigma of each image, of a log that states several; None where the header tells the noise.
        converted: the noise as seen in another norm, if the radii were converted to it (see `in_norm`).

    Example:
        >>> counts0 = np.array([[98, 2], [57, 43], [46, 54]])  # of other samples than those that bound p_A
        >>> counts = np.array([[990, 10], [600, 400], [480, 520]])
        >>> header = Header(sigma=0.5, n0=100, n=1000, alpha=0.001)
        >>> label, seconds = np.zeros(3, np.int64), np.zeros(3)
        >>> table = from_evidence(
        ...     header, idx=np.arange(3), label=label, counts0=counts0, counts=counts, seconds=seconds
        ... )
        >>> table.predict.tolist(), table.radius.round(3).tolist()
        ([0, 0, -1], [0.989, 0.064, 0.0])
        >>> table.at(n=100).radius.round(3).tolist()  # a random 100 of the same samples
        [0.75, 0.0, 0.0]
    """

    header: Header
    idx: Ints
    label: Ints
    predict: Ints
    radius: Floats
    seconds: Floats
    counts0: Ints | None = None
    counts: Ints | None = None
    paths: tuple[Ints, ...] | None = None
    q: Floats | None = None
    machine: Ints | None = None
    image: Bytes | None = None
    u: Floats | None = None
    sigmas: Floats | None = None
    converted: InNorm | None = None
    name: str = field(default="")

    def __len__(self) -> int:
        return len(self.idx)

    def __repr__(self) -> str:
        n = "" if self.header.n is None else f"n {self.header.n:,}"
        seen = "" if self.converted is None else f"{NORMS[self.norm].label} radii"
        known = [words for words in (self.header.noise_words, seen, n) if words]
        kind = "a log" if self.is_log else f"rule {self.header.rule}"
        source = " ".join(
            shortened(printable(word))
            for word in (self.header.dataset, self.header.split)
            if word
        )
        images = f"{len(self):,} of {source}" if source else f"{len(self):,} images"
        return f"Certificates({self.name!r}: {', '.join([images, *known, kind])})"

    @property
    def is_log(self) -> bool:
        """Whether the table was read from a published log, which holds radii but no class counts."""
        return self.counts is None

    @property
    def smoothing(self) -> Noise:
        """The noise, which knows radii in the table's norm. Problem where there is none of all images."""
        if self.sigmas is not None:
            raise WrongTable(
                f"{self.name or 'this log'}: {_of_each(self.sigmas)}, so there is no one noise of all"
            )
        return self.converted or self.header.smoothing

    @property
    def stated_q(self) -> Floats:
        """(N,) the upper bound on 1 - p_A that a log states in a column, or by its radii.

        Raises:
            Problem: sigma is not known.

        Example:
            >>> from randsmooth.certificates import from_radii
            >>> from_radii([0.5, 1.0], sigma=0.5).stated_q.round(4).tolist()  # 1 and 2 sigma
            [0.1587, 0.0228]
        """
        if self.q is not None:
            return self.q
        if self.sigmas is not None:
            return STANDARD.tail(self.radius / self.sigmas)
        return self.smoothing.tail(self.radius)

    @property
    def norm(self) -> str:
        """The norm of the radii, one of `noise.NORMS`: that of the noise, unless `in_norm` changed it."""
        return self.header.norm if self.converted is None else self.converted.norm

    @property
    def proved_in(self) -> str:
        """The norm of the radii that its own follow from: another one only where the noise has no proof in `norm`."""
        apart = (
            self.converted is not None
            and self.norm in self.converted.noise.proves_apart
        )
        return self.norm if apart else self.header.norm

    @property
    def labelled(self) -> bool:
        """Whether the images have labels: without them, nothing is known of accuracy."""
        return not (self.label == NO_LABEL).any()

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(N,) whether the certified class is the label; False for an abstention, and where there is no label."""
        return np.asarray((self.predict == self.label) & (self.label != NO_LABEL))

    @property
    def samples(self) -> Ints:
        """(N,) how many samples each image took, including those that picked the class, where they are known."""
        counts0, counts = self.evidence()
        picking = counts0.sum(axis=1) if self.header.n0 else 0
        return np.asarray(picking + counts.sum(axis=1))

    @property
    def rule(self) -> Rule:
        """The rule by which the certificates were judged. Raises Problem for a log, which does not say."""
        return rule_of(self.header)

    def class_name(self, index: int) -> str:
        """What class `index` is called; a dash for NO_LABEL."""
        if index == NO_LABEL:
            return "–"
        return self.header.classes[index] if self.header.classes else str(index)

    def evidence(self) -> tuple[Ints, Ints]:
        """counts0 and counts, both (N, K).

        Raises:
            Problem: the table comes from a log that kept radii only.
        """
        if self.counts0 is None or self.counts is None:
            raise WrongTable(
                f"{self.name or 'this log'} has no counts: keep its own n and alpha, or certify again"
            )
        return self.counts0, self.counts

    def at(
        self, *, alpha: float | None = None, n: int | None = None, seed: int = 0
    ) -> Certificates:
        """The same evidence judged at another `alpha`, or with a smaller `n`.

        For a smaller n, a random subset of each image's samples is drawn without replacement, so that the result is
        distributed exactly as a fresh certification with n samples. `seed` determines the subset.

        Raises:
            Problem: no counts, alpha outside (0, 1), n above the stored n or too small for alpha, or a rule other
                than fixed, whose certificates hold at their own n and alpha only.
        """
        counts0, counts = self.evidence()
        if self.header.rule != "fixed":
            made = f"{self.name or 'this table'} was certified by --rule {self.header.rule}"
            raise WrongTable(
                f"{made}, which holds at its own n and alpha alone; for others, certify with --rule fixed"
            )
        judged = _judged(self.header, n, alpha, seed)
        if judged.n != self.header.n:
            counts = _thinned(counts, judged.n or 0, seed)
            if judged.n0 == 0 and not judged.label_aware:
                counts0 = marked(counts.argmax(axis=1), counts.shape[1])
        columns = {name: getattr(self, name) for name in ARRAYS} | {
            "counts0": counts0,
            "counts": counts,
        }
        return from_evidence(judged, **columns, name=self.name)._seen_by(self.converted)

    def in_norm(self, norm: str, *, shape: Sequence[int] = ()) -> Certificates:
        """This table with the radii in `norm` that follow from its own by a proof (see `noise.Noise.convert`).

        It is for reports. A file holds the evidence and the radii of the noise's own norm: write the table itself.

        Args:
            norm: one of `noise.NORMS`; that of the noise gives its own radii again.
            shape: of an input, such as (1, 28, 28), which radii in "linf" take.

        Raises:
            Problem: the noise is not known, proves nothing in `norm`, or takes the shape.

        Example:
            >>> from randsmooth.certificates import from_counts
            >>> table = from_counts([990, 480], n=1000, picked=[3, 5], label=[3, 5], sigma=0.5, name="mine")
            >>> table.in_norm("l1")
            Certificates('mine': 2 images, sigma 0.5, L1 radii, n 1,000, rule fixed)
            >>> table.in_norm("linf", shape=(4, 4)).radius.round(3).tolist()  # a fourth
            [0.247, 0.0]
        """
        if self.converted is not None:
            raise WrongTable(
                f"{self.name or 'this table'} has {self.norm} radii already: start from the table as read"
            )
        if norm == self.norm:
            return self
        noise = self.smoothing
        if isinstance(noise, GaussianPerCoordinate):
            shape = noise.std.shape  # complete in a header
        return self._seen_by(InNorm(noise, norm, tuple(shape)))

    def _seen_by(self, noise: InNorm | None) -> Certificates:
        return (
            self
            if noise is None
            else replace(self, radius=noise.from_own(self.radius), converted=noise)
        )

    def assuming(
        self,
        *,
        sigma: float | None = None,
        n: int | None = None,
        alpha: float | None = None,
    ) -> Certificates:
        """This table with the facts that its header lacks, such as all three of a log's; known ones are kept.

        Raises:
            Problem: a sigma for a log that states one for each image.
        """
        given = {"sigma": sigma, "n": n, "alpha": alpha}
        if sigma is not None and self.sigmas is not None:
            raise WrongTable(
                f"{self.name or 'this log'}: {_of_each(self.sigmas)}: leave sigma out; got sigma={sigma:g}"
            )
        new = {
            key: value
            for key, value in given.items()
            if value is not None and getattr(self.header, key) is None
        }
        return replace(self, header=self.header.replace(**new)) if new else self

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Certificates:
        """The rows where `keep` (N,) is True, or the rows numbered `keep` (M,), in that order."""
        columns = {
            name: getattr(self, name)
            for name in (*ARRAYS, "predict", "radius", "q", "sigmas")
        }
        kept: dict[str, Any] = {
            name: column[keep] for name, column in columns.items() if column is not None
        }
        if self.paths is not None:
            kept["paths"] = tuple(self.paths[row] for row in np.arange(len(self))[keep])
        return replace(self, **kept)

    def derived(self) -> dict[str, NDArray[Any]]:
        """What follows from the evidence: predict, radius, correct (where there are labels), picked, n_A and p_lower.

        Each is (N,), for people who look at a table; files hold them, and they are never read back.

        Raises:
            Problem: a table without counts.
        """
        counts0, counts = self.evidence()
        evidence = Evidence.of(
            counts0, counts, idx=self.idx, paths=self.paths, u=self.u
        )
        q = (
            self.rule.claims(evidence)[0] if self.q is None else self.q
        )  # a table made by hand has none yet
        n_a = np.take_along_axis(counts, evidence.picked[:, None], axis=1)[:, 0]
        judged = {"predict": self.predict, "radius": self.radius} | (
            {"correct": self.correct} if self.labelled else {}
        )
        return judged | {"picked": evidence.picked, "n_A": n_a, "p_lower": 1.0 - q}

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with one row an image: the evidence, what follows from it, and the header in `attrs`.

        Columns: idx, label, predict, radius, correct, picked, n_A, p_lower, path, counts0, counts and seconds, where
        path and counts are lists, and machine, if the table has it; of a log idx, label, predict, radius, correct and
        seconds, and sigma, if images have several. counts0 is left out where n0 is not known, and of counts of the
        picked class alone there are n_A and n.

        Example:
            >>> from randsmooth.certificates import from_counts
            >>> table = from_counts([990, 480], n=1000, picked=[3, 5], label=[3, 5], sigma=0.5, name="mine")
            >>> frame = table.to_pandas()
            >>> frame[["label", "predict", "n_A"]].values.tolist()
            [[3, 3, 990], [5, -1, 480]]
        """
        import pandas as pd  # here, since it takes long to load

        log = {
            name: getattr(self, name)
            for name in ("idx", "label", "predict", "radius", "correct", "seconds")
        }
        if self.sigmas is not None:
            log["sigma"] = self.sigmas
        frame = pd.DataFrame(log if self.is_log else _counted(self))
        frame.attrs[ATTRS] = {
            "header": self.header.model_dump(mode="json"),
            "name": self.name,
        }
        return frame

    def renamed(self, name: str) -> Certificates:
        return replace(self, name=name)


def _of_each(sigmas: Floats) -> str:
    """What is said of images with several sigmas."""
    return f"each image has a sigma of its own, {sigmas.min():g} to {sigmas.max():g}"


def _judged(header: Header, n: int | None, alpha: float | None, seed: int) -> Header:
    """The header of the same evidence at another `n` or `alpha`, with notes and a guarantee that say so."""
    changed: dict[str, Any] = {}
    notes = header.notes
    if n is not None and n != header.n:
        changed["n"], notes = n, (*notes, f"n {header.n} thinned to {n}, seed {seed}")
    if alpha is not None and alpha != header.alpha:
        changed["alpha"], notes = (
            alpha,
            (*notes, f"alpha {header.alpha} recomputed as {alpha}"),
        )
    judged = header.replace(**changed, notes=notes)
    return (
        judged
        if header.guarantee is None
        else judged.replace(guarantee=guarantee_of(judged))
    )


def _counted(table: Certificates) -> dict[str, Any]:
    """The columns of a table with counts. Those that only mark the class, or all other answers, are left out.

    Read elsewhere, they would be taken for samples; and so would the class that the samples themselves picked be taken
    for one that was picked without them, if it had the same name.
    """
    counts0, counts = table.evidence()
    columns: dict[str, Any] = {"idx": table.idx, "label": table.label} | table.derived()
    if table.header.bound == "any-class":
        columns["most_frequent"] = columns.pop("picked")
    if table.paths is not None:
        columns["path"] = [path.tolist() for path in table.paths]
    if table.header.n0:
        columns["counts0"] = counts0[
            :, : counts0.shape[1] - table.header.lumped
        ].tolist()
    columns |= (
        {"n": counts.sum(axis=1)}
        if table.header.lumped
        else {"counts": counts.tolist()}
    )
    made = {"seconds": table.seconds, "machine": table.machine, "u": table.u}
    return columns | {
        name: values for name, values in made.items() if values is not None
    }


def marked(classes: Ints, K: int) -> Ints:
    """(N, K) a 1 for the class of each row."""
    marks = np.zeros((len(classes), K), np.int64)
    marks[np.arange(len(classes)), classes] = 1
    return marks


def _thinned(counts: Ints, n: int, seed: int) -> Ints:
    """Counts (N, K) of a random n of each row's samples, drawn without replacement."""
    stored = int(counts.sum(axis=1).max(initial=0)) if len(counts) else n
    if not 1 <= n <= stored:
        raise WrongTable(
            f"n={n} is not among the 1..{stored} samples that the table holds; certify again for more"
        )
    if stored >= MOST_SAMPLES:
        raise WrongTable(
            f"the table holds {stored:,} samples per image; NumPy can thin fewer than {MOST_SAMPLES:,}"
        )
    rng = np.random.default_rng(seed)
    rows = [
        rng.multivariate_hypergeometric(row, min(n, row.sum()), method="marginals")
        for row in counts
    ]
    return np.array(rows, np.int64).reshape(counts.shape)


def decide(rule: Rule, evidence: Evidence) -> tuple[Ints, Floats]:
    """The certified class and radius of each image.

    Args:
        rule: by which the samples were drawn.
        evidence: the samples of N images.

    Returns:
        predict: (N,) class or ABSTAIN.
        radius: (N,) certified radius, 0 where nothing is certified.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> counts0, counts = np.array([[98, 2], [55, 45]]), np.array([[990, 10], [480, 520]])
        >>> rule = make_rule("fixed", noise=Gaussian(0.5), n=1000, alpha=0.001)
        >>> predict, radius = decide(rule, Evidence.of(counts0, counts))
        >>> predict.tolist(), radius.round(3).tolist()
        ([0, -1], [0.989, 0.0])
    """
    q, radius = rule.claims(evidence)
    return _certified(rule, evidence, q, radius), radius


def _certified(rule: Rule, evidence: Evidence, q: Floats, radius: Floats) -> Ints:
    return np.where(rule.certifies(q, radius), evidence.picked, ABSTAIN).astype(
        np.int64
    )


def from_evidence(
    header: Header,
    *,
    idx: Ints,
    label: Ints,
    counts0: Ints,
    counts: Ints,
    seconds: Floats,
    paths: Sequence[Ints] | None = None,
    machine: Ints | None = None,
    image: Bytes | None = None,
    u: Floats | None = None,
    name: str = "",
) -> Certificates:
    """The table that follows from the counts under the header's rule. Shapes as in `Certificates`.

    Without `paths`, every image was looked at once, when its samples were complete.

    Raises:
        Problem: an array of another shape or type, an image below 0 or one that occurs twice, impossible times,
            counts that are negative or not as many as the rule asks for, a label that is not among the K classes (or
            NO_LABEL beside labels), an image that the header's selection or shard does not hold, a machine that it does
            not tell, uniform numbers that are missing or that no bound asked for, or a budget that certifies nothing.

    Example:
        >>> counts0, counts = np.array([[98, 2], [55, 45]]), np.array([[990, 10], [480, 520]])
        >>> table = from_evidence(
        ...     Header(sigma=0.5, n0=100, n=1000, alpha=0.001),
        ...     idx=np.arange(2),
        ...     label=np.array([0, 1]),
        ...     counts0=counts0,
        ...     counts=counts,
        ...     seconds=np.zeros(2),
        ... )
        >>> table.predict.tolist(), table.radius.round(3).tolist()
        ([0, -1], [0.989, 0.0])
    """
    rule = rule_of(header)
    given = (idx, label, counts0, counts, seconds, machine, image, u)
    columns: dict[str, Any] = dict(zip(ARRAYS, given, strict=True))
    check_columns(header, columns, paths)
    check_belong(header.selection, header.shard, idx)
    evidence = Evidence.of(counts0, counts, idx=idx, paths=paths, u=u)
    check_evidence(header, rule, evidence, counts0, label)
    q, radius = rule.claims(evidence)
    predict = _certified(rule, evidence, q, radius)
    return Certificates(
        header,
        predict=predict,
        radius=radius,
        q=q,
        paths=evidence.paths,
        name=name,
        **columns,
    )
