"""The certificate table: class counts are the evidence, everything else is derived from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates.header import Header
from randsmooth.errors import InputError

ABSTAIN = -1

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Certificates:
    """N certificates under one base classifier and one sigma.

    Attributes:
        header: what the rows share.
        name: what to call the table in a comparison (the file's name, mostly).
        idx: (N,) position of the image in its split.
        label: (N,) true class.
        predict: (N,) certified class, or ABSTAIN (-1).
        radius: (N,) certified L2 radius in units of pixels in [0, 1]; 0 where abstained.
        seconds: (N,) time each took.
        counts0: (N, K) how often each class came out of the n0 selection samples; None for a published log.
        counts: (N, K) likewise for the n estimation samples; None for a published log.
    """

    header: Header
    idx: Ints
    label: Ints
    predict: Ints
    radius: Floats
    seconds: Floats
    counts0: Ints | None = None
    counts: Ints | None = None
    name: str = field(default="")

    def __len__(self) -> int:
        return len(self.idx)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(N,) certified class is the label (an abstention is not)."""
        return np.asarray(self.predict == self.label)

    @property
    def num_classes(self) -> int:
        """K, from the header or the counts; for a log, the largest class that occurs plus one."""
        if self.header.classes:
            return len(self.header.classes)
        if self.counts is not None:
            return int(self.counts.shape[1])
        return int(max(self.label.max(initial=0), self.predict.max(initial=0))) + 1

    def class_name(self, index: int) -> str:
        return self.header.classes[index] if self.header.classes else str(index)

    def evidence(self) -> tuple[Ints, Ints]:
        """counts0 and counts, both (N, K).

        Raises:
            InputError: the table comes from a log that kept radii only.
        """
        if self.counts0 is None or self.counts is None:
            raise InputError(
                f"{self.name or 'this table'} holds radii but no class counts (a published log), so it "
                "cannot be recomputed for another alpha or n; certify again to get a table with its evidence"
            )
        return self.counts0, self.counts

    def at(self, *, alpha: float | None = None, n: int | None = None, seed: int = 0) -> Certificates:
        """The same evidence judged at another `alpha`, or on a smaller `n`.

        A smaller n takes a random subset of each image's samples without replacement, so the result is
        distributed exactly as a fresh certification with n samples would be. `seed` picks the subset.

        Raises:
            InputError: no counts, alpha outside (0, 1), n above the stored n or too small for alpha.
        """
        counts0, counts = self.evidence()
        header, notes = self.header, list(self.header.notes)
        if n is not None and n != header.n:
            counts = thin(counts, n, seed)
            notes.append(f"n {header.n} thinned to {n}, seed {seed}")
        if alpha is not None and alpha != header.alpha:
            notes.append(f"alpha {header.alpha} recomputed as {alpha}")
        update = {
            "alpha": header.alpha if alpha is None else alpha,
            "n": header.n if n is None else n,
            "notes": tuple(notes),
        }
        return from_counts(
            header.model_copy(update=update),
            idx=self.idx,
            label=self.label,
            counts0=counts0,
            counts=counts,
            seconds=self.seconds,
            name=self.name,
        )

    def assuming(self, *, sigma: float | None = None, n: int | None = None, alpha: float | None = None) -> Certificates:
        """This table with the facts that its header lacks (a log says none of the three); known ones stay."""
        given = {"sigma": sigma, "n": n, "alpha": alpha}
        missing = {key: value for key, value in given.items() if getattr(self.header, key) is None}
        return replace(self, header=self.header.model_copy(update=missing))

    def rows(self, keep: NDArray[np.bool_]) -> Certificates:
        """The rows where `keep` (N,) is True."""
        return replace(
            self,
            idx=self.idx[keep],
            label=self.label[keep],
            predict=self.predict[keep],
            radius=self.radius[keep],
            seconds=self.seconds[keep],
            counts0=None if self.counts0 is None else self.counts0[keep],
            counts=None if self.counts is None else self.counts[keep],
        )

    def renamed(self, name: str) -> Certificates:
        return replace(self, name=name)


def check_budget(n0: int, n: int, alpha: float) -> None:
    """Raise InputError for a budget that could not certify any image."""
    bounds.check_alpha(alpha)
    if n0 < 1:
        raise InputError(f"n0={n0} samples cannot pick a class; n0=100 is usual, 1 the least")
    least = bounds.smallest_n(alpha)
    if n < least:
        raise InputError(f"alpha={alpha} needs n >= {least} to certify anything; got n={n}")


def thin(counts: Ints, n: int, seed: int) -> Ints:
    """Counts (N, K) of a random n of each row's samples, drawn without replacement."""
    stored = int(counts[0].sum()) if len(counts) else n
    if not 1 <= n <= stored:
        raise InputError(f"n={n} is not among the 1..{stored} samples that the table holds; certify again for more")
    rng = np.random.default_rng(seed)
    rows = [rng.multivariate_hypergeometric(row, n, method="marginals") for row in counts]
    return np.array(rows, np.int64).reshape(counts.shape)


def decide(counts0: Ints, counts: Ints, sigma: float, alpha: float) -> tuple[Ints, Floats]:
    """Certified class and radius of each row (Cohen et al. 2019, CERTIFY).

    Args:
        counts0: (N, K) pick the class.
        counts: (N, K) of other samples bound its probability.

    Returns:
        predict: (N,) class or ABSTAIN.
        radius: (N,) sigma * Phi^-1(p_lower), 0 where p_lower <= 1/2.
    """
    picked = counts0.argmax(axis=1)
    n_a = np.take_along_axis(counts, picked[:, None], axis=1)[:, 0]
    q = bounds.lower_tail(n_a, counts.sum(axis=1), alpha)
    return np.where(q < 0.5, picked, ABSTAIN).astype(np.int64), bounds.radius_of_tail(q, sigma)


def from_counts(
    header: Header,
    *,
    idx: Ints,
    label: Ints,
    counts0: Ints,
    counts: Ints,
    seconds: Floats,
    name: str = "",
) -> Certificates:
    """The table that `header.sigma`, `header.alpha` and the counts imply. Shapes as in `Certificates`.

    Raises:
        InputError: a row's counts are negative or do not sum to the header's n0 or n, a label is not among the
            K classes, or the budget certifies nothing.
    """
    sigma, alpha, n0, n = header.sigma, header.alpha, header.n0, header.n
    if sigma is None or alpha is None or n0 is None or n is None:
        raise InputError("a table of counts needs sigma, alpha, n0 and n in its header")
    check_budget(n0, n, alpha)
    _check_sums("counts0", counts0, n0, idx)
    _check_sums("counts", counts, n, idx)
    _check_labels(label, counts.shape[1], idx)
    predict, radius = decide(counts0, counts, sigma, alpha)
    return Certificates(header, idx, label, predict, radius, seconds, counts0, counts, name)


def _check_sums(what: str, counts: Ints, total: int, idx: Ints) -> None:
    wrong = np.flatnonzero((counts.sum(axis=1) != total) | (counts < 0).any(axis=1))
    if len(wrong):
        row = wrong[0]
        fault = "are below 0" if (counts[row] < 0).any() else f"sum to {counts[row].sum()}, not to {total}"
        raise InputError(f"{what} of image {idx[row]} {fault}: the table is damaged")


def _check_labels(label: Ints, num_classes: int, idx: Ints) -> None:
    wrong = np.flatnonzero((label < 0) | (label >= num_classes))
    if len(wrong):
        row = wrong[0]
        raise InputError(f"label {label[row]} of image {idx[row]} is not among the {num_classes} counted classes")
