"""The table of certificates: counts are the evidence, all else is derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.evidence import (
    ABSTAIN,
    ARRAYS,
    NO_LABEL,
    Bytes,
    Floats,
    Ints,
    check_arrays,
    check_columns,
    check_evidence,
    check_images,
)
from randsmooth.certificates.header import Header, rule_of
from randsmooth.certificates.routes import ROUTED_COLUMNS, Routes
from randsmooth.certificates.selection import check_belong
from randsmooth.certificates.thinning import judged_anew, marked, thinned
from randsmooth.errors import WrongTable
from randsmooth.escape import printable, shortened
from randsmooth.noise import NORMS, Gaussian, InNorm, Noise
from randsmooth.notebooks import ShownInNotebooks
from randsmooth.rules import Evidence, Rule

if TYPE_CHECKING:
    import pandas as pd

# Where a DataFrame keeps the header, among its attrs.
ATTRS = "randsmooth"

# The noise whose radii are those of any Gaussian noise, in units of its sigma.
STANDARD = Gaussian(1.0)


@dataclass(frozen=True)
class Certificates(ShownInNotebooks):
    """N certificates under one base classifier and one noise.

    Attributes:
        header: the facts that all rows share.
        name: the name for the table in a comparison; usually the name of its file.
        idx: (N,) position of the image in its split.
        label: (N,) true class; NO_LABEL (-1) throughout where the images have none.
        predict: (N,) certified class, or ABSTAIN (-1).
        radius: (N,) certified radius in the table's `norm`, 0 where abstained.
            `noise.NORMS[table.norm].title` says the unit: of L2 and L1 that of pixels
            in [0, 1] or of the features, of L0 the number of pixels that may change,
            under "0.25std" standard deviations of each feature.
        seconds: (N,) time that each image took.
        counts0: (N, K) how often each class came out in the n0 samples that picked the
            class; None for a log. If no samples picked it, a 1 marks the class (see
            `Header.n0`).
        counts: (N, K) how often each class came out in the samples that bound p_A; None
            for a log. Both have one more column, for all other answers, where only the
            picked class was counted (see `Header.lumped`).
        paths: for each image, how often the picked class had come out at each look;
            None for a log.
        q: (N,) upper bound on 1 - p_A that the counts prove, or that a log states; None
            for other logs.
        machine: (N,) the number, in `header.machines`, of the machine that made each
            row; -1 stands for the machine in the header itself. None if that machine
            made all rows.
        image: (N, 32) a hash of each image's pixels; None but for a shard (see
            `JournalRow`).
        u: (N,) the uniform numbers, in (0, 1), by which the randomised bound judged
            each image; None for other bounds.
        words: (N,) how many words each text has, on which its radius depends; None
            where inputs are no texts.
        sigmas: (N,) the sigma of each image, of a log that states several; None where
            the header tells the noise.
        routes: of a routed table, the experts and the radii that each row rests on (see
            `routing.route`). It has no counts: they lie in the tables that its header
            names.
        converted: the noise as seen in another norm, if the radii were converted to it
            (see `in_norm`).

    Example:
        >>> # Other samples than those that bound p_A picked the class.
        >>> counts0 = np.array([[98, 2], [57, 43], [46, 54]])
        >>> counts = np.array([[990, 10], [600, 400], [480, 520]])
        >>> header = Header(sigma=0.5, n0=100, n=1000, alpha=0.001)
        >>> table = from_evidence(
        ...     header,
        ...     idx=np.arange(3),
        ...     label=np.zeros(3, np.int64),
        ...     counts0=counts0,
        ...     counts=counts,
        ...     seconds=np.zeros(3),
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
    words: Ints | None = None
    sigmas: Floats | None = None
    routes: Routes | None = None
    converted: InNorm | None = None
    name: str = field(default="")

    def __len__(self) -> int:
        return len(self.idx)

    def __repr__(self) -> str:
        n = "" if self.header.n is None else f"n {self.header.n:,}"
        norm = "" if self.converted is None else f"{NORMS[self.norm].label} radii"
        known = [words for words in (self.header.noise_title, norm, n) if words]
        origin = "a log" if self.is_log else f"rule {self.header.rule}"
        if self.routes is not None:
            origin = f"alpha {self.header.alpha:g}"
        names = [name for name in (self.header.dataset, self.header.split) if name]
        source = " ".join(shortened(printable(name)) for name in names)
        images = f"{len(self):,} of {source}" if source else f"{len(self):,} images"
        return f"Certificates({self.name!r}: {', '.join([images, *known, origin])})"

    @property
    def is_log(self) -> bool:
        """Whether the table was read from a published log, without class counts."""
        return self.counts is None and self.routes is None

    @property
    def noise(self) -> Noise:
        """The noise of all images; its `radius` is in the table's norm.

        Raises:
            Problem: the noise is not known, or each image has a sigma of its own, or
                texts have several numbers of words, or the table is routed.
        """
        if self.routes is not None:
            raise WrongTable(
                "a routed table is under the noises of its router and its experts, so "
                "it has no single one",
                where=self.name or "this table",
            )
        if self.sigmas is not None:
            raise WrongTable(
                f"{_own_sigmas_in_words(self.sigmas)}, so its images share no "
                "single noise",
                where=self.name or "this log",
            )
        if self.words is None:
            return self.converted or self.header.known_noise()
        if len(self.noises) != 1:
            raise WrongTable(
                "texts have several numbers of words, so they share no single noise",
                where=self.name or "this table",
            )
        return self.noises[0]

    @property
    def noises(self) -> tuple[Noise, ...]:
        """The noises of the images: one, or one for each number of words of texts.

        Raises:
            Problem: as for `noise`, of a table that is not of texts.
        """
        if self.words is None:
            return (self.noise,)
        noise = self.header.known_noise()
        return tuple(noise.of_words(int(d)) for d in np.unique(self.words))

    def by_words(self) -> list[tuple[Ints, Certificates]]:
        """Return the numbers of rows that share a noise, and the table of these rows.

        That is one table, or one for each number of words of texts.

        Example:
            >>> from randsmooth.certificates import from_counts
            >>> table = from_counts(
            ...     [[990, 10], [980, 20], [10, 990]],
            ...     picked=[0, 0, 1],
            ...     label=[0, 0, 1],
            ...     noise="ablation=10%",
            ...     words=[60, 15, 60],
            ... )
            >>> [(rows.tolist(), part.radius.tolist()) for rows, part in table.by_words()]
            [([1], [3.0]), ([0, 2], [5.0, 5.0])]
        """
        if self.words is None:
            return [(np.arange(len(self)), self)]
        parts = []
        for d in np.unique(self.words):
            rows = np.flatnonzero(self.words == d)
            parts.append((rows, self.rows(rows)))
        return parts

    @property
    def stated_q(self) -> Floats:
        """(N,) the upper bound on 1 - p_A that a log states, in a column or by its radii.

        Raises:
            Problem: sigma is not known.

        Example:
            >>> from randsmooth.certificates import from_radii
            >>> one_and_two_sigma = from_radii([0.5, 1.0], sigma=0.5)
            >>> one_and_two_sigma.stated_q.round(4).tolist()
            [0.1587, 0.0228]
        """
        if self.q is not None:
            return self.q
        if self.sigmas is not None:
            return STANDARD.tail(self.radius / self.sigmas)
        return self.noise.tail(self.radius)

    @property
    def norm(self) -> str:
        """The norm of the radii, one of `noise.NORMS`.

        It is that of the noise, unless `in_norm` changed it.
        """
        return self.header.norm if self.converted is None else self.converted.norm

    @property
    def proved_in(self) -> str:
        """The norm in which the noise proves something.

        The table's radii follow from radii in this norm. It is another one than `norm`
        only after `in_norm`, and only where the noise has no proof of its own in
        `norm`.
        """
        has_own_proof = (
            self.converted is not None
            and self.norm in self.converted.noise.proves_apart
        )
        return self.norm if has_own_proof else self.header.norm

    @property
    def labelled(self) -> bool:
        """Whether the images have labels.

        Without them, nothing is known of accuracy.
        """
        return not (self.label == NO_LABEL).any()

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(N,) whether the certified class is the label.

        It is False for an abstention, and where there is no label.
        """
        return np.asarray((self.predict == self.label) & (self.label != NO_LABEL))

    @property
    def declined(self) -> NDArray[np.bool_]:
        """(N,) whether the certified class is that of declined answers."""
        if self.header.refusal is None:
            return np.zeros(len(self), bool)
        return np.asarray(self.predict == self.header.refusal)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """(N,) whether a class is certified that is not the label.

        It is False for an abstention, a declined answer, and where there is no label.
        """
        answered = (self.predict != ABSTAIN) & ~self.declined
        return np.asarray(answered & ~self.correct & (self.label != NO_LABEL))

    @property
    def samples(self) -> Ints:
        """(N,) how many samples each image took.

        Those that picked the class are among them, where they are known.
        """
        if self.routes is not None:
            return self.routes.spent
        counts0, counts = self.evidence()
        picking = counts0.sum(axis=1) if self.header.n0 else 0
        return np.asarray(picking + counts.sum(axis=1))

    @property
    def rule(self) -> Rule:
        """The rule by which the certificates were judged.

        Raises:
            Problem: the table is a log, which does not say it, or is routed.
        """
        return rule_of(self.header)

    def class_name(self, index: int) -> str:
        """Return the name of class `index`; a dash for NO_LABEL."""
        if index == NO_LABEL:
            return "–"
        return self.header.classes[index] if self.header.classes else str(index)

    def evidence(self) -> tuple[Ints, Ints]:
        """Return counts0 and counts, both (N, K).

        Raises:
            Problem: the table comes from a log that kept radii only, or is routed.
        """
        if self.routes is not None:
            raise WrongTable(
                f"{self.name or 'this table'} is routed, and has no counts of its own: "
                "for another n or alpha, route the tables of router and experts again"
            )
        if self.counts0 is None or self.counts is None:
            raise WrongTable(
                f"{self.name or 'this log'} has no counts: keep its own n and alpha, "
                "or certify again"
            )
        return self.counts0, self.counts

    def at(
        self, *, alpha: float | None = None, n: int | None = None, seed: int = 0
    ) -> Certificates:
        """Return the same evidence judged at another `alpha`, or with a smaller `n`.

        For a smaller n, a random subset of each image's samples is drawn without
        replacement, so that the result is distributed exactly as a fresh certification
        with n samples. `seed` determines the subset.

        Raises:
            Problem: no counts, alpha outside (0, 1), n above the stored n or too small
                for alpha, or a rule other than fixed, whose certificates hold at their
                own n and alpha only.
        """
        _, counts = self.evidence()
        if self.header.rule != "fixed":
            raise WrongTable(
                f"{self.name or 'this table'} was certified by rule "
                f"{self.header.rule}, which holds at its own n and alpha alone; for "
                "others, certify by rule fixed"
            )
        header = judged_anew(self.header, n, alpha, seed)
        columns = {name: getattr(self, name) for name in ARRAYS}
        if n is not None and n != self.header.n:
            counts = thinned(counts, n, seed)
            columns["counts"] = counts
            # Under bound any-class, counts0 mark the most frequent class, which may be
            # another one in fewer samples.
            if header.n0 == 0 and not header.label_aware:
                columns["counts0"] = marked(counts.argmax(axis=1), counts.shape[1])
        # Rule fixed looks once, so that `from_evidence` makes the paths of the counts.
        table = from_evidence(header, **columns, name=self.name)
        return table.seen_by(self.converted)

    def in_norm(self, norm: str, *, shape: Sequence[int] = ()) -> Certificates:
        """Return this table with radii in `norm`, for reports.

        The new radii follow from those of this table by a proof (see
        `noise.Noise.convert`). The new table cannot be written to a file: write this
        one, with the radii of the noise's own norm.

        Args:
            norm: one of `noise.NORMS`; the norm of the noise gives its own radii again.
            shape: the shape of an input, such as (1, 28, 28), on which radii in "linf"
                depend.

        Raises:
            Problem: the noise is not known or proves nothing in `norm`, or `norm` needs
                the shape.

        Example:
            >>> from randsmooth.certificates import from_counts
            >>> classes = [3, 5]
            >>> table = from_counts(
            ...     counts=[990, 480],
            ...     n=1000,
            ...     picked=classes,
            ...     label=classes,
            ...     sigma=0.5,
            ...     name="mine",
            ... )
            >>> table.in_norm("l1")
            Certificates('mine': 2 images, sigma 0.5, L1 radii, n 1,000, rule fixed)
            >>> table.in_norm("linf", shape=(4, 4)).radius.round(3).tolist()  # a fourth
            [0.247, 0.0]
        """
        if self.converted is not None:
            raise WrongTable(
                f"{self.name or 'this table'} has {self.norm} radii already: "
                "start from the table as read"
            )
        if norm == self.norm:
            return self
        noise = self.noise
        return self.seen_by(InNorm(noise, norm, noise.known_shape or tuple(shape)))

    def seen_by(self, noise: InNorm | None) -> Certificates:
        """Return this table with its radii in the norm of `noise`; None leaves them."""
        if noise is None:
            return self
        return replace(self, radius=noise.from_own(self.radius), converted=noise)

    def assuming(
        self,
        *,
        sigma: float | None = None,
        n: int | None = None,
        alpha: float | None = None,
    ) -> Certificates:
        """Return this table with those of the given facts that its header lacks.

        A log may lack all three. A fact that the header knows stays as it is.

        Raises:
            Problem: a sigma for a log that states one for each image.
        """
        given = {"sigma": sigma, "n": n, "alpha": alpha}
        known = {
            "sigma": self.header.noise,
            "n": self.header.n,
            "alpha": self.header.alpha,
        }
        if sigma is not None and self.sigmas is not None:
            raise WrongTable(
                f"{_own_sigmas_in_words(self.sigmas)}: leave sigma out; "
                f"got sigma={sigma:g}",
                field="sigma",
                value=sigma,
                where=self.name or "this log",
            )
        new = {
            key: value
            for key, value in given.items()
            if value is not None and known[key] is None
        }
        return replace(self, header=self.header.replace(**new)) if new else self

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Certificates:
        """Return the rows where `keep` (N,) is True, or those numbered `keep` (M,)."""
        kept: dict[str, Any] = {}
        for name in (*ARRAYS, "predict", "radius", "q", "sigmas"):
            column = getattr(self, name)
            if column is not None:
                kept[name] = column[keep]
        if self.paths is not None:
            # `keep` may be a mask: this makes it numbers of rows.
            numbers = np.arange(len(self))[keep]
            kept["paths"] = tuple(self.paths[row] for row in numbers)
        if self.routes is not None:
            kept["routes"] = self.routes.rows(keep)
        return replace(self, **kept)

    def derived(self) -> dict[str, NDArray[Any]]:
        """Return what follows from the evidence, for people who look at a table.

        These are predict, radius, correct (where there are labels), declined (where
        the base classifier may decline), picked, n_A (the count of the picked class)
        and p_lower, (N,) each; of a routed table the radius and correct alone. Files
        hold them, and they are never read back.

        Raises:
            Problem: the table has no counts.
        """
        if self.routes is not None:
            of_routes: dict[str, NDArray[Any]] = {"radius": self.radius}
            if self.labelled:
                of_routes["correct"] = self.correct
            return of_routes
        counts0, counts = self.evidence()
        evidence = Evidence.of(
            counts0,
            counts,
            idx=self.idx,
            paths=self.paths,
            u=self.u,
            words=self.words,
        )
        q = self.q
        # A table that was made by hand has none yet.
        if q is None:
            q, _ = self.rule.judged(evidence)
        picked = evidence.picked
        derived: dict[str, NDArray[Any]] = {
            "predict": self.predict,
            "radius": self.radius,
        }
        if self.labelled:
            derived["correct"] = self.correct
        if self.header.refusal is not None:
            derived["declined"] = self.declined
        derived["picked"] = picked
        derived["n_A"] = counts[np.arange(len(self)), picked]
        derived["p_lower"] = 1.0 - q
        return derived

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row an image, and the header in `attrs`.

        It holds the evidence, and what follows from it.

        The columns are idx, label, predict, radius, correct, picked, n_A, p_lower,
        path, counts0, counts and seconds, and machine, u and words where the table has them;
        path, counts0 and counts hold lists. correct is left out where the images have
        no labels, and counts0 where n0 is 0 or not known. Where only the picked class
        was counted, n stands in place of counts. Under bound any-class, picked is
        called most_frequent.

        The columns of a log are idx, label, predict, radius, correct and seconds, and
        sigma where each image has its own. A routed table also has experts (the numbers
        of those that a row rests on), router_radius, expert_radius and samples.

        Example:
            >>> from randsmooth.certificates import from_counts
            >>> classes = [3, 5]
            >>> table = from_counts(
            ...     counts=[990, 480],
            ...     n=1000,
            ...     picked=classes,
            ...     label=classes,
            ...     sigma=0.5,
            ...     name="mine",
            ... )
            >>> frame = table.to_pandas()
            >>> frame[["label", "predict", "n_A"]].values.tolist()
            [[3, 3, 990], [5, -1, 480]]
        """
        # Imported here, since it takes long to load.
        import pandas as pd

        has_counts = self.counts is not None
        columns = _columns_of_counts(self) if has_counts else _columns_of_log(self)
        frame = pd.DataFrame(columns)
        frame.attrs[ATTRS] = {
            "header": self.header.model_dump(mode="json"),
            "name": self.name,
        }
        return frame

    def renamed(self, name: str) -> Certificates:
        """Return this table under another name."""
        return replace(self, name=name)


def _own_sigmas_in_words(sigmas: Floats) -> str:
    """Return a clause, for an error, that says which sigmas the images have."""
    return f"each image has a sigma of its own, {sigmas.min():g} to {sigmas.max():g}"


def _columns_of_log(table: Certificates) -> dict[str, Any]:
    """Return the columns of a table without counts."""
    names = ("idx", "label", "predict", "radius", "correct", "seconds")
    columns: dict[str, Any] = {name: getattr(table, name) for name in names}
    if table.sigmas is not None:
        columns["sigma"] = table.sigmas
    routes = table.routes
    if routes is not None:
        columns["experts"] = [np.flatnonzero(row).tolist() for row in routes.members]
        columns["router_radius"] = routes.router_radius
        columns["expert_radius"] = routes.expert_radius
        columns["samples"] = routes.spent
    return columns


def _columns_of_counts(table: Certificates) -> dict[str, Any]:
    """Return the columns of a table with counts, by the names that a DataFrame has.

    counts0 that only mark the class are left out, and so is the column of counts of all
    other answers: read elsewhere, they would be taken for counts of a class.
    """
    counts0, counts = table.evidence()
    header = table.header
    columns: dict[str, Any] = {
        "idx": table.idx,
        "label": table.label,
        **table.derived(),
    }
    if header.bound == "any-class":
        # `from_counts` takes a column `picked` for classes picked without these samples.
        columns["most_frequent"] = columns.pop("picked")
    if table.paths is not None:
        columns["path"] = [path.tolist() for path in table.paths]
    if header.n0:
        # Where the header is lumped, the last column is that of all other answers.
        counts0_of_classes = counts0[:, :-1] if header.lumped else counts0
        columns["counts0"] = counts0_of_classes.tolist()
    if header.lumped:
        # n_A, which `derived` returns, and n say all that is known.
        columns["n"] = counts.sum(axis=1)
    else:
        columns["counts"] = counts.tolist()
    columns["seconds"] = table.seconds
    if table.machine is not None:
        columns["machine"] = table.machine
    if table.u is not None:
        columns["u"] = table.u
    if table.words is not None:
        columns["words"] = table.words
    return columns


def from_routes(
    header: Header,
    routes: Routes,
    *,
    idx: Ints,
    label: Ints,
    predict: Ints,
    seconds: Floats,
    name: str = "",
) -> Certificates:
    """Return the routed table of N images, whose radii follow from its `routes`.

    Args:
        header: the header, which tells the routing.
        routes: the experts and radii of each row.
        idx, label, seconds: see `Certificates`.
        predict: (N,) class that the members of a row certify, or ABSTAIN.
        name: the name of the table.

    Raises:
        Problem: an array of another shape or type, an image twice, or a row that cannot
            be.

    Example:
        >>> routing = {"norm": "l2", "router": {}, "experts": [{}, {}]}
        >>> one = np.array([0])
        >>> routes = Routes(
        ...     members=np.array([[0, 1]]),
        ...     router_radius=np.array([0.4]),
        ...     expert_radius=np.array([0.9]),
        ...     spent=np.array([2000]),
        ... )
        >>> table = from_routes(
        ...     Header(routing=routing, alpha=0.001),
        ...     routes,
        ...     idx=one,
        ...     label=one,
        ...     predict=one,
        ...     seconds=np.zeros(1),
        ... )
        >>> table.radius.tolist(), table.correct.tolist()
        ([0.4], [True])
    """
    if header.routing is None:
        raise WrongTable("a routed table has a header that tells its routing")
    columns = {
        "idx": idx,
        "label": label,
        "predict": predict,
        "seconds": seconds,
        **routes.columns(),
    }
    K = len(header.routing["experts"])
    check_arrays(ROUTED_COLUMNS, columns, len(idx), K)
    check_images(idx)
    check_belong(header.selection, header.shard, idx)
    routes.check(idx, K)
    certified = predict != ABSTAIN
    return Certificates(
        header,
        idx=idx,
        label=label,
        predict=predict,
        radius=np.where(certified, routes.radius, 0.0),
        seconds=seconds,
        routes=routes,
        name=name,
    )


def decide(rule: Rule, evidence: Evidence) -> tuple[Ints, Floats]:
    """Return the certified class and radius of each image.

    Args:
        rule: the rule by which the samples were drawn.
        evidence: the samples of N images.

    Returns:
        predict: (N,) class or ABSTAIN.
        radius: (N,) certified radius, 0 where nothing is certified.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> counts0 = np.array([[98, 2], [55, 45]])
        >>> counts = np.array([[990, 10], [480, 520]])
        >>> rule = make_rule("fixed", noise=Gaussian(0.5), n=1000, alpha=0.001)
        >>> predict, radius = decide(rule, Evidence.of(counts0, counts))
        >>> predict.tolist(), radius.round(3).tolist()
        ([0, -1], [0.989, 0.0])
    """
    q, radius = rule.judged(evidence)
    return _certified(rule, evidence, q, radius), radius


def _certified(rule: Rule, evidence: Evidence, q: Floats, radius: Floats) -> Ints:
    """Return (N,) the certified classes, or ABSTAIN."""
    certified = rule.certifies(q, radius)
    return np.where(certified, evidence.picked, ABSTAIN).astype(np.int64)


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
    words: Ints | None = None,
    name: str = "",
) -> Certificates:
    """Return the table that follows from the counts under the header's rule.

    Shapes are as in `Certificates`. Without `paths`, every image was looked at once,
    when its samples were complete.

    Raises:
        Problem: an array of another shape or type, an image below 0 or one that occurs
            twice, impossible times, counts that are negative or not as many as the rule
            asks for, a label that is not among the K classes (or NO_LABEL beside
            labels), an image that the header's selection or shard does not hold, a
            machine that it does not tell, uniform numbers or numbers of words that are
            missing or that nothing asked for, or a budget that certifies nothing.

    Example:
        >>> counts0 = np.array([[98, 2], [55, 45]])
        >>> counts = np.array([[990, 10], [480, 520]])
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
    columns: dict[str, Any] = {
        "idx": idx,
        "label": label,
        "counts0": counts0,
        "counts": counts,
        "seconds": seconds,
        "machine": machine,
        "image": image,
        "u": u,
        "words": words,
    }
    check_columns(header, columns, paths)
    check_belong(header.selection, header.shard, idx)
    evidence = Evidence.of(counts0, counts, idx=idx, paths=paths, u=u, words=words)
    check_evidence(header, rule, evidence, counts0, label)
    q, radius = rule.judged(evidence)
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
