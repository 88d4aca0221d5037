"""Tables under any noise: what they call it, and radii that follow in another norm."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.refusing import check_refusals
from randsmooth import metrics
from randsmooth.certificates import (
    Certificates,
    from_counts,
    from_evidence,
    from_radii,
    read,
    write_parquet,
    write_tsv,
)
from randsmooth.certificates.checking import check_file
from randsmooth.certificates.header import Header
from randsmooth.errors import (
    BadValue,
    Conflict,
    MissingValue,
    NotComparable,
    WrongTable,
)
from randsmooth.metrics.radii import asked_radii, largest_possible
from randsmooth.noise import (
    NORMS,
    Ablation,
    Gaussian,
    GaussianPerCoordinate,
    InNorm,
    Laplace,
    Noise,
    PerFeature,
    Splitting,
    Uniform,
)
from values import Refusal

STD = np.linspace(0.2, 2.0, 16, dtype=np.float32).reshape(1, 4, 4)
NOISES: dict[
    str, tuple[Noise, str, str]
] = {  # what a header says -> how it is called, and its norm
    "gaussian": (Gaussian(0.5), "sigma 0.5", "l2"),
    "uniform": (
        Uniform(0.6),
        "uniform 0.6 (L1)",
        "l1",
    ),
    "laplace": (
        Laplace(0.5),
        "laplace 0.5 (L1)",
        "l1",
    ),
    "splitting": (
        Splitting(0.5),
        "splitting 0.5 (L1)",
        "l1",
    ),
    "ablation": (
        Ablation(3, d=64),
        "ablation 3 (L0)",
        "l0",
    ),
    "std": (
        GaussianPerCoordinate(STD),
        "(standard deviations of the noise)",
        "ellipsoid",
    ),
    "features": (
        PerFeature(STD, 0.25),
        "(standard deviations of each feature)",
        "deviations",
    ),
}
SHARES = (0.999, 0.97, 0.9, 0.8, 0.6, 0.5, 0.3)


def certified(
    called: str, *, images: int = 40, n: int = 500, name: str = "", **facts: object
) -> Certificates:
    """A table of 3 classes, whose labels are 0 and come out with SHARES, one after the other."""
    usual = {"noise": NOISES[called][0], "n0": 50, "n": n, "alpha": 0.001}
    header = Header.model_validate(usual | facts)
    p = np.resize(SHARES, images)
    rng = np.random.default_rng(1)
    counts0, counts = (
        rng.multinomial(of, np.stack([p, 0.7 - 0.7 * p, 0.3 - 0.3 * p], 1))
        for of in (50, n)
    )
    columns = dict[str, Any](
        idx=np.arange(images), label=np.zeros(images, np.int64), seconds=np.ones(images)
    )
    return from_evidence(
        header, **columns, counts0=counts0, counts=counts, name=name or called
    )


def test_metrics_and_files_hold_for_every_noise(tmp_path: Path) -> None:
    for noise, (_, called, norm) in NOISES.items():
        table = certified(noise)
        assert (
            table.norm == norm
            and called in table.header.noise_title
            and called in repr(table)
        ), noise
        assert table.header.settled and table.noise.norm == norm, noise
        most = float(table.noise.radius(-math.expm1(math.log(0.001) / 500)))
        assert largest_possible(table) == metrics.farthest(table) == most > 0.0, noise
        assert metrics.can_certify(table, most) and not metrics.can_certify(
            table, most * 1.01 + 1e-9
        ), noise
        assert metrics.acr_at(table).value == pytest.approx(
            metrics.acr(table).value, rel=1e-12
        ), noise
        assert 0.0 < metrics.acr_at(table, n=100).value < metrics.acr(table).value, (
            noise
        )
        thinned = [metrics.acr(table.at(n=100, seed=seed)).value for seed in range(60)]
        assert metrics.acr_at(table, n=100).value == pytest.approx(
            np.mean(thinned), rel=0.02
        ), noise
        again = table.header.replace(bound="randomised")
        capped = table.noise.radius(
            Gaussian(1.0).tail(Gaussian(1.0).largest_radius(500, 0.001) + 0.1)
        )
        assert largest_possible(Certificates(**vars(table) | {"header": again})) == max(
            capped, most
        ), noise
        shares = metrics.p_a(table).values
        assert np.array_equal(shares, table.counts[:, 0] / 500), noise  # type: ignore[index]
        write_parquet(table, tmp_path / f"{noise}.parquet")
        assert np.array_equal(
            read(tmp_path / f"{noise}.parquet").radius, table.radius
        ), noise
        assert called in check_file(tmp_path / f"{noise}.parquet"), noise


def test_counts_of_another_program_may_be_of_any_noise() -> None:
    for noise, (given, called, norm) in NOISES.items():
        table = from_counts(
            [990, 480], n=1000, picked=[0, 0], label=[0, 1], noise=given
        )
        assert (table.norm, table.header.sigma) == (
            norm,
            0.5 if noise == "gaussian" else None,
        ), noise
        assert called in table.header.noise_title, noise
        said = (
            "Gaussian noise of this sigma"
            if noise == "gaussian"
            else f"noise {table.noise.title}"
        )
        assert said in str(table.header.guarantee), noise
        assert np.array_equal(
            table.radius,
            given.radius(table.q) * (table.predict == 0),  # type: ignore[arg-type]
        ), noise
    counts: dict[str, Any] = {"n": 1000, "picked": [0], "label": [0]}
    check_refusals(
        [
            (
                lambda: from_counts([990], **counts),
                Refusal(MissingValue, "sigma=0.5", "uniform=0.6"),
            ),
            (
                lambda: from_counts([990], **counts, sigma=0.5, noise="uniform=1"),
                Refusal(Conflict, "sigma=0.5", "uniform=1"),
            ),
            (
                lambda: from_counts([990], **counts, noise="ablation=5"),
                Refusal(BadValue, "ablation=5"),
            ),
        ]
    )


def test_usual_radii_suit_the_norm() -> None:
    rows = [
        (0.6, 0.6, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        (9.0, 8.5, [0.0, 2.0, 4.0, 6.0, 8.0]),
        (0.1, 0.085, [0.0, 0.02, 0.04, 0.06, 0.08]),
    ]
    for lam, farthest, expected in rows:
        header = Header(noise=Uniform(lam))
        zero = np.zeros(1, np.int64)
        table = Certificates(
            header, zero, zero, zero, np.array([farthest]), np.zeros(1)
        )
        assert metrics.usual_radii([table]) == expected, farthest
    ablated = certified("ablation")
    assert metrics.usual_radii([ablated])[:3] == [0.0, 2.0, 4.0]
    assert all(r % 1.0 == 0.0 for r in metrics.usual_radii([ablated]))
    assert metrics.usual_radii([from_radii([0.6])]) == [0.0, 0.25, 0.5]


def test_radii_in_another_norm_are_those_of_the_formula() -> None:
    d, smallest = 16, float(STD.min())
    corners = math.sqrt(float(np.sum(STD.astype(np.float64) ** -2.0)))
    rows: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("gaussian", "l1", lambda r: r),
        ("gaussian", "linf", lambda r: r / 4.0),
        ("uniform", "linf", lambda r: -1.2 * np.expm1(np.log1p(-r / 1.2) / d)),
        ("std", "l2", lambda r: r * smallest),
        ("std", "linf", lambda r: r / corners),
        ("features", "l2", lambda r: r / 0.25 * smallest),
        ("features", "linf", lambda r: r / 0.25 / corners),
    ]
    for bound in ("clopper-pearson", "two-sided", "pairwise"):
        for noise, norm, formula in rows:
            row = (noise, norm, bound)
            table = certified(noise, bound=bound)
            seen = table.in_norm(norm, shape=(1, 4, 4))
            assert seen.norm == norm and np.allclose(
                seen.radius, formula(table.radius), rtol=1e-12
            ), row
            assert np.all(seen.radius <= formula(table.radius) * (1.0 + 1e-15)), row
            assert (
                np.array_equal(seen.predict, table.predict)
                and seen.header == table.header
            ), row
            assert largest_possible(seen) == pytest.approx(
                formula(largest_possible(table))
            ), row
            assert np.array_equal(
                metrics.p_a(seen).values, metrics.p_a(table).values
            ), row
            assert f"{NORMS[norm].label} radii" in repr(seen), row
            thinned, straight = (t.at(n=100, seed=3) for t in (seen, table))
            assert np.allclose(thinned.radius, formula(straight.radius), rtol=1e-12), (
                row
            )
            if bound == "clopper-pearson":
                drawn = np.mean(
                    [metrics.acr(seen.at(n=100, seed=seed)).value for seed in range(60)]
                )
                assert metrics.acr_at(seen, n=100).value == pytest.approx(
                    drawn, rel=0.02
                ), row
    own = certified("uniform")
    assert own.in_norm("l1") is own
    gaussian = certified("gaussian")
    asked = replace(
        gaussian, header=gaussian.header.replace(rule="grid=0.25", bound=None)
    )
    halves = asked_radii(asked.in_norm("linf", shape=(2, 2)))
    assert np.allclose(halves, 0.5 * np.asarray(asked_radii(asked)))  # type: ignore[arg-type]


def test_a_noise_in_another_norm_has_radii_and_tails_inverse_to_each_other() -> None:
    for noise in (
        InNorm(Gaussian(0.5), "l1"),
        InNorm(Uniform(0.6), "linf", (3, 3)),
        InNorm(Gaussian(2), "linf", (9,)),
    ):
        q = np.array([1e-300, 1e-9, 0.001, 0.1, 0.3, 0.49])
        r = noise.radius(q)
        assert np.allclose(noise.tail(r), q, rtol=1e-6) or isinstance(
            noise.noise, Uniform
        ), noise
        assert np.all(noise.radius(noise.tail(r)) >= r) and np.all(np.diff(r) <= 0.0), (
            noise
        )
        assert noise.tail([0.0, 1e9]).tolist() == [0.5, 0.0], noise
        assert noise.text == noise.noise.text and noise.scale <= noise.noise.scale, (
            noise
        )


def test_what_does_not_follow_is_refused(tmp_path: Path) -> None:
    gaussian, uniform, ablated = (
        certified(noise) for noise in ("gaussian", "uniform", "ablation")
    )
    seen = gaussian.in_norm("l1")
    check_refusals(
        [
            (lambda: uniform.in_norm("l2"), Refusal(BadValue, "uniform=0.6", "'l2'")),
            (lambda: ablated.in_norm("l1"), Refusal(BadValue, "l0", "'l1'")),
            (
                lambda: gaussian.in_norm("linf"),
                Refusal(BadValue, "shape=()", field="shape"),
            ),
            (
                lambda: uniform.in_norm("linf"),
                Refusal(BadValue, "shape=()", field="shape"),
            ),
            (
                lambda: from_radii([0.5]).in_norm("l1"),
                Refusal(MissingValue, "sigma", field="sigma"),
            ),
            (lambda: seen.in_norm("linf", shape=(4,)), Refusal(WrongTable)),
            (
                lambda: write_parquet(seen, tmp_path / "a.parquet"),
                Refusal(WrongTable, "l1 radii"),
            ),
            (
                lambda: write_tsv(seen, tmp_path / "a.tsv"),
                Refusal(WrongTable, "L2 radii"),
            ),
            (
                lambda: write_tsv(uniform, tmp_path / "a.tsv"),
                Refusal(WrongTable, "uniform 0.6", "Parquet"),
            ),
            (
                lambda: metrics.require_one_norm([gaussian, uniform]),
                Refusal(NotComparable, "gaussian", "uniform"),
            ),
            (
                lambda: metrics.require_one_norm([uniform, ablated]),
                Refusal(NotComparable, "uniform", "ablation"),
            ),
            (lambda: metrics.acr_difference(gaussian, uniform), Refusal(NotComparable)),
            (lambda: metrics.compare([(gaussian, uniform)]), Refusal(NotComparable)),
            (lambda: metrics.envelope([gaussian, ablated]), Refusal(NotComparable)),
        ]
    )
    assert metrics.compare([(seen, uniform)])[0].images == 40
