"""The certificate table: class counts are the evidence, everything else is derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates.header import Header
from randsmooth.certificates.rules import BOUNDS, Evidence, Rule, make_rule
from randsmooth.errors import InputError

ABSTAIN = -1
LABEL_AWARE = " For evaluation only: images whose picked class is not the label were given up."

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
        counts: (N, K) likewise for the estimation samples; None for a published log.
        paths: for each image, how often the picked class had come out at each look; None as for counts.
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
    name: str = field(default="")

    def __len__(self) -> int:
        return len(self.idx)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(N,) certified class is the label (an abstention is not)."""
        return np.asarray(self.predict == self.label)

    @property
    def samples(self) -> Ints:
        """(N,) how many samples each image took, those that picked the class among them."""
        counts0, counts = self.evidence()
        return np.asarray(counts0.sum(axis=1) + counts.sum(axis=1))

    @property
    def rule(self) -> Rule:
        """How the certificates were judged. InputError for a log, which does not say."""
        return rule_of(self.header)

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
            InputError: no counts, alpha outside (0, 1), n above the stored n or too small for alpha, or certificates
                whose samples stopped by what they showed: those hold as they are only.
        """
        counts0, counts = self.evidence()
        if self.header.rule != "fixed":
            raise InputError(
                f"{self.name or 'this table'} was certified by --rule {self.header.rule}, whose looks are "
                "made for its n and alpha; to judge at others, certify with --rule fixed"
            )
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
        judged = header.model_copy(update=update)
        if header.guarantee is not None:
            judged = judged.model_copy(update={"guarantee": guarantee_of(judged)})
        return from_counts(
            judged,
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

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Certificates:
        """The rows where `keep` (N,) is True; or those at the places `keep` (M,), in their order."""
        return replace(
            self,
            idx=self.idx[keep],
            label=self.label[keep],
            predict=self.predict[keep],
            radius=self.radius[keep],
            seconds=self.seconds[keep],
            counts0=None if self.counts0 is None else self.counts0[keep],
            counts=None if self.counts is None else self.counts[keep],
            paths=None if self.paths is None else tuple(self.paths[i] for i in np.arange(len(self))[keep]),
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
    stored = int(counts.sum(axis=1).max(initial=0)) if len(counts) else n
    if not 1 <= n <= stored:
        raise InputError(f"n={n} is not among the 1..{stored} samples that the table holds; certify again for more")
    rng = np.random.default_rng(seed)
    rows = [rng.multivariate_hypergeometric(row, min(n, row.sum()), method="marginals") for row in counts]
    return np.array(rows, np.int64).reshape(counts.shape)


def rule_of(header: Header) -> Rule:
    """The rule that `header` names.

    Raises:
        InputError: sigma, n or alpha are not known, or no such rule.
    """
    if header.sigma is None or header.n is None or header.alpha is None:
        raise InputError("judging counts needs sigma, n and alpha in the header")
    bound = header.bound if header.bound in BOUNDS else "clopper-pearson"
    return make_rule(
        header.rule,
        sigma=header.sigma,
        n=header.n,
        alpha=header.alpha,
        bound=bound,
        seed=header.seed or 0,
        version=header.version,
    )


def guarantee_of(header: Header) -> str:
    """What a certificate under `header` says, in a sentence; in two where images were given up. Errors as `rule_of`."""
    return rule_of(header).guarantee() + (LABEL_AWARE if header.label_aware else "")


def decide(rule: Rule, evidence: Evidence) -> tuple[Ints, Floats]:
    """Certified class and radius of each row.

    Args:
        rule: what the evidence proves.
        evidence: of N images.

    Returns:
        predict: (N,) class or ABSTAIN.
        radius: (N,) certified radius, 0 where nothing is certified.
    """
    q, radius = rule.claims(evidence)
    return np.where(rule.certifies(q, radius), evidence.picked, ABSTAIN).astype(np.int64), radius


def from_counts(
    header: Header,
    *,
    idx: Ints,
    label: Ints,
    counts0: Ints,
    counts: Ints,
    seconds: Floats,
    paths: Sequence[Ints] | None = None,
    name: str = "",
) -> Certificates:
    """The table that the header's rule and the counts imply. Shapes as in `Certificates`.

    Without `paths`, every image was looked at once, when its samples were complete.

    Raises:
        InputError: a row's counts are negative or not as many as the rule asks for, a label is not among the K
            classes, or the budget certifies nothing.
    """
    rule = rule_of(header)
    check_budget(header.n0 or 0, rule.n, rule.alpha)
    evidence = Evidence.of(counts0, counts, idx=idx, paths=paths)
    _check_sums("counts0", counts0, np.full(len(idx), header.n0), idx)
    _check_paths(header, rule, evidence, label)
    _check_labels(label, counts.shape[1], idx)
    predict, radius = decide(rule, evidence)
    return Certificates(header, idx, label, predict, radius, seconds, counts0, counts, evidence.paths, name)


def _check_sums(what: str, counts: Ints, total: Ints, idx: Ints) -> None:
    wrong = np.flatnonzero((counts.sum(axis=1) != total) | (counts < 0).any(axis=1))
    if len(wrong):
        row = wrong[0]
        fault = "are below 0" if (counts[row] < 0).any() else f"sum to {counts[row].sum()}, not to {total[row]}"
        raise InputError(f"{what} of image {idx[row]} {fault}: the table is damaged")


def _check_paths(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Every path is one that the rule would have walked, to its end, and ends in the counts.

    Under a label-aware header, images whose picked class is not the label have none.
    """
    walked = (evidence.picked == label) | (not header.label_aware)
    paths = [path.tolist() if walks else [] for path, walks in zip(evidence.paths, walked, strict=True)]
    _check_sums("counts", evidence.counts, np.array([rule.samples(path) for path in paths], np.int64), evidence.idx)
    n_a = np.take_along_axis(evidence.counts, evidence.picked[:, None], axis=1)[:, 0]
    for row, path in enumerate(paths):
        torn = not path or path[-1] != n_a[row] or rule.next_look(path) is not None
        torn = torn if walked[row] else len(evidence.paths[row]) > 0
        if torn or any(later < earlier for earlier, later in pairwise(path)):
            raise InputError(f"the looks of image {evidence.idx[row]} do not fit its counts: the table is damaged")


def _check_labels(label: Ints, num_classes: int, idx: Ints) -> None:
    wrong = np.flatnonzero((label < 0) | (label >= num_classes))
    if len(wrong):
        row = wrong[0]
        raise InputError(f"label {label[row]} of image {idx[row]} is not among the {num_classes} counted classes")
