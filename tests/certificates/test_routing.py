"""Routed tables: radii by hand, levels by enumeration and simulation, files, and controls that must fail."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

import randsmooth as rs
from randsmooth import bounds, certificates, metrics
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    Header,
    from_counts,
    from_radii,
)
from randsmooth.errors import Problem, WrongFile
from randsmooth.noise import Gaussian

ALPHA = 0.001
n = 1000
LABELS = [3, 5, 5, 0]


# How often class 3, 5, 5 and 0 or 1 of eight came out, of 100 and of n samples.
N_SMALL = [(99, 999), (99, 990), (80, 800), (40, 400)]
N_LARGE = [(99, 995), (52, 520), (90, 900), (99, 990)]


def expert(
    successes: list[tuple[int, int]], picked: list[int], **how: object
) -> Certificates:
    """Return the table of an expert; class 7 has all other samples."""
    counts0 = np.zeros((4, 8), np.int64)
    counts = np.zeros((4, 8), np.int64)
    for row, (of_n0, of_n) in enumerate(successes):
        counts0[row, [picked[row], 7]] = of_n0, 100 - of_n0
        counts[row, [picked[row], 7]] = of_n, n - of_n
    facts: dict[str, object] = {"label": LABELS, "counts0": counts0, **how}
    return from_counts(counts, **facts)  # type: ignore[arg-type]


def small(**how: object) -> Certificates:
    facts: dict[str, object] = {"sigma": 0.25, "name": "small", **how}
    # Of image 3 the small expert's n0 samples picked class 7.
    return expert(N_SMALL, [3, 5, 5, 0], **facts)


def large(**how: object) -> Certificates:
    facts: dict[str, object] = {"sigma": 1.0, "name": "large", **how}
    return expert(N_LARGE, [3, 5, 5, 1], **facts)


def router(**how: object) -> Certificates:
    counts = [[10, 990], [970, 30], [520, 480], [5, 995]]
    counts0 = [[1, 99], [97, 3], [52, 48], [0, 100]]
    facts: dict[str, object] = {"sigma": 1.0, "name": "router", **how}
    return from_counts(counts, counts0=counts0, **facts)  # type: ignore[arg-type]


def radius_of(k: int, sigma: float, level: float) -> float:
    return float(Gaussian(sigma).radius(bounds.q_upper(k, n, level)))


def test_radius_is_the_least_of_the_routers_and_the_experts() -> None:
    table = rs.route(router(), [small(), large()], sets=False)
    by_router = [radius_of(k, 1.0, ALPHA) for k in (990, 970)]
    by_expert = [radius_of(995, 1.0, ALPHA), radius_of(990, 0.25, ALPHA)]
    assert table.radius[:2] == pytest.approx(np.minimum(by_router, by_expert))
    assert table.predict.tolist() == [3, 5, ABSTAIN, 1]
    assert table.correct.tolist() == [True, True, False, False]
    routes = table.routes
    assert routes is not None
    assert routes.members.tolist() == [[0, 1], [1, 0], [1, 0], [0, 1]]
    assert routes.router_radius[:2] == pytest.approx(by_router)
    assert routes.expert_radius[:2] == pytest.approx(by_expert)
    assert table.samples.tolist() == [3 * (100 + n)] * 4
    assert table.header.alpha == pytest.approx(ALPHA)


def test_experts_that_agree_need_no_router() -> None:
    table = rs.route(router(), [small(), large()])
    routes = table.routes
    assert routes is not None
    # The router hardly prefers an expert for image 2, and both answer with class 5.
    assert routes.members[2].tolist() == [1, 1]
    assert np.isinf(routes.router_radius[2])
    expected = min(radius_of(800, 0.25, ALPHA), radius_of(900, 1.0, ALPHA))
    assert table.radius[2] == pytest.approx(expected)
    assert table.predict[2] == 5


def test_every_table_is_judged_at_alpha() -> None:
    table = rs.route(router(), [small(), large()], alpha=0.01)
    routing = table.header.routing
    assert routing is not None
    entries = [routing["router"], *routing["experts"]]
    assert [each["alpha"] for each in entries] == [0.01] * 3
    assert table.header.alpha == 0.01


def test_tables_that_hold_at_their_own_alpha_raise_it() -> None:
    # A log without sigma cannot be judged anew.
    log = from_radii(
        [0.5, 0.5, 0.0, 0.5], label=LABELS, predict=[3, 5, -1, 0], alpha=0.005
    )
    assert rs.route(router(), [log, large()]).header.alpha == 0.005


def test_published_logs_are_experts_at_any_alpha() -> None:
    radius = radius_of(990, 0.25, ALPHA)
    log = from_radii(
        [radius] * 4, label=LABELS, predict=[3, 5, 5, 0], sigma=0.25, n=n, alpha=ALPHA
    )
    table = rs.route(router(), [log, large()])
    assert table.header.alpha == ALPHA
    assert table.radius[1] == pytest.approx(radius)
    stricter = rs.route(router(), [log, large()], alpha=1e-5)
    assert stricter.radius[1] == pytest.approx(radius_of(990, 0.25, 1e-5))


def test_experts_need_only_the_images_that_they_get() -> None:
    whole = rs.route(router(), [small(), large()], sets=False)
    first = small().rows(np.array([1, 2]))
    second = large().rows(np.array([0, 3]))
    parts = rs.route(router(), [first, second])
    alone = rs.route(router(), [first, second], sets=False)
    assert alone.radius == pytest.approx(whole.radius)
    assert alone.predict.tolist() == whole.predict.tolist()
    assert alone.label.tolist() == LABELS
    assert alone.samples.tolist() == [2 * (100 + n)] * 4
    assert parts.routes is not None
    assert parts.routes.members.sum(axis=1).tolist() == [1, 1, 1, 1]
    with pytest.raises(Problem):
        rs.route(router(), [first, second.rows(np.array([0]))])
    known = rs.route(router(), [first, second.rows(np.array([0]))], label=LABELS)
    assert known.predict.tolist() == [3, 5, ABSTAIN, ABSTAIN]


def test_fewer_samples_prove_less() -> None:
    table = rs.route(router(), [small(), large()], n=100, sets=False)
    assert np.all(
        table.radius <= rs.route(router(), [small(), large()], sets=False).radius
    )


def test_files_are_named_by_their_digests(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.parquet" for name in ("router", "small", "large")]
    for path, table in zip(paths, (router(), small(), large()), strict=True):
        certificates.write_parquet(table, path)
    table = rs.route(paths[0], paths[1:])
    routing = table.header.routing
    assert routing is not None
    entries = [routing["router"], *routing["experts"]]
    assert [each["sha256"] for each in entries] == [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
    ]
    assert [each["name"] for each in entries] == ["router", "small", "large"]
    out = tmp_path / "routed.parquet"
    certificates.write_parquet(table, out)
    read = rs.read(out)
    assert read.header == table.header
    for column in ("idx", "label", "predict", "radius", "seconds"):
        assert np.array_equal(getattr(read, column), getattr(table, column)), column
    assert read.routes is not None and table.routes is not None
    for name, values in table.routes.columns().items():
        assert np.array_equal(read.routes.columns()[name], values), name
    assert certificates.check_file(out)


def test_damage_to_a_file_is_found(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "routed.parquet"
    certificates.write_parquet(rs.route(router(), [small(), large()]), out)
    stored = pq.read_table(out)
    column = stored.column_names.index("router_radius")
    changed = stored.set_column(
        column, "router_radius", [stored["router_radius"].to_numpy() + 0.1]
    )
    pq.write_table(changed, out)
    with pytest.raises(WrongFile):
        rs.read(out)


def test_table_has_no_counts_no_noise_and_no_single_p_a(tmp_path: Path) -> None:
    table = rs.route(router(), [small(), large()])
    assert not table.is_log
    assert not metrics.knows_p_a(table)
    unknown = metrics.p_a_unknown(table)
    assert unknown is not None and unknown.kind == "routed"
    for ask in (
        table.evidence,
        lambda: table.noise,
        lambda: table.at(alpha=0.01),
        lambda: table.in_norm("linf", shape=(1, 2, 2)),
        lambda: certificates.write_tsv(table, tmp_path / "log.tsv"),
        lambda: metrics.p_a(table),
        lambda: rs.route(table, [small(), large()]),
    ):
        with pytest.raises(Problem):
            ask()
    frame = table.to_pandas()
    assert frame["experts"].tolist() == [[1], [0], [0, 1], [1]]


def test_refusals_of_the_experts_are_kept_and_one_of_the_router_is_refused() -> None:
    def declining(table: Certificates, refusal: int) -> Certificates:
        return replace(table, header=table.header.replace(refusal=refusal))

    experts = [declining(small(), 5), declining(large(), 5)]
    table = rs.route(router(), experts, sets=False)
    assert table.declined.tolist() == [False, True, False, False]
    with pytest.raises(Problem):
        rs.route(router(), [declining(small(), 4), experts[1]])
    with pytest.raises(Problem):
        rs.route(declining(router(), 1), experts)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rs.route(router(), [small()]),
        lambda: rs.route(router(), [small(), large(), small()]),
        lambda: rs.route(router(), [small(), large(noise="uniform=1", sigma=None)]),
        lambda: rs.route(router(dataset="cifar10"), [small(dataset="mnist"), large()]),
        lambda: rs.route(router(), [small(), large(label=[3, 5, 5, 1])]),
        lambda: rs.route(
            router(), [small(classes="ABCDEFGH"), large(classes="abcdefgh")]
        ),
        lambda: rs.route(router(), [small(), from_radii([0.5] * 4, label=LABELS)]),
        lambda: rs.route(router(), [small(), large(counts0=None, bound="any-class")]),
        lambda: rs.route(router(), [small(), large()], alpha=0.0),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(
    wrong: Callable[[], object],
) -> None:
    with pytest.raises(Problem):
        wrong()


# Levels. In two dimensions the router looks at the first coordinate, and its first
# expert at the second; the other expert gives another class. So the routed classifier
# changes exactly where one of both crosses its threshold, and every probability and
# true radius is known in closed form.


def level_of(p_router: float, p_expert: float, alpha: float, samples: int) -> float:
    """Return the probability that a certificate is beyond the truth, by enumeration.

    All pairs of counts are judged, each table at `alpha`. Sigma is 1 throughout.
    """
    k = np.arange(samples + 1)
    claimed = Gaussian(1.0).radius(bounds.q_upper(k, samples, alpha))
    # Where nothing is certified, nothing is claimed.
    claimed = np.where(claimed > 0.0, claimed, -np.inf)
    of_both = np.minimum(claimed[:, None], claimed[None])
    truth = min(special.ndtri(p_router), special.ndtri(p_expert))
    weights = np.outer(
        stats.binom.pmf(k, samples, p_router), stats.binom.pmf(k, samples, p_expert)
    )
    return float(weights[of_both > truth + 1e-12].sum())


@pytest.mark.parametrize("samples", [20, 100])
@pytest.mark.parametrize("alpha", [0.001, 0.05])
def test_worst_image_is_wrong_with_at_most_alpha(samples: int, alpha: float) -> None:
    """The least of two radii needs no more than the level of each: not their sum."""
    p = np.concatenate([np.linspace(0.3, 0.98, 15), [0.5, 1.0 - 1e-9]])
    levels = [level_of(a, b, alpha, samples) for a in p for b in p]
    assert max(levels) <= alpha
    # The bound is no crude one: it is nearly reached where one of both is certain.
    assert max(levels) > 0.5 * alpha


def test_router_that_is_not_smoothed_fails() -> None:
    """The control: the expert's radius alone, beside a router that looks at the image."""
    x = np.array([-0.2, 2.0])
    experts = [lambda z: z[1] > 0.0, lambda z: z[1] <= 0.0]

    def smoothed(f: Callable[[np.ndarray], object], z: np.ndarray) -> int:
        """Return the class under noise of sigma 1: a threshold on one coordinate keeps it."""
        return int(bool(f(z)))

    def routed(z: np.ndarray) -> int:
        return smoothed(experts[int(z[0] > 0.0)], z)

    radius_of_expert = x[1]
    radius_of_router = abs(x[0])
    step = np.array([1.0, 0.0])
    assert routed(x + 0.999 * radius_of_router * step) == routed(x)
    crossed = x + 1.001 * radius_of_router * step
    assert np.linalg.norm(crossed - x) < radius_of_expert
    assert routed(crossed) != routed(x)


