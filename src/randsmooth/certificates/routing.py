"""Routed tables: one sigma for each image, by a smoothed router and smoothed experts.

The router r is a smoothed classifier whose classes are the experts g_1, ..., g_K. The
routed classifier answers G(x) = g_r(x)(x). If r answers within a set S of experts
throughout the ball of radius R_r around x, and every expert of S answers c throughout
the ball of radius R_k, then G answers c throughout the ball of radius min(R_r, min R_k).
With S = all experts R_r is infinite: experts that agree need no router.

Levels. For an image, a set S and a class c that the samples of n0 fixed, let T_r and T_k
be the true radii within which the router stays in S and expert k answers c. Each table
gives a radius that exceeds its own with probability at most alpha. G keeps c within
min(T_r, min T_k). The least of the certified radii exceeds it only if the radius of the
table whose true radius is the least exceeds its own. Which table that is does not depend
on the samples that bound anything: so the certificate is wrong with probability at most
alpha, and not only at most the sum over all tables. (It is an intersection-union test;
the tables may even share their noise.)

That takes S and c from samples that bound nothing. S is one of K nested sets, the first
1, 2, ..., K experts in the order of the router's counts0. It is chosen by counts0 of the
router and of the experts.

Source: Sun, Mao & Vechev 2026 (dual randomized smoothing, arXiv 2512.01782), for sets of
one expert.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates.evidence import (
    ABSTAIN,
    Floats,
    Ints,
    name_images,
)
from randsmooth.certificates.files import read
from randsmooth.certificates.header import Header, guarantee_of
from randsmooth.certificates.logs.inferred import infer, log_at_alpha
from randsmooth.certificates.routes import Routes, check_experts
from randsmooth.certificates.table import Certificates, from_routes
from randsmooth.errors import MissingValue, WrongTable
from randsmooth.noise import NORMS
from randsmooth.rules import ANY_CLASS
from randsmooth.urls import Place, fetched

Mask = NDArray[np.bool_]

# An expert gets an image if at least this share of the router's n0 samples names it:
# then a set with it may prove more than the first expert alone.
LEAST_SHARE = 0.1


def route(
    router: Place | Certificates,
    experts: Sequence[Place | Certificates],
    *,
    alpha: float = 0.001,
    n: int | None = None,
    sets: bool = True,
    label: ArrayLike | None = None,
    name: str = "routed",
) -> Certificates:
    """Return the routed table of a router's table and its experts' tables.

    The certificate of each image says: within this radius the routed classifier, which
    answers with the expert that the router picks, cannot change its answer. It is wrong
    with probability at most alpha. The module's text has the proof.

    Args:
        router: the table of a smoothed classifier whose class k is the expert number k,
            or its file. It has the images of the routed table. Its own labels are not
            used.
        experts: the tables of the experts, or their files, in the order of the router's
            classes. They may be about some of the images, such as those that an expert
            gets, and may be published logs. Which images a table has must not depend on
            the samples that bound its certificates: leave none out for its result.
        alpha: probability that a certificate is wrong. Tables of rule fixed, and logs
            with a known budget, are judged anew at this level. Others keep the alpha
            that they were made at, and the header's alpha is the largest of all.
        n: judge tables of counts as if n samples per image had been drawn (see
            `Certificates.at`).
        sets: whether a certificate may rest on several experts that agree, where their
            tables keep the counts0 by which to choose them.
        label: (N,) true classes of the router's images; by default those that the
            experts' tables state. It is needed where no expert has an image.
        name: the name for the table.

    Raises:
        Problem: fewer than two experts, radii in different norms, tables of different
            classes, images or data sets, a table whose class was picked by the samples
            that bound it, a router that counts other classes than the experts, or an
            image whose label is not known.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> how = {"n": 1000, "label": [3, 5]}
        >>> small = from_counts([999, 990], picked=[3, 5], sigma=0.25, **how)
        >>> large = from_counts([995, 520], picked=[3, 5], sigma=1.0, **how)
        >>> router = from_counts(
        ...     [[10, 990], [970, 30]], counts0=[[1, 99], [97, 3]], sigma=1.0
        ... )
        >>> table = route(router, [small, large])
        >>> table.radius.round(2).tolist(), table.routes.members.tolist()
        ([1.98, 0.49], [[0, 1], [1, 0]])
    """
    router_table, router_digest = _opened(router)
    opened_experts = [_opened(expert) for expert in experts]
    expert_tables = [table for table, _ in opened_experts]
    _check_tables(router_table, expert_tables)

    bounds.check_level(alpha)
    judged_router = _judged(router_table, alpha, n)
    judged_experts = [_judged(table, alpha, n) for table in expert_tables]
    answers = _Answers.of(judged_router.idx, judged_experts)
    labels = _labels(judged_router.idx, judged_experts, label)
    routes, predict = _routed(judged_router, answers, sets=sets)

    entries = [
        _entry(table, digest)
        for table, (_, digest) in zip(judged_experts, opened_experts, strict=True)
    ]
    routing = {
        "norm": judged_router.norm,
        "sets": sets,
        "router": _entry(judged_router, router_digest),
        "experts": entries,
    }
    header = _header(judged_router, judged_experts, routing)
    return from_routes(
        header,
        routes,
        idx=judged_router.idx,
        label=labels,
        predict=predict,
        seconds=judged_router.seconds + answers.seconds,
        name=name,
    )


def images_of_experts(router: Certificates) -> Mask:
    """Return (N, K) whether each of K experts should certify each of the router's images.

    The expert that the n0 samples of the router name most often gets the image, and any
    other that they name in a tenth of cases or more. An expert that gets none this way
    gets the image for which it is named most often, so that every expert has a table.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> counts0 = [[97, 3], [85, 15], [60, 40]]
        >>> router = from_counts([[970, 30]] * 3, counts0=counts0, sigma=1.0)
        >>> images_of_experts(router).tolist()
        [[True, False], [True, True], [True, True]]
    """
    counts0, counts = router.evidence()
    K = counts.shape[1] - router.header.lumped
    share = counts0[:, :K] / np.maximum(1, counts0.sum(axis=1, keepdims=True))
    is_first = np.arange(K) == counts0.argmax(axis=1)[:, None]
    gets = is_first | (share >= LEAST_SHARE)
    idle = np.flatnonzero(~gets.any(axis=0))
    gets[share[:, idle].argmax(axis=0), idle] = True
    return np.asarray(gets)


def _opened(source: Place | Certificates) -> tuple[Certificates, str | None]:
    """Return a table, and the sha256 of its file; None for a table in memory."""
    if isinstance(source, Certificates):
        return source, None
    path = fetched(source)
    table = infer(read(path), path)
    return table, hashlib.sha256(path.read_bytes()).hexdigest()


def _check_tables(router: Certificates, experts: Sequence[Certificates]) -> None:
    """Raise Problem unless these tables can be those of a router and its experts."""
    check_experts(len(experts))
    for table in (router, *experts):
        _check_part(table)
    norms = {table.norm for table in (router, *experts)}
    if len(norms) > 1:
        listed = " and ".join(sorted(NORMS[norm].label for norm in norms))
        raise WrongTable(
            f"router and experts have radii in {listed}; a routed radius is the least "
            "of radii in one norm"
        )
    for table in (router, *experts):
        _check_comparable(table)
    _check_router_counts(router, len(experts))
    for fact in ("classes", "refusal"):
        _check_same(fact, experts)
    for fact in ("dataset", "split"):
        _check_same(fact, (router, *experts))


def _check_part(table: Certificates) -> None:
    """Raise Problem for a table that cannot be that of a router or an expert."""
    if table.routes is not None or table.converted is not None:
        raise WrongTable(
            f"{table.name or 'a table'} is routed, or in another norm than its noise's: "
            "route the tables that were certified"
        )
    if table.header.bound == ANY_CLASS:
        raise WrongTable(
            f"{table.name or 'a table'} picks its class by the samples that bound it, so "
            "that alpha would not hold for the routed certificate",
            fix="certify with n0 of at least 1",
        )


def _check_comparable(table: Certificates) -> None:
    """Raise Problem where radii have units that those of another noise do not have."""
    noise = table.header.noise
    if NORMS[table.norm].own_units or (noise is not None and noise.held_columns):
        raise WrongTable(
            f"{table.name or 'a table'} has radii in units of its own noise, or holds "
            "columns fixed: radii of several noises do not compare there"
        )


def _check_router_counts(router: Certificates, K: int) -> None:
    """Raise Problem unless the router counts, or answers with, K classes."""
    if router.header.refusal is not None:
        raise WrongTable(
            "the router may decline, and a refusal names no expert: train it to answer"
        )
    if router.counts is not None:
        classes = router.counts.shape[1] - router.header.lumped
        known_to_fit = classes == K
    else:
        # A log names its classes alone; those that it never answers with may exist.
        classes = int(router.predict.max(initial=ABSTAIN)) + 1
        known_to_fit = classes <= K
    if not known_to_fit:
        raise WrongTable(
            f"{router.name or 'the router'} tells {classes} classes apart, and there are "
            f"{K} experts: its class k is the expert number k, from 0 on"
        )


def _check_same(fact: str, tables: Sequence[Certificates]) -> None:
    """Raise Problem where the headers of tables contradict each other in a fact."""
    values = {getattr(table.header, fact) for table in tables}
    # A header that does not say it contradicts none.
    stated = values - {None}
    if len(stated) > 1:
        listed = " and ".join(map(str, sorted(stated, key=str)[:2]))
        raise WrongTable(f"the tables have different {fact}: {listed}")


def _judged(table: Certificates, alpha: float, n: int | None) -> Certificates:
    """Return the table judged at `alpha`, or as it is where it holds at its own alone.

    Raises:
        Problem: the alpha of the table is not known, or it has too few samples.
    """
    header = table.header
    if header.alpha is None:
        raise MissingValue(
            field="alpha",
            expected=f"of {table.name or 'a log'} is not known",
            fix="route only tables whose alpha is known",
        )
    if table.is_log:
        return log_at_alpha(table, alpha) if _has_budget(table) else table
    if header.rule != "fixed" or header.alpha == 0.0:
        return table
    return table.at(alpha=alpha, n=n)


def _has_budget(log: Certificates) -> bool:
    """Return whether a log tells sigma and n, by which it can be judged anew."""
    tells_sigma = log.header.sigma is not None or log.sigmas is not None
    return tells_sigma and log.header.n is not None


@dataclass(frozen=True)
class _Answers:
    """What K experts certify of the N images of the router.

    Attributes:
        known: (N, K) whether an expert has the image.
        predict: (N, K) certified classes; ABSTAIN too where the expert lacks the image.
        radius: (N, K) radii, 0 where nothing is certified.
        picked: (N, K) classes that the n0 samples picked; ABSTAIN where that is not known.
        expected: (N, K) radii that the n0 samples make expect.
        spent: (N,) samples of all experts.
        seconds: (N,) time of all experts.
    """

    known: Mask
    predict: Ints
    radius: Floats
    picked: Ints
    expected: Floats
    spent: Ints
    seconds: Floats

    @classmethod
    def of(cls, idx: Ints, experts: Sequence[Certificates]) -> _Answers:
        """Return the answers of the `experts` for the images `idx` (N,)."""
        shape = (len(idx), len(experts))
        known = np.zeros(shape, bool)
        predict = np.full(shape, ABSTAIN)
        radius = np.zeros(shape)
        picked = np.full(shape, ABSTAIN)
        expected = np.zeros(shape)
        spent = np.zeros(len(idx), np.int64)
        seconds = np.zeros(len(idx))
        for k, expert in enumerate(experts):
            _, rows, rows_of_expert = np.intersect1d(
                idx, expert.idx, return_indices=True
            )
            known[rows, k] = True
            predict[rows, k] = expert.predict[rows_of_expert]
            radius[rows, k] = expert.radius[rows_of_expert]
            if _keeps_selection(expert):
                counts0, _ = expert.evidence()
                picked[rows, k] = counts0.argmax(axis=1)[rows_of_expert]
                expected[rows, k] = _expected_of_picked(expert)[rows_of_expert]
            seconds[rows] += expert.seconds[rows_of_expert]
            spent[rows] += _samples_of(expert)[rows_of_expert]
        return cls(known, predict, radius, picked, expected, spent, seconds)

    def certified(self, members: Mask) -> tuple[Ints, Floats]:
        """Return the class and the radius that all members certify together.

        Args:
            members: (N, K) whether each expert is a member.

        Returns:
            predict: (N,) the class; ABSTAIN where members lack the image, abstain or
                disagree.
            radius: (N,) the least radius of the members; 0 where they abstain.
        """
        return _of_all(members, self.predict, self.radius)

    def to_be_expected(self, members: Mask) -> tuple[Ints, Floats]:
        """Return what `certified` is expected to be, by the n0 samples."""
        return _of_all(members, self.picked, self.expected)


def _of_all(members: Mask, classes: Ints, radius: Floats) -> tuple[Ints, Floats]:
    """Return (N,) the class that all members share, or ABSTAIN, and their least radius.

    Args:
        members: (N, K) whether each expert is a member.
        classes: (N, K) class of each expert, or ABSTAIN.
        radius: (N, K) radius of each expert.
    """
    highest = np.where(members, classes, ABSTAIN).max(axis=1)
    lowest = np.where(members, classes, np.iinfo(np.int64).max).min(axis=1)
    # A member that abstains, or lacks the image, has the lowest class of all.
    shared = np.where(highest == lowest, highest, ABSTAIN)
    least = np.where(members, radius, np.inf).min(axis=1)
    return shared, np.where(shared != ABSTAIN, least, 0.0)


def _keeps_selection(table: Certificates) -> bool:
    """Return whether a table keeps the counts of n0 samples that picked its classes."""
    return table.counts0 is not None and bool(table.header.n0)


def _expected_of_picked(table: Certificates) -> Floats:
    """Return (N,) the radii that counts0 make expect for the picked classes."""
    counts0, _ = table.evidence()
    q = _expected_q(counts0.max(axis=1), table)
    return table.noise.radius(q)


def _expected_q(successes: Ints, table: Certificates) -> Floats:
    """Return the bound on 1 - p to be expected where n0 samples had these successes.

    The shares of counts0 stand for the probabilities, with half a sample added to
    either side.
    """
    n0 = table.header.n0 or 0
    n = table.header.n or 1
    q = (n0 - successes + 0.5) / (n0 + 1.0)
    # Where all copies were counted, alpha is 0 and the share is the probability itself.
    alpha = table.header.alpha
    return np.asarray(bounds.expected_q_upper(q, n, alpha) if alpha else q)


def _samples_of(table: Certificates) -> Ints:
    """Return (N,) samples per image of a table; of a log those that its n states."""
    if table.is_log:
        return np.full(len(table), table.header.n or 0)
    return table.samples


def _labels(
    idx: Ints, experts: Sequence[Certificates], label: ArrayLike | None
) -> Ints:
    """Return (N,) the true classes of the images `idx`.

    Raises:
        Problem: experts contradict each other, or no expert has an image and `label`
            is None.
    """
    if label is not None:
        return np.asarray(label, np.int64)
    labels = np.zeros(len(idx), np.int64)
    known = np.zeros(len(idx), bool)
    for expert in experts:
        _, rows, rows_of_expert = np.intersect1d(idx, expert.idx, return_indices=True)
        stated = expert.label[rows_of_expert]
        differ = known[rows] & (labels[rows] != stated)
        if np.any(differ):
            raise WrongTable(
                f"experts state different labels for "
                f"{name_images(idx[rows[differ]])}: they are about different data"
            )
        labels[rows] = stated
        known[rows] = True
    if not known.all():
        raise WrongTable(
            f"no expert has {name_images(idx[~known])}, so that the label is not known",
            fix="certify them with the expert that the router picks, or give label",
        )
    return labels


def _routed(
    router: Certificates, answers: _Answers, *, sets: bool
) -> tuple[Routes, Ints]:
    """Return the routes of the router's images, and (N,) the certified classes."""
    order = _order_of_experts(router, K=answers.known.shape[1])
    members = _chosen_sets(router, answers, order, sets=sets)
    router_radius = _router_radii(router, order, members.sum(axis=1))
    predict, expert_radius = answers.certified(members)
    certified = (predict != ABSTAIN) & (router_radius >= 0.0)
    routes = Routes(
        members=members.astype(np.int64),
        router_radius=np.maximum(router_radius, 0.0),
        expert_radius=expert_radius,
        spent=_samples_of(router) + answers.spent,
    )
    return routes, np.where(certified, predict, ABSTAIN)


def _bounds_sets(router: Certificates) -> bool:
    """Return whether the router's counts bound the probability of any set of experts.

    Counts of all classes do, of n samples for each image. Other tables bound the
    probability of the picked class alone.
    """
    header = router.header
    return (
        router.counts is not None
        and header.rule == "fixed"
        and bool(header.n0)
        and not header.lumped
        and not header.label_aware
    )


def _order_of_experts(router: Certificates, K: int) -> Ints:
    """Return (N, K) the experts, the one that counts0 has most often first.

    A log has no counts0: its certified class comes first, and then nothing is known.
    """
    if router.counts0 is not None:
        counts0 = router.counts0[:, :K]
        return np.argsort(-counts0, axis=1, kind="stable")
    first = np.maximum(router.predict, 0)
    is_first = np.arange(K) == first[:, None]
    return np.argsort(~is_first, axis=1, kind="stable")


def _chosen_sets(
    router: Certificates, answers: _Answers, order: Ints, *, sets: bool
) -> Mask:
    """Return (N, K) the set of experts that each row's certificate shall rest on.

    It is the first expert of the order; with `sets` it is the one of the first 1, 2,
    ..., K experts with the largest radius to be expected, and of equal ones the largest
    set. The n0 samples of router and experts tell what to expect. The samples that bound
    anything have no part in the choice.
    """
    K = order.shape[1]
    ranks = np.argsort(order, axis=1)
    sizes = np.ones(len(order), np.int64)
    if sets and _keeps_selection(router):
        best = np.zeros(len(order))
        for size in _sizes(router, K):
            shared, of_experts = answers.to_be_expected(ranks < size)
            expected = np.minimum(_expected_of_router(router, order, size), of_experts)
            is_better = (shared != ABSTAIN) & (expected > 0.0) & (expected >= best)
            sizes = np.where(is_better, size, sizes)
            best = np.where(is_better, expected, best)
    return np.asarray(ranks < sizes[:, None])