def draws(
    rng: np.random.Generator, p: list[float], samples: int, images: int
) -> np.ndarray:
    return rng.multinomial(samples, p, size=images)


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize(
    ("p_router", "p_experts"),
    [
        ((0.5, 0.3, 0.2), ((0.5, 0.5), (0.5, 0.5), (0.5, 0.5))),
        ((0.34, 0.33, 0.33), ((0.52, 0.48), (0.51, 0.49), (0.5, 0.5))),
        ((0.5, 0.5, 0.0), ((0.5, 0.5), (0.5, 0.5), (0.9, 0.1))),
        ((0.7, 0.2, 0.1), ((0.7, 0.3), (0.5, 0.5), (0.5, 0.5))),
    ],
)
def test_simulated_tables_keep_their_level(
    p_router: tuple[float, ...],
    p_experts: tuple[tuple[float, float], ...],
    sets: bool,
) -> None:
    """Whole tables through `route`, with sets chosen from what was drawn."""
    images = 1500
    alpha = 0.1
    # With 10 samples to choose by, the choice errs often.
    rng = np.random.default_rng(7)
    how = {"sigma": 1.0, "alpha": alpha}
    table_of_router = from_counts(
        draws(rng, list(p_router), 60, images),
        counts0=draws(rng, list(p_router), 10, images),
        **how,  # type: ignore[arg-type]
    )
    experts = [
        from_counts(
            draws(rng, list(p), 60, images),
            counts0=draws(rng, list(p), 10, images),
            label=np.zeros(images, np.int64),
            **how,  # type: ignore[arg-type]
        )
        for p in p_experts
    ]
    table = rs.route(table_of_router, experts, alpha=alpha, sets=sets)
    routes = table.routes
    assert routes is not None
    wrong = np.zeros(images, bool)
    for row in np.flatnonzero(table.predict != ABSTAIN):
        wrong[row] = table.radius[row] > true_radius(
            int(table.predict[row]),
            tuple(np.flatnonzero(routes.members[row]).tolist()),
            p_router,
            p_experts,
        )
    assert wrong.mean() <= alpha + 3.0 * np.sqrt(alpha * (1.0 - alpha) / images)