def _sizes(router: Certificates, K: int) -> Sequence[int]:
    """Return the sizes of sets that a certificate may rest on, ascending."""
    bounds_any_set = _bounds_sets(router) and router.noise.proves_sets
    return range(1, K + 1) if bounds_any_set else (1, K)


def _expected_of_router(router: Certificates, order: Ints, size: int) -> Floats:
    """Return (N,) the radii to be expected of the router for the first `size` experts."""
    if size == order.shape[1]:
        return np.full(len(order), np.inf)
    counts0, _ = router.evidence()
    in_order = np.take_along_axis(counts0, order, axis=1)
    q = _expected_q(in_order.cumsum(axis=1)[:, :size], router)
    if not _bounds_sets(router):
        return router.noise.radius(q[:, 0])
    n0 = router.header.n0 or 0
    p_other = np.minimum((in_order[:, size] + 0.5) / (n0 + 1.0), q[:, -1])
    return router.noise.set_radius(q, p_other)


def _router_radii(router: Certificates, order: Ints, sizes: Ints) -> Floats:
    """Return (N,) radii within which the router stays among its first `sizes` experts.

    It is infinite for all experts, and -1 where the router certifies nothing.
    """
    K = order.shape[1]
    radius = np.where(sizes == K, np.inf, -1.0)
    if not _bounds_sets(router):
        alone = (sizes == 1) & (router.predict == order[:, 0])
        return np.where(alone, router.radius, radius)
    _, counts = router.evidence()
    # Rule fixed has a level above 0.
    alpha = router.header.alpha or 0.0
    for size in range(1, K):
        rows = np.flatnonzero(sizes == size)
        if len(rows) == 0:
            continue
        q, p_other = bounds.set_bounds(counts[rows], order[rows, :size], alpha)
        proved = router.noise.set_radius(q, p_other)
        radius[rows] = np.where(proved > 0.0, proved, -1.0)
    return radius


def _entry(table: Certificates, digest: str | None) -> dict[str, Any]:
    """Return the facts of a router's or an expert's table that a routed header holds."""
    header = table.header
    return {
        "name": table.name,
        "sha256": digest,
        "weights": (header.model or {}).get("weights"),
        "data": header.data,
        "labelled": table.labelled,
        "noise": None if header.noise is None else header.noise.facts(),
        "sound": header.sound,
        "rule": None if table.is_log else header.rule,
        "n0": header.n0,
        "n": header.n,
        "alpha": header.alpha,
    }


def _header(
    router: Certificates, experts: Sequence[Certificates], routing: dict[str, Any]
) -> Header:
    """Return the header of a routed table."""
    alpha = max(table.header.alpha or 0.0 for table in (router, *experts))
    first = experts[0].header
    header = Header(
        routing=routing,
        alpha=alpha,
        rule="routed",
        label_aware=any(table.header.label_aware for table in experts),
        dataset=router.header.dataset or first.dataset,
        split=router.header.split or first.split,
        selection=router.header.selection,
        resize=router.header.resize,
        crop=router.header.crop,
        classes=first.classes,
        refusal=first.refusal,
        model={"method": "routed"},
    )
    return header.replace(guarantee=guarantee_of(header))