@cache
def true_radius(
    answer: int,
    inside: tuple[int, ...],
    p_router: tuple[float, ...],
    p_experts: tuple[tuple[float, float], ...],
) -> float:
    """Return the radius that the true probabilities certify for these members."""
    by_experts = min(float(special.ndtri(p_experts[k][answer])) for k in inside)
    if len(inside) == len(p_router):
        return by_experts
    ordered = sorted(inside, key=lambda k: -p_router[k])
    q = 1.0 - np.cumsum([p_router[k] for k in ordered])
    p_other = max(p_router[k] for k in range(len(p_router)) if k not in inside)
    if p_other == 0.0:
        return by_experts
    q = np.maximum(q, 1e-12)
    return min(by_experts, float(Gaussian(1.0).set_radius([q], [p_other])[0])) + 1e-9


def test_sets_chosen_by_the_samples_that_bound_them_would_break_the_level() -> None:
    """The control: the better of two routed certificates, each at alpha, picked afterwards."""
    k = np.arange(101)
    alpha = 0.1
    weight = stats.binom.pmf(k, 100, 0.5)
    claims = Gaussian(1.0).radius(bounds.q_upper(k, 100, alpha)) > 0.0
    of_one = float(weight[claims].sum())
    either = 1.0 - (1.0 - of_one) ** 2
    assert of_one <= alpha < either


def test_words_of_a_stranger_are_no_noise() -> None:
    entry = {"noise": {"name": "<script>"}}
    for routing in (
        {"norm": "l2", "router": entry, "experts": [{}]},
        {"norm": "l2", "router": {}, "experts": [entry]},
        {"norm": "l9", "router": {}, "experts": [{}]},
        {"norm": "l2", "router": {}, "experts": []},
        {"norm": "l2", "experts": [{}]},
    ):
        with pytest.raises(Problem):
            Header(routing=routing, alpha=0.001)
